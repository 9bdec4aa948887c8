"""KurrentDB's Python client, kurrentdbclient, on the event door."""

import json
import re
import time
import uuid

from kurrentdbclient import KurrentDBClient, NewEvent, NewEvents, NewRecord, StreamState, StreamStateCheck
from kurrentdbclient.exceptions import (
    AlreadyExistsError,
    ConsistencyChecksFailedError,
    DeadlineExceededError,
    FailedPreconditionError,
    KurrentDBClientError,
    NotFoundError,
    StreamIsDeletedError,
    StreamTombstonedError,
    WrongCurrentVersionError,
)

from scenario import PATIENCE_S, Wrong, equal, eventually, main, scenario, that

ANY, NO_STREAM, EXISTS = StreamState.ANY, StreamState.NO_STREAM, StreamState.EXISTS


class Store:
    """One scenario's connection. Names it hands out are new in every run."""

    lacks = {}

    def __init__(self, address, name):
        self.db = KurrentDBClient(f"kurrentdb://{address}?Tls=false&DefaultDeadline={PATIENCE_S}")
        self.category = f"py{name.replace('_', '')}{time.time_ns():x}"
        self._names = 0
        self._open = []

    def stream(self):
        self._names += 1
        return f"{self.category}-{self._names}"

    def filled(self, count):
        """A stream of so many events, and the events."""
        stream, events = self.stream(), [event(n) for n in range(count)]
        self.db.append_to_stream(stream, current_version=NO_STREAM, events=events)
        return stream, events

    def keep(self, subscription):
        self._open.append(subscription)
        return subscription

    def close(self):
        for subscription in self._open:
            subscription.stop()
        self.db.close()


def event(number, kind="Happened", **more):
    return NewEvent(type=kind, data=json.dumps({"number": number}).encode(), metadata=b'{"by":"test"}', **more)


def ids(events):
    return [each.id for each in events]


def take(subscription, count):
    """So many events, without what else a subscription says; its deadline ends a wait that is too long."""
    got = []
    while len(got) < count:
        each = next(subscription)
        if not (each.is_checkpoint or each.is_caught_up or each.is_fell_behind):
            got.append(each)
    return got


def until_caught_up(subscription):
    got = []
    while not (got and got[-1].is_caught_up):
        got.append(next(subscription))
    return [each for each in got[:-1] if not each.is_checkpoint]


def refused(kind, what, action, **fields):
    """The action must fail with this error, which has these fields."""
    try:
        action()
    except Wrong:
        raise
    except Exception as error:
        if not isinstance(error, kind):
            raise Wrong(f"{what}: want {kind.__name__}, got {error!r}") from error
        for name, value in fields.items():
            equal(value, getattr(error, name), f"{what}: {name}")
        return error
    raise Wrong(f"{what}: want {kind.__name__}, but it succeeded")


@scenario
def append_expected(store):
    """Each expectation where it holds and where it doesn't, for one event and for several (which go by another call)."""
    for count in [1, 2]:
        db, stream = store.db, store.stream()

        def append(expected, first):
            events = [event(first + n) for n in range(count)]
            return db.append_to_stream(stream, current_version=expected, events=events if count > 1 else events[0])

        def conflict(expected, actual):
            refused(WrongCurrentVersionError, f"{expected} at {actual}", lambda: append(expected, 0),
                    stream_name=stream, expected_version=expected, actual_version=actual)

        conflict(EXISTS, NO_STREAM)
        conflict(0, NO_STREAM)
        equal(NO_STREAM, db.get_current_version(stream), "version of no stream")
        positions = [append(NO_STREAM, 0), append(EXISTS, count), append(2 * count - 1, 2 * count), append(ANY, 3 * count)]
        equal(sorted(set(positions)), positions, "positions grow")
        last = 4 * count - 1
        conflict(NO_STREAM, last)
        conflict(last - 1, last)
        conflict(last + 1, last)
        equal(last, db.get_current_version(stream), "current version")
        got = db.get_stream(stream)
        equal(list(range(4 * count)), [json.loads(each.data)["number"] for each in got], "numbers")
        equal(list(range(4 * count)), [each.stream_position for each in got], "versions")
        equal(positions[-1], got[-1].commit_position, "position of the last event")


