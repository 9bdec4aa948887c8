// What the scenarios of Node's Kafka clients are made of: records, comparing them, topics, shares, writing meanwhile, errors by
// their names.
"use strict";

const { createConnection } = require("node:net");
const { equal, eventually, soon, that } = require("./scenario.js");

// The protocol's error codes that scenarios provoke, and librdkafka's own for a producer that was fenced.
const ERRORS = {
  "-144": "PRODUCER_FENCED",
  1: "OFFSET_OUT_OF_RANGE",
  3: "UNKNOWN_TOPIC_OR_PARTITION",
  10: "MESSAGE_TOO_LARGE",
  17: "INVALID_TOPIC_EXCEPTION",
  36: "TOPIC_ALREADY_EXISTS",
  37: "INVALID_PARTITIONS",
  38: "INVALID_REPLICATION_FACTOR",
  40: "INVALID_CONFIG",
  47: "PRODUCER_FENCED",
  68: "NON_EMPTY_GROUP",
  69: "GROUP_ID_NOT_FOUND",
  87: "INVALID_RECORD",
  90: "PRODUCER_FENCED",
};

// The protocol's name of an error, which may be wrapped in others.
function errorName(error) {
  if (!error) return undefined;
  const name = ERRORS[error.code] ?? ERRORS[error.errorCode];
  if (name) return name;
  const several = [error.errors, error.groups, error.partitions].flatMap((some) => some ?? []);
  return [...several, error.error, error.cause, error.originalError].map(errorName).find(Boolean);
}

async function refused(name, what, action) {
  let error;
  try {
    await action();
  } catch (caught) {
    error = caught;
  }
  that(error, `${what}: want ${name}, but it succeeded`);
  that(errorName(error) === name, `${what}: want ${name}, got ${errorName(error)}: ${error.stack}`);
}

const text = (number) => Buffer.from(`${number}`);
const fill = (topic, partition, count) => Array.from({ length: count }, (_, n) => ({ topic, partition, value: text(n) }));
const values = (records) => records.map((each) => each.value?.toString() ?? null);
const of = (partition, records) => records.filter((each) => each.partition === partition);

// Header names with all their values in order: these libraries keep no order between names.
function sorted(headers) {
  return Object.fromEntries(
    Object.entries(headers ?? {})
      .map(([name, given]) => [name, [given].flat().map((value) => Buffer.from(value))])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

// Keys, values, headers, timestamps, and offsets without a gap.
function same(sent, got, what) {
  equal(sent.length, got.length, `${what}: number of records`);
  sent.forEach((want, n) => {
    const have = got[n];
    equal(want.key ?? null, have.key, `${what}: key of record ${n}`);
    equal(want.value, have.value, `${what}: value of record ${n}`);
    equal(sorted(want.headers), sorted(have.headers), `${what}: headers of record ${n}`);
    equal(n, have.offset, `${what}: offset of record ${n}`);
    if (want.timestamp !== undefined) equal(want.timestamp, have.timestamp, `${what}: timestamp of record ${n}`);
  });
}

async function topic(client, partitions = 1, configs = {}) {
  const name = client.fresh();
  await client.create(name, partitions, configs);
  await eventually(`${name} can be described`, async () => (await client.partitions(name).catch(() => 0)) === partitions);
  return name;
}

async function send(client, records, options = {}) {
  const producer = await client.producer(options);
  try {
    return await producer.send(records);
  } finally {
    await producer.close();
  }
}

// Every record from the beginning to the end, partition by partition.
async function everything(client, name, options = {}) {
  const from = {};
  let count = 0;
  for (const [partition, [begin, end]] of Object.entries(await client.bounds(name))) {
    from[partition] = begin;
    count += end - begin;
  }
  return count === 0 ? [] : client.read(name, from, options.count ?? count, options);
}

// Waits until the members own so many partitions each, in any order, and no partition twice.
async function share(sizes, ...members) {
  const total = sizes.reduce((a, b) => a + b);
  await eventually(`shares ${sizes}`, () => {
    const owned = members.map((each) => each.owned());
    const got = owned.map((each) => each.length).sort();
    return `${got}` === `${sizes}` && new Set(owned.flat()).size === total;
  });
}

// Writes to all partitions in turn until it is stopped.
async function startFeed(client, name, partitions, options = {}) {
  const producer = await client.producer(options);
  let stopped = false;
  let rounds = 0;
  const done = (async () => {
    while (!stopped) {
      await producer.send(Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition, value: text(rounds) })));
      rounds += 1;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  done.catch(() => {});
  return {
    // How many records each partition has got.
    async end() {
      stopped = true;
      await soon(done, "the feed ends");
      await producer.close();
      return rounds;
    },
  };
}

class Tally {
  seen = new Map();
  note(partition, offset) {
    const place = `${partition}:${offset}`;
    this.seen.set(place, (this.seen.get(place) ?? 0) + 1);
  }
}

// The server is killed and started again; returns when it is ready.
function restart() {
  const [host, port] = process.env.CLIENTS_RESTART.split(":");
  return soon(
    new Promise((resolve, reject) => {
      let answer = "";
      createConnection(Number(port), host)
        .on("data", (bytes) => (answer += bytes))
        .on("error", reject)
        .on("end", () => (answer === "ready\n" ? resolve() : reject(new Error(`restart: ${answer}`))));
    }),
    "a restart of the server",
  );
}

module.exports = { Tally, everything, fill, of, refused, restart, same, send, share, startFeed, text, topic, values };
