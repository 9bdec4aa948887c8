// The scenarios of Node's Kafka clients, written once for both; each checks what came back, not only that nothing failed.
"use strict";

const { randomBytes } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { equal, eventually, that } = require("./scenario.js");
const { Tally, everything, fill, of, refused, restart, same, send, share, startFeed, text, topic, values } = require("./kafka_helpers.js");

// Members come and go while records flow: each is read, and positions are right.
function comeAndGo(options) {
  return async (client) => {
    const [name, group, tally] = [await topic(client, 6), client.fresh(), new Tally()];
    const feed = await startFeed(client, name, 6);
    const join = () => client.join({ topic: name, group, ...options }, tally);
    const first = await join();
    await share([6], first);
    const [second, third] = [await join(), await join()];
    await share([2, 2, 2], first, second, third);
    await eventually("described", async () => `${await client.describeGroup(group)}` === "Stable,2,2,2");
    await first.leave();
    await share([3, 3], second, third);
    await third.leave();
    await share([6], second);
    const rounds = await feed.end();
    await eventually("all is read", () => tally.seen.size >= 6 * rounds);
    await second.leave();
    equal(6 * rounds, tally.seen.size, "records that were read");
    if (client.readsOnce) equal([], [...tally.seen].filter(([, times]) => times !== 1), "records read more than once");
    equal(Object.fromEntries([0, 1, 2, 3, 4, 5].map((n) => [n, rounds])), await client.committed(group, name), "positions");
    await eventually("empty", async () => `${await client.describeGroup(group)}` === "Empty");
  };
}

