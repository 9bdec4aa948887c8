package daybook.clients;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.OffsetMetadataTooLarge;
import org.apache.kafka.common.errors.UnknownMemberIdException;

/** Committed positions, and groups as an administrator sees them. */
final class CommitScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("commits", CommitScenarios::commits);
        scenarios.put("commits_refused", CommitScenarios::commitsRefused);
        scenarios.put("auto_commit", CommitScenarios::autoCommit);
        scenarios.put("group_admin", CommitScenarios::groupAdmin);
    }

    private static void commits(Session session) throws Exception {
        String topic = session.topic(3);
        session.fill(topic, 0, 10);
        var zero = new TopicPartition(topic, 0);
        var one = new TopicPartition(topic, 1);
        var two = new TopicPartition(topic, 2);
        String group = session.name();
        var consumer = session.consumer("group.id", group);
        consumer.assign(List.of(zero, one));
        Check.equal(null, consumer.committed(Set.of(zero)).get(zero), "nothing is committed yet");

        var rich = new OffsetAndMetadata(4, Optional.of(0), "bis Zeile 4 — née 'x'");
        consumer.commitSync(Map.of(zero, rich, one, new OffsetAndMetadata(0)));
        Check.equal(rich, consumer.committed(Set.of(zero)).get(zero), "offset, epoch and metadata");
        Check.equal(0L, consumer.committed(Set.of(one)).get(one).offset(), "offset 0 is a position too");
        Check.equal("", consumer.committed(Set.of(one)).get(one).metadata(), "no metadata");
        Check.equal(null, consumer.committed(Set.of(two)).get(two), "the third partition has no position");

        var heir = session.consumer("group.id", group);
        heir.assign(List.of(zero));
        Check.equal(List.of("4", "5", "6", "7", "8", "9"), Session.values(Session.poll(heir, 6)), "read on from there");

        var done = new CompletableFuture<Map<TopicPartition, OffsetAndMetadata>>();
        heir.commitAsync((offsets, failure) -> {
            if (failure == null) {
                done.complete(offsets);
            } else {
                done.completeExceptionally(failure);
            }
        });
        long end = System.nanoTime() + Check.PATIENCE.toNanos();
        while (!done.isDone() && System.nanoTime() < end) {
            heir.poll(Duration.ofMillis(20));
        }
        Check.equal(10L, done.get(1, TimeUnit.SECONDS).get(zero).offset(), "offset that was committed in passing");
        Check.equal(Map.of(zero, 10L, one, 0L), GroupScenarios.committed(session, group), "as an administrator sees it");

        // A position may go back, and beyond the end: it is the group's affair.
        consumer.commitSync(Map.of(zero, new OffsetAndMetadata(1), one, new OffsetAndMetadata(5_000_000_000L)));
        Check.equal(Map.of(zero, 1L, one, 5_000_000_000L), GroupScenarios.committed(session, group), "back and beyond");

        String other = session.name();
        var second = session.consumer("group.id", other);
        second.assign(List.of(two));
        second.commitSync(Map.of(two, new OffsetAndMetadata(7, "seven")));
        var several = session.admin.listConsumerGroupOffsets(Map.of(
                group, new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(zero, two)),
                other, new ListConsumerGroupOffsetsSpec(),
                session.name(), new ListConsumerGroupOffsetsSpec())).all().get();
        Check.equal(1L, several.get(group).get(zero).offset(), "first of several groups");
        Check.equal(null, several.get(group).get(two), "a partition without a position");
        Check.equal(Map.of(two, new OffsetAndMetadata(7, "seven")), several.get(other), "second of several groups");
        Check.equal(3, several.size(), "groups answered");

        session.admin.deleteTopics(List.of(topic)).all().get();
        Check.eventually("positions in a deleted topic are forgotten",
                () -> GroupScenarios.committed(session, group).isEmpty());
    }

    private static void commitsRefused(Session session) throws Exception {
        String topic = session.topic(1);
        var partition = new TopicPartition(topic, 0);
        String group = session.name();
        var consumer = session.consumer("group.id", group, "auto.offset.reset", "none");
        consumer.assign(List.of(partition));
        Check.fails(NoOffsetForPartitionException.class, "no position and no rule",
                () -> consumer.poll(Duration.ofSeconds(20)));
        var full = new OffsetAndMetadata(1, "m".repeat(4096));
        consumer.commitSync(Map.of(partition, full));
        Check.fails(OffsetMetadataTooLarge.class, "more metadata than 4096 bytes",
                () -> consumer.commitSync(Map.of(partition, new OffsetAndMetadata(2, "m".repeat(4097)))));
        Check.equal(full, consumer.committed(Set.of(partition)).get(partition), "what was committed stays");

        String busy = session.name();
        Member member = session.closing(new Member(session, busy, topic, new ConcurrentHashMap<>()));
        Member.share(1, List.of(1), member);
        var stranger = session.consumer("group.id", busy);
        stranger.assign(List.of(partition));
        Check.fails(CommitFailedException.class, "a commit past the group's members",
                () -> stranger.commitSync(Map.of(partition, new OffsetAndMetadata(1))));
        member.leave();
        stranger.commitSync(Map.of(partition, new OffsetAndMetadata(1)));
    }

    private static void autoCommit(Session session) throws Exception {
        String topic = session.topic(1);
        String group = session.name();
        var partition = new TopicPartition(topic, 0);
        session.fill(topic, 0, 20);
        var consumer = session.consumer("group.id", group, "enable.auto.commit", "true", "auto.commit.interval.ms", "50");
        consumer.subscribe(List.of(topic));
        Session.poll(consumer, 20);
        Check.eventually("the position is committed in passing", () -> {
            consumer.poll(Duration.ofMillis(20));
            return Map.of(partition, 20L).equals(GroupScenarios.committed(session, group));
        });
        session.fill(topic, 0, 5);
        Session.poll(consumer, 5);
        consumer.close();
        Check.equal(Map.of(partition, 25L), GroupScenarios.committed(session, group), "closing commits the rest");
        var next = session.consumer("group.id", group);
        next.subscribe(List.of(topic));
        session.fill(topic, 0, 1);
        Check.equal(25L, Session.poll(next, 1).get(0).offset(), "the next consumer reads on");
    }

    private static void groupAdmin(Session session) throws Exception {
        String topic = session.topic(2);
        var zero = new TopicPartition(topic, 0);
        var one = new TopicPartition(topic, 1);
        String group = session.name();
        Check.fails(GroupIdNotFoundException.class, "describe an unknown group", () -> session.admin
                .describeConsumerGroups(List.of(group)).describedGroups().get(group).get());
        Check.fails(GroupIdNotFoundException.class, "delete an unknown group",
                () -> session.admin.deleteConsumerGroups(List.of(group)).all().get());

        session.fill(topic, 0, 30);
        session.fill(topic, 1, 30);
        var seen = new ConcurrentHashMap<String, Integer>();
        Member member = session.closing(new Member(session, group, topic, seen, "client.id", "the-reader"));
        Check.eventually("all is read", () -> seen.size() == 60);
        Check.equal(List.of(GroupState.STABLE), listed(session, group, new ListGroupsOptions()), "listed");
        Check.equal(List.of(GroupState.STABLE), listed(session, group,
                new ListGroupsOptions().inGroupStates(Set.of(GroupState.STABLE))), "listed by its state");
        Check.equal(List.of(), listed(session, group,
                new ListGroupsOptions().inGroupStates(Set.of(GroupState.EMPTY))), "not listed by another state");
        Check.equal(List.of(GroupState.STABLE), listed(session, group,
                new ListGroupsOptions().withTypes(Set.of(GroupType.CLASSIC))), "listed by its type");
        var described = session.admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
        var only = List.copyOf(described.members()).get(0);
        Check.equal("the-reader", only.clientId(), "client id of the member");
        Check.that(only.consumerId().startsWith("the-reader-"), "member id: " + only.consumerId());
        Check.equal(Set.of(zero, one), only.assignment().topicPartitions(), "its partitions");
        Check.fails(GroupNotEmptyException.class, "delete a group with members",
                () -> session.admin.deleteConsumerGroups(List.of(group)).all().get());
        Check.fails(UnknownMemberIdException.class, "reset a group with members", () -> session.admin
                .alterConsumerGroupOffsets(group, Map.of(zero, new OffsetAndMetadata(3))).all().get());

        // All members can be put out; the member then joins anew by itself.
        int before = member.assignments.get();
        session.admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions()).all().get();
        Check.eventually("the member joined again", () -> member.assignments.get() > before);
        Check.eventually("having lost its position it reads all again",
                () -> seen.values().stream().mapToInt(Integer::intValue).sum() == 120);
        member.leave();
        Check.equal(Map.of(zero, 30L, one, 30L), GroupScenarios.committed(session, group), "positions");
        session.fill(topic, 0, 12);
        var ends = new ArrayList<Long>();
        for (var entry : session.consumer().endOffsets(List.of(zero, one)).entrySet()) {
            ends.add(entry.getValue() - GroupScenarios.committed(session, group).get(entry.getKey()));
        }
        Check.equal(12L, ends.get(0) + ends.get(1), "lag");

        session.admin.alterConsumerGroupOffsets(group, Map.of(zero, new OffsetAndMetadata(40))).all().get();
        Check.equal(Map.of(zero, 40L, one, 30L), GroupScenarios.committed(session, group), "positions after a reset");
        Check.equal(List.of(GroupState.EMPTY), listed(session, group, new ListGroupsOptions()), "listed without members");
        session.admin.deleteConsumerGroups(List.of(group)).all().get();
        Check.equal(List.of(), listed(session, group, new ListGroupsOptions()), "listed after deletion");
        Check.equal(Map.of(), GroupScenarios.committed(session, group), "positions after deletion");

        // Positions may be set for a group that was never there.
        String made = session.name();
        session.admin.alterConsumerGroupOffsets(made, Map.of(one, new OffsetAndMetadata(3, "by hand"))).all().get();
        var reader = session.consumer("group.id", made);
        reader.subscribe(List.of(topic));
        Check.equal(42 + 27, Session.poll(reader, 42 + 27).size(), "records from the beginning and from the position set");
    }

    private static List<GroupState> listed(Session session, String group, ListGroupsOptions options) throws Exception {
        return session.admin.listGroups(options).all().get().stream()
                .filter(listing -> listing.groupId().equals(group))
                .map(GroupListing::groupState)
                .map(state -> state.orElse(GroupState.UNKNOWN))
                .toList();
    }

    private CommitScenarios() {}
}
