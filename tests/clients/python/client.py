"""The few verbs that the scenarios need of a client library, so that each scenario is written once for all of them.

What a library cannot do, or does in a way of its own, it names in `lacks`; those scenarios count as skipped for it.
"""

import threading
import time
from dataclasses import dataclass, field

from scenario import PATIENCE_S, Wrong, eventually, that

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]

# The protocol's error codes that scenarios provoke.
ERRORS = {
    1: "OFFSET_OUT_OF_RANGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    10: "MESSAGE_TOO_LARGE",
    17: "INVALID_TOPIC_EXCEPTION",
    36: "TOPIC_ALREADY_EXISTS",
    37: "INVALID_PARTITIONS",
    38: "INVALID_REPLICATION_FACTOR",
    44: "POLICY_VIOLATION",
    40: "INVALID_CONFIG",
    68: "NON_EMPTY_GROUP",
}


class ServerError(Exception):
    """An error code that a library hands over in an answer, without raising it."""

    def __init__(self, code):
        super().__init__(ERRORS.get(code, code))
        self.code = code

    @staticmethod
    def check(code):
        if code:
            raise ServerError(code)


@dataclass
class Record:
    topic: str
    value: bytes | None = None
    key: bytes | None = None
    partition: int | None = None
    timestamp: int | None = None
    headers: list = field(default_factory=list)
    offset: int | None = None
    log_append_time: bool = False


# Scenarios of the protocol of KIP-848, for libraries that don't speak it.
CONSUMER_PROTOCOL = ["consumer_uniform", "consumer_range", "consumer_static", "consumer_migration"]


class Client:
    """One scenario's view of the server. Names it hands out are new in every run."""

    lacks: dict[str, str] = {}
    # Whether a member that commits when it is told to give a partition up has then seen all that it will see of it. If
    # not, what was under way is read again by the next owner.
    reads_once = True
    # How many topics are many.
    many = 200
    # Some libraries refuse to send what the protocol allows.
    refuses_empty_records = False
    refuses_null_headers = False
    # Others ask for metadata in a way that lets the server create the topic.
    describing_creates = False

    def __init__(self, bootstrap, scenario):
        self.bootstrap = bootstrap
        self._prefix = f"{type(self).__name__.lower()}-{scenario.replace('_', '-')}-{time.time_ns():x}"
        self._names = 0
        self._open = []

    def name(self):
        self._names += 1
        return f"{self._prefix}-{self._names}"

    def topic(self, partitions=1, **configs):
        """A new topic; returns once it can be described."""
        name = self.name()
        self.create(name, partitions=partitions, configs={key.replace("_", "."): value for key, value in configs.items()})
        eventually(f"{name} can be described", lambda: name in self.topics())
        return name

    def fill(self, topic, partition, count, **options):
        """Values 0..count as text, without keys."""
        self.send([Record(topic, b"%d" % i, partition=partition) for i in range(count)], **options)

    def read_all(self, topic, **options):
        """Every record, partition by partition, each partition in order."""
        partitions = [(topic, partition) for partition in self.partitions(topic)]
        reader = self.reader(**options)
        reader.assign(partitions)
        ends = reader.ends(partitions)
        got = reader.poll(sum(end for _, end in ends.values()) - sum(begin for begin, _ in ends.values()))
        reader.close()
        return sorted(got, key=lambda record: (record.partition, record.offset))

    def keep(self, closeable):
        self._open.append(closeable)
        return closeable

    def close(self):
        for closeable in reversed(self._open):
            closeable.close()

    # What each library does in its own way.

    def error_code(self, error):
        """The protocol's number of an error that the library raised."""
        raise NotImplementedError

    def error_name(self, error) -> str:
        code = error.code if isinstance(error, ServerError) else self.error_code(error)
        return ERRORS.get(code, repr(error))

    def cluster(self):
        """The cluster's id, and its nodes as (id, host, port)."""
        raise NotImplementedError

    def create(self, *topics, partitions=1, configs=None, replicas=1):
        raise NotImplementedError

    def delete(self, *topics):
        raise NotImplementedError

    def delete_records(self, topic, partition, offset) -> int:
        """Deletes what lies before the offset; returns where the partition begins then."""
        raise NotImplementedError

    def topics(self) -> set:
        raise NotImplementedError

    def partitions(self, topic) -> list:
        """Partition numbers; fails for a topic that isn't there."""
        raise NotImplementedError

    def configs(self, topic) -> dict:
        """Of every config its value and whether that is the default."""
        raise NotImplementedError

    def send(self, records, codec="none", acks="all", idempotent=None, linger_ms=20, batch_bytes=None, request_bytes=None):
        """Sends all, waits for all, returns of each (partition, offset); fails with the first error."""
        raise NotImplementedError

    def reader(self, group=None, reset="earliest", auto_create=True, auto_commit_ms=None, fetch_bytes=None,
               partition_fetch_bytes=None, wait_ms=50) -> "Reader":
        raise NotImplementedError

    def member(self, topic, group, seen, assignor="range", instance=None, protocol="classic") -> "Member":
        raise NotImplementedError

    def groups(self) -> set:
        raise NotImplementedError

    def describe_group(self, group):
        """State, and the number of partitions of each member, by client id."""
        raise NotImplementedError

    def committed(self, group, topic) -> dict:
        """Committed offset by partition, as an administrator sees it."""
        raise NotImplementedError

    def reset_group(self, group, topic, partition, offset):
        raise NotImplementedError

    def delete_group(self, group):
        raise NotImplementedError


