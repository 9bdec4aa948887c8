package daybook.clients;

import static daybook.clients.Session.bytes;

import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ShareGroupDescription;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidRecordStateException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Share groups (KIP-932): who gets which record, how often, and what remains of it when members and servers go. */
final class ShareScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("share_explicit", ShareScenarios::explicit);
        scenarios.put("share_implicit", ShareScenarios::implicit);
        scenarios.put("share_delivery_limit", ShareScenarios::deliveryLimit);
        scenarios.put("share_two_consumers", ShareScenarios::twoConsumers);
        scenarios.put("share_member_leaves", ShareScenarios::memberLeaves);
        scenarios.put("share_lock_timeout", ShareScenarios::lockTimeout);
        scenarios.put("share_renew", ShareScenarios::renew);
        scenarios.put("share_record_limit", ShareScenarios::recordLimit);
        scenarios.put("share_latest", ShareScenarios::latest);
        scenarios.put("share_partitions", ShareScenarios::partitions);
        scenarios.put("share_restart", ShareScenarios::restart);
        scenarios.put("share_admin", ShareScenarios::admin);
        scenarios.put("share_offsets", ShareScenarios::offsets);
        scenarios.put("share_configs", ShareScenarios::configs);
    }

    private static void explicit(Session session) throws Exception {
        String topic = session.topic(1);
        String group = group(session);
        session.fill(topic, 0, 10);
        var consumer = consumer(session, group, topic, "explicit");
        var got = poll(consumer, 10);
        Check.equal(range(0, 10), values(got), "first delivery");
        Check.equal(Set.of(1), deliveries(got), "delivery counts of the first delivery");
        for (var record : got) {
            long offset = record.offset();
            consumer.acknowledge(record, offset < 6 ? AcknowledgeType.ACCEPT
                    : offset < 8 ? AcknowledgeType.RELEASE : AcknowledgeType.REJECT);
        }
        committed(consumer);
        got = poll(consumer, 2);
        Check.equal(List.of("6", "7"), values(got), "only what was released comes again");
        Check.equal(Set.of(2), deliveries(got), "delivery counts of the second delivery");
        got.forEach(record -> consumer.acknowledge(record, AcknowledgeType.ACCEPT));
        committed(consumer);
        nothing(consumer);
        notAhead(session, group, topic, 10L, "start offset when all is settled");
        Check.fails(IllegalStateException.class, "a record that was settled",
                () -> consumer.acknowledge(topic, 0, 6L, AcknowledgeType.ACCEPT));
    }

    private static void implicit(Session session) throws Exception {
        String topic = session.topic(1);
        String group = group(session);
        session.fill(topic, 0, 100);
        var first = consumer(session, group, topic, "implicit");
        Check.equal(range(0, 100), values(poll(first, 100)), "all, in order");
        // The next poll acknowledges what the last one brought.
        nothing(first);
        first.close();
        session.fill(topic, 0, 5);
        var second = consumer(session, group, topic, "implicit");
        var got = poll(second, 5);
        Check.equal(range(0, 5), values(got), "what came since");
        Check.equal(100L, got.get(0).offset(), "nothing of what was acknowledged");
        committed(second);
        notAhead(session, group, topic, 105L, "start offset after commitSync");
    }

    private static void deliveryLimit(Session session) throws Exception {
        String topic = session.topic(1);
        String group = group(session);
        session.fill(topic, 0, 1);
        var consumer = consumer(session, group, topic, "explicit");
        for (int delivery = 1; delivery <= 5; delivery++) {
            var got = poll(consumer, 1);
            Check.equal(Set.of(delivery), deliveries(got), "delivery count");
            consumer.acknowledge(got.get(0), AcknowledgeType.RELEASE);
            committed(consumer);
        }
        nothing(consumer);
        session.fill(topic, 0, 1);
        var got = poll(consumer, 1);
        Check.equal(1L, got.get(0).offset(), "the next one, after the first was given up");
        notAhead(session, group, topic, 1L, "the start has passed what was given up");
    }

    private static void twoConsumers(Session session) throws Exception {
        String topic = session.topic(1);
        String group = group(session);
        oneByOne(session, topic, 20);
        var first = consumer(session, group, topic, "explicit", "max.poll.records", "10");
        var second = consumer(session, group, topic, "explicit", "max.poll.records", "10");
        var ofFirst = poll(first, 10);
        var ofSecond = poll(second, 10);
        var all = new ArrayList<>(values(ofFirst));
        all.addAll(values(ofSecond));
        Check.equal(range(0, 20), all.stream().sorted(java.util.Comparator.comparingInt(Integer::parseInt)).toList(),
                "together all, and none twice");
        ofSecond.forEach(record -> second.acknowledge(record, AcknowledgeType.ACCEPT));
        committed(second);
        Check.equal(Map.of(0, 0L), starts(session, group, topic), "the start waits for the first one's records");
        ofFirst.forEach(record -> first.acknowledge(record, AcknowledgeType.ACCEPT));
        committed(first);
        notAhead(session, group, topic, 20L, "now it passes all");
    }

    private static void memberLeaves(Session session) throws Exception {
        String topic = session.topic(1);
        String group = group(session);
        session.fill(topic, 0, 3);
        var first = consumer(session, group, topic, "explicit");
        var got = poll(first, 3);
        first.acknowledge(got.get(0), AcknowledgeType.ACCEPT);
        committed(first);
        // Closing gives back what it still has, at once.
        first.close();
        var second = consumer(session, group, topic, "explicit");
        var again = poll(second, 2);
        Check.equal(List.of("1", "2"), values(again), "what the first one left behind");
        Check.equal(Set.of(2), deliveries(again), "their delivery counts");
    }

    private static void lockTimeout(Session session) throws Exception {
        String topic = session.topic(1);
        String group = group(session, "share.record.lock.duration.ms", "15000");
        session.fill(topic, 0, 3);
        var slow = consumer(session, group, topic, "explicit");
        var held = poll(slow, 3);
        slow.acknowledge(held.get(0), AcknowledgeType.ACCEPT);
        committed(slow);
        var quick = consumer(session, group, topic, "explicit");
        var got = new ArrayList<ConsumerRecord<byte[], byte[]>>();
        // Kafka may hand them out one by one; an explicit consumer polls on only when it has acknowledged.
        Check.eventually("what the slow one held too long comes to another", () -> {
            quick.poll(Duration.ofMillis(200)).forEach(record -> {
                got.add(record);
                if (record.offset() < 2) {
                    quick.acknowledge(record, AcknowledgeType.ACCEPT);
                }
            });
            return got.size() == 2;
        });
        Check.equal(List.of("1", "2"), values(got), "what the slow one held too long");
        Check.equal(Set.of(2), deliveries(got), "their delivery counts");
        slow.acknowledge(held.get(1), AcknowledgeType.ACCEPT);
        slow.acknowledge(held.get(2), AcknowledgeType.ACCEPT);
        var outcomes = slow.commitSync(Duration.ofSeconds(20));
        Check.equal(1, outcomes.size(), "partitions committed");
        KafkaException refused = outcomes.values().iterator().next().orElseThrow();
        Check.that(refused instanceof InvalidRecordStateException, "a late acknowledgement is refused, not by " + refused);
        quick.acknowledge(got.get(1), AcknowledgeType.ACCEPT);
        committed(quick);
        notAhead(session, group, topic, 3L, "who has the lock settles");
    }

    private static void renew(Session session) throws Exception {
        String topic = session.topic(1);
        String group = group(session, "share.record.lock.duration.ms", "15000");
        session.fill(topic, 0, 2);
        var consumer = consumer(session, group, topic, "explicit");
        var other = consumer(session, group, topic, "explicit");
        var got = poll(consumer, 2);
        Check.equal(Optional.of(15_000), consumer.acquisitionLockTimeoutMs(), "the lock time that the server tells");
        for (int round = 0; round < 2; round++) {
            Thread.sleep(8_000);
            got.forEach(record -> consumer.acknowledge(record, AcknowledgeType.RENEW));
            committed(consumer);
            // A renewed record is handed out again, to be acknowledged or renewed.
            got = poll(consumer, 2);
            Check.equal(Set.of(1), deliveries(got), "delivery counts of renewed records");
            Check.equal(0, other.poll(Duration.ofMillis(100)).count(), "nobody else gets them");
        }
        got.forEach(record -> consumer.acknowledge(record, AcknowledgeType.ACCEPT));
        committed(consumer);
        notAhead(session, group, topic, 2L, "16 s after a lock of 15 s they could be accepted");
    }

    private static void recordLimit(Session session) throws Exception {
        String topic = session.topic(1);
        String group = group(session);
        session.fill(topic, 0, 50); // one batch
        var consumer = consumer(session, group, topic, "explicit",
                "max.poll.records", "20", "share.acquire.mode", "record_limit");
        var all = new ArrayList<String>();
        for (int count : new int[] {20, 20, 10}) {
            var got = poll(consumer, count);
            all.addAll(values(got));
            got.forEach(record -> consumer.acknowledge(record, AcknowledgeType.ACCEPT));
            committed(consumer);
        }
        Check.equal(range(0, 50), all, "three fetches of one batch");
    }

    private static void latest(Session session) throws Exception {
        String topic = session.topic(1);
        session.fill(topic, 0, 5);
        String group = session.name();
        var consumer = consumer(session, group, topic, "explicit");
        var got = new ArrayList<ConsumerRecord<byte[], byte[]>>();
        var sent = new int[] {5};
        // When the group has begun can't be seen: what comes before that is not for it.
        Check.eventually("something that came after the beginning is delivered", () -> {
            session.fill(topic, 0, 1);
            sent[0]++;
            consumer.poll(Duration.ofMillis(300)).forEach(got::add);
            return !got.isEmpty();
        });
        Check.that(got.get(0).offset() >= 5, "a group begins at the end unless told otherwise, not at " + got.get(0).offset());
        String past = group(session, "share.auto.offset.reset", "by_duration:PT1H");
        Check.equal(sent[0], poll(consumer(session, past, topic, "explicit"), sent[0]).size(), "an hour ago all came after");
    }

    private static void partitions(Session session) throws Exception {
        String topic = session.topic(4);
        String group = group(session);
        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (int i = 0; i < 400; i++) {
            records.add(new ProducerRecord<>(topic, i % 4, null, bytes("" + i)));
        }
        var first = consumer(session, group, topic, "implicit");
        var second = consumer(session, group, topic, "implicit");
        Check.eventually("two members share four partitions", () -> {
            first.poll(Duration.ofMillis(50));
            second.poll(Duration.ofMillis(50));
            var members = describe(session, group).members();
            var owned = new HashSet<TopicPartition>();
            members.forEach(member -> owned.addAll(member.assignment().topicPartitions()));
            return members.size() == 2 && owned.size() == 4
                    && members.stream().noneMatch(member -> member.assignment().topicPartitions().isEmpty());
        });
        session.send(session.producer(), records);
        var seen = new TreeMap<Integer, Integer>();
        Check.eventually("all records are seen", () -> {
            for (var consumer : List.of(first, second)) {
                consumer.poll(Duration.ofMillis(50)).forEach(
                        record -> seen.merge(Integer.parseInt(Session.text(record.value())), 1, Integer::sum));
            }
            return seen.size() == 400;
        });
        Check.equal(Set.of(1), new HashSet<>(seen.values()), "each record once");
    }

    private static void restart(Session session) throws Exception {
        String where = System.getenv("CLIENTS_RESTART");
        if (where == null) {
            return;
        }
        String topic = session.topic(1);
        String group = group(session);
        session.fill(topic, 0, 10);
        var before = consumer(session, group, topic, "explicit");
        for (var record : poll(before, 10)) {
            if (record.offset() < 6) {
                before.acknowledge(record,
                        record.offset() == 2 ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
            } else if (record.offset() == 8) {
                before.acknowledge(record, AcknowledgeType.REJECT);
            }
        }
        // Not all that was polled is acknowledged, so an explicit consumer may not poll; committing it may.
        committed(before);
        try (Socket socket = new Socket(where.split(":")[0], Integer.parseInt(where.split(":")[1]))) {
            Check.equal("ready\n", new String(socket.getInputStream().readAllBytes()), "the server was restarted");
        }
        session.fill(topic, 0, 1);
        var after = consumer(session, group, topic, "explicit");
        var counts = new TreeMap<Long, Integer>();
        var got = poll(after, 5);
        got.forEach(record -> counts.put(record.offset(), (int) record.deliveryCount().orElse((short) -1)));
        Check.equal(Map.of(2L, 2, 6L, 1, 7L, 1, 9L, 1, 10L, 1), counts,
                "after a restart: what was released once more, what was in hand as if never delivered, nothing settled");
        got.forEach(record -> after.acknowledge(record, AcknowledgeType.ACCEPT));
        committed(after);
        notAhead(session, group, topic, 11L, "all is settled");
    }

    private static void admin(Session session) throws Exception {
        String topic = session.topic(2);
        String group = group(session);
        session.fill(topic, 0, 3);
        var consumer = consumer(session, group, topic, "implicit");
        poll(consumer, 3);
        committed(consumer);
        Check.that(listed(session, GroupType.SHARE).contains(group), "listed among share groups");
        Check.that(!listed(session, GroupType.CLASSIC).contains(group), "not listed among classic groups");
        ShareGroupDescription described = describe(session, group);
        Check.equal(GroupState.STABLE, described.groupState(), "state with a member");
        Check.equal(1, described.members().size(), "members");
        var member = described.members().iterator().next();
        Check.equal(Set.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1)),
                member.assignment().topicPartitions(), "assignment");
        Check.fails(GroupNotEmptyException.class, "delete a group with members",
                () -> session.admin.deleteShareGroups(List.of(group)).all().get());
        consumer.close();
        Check.eventually("it is empty", () -> describe(session, group).groupState() == GroupState.EMPTY);
        session.admin.deleteShareGroups(List.of(group)).all().get();
        Check.fails(GroupIdNotFoundException.class, "describe what was deleted", () -> describe(session, group));
        Check.that(!listed(session, GroupType.SHARE).contains(group), "no longer listed");
    }

    private static void offsets(Session session) throws Exception {
        String topic = session.topic(1);
        String group = group(session);
        session.fill(topic, 0, 10);
        var consumer = consumer(session, group, topic, "implicit");
        poll(consumer, 10);
        committed(consumer);
        var partition = new TopicPartition(topic, 0);
        Check.fails(GroupNotEmptyException.class, "alter offsets under a member",
                () -> session.admin.alterShareGroupOffsets(group, Map.of(partition, 4L)).all().get());
        consumer.close();
        Check.eventually("it is empty", () -> describe(session, group).groupState() == GroupState.EMPTY);
        session.admin.alterShareGroupOffsets(group, Map.of(partition, 4L)).all().get();
        Check.equal(Map.of(0, 4L), starts(session, group, topic), "start offset as altered");
        consumer = consumer(session, group, topic, "implicit");
        Check.equal(range(4, 10), values(poll(consumer, 6)), "delivered anew from there");
        committed(consumer);
        consumer.close();
        Check.eventually("it is empty again", () -> describe(session, group).groupState() == GroupState.EMPTY);
        session.admin.deleteShareGroupOffsets(group, Set.of(topic)).all().get();
        consumer = consumer(session, group, topic, "implicit");
        Check.equal(range(0, 10), values(poll(consumer, 10)), "without a start offset it begins where its config says");
    }

    private static void configs(Session session) throws Exception {
        String group = session.name();
        var resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        var before = session.admin.describeConfigs(List.of(resource)).all().get().get(resource);
        Check.equal("30000", before.get("share.record.lock.duration.ms").value(), "default lock time");
        Check.equal("5", before.get("share.delivery.count.limit").value(), "default delivery limit");
        Check.equal("latest", before.get("share.auto.offset.reset").value(), "default start");
        set(session, group, "share.record.lock.duration.ms", "20000");
        Check.eventually("what was set is described", () -> {
            var entry = session.admin.describeConfigs(List.of(resource)).all().get().get(resource)
                    .get("share.record.lock.duration.ms");
            return entry.value().equals("20000") && entry.source() == ConfigEntry.ConfigSource.DYNAMIC_GROUP_CONFIG;
        });
        for (String[] bad : new String[][] {{"share.record.lock.duration.ms", "14999"},
                {"share.auto.offset.reset", "tomorrow"}, {"share.isolation.level", "serializable"},
                {"share.no.such.config", "1"}}) {
            Check.fails(InvalidConfigurationException.class, bad[0] + "=" + bad[1],
                    () -> set(session, group, bad[0], bad[1]));
        }
    }

    /** A group that reads from the beginning, unless its configs say otherwise. */
    static String group(Session session, String... configs) throws Exception {
        String group = session.name();
        var all = Session.pairs(configs);
        all.putIfAbsent("share.auto.offset.reset", "earliest");
        for (var config : all.entrySet()) {
            set(session, group, config.getKey(), config.getValue());
        }
        return group;
    }

    private static void set(Session session, String group, String name, String value) throws Exception {
        var resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        var op = new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
        session.admin.incrementalAlterConfigs(Map.of(resource, List.of(op))).all().get();
    }

    private static KafkaShareConsumer<byte[], byte[]> consumer(
            Session session, String group, String topic, String mode, String... configs) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", session.bootstrap, "group.id", group,
                "share.acknowledgement.mode", mode, "fetch.max.wait.ms", "100"));
        all.putAll(Session.pairs(configs));
        var consumer = session.closing(
                new KafkaShareConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
        consumer.subscribe(List.of(topic));
        return consumer;
    }

    /** One poll after the other brings nothing, then records: an explicit consumer can't poll on before it acknowledged. */
    private static List<ConsumerRecord<byte[], byte[]>> poll(KafkaShareConsumer<byte[], byte[]> consumer, int count) {
        var got = new ArrayList<ConsumerRecord<byte[], byte[]>>();
        long end = System.nanoTime() + Check.PATIENCE.toNanos();
        while (got.size() < count) {
            Check.that(System.nanoTime() < end, "polled " + got.size() + " records in time, want " + count);
            consumer.poll(Duration.ofMillis(200)).forEach(got::add);
        }
        Check.equal(count, got.size(), "records polled");
        return got;
    }

    private static void nothing(KafkaShareConsumer<byte[], byte[]> consumer) {
        for (int i = 0; i < 5; i++) {
            Check.equal(0, consumer.poll(Duration.ofMillis(100)).count(), "records polled where there are none");
        }
    }

    private static void committed(KafkaShareConsumer<byte[], byte[]> consumer) {
        Map<TopicIdPartition, Optional<KafkaException>> outcomes = consumer.commitSync(Duration.ofSeconds(20));
        Check.that(!outcomes.isEmpty(), "there was something to commit");
        outcomes.forEach((partition, failed) -> Check.equal(Optional.empty(), failed, "commit of " + partition));
    }

    /** Records in batches of their own. */
    private static void oneByOne(Session session, String topic, int count) throws Exception {
        var producer = session.producer();
        for (int i = 0; i < count; i++) {
            producer.send(new ProducerRecord<>(topic, 0, null, bytes("" + i))).get();
        }
    }

    private static Map<Integer, Long> starts(Session session, String group, String topic) throws Exception {
        var all = session.admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec()))
                .partitionsToOffsetInfo(group).get();
        var starts = new TreeMap<Integer, Long>();
        all.forEach((partition, info) -> {
            if (partition.topic().equals(topic) && info != null) {
                starts.put(partition.partition(), info.startOffset());
            }
        });
        return starts;
    }

    /** Kafka tells a start offset as of the write before the last, Daybook as of the last: neither is ever ahead. */
    private static void notAhead(Session session, String group, String topic, long start, String what) throws Exception {
        long told = starts(session, group, topic).getOrDefault(0, 0L);
        Check.that(told <= start, what + ": want at most " + start + ", got " + told);
    }

    private static ShareGroupDescription describe(Session session, String group) throws Exception {
        return session.admin.describeShareGroups(List.of(group)).all().get().get(group);
    }

    private static Set<String> listed(Session session, GroupType type) throws Exception {
        var options = ListGroupsOptions.class.getDeclaredConstructor().newInstance().withTypes(Set.of(type));
        var names = new HashSet<String>();
        session.admin.listGroups(options).all().get().forEach(listing -> names.add(listing.groupId()));
        return names;
    }

    private static List<String> range(int from, int to) {
        return IntStream.range(from, to).mapToObj(String::valueOf).toList();
    }

    private static List<String> values(Collection<ConsumerRecord<byte[], byte[]>> records) {
        return Session.values(records);
    }

    private static Set<Integer> deliveries(Collection<ConsumerRecord<byte[], byte[]>> records) {
        var counts = new HashSet<Integer>();
        records.forEach(record -> counts.add((int) record.deliveryCount().orElse((short) -1)));
        return counts;
    }

    private ShareScenarios() {}
}
