"""One log, two doors: what a Kafka client (confluent-kafka) and an event client (kurrentdbclient) see of each other.

The first argument is both addresses, Kafka's first, with a comma between them.
"""

import json
import time
import uuid

import confluent_kafka as ck
from confluent_kafka import admin
from kurrentdbclient import KurrentDBClient, NewEvent, StreamState
from kurrentdbclient.exceptions import WrongCurrentVersionError

from scenario import PATIENCE_S, Wrong, equal, eventually, main, scenario, that

INVALID_RECORD = 87


class Doors:
    """One scenario's connections, and an event topic of its own."""

    lacks = {}

    def __init__(self, addresses, name):
        kafka, events = addresses.split(",")
        self._config = {"bootstrap.servers": kafka, "log_level": 2, "error_cb": lambda error: None}
        self.admin = admin.AdminClient(self._config)
        # One request at a time and nothing gathered: what is expected of a record may hang on the one before.
        self.producer = ck.Producer(self._config | {"linger.ms": 0, "partitioner": "murmur2_random", "enable.idempotence": True})
        self.db = KurrentDBClient(f"kurrentdb://{events}?Tls=false&DefaultDeadline={PATIENCE_S}")
        self.category = f"both{name.replace('_', '')}{time.time_ns():x}"

    def create(self, topic, **configs):
        self.admin.create_topics([admin.NewTopic(topic, 3, 1, config=configs)])[topic].result(PATIENCE_S)

    def produce(self, topic, key, value, *headers, expected=None):
        """Sends one record and waits; returns (partition, offset), or the error."""
        results = []

        def delivered(error, message):
            results.append((error, message.partition(), message.offset()))

        headers = list(headers) + ([] if expected is None else [("daybook-expected-version", str(expected))])
        self.producer.produce(topic, value, key, headers=headers, on_delivery=delivered)
        self.producer.flush(PATIENCE_S)
        that(results, "the record was answered in time")
        error, *place = results[0]
        return error or tuple(place)

    def consume(self, topic, count):
        """So many records of all partitions, in the order of each."""
        consumer = ck.Consumer(self._config | {"group.id": f"{topic}-{uuid.uuid4()}", "auto.offset.reset": "earliest"})
        try:
            places = []
            eventually(f"{topic} can be read", lambda: topic in consumer.list_topics(timeout=10).topics)
            for partition in consumer.list_topics(topic, timeout=10).topics[topic].partitions:
                places.append(ck.TopicPartition(topic, partition, ck.OFFSET_BEGINNING))
            consumer.assign(places)
            got, end = [], time.monotonic() + PATIENCE_S
            while len(got) < count:
                that(time.monotonic() < end, f"read {len(got)} records in time, want {count}")
                got += [each for each in consumer.consume(count - len(got), 0.2) if not each.error()]
            return got
        finally:
            consumer.close()

    def close(self):
        self.db.close()


def event(number, **more):
    return NewEvent(type="Happened", data=json.dumps({"number": number}).encode(), metadata=b'{"by":"test"}', **more)


def header(record, name):
    return dict(record.headers() or {}).get(name)


def conflict(error, what):
    """The error of a record. What it says of stream and versions this client keeps to itself; the Java client shows it."""
    if not isinstance(error, ck.KafkaError):
        raise Wrong(f"{what}: want an error, but it went to {error}")
    equal(INVALID_RECORD, error.code(), f"{what}: code")
    return error


@scenario
def expected_version(doors):
    """A conditional produce with a Kafka client that knows nothing of it."""
    topic, key = doors.category, f"{doors.category}-1"
    doors.create(topic, **{"daybook.streams": "true"})
    conflict(doors.produce(topic, key, b"no", expected=0), "version 0 of no stream")
    partition, offset = doors.produce(topic, key, b"first", expected=-1)
    equal(0, offset, "offset: what is refused takes none")
    conflict(doors.produce(topic, key, b"no", expected=-1), "no stream, at 0")
    conflict(doors.produce(topic, key, b"no", expected=1), "version 1, at 0")
    equal((partition, 1), doors.produce(topic, key, b"second", expected=0), "version 0, at 0")
    equal((partition, 2), doors.produce(topic, key, b"third", expected="any"), "any")
    equal((partition, 3), doors.produce(topic, key, b"fourth"), "without a word of it")
    equal((partition, 4), doors.produce(topic, key, b"fifth", expected=3), "version 3")
    conflict(doors.produce(topic, key, b"no", expected="soon"), "what is no version")
    conflict(doors.produce(topic, None, b"no", expected=0), "a record of no stream")
    got = doors.consume(topic, 5)
    equal([b"first", b"second", b"third", b"fourth", b"fifth"], [each.value() for each in got], "what was appended")
    equal([0, 1, 2, 3, 4], [each.stream_position for each in doors.db.get_stream(key)], "versions")


