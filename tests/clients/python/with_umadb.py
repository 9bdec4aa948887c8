"""UmaDB's Python client on the event door: appending unless events match a query.

The store is everyone's, so queries name tags that are new in every run; only where a position is known before may the rest be read.
"""

import threading
import time
import uuid

from umadb import AppendCondition, CancelledByUserError, Client, Event, IntegrityError, Query, QueryItem, TrackingInfo

from scenario import PATIENCE_S, Wrong, equal, main, scenario, that


class Store:
    """One scenario's connection, and a tag of its own."""

    lacks = {}

    def __init__(self, address, name):
        self.url = f"http://{address}"
        self.db = Client(self.url)
        self.tag = f"{name}:{time.time_ns():x}"

    def close(self):
        self.db.close()

    def event(self, kind="Happened", tags=(), **more):
        return Event(kind, b"data", [self.tag, *tags], uuid=uuid.uuid4(), **more)

    def query(self, *types, tags=()):
        return Query([QueryItem(list(types), [self.tag, *tags])])


def unless(query, after=None):
    return AppendCondition(query, after)


def kinds(events):
    return [each.event.event_type for each in events]


def refused(kind, what, action):
    try:
        action()
    except kind as error:
        return str(error)
    raise Wrong(f"{what}: want {kind.__name__}, but it succeeded")


@scenario
def dcb_append(store):
    sent = Event("Opened", bytes(range(256)), [store.tag, "ünïcode"], uuid=uuid.uuid4(), metadata={"who": "ann", "ce_type": "x"})
    first = store.db.append([sent])
    last = store.db.append([store.event("A"), Event("B", b"", [store.tag])])
    that(last >= first + 2, f"positions grow: {first}, {last}")
    got, plain, bare = store.db.read(store.query())
    for name in ["event_type", "data", "tags", "uuid", "metadata"]:
        equal(getattr(sent, name), getattr(got.event, name), name)
    equal([first, last - 1, last], [each.position for each in (got, plain, bare)], "positions")
    equal((None, {}, b""), (bare.event.uuid, bare.event.metadata, bare.event.data), "what was not given")
    equal(0, store.db.append([]), "no event")


@scenario
def dcb_condition(store):
    seat = store.query(tags=["seat:1"])
    position = store.db.append([store.event("Booked", ["seat:1"])], unless(seat))
    text = refused(IntegrityError, "the seat is taken", lambda: store.db.append([store.event("Booked", ["seat:1"])], unless(seat)))
    that(str(position) in text, f"the error names position {position}: {text}")
    store.db.append([store.event("Booked", ["seat:2"])], unless(store.query(tags=["seat:2"])))
    # What was seen may be there; what came since may not.
    seen = store.db.append([store.event("Freed", ["seat:1"])], unless(seat, after=position))
    refused(IntegrityError, "decided on what is no longer true",
            lambda: store.db.append([store.event("Booked", ["seat:1"])], unless(seat, after=position)))
    store.db.append([store.event("Booked", ["seat:1"])], unless(seat, after=seen))
    # Of a type that isn't there, and of one type of two.
    store.db.append([store.event("Other")], unless(store.query("Missing")))
    refused(IntegrityError, "one of two types", lambda: store.db.append([store.event()], unless(store.query("Missing", "Freed"))))
    refused(IntegrityError, "one of two items", lambda: store.db.append([store.event()], unless(
        Query([QueryItem(["Missing"], [store.tag]), QueryItem([], [store.tag, "seat:2"])]))))
    refused(IntegrityError, "any event at all", lambda: store.db.append([store.event()], unless(Query())))
    equal(["Booked", "Booked", "Freed", "Booked", "Other"], kinds(store.db.read(store.query())), "what was appended")


