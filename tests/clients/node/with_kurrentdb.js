// KurrentDB's Node client on the event door.
"use strict";

const path = require("node:path");
const { createRequire } = require("node:module");
const { randomUUID } = require("node:crypto");
const { equal, eventually, main, refused, soon, that } = require("./scenario");

// The packages are installed beside what else the runner builds, not here.
const packages = createRequire(path.join(process.env.NODE_PACKAGES ?? __dirname, "package.json"));
const {
  ANY, BACKWARDS, END, NO_STREAM, PARK, RETRY, SKIP, START, STREAM_EXISTS, STREAM_STATE,
  KurrentDBClient, binaryEvent, eventTypeFilter, excludeSystemEvents, jsonEvent, streamNameFilter,
  persistentSubscriptionToAllSettingsFromDefaults, persistentSubscriptionToStreamSettingsFromDefaults,
} = packages("@kurrent/kurrentdb-client");

class Store {
  constructor(address, name) {
    this.db = KurrentDBClient.connectionString(`kurrentdb://${address}?tls=false&defaultDeadline=30000`);
    this.category = `node${name.replaceAll("_", "")}${Date.now().toString(16)}`;
    this.names = 0;
    this.open = [];
  }

  stream() {
    return `${this.category}-${++this.names}`;
  }

  async filled(count) {
    const stream = this.stream();
    const events = Array.from({ length: count }, (_, number) => event(number));
    await this.db.appendToStream(stream, events, { streamState: NO_STREAM });
    return [stream, events];
  }

  async read(stream, options) {
    return collect(this.db.readStream(stream, options));
  }

  // Reads a subscription with `take`; ends with the scenario.
  follow(subscription) {
    const reader = { subscription, waiting: subscription[Symbol.asyncIterator]() };
    this.open.push(subscription);
    return reader;
  }

  async close() {
    for (const subscription of this.open) await subscription.unsubscribe();
    await this.db.dispose();
  }
}

function event(number, type = "Happened") {
  return jsonEvent({ id: randomUUID(), type, data: { number }, metadata: { by: "test" } });
}

async function collect(events) {
  const got = [];
  for await (const { event } of events) got.push(event);
  return got;
}

async function take(reader, count) {
  const got = [];
  while (got.length < count) {
    const { done, value } = await soon(reader.waiting.next(), `event ${got.length + 1} of ${count}`);
    that(!done, `the subscription ended after ${got.length} of ${count}`);
    got.push(value);
  }
  return got;
}

const ids = (events) => events.map((each) => (each.event ?? each).id);
const numbers = (events) => events.map((each) => (each.event ?? each).data.number);
const revisions = (events) => events.map((each) => Number(each.revision));
const range = (from, to) => Array.from({ length: to - from }, (_, n) => from + n);

