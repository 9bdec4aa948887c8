"""The scenarios, written once for all Python clients; each checks what came back, not only that nothing failed."""

import threading
import time

from client import CODECS, Record, share
from scenario import Wrong, equal, eventually, fails, keys, noise, scenario, that


def same(sent, got):
    """Keys, values, headers in order, timestamps, and offsets without a gap."""
    equal(len(sent), len(got), "number of records")
    for i, (want, have) in enumerate(zip(sent, got)):
        what = f"record {i} of {have.topic}-{have.partition}"
        equal(want.key, have.key, f"{what}: key")
        equal(want.value, have.value, f"{what}: value")
        equal(want.headers, have.headers, f"{what}: headers")
        equal(i, have.offset, f"{what}: offset")
        if want.timestamp is not None:
            equal(want.timestamp, have.timestamp, f"{what}: timestamp")


def values(records):
    return [record.value for record in records]


@scenario
def cluster(client):
    identity, nodes = client.cluster()
    that(identity, "the cluster has an id")
    equal(1, len(nodes), "nodes")
    equal(client.bootstrap, f"{nodes[0][1]}:{nodes[0][2]}", "address of the node")
    equal(identity, client.cluster()[0], "cluster id, asked again")


@scenario
def topics(client):
    first, second = client.topic(3), client.topic()
    that({first, second} <= client.topics(), "both are listed")
    equal([0, 1, 2], client.partitions(first), "partitions")
    client.fill(first, 2, 5)
    client.delete(first)
    eventually(f"{first} is gone", lambda: first not in client.topics())
    that(second in client.topics(), "the other topic is still there")
    fails(client, "UNKNOWN_TOPIC_OR_PARTITION", "delete it again", lambda: client.delete(first))
    if not client.describing_creates:
        fails(client, "UNKNOWN_TOPIC_OR_PARTITION", "describe it", lambda: client.partitions(first))

    client.create(first)
    eventually(f"{first} is back", lambda: first in client.topics())
    equal([], client.read_all(first), "records of the new topic of that name")
    client.fill(first, 0, 2)
    equal([b"0", b"1"], values(client.read_all(first)), "records written since")


@scenario
def topics_refused(client):
    taken = client.topic()
    fails(client, "TOPIC_ALREADY_EXISTS", "a name that is taken", lambda: client.create(taken))
    for bad in [".", "..", "a b", "a/b", "x" * 250]:
        fails(client, "INVALID_TOPIC_EXCEPTION", f"the name {bad}", lambda: client.create(bad))
    fails(client, "INVALID_PARTITIONS", "no partitions", lambda: client.create(client.name(), partitions=0))
    fails(client, "INVALID_REPLICATION_FACTOR", "more replicas than nodes",
          lambda: client.create(client.name(), replicas=3))
    for config in [{"no.such.config": "1"}, {"retention.ms": "long"}]:
        fails(client, "INVALID_CONFIG", f"{config}", lambda: client.create(client.name(), configs=config))


@scenario
def auto_create(client):
    topic = client.name()
    client.send([Record(topic, b"first")])
    equal([b"first"], values(client.read_all(topic)), "records")
    equal([0], client.partitions(topic), "partitions by default")


@scenario
def auto_create_off(client):
    topic = client.name()
    reader = client.reader(group=client.name(), auto_create=False)
    reader.subscribe(topic)
    reader.nothing(1)
    that(topic not in client.topics(), f"the consumer forbade creating {topic}")
    reader.close()


@scenario
def many_topics(client):
    names = [client.name() for _ in range(client.many)]
    client.create(*names)
    eventually("all are listed", lambda: set(names) <= client.topics())
    client.send([Record(name, name.encode(), partition=0) for name in names])
    # A reader that may make topics makes them again if it asks for metadata while they are being deleted.
    reader = client.reader(auto_create=False)
    reader.assign([(name, 0) for name in names])
    got = reader.poll(len(names))
    equal({(name, name.encode()) for name in names}, {(record.topic, record.value) for record in got}, "records")
    reader.close()
    client.delete(*names)
    eventually("all are gone", lambda: not set(names) & client.topics())


