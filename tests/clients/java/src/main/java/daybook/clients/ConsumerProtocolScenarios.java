package daybook.clients;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.GroupSubscribedToTopicException;
import org.apache.kafka.common.errors.InvalidRegularExpression;
import org.apache.kafka.common.errors.UnreleasedInstanceIdException;

/** Groups of the protocol in which the server assigns partitions (KIP-848). */
final class ConsumerProtocolScenarios {
    private static final String[] NEW = {"group.protocol", "consumer"};
    private static final String[] OLD = {"group.protocol", "classic"};

    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("consumer_uniform", session -> GroupScenarios.comeAndGo(session, "uniform", NEW));
        scenarios.put("consumer_range", session -> GroupScenarios.comeAndGo(session, "range", with("group.remote.assignor", "range")));
        scenarios.put("consumer_static", ConsumerProtocolScenarios::staticMembers);
        scenarios.put("consumer_regex", ConsumerProtocolScenarios::regex);
        scenarios.put("consumer_new_partitions", ConsumerProtocolScenarios::newPartitions);
        scenarios.put("consumer_migration", ConsumerProtocolScenarios::migration);
        scenarios.put("consumer_migration_offline", ConsumerProtocolScenarios::offlineMigration);
        scenarios.put("consumer_admin", ConsumerProtocolScenarios::admin);
    }

    /** A static member that comes back finds its partitions; a second one of its name is turned away. */
    private static void staticMembers(Session session) throws Exception {
        String topic = session.topic(4);
        String group = session.name();
        var seen = new ConcurrentHashMap<String, Integer>();
        Member a = session.closing(new Member(session, group, topic, seen, with("group.instance.id", "a")));
        Member b = session.closing(new Member(session, group, topic, seen, with("group.instance.id", "b")));
        Member.share(4, List.of(2, 2), a, b);
        settled(session, group);
        var ownedByA = a.owned();
        int assignmentsOfB = b.assignments.get();

        Member second = session.closing(new Member(session, group, topic, seen, with("group.instance.id", "a")));
        Check.eventually("a second member of one instance id is turned away",
                () -> second.failure() instanceof UnreleasedInstanceIdException);

        a.leave();
        Check.equal(2, GroupScenarios.describe(session, group).members().size(), "members while one is away");
        for (int partition = 0; partition < 4; partition++) {
            session.fill(topic, partition, 10);
        }
        Member back = session.closing(new Member(session, group, topic, seen, with("group.instance.id", "a")));
        Member.share(4, List.of(2, 2), back, b);
        Check.equal(ownedByA, back.owned(), "partitions after coming back");
        Check.eventually("all is read", () -> seen.size() == 40);
        Check.equal(assignmentsOfB, b.assignments.get(), "rebalances that the other member saw");
        back.leave();
        b.leave();
    }

    /** The server resolves the expression, and finds topics that are made later. */
    private static void regex(Session session) throws Exception {
        String prefix = session.name();
        session.create(new NewTopic(prefix + ".one", 2, (short) 1));
        session.create(new NewTopic("not-" + prefix + ".one", 1, (short) 1));
        String group = session.name();
        var seen = new ConcurrentHashMap<String, Integer>();
        var pattern = new SubscriptionPattern(prefix + "\\.(one|two)");
        Member a = session.closing(new Member(session, group, pattern, seen, NEW));
        Check.eventually("the topic that is there", () -> names(a).equals(Set.of(prefix + ".one-0", prefix + ".one-1")));
        session.create(new NewTopic(prefix + ".three", 1, (short) 1));
        session.create(new NewTopic(prefix + ".two", 1, (short) 1));
        session.fill(prefix + ".two", 0, 5);
        Check.eventually("the topic that came later",
                () -> names(a).equals(Set.of(prefix + ".one-0", prefix + ".one-1", prefix + ".two-0")));
        Check.eventually("its records", () -> seen.size() == 5);
        a.leave();

        Member wrong = session.closing(new Member(session, group, new SubscriptionPattern("(["), seen, NEW));
        Check.eventually("what is no expression is refused", () -> wrong.failure() instanceof InvalidRegularExpression);
    }

    private static void newPartitions(Session session) throws Exception {
        String topic = session.topic(2);
        String group = session.name();
        var seen = new ConcurrentHashMap<String, Integer>();
        Member a = session.closing(new Member(session, group, topic, seen, NEW));
        Member b = session.closing(new Member(session, group, topic, seen, NEW));
        Member.share(2, List.of(1, 1), a, b);
        session.admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(6))).all().get();
        Member.share(6, List.of(3, 3), a, b);
        for (int partition = 0; partition < 6; partition++) {
            session.fill(topic, partition, 3);
        }
        Check.eventually("all is read", () -> seen.size() == 18);
        a.leave();
        b.leave();
        seen.forEach((record, times) -> Check.equal(1, times, "times that " + record + " was read"));
    }

    /** Members are replaced one by one, from the classic protocol to the new one and back, while records flow. */
    private static void migration(Session session) throws Exception {
        String topic = session.topic(6);
        String group = session.name();
        String[] old = {"group.protocol", "classic", "partition.assignment.strategy",
            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"};
        var seen = new ConcurrentHashMap<String, Integer>();
        var feed = session.closing(new GroupScenarios.Feed(session, topic, 6));

        Member a = session.closing(new Member(session, group, topic, seen, old));
        Member b = session.closing(new Member(session, group, topic, seen, old));
        Member.share(6, List.of(3, 3), a, b);
        Check.equal(GroupType.CLASSIC, type(session, group), "type of the group");

        Member c = session.closing(new Member(session, group, topic, seen, NEW));
        Member.share(6, List.of(2, 2, 2), a, b, c);
        Check.equal(GroupType.CONSUMER, type(session, group), "type with a member of the new protocol");
        a.leave();
        Member.share(6, List.of(3, 3), b, c);
        Member d = session.closing(new Member(session, group, topic, seen, NEW));
        Member.share(6, List.of(2, 2, 2), b, c, d);
        b.leave();
        Member.share(6, List.of(3, 3), c, d);
        Check.equal(GroupType.CONSUMER, type(session, group), "type with new members only");

        Member e = session.closing(new Member(session, group, topic, seen, old));
        Member.share(6, List.of(2, 2, 2), c, d, e);
        c.leave();
        Member.share(6, List.of(3, 3), d, e);
        d.leave();
        Member.share(6, List.of(6), e);
        Check.equal(GroupType.CLASSIC, type(session, group), "type when the last new member has gone");
        Member f = session.closing(new Member(session, group, topic, seen, old));
        Member.share(6, List.of(3, 3), e, f);

        Map<TopicPartition, Long> ends = feed.stop();
        long total = ends.values().stream().mapToLong(Long::longValue).sum();
        Check.eventually("all " + total + " records are read", () -> seen.size() >= total);
        e.leave();
        f.leave();
        Check.equal(total, (long) seen.size(), "records read");
        seen.forEach((record, times) -> Check.equal(1, times, "times that " + record + " was read"));
        Check.equal(ends, GroupScenarios.committed(session, group), "committed positions");
    }

    /** A group that is empty in between keeps its positions. */
    private static void offlineMigration(Session session) throws Exception {
        String topic = session.topic(3);
        String group = session.name();
        var seen = new ConcurrentHashMap<String, Integer>();
        int expected = 0;
        for (String[] protocol : List.of(OLD, NEW, OLD, NEW)) {
            for (int partition = 0; partition < 3; partition++) {
                session.fill(topic, partition, 10);
            }
            expected += 30;
            int all = expected;
            Member member = session.closing(new Member(session, group, topic, seen, protocol));
            Check.eventually("what came since is read", () -> seen.size() == all);
            member.leave();
            Map<TopicPartition, Long> ends = new HashMap<>();
            for (int partition = 0; partition < 3; partition++) {
                ends.put(new TopicPartition(topic, partition), all / 3L);
            }
            Check.equal(ends, GroupScenarios.committed(session, group), "committed positions");
        }
        seen.forEach((record, times) -> Check.equal(1, times, "times that " + record + " was read"));
    }

    private static void admin(Session session) throws Exception {
        String topic = session.topic(2);
        String other = session.topic(1);
        String group = session.name();
        session.fill(topic, 0, 10);
        session.fill(topic, 1, 10);
        var seen = new ConcurrentHashMap<String, Integer>();
        Member member = session.closing(new Member(session, group, topic, seen, with("client.id", "the-reader")));
        Check.eventually("all is read", () -> seen.size() == 20);
        settled(session, group);
        Check.equal(GroupType.CONSUMER, type(session, group), "type of the group");
        for (GroupType type : List.of(GroupType.CONSUMER, GroupType.CLASSIC)) {
            var listed = session.admin.listGroups(new ListGroupsOptions().withTypes(Set.of(type))).all().get();
            boolean found = listed.stream().anyMatch(listing -> listing.groupId().equals(group));
            Check.equal(type == GroupType.CONSUMER, found, "listed among " + type);
        }
        var described = GroupScenarios.describe(session, group);
        Check.equal("uniform", described.partitionAssignor(), "assignor");
        Check.equal(GroupState.STABLE, described.groupState(), "state");
        Check.equal(described.groupEpoch(), described.targetAssignmentEpoch(), "epochs of a stable group");
        var only = described.members().iterator().next();
        Check.equal("the-reader", only.clientId(), "client id");
        Check.equal(only.assignment(), only.targetAssignment().get(), "target of a member that has it");
        Check.equal(described.groupEpoch(), only.memberEpoch(), "epoch of a member that has its target");
        Check.equal(true, only.upgraded().get(), "the member speaks the new protocol");

        Check.fails(GroupNotEmptyException.class, "delete a group with a member",
                () -> session.admin.deleteConsumerGroups(List.of(group)).all().get());
        var subscribed = Set.of(new TopicPartition(topic, 0));
        Check.fails(GroupSubscribedToTopicException.class, "delete positions that a member reads on from",
                () -> session.admin.deleteConsumerGroupOffsets(group, subscribed).all().get());
        member.leave();
        Check.eventually("empty", () -> GroupScenarios.describe(session, group).groupState() == GroupState.EMPTY);
        session.admin.deleteConsumerGroupOffsets(group, subscribed).all().get();
        Check.equal(Map.of(new TopicPartition(topic, 1), 10L), GroupScenarios.committed(session, group), "what is left");
        // Of a topic that the group never read there is nothing to delete.
        session.admin.deleteConsumerGroupOffsets(group, Set.of(new TopicPartition(other, 0))).all().get();
        session.admin.deleteConsumerGroups(List.of(group)).all().get();
        Check.equal(Map.of(), GroupScenarios.committed(session, group), "positions after deletion");
    }

    private static void settled(Session session, String group) throws Exception {
        Check.eventually("the group is stable",
                () -> GroupScenarios.describe(session, group).groupState() == GroupState.STABLE);
    }

    private static GroupType type(Session session, String group) throws Exception {
        return session.admin.listGroups().all().get().stream()
                .filter(listing -> listing.groupId().equals(group)).findFirst().orElseThrow().type().orElseThrow();
    }

    private static Set<String> names(Member member) {
        var names = new java.util.HashSet<String>();
        member.partitions().forEach(partition -> names.add(partition.toString()));
        return names;
    }

    private static String[] with(String... configs) {
        var all = new ArrayList<>(List.of(NEW));
        all.addAll(List.of(configs));
        return all.toArray(String[]::new);
    }

    private ConsumerProtocolScenarios() {}
}