class Reader:
    """A consumer that is told what to read. A place is a pair (topic, partition)."""

    def assign(self, places, at=None):
        """From the beginning, or from the offset given for a place in `at`."""
        raise NotImplementedError

    def subscribe(self, topic):
        raise NotImplementedError

    def seek(self, place, offset):
        raise NotImplementedError

    def fetch(self, seconds, limit) -> list:
        """What comes within this time, at most so many records."""
        raise NotImplementedError

    def ends(self, places) -> dict:
        """First and next offset of each place."""
        raise NotImplementedError

    def at_time(self, times) -> dict:
        """First offset at or after a time, or None, for each place."""
        raise NotImplementedError

    def commit(self, offsets):
        """Offset and metadata by place."""
        raise NotImplementedError

    def committed(self, place):
        """Offset and metadata, or None."""
        raise NotImplementedError

    def pause(self, *places):
        raise NotImplementedError

    def resume(self, *places):
        raise NotImplementedError

    def close(self):
        raise NotImplementedError

    def poll(self, count):
        """Exactly so many records; too long a wait is a failure."""
        got = []
        end = time.monotonic() + PATIENCE_S
        while len(got) < count:
            if time.monotonic() > end:
                raise Wrong(f"read {len(got)} records in time, want {count}")
            got += self.fetch(0.2, count - len(got))
        return got

    def nothing(self, seconds=0.3):
        """There must be nothing more to read."""
        more = self.fetch(seconds, 10)
        that(not more, f"nothing more should come, got {more}")


class Member:
    """A group's member on a thread of its own. It commits what it has read whenever partitions are taken from it and
    when it leaves, so between members that all take their leave every record is read once. `seen` counts how often
    each (partition, offset) was read."""

    def __init__(self, seen):
        self.seen = seen
        self.owned = set()
        self.failure = None
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self.thread.start()
        return self

    def _run(self):
        try:
            self.run()
        except Exception as error:
            self.failure = error

    def run(self):
        """Reads until `stop` is set, then leaves; notes each record with `note`, and keeps `owned`."""
        raise NotImplementedError

    def note(self, partition, offset):
        self.seen[partition, offset] = self.seen.get((partition, offset), 0) + 1

    def leave(self):
        self.close()
        that(not self.thread.is_alive(), "the member left in time")
        if self.failure:
            raise Wrong("the member failed") from self.failure

    def close(self):
        self.stop.set()
        self.thread.join(PATIENCE_S)


def share(partitions, sizes, *members):
    """Waits until the members own so many partitions each, in any order, and no partition twice."""

    def shared():
        owned = [set(member.owned) for member in members]
        return sorted(map(len, owned)) == sizes and len(set().union(*owned)) == partitions

    def shown():
        return f"want shares {sizes} of {partitions}, got {[(sorted(m.owned), m.failure) for m in members]}"

    eventually(shown, shared)