@scenario
def event_contents(store):
    stream, own = store.stream(), uuid.uuid4()
    sent = [
        NewEvent(type="Json", data=b'{"a": [1, "\xc3\xa9"]}', metadata=b'{"m": {"n": 1}}', id=own),
        NewEvent(type="Binary", data=bytes(range(256)), content_type="application/octet-stream"),
        NewEvent(type="Empty", data=b"", content_type="application/octet-stream"),
        NewEvent(type="Large", data=b'"' + b"x" * 900_000 + b'"'),
    ]
    before = time.time()
    store.db.append_to_stream(stream, current_version=NO_STREAM, events=sent)
    for want, got in zip(sent, store.db.get_stream(stream), strict=True):
        for name in ["type", "data", "metadata", "content_type", "id"]:
            equal(getattr(want, name), getattr(got, name), f"{want.type} {name}")
        equal(stream, got.stream_name, "stream")
        that(before - 5 < got.recorded_at.timestamp() < time.time() + 5, f"recorded now, not {got.recorded_at}")


@scenario
def append_idempotent(store):
    stream, events = store.filled(3)
    append = store.db.append_to_stream
    first = store.db.get_stream(stream)[-1].commit_position
    for expected in [NO_STREAM, ANY]:
        equal(first, append(stream, current_version=expected, events=events), f"position of a retry that expects {expected}")
    equal(2, store.db.get_current_version(stream), "a retry adds nothing")
    more = [event(3), event(4)]
    append(stream, current_version=2, events=more)
    append(stream, current_version=2, events=more)
    equal(ids(events + more), ids(store.db.get_stream(stream)), "events after a retry with a version")
    # A new event among old ones makes another request of it.
    refused(WrongCurrentVersionError, "new events at an old version",
            lambda: append(stream, current_version=2, events=[more[0], event(5)]))


@scenario
def read_stream(store):
    stream, events = store.filled(25)
    want = ids(events)

    def read(**options):
        return ids(store.db.get_stream(stream, **options))

    equal(want, read(), "forwards")
    equal(want[::-1], read(backwards=True), "backwards")
    equal(want[7:], read(stream_position=7), "from a version")
    equal(want[7:10], read(stream_position=7, limit=3), "from a version, limited")
    equal(want[7::-1], read(stream_position=7, backwards=True), "backwards from a version")
    equal(want[7:4:-1], read(stream_position=7, backwards=True, limit=3), "backwards from a version, limited")
    equal(want[-1:], read(backwards=True, limit=1), "the last event")
    equal([], read(stream_position=25), "from after the end")
    equal(want[::-1], read(stream_position=1000, backwards=True), "backwards from after the end")
    refused(NotFoundError, "a stream that isn't there", lambda: store.db.get_stream(store.stream()))


@scenario
def read_all(store):
    """All streams are everyone's: what is read must contain what was written here, in its order."""
    first, events = store.filled(5)
    second, others = store.filled(5)
    third = event(9, "Marked")
    store.db.append_to_stream(first, current_version=4, events=third)
    want = ids(events) + ids(others) + [third.id]
    begin = store.db.get_stream(first)[0].commit_position

    def mine(events):
        return [each for each in events if each.stream_name in (first, second)]

    got = mine(store.db.read_all(commit_position=begin))
    equal(want, ids(got), "forwards")
    positions = [each.commit_position for each in got]
    equal(sorted(set(positions)), positions, "positions grow")
    equal(want[::-1], ids(mine(store.db.read_all(backwards=True)))[: len(want)], "backwards")
    equal(want[3:], ids(mine(store.db.read_all(commit_position=positions[3]))), "from a position, with it")
    # Backwards, a position is a place before its event.
    equal(want[2::-1], ids(mine(store.db.read_all(commit_position=positions[3], backwards=True))), "backwards from a position")
    equal(3, len(list(store.db.read_all(commit_position=begin, limit=3))), "limited")
    that(store.db.get_commit_position() >= positions[-1], "the position of the store's end")


