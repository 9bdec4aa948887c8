// What both of Node's Kafka clients have in common: confluent-kafka-javascript copied KafkaJS's interface. The differences
// are in with_kafkajs.js and with_confluent.js.
"use strict";

const { soon } = require("./scenario.js");

// One scenario's view of the server. Names it hands out are new in every run.
class Client {
  lacks = {};
  readsOnce = false;
  administration = undefined;
  names = 0;
  open = [];

  constructor(address, scenario) {
    this.address = address;
    this.prefix = `${this.constructor.name.toLowerCase()}-${scenario.replaceAll("_", "-")}-${Date.now().toString(36)}`;
  }

  fresh() {
    this.names += 1;
    return `${this.prefix}-${this.names}`;
  }

  async administrator() {
    this.admin ??= await this.connected(this.kafka.admin(this.administration));
    return this.admin;
  }

  async connected(made) {
    await soon(made.connect(), "connecting");
    this.open.push(made);
    return made;
  }

  async disconnected(made) {
    this.open = this.open.filter((each) => each !== made);
    await soon(made.disconnect(), "disconnecting");
  }

  async close() {
    for (const each of this.open.reverse()) await each.disconnect().catch(() => {});
  }

  async create(topic, numPartitions, configs = {}, replicationFactor = 1) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }));
    const made = await (await this.administrator()).createTopics({ topics: [{ topic, numPartitions, replicationFactor, configEntries }] });
    // That is how both say it.
    if (!made) throw Object.assign(new Error(`${topic} exists`), { code: 36 });
  }

  async createAll(names) {
    await (await this.administrator()).createTopics({ topics: names.map((topic) => ({ topic, numPartitions: 1, replicationFactor: 1 })) });
  }

  remove(topic) {
    return this.removeAll([topic]);
  }

  async removeAll(topics) {
    await (await this.administrator()).deleteTopics({ topics });
  }

  async topics() {
    return new Set(await (await this.administrator()).listTopics());
  }

  async bounds(topic) {
    const bounds = await (await this.administrator()).fetchTopicOffsets(topic);
    return Object.fromEntries(bounds.map(({ partition, low, high }) => [partition, [Number(low), Number(high)]]).sort());
  }

  async at(topic, milliseconds) {
    const found = await (await this.administrator()).fetchTopicOffsetsByTimestamp(topic, milliseconds);
    return Object.fromEntries(found.map(({ partition, offset }) => [partition, Number(offset)]).sort());
  }

  async deleteRecords(topic, before) {
    const partitions = Object.entries(before).map(([partition, offset]) => ({ partition: Number(partition), offset: `${offset}` }));
    await (await this.administrator()).deleteTopicRecords({ topic, partitions });
  }

  // The first offset of what was sent, by partition. Records of many topics go in one call.
  async sendWith(producer, records, options = {}) {
    const byTopic = Map.groupBy?.(records, (each) => each.topic) ?? groupBy(records, (each) => each.topic);
    const topicMessages = [...byTopic].map(([topic, some]) => ({
      topic,
      messages: some.map(({ partition, key, value, timestamp, headers }) => ({
        partition, key, value, headers, timestamp: timestamp === undefined ? undefined : `${timestamp}`,
      })),
    }));
    const answers = topicMessages.length === 1
      ? await producer.send({ ...topicMessages[0], ...options })
      : await producer.sendBatch({ topicMessages, ...options });
    return Object.fromEntries((answers ?? []).map((each) => [each.partition, Number(each.baseOffset)]));
  }

  // Exactly so many records from these offsets on; partition by partition, each in order.
  async read(topic, from, count, { committed = false } = {}) {
    const consumer = await this.connected(this.consumer({ groupId: this.fresh(), committed, commits: false }));
    const got = new Map();
    const done = new Promise((resolve) => {
      this.follow(consumer, topic, (partition, message) => {
        const offset = Number(message.offset);
        if (offset >= (from[partition] ?? Infinity))
          got.set(`${partition}:${offset}`, { ...message, partition, offset, timestamp: Number(message.timestamp) });
        if (got.size >= count) resolve();
      }).then(() => {
        for (const [partition, offset] of Object.entries(from)) consumer.seek({ topic, partition: Number(partition), offset: `${offset}` });
      });
    });
    await soon(done, `${count} records of ${topic}`).catch((error) => {
      throw new Error(`${error.message}; read ${got.size}`);
    });
    await this.disconnected(consumer);
    return [...got.values()].sort((a, b) => a.partition - b.partition || a.offset - b.offset);
  }

  async follow(consumer, topic, note) {
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ eachMessage: async ({ partition, message }) => note(partition, message), ...this.running });
  }

  // A group's member; it commits what it has read in passing.
  async join(options, tally) {
    const consumer = await this.connected(this.consumer({ groupId: options.group, commits: true, ...options }));
    const owned = this.watch(consumer);
    await this.follow(consumer, options.topic, (partition, message) => tally.note(partition, Number(message.offset)));
    return { owned, leave: () => this.disconnected(consumer) };
  }

  async groups() {
    return new Set((await (await this.administrator()).listGroups()).groups.map((each) => each.groupId));
  }

  async committed(groupId, topic) {
    const answers = await (await this.administrator()).fetchOffsets({ groupId, topics: [topic] });
    const partitions = answers.find((each) => each.topic === topic)?.partitions ?? [];
    return Object.fromEntries(partitions.filter((each) => Number(each.offset) >= 0).map((each) => [each.partition, Number(each.offset)]).sort());
  }

  async deleteGroup(groupId) {
    await (await this.administrator()).deleteGroups([groupId]);
  }
}

function groupBy(records, key) {
  const groups = new Map();
  for (const each of records) groups.set(key(each), [...(groups.get(key(each)) ?? []), each]);
  return groups;
}

module.exports = { Client };
