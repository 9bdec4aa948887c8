package daybook.clients;

import static daybook.clients.Session.bytes;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;

/** Groups of several members: who owns what as they come and go, and that no record is lost between them. */
final class GroupScenarios {
    private static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";

    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("group_range", session -> comeAndGo(session, "range", by("RangeAssignor")));
        scenarios.put("group_roundrobin", session -> comeAndGo(session, "roundrobin", by("RoundRobinAssignor")));
        scenarios.put("group_sticky", session -> comeAndGo(session, "sticky", by("StickyAssignor")));
        scenarios.put("group_cooperative", GroupScenarios::cooperative);
        scenarios.put("group_member_dies", GroupScenarios::memberDies);
        scenarios.put("static_membership", GroupScenarios::staticMembership);
        scenarios.put("static_fencing", GroupScenarios::staticFencing);
    }

    private static void cooperative(Session session) throws Exception {
        List<Member> members = comeAndGo(session, "cooperative-sticky", by("CooperativeStickyAssignor"));
        // The first member began with six partitions and gave up no more than the others came to own: three, then one.
        Check.equal(List.of(3, 1), members.get(0).taken().stream().map(set -> set.size()).limit(2).toList(),
                "partitions taken from the first member, step by step");
    }

    private static String[] by(String assignor) {
        return new String[] {"partition.assignment.strategy", ASSIGNORS + assignor};
    }

    static List<Member> comeAndGo(Session session, String assignor, String... configs) throws Exception {
        String topic = session.topic(6);
        String group = session.name();
        var seen = new ConcurrentHashMap<String, Integer>();
        var feed = session.closing(new Feed(session, topic, 6));

        Member first = session.closing(new Member(session, group, topic, seen, configs));
        Member.share(6, List.of(6), first);
        Member second = session.closing(new Member(session, group, topic, seen, configs));
        Member.share(6, List.of(3, 3), first, second);
        Member third = session.closing(new Member(session, group, topic, seen, configs));
        Member.share(6, List.of(2, 2, 2), first, second, third);

        // In the new protocol a member has its partitions a moment before it has said so.
        Check.eventually("the group is stable", () -> describe(session, group).groupState() == GroupState.STABLE);
        ConsumerGroupDescription described = describe(session, group);
        Check.equal(assignor, described.partitionAssignor(), "assignor of the group");
        Check.equal(3, described.members().size(), "members described");
        for (var member : described.members()) {
            Check.equal(2, member.assignment().topicPartitions().size(), "partitions described for a member");
            Check.that(member.host().contains("127.0.0.1"), "host of a member: " + member.host());
        }

        first.leave();
        Member.share(6, List.of(3, 3), second, third);
        Member fourth = session.closing(new Member(session, group, topic, seen, configs));
        Member.share(6, List.of(2, 2, 2), second, third, fourth);
        third.leave();
        Member.share(6, List.of(3, 3), second, fourth);

        Map<TopicPartition, Long> ends = feed.stop();
        long total = ends.values().stream().mapToLong(Long::longValue).sum();
        Check.eventually("all " + total + " records are read", () -> seen.size() >= total);
        second.leave();
        fourth.leave();
        for (var end : ends.entrySet()) {
            for (long offset = 0; offset < end.getValue(); offset++) {
                String record = end.getKey() + "@" + offset;
                Check.equal(1, seen.get(record), "times that " + record + " was read");
            }
        }
        Check.equal(total, (long) seen.size(), "records read");
        Check.equal(ends, committed(session, group), "committed positions");
        Check.equal(GroupState.EMPTY, describe(session, group).groupState(), "state when all have left");
        return List.of(first, second, third, fourth);
    }

    /** A member that falls silent is put out after its session timeout, and another reads on from what it committed. */
    private static void memberDies(Session session) throws Exception {
        String topic = session.topic(2);
        String group = session.name();
        var seen = new ConcurrentHashMap<String, Integer>();
        Member silent = new Member(session, group, topic, seen, GroupMembershipOperation.REMAIN_IN_GROUP);
        Member.share(2, List.of(2), silent);
        session.fill(topic, 0, 100);
        session.fill(topic, 1, 100);
        Check.eventually("the first member reads", () -> seen.size() == 200);
        silent.leave();
        session.fill(topic, 0, 50);
        Member heir = session.closing(new Member(session, group, topic, seen));
        Member.share(2, List.of(2), heir);
        Check.eventually("the second member reads on", () -> seen.size() == 250);
        heir.leave();
        seen.forEach((record, times) -> Check.equal(1, times, "times that " + record + " was read"));
    }

    /** A static member that comes back within its session timeout finds its partitions; the others notice nothing. */
    private static void staticMembership(Session session) throws Exception {
        String topic = session.topic(4);
        String group = session.name();
        String[] timeout = {"session.timeout.ms", "30000"};
        var seen = new ConcurrentHashMap<String, Integer>();
        Member a = session.closing(new Member(session, group, topic, seen, instance("a", timeout)));
        Member b = session.closing(new Member(session, group, topic, seen, instance("b", timeout)));
        Member.share(4, List.of(2, 2), a, b);
        Check.equal(List.of("a", "b"), describe(session, group).members().stream()
                .map(member -> member.groupInstanceId().orElse("none")).sorted().toList(), "instance ids");
        var ownedByA = a.owned();
        int assignmentsOfB = b.assignments.get();

        a.leave();
        Check.equal(2, describe(session, group).members().size(), "members while one is away");
        session.fill(topic, 0, 10);
        session.fill(topic, 1, 10);
        session.fill(topic, 2, 10);
        session.fill(topic, 3, 10);
        Member back = session.closing(new Member(session, group, topic, seen, instance("a", timeout)));
        Member.share(4, List.of(2, 2), back, b);
        Check.equal(ownedByA, back.owned(), "partitions after coming back");
        Check.eventually("all is read", () -> seen.size() == 40);
        Check.equal(assignmentsOfB, b.assignments.get(), "rebalances that the other member saw");
        back.leave();

        session.admin.removeMembersFromConsumerGroup(group,
                new RemoveMembersFromConsumerGroupOptions(List.of(new MemberToRemove("a")))).all().get();
        Member.share(4, List.of(4), b);
        b.leave();
    }

    private static void staticFencing(Session session) throws Exception {
        String topic = session.topic(2);
        String group = session.name();
        var seen = new ConcurrentHashMap<String, Integer>();
        Member old = session.closing(new Member(session, group, topic, seen, instance("same")));
        Member.share(2, List.of(2), old);
        Member young = session.closing(new Member(session, group, topic, seen, instance("same")));
        Member.share(2, List.of(2), young);
        Check.eventually("the older of two with one instance id is fenced",
                () -> old.failure() instanceof FencedInstanceIdException);
        Check.equal(1, describe(session, group).members().size(), "members");
        young.leave();
    }

    private static String[] instance(String id, String... configs) {
        var all = new ArrayList<>(List.of("group.instance.id", id));
        all.addAll(List.of(configs));
        return all.toArray(String[]::new);
    }

    static ConsumerGroupDescription describe(Session session, String group) throws Exception {
        return session.admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
    }

    static Map<TopicPartition, Long> committed(Session session, String group) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets =
                session.admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        Map<TopicPartition, Long> plain = new java.util.HashMap<>();
        offsets.forEach((partition, offset) -> plain.put(partition, offset.offset()));
        return plain;
    }

    /** Writes to all partitions in turn until it is stopped. */
    static final class Feed implements AutoCloseable {
        private final AtomicBoolean stop = new AtomicBoolean();
        private final Map<TopicPartition, Long> ends = new ConcurrentHashMap<>();
        private volatile Throwable failure = null;
        private final Thread thread;

        Feed(Session session, String topic, int partitions) {
            var producer = session.producer();
            thread = new Thread(() -> {
                try {
                    for (int i = 0; !stop.get(); i++) {
                        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
                        for (int partition = 0; partition < partitions; partition++) {
                            records.add(new ProducerRecord<>(topic, partition, null, bytes("" + i)));
                        }
                        for (var where : session.send(producer, records)) {
                            ends.put(new TopicPartition(topic, where.partition()), where.offset() + 1);
                        }
                        // Not as fast as it can: the members are to be kept busy, the machine is not.
                        Thread.sleep(2);
                    }
                } catch (Throwable thrown) {
                    failure = thrown;
                }
            }, "feed");
            thread.setDaemon(true);
            thread.start();
        }

        /** The end of every partition. */
        Map<TopicPartition, Long> stop() throws Exception {
            close();
            if (failure != null) {
                throw new AssertionError("producing failed meanwhile", failure);
            }
            return ends;
        }

        @Override
        public void close() throws Exception {
            stop.set(true);
            thread.join(Check.PATIENCE.toMillis());
        }
    }

    private GroupScenarios() {}
}