@scenario
def filters(store):
    stream, other = store.stream(), store.stream()
    events = [event(n, kind) for n, kind in enumerate(["OrderPlaced", "OrderPaid", "InvoiceSent", "Order"])]
    store.db.append_to_stream(stream, current_version=NO_STREAM, events=events)
    store.db.append_to_stream(other, current_version=NO_STREAM, events=event(4, "OrderPlaced"))
    store.db.set_stream_metadata(stream, metadata={"$maxCount": 100})
    begin = store.db.get_stream(stream)[0].commit_position

    def read(**options):
        got = store.db.read_all(commit_position=begin, **options)
        return [json.loads(each.data).get("number") for each in got if each.stream_name.lstrip("$").startswith(store.category)]

    equal([0, 1, 2, 3, 4], read(), "by default, without the system's events")
    equal([0, 1, 2, 3, 4, None], read(filter_exclude=[]), "with the system's events")
    equal([0, 1, 3, 4], read(filter_include=["Order"], filter_by_prefix=True), "types by prefix")
    # The client puts these words into one expression as they are.
    equal([2, 3], read(filter_include=["Order$", "^Inv.*"]), "types by regular expression")
    equal([2, 3], read(filter_exclude=["Order.+", r"\$.*"]), "types, but for some")
    equal([0, 1, 2, 3], read(filter_include=[re.escape(stream)], filter_by_stream_name=True), "streams by regular expression")
    equal([4], read(filter_include=[other], filter_by_stream_name=True, filter_by_prefix=True), "streams by prefix")
    equal([0, 1], read(filter_include=["Order"], filter_by_prefix=True, limit=2), "limited")
    equal([4], read(filter_include=["Order"], filter_by_prefix=True, limit=1, backwards=True) or
          [json.loads(next(iter(store.db.read_all(backwards=True, filter_include=[other], filter_by_stream_name=True))).data)["number"]],
          "backwards")


@scenario
def stream_metadata(store):
    stream, events = store.filled(10)
    equal(({}, NO_STREAM), store.db.get_stream_metadata(stream), "metadata of a stream without any")
    store.db.set_stream_metadata(stream, metadata={"$maxCount": 3, "owner": "ann"}, current_version=NO_STREAM)
    equal(({"$maxCount": 3, "owner": "ann"}, 0), store.db.get_stream_metadata(stream), "metadata")
    equal(ids(events[7:]), ids(store.db.get_stream(stream)), "at most three events")
    store.db.append_to_stream(stream, current_version=9, events=event(10))
    equal([8, 9, 10], [each.stream_position for each in store.db.get_stream(stream)], "after one more")
    refused(WrongCurrentVersionError, "metadata at another version",
            lambda: store.db.set_stream_metadata(stream, metadata={}, current_version=NO_STREAM))
    store.db.set_stream_metadata(stream, metadata={"$tb": 10}, current_version=0)
    equal([10], [each.stream_position for each in store.db.get_stream(stream)], "truncated")
    equal([10], [each.stream_position for each in store.db.get_stream(stream, stream_position=2)], "from what is gone")
    equal([10], [each.stream_position for each in store.db.get_stream(stream, backwards=True)], "backwards")
    store.db.set_stream_metadata(stream, metadata={}, current_version=1)
    store.db.append_to_stream(stream, current_version=10, events=event(11))
    equal(11, store.db.get_stream(stream)[-1].stream_position, "versions go on")


