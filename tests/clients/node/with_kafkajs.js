// KafkaJS.
"use strict";

const { createRequire } = require("node:module");
process.env.KAFKAJS_NO_PARTITIONER_WARNING = "1";
const installed = createRequire(`${process.env.NODE_PACKAGES}/`);
const { AssignerProtocol, CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = installed("kafkajs");
const lz4 = installed("lz4-napi");
const zstd = installed("@bokuweb/zstd-wasm");
const scenarios = require("./kafka_scenarios.js");
const { Client } = require("./kafka_client.js");
const { main } = require("./scenario.js");

// Codecs but gzip are for others to plug in.
CompressionCodecs[CompressionTypes.Snappy] = installed("kafkajs-snappy");
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: (buffer) => lz4.decompressFrame(buffer),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
});
const ready = zstd.init();
const CODECS = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 };

// Enough for a restart of the server.
const retry = { initialRetryTime: 50, maxRetryTime: 500, retries: 60 };

class KafkaJS extends Client {
  running = {};
  // It would try again for a topic that isn't there.
  administration = { retry: { initialRetryTime: 50, retries: 1 } };
  lacks = {
    group_range: "KafkaJS has the round robin assignor alone",
    group_cooperative: "KafkaJS has the round robin assignor alone",
    consumer_uniform: "KafkaJS has no groups of KIP-848",
    consumer_range: "KafkaJS has no groups of KIP-848",
  };

  constructor(address, scenario) {
    super(address, scenario);
    this.kafka = new Kafka({ brokers: [address], logLevel: logLevel.NOTHING, retry });
  }

  async partitions(topic) {
    const { topics } = await (await this.administrator()).fetchTopicMetadata({ topics: [topic] });
    return topics[0].partitions.length;
  }

  async configs(topic) {
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
    const { resources } = await (await this.administrator()).describeConfigs({ includeSynonyms: false, resources: [resource] });
    return Object.fromEntries(resources[0].configEntries.map((each) => [each.configName, each.configValue]));
  }

  async alter(topic, configs) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }));
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configEntries };
    await (await this.administrator()).alterConfigs({ validateOnly: false, resources: [resource] });
  }

  async grow(topic, count) {
    await (await this.administrator()).createPartitions({ topicPartitions: [{ topic, count }] });
  }

  async producer({ codec = "none", acks = -1, idempotent = false } = {}) {
    await ready;
    const producer = await this.connected(this.kafka.producer({ idempotent, maxInFlightRequests: idempotent ? 1 : 5, retry }));
    return {
      send: (records) => this.sendWith(producer, records, { acks, compression: CODECS[codec] }),
      close: () => this.disconnected(producer),
    };
  }

  consumer({ groupId, committed = false, commits }) {
    this.running = commits ? { autoCommitThreshold: 1 } : { autoCommit: false };
    const pace = { heartbeatInterval: 100, sessionTimeout: 10_000, rebalanceTimeout: 10_000, maxWaitTimeInMs: 50 };
    return this.kafka.consumer({ groupId, readUncommitted: !committed, retry, ...pace });
  }

  watch(consumer) {
    let owned = [];
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => (owned = Object.values(payload.memberAssignment).flat()));
    consumer.on(consumer.events.REBALANCING, () => (owned = []));
    return () => owned;
  }

  async describeGroup(group) {
    const [described] = (await (await this.administrator()).describeGroups([group])).groups;
    const shares = described.members.map(({ memberAssignment }) => {
      const decoded = AssignerProtocol.MemberAssignment.decode(memberAssignment);
      return Object.values(decoded?.assignment ?? {}).flat().length;
    });
    return [described.state, ...shares.sort()];
  }

  async commit(groupId, topic, offsets) {
    const partitions = Object.entries(offsets).map(([partition, offset]) => ({ partition: Number(partition), offset: `${offset}` }));
    await (await this.administrator()).setOffsets({ groupId, topic, partitions });
  }

  async transactor(transactionalId) {
    const producer = await this.connected(this.kafka.producer({ transactionalId, idempotent: true, maxInFlightRequests: 1 }));
    let transaction;
    return {
      begin: async () => (transaction = await producer.transaction()),
      send: (records) => this.sendWith(transaction, records),
      offsets: (consumer, consumerGroupId, topic, offsets) => transaction.sendOffsets({ consumerGroupId, topics: [{ topic, partitions: offsets }] }),
      commit: () => transaction.commit(),
      abort: () => transaction.abort(),
    };
  }
}

main(scenarios, (address, name) => new KafkaJS(address, name));