@scenario
def event_to_kafka(doors):
    """An event is a record of its category's topic: the stream is the key, the data the value, the rest headers."""
    stream, other = f"{doors.category}-1", f"{doors.category}-2"
    events = [event(n) for n in range(3)]
    doors.db.append_to_stream(stream, current_version=StreamState.NO_STREAM, events=events)
    doors.db.append_to_stream(other, current_version=StreamState.NO_STREAM, events=event(9))
    got = doors.consume(doors.category, 4)
    mine = [each for each in got if each.key() == stream.encode()]
    equal([each.data for each in events], [each.value() for each in mine], "values")
    equal([str(each.id).encode() for each in events], [header(each, "ce_id") for each in mine], "ids")
    equal([(b"1.0", b"Happened", b"application/json", b'{"by":"test"}')] * 3,
          [tuple(header(each, name) for name in ["ce_specversion", "ce_type", "content-type", "daybook-metadata"]) for each in mine],
          "other headers")
    equal(1, len({each.partition() for each in mine}), "partitions of one stream")
    equal([b"9"], [each.value()[-2:-1] for each in got if each.key() == other.encode()], "the other stream")
    # To Kafka's readers the end of a stream is a tombstone of its key.
    doors.db.tombstone_stream(other, current_version=0)
    last = [each for each in doors.consume(doors.category, 5) if each.key() == other.encode()][-1]
    equal((None, b"$streamDeleted"), (last.value(), header(last, "ce_type")), "tombstone")


@scenario
def kafka_to_event(doors):
    """A record is an event of the stream that its key names."""
    topic, key, own = doors.category, f"{doors.category}-1", str(uuid.uuid4())
    doors.create(topic, **{"daybook.streams": "true"})
    doors.produce(topic, key, b'{"number":0}', ("ce_id", own), ("ce_type", "Placed"), ("content-type", "application/json"),
                  ("daybook-metadata", b'{"m":1}'))
    doors.produce(topic, key, b"plain")
    doors.produce(topic, "no dash", b"other stream")
    full, plain = doors.db.get_stream(key)
    equal((own, "Placed", b'{"number":0}', b'{"m":1}', "application/json"),
          (str(full.id), full.type, full.data, full.metadata, full.content_type), "a whole event")
    equal(("record", b"plain", 1), (plain.type, plain.data, plain.stream_position), "a plain record")
    that(plain.id != full.id, "it has an id too")
    equal(plain.id, doors.db.get_stream(key)[1].id, "always the same")
    subscription = doors.db.subscribe_to_stream(key, timeout=PATIENCE_S)
    equal([full.id, plain.id], [next(subscription).id for _ in range(2)], "subscribed to")
    doors.produce(topic, key, b"live")
    equal(b"live", next(subscription).data, "a live record")
    subscription.stop()


@scenario
def one_version(doors):
    """Both kinds of clients write one stream, each guarded by what the other did."""
    topic, key = doors.category, f"{doors.category}-1"
    doors.create(topic, **{"daybook.streams": "true"})
    doors.produce(topic, key, b"0", expected=-1)
    doors.db.append_to_stream(key, current_version=0, events=event(1))
    conflict(doors.produce(topic, key, b"no", expected=0), "what an event client made wrong")
    doors.produce(topic, key, b"2", expected=1)
    try:
        doors.db.append_to_stream(key, current_version=1, events=event(3))
    except WrongCurrentVersionError as error:
        equal((key, 2), (error.stream_name, error.actual_version), "what a Kafka client made wrong")
    else:
        raise Wrong("want a conflict, but it succeeded")
    equal([0, 1, 2], [each.stream_position for each in doors.db.get_stream(key)], "versions")
    equal(3, len(doors.consume(topic, 3)), "records")


@scenario
def made_event_topic(doors):
    """A topic with data becomes an event topic: its index is made of its log."""
    topic = doors.category
    doors.create(topic)
    for number in range(30):
        doors.produce(topic, f"{topic}-{number % 3}", b"%d" % number)
    resource = admin.ConfigResource(admin.ConfigResource.Type.TOPIC, topic, incremental_configs=[
        admin.ConfigEntry("daybook.streams", "true", incremental_operation=admin.AlterConfigOpType.SET)])
    doors.admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)

    def indexed():
        return doors.db.get_current_version(f"{topic}-0") == 9

    eventually("the index is made", indexed)
    got = doors.db.get_stream(f"{topic}-1")
    equal([b"%d" % number for number in range(1, 30, 3)], [each.data for each in got], "a stream of the past")
    equal(11, doors.db.append_to_stream(f"{topic}-1", current_version=9, events=[event(1), event(2)]) and
          doors.db.get_current_version(f"{topic}-1"), "and it goes on")


if __name__ == "__main__":
    main(Doors)