module.exports = {
  async topics(client) {
    const [first, second] = [await topic(client, 3), await topic(client)];
    const listed = await client.topics();
    that(listed.has(first) && listed.has(second), "both are listed");
    await send(client, fill(first, 2, 5));
    await client.remove(first);
    await eventually("it is gone", async () => !(await client.topics()).has(first));
    that((await client.topics()).has(second), "the other topic is still there");
    await refused("UNKNOWN_TOPIC_OR_PARTITION", "delete it again", () => client.remove(first));
    await client.create(first, 1);
    await eventually("it is back", async () => (await client.partitions(first).catch(() => 0)) === 1);
    equal({ 0: [0, 0] }, await client.bounds(first), "the new topic of that name is empty");
    await send(client, fill(first, 0, 2));
    equal(["0", "1"], values(await everything(client, first)), "records written since");
  },

  async topics_refused(client) {
    const taken = await topic(client);
    await refused("TOPIC_ALREADY_EXISTS", "a name that is taken", () => client.create(taken, 1));
    for (const bad of [".", "..", "a b", "a/b", "x".repeat(250)])
      await refused("INVALID_TOPIC_EXCEPTION", `the name ${bad}`, () => client.create(bad, 1));
    await refused("INVALID_REPLICATION_FACTOR", "more replicas than nodes", () => client.create(client.fresh(), 1, {}, 3));
    for (const configs of [{ "no.such.config": "1" }, { "retention.ms": "long" }])
      await refused("INVALID_CONFIG", Object.keys(configs)[0], () => client.create(client.fresh(), 1, configs));
  },

  async many_topics(client) {
    const names = Array.from({ length: 100 }, () => client.fresh());
    await client.createAll(names);
    await eventually("all are listed", async () => ((listed) => names.every((name) => listed.has(name)))(await client.topics()));
    await send(client, names.map((name) => ({ topic: name, partition: 0, value: Buffer.from(name) })));
    for (const name of names.slice(0, 3)) equal([name], values(await everything(client, name)), `records of ${name}`);
    await client.removeAll(names);
    await eventually("all are gone", async () => ((listed) => !names.some((name) => listed.has(name)))(await client.topics()));
  },

  async configs_altered(client) {
    const name = await topic(client, 1, { "retention.ms": "1000000" });
    await client.alter(name, { "max.message.bytes": "2000", "retention.ms": "7200000" });
    await eventually("it is described", async () => (await client.configs(name))["max.message.bytes"] === "2000");
    equal("7200000", (await client.configs(name))["retention.ms"], "retention.ms");
    const large = [{ topic: name, partition: 0, value: randomBytes(3000) }];
    await refused("MESSAGE_TOO_LARGE", "larger than the topic allows now", () => send(client, large));
    await refused("INVALID_CONFIG", "out of range", () => client.alter(name, { "max.message.bytes": "-7" }));
  },

  async more_partitions(client) {
    const name = await topic(client, 2);
    await send(client, fill(name, 1, 3));
    await client.grow(name, 4);
    await eventually("there are four", async () => (await client.partitions(name)) === 4);
    await send(client, fill(name, 3, 2));
    const got = await everything(client, name);
    equal([["0", "1", "2"], ["0", "1"]], [values(of(1, got)), values(of(3, got))], "records of an old and a new partition");
    await refused("INVALID_PARTITIONS", "fewer partitions", () => client.grow(name, 3));
  },

  async delete_records(client) {
    const name = await topic(client, 2);
    await send(client, [...fill(name, 0, 20), ...fill(name, 1, 20)]);
    await client.deleteRecords(name, { 0: 7 });
    equal({ 0: [7, 20], 1: [0, 20] }, await client.bounds(name), "beginnings and ends");
    const got = await everything(client, name);
    equal(values(fill(name, 0, 20)).slice(7), values(of(0, got)), "what is left of the partition");
    equal(7, got[0].offset, "offsets stay");
    await refused("OFFSET_OUT_OF_RANGE", "more than there is", () => client.deleteRecords(name, { 0: 21 }));
    await client.deleteRecords(name, { 0: -1 });
    equal({ 0: [20, 20], 1: [0, 20] }, await client.bounds(name), "nothing is left");
  },

  async codecs(client) {
    const name = await topic(client, 2);
    const all = [];
    for (const codec of ["none", "gzip", "snappy", "lz4", "zstd"]) {
      const records = Array.from({ length: 200 }, (_, n) => ({
        topic: name,
        partition: n % 2,
        key: Buffer.from(`${codec}-${n}`),
        // Every third value is incompressible, the others are all but empty of information.
        value: n % 3 === 0 ? randomBytes(700) : Buffer.from(`${codec}${n}`.repeat(1 + (n % 50))),
        timestamp: 1_700_000_000_000 + n,
        headers: { codec: Buffer.from(codec) },
      }));
      await send(client, records, { codec });
      all.push(...records);
    }
    const got = await everything(client, name);
    for (const n of [0, 1]) same(of(n, all), of(n, got), `partition ${n}`);
  },

  async null_and_empty(client) {
    const name = await topic(client);
    const records = [];
    for (const key of [null, Buffer.alloc(0), text("key")])
      for (const value of [null, Buffer.alloc(0), text("value")]) records.push({ topic: name, partition: 0, key, value, timestamp: 1 });
    await send(client, records);
    await send(client, records, { codec: "gzip" });
    same([...records, ...records], await everything(client, name), "null and empty");
  },

  async headers(client) {
    const name = await topic(client);
    const rich = {
      twice: [text("first"), text("second"), text("first")],
      bytes: Buffer.from([0, 255, 128, 127]),
      empty: Buffer.alloc(0),
      ключ: text("not ascii"),
    };
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`h${n}`, text(n)]));
    const records = [rich, many, undefined].map((headers) => ({ topic: name, partition: 0, value: text("v"), timestamp: 1, headers }));
    await send(client, records);
    same(records, await everything(client, name), "headers");
  },

  async timestamps(client) {
    const name = await topic(client);
    const records = [1, 1_700_000_000_123, 5, Date.now()].map((timestamp) => ({ topic: name, partition: 0, value: text("v"), timestamp }));
    await send(client, records);
    same(records, await everything(client, name), "timestamps");
  },

  async size_limit(client) {
    const name = await topic(client);
    // The limit is on the batch: 61 bytes of head, and 11 around one keyless value of about a mebibyte.
    const largest = 1_048_588 - 61 - 11;
    const one = (size, to = name) => [{ topic: to, partition: 0, value: randomBytes(size), timestamp: 1 }];
    const [whole, small] = [one(largest), one(5)];
    const roomy = { requestBytes: 4_000_000 };
    await send(client, whole, roomy);
    for (const size of [largest + 1, 2_500_000]) await refused("MESSAGE_TOO_LARGE", `${size} bytes`, () => send(client, one(size), roomy));
    await send(client, small);
    same([...whole, ...small], await everything(client, name), "at the limit");
    const wide = await topic(client, 1, { "max.message.bytes": "5000000" });
    const big = one(2_500_000, wide);
    await send(client, big, roomy);
    same(big, await everything(client, wide), "a big message");
  },

  async acks(client) {
    for (const acks of [0, 1, -1]) {
      const name = await topic(client);
      const records = fill(name, 0, 200);
      await send(client, records.slice(0, 1));
      const base = await send(client, records.slice(1), { acks });
      if (acks !== 0) equal(1, base[0], "offset in the answer");
      same(records, await client.read(name, { 0: 0 }, 200), `acks=${acks}`);
    }
  },

  async idempotent(client) {
    const name = await topic(client, 3);
    const records = Array.from({ length: 3000 }, (_, n) => ({ topic: name, partition: n % 3, value: text(n), timestamp: 1 + n }));
    const producer = await client.producer({ idempotent: true });
    for (let n = 0; n < 3000; n += 100) await producer.send(records.slice(n, n + 100));
    await producer.close();
    const got = await everything(client, name);
    for (const n of [0, 1, 2]) same(of(n, records), of(n, got), `partition ${n}`);
  },

  async key_partition(client) {
    const name = await topic(client, 7);
    const lines = readFileSync(process.env.CLIENTS_KEYS, "utf8").trim().split("\n");
    const want = lines.map((line) => line.split("\t")).map(([key, partition]) => [key, Number(partition)]).sort();
    await send(client, want.map(([key]) => ({ topic: name, key: Buffer.from(key), value: Buffer.from(`v${key}`) })));
    const got = await everything(client, name);
    equal(want, got.map((each) => [each.key.toString(), each.partition]).sort(), "partition of each key");
    for (const each of got) equal(`v${each.key}`, `${each.value}`, "value");
  },

  async positions(client) {
    const name = await topic(client, 2);
    await send(client, [...fill(name, 0, 100), ...fill(name, 1, 10)]);
    equal({ 0: [0, 100], 1: [0, 10] }, await client.bounds(name), "beginnings and ends");
    const got = await client.read(name, { 0: 97, 1: 8 }, 5);
    equal([["97", "98", "99"], ["8", "9"]], [values(of(0, got)), values(of(1, got))], "from offsets");
    const late = client.read(name, { 0: 100, 1: 10 }, 1);
    await send(client, [{ topic: name, partition: 0, value: text("new") }]);
    equal(["new"], values(await late), "what came after the end");
  },

  async times(client) {
    const name = await topic(client, 2);
    const records = (partition) => [100, 300, 200, 300, 500].map((timestamp) => ({ topic: name, partition, value: text(timestamp), timestamp }));
    // Batches of their own first, then all in one batch, where the search goes on inside it.
    for (const each of records(0)) await send(client, [each]);
    await send(client, records(1));
    // These libraries put the end in the place of nothing.
    for (const [asked, offset] of [[1, 0], [100, 0], [101, 1], [200, 1], [300, 1], [301, 4], [500, 4], [501, 5]])
      equal({ 0: offset, 1: offset }, await client.at(name, asked), `first at or after ${asked}`);
    equal(["500"], values(await client.read(name, { 1: (await client.at(name, 301))[1] }, 1)), "read from a time");
  },

  group_range: comeAndGo({ assignor: "range" }),
  group_roundrobin: comeAndGo({ assignor: "roundRobin" }),
  group_cooperative: comeAndGo({ assignor: "cooperativeSticky" }),
  consumer_uniform: comeAndGo({ protocol: "consumer", remote: "uniform" }),
  consumer_range: comeAndGo({ protocol: "consumer", remote: "range" }),

  async commits(client) {
    const [name, group, tally] = [await topic(client, 2), client.fresh(), new Tally()];
    await send(client, fill(name, 0, 10));
    equal({}, await client.committed(group, name), "nothing is committed yet");
    await client.commit(group, name, { 0: 4, 1: 0 });
    equal({ 0: 4, 1: 0 }, await client.committed(group, name), "offset 0 is a position too");
    const heir = await client.join({ topic: name, group }, tally);
    await eventually("the rest is read", () => tally.seen.size >= 6);
    await heir.leave();
    equal(["0:4", "0:5", "0:6", "0:7", "0:8", "0:9"], [...tally.seen.keys()], "read on from there");
    // After a restart of the client it goes on where it was.
    await send(client, fill(name, 0, 2));
    const again = new Tally();
    const next = await client.join({ topic: name, group }, again);
    await eventually("what is new is read", () => again.seen.size >= 2);
    await next.leave();
    equal(["0:10", "0:11"], [...again.seen.keys()], "only what is new is read");
    equal(12, (await client.committed(group, name))[0], "position");
  },

  async group_admin(client) {
    const [name, group, tally] = [await topic(client, 2), client.fresh(), new Tally()];
    await send(client, [...fill(name, 0, 30), ...fill(name, 1, 30)]);
    const member = await client.join({ topic: name, group }, tally);
    await eventually("all is read", () => tally.seen.size === 60);
    that((await client.groups()).has(group), "listed");
    await eventually("described", async () => `${await client.describeGroup(group)}` === "Stable,2");
    await refused("NON_EMPTY_GROUP", "delete a group with members", () => client.deleteGroup(group));
    await member.leave();
    equal({ 0: 30, 1: 30 }, await client.committed(group, name), "positions");
    await client.deleteGroup(group);
    that(!(await client.groups()).has(group), "not listed after deletion");
    await refused("GROUP_ID_NOT_FOUND", "delete it again", () => client.deleteGroup(group));
  },

  async transactions(client) {
    const name = await topic(client, 2);
    const some = (what, count) => Array.from({ length: count }, (_, n) => ({ topic: name, partition: n % 2, value: text(`${what}${n}`) }));
    const transactor = await client.transactor(client.fresh());
    const transaction = async (records, end) => {
      await transactor.begin();
      await transactor.send(records);
      await end();
    };
    const [aborted, kept, open] = [some("aborted", 10), some("kept", 10), some("open", 4)];
    await transaction(aborted, transactor.abort);
    await transaction(kept, transactor.commit);
    await send(client, [{ topic: name, partition: 0, value: text("plain") }]);
    await transaction(open, async () => {});
    const plain = { partition: 0, value: text("plain") };
    const all = (partition) => of(partition, [...aborted, ...kept, plain, ...open]);
    const dirty = await client.read(name, { 0: 0, 1: 0 }, 25);
    for (const n of [0, 1]) equal(values(all(n)), values(of(n, dirty)), "everything, uncommitted");
    // Each end took an offset of its own.
    equal([13, 14], of(0, dirty).slice(-2).map((each) => each.offset), "offsets of what is open");
    const clean = await client.read(name, { 0: 0, 1: 0 }, 11, { committed: true });
    equal([...values(of(0, kept)), "plain"], values(of(0, clean)), "what is committed");
    equal([6, 7, 8, 9, 10], of(0, clean).slice(0, 5).map((each) => each.offset), "its offsets");
    equal(values(of(1, kept)), values(of(1, clean)), "what is committed in the other");
    await transactor.commit();
    const more = await client.read(name, { 0: 0, 1: 0 }, 15, { committed: true });
    equal([...values(of(1, kept)), ...values(of(1, open))], values(of(1, more)), "committed since");
  },

  async transactions_fenced(client) {
    const [name, id] = [await topic(client), client.fresh()];
    const one = (what) => [{ topic: name, partition: 0, value: text(what) }];
    const first = await client.transactor(id);
    await first.begin();
    await first.send(one("of the first"));
    const second = await client.transactor(id);
    await second.begin();
    await second.send(one("of the second"));
    await refused("PRODUCER_FENCED", "a commit of the first", first.commit);
    await second.commit();
    equal(["of the second"], values(await client.read(name, { 0: 0 }, 1, { committed: true })), "what is committed");
    equal(["of the first", "of the second"], values(await client.read(name, { 0: 0 }, 2)), "everything");
  },

  async transactions_offsets(client) {
    const [from, to, group] = [await topic(client), await topic(client), client.fresh()];
    await send(client, fill(from, 0, 20));
    const consumer = await client.connected(client.consumer({ groupId: group, commits: false }));
    const transactor = await client.transactor(client.fresh());
    const copy = async (end) => {
      await transactor.begin();
      await transactor.send(fill(to, 0, 20));
      await transactor.offsets(consumer, group, from, [{ partition: 0, offset: "20" }]);
      await end();
    };
    await copy(transactor.abort);
    equal({}, await client.committed(group, from), "positions of what was aborted");
    await copy(transactor.commit);
    equal({ 0: 20 }, await client.committed(group, from), "positions of what was committed");
    equal(values(fill(to, 0, 20)), values(await client.read(to, { 0: 0 }, 20, { committed: true })), "the copy, once");
  },

  async expected_version(client) {
    const name = await topic(client, 3, { "daybook.streams": "true" });
    const key = Buffer.from(`${name}-1`);
    const attempt = (value, expected) => {
      const headers = expected && { "daybook-expected-version": text(expected) };
      return send(client, [{ topic: name, key, value: text(value), headers }]);
    };
    const conflict = (expected, what) => refused("INVALID_RECORD", what, () => attempt("no", expected));
    await conflict("0", "version 0 of no stream");
    const [[partition, offset]] = Object.entries(await attempt("first", "-1"));
    equal(0, offset, "offset: what is refused takes none");
    await conflict("-1", "no stream, at 0");
    await conflict("1", "version 1, at 0");
    equal({ [partition]: 1 }, await attempt("second", "0"), "version 0, at 0");
    equal({ [partition]: 2 }, await attempt("third", "any"), "any");
    equal({ [partition]: 3 }, await attempt("fourth"), "without a word of it");
    await conflict("soon", "what is no version");
    equal(["first", "second", "third", "fourth"], values(await everything(client, name)), "what was appended");
  },

  // Nothing that was acknowledged is lost, nothing is written twice, and the group goes on.
  async server_restart(client) {
    const [name, group, tally] = [await topic(client, 3), client.fresh(), new Tally()];
    const feed = await startFeed(client, name, 3, { idempotent: true });
    const member = await client.join({ topic: name, group }, tally);
    await eventually("it flows", () => tally.seen.size > 30);
    await restart();
    const before = tally.seen.size;
    await eventually("it flows again", () => tally.seen.size > before + 30);
    const rounds = await feed.end();
    await eventually("all is read", () => tally.seen.size >= 3 * rounds);
    await member.leave();
    const got = await everything(client, name);
    for (const n of [0, 1, 2]) equal(values(fill(name, n, rounds)), values(of(n, got)), "each value once, in order");
  },
};
