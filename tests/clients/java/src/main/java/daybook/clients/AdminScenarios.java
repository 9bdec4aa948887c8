package daybook.clients;

import static daybook.clients.Session.bytes;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.ReplicaInfo;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidReplicaAssignmentException;
import org.apache.kafka.common.errors.InvalidRequestException;
import org.apache.kafka.common.errors.NoReassignmentInProgressException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;

/** What administrators do with Kafka's Admin client: configs of everything, quotas, sizes, elections, reassignments. */
final class AdminScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("configs_altered", AdminScenarios::configsAltered);
        scenarios.put("broker_configs", AdminScenarios::brokerConfigs);
        scenarios.put("group_configs", AdminScenarios::groupConfigs);
        scenarios.put("client_metrics", AdminScenarios::clientMetrics);
        scenarios.put("quotas", AdminScenarios::quotas);
        scenarios.put("throttled", AdminScenarios::throttled);
        scenarios.put("log_dirs", AdminScenarios::logDirs);
        scenarios.put("describe_pages", AdminScenarios::describePages);
        scenarios.put("elections", AdminScenarios::elections);
        scenarios.put("reassignments", AdminScenarios::reassignments);
        scenarios.put("quorum", AdminScenarios::quorum);
    }

    private static AlterConfigOp op(OpType type, String name, String value) {
        return new AlterConfigOp(new ConfigEntry(name, value), type);
    }

    private static void alter(Session session, ConfigResource of, AlterConfigOp... ops) throws Exception {
        session.admin.incrementalAlterConfigs(Map.of(of, List.of(ops))).all().get();
    }

    private static ConfigEntry config(Session session, ConfigResource of, String name) throws Exception {
        return session.admin.describeConfigs(List.of(of)).all().get().get(of).get(name);
    }

    private static void eventually(Session session, ConfigResource of, String name, String value) throws Exception {
        Check.eventually(name + " of " + of + " is " + value, () -> {
            ConfigEntry found = config(session, of, name);
            return value.equals(found == null ? null : found.value());
        });
    }

    private static void configsAltered(Session session) throws Exception {
        var topic = new ConfigResource(ConfigResource.Type.TOPIC, session.topic(1));
        alter(session, topic, op(OpType.SET, "retention.ms", "1234567"), op(OpType.APPEND, "cleanup.policy", "compact"));
        eventually(session, topic, "cleanup.policy", "delete,compact");
        ConfigEntry retention = config(session, topic, "retention.ms");
        Check.equal("1234567", retention.value(), "what was set");
        Check.equal(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, retention.source(), "its source");
        alter(session, topic, op(OpType.SUBTRACT, "cleanup.policy", "delete"), op(OpType.DELETE, "retention.ms", ""));
        eventually(session, topic, "cleanup.policy", "compact");
        Check.equal("604800000", config(session, topic, "retention.ms").value(), "back to the default");
        alter(session, topic, op(OpType.DELETE, "no.such.config", ""));
        for (AlterConfigOp bad : List.of(op(OpType.SET, "no.such.config", "1"), op(OpType.SET, "retention.ms", "soon"),
                op(OpType.SET, "segment.bytes", "1"), op(OpType.SET, "min.cleanable.dirty.ratio", "1.5"),
                op(OpType.APPEND, "segment.bytes", "1"), op(OpType.SET, "compression.gzip.level", "0"),
                op(OpType.SET, "follower.replication.throttled.replicas", "all"))) {
            Check.fails(InvalidConfigurationException.class, bad.toString(), () -> alter(session, topic, bad));
        }
        Check.fails(InvalidConfigurationException.class, "lags that exclude each other", () -> alter(session, topic,
                op(OpType.SET, "min.compaction.lag.ms", "9"), op(OpType.SET, "max.compaction.lag.ms", "5")));
        session.admin.incrementalAlterConfigs(Map.of(topic, List.of(op(OpType.SET, "retention.ms", "1"))),
                new AlterConfigsOptions().validateOnly(true)).all().get();
        Check.equal("604800000", config(session, topic, "retention.ms").value(), "after a change that was only checked");
        var unknown = new ConfigResource(ConfigResource.Type.TOPIC, session.name());
        Check.fails(UnknownTopicOrPartitionException.class, "a topic that isn't there",
                () -> alter(session, unknown, op(OpType.SET, "retention.ms", "1")));
    }

    private static void brokerConfigs(Session session) throws Exception {
        String id = session.admin.describeCluster().nodes().get().iterator().next().idString();
        var one = new ConfigResource(ConfigResource.Type.BROKER, id);
        var all = new ConfigResource(ConfigResource.Type.BROKER, "");
        var topic = new ConfigResource(ConfigResource.Type.TOPIC, session.topic(1));
        try {
            alter(session, all, op(OpType.SET, "log.segment.delete.delay.ms", "70000"));
            eventually(session, topic, "file.delete.delay.ms", "70000");
            Check.equal(ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
                    config(session, topic, "file.delete.delay.ms").source(), "source of a topic's default");
            alter(session, one, op(OpType.SET, "log.segment.delete.delay.ms", "80000"));
            eventually(session, topic, "file.delete.delay.ms", "80000");
            eventually(session, one, "log.segment.delete.delay.ms", "80000");
            Check.equal(ConfigEntry.ConfigSource.DYNAMIC_BROKER_CONFIG,
                    config(session, one, "log.segment.delete.delay.ms").source(), "source of a broker's config");
        } finally {
            alter(session, one, op(OpType.DELETE, "log.segment.delete.delay.ms", ""));
            alter(session, all, op(OpType.DELETE, "log.segment.delete.delay.ms", ""));
        }
        eventually(session, topic, "file.delete.delay.ms", "60000");
        Check.that(config(session, one, "node.id").isReadOnly(), "node.id can't be changed");
        Check.that(!config(session, one, "message.max.bytes").isReadOnly(), "message.max.bytes can be changed");
        Check.fails(InvalidRequestException.class, "node.id", () -> alter(session, one, op(OpType.SET, "node.id", "7")));
        Check.fails(InvalidRequestException.class, "a negative size",
                () -> alter(session, one, op(OpType.SET, "message.max.bytes", "-3")));
    }

    private static void groupConfigs(Session session) throws Exception {
        var group = new ConfigResource(ConfigResource.Type.GROUP, session.name());
        alter(session, group, op(OpType.SET, "consumer.session.timeout.ms", "50000"));
        eventually(session, group, "consumer.session.timeout.ms", "50000");
        Check.equal("5000", config(session, group, "consumer.heartbeat.interval.ms").value(), "a default");
        Check.that(session.admin.listConfigResources(Set.of(ConfigResource.Type.GROUP), new ListConfigResourcesOptions()).all().get().contains(group),
                "it is listed");
        Check.fails(InvalidConfigurationException.class, "too short a time",
                () -> alter(session, group, op(OpType.SET, "consumer.session.timeout.ms", "5")));
        Check.fails(InvalidConfigurationException.class, "no such config",
                () -> alter(session, group, op(OpType.SET, "no.such.config", "5")));
        alter(session, group, op(OpType.DELETE, "consumer.session.timeout.ms", ""));
        eventually(session, group, "consumer.session.timeout.ms", "45000");
    }

    private static void clientMetrics(Session session) throws Exception {
        var metrics = new ConfigResource(ConfigResource.Type.CLIENT_METRICS, session.name());
        alter(session, metrics, op(OpType.SET, "interval.ms", "60000"), op(OpType.SET, "match", "client_id=nobody"),
                op(OpType.SET, "metrics", "org.apache.kafka.producer."));
        eventually(session, metrics, "metrics", "org.apache.kafka.producer.");
        Check.equal("60000", config(session, metrics, "interval.ms").value(), "the interval");
        Check.that(session.admin.listConfigResources(Set.of(ConfigResource.Type.CLIENT_METRICS), new ListConfigResourcesOptions()).all().get()
                .contains(metrics), "it is listed");
        alter(session, metrics, op(OpType.DELETE, "interval.ms", ""), op(OpType.DELETE, "match", ""),
                op(OpType.DELETE, "metrics", ""));
        Check.eventually("it is gone", () -> !session.admin.listConfigResources(
                Set.of(ConfigResource.Type.CLIENT_METRICS), new ListConfigResourcesOptions()).all().get().contains(metrics));
    }

    private static void alterQuota(Session session, ClientQuotaEntity of, String key, Double value) throws Exception {
        var ops = List.of(new ClientQuotaAlteration.Op(key, value));
        session.admin.alterClientQuotas(List.of(new ClientQuotaAlteration(of, ops))).all().get();
    }

    private static ClientQuotaEntity client(String id) {
        return new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, id));
    }

    private static Map<String, Double> quotasOf(Session session, ClientQuotaEntity entity) throws Exception {
        List<ClientQuotaFilterComponent> components = new ArrayList<>();
        entity.entries().forEach((type, name) -> components.add(name == null
                ? ClientQuotaFilterComponent.ofDefaultEntity(type) : ClientQuotaFilterComponent.ofEntity(type, name)));
        return session.admin.describeClientQuotas(ClientQuotaFilter.containsOnly(components)).entities().get()
                .getOrDefault(entity, Map.of());
    }

    private static void quotas(Session session) throws Exception {
        var both = new ClientQuotaEntity(
                Map.of(ClientQuotaEntity.USER, session.name(), ClientQuotaEntity.CLIENT_ID, session.name()));
        var ip = new ClientQuotaEntity(Map.of(ClientQuotaEntity.IP, "10.9.8.7"));
        alterQuota(session, both, "request_percentage", 12.5);
        alterQuota(session, both, "producer_byte_rate", 4096.0);
        alterQuota(session, ip, "connection_creation_rate", 50.0);
        Check.eventually("both quotas are described", () -> quotasOf(session, both)
                .equals(Map.of("request_percentage", 12.5, "producer_byte_rate", 4096.0)));
        Check.eventually("the address's is", () -> quotasOf(session, ip).equals(Map.of("connection_creation_rate", 50.0)));
        Check.fails(InvalidRequestException.class, "no such quota", () -> alterQuota(session, both, "patience", 1.0));
        Check.fails(InvalidRequestException.class, "an address's for a user",
                () -> alterQuota(session, both, "connection_creation_rate", 1.0));
        Check.fails(InvalidRequestException.class, "half a byte",
                () -> alterQuota(session, both, "producer_byte_rate", 1.5));
        Check.fails(InvalidRequestException.class, "nothing at all",
                () -> alterQuota(session, both, "producer_byte_rate", 0.0));
        alterQuota(session, both, "request_percentage", null);
        alterQuota(session, both, "producer_byte_rate", null);
        alterQuota(session, ip, "connection_creation_rate", null);
        Check.eventually("all are gone", () -> quotasOf(session, both).isEmpty() && quotasOf(session, ip).isEmpty());
    }

    private static double metric(Map<MetricName, ? extends Metric> metrics, String name) {
        return metrics.values().stream().filter(metric -> metric.metricName().name().equals(name))
                .mapToDouble(metric -> ((Number) metric.metricValue()).doubleValue()).max().orElse(Double.NaN);
    }

    /** A rate is taken over ten seconds: 100,000 bytes a second let a million pass, and hold back what is more. */
    private static void throttled(Session session) throws Exception {
        String topic = session.topic(1);
        String id = session.name();
        alterQuota(session, client(id), "producer_byte_rate", 100_000.0);
        alterQuota(session, client(id), "consumer_byte_rate", 100_000.0);
        try {
            Check.eventually("the quota is there", () -> quotasOf(session, client(id)).size() == 2);
            var producer = session.producer("client.id", id, "batch.size", "1", "max.in.flight.requests.per.connection", "1");
            var sent = new ArrayList<ProducerRecord<byte[], byte[]>>();
            for (int i = 0; i < 12; i++) {
                sent.add(new ProducerRecord<>(topic, 0, bytes("" + i), Session.noise(100_000, i)));
            }
            Check.equal(12, session.send(producer, sent).size(), "records that went");
            double waited = metric(producer.metrics(), "produce-throttle-time-max");
            Check.that(waited > 0, "the producer was told to wait: " + waited);
            var consumer = session.consumer("client.id", id);
            var partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            var got = Session.poll(consumer, 12);
            for (int i = 0; i < 12; i++) {
                Check.that(Arrays.equals(Session.noise(100_000, i), got.get(i).value()), "contents of record " + i);
            }
            double held = metric(consumer.metrics(), "fetch-throttle-time-max");
            Check.that(held > 0, "the consumer was told to wait: " + held);
        } finally {
            alterQuota(session, client(id), "producer_byte_rate", null);
            alterQuota(session, client(id), "consumer_byte_rate", null);
        }
        var free = session.producer("client.id", session.name());
        session.send(free, List.of(new ProducerRecord<>(topic, 0, null, bytes("free"))));
        Check.equal(0.0, metric(free.metrics(), "produce-throttle-time-max"), "another client's wait");
    }

    private static void logDirs(Session session) throws Exception {
        int node = session.admin.describeCluster().nodes().get().iterator().next().id();
        String topic = session.topic(2);
        session.send(session.producer(), List.of(new ProducerRecord<>(topic, 1, null, Session.noise(50_000, 1))));
        var directories = session.admin.describeLogDirs(List.of(node)).allDescriptions().get().get(node);
        Check.equal(1, directories.size(), "directories");
        var directory = directories.values().iterator().next();
        Check.that(directory.error() == null, "the directory is sound");
        Check.that(directory.totalBytes().getAsLong() > 0 && directory.usableBytes().getAsLong() > 0, "it has room");
        Map<TopicPartition, ReplicaInfo> replicas = directory.replicaInfos();
        Check.equal(0L, replicas.get(new TopicPartition(topic, 0)).size(), "bytes of an empty partition");
        long size = replicas.get(new TopicPartition(topic, 1)).size();
        Check.that(50_000 < size && size < 51_000, "bytes of one that has 50,000: " + size);
        Check.that(!replicas.get(new TopicPartition(topic, 1)).isFuture(), "it isn't moving");
    }

    private static void describePages(Session session) throws Exception {
        String topic = session.topic(7);
        var found = session.admin.describeTopics(TopicCollection.ofTopicNames(List.of(topic)),
                new DescribeTopicsOptions().partitionSizeLimitPerResponse(3)).allTopicNames().get().get(topic);
        Check.equal(List.of(0, 1, 2, 3, 4, 5, 6),
                found.partitions().stream().map(partition -> partition.partition()).toList(), "partitions, of three pages");
        Check.that(found.partitions().stream().allMatch(partition -> partition.leader() != null
                && partition.replicas().size() == 1 && partition.isr().equals(partition.replicas())), "each with its leader");
        Check.fails(UnknownTopicOrPartitionException.class, "a topic that isn't there", () -> session.admin
                .describeTopics(TopicCollection.ofTopicNames(List.of(session.name()))).allTopicNames().get());
    }

    private static void elections(Session session) throws Exception {
        var partition = new TopicPartition(session.topic(1), 0);
        var missing = new TopicPartition(session.name(), 0);
        for (ElectionType type : ElectionType.values()) {
            var results = session.admin.electLeaders(type, Set.of(partition, missing)).partitions().get();
            Check.that(results.get(partition).orElseThrow() instanceof ElectionNotNeededException, "needed? " + results);
            Check.that(results.get(missing).orElseThrow() instanceof UnknownTopicOrPartitionException, "missing: " + results);
        }
        Check.equal(Map.of(), session.admin.electLeaders(ElectionType.PREFERRED, null).partitions().get(), "of all");
    }

    private static void reassignments(Session session) throws Exception {
        int node = session.admin.describeCluster().nodes().get().iterator().next().id();
        var partition = new TopicPartition(session.topic(1), 0);
        session.admin.alterPartitionReassignments(
                Map.of(partition, Optional.of(new NewPartitionReassignment(List.of(node))))).all().get();
        Check.equal(Map.of(), session.admin.listPartitionReassignments().reassignments().get(), "under way");
        Check.fails(NoReassignmentInProgressException.class, "nothing to cancel", () -> session.admin
                .alterPartitionReassignments(Map.of(partition, Optional.empty())).all().get());
        Check.fails(InvalidReplicaAssignmentException.class, "a broker that isn't there", () -> session.admin
                .alterPartitionReassignments(
                        Map.of(partition, Optional.of(new NewPartitionReassignment(List.of(node + 5))))).all().get());
        Check.fails(UnknownTopicOrPartitionException.class, "a topic that isn't there", () -> session.admin
                .alterPartitionReassignments(Map.of(new TopicPartition(session.name(), 0),
                        Optional.of(new NewPartitionReassignment(List.of(node))))).all().get());
    }

    private static void quorum(Session session) throws Exception {
        int node = session.admin.describeCluster().nodes().get().iterator().next().id();
        var quorum = session.admin.describeMetadataQuorum().quorumInfo().get();
        Check.equal(node, quorum.leaderId(), "leader");
        Collection<Integer> voters = quorum.voters().stream().map(voter -> voter.replicaId()).toList();
        Check.equal(List.of(node), voters, "voters");
        Check.that(quorum.highWatermark() > 0, "high watermark: " + quorum.highWatermark());
    }

    private AdminScenarios() {}
}