@scenario
def configs(client):
    topic = client.topic(max_message_bytes="2000")
    described = client.configs(topic)
    equal("2000", described["max.message.bytes"][0], "max.message.bytes")
    that(not described["max.message.bytes"][1], "max.message.bytes is not the default")
    for name, value in {"cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1",
                        "segment.bytes": "1073741824", "message.timestamp.type": "CreateTime",
                        "compression.type": "producer"}.items():
        equal((value, True), described[name], f"{name} and whether it is the default")


@scenario
def codecs(client):
    topic = client.topic(2)
    sent = []
    for codec in CODECS:
        records = [
            # Every third value is incompressible, the others are all but empty of information.
            Record(topic, noise(700, i) if i % 3 == 0 else f"{codec}{i}".encode() * (i % 50), f"{codec}-{i}".encode(),
                   i % 2, 1_700_000_000_000 + i, [("codec", codec.encode())])
            for i in range(300)
        ]
        client.send(records, codec=codec)
        sent += records
    got = client.read_all(topic)
    for partition in range(2):
        same([r for r in sent if r.partition == partition], [r for r in got if r.partition == partition])


@scenario
def null_and_empty(client):
    topic = client.topic()
    records = [Record(topic, value, key, 0, 1) for key in [None, b"", b"key"] for value in [None, b"", b"value"]]
    if client.refuses_empty_records:
        del records[0]
    client.send(records)
    client.send(records, codec="gzip")
    same(records * 2, client.read_all(topic))


@scenario
def headers(client):
    topic = client.topic()
    rich = [("twice", b"first"), ("other", None), ("twice", b"second"), ("empty", b""), ("twice", b"first"),
            ("bytes", bytes([0, 255, 128, 127])), ("ключ", b"not ascii")]
    if client.refuses_null_headers:
        del rich[1]
    records = [
        Record(topic, b"rich", b"k", 0, 1, rich),
        Record(topic, b"many", b"k", 0, 1, [(f"h{i % 7}", b"%d" % i) for i in range(500)]),
        Record(topic, b"none", b"k", 0, 1),
    ]
    client.send(records)
    same(records, client.read_all(topic))


@scenario
def timestamps(client):
    topic = client.topic()
    times = [1, 1_700_000_000_123, 5, int(time.time() * 1000)]
    records = [Record(topic, b"v", partition=0, timestamp=at) for at in times]
    client.send(records)
    same(records, client.read_all(topic))


@scenario
def log_append_time(client):
    topic = client.topic(message_timestamp_type="LogAppendTime")
    for codec in ["none", "lz4"]:
        client.send([Record(topic, b"%d" % i, partition=0, timestamp=1000 + i) for i in range(10)], codec=codec)
    got = client.read_all(topic)
    equal(20, len(got), "records")
    for record in got:
        that(record.log_append_time, "the timestamp is the server's")
        that(record.timestamp > 1_700_000_000_000, f"the server's time, not {record.timestamp}")
    that([r.timestamp for r in got] == sorted(r.timestamp for r in got), "times don't run backwards")


@scenario
def size_limit(client):
    topic = client.topic()
    # The limit is on the batch: 61 bytes of head, then for one keyless record of about a mebibyte 11 bytes around the
    # value (length 3, attributes, two deltas, key length, value length 3, header count).
    largest = 1_048_588 - 61 - 11
    whole = Record(topic, noise(largest, 1), partition=0, timestamp=1)
    small = Record(topic, b"small", partition=0, timestamp=1)
    client.send([whole], request_bytes=4_000_000)
    for size in [largest + 1, 2_500_000]:
        over = Record(topic, noise(size, 2), partition=0, timestamp=1)
        fails(client, "MESSAGE_TOO_LARGE", f"a value of {size} bytes",
              lambda: client.send([over], request_bytes=4_000_000))
    client.send([small])
    same([whole, small], client.read_all(topic))

    wide = client.topic(max_message_bytes="5000000")
    big = Record(wide, noise(2_500_000, 3), partition=0, timestamp=1)
    client.send([big], request_bytes=4_000_000)
    same([big], client.read_all(wide))