@scenario
def dcb_race(store):
    """Of many who decide on the same facts, one may write."""
    won = []

    def book():
        try:
            store.db.append([store.event("Booked")], unless(store.query("Booked")))
            won.append(True)
        except IntegrityError:
            pass

    threads = [threading.Thread(target=book) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    equal(1, len(won), "bookings")
    equal(1, len(list(store.db.read(store.query()))), "events")


@scenario
def dcb_idempotent(store):
    events = [store.event("A"), store.event("B")]
    condition = unless(store.query())
    position = store.db.append(events, condition)
    equal(position, store.db.append(events, condition), "a repeated request has its first answer")
    refused(IntegrityError, "other events", lambda: store.db.append([store.event("A"), store.event("B")], condition))
    refused(IntegrityError, "in another order", lambda: store.db.append(events[::-1], condition))
    equal(["A", "B"], kinds(store.db.read(store.query())), "events")


@scenario
def dcb_read(store):
    store.db.append([store.event(kind, tags) for kind, tags in
                     [("A", ["x"]), ("B", ["x", "y"]), ("A", ["y"]), ("C", []), ("A", ["x", "y"])]])

    def read(*items, **options):
        return kinds(store.db.read(Query([QueryItem(types, [store.tag, *tags]) for types, tags in items]), **options))

    equal(["A", "B", "A", "C", "A"], read(([], [])), "all of a tag")
    equal(["A", "A", "A"], read((["A"], [])), "of a type")
    equal(["B", "A"], read(([], ["x", "y"])), "of two tags")
    equal(["A", "C", "A"], read((["A"], ["y"]), (["C"], [])), "of either item")
    equal([], read((["D"], [])), "of a type that isn't there")
    equal(["A", "B"], read(([], []), limit=2), "limited")
    equal([], read(([], []), limit=0), "none")
    many = [store.event("Many", ["many"]) for _ in range(2500)]
    for first in range(0, len(many), 500):
        store.db.append(many[first : first + 500])
    got = list(store.db.read(store.query(tags=["many"])))
    equal([each.uuid for each in many], [each.event.uuid for each in got], "more than one message")
    with Client(store.url, batch_size=7) as small:
        equal(len(many), len(list(small.read(store.query(tags=["many"])))), "in small messages")


@scenario
def dcb_backwards(store):
    for kind in ["A", "B", "C", "D"]:
        store.db.append([store.event(kind)])
    places = [each.position for each in store.db.read(store.query())]

    def read(**options):
        return kinds(store.db.read(store.query(), **options))

    equal(["D", "C", "B", "A"], read(backwards=True), "backwards")
    equal(["D"], read(backwards=True, limit=1), "the last one")
    equal(["B", "C", "D"], read(start=places[1]), "from a position, with it")
    equal(["B", "A"], read(start=places[1], backwards=True), "backwards from a position, with it")
    equal(["C", "B"], read(start=places[2], backwards=True, limit=2), "backwards, limited")
    equal(["D", "C", "B", "A"], read(start=2**40, backwards=True), "backwards from after the end")
    equal([], read(start=2**40), "from after the end")
    equal([], read(start=0, backwards=True), "backwards from before the beginning")
    equal(["A", "B", "C", "D"], read(start=0), "from before the beginning")


@scenario
def dcb_head(store):
    position = store.db.append([store.event("A"), store.event("B")])
    that(store.db.head() >= position, "the head is the last event's position, or later")
    events, head = store.db.read(store.query()).collect_with_head()
    that(head >= position, "without a limit the head is the store's")
    equal(2, len(events), "events")
    events, head = store.db.read(store.query(), limit=1).collect_with_head()
    equal(events[-1].position, head, "with a limit it is the last event's")
    events, head = store.db.read(store.query("Missing")).collect_with_head()
    that(not events and head >= position, "without an event the head is told too")
    # The head is a sound place to decide from: nothing came after it.
    store.db.append([store.event("C")], unless(store.query(), after=head))


@scenario
def dcb_subscribe(store):
    history = [store.event("History") for _ in range(20)]
    store.db.append(history)
    got = []

    def collect(subscription, count):
        for each in subscription:
            got.append(each)
            if len(got) == count:
                return

    subscription = store.db.subscribe(store.query())
    reader = threading.Thread(target=collect, args=[subscription, 30], daemon=True)
    reader.start()
    live = [store.event("Live") for _ in range(10)]
    for each in live:
        store.db.append([each])
        store.db.append([Event("Elsewhere", b"", [f"not {store.tag}"])])
    reader.join(PATIENCE_S)
    equal([each.uuid for each in history + live], [each.event.uuid for each in got], "history and live")
    positions = [each.position for each in got]
    equal(sorted(set(positions)), positions, "positions grow")
    only = store.db.subscribe(store.query("Live"), after=positions[20])
    first = next(only)
    that(first.position > positions[20] and first.event.event_type == "Live", "after a position, of a type")
    only.cancel()
    refused(CancelledByUserError, "a cancelled subscription", lambda: next(only))


@scenario
def dcb_tracking(store):
    source = store.tag
    equal(None, store.db.get_tracking_info(source), "of a source that is new")
    store.db.append([store.event("A")], tracking_info=TrackingInfo(source, 5))
    equal(5, store.db.get_tracking_info(source), "the position")
    refused(IntegrityError, "the same position", lambda: store.db.append([store.event("B")], tracking_info=TrackingInfo(source, 5)))
    refused(IntegrityError, "an earlier one", lambda: store.db.append([store.event("B")], tracking_info=TrackingInfo(source, 4)))
    refused(IntegrityError, "a failed condition", lambda: store.db.append(
        [store.event("B")], unless(store.query("A")), TrackingInfo(source, 6)))
    equal(5, store.db.get_tracking_info(source), "what was refused moved nothing")
    events, condition = [store.event("C"), store.event("C")], unless(store.query("C"))
    position = store.db.append(events, condition, TrackingInfo(source, 9))
    equal(position, store.db.append(events, condition, TrackingInfo(source, 9)), "a repeated request has its first answer")
    store.db.append([], tracking_info=TrackingInfo(source, 10))
    equal(10, store.db.get_tracking_info(source), "without an event")
    got = list(store.db.read(store.query()))
    equal([("A", 5), ("C", 9), ("C", 9)], [(each.event.event_type, each.tracking_info.position) for each in got], "events")
    equal({source}, {each.tracking_info.source for each in got}, "their source")


@scenario
def health(store):
    equal("SERVING", str(store.db.check_health()).split(".")[-1], "the server")
    equal("SERVING", str(store.db.check_health("umadb.v1.DCB")).split(".")[-1], "the service")
    watch = store.db.watch_health("umadb.v1.DCB")
    equal("SERVING", str(next(watch)).split(".")[-1], "watched")
    watch.cancel()


@scenario
def dcb_no_events(store):
    """An append of nothing asks whether the condition holds. (UmaDB's own server, 0.7.8, ends itself at the second one.)"""
    equal(0, store.db.append([], unless(store.query())), "a condition that holds")
    store.db.append([store.event("A")])
    refused(IntegrityError, "one that doesn't", lambda: store.db.append([], unless(store.query())))


if __name__ == "__main__":
    main(Store)