@scenario
def subscribe_stream(store):
    stream, events = store.filled(50)
    subscription = store.keep(store.db.subscribe_to_stream(stream, include_caught_up=True, timeout=PATIENCE_S))
    equal(ids(events), ids(until_caught_up(subscription)), "history")
    live = [event(n) for n in range(50, 60)]
    for each in live:
        store.db.append_to_stream(stream, current_version=ANY, events=each)
    got = take(subscription, len(live))
    equal(ids(live), ids(got), "live")
    equal(list(range(50, 60)), [each.stream_position for each in got], "versions")
    after = store.keep(store.db.subscribe_to_stream(stream, stream_position=56, timeout=PATIENCE_S))
    equal(ids(live[7:]), ids(take(after, 3)), "after a version")
    end = store.keep(store.db.subscribe_to_stream(stream, from_end=True, timeout=PATIENCE_S, include_caught_up=True))
    equal([], until_caught_up(end), "nothing of the past from the end")
    coming = store.stream()
    waiting = store.keep(store.db.subscribe_to_stream(coming, timeout=PATIENCE_S))
    last = event(60)
    for name in [stream, coming]:
        store.db.append_to_stream(name, current_version=ANY, events=last)
    equal([last.id], ids(take(end, 1)), "from the end")
    equal([last.id], ids(take(waiting, 1)), "of a stream that wasn't there")


@scenario
def subscribe_all(store):
    stream, events = store.filled(20)
    begin = store.db.get_stream(stream)[0].commit_position
    subscription = store.keep(store.db.subscribe_to_all(
        commit_position=begin, include_caught_up=True, timeout=PATIENCE_S,
        filter_include=[f"{store.category}-.*"], filter_by_stream_name=True))
    # After a position, so without its own event.
    equal(ids(events[1:]), ids(until_caught_up(subscription)), "history")
    other, others = store.filled(5)
    store.db.append_to_stream(stream, current_version=ANY, events=event(20))
    got = take(subscription, 6)
    equal(ids(others), ids(got[:5]), "live, of another stream")
    equal([other] * 5 + [stream], [each.stream_name for each in got], "streams")
    positions = [each.commit_position for each in got]
    equal(sorted(set(positions)), positions, "positions grow")


@scenario
def subscribe_filtered(store):
    """Checkpoints come, though nothing passes; to go on from the last one misses nothing."""
    stream, _ = store.filled(1)
    begin = store.db.get_stream(stream)[0].commit_position
    rare = {"filter_include": [f"Rare{store.category}"], "include_checkpoints": True, "timeout": PATIENCE_S}
    subscription = store.keep(store.db.subscribe_to_all(
        commit_position=begin, window_size=10, checkpoint_interval_multiplier=1, include_caught_up=True, **rare))
    for first in range(0, 60, 20):
        store.db.append_to_stream(stream, current_version=ANY, events=[event(n) for n in range(first, first + 20)])
    checkpoint = next(each for each in subscription if each.is_checkpoint and each.commit_position > begin)
    wanted = event(60, f"Rare{store.category}")
    store.db.append_to_stream(stream, current_version=ANY, events=wanted)
    got = take(subscription, 1)[0]
    equal(wanted.id, got.id, "the event that passes")
    that(checkpoint.commit_position < got.commit_position, "the checkpoint before it lies before it")
    resumed = store.keep(store.db.subscribe_to_all(commit_position=checkpoint.commit_position, **rare))
    equal([wanted.id], ids(take(resumed, 1)), "from the checkpoint")


