// confluent-kafka-javascript, librdkafka for Node, by the interface that it copied from KafkaJS.
"use strict";

const { createRequire } = require("node:module");
const installed = createRequire(`${process.env.NODE_PACKAGES}/`);
const { ConsumerGroupStates, Kafka, PartitionAssigners, logLevel } = installed("@confluentinc/kafka-javascript").KafkaJS;
const scenarios = require("./kafka_scenarios.js");
const { Client } = require("./kafka_client.js");
const { main } = require("./scenario.js");

const quiet = { logLevel: logLevel.NOTHING };

class Confluent extends Client {
  running = {};
  lacks = {
    null_and_empty: "confluent-kafka-javascript makes null of what is empty",
    configs_altered: "confluent-kafka-javascript neither describes nor alters configs",
    more_partitions: "confluent-kafka-javascript adds no partitions",
  };

  constructor(address, scenario) {
    super(address, scenario);
    this.kafka = new Kafka({ kafkaJS: { brokers: [address], ...quiet }, "log_level": 0 });
  }

  async partitions(topic) {
    const [described] = await (await this.administrator()).fetchTopicMetadata({ topics: [topic] });
    return described.partitions.length;
  }

  async producer({ codec = "none", acks = -1, idempotent = false, requestBytes } = {}) {
    const config = { kafkaJS: { acks, idempotent, compression: codec, ...quiet }, "linger.ms": 1 };
    if (requestBytes) config["message.max.bytes"] = requestBytes;
    const producer = await this.connected(this.kafka.producer(config));
    return { send: (records) => this.sendWith(producer, records), close: () => this.disconnected(producer) };
  }

  consumer({ groupId, committed = false, commits, assignor = "range", protocol = "classic", remote }) {
    const committing = { autoCommit: commits, autoCommitInterval: 100 };
    const kafkaJS = { groupId, fromBeginning: true, readUncommitted: !committed, maxWaitTimeInMs: 50, ...committing, ...quiet };
    const classic = { heartbeatInterval: 100, sessionTimeout: 10_000, partitionAssigners: [PartitionAssigners[assignor]] };
    if (protocol === "classic") Object.assign(kafkaJS, classic);
    return this.kafka.consumer({ kafkaJS, "group.protocol": protocol, ...(remote && { "group.remote.assignor": remote }) });
  }

  async follow(consumer, topic, note) {
    await consumer.subscribe({ topic });
    await consumer.run({ eachMessage: async ({ partition, message }) => note(partition, message) });
  }

  watch(consumer) {
    return () => consumer.assignment().map((each) => each.partition);
  }

  async describeGroup(group) {
    const [described] = (await (await this.administrator()).describeGroups([group])).groups;
    const state = Object.entries(ConsumerGroupStates).find(([, value]) => value === described.state)[0];
    const shares = described.members.map((each) => each.assignment?.topicPartitions?.length ?? 0);
    return [state.charAt(0) + state.slice(1).toLowerCase(), ...shares.sort()];
  }

  // By a consumer of the group that reads nothing: this administrator does not set offsets.
  async commit(groupId, topic, offsets) {
    const consumer = await this.connected(this.consumer({ groupId, commits: false }));
    await consumer.commitOffsets(Object.entries(offsets).map(([partition, offset]) => ({ topic, partition: Number(partition), offset: `${offset}` })));
    await this.disconnected(consumer);
  }

  async transactor(transactionalId) {
    const producer = await this.connected(this.kafka.producer({ kafkaJS: { transactionalId, ...quiet } }));
    let transaction;
    return {
      begin: async () => (transaction = await producer.transaction()),
      send: (records) => this.sendWith(transaction, records),
      offsets: (consumer, group, topic, offsets) => transaction.sendOffsets({ consumer, topics: [{ topic, partitions: offsets }] }),
      commit: () => transaction.commit(),
      abort: () => transaction.abort(),
    };
  }
}

main(scenarios, (address, name) => new Confluent(address, name));