const scenarios = {
  async append_expected({ db, ...store }) {
    const stream = `${store.category}-1`;
    const append = (streamState, number) => db.appendToStream(stream, event(number), { streamState });
    const conflict = (expected, actual) =>
      refused("wrong-expected-version", `${expected} at ${actual}`, () => append(expected, 0),
        { streamName: stream, expectedState: expected, actualState: actual });
    await conflict(STREAM_EXISTS, NO_STREAM);
    await conflict(0n, NO_STREAM);
    const results = [];
    for (const [number, expected] of [NO_STREAM, STREAM_EXISTS, 1n, ANY].entries()) results.push(await append(expected, number));
    equal([0n, 1n, 2n, 3n], results.map((each) => each.nextExpectedRevision), "revisions");
    await conflict(NO_STREAM, 3n);
    await conflict(2n, 3n);
    await conflict(4n, 3n);
    const got = await collect(db.readStream(stream));
    equal([0, 1, 2, 3], numbers(got), "numbers");
    equal(results.map((each) => each.position.commit), got.map((each) => each.position.commit), "positions");
  },

  async event_contents({ db, category }) {
    const stream = `${category}-1`;
    const own = randomUUID();
    const sent = [
      jsonEvent({ id: own, type: "Json", data: { a: [1, "é"] }, metadata: { m: { n: 1 } } }),
      binaryEvent({ type: "Binary", data: Uint8Array.from(range(0, 256)), metadata: Buffer.from("plain") }),
      binaryEvent({ type: "Empty", data: Buffer.alloc(0) }),
    ];
    await db.appendToStream(stream, sent);
    const [json, binary, empty] = await collect(db.readStream(stream));
    equal([own, "Json", true, { a: [1, "é"] }, { m: { n: 1 } }, stream],
      [json.id, json.type, json.isJson, json.data, json.metadata, json.streamId], "JSON");
    equal([false, range(0, 256), "plain"], [binary.isJson, [...binary.data], Buffer.from(binary.metadata).toString()], "binary");
    equal(0, empty.data.length, "empty");
    that(Math.abs(json.created - Date.now()) < 10_000, `recorded now, not ${json.created}`);
  },

  async append_idempotent(store) {
    const [stream, events] = await store.filled(3);
    for (const streamState of [NO_STREAM, ANY]) {
      const again = await store.db.appendToStream(stream, events, { streamState });
      equal(2n, again.nextExpectedRevision, `revision of a retry that expects ${streamState}`);
    }
    equal(ids(events), ids(await store.read(stream)), "a retry adds nothing");
  },

  async read_stream(store) {
    const [stream, events] = await store.filled(25);
    const want = ids(events);
    const read = async (options) => ids(await store.read(stream, options));
    equal(want, await read(), "forwards");
    equal(want.toReversed?.() ?? [...want].reverse(), await read({ direction: BACKWARDS, fromRevision: END }), "backwards");
    equal(want.slice(7, 10), await read({ fromRevision: 7n, maxCount: 3 }), "from a version, limited");
    equal([want[7], want[6]], await read({ direction: BACKWARDS, fromRevision: 7n, maxCount: 2 }), "backwards, limited");
    equal(want.slice(-1), await read({ direction: BACKWARDS, fromRevision: END, maxCount: 1 }), "the last event");
    await refused("stream-not-found", "a stream that isn't there", () => store.read(store.stream()));
  },

  async read_all(store) {
    const [stream, events] = await store.filled(5);
    const [other, others] = await store.filled(5);
    const begin = (await store.read(stream))[0].position;
    const mine = (got) => got.filter((each) => [stream, other].includes(each.streamId));
    const got = mine(await collect(store.db.readAll({ fromPosition: begin })));
    equal(ids([...events, ...others]), ids(got), "forwards, from a position");
    const last = mine(await collect(store.db.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 5_000 })));
    equal(ids([...events, ...others]).reverse(), ids(last), "backwards");
    equal(3, (await collect(store.db.readAll({ fromPosition: begin, maxCount: 3 }))).length, "limited");
  },

  async filters(store) {
    const [stream, other] = [store.stream(), store.stream()];
    const events = ["OrderPlaced", "OrderPaid", "InvoiceSent", "Order"].map((type, number) => event(number, type));
    await store.db.appendToStream(stream, events);
    await store.db.appendToStream(other, event(4, "OrderPlaced"));
    await store.db.setStreamMetadata(stream, { maxCount: 100 });
    const begin = (await store.read(stream))[0].position;
    const read = async (filter) => {
      const got = await collect(store.db.readAll({ fromPosition: begin, filter }));
      return numbers(got.filter((each) => each.streamId.replace("$$", "").startsWith(store.category)));
    };
    equal([0, 1, 2, 3, 4], await read(excludeSystemEvents()), "without the system's events");
    equal([0, 1, 2, 3, 4, undefined], await read(undefined), "with the system's events");
    equal([0, 1, 3, 4], await read(eventTypeFilter({ prefixes: ["Order"] })), "types by prefix");
    equal([1, 2], await read(eventTypeFilter({ regex: "^OrderPaid$|^Inv" })), "types by regular expression");
    equal([4], await read(streamNameFilter({ prefixes: [other] })), "streams by prefix");
    equal([0, 1, 2, 3], await read(streamNameFilter({ regex: `^${stream}$` })), "streams by regular expression");
  },

  async stream_metadata(store) {
    const [stream] = await store.filled(10);
    equal(undefined, (await store.db.getStreamMetadata(stream)).metastreamRevision, "metadata of a stream without any");
    await store.db.setStreamMetadata(stream, { maxCount: 3, owner: "ann" }, { expectedRevision: NO_STREAM });
    // What the client calls the revision of the metadata is the position of its event.
    const { metadata } = await store.db.getStreamMetadata(stream);
    equal([3, "ann"], [metadata.maxCount, metadata.owner], "metadata");
    equal([7, 8, 9], revisions(await store.read(stream)), "at most three events");
    await store.db.setStreamMetadata(stream, { truncateBefore: 9 });
    equal([9], revisions(await store.read(stream)), "truncated");
  },

  async subscribe_stream(store) {
    const [stream, events] = await store.filled(50);
    const subscription = store.db.subscribeToStream(stream);
    const caughtUp = new Promise((resolve) => subscription.on("caughtUp", resolve));
    const reader = store.follow(subscription);
    equal(ids(events), ids(await take(reader, 50)), "history");
    const live = range(50, 60).map((number) => event(number));
    const next = take(reader, 10);
    await soon(caughtUp, "caught up");
    for (const each of live) await store.db.appendToStream(stream, each);
    equal(ids(live), ids(await next), "live");
    const after = store.follow(store.db.subscribeToStream(stream, { fromRevision: 56n }));
    equal(ids(live.slice(7)), ids(await take(after, 3)), "after a version");
  },

  async subscribe_all(store) {
    const [stream, events] = await store.filled(20);
    const begin = (await store.read(stream))[0].position;
    const filter = streamNameFilter({ prefixes: [`${store.category}-`] });
    const reader = store.follow(store.db.subscribeToAll({ fromPosition: begin, filter }));
    equal(ids(events.slice(1)), ids(await take(reader, 19)), "history, after a position");
    const [, others] = await store.filled(5);
    equal(ids(others), ids(await take(reader, 5)), "live, of another stream");
  },

  async subscribe_filtered(store) {
    const [stream] = await store.filled(1);
    const begin = (await store.read(stream))[0].position;
    let reached;
    const checkpoint = new Promise((resolve) => (reached = resolve));
    const type = `Rare${store.category}`;
    const filter = eventTypeFilter({
      prefixes: [type], maxSearchWindow: 10, checkpointInterval: 1,
      checkpointReached: (_, position) => position.commit > begin.commit && reached(position),
    });
    const reader = store.follow(store.db.subscribeToAll({ fromPosition: begin, filter }));
    const next = take(reader, 1);
    for (let part = 0; part < 3; part++) {
      await store.db.appendToStream(stream, range(0, 20).map((number) => event(number)));
    }
    const { commit } = await soon(checkpoint, "a checkpoint");
    const wanted = event(60, type);
    await store.db.appendToStream(stream, wanted);
    const [got] = await next;
    equal(wanted.id, got.event.id, "the event that passes");
    that(commit < got.event.position.commit, "the checkpoint lies before it");
    const resumed = store.follow(store.db.subscribeToAll({ fromPosition: { commit, prepare: commit }, filter }));
    equal([wanted.id], ids(await take(resumed, 1)), "from the checkpoint");
  },

  async persistent_stream(store) {
    const [stream, events] = await store.filled(10);
    const settings = persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: START, checkPointAfter: 100 });
    const create = () => store.db.createPersistentSubscriptionToStream(stream, "readers", settings);
    await create();
    await refused("persistent-subscription-exists", "the same again", create, { streamName: stream, groupName: "readers" });
    const subscription = store.db.subscribeToPersistentSubscriptionToStream(stream, "readers");
    const got = await take(store.follow(subscription), 10);
    equal(ids(events), ids(got), "history");
    await subscription.ack(...got.slice(0, 6));
    const flying = async (count) =>
      (await store.db.getPersistentSubscriptionToStreamInfo(stream, "readers")).stats.totalInFlightMessages === count;
    await eventually("acknowledged", () => flying(4));
    await subscription.unsubscribe();
    const again = store.db.subscribeToPersistentSubscriptionToStream(stream, "readers");
    const rest = await take(store.follow(again), 4);
    equal(ids(events.slice(6)).sort(), ids(rest).sort(), "after a restart of the consumer");
    await again.ack(...rest);
    await eventually("all acknowledged", () => flying(0));
    await store.db.deletePersistentSubscriptionToStream(stream, "readers");
    await refused("persistent-subscription-does-not-exist", "a group that isn't there",
      () => store.db.getPersistentSubscriptionToStreamInfo(stream, "readers"));
  },

  async persistent_nack(store) {
    const [stream, events] = await store.filled(4);
    await store.db.createPersistentSubscriptionToStream(stream, "readers",
      persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: START }));
    const subscription = store.db.subscribeToPersistentSubscriptionToStream(stream, "readers");
    const reader = store.follow(subscription);
    const [first, second, third, fourth] = await take(reader, 4);
    await subscription.ack(first);
    await subscription.nack(SKIP, "not wanted", second);
    await subscription.nack(PARK, "broken", third);
    await subscription.nack(RETRY, "later", fourth);
    const [retried] = await take(reader, 1);
    equal([events[3].id, 1], [retried.event.id, retried.retryCount], "retried");
    await subscription.ack(retried);
    const parked = async (count) =>
      (await store.db.getPersistentSubscriptionToStreamInfo(stream, "readers")).stats.parkedMessageCount === count;
    await eventually("one parked", () => parked(1n));
    await store.db.replayParkedMessagesToStream(stream, "readers");
    const [replayed] = await take(reader, 1);
    equal(events[2].id, replayed.event.id, "replayed");
    await subscription.ack(replayed);
    await eventually("none parked", () => parked(0n));
  },

  async persistent_all(store) {
    const [stream, events] = await store.filled(5);
    const begin = (await store.read(stream))[0].position;
    await store.db.createPersistentSubscriptionToAll(store.category,
      persistentSubscriptionToAllSettingsFromDefaults({ startFrom: begin }),
      { filter: streamNameFilter({ prefixes: [`${store.category}-`] }) });
    const subscription = store.db.subscribeToPersistentSubscriptionToAll(store.category);
    const got = await take(store.follow(subscription), 4);
    that(ids(got).every((id) => ids(events).includes(id)), "only what passes");
    await subscription.ack(...got);
    await store.db.deletePersistentSubscriptionToAll(store.category);
  },

  async soft_delete(store) {
    const [stream, events] = await store.filled(3);
    await refused("wrong-expected-version", "delete at another version",
      () => store.db.deleteStream(stream, { expectedRevision: 1n }));
    await store.db.deleteStream(stream, { expectedRevision: 2n });
    await refused("stream-not-found", "read of a deleted stream", () => store.read(stream));
    await store.db.appendToStream(stream, events, { streamState: NO_STREAM });
    const got = await store.read(stream);
    equal([ids(events), [3, 4, 5]], [ids(got), revisions(got)], "recreated with the same ids");
  },

  async tombstone(store) {
    const [stream] = await store.filled(3);
    await store.db.tombstoneStream(stream, { expectedRevision: 2n });
    await refused("stream-deleted", "read", () => store.read(stream));
    await refused("stream-deleted", "append", () => store.db.appendToStream(stream, event(4)), { streamName: stream });
    await refused("stream-deleted", "delete", () => store.db.deleteStream(stream));
  },

  async multi_append(store) {
    const [one, two, gone] = [store.stream(), store.stream(), store.stream()];
    const request = (streamName, events, expectedState) => ({ streamName, events, expectedState });
    const flat = (number) => jsonEvent({ type: "Happened", data: { number }, metadata: { by: "test" } });
    const done = await store.db.multiStreamAppend([request(one, [flat(0), flat(1)], NO_STREAM), request(two, [flat(2)], ANY)]);
    equal([[one, 1n], [two, 0n]], done.responses.map((each) => [each.streamName, each.revision]), "revisions");
    const got = await store.read(one);
    equal([[0, 1], "test"], [numbers(got), got[0].metadata.by], "the first stream");
    equal(done.position, (await store.read(two))[0].position.commit, "position");
    await refused("wrong-expected-version", "one of two expectations fails",
      () => store.db.multiStreamAppend([request(one, [flat(3)], 1n), request(two, [flat(4)], NO_STREAM)]),
      { streamName: two, expectedState: NO_STREAM, actualState: 0n });
    equal(2, (await store.read(one)).length, "nothing was appended");
    await store.db.tombstoneStream(gone, { expectedRevision: ANY });
    await refused("stream-tombstoned", "one of two is ended",
      () => store.db.multiStreamAppend([request(one, [flat(3)], 1n), request(gone, [flat(4)], ANY)]), { stream: gone });
  },

  async append_records(store) {
    const [one, two, guard] = [store.stream(), store.stream(), store.stream()];
    const record = (streamName, number) => ({ streamName, record: jsonEvent({ type: "Happened", data: { number } }) });
    const check = (streamName, expectedState) => ({ type: STREAM_STATE, streamName, expectedState });
    const done = await store.db.appendRecords([record(one, 0), record(two, 1), record(one, 2)],
      [check(guard, NO_STREAM), check(one, NO_STREAM)]);
    equal([[one, 1n], [two, 0n]], done.responses.map((each) => [each.streamName, each.revision]).sort(), "revisions");
    equal([0, 2], numbers(await store.read(one)), "records of the first");
    const { violations } = await refused("append-consistency-violation", "a check fails",
      () => store.db.appendRecords([record(two, 3)], [check(two, 0n), check(one, 0n)]));
    equal([[1, one, 1n]], violations.map((each) => [each.checkIndex, each.streamName, each.actualState]), "which check");
    equal(1, (await store.read(two)).length, "nothing was appended");
  },

  async batch_append(store) {
    // Far more than one message of the batch call holds.
    const stream = store.stream();
    const events = range(0, 4000).map((number) => jsonEvent({ id: randomUUID(), type: "Happened", data: { number, fill: "x".repeat(100) } }));
    const done = await store.db.appendToStream(stream, events, { streamState: NO_STREAM, batchAppendSize: 50_000 });
    equal(3999n, done.nextExpectedRevision, "revision");
    equal(range(0, 4000), numbers(await store.read(stream)), "events");
  },
};

main(scenarios, (address, name) => new Store(address, name));