@scenario
def subscribe_while_writing(store):
    """History becomes live in the middle of writing; no event is missed and none comes twice."""
    import threading

    stream = store.stream()
    events = [event(n) for n in range(300)]
    store.db.append_to_stream(stream, current_version=NO_STREAM, events=events[:100])

    def write():
        for first in range(100, 300, 5):
            store.db.append_to_stream(stream, current_version=ANY, events=events[first : first + 5])

    writer = threading.Thread(target=write)
    writer.start()
    one = store.keep(store.db.subscribe_to_stream(stream, timeout=PATIENCE_S))
    every = store.keep(store.db.subscribe_to_all(
        filter_include=[stream], filter_by_stream_name=True, filter_by_prefix=True, timeout=PATIENCE_S))
    equal(ids(events), ids(take(one, 300)), "the stream's")
    equal(ids(events), ids(take(every, 300)), "all streams'")
    writer.join()


@scenario
def persistent_stream(store):
    stream, events = store.filled(10)
    db, group = store.db, "readers"
    db.create_subscription_to_stream(group, stream, message_timeout=20, checkpoint_after=0.1)
    refused(AlreadyExistsError, "the same again", lambda: db.create_subscription_to_stream(group, stream))
    consumer = db.read_subscription_to_stream(group, stream, timeout=PATIENCE_S)
    got = take(consumer, 10)
    equal(ids(events), ids(got), "history")
    for each in got[:6]:
        consumer.ack(each)
    eventually("acknowledged", lambda: db.get_subscription_info(group, stream).total_in_flight_messages == 4)
    consumer.stop()
    # What was not acknowledged comes again, and then what is new.
    again = store.keep(db.read_subscription_to_stream(group, stream, timeout=PATIENCE_S))
    more = event(10)
    db.append_to_stream(stream, current_version=9, events=more)
    got = take(again, 5)
    equal(set(ids(events[6:]) + [more.id]), set(ids(got)), "after a restart of the consumer")
    for each in got:
        again.ack(each)
    eventually("all acknowledged", lambda: db.get_subscription_info(group, stream).total_in_flight_messages == 0)
    info = db.get_subscription_info(group, stream)
    equal((stream, group, 1), (info.event_source, info.group_name, len(info.connections)), "what is told of it")
    that(group in [each.group_name for each in db.list_subscriptions_to_stream(stream)], "listed")
    db.update_subscription_to_stream(group, stream, max_retry_count=3)
    equal(3, db.get_subscription_info(group, stream).max_retry_count, "updated")
    db.delete_subscription(group, stream)
    refused(NotFoundError, "a group that isn't there", lambda: db.read_subscription_to_stream(group, stream))


@scenario
def persistent_nack(store):
    stream, events = store.filled(4)
    db, group = store.db, "readers"
    db.create_subscription_to_stream(group, stream, message_timeout=20, max_retry_count=2)
    consumer = store.keep(db.read_subscription_to_stream(group, stream, timeout=PATIENCE_S))
    got = take(consumer, 4)
    equal([0] * 4, [each.retry_count for each in got], "retries at first")
    consumer.ack(got[0])
    consumer.nack(got[1], "skip")
    consumer.nack(got[2], "park")
    consumer.nack(got[3], "retry")
    retried = take(consumer, 1)[0]
    equal((events[3].id, 1), (retried.id, retried.retry_count), "retried")
    # Beyond its retries an event is parked.
    consumer.nack(retried, "retry")
    retried = take(consumer, 1)[0]
    equal((events[3].id, 2), (retried.id, retried.retry_count), "retried again")
    consumer.nack(retried, "retry")
    eventually("two parked", lambda: db.get_subscription_info(group, stream).parked_message_count == 2)
    db.replay_parked_events(group, stream)
    got = take(consumer, 2)
    equal({events[2].id, events[3].id}, set(ids(got)), "parked events replayed")
    for each in got:
        consumer.ack(each)
    eventually("none parked", lambda: db.get_subscription_info(group, stream).parked_message_count == 0)


@scenario
def persistent_timeout(store):
    """What a consumer holds too long is another's."""
    stream, events = store.filled(1)
    store.db.create_subscription_to_stream("readers", stream, message_timeout=0.5)
    consumer = store.keep(store.db.read_subscription_to_stream("readers", stream, timeout=PATIENCE_S))
    first, second = take(consumer, 2)
    equal((events[0].id, 0, events[0].id), (first.id, first.retry_count, second.id), "the event, twice")
    that(second.retry_count >= 1, "counted as a retry")
    consumer.ack(second)