@scenario
def acks(client):
    for level in ["0", "1", "all"]:
        topic = client.topic()
        records = [Record(topic, f"{level}{i}".encode(), partition=0, timestamp=1 + i) for i in range(200)]
        # Without an answer nothing says that a partition was not ready yet, so one record goes ahead.
        client.send(records[:1])
        where = client.send(records[1:], acks=level, idempotent=False)
        if level != "0":
            equal([(0, i) for i in range(1, 200)], where, f"places in the answers, acks={level}")
        # acks=0 answers nothing, so what was sent may arrive after the flush has ended.
        reader = client.reader()
        reader.assign([(topic, 0)])
        same(records, reader.poll(len(records)))
        reader.close()


def _stream(client, **options):
    topic = client.topic(3)
    count = 6000
    where = client.send([Record(topic, b"%d" % i, partition=i % 3, timestamp=1 + i) for i in range(count)],
                        linger_ms=1, batch_bytes=1000, **options)
    for i, place in enumerate(where):
        equal((i % 3, i // 3), place, f"place of record {i} in the answer")
    got = client.read_all(topic)
    equal(count, len(got), "records")
    for record in got:
        equal(b"%d" % (record.offset * 3 + record.partition), record.value, "record at its offset")


@scenario
def pipelined(client):
    """Several requests in flight from a plain producer: on one connection their order must be kept too."""
    _stream(client, idempotent=False)


@scenario
def idempotent(client):
    _stream(client, idempotent=True)


@scenario
def key_partition(client):
    topic = client.topic(7)
    partitions = keys()
    client.send([Record(topic, b"v" + key, key) for key in partitions])
    got = client.read_all(topic)
    equal(partitions, {record.key: record.partition for record in got}, "partition of each key")
    equal({b"v" + key for key in partitions}, set(values(got)), "values")


@scenario
def positions(client):
    topic = client.topic(2)
    client.fill(topic, 0, 100)
    client.fill(topic, 1, 10)
    zero, one = (topic, 0), (topic, 1)
    reader = client.reader()
    equal({zero: (0, 100), one: (0, 10)}, reader.ends([zero, one]), "beginnings and ends")
    reader.assign([zero, one])
    equal(110, len(reader.poll(110)), "records from the beginning")
    reader.seek(zero, 97)
    equal([b"97", b"98", b"99"], values(reader.poll(3)), "from an offset")
    reader.nothing()
    client.send([Record(topic, b"new", partition=0)])
    equal([b"new"], values(reader.poll(1)), "what came after the end")
    reader.close()

    late = client.reader(reset="latest", group=client.name())
    late.assign([one], at={})
    late.nothing()
    client.send([Record(topic, b"newer", partition=1)])
    equal([b"newer"], values(late.poll(1)), "from the latest, only what came after")
    late.close()


@scenario
def out_of_range(client):
    topic = client.topic()
    client.fill(topic, 0, 10)
    earliest = client.reader()
    earliest.assign([(topic, 0)], at={(topic, 0): 1000})
    equal([b"%d" % i for i in range(10)], values(earliest.poll(10)), "reset to the earliest")
    earliest.close()
    latest = client.reader(reset="latest")
    latest.assign([(topic, 0)], at={(topic, 0): 1000})
    latest.nothing(0.7)
    client.send([Record(topic, b"new", partition=0)])
    equal([b"new"], values(latest.poll(1)), "reset to the latest")
    latest.close()


@scenario
def mid_batch(client):
    """The server answers with the whole batch that holds the asked offset; the client drops what is before it."""
    for codec in ["none", "zstd"]:
        topic = client.topic()
        for batch in range(3):
            client.send([Record(topic, b"%d" % (batch * 50 + i), partition=0) for i in range(50)], codec=codec,
                        linger_ms=200)
        for offset in [0, 1, 25, 49, 50, 51, 99, 100, 149]:
            reader = client.reader()
            reader.assign([(topic, 0)], at={(topic, 0): offset})
            got = reader.poll(150 - offset)
            equal(list(range(offset, 150)), [record.offset for record in got], "offsets")
            equal([b"%d" % i for i in range(offset, 150)], values(got), "values")
            reader.close()


@scenario
def times(client):
    topic = client.topic(2)
    stamps = [100, 300, 200, 300, 500]
    # Batches of their own first, then all in one batch, where the search goes on inside it.
    for at in stamps:
        client.send([Record(topic, b"at %d" % at, partition=0, timestamp=at)])
    client.send([Record(topic, b"at %d" % at, partition=1, timestamp=at) for at in stamps], linger_ms=200)
    reader = client.reader()
    for asked, offset in [(1, 0), (100, 0), (101, 1), (200, 1), (300, 1), (301, 4), (500, 4), (501, None)]:
        answers = reader.at_time({(topic, 0): asked, (topic, 1): asked})
        equal({(topic, 0): offset, (topic, 1): offset}, answers, f"first at or after {asked}")
    reader.assign([(topic, 1)], at={(topic, 1): reader.at_time({(topic, 1): 301})[topic, 1]})
    equal([b"at 500"], values(reader.poll(1)), "read from a time")
    reader.close()


@scenario
def small_fetch(client):
    """Limits smaller than a message: the first batch comes all the same, or the reader would stand still."""
    topic = client.topic(3)
    records = [Record(topic, noise(30_000 if i % 2 == 0 else 10, i), partition=i % 3, timestamp=1 + i) for i in range(24)]
    for record in records:
        client.send([record], linger_ms=0)
    for limits in [{"partition_fetch_bytes": 1000}, {"fetch_bytes": 1000},
                   {"fetch_bytes": 1000, "partition_fetch_bytes": 1000}]:
        got = client.read_all(topic, **limits)
        for partition in range(3):
            same([r for r in records if r.partition == partition], [r for r in got if r.partition == partition])


@scenario
def pause_resume(client):
    topic = client.topic(2)
    zero, one = (topic, 0), (topic, 1)
    client.fill(topic, 0, 50)
    client.fill(topic, 1, 50)
    reader = client.reader()
    reader.assign([zero, one])
    reader.pause(one)
    equal({0}, {record.partition for record in reader.poll(50)}, "only the partition that is not paused")
    reader.nothing()
    reader.resume(one)
    reader.pause(zero)
    client.fill(topic, 0, 5)
    equal({1}, {record.partition for record in reader.poll(50)}, "the other way round")
    reader.resume(zero)
    equal([b"%d" % i for i in range(5)], values(reader.poll(5)), "what waited meanwhile")
    reader.close()


@scenario
def long_poll(client):
    """A fetch that waits at the server is answered by the write, not by its time running out."""
    topic = client.topic()
    reader = client.reader(wait_ms=20_000)
    reader.assign([(topic, 0)])
    for i in range(3):
        reader.nothing(0.2)
        client.send([Record(topic, b"%d" % i, partition=0)], linger_ms=0)
        got = []
        end = time.monotonic() + 15
        while not got:
            that(time.monotonic() < end, "the write woke the waiting fetch")
            got = reader.fetch(0.1, 1)
        equal([b"%d" % i], values(got), "the record that was waited for")
    reader.close()


class Feed:
    """Writes to all partitions in turn until it is stopped."""

    def __init__(self, client, topic, partitions):
        self.ends = dict.fromkeys(range(partitions), 0)
        self.failure = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(client, topic), daemon=True)
        self._thread.start()

    def _run(self, client, topic):
        try:
            while not self._stop.wait(0.01):
                for partition, offset in client.send(
                        [Record(topic, b"v", partition=partition) for partition in self.ends], linger_ms=0):
                    self.ends[partition] = offset + 1
        except Exception as error:
            self.failure = error

    def close(self):
        self._stop.set()
        self._thread.join()

    def stop(self):
        self.close()
        if self.failure:
            raise Wrong("producing failed meanwhile") from self.failure
        return self.ends


def _come_and_go(client, assignor, **options):
    topic, group, seen = client.topic(6), client.name(), {}
    feed = client.keep(Feed(client, topic, 6))

    def join():
        return client.keep(client.member(topic, group, seen, assignor=assignor, **options).start())

    first = join()
    share(6, [6], first)
    second = join()
    share(6, [3, 3], first, second)
    third = join()
    share(6, [2, 2, 2], first, second, third)
    # In the protocol of KIP-848 a member has its partitions a moment before it has said so.
    eventually("the group as described", lambda: client.describe_group(group) == ("Stable", [2, 2, 2]))
    first.leave()
    share(6, [3, 3], second, third)
    fourth = join()
    share(6, [2, 2, 2], second, third, fourth)
    third.leave()
    share(6, [3, 3], second, fourth)

    ends = feed.stop()
    total = sum(ends.values())
    eventually(f"all {total} records are read", lambda: len(seen) >= total)
    second.leave()
    fourth.leave()
    equal(set(), {(p, o) for p, end in ends.items() for o in range(end)} - set(seen), "records that were never read")
    equal(total, len(seen), "records read")
    if client.reads_once:
        equal({}, {record: times for record, times in seen.items() if times != 1}, "records read more than once")
    equal(ends, client.committed(group, topic), "committed positions")
    equal(("Empty", []), client.describe_group(group), "the group when all have left")


@scenario
def group_range(client):
    _come_and_go(client, "range")


@scenario
def group_roundrobin(client):
    _come_and_go(client, "roundrobin")


@scenario
def group_sticky(client):
    _come_and_go(client, "sticky")


@scenario
def group_cooperative(client):
    _come_and_go(client, "cooperative-sticky")


@scenario
def consumer_uniform(client):
    """The protocol in which the server assigns (KIP-848)."""
    _come_and_go(client, "uniform", protocol="consumer")


@scenario
def consumer_range(client):
    _come_and_go(client, "range", protocol="consumer")


@scenario
def consumer_static(client):
    """A static member of the new protocol comes back to its partitions; the other keeps its own."""
    topic, group, seen = client.topic(4), client.name(), {}

    def join(instance):
        return client.keep(client.member(topic, group, seen, instance=instance, protocol="consumer").start())

    a = join("a")
    share(4, [4], a)
    b = join("b")
    share(4, [2, 2], a, b)
    of_a, of_b = set(a.owned), set(b.owned)
    a.leave()
    for partition in range(4):
        client.fill(topic, partition, 10)
    back = join("a")
    share(4, [2, 2], back, b)
    equal((of_a, of_b), (back.owned, b.owned), "partitions after coming back")
    eventually("all is read", lambda: len(seen) == 40)
    back.leave()
    b.leave()


@scenario
def consumer_migration(client):
    """From the classic protocol to the new one and back, member by member, while records flow."""
    topic, group, seen = client.topic(4), client.name(), {}
    feed = client.keep(Feed(client, topic, 4))

    def join(protocol):
        assignor = "cooperative-sticky" if protocol == "classic" else "uniform"
        return client.keep(client.member(topic, group, seen, assignor=assignor, protocol=protocol).start())

    old = join("classic")
    share(4, [4], old)
    new = join("consumer")
    share(4, [2, 2], old, new)
    old.leave()
    share(4, [4], new)
    old = join("classic")
    share(4, [2, 2], old, new)
    new.leave()
    share(4, [4], old)
    ends = feed.stop()
    total = sum(ends.values())
    eventually(f"all {total} records are read", lambda: len(seen) >= total)
    old.leave()
    equal(set(), {(p, o) for p, end in ends.items() for o in range(end)} - set(seen), "records that were never read")
    equal({}, {record: times for record, times in seen.items() if times != 1}, "records read more than once")
    equal(ends, client.committed(group, topic), "committed positions")


@scenario
def static_membership(client):
    """A static member that comes back within its session timeout finds its partitions; the other keeps its own."""
    topic, group, seen = client.topic(4), client.name(), {}
    a = client.keep(client.member(topic, group, seen, instance="a").start())
    share(4, [4], a)
    b = client.keep(client.member(topic, group, seen, instance="b").start())
    share(4, [2, 2], a, b)
    of_a, of_b = set(a.owned), set(b.owned)
    a.leave()
    equal(("Stable", [2, 2]), client.describe_group(group), "the group while one member is away")
    for partition in range(4):
        client.fill(topic, partition, 10)
    back = client.keep(client.member(topic, group, seen, instance="a").start())
    share(4, [2, 2], back, b)
    equal((of_a, of_b), (back.owned, b.owned), "partitions after coming back")
    eventually("all is read", lambda: len(seen) == 40)
    back.leave()
    b.leave()


@scenario
def commits(client):
    topic, group = client.topic(3), client.name()
    zero, one, two = ((topic, partition) for partition in range(3))
    client.fill(topic, 0, 10)
    reader = client.reader(group=group)
    equal(None, reader.committed(zero), "nothing is committed yet")
    reader.commit({zero: (4, "bis Zeile 4 — née 'x'"), one: (0, "")})
    equal((4, "bis Zeile 4 — née 'x'"), reader.committed(zero), "offset and metadata")
    equal((0, ""), reader.committed(one), "offset 0 is a position too")
    equal(None, reader.committed(two), "the third partition has no position")
    reader.close()

    heir = client.reader(group=group)
    heir.assign([zero], at={})
    equal([b"4", b"5", b"6", b"7", b"8", b"9"], values(heir.poll(6)), "read on from there")
    heir.commit({zero: (1, "back"), one: (5_000_000_000, "beyond")})
    equal({0: 1, 1: 5_000_000_000}, client.committed(group, topic), "back and beyond the end, it is the group's affair")
    heir.close()


@scenario
def auto_commit(client):
    topic, group = client.topic(), client.name()
    client.fill(topic, 0, 20)
    reader = client.reader(group=group, auto_commit_ms=100)
    reader.subscribe(topic)
    reader.poll(20)

    def committed():
        reader.fetch(0.05, 1)
        return client.committed(group, topic) == {0: 20}

    eventually("the position is committed in passing", committed)
    client.fill(topic, 0, 5)
    reader.poll(5)
    reader.close()
    equal({0: 25}, client.committed(group, topic), "closing commits the rest")
    following = client.reader(group=group)
    following.subscribe(topic)
    client.fill(topic, 0, 1)
    equal([25], [record.offset for record in following.poll(1)], "the next consumer reads on")
    following.close()


@scenario
def group_admin(client):
    topic, group, seen = client.topic(2), client.name(), {}
    client.fill(topic, 0, 30)
    client.fill(topic, 1, 30)
    member = client.keep(client.member(topic, group, seen).start())
    eventually("all is read", lambda: len(seen) == 60)
    that(group in client.groups(), "listed")
    equal(("Stable", [2]), client.describe_group(group), "the group as described")
    fails(client, "NON_EMPTY_GROUP", "delete a group with members", lambda: client.delete_group(group))
    member.leave()
    equal({0: 30, 1: 30}, client.committed(group, topic), "positions")
    client.reset_group(group, topic, 0, 7)
    equal({0: 7, 1: 30}, client.committed(group, topic), "positions after a reset")
    reader = client.reader(group=group)
    reader.assign([(topic, 0), (topic, 1)], at={})
    equal(23, len(reader.poll(23)), "what there is to read after it")
    reader.close()
    client.delete_group(group)
    that(group not in client.groups(), "not listed after deletion")
    equal({}, client.committed(group, topic), "positions after deletion")


@scenario
def deleted_records(client):
    topic = client.topic()
    client.fill(topic, 0, 10)
    equal(4, client.delete_records(topic, 0, 4), "start after the first deletion")
    equal(4, client.delete_records(topic, 0, 2), "a start doesn't go back")
    fails(client, "OFFSET_OUT_OF_RANGE", "delete past the end", lambda: client.delete_records(topic, 0, 11))
    compacted = client.topic(cleanup_policy="compact")
    fails(client, "POLICY_VIOLATION", "delete from a compacted topic", lambda: client.delete_records(compacted, 0, 0))
    place = (topic, 0)
    reader = client.reader(reset="earliest")
    reader.assign([place], {place: 1})
    equal({place: (4, 10)}, reader.ends([place]), "first and next offset")
    equal([b"%d" % i for i in range(4, 10)], values(reader.poll(6)), "records of a consumer whose offset is gone")
    reader.close()
    equal(10, client.delete_records(topic, 0, -1), "start after all was deleted")
    client.send([Record(topic, b"new", partition=0)])
    equal([(10, b"new")], [(record.offset, record.value) for record in client.read_all(topic)], "what came afterwards")
