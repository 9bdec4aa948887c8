package daybook.clients;

import static daybook.clients.Session.bytes;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Topics: made, shown, refused, deleted, made by producing, made by the hundred; their configs; the cluster. */
final class TopicScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("cluster", TopicScenarios::cluster);
        scenarios.put("topics", TopicScenarios::topics);
        scenarios.put("topics_refused", TopicScenarios::topicsRefused);
        scenarios.put("topic_made_again", TopicScenarios::topicMadeAgain);
        scenarios.put("unknown_topics", TopicScenarios::unknownTopics);
        scenarios.put("auto_create", TopicScenarios::autoCreate);
        scenarios.put("many_topics", TopicScenarios::manyTopics);
        scenarios.put("configs", TopicScenarios::configs);
    }

    private static void cluster(Session session) throws Exception {
        var cluster = session.admin.describeCluster();
        Check.that(!cluster.clusterId().get().isBlank(), "the cluster has an id");
        var nodes = List.copyOf(cluster.nodes().get());
        Check.equal(1, nodes.size(), "nodes");
        Check.equal(session.bootstrap, nodes.get(0).host() + ":" + nodes.get(0).port(), "address of the node");
        Check.equal(nodes.get(0).id(), cluster.controller().get().id(), "controller");
        Check.equal(cluster.clusterId().get(), session.admin.describeCluster().clusterId().get(), "cluster id, asked again");
    }

    private static void topics(Session session) throws Exception {
        String name = session.name();
        var created = session.admin.createTopics(List.of(new NewTopic(name, 3, (short) 1)));
        Check.equal(3, created.numPartitions(name).get(), "partitions in the answer");
        Check.equal(1, created.replicationFactor(name).get(), "replication factor in the answer");
        Check.eventually("it is listed", () -> session.admin.listTopics().names().get().contains(name));
        Uuid id = created.topicId(name).get();
        Check.that(!id.equals(Uuid.ZERO_UUID), "a topic has an id");

        String byDefault = session.name();
        session.create(new NewTopic(byDefault, Optional.empty(), Optional.empty()));
        Check.equal(1, describe(session, byDefault).partitions().size(), "partitions by default");

        String placed = session.name();
        int node = session.admin.describeCluster().nodes().get().iterator().next().id();
        session.create(new NewTopic(placed, Map.of(0, List.of(node), 1, List.of(node))));
        Check.equal(2, describe(session, placed).partitions().size(), "partitions placed by hand");

        Set<String> names = session.admin.listTopics().names().get();
        Check.that(names.containsAll(List.of(name, byDefault, placed)), "all are listed: " + names);
        var listing = session.admin.listTopics().namesToListings().get().get(name);
        Check.equal(id, listing.topicId(), "id in the list");
        Check.that(!listing.isInternal(), "not internal");

        TopicDescription description = describe(session, name);
        Check.equal(id, description.topicId(), "id in the description");
        Check.equal(List.of(0, 1, 2), description.partitions().stream().map(p -> p.partition()).toList(), "partitions");
        for (var partition : description.partitions()) {
            Check.equal(node, partition.leader().id(), "leader");
            Check.equal(List.of(node), partition.replicas().stream().map(n -> n.id()).toList(), "replicas");
            Check.equal(List.of(node), partition.isr().stream().map(n -> n.id()).toList(), "in-sync replicas");
        }
        var byId = session.admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).topicIdValues().get(id).get();
        Check.equal(name, byId.name(), "described by id");

        var dryRun = new NewTopic(session.name(), 1, (short) 1);
        session.admin.createTopics(List.of(dryRun), new CreateTopicsOptions().validateOnly(true)).all().get();
        Check.that(!session.admin.listTopics().names().get().contains(dryRun.name()), "validating creates nothing");

        session.admin.deleteTopics(List.of(byDefault)).all().get();
        session.admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get();
        gone(session, byDefault);
        gone(session, name);
        Check.that(session.admin.listTopics().names().get().contains(placed), "the third topic is still there");
    }

    private static void topicsRefused(Session session) throws Exception {
        String name = session.topic(1);
        Check.fails(TopicExistsException.class, "a name that is taken", () -> create(session, name, 1));
        for (String bad : List.of(".", "..", "a b", "a/b", "ä", "x".repeat(250))) {
            Check.fails(InvalidTopicException.class, "the name " + bad, () -> create(session, bad, 1));
        }
        create(session, session.name() + "x".repeat(249).substring(session.name().length()), 1);
        String dotted = session.name() + ".a_b";
        create(session, dotted, 1);
        Check.fails(InvalidTopicException.class, "a name that differs in . and _ only",
                () -> create(session, dotted.replace('.', '_'), 1));
        Check.fails(InvalidPartitionsException.class, "no partitions", () -> create(session, session.name(), 0));
        Check.fails(InvalidReplicationFactorException.class, "more replicas than nodes", () -> session.admin
                .createTopics(List.of(new NewTopic(session.name(), 1, (short) 3))).all().get());
        Check.fails(InvalidConfigurationException.class, "an unknown config",
                () -> session.topic(1, "no.such.config", "1"));
        Check.fails(InvalidConfigurationException.class, "a config with a wrong value",
                () -> session.topic(1, "retention.ms", "long"));

        // One refused topic in a request must not take the others with it.
        String good = session.name();
        var both = session.admin.createTopics(
                List.of(new NewTopic(name, 1, (short) 1), new NewTopic(good, 2, (short) 1)));
        Check.fails(TopicExistsException.class, "one of two", () -> both.values().get(name).get());
        both.values().get(good).get();
        Check.eventually("the other of two exists", () -> session.admin.listTopics().names().get().contains(good));
    }

    private static void topicMadeAgain(Session session) throws Exception {
        String name = session.topic(2);
        session.fill(name, 0, 10);
        Uuid first = describe(session, name).topicId();
        session.admin.deleteTopics(List.of(name)).all().get();
        gone(session, name);
        create(session, name, 1);
        TopicDescription again = describe(session, name);
        Check.that(!again.topicId().equals(first), "a new topic has a new id");
        Check.equal(1, again.partitions().size(), "partitions of the new topic");
        Check.equal(List.of(), session.readAll(name), "records of the new topic");
        session.fill(name, 0, 3);
        var records = session.readAll(name);
        Check.equal(List.of("0", "1", "2"), Session.values(records), "records written since");
        Check.equal(0L, records.get(0).offset(), "offsets start anew");
    }

    private static void unknownTopics(Session session) throws Exception {
        String name = session.name();
        Check.fails(UnknownTopicOrPartitionException.class, "describe", () -> describe(session, name));
        Check.fails(UnknownTopicOrPartitionException.class, "delete",
                () -> session.admin.deleteTopics(List.of(name)).all().get());
        Uuid id = Uuid.randomUuid();
        Check.fails(UnknownTopicIdException.class, "describe by id", () -> session.admin
                .describeTopics(TopicCollection.ofTopicIds(List.of(id))).topicIdValues().get(id).get());
        Check.fails(UnknownTopicIdException.class, "delete by id",
                () -> session.admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get());
        Check.fails(UnknownTopicOrPartitionException.class, "configs", () -> session.admin
                .describeConfigs(List.of(new ConfigResource(ConfigResource.Type.TOPIC, name))).all().get());
        Check.that(!session.admin.listTopics().names().get().contains(name), "asking creates nothing");
    }

    private static void autoCreate(Session session) throws Exception {
        String name = session.name();
        var where = session.send(session.producer(), List.of(new ProducerRecord<>(name, bytes("first"))));
        Check.equal(0L, where.get(0).offset(), "offset of the first record");
        Check.equal(List.of("first"), Session.values(session.readAll(name)), "records");
        Check.equal(1, describe(session, name).partitions().size(), "partitions by default");

        var producer = session.producer("max.block.ms", "10000");
        Check.fails(InvalidTopicException.class, "producing to an illegal name",
                () -> session.send(producer, List.of(new ProducerRecord<>("a b", bytes("x")))));

        String shy = session.name();
        var consumer = session.consumer("group.id", session.name(), "allow.auto.create.topics", "false");
        consumer.subscribe(List.of(shy));
        // Well past the first metadata answer: joining the group takes several.
        Check.equal(0, consumer.poll(Duration.ofSeconds(1)).count(), "records of a topic that isn't there");
        Check.that(!session.admin.listTopics().names().get().contains(shy), "the consumer forbade creating " + shy);
        Check.that(consumer.partitionsFor(shy).isEmpty(), "no partitions");

        String bold = session.name();
        var other = session.consumer("group.id", session.name());
        other.subscribe(List.of(bold));
        other.poll(Duration.ofMillis(500));
        Check.eventually("the consumer's topic exists", () -> {
            other.poll(Duration.ofMillis(50));
            return session.admin.listTopics().names().get().contains(bold);
        });
    }

    private static void manyTopics(Session session) throws Exception {
        int count = 300;
        var topics = new ArrayList<NewTopic>();
        for (int i = 0; i < count; i++) {
            topics.add(new NewTopic(session.name(), 1 + i % 3, (short) 1));
        }
        session.admin.createTopics(topics).all().get();
        List<String> names = topics.stream().map(NewTopic::name).toList();
        var described = session.admin.describeTopics(names).allTopicNames().get();
        Check.equal(600, described.values().stream().mapToInt(d -> d.partitions().size()).sum(), "partitions in all");

        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (NewTopic topic : topics) {
            for (int partition = 0; partition < topic.numPartitions(); partition++) {
                records.add(new ProducerRecord<>(topic.name(), partition, null, bytes(topic.name() + "/" + partition)));
            }
        }
        for (var where : session.send(session.producer(), records)) {
            Check.equal(0L, where.offset(), "first offset of " + where.topic());
        }
        var consumer = session.consumer("group.id", session.name());
        consumer.subscribe(names);
        for (var record : Session.poll(consumer, records.size())) {
            Check.equal(record.topic() + "/" + record.partition(), Session.text(record.value()), "record");
        }
        consumer.close();
        session.admin.deleteTopics(names).all().get();
        Check.eventually("all are deleted", () -> session.admin.listTopics().names().get().stream().noneMatch(names::contains));
    }

    private static void configs(Session session) throws Exception {
        String topic = session.topic(1, "retention.ms", "123456789", "cleanup.policy", "compact,delete");
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Map<String, ConfigEntry> entries = new TreeMap<>();
        for (var entry : session.admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
            entries.put(entry.name(), entry);
        }
        Map<String, String> defaults = Session.pairs(
                "compression.type", "producer",
                "delete.retention.ms", "86400000",
                "file.delete.delay.ms", "60000",
                "flush.messages", "9223372036854775807",
                "flush.ms", "9223372036854775807",
                "index.interval.bytes", "4096",
                "max.compaction.lag.ms", "9223372036854775807",
                "max.message.bytes", "1048588",
                "message.timestamp.after.max.ms", "3600000",
                "message.timestamp.before.max.ms", "9223372036854775807",
                "message.timestamp.type", "CreateTime",
                "min.cleanable.dirty.ratio", "0.5",
                "min.compaction.lag.ms", "0",
                "min.insync.replicas", "1",
                "preallocate", "false",
                "retention.bytes", "-1",
                "segment.bytes", "1073741824",
                "segment.index.bytes", "10485760",
                "segment.jitter.ms", "0",
                "segment.ms", "604800000",
                "unclean.leader.election.enable", "false");
        for (var expected : defaults.entrySet()) {
            ConfigEntry entry = entries.get(expected.getKey());
            Check.that(entry != null, expected.getKey() + " is described");
            Check.equal(expected.getValue(), entry.value(), expected.getKey());
            // Kafka itself sets min.insync.replicas for the whole cluster when it is formatted.
            Check.that(entry.source() == ConfigEntry.ConfigSource.DEFAULT_CONFIG
                    || expected.getKey().equals("min.insync.replicas"), entry.source() + " as source of " + expected.getKey());
            Check.that(!entry.isReadOnly() && !entry.isSensitive(), "flags of " + expected.getKey());
        }
        for (var set : Map.of("retention.ms", "123456789", "cleanup.policy", "compact,delete").entrySet()) {
            Check.equal(set.getValue(), entries.get(set.getKey()).value(), set.getKey());
            Check.equal(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, entries.get(set.getKey()).source(),
                    "source of " + set.getKey());
        }
        Check.equal(ConfigEntry.ConfigType.LONG, entries.get("retention.ms").type(), "type of retention.ms");
        Check.equal(ConfigEntry.ConfigType.LIST, entries.get("cleanup.policy").type(), "type of cleanup.policy");
    }

    private static void create(Session session, String name, int partitions) throws Exception {
        session.create(new NewTopic(name, partitions, (short) 1));
    }

    private static TopicDescription describe(Session session, String name) throws Exception {
        return session.admin.describeTopics(List.of(name)).topicNameValues().get(name).get();
    }

    private static void gone(Session session, String name) throws Exception {
        Check.eventually(name + " is gone", () -> {
            try {
                describe(session, name);
                return false;
            } catch (ExecutionException failed) {
                return failed.getCause() instanceof UnknownTopicOrPartitionException;
            }
        });
    }

    private TopicScenarios() {}
}