@scenario
def persistent_consumers(store):
    """Two consumers share the events; each is one's."""
    stream, events = store.filled(40)
    store.db.create_subscription_to_stream("readers", stream, consumer_strategy="RoundRobin", message_timeout=20)
    consumers = [store.keep(store.db.read_subscription_to_stream("readers", stream, timeout=PATIENCE_S, event_buffer_size=10))
                 for _ in range(2)]
    got = [[], []]
    for _ in range(4):
        for consumer, mine in zip(consumers, got):
            for each in take(consumer, 5):
                consumer.ack(each)
                mine.append(each.id)
    equal(sorted(ids(events)), sorted(got[0] + got[1]), "every event once")


@scenario
def persistent_all(store):
    stream, events = store.filled(5)
    begin = store.db.get_stream(stream)[0].commit_position
    group = store.category
    store.db.create_subscription_to_all(
        group, commit_position=begin, filter_include=[f"{store.category}-.*"], filter_by_stream_name=True)
    consumer = store.db.read_subscription_to_all(group, timeout=PATIENCE_S)
    other, others = store.filled(3)
    # It begins at the position, with its own event.
    got = take(consumer, 8)
    equal(set(ids(events) + ids(others)), set(ids(got)), "what passes of both streams")
    equal(ids(others), [each.id for each in got if each.stream_name == other], "in their order")
    for each in got:
        consumer.ack(each)
    consumer.stop()
    store.db.delete_subscription(group)


@scenario
def soft_delete(store):
    stream, events = store.filled(3)
    refused(WrongCurrentVersionError, "delete at another version",
            lambda: store.db.delete_stream(stream, current_version=1))
    store.db.delete_stream(stream, current_version=2)
    refused(NotFoundError, "read of a deleted stream", lambda: store.db.get_stream(stream))
    # The same ids again are new events: the stream is another one.
    store.db.append_to_stream(stream, current_version=NO_STREAM, events=events)
    got = store.db.get_stream(stream)
    equal(ids(events), ids(got), "events after recreating")
    equal([3, 4, 5], [each.stream_position for each in got], "versions go on")
    equal([5, 4, 3], [each.stream_position for each in store.db.get_stream(stream, backwards=True)], "backwards")
    store.db.delete_stream(stream, current_version=ANY)
    store.db.append_to_stream(stream, current_version=5, events=event(6))
    equal([6], [each.stream_position for each in store.db.get_stream(stream)], "recreated at a version")
    store.db.delete_stream(stream, current_version=EXISTS)


@scenario
def tombstone(store):
    stream, _ = store.filled(3)
    refused(WrongCurrentVersionError, "tombstone at another version",
            lambda: store.db.tombstone_stream(stream, current_version=0))
    store.db.tombstone_stream(stream, current_version=2)
    refused(StreamIsDeletedError, "read", lambda: store.db.get_stream(stream))
    for expected in [ANY, NO_STREAM, 2]:
        # For this call the client has no error of its own.
        error = refused(FailedPreconditionError, f"append of one that expects {expected}",
                        lambda expected=expected: store.db.append_to_stream(stream, current_version=expected, events=event(4)))
        that(f"'{stream}' is deleted" in str(error), f"the error says what it is: {error}")
        refused(StreamIsDeletedError, f"append of two that expects {expected}",
                lambda expected=expected: store.db.append_to_stream(stream, current_version=expected, events=[event(4), event(5)]))
    refused(StreamIsDeletedError, "delete", lambda: store.db.delete_stream(stream, current_version=ANY))
    # One that never was can be ended too.
    never = store.stream()
    store.db.tombstone_stream(never, current_version=NO_STREAM)
    refused(StreamIsDeletedError, "append to one that never was",
            lambda: store.db.append_to_stream(never, current_version=ANY, events=[event(0), event(1)]))


@scenario
def multi_append(store):
    """Several streams in one append, by version 2 of the protocol."""
    one, two, gone = store.stream(), store.stream(), store.stream()
    events = [event(n) for n in range(4)]
    position = store.db.multi_append_to_stream([
        NewEvents(one, events[:3], NO_STREAM),
        NewEvents(two, events[3:], ANY),
    ])
    equal(ids(events[:3]), ids(store.db.get_stream(one)), "the first stream")
    equal(ids(events[3:]), ids(store.db.get_stream(two)), "the second stream")
    equal(events[0].data, store.db.get_stream(one)[0].data, "data")
    equal(position, store.db.get_stream(two)[-1].commit_position, "position")
    refused(WrongCurrentVersionError, "one of two expectations fails", lambda: store.db.multi_append_to_stream([
        NewEvents(one, [event(4)], 2),
        NewEvents(two, [event(5)], NO_STREAM),
    ]), stream_name=two, expected_version=NO_STREAM, actual_version=0)
    equal((2, 0), (store.db.get_current_version(one), store.db.get_current_version(two)), "nothing was appended")
    store.db.tombstone_stream(gone, current_version=ANY)
    refused(StreamTombstonedError, "one of two is ended", lambda: store.db.multi_append_to_stream([
        NewEvents(one, [event(4)], 2),
        NewEvents(gone, [event(5)], ANY),
    ]), stream_name=gone)


@scenario
def append_records(store):
    """Records of several streams in one append, and checks of streams that aren't written."""
    one, two, guard = store.stream(), store.stream(), store.stream()

    def record(stream, number):
        return NewRecord(stream_name=stream, type="Happened", data=b'{"number":%d}' % number)

    done = store.db.append_records([record(one, 0), record(two, 1), record(one, 2)],
                                   checks=[StreamStateCheck(guard, NO_STREAM), StreamStateCheck(one, NO_STREAM)])
    equal({one: 1, two: 0}, {each.stream_name: each.stream_position for each in done.stream_positions}, "versions")
    equal([b'{"number":0}', b'{"number":2}'], [each.data for each in store.db.get_stream(one)], "records of the first")
    equal(max(store.db.get_stream(stream)[-1].commit_position for stream in [one, two]), done.commit_position, "position")
    failed = refused(ConsistencyChecksFailedError, "two checks fail", lambda: store.db.append_records(
        [record(two, 3)], checks=[StreamStateCheck(two, 0), StreamStateCheck(one, 0), StreamStateCheck(guard, EXISTS)]))
    failures = [(each.check_index, each.stream_state_failure.stream_name) for each in failed.failures]
    equal([(1, one), (2, guard)], failures, "which checks")
    equal(0, store.db.get_current_version(two), "nothing was appended")


@scenario
def deadlines(store):
    """A call that waits for nothing ends at its deadline, and the connection is as good as before."""
    stream, _ = store.filled(1)
    subscription = store.db.subscribe_to_stream(stream, from_end=True, timeout=0.3)
    refused(DeadlineExceededError, "waiting for an event", lambda: next(subscription))
    equal(1, len(store.db.get_stream(stream)), "the same connection afterwards")


@scenario
def connect(store):
    """What a client asks before it does anything: the cluster's members, from a string that names several."""
    members = store.db.read_gossip()
    equal(1, len(members), "members")
    with KurrentDBClient(f"kurrentdb+discover://{store.db.connection_target}?Tls=false&NodePreference=leader") as again:
        equal(NO_STREAM, again.get_current_version(store.stream()), "through discovery")
    refused(KurrentDBClientError, "projections are not offered", lambda: store.db.get_projection_statistics("none"))


if __name__ == "__main__":
    main(Store)
