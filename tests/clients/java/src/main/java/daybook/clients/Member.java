package daybook.clients;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;

/**
 * A group's member on a thread of its own. It commits what it has read whenever partitions are taken from it and when
 * it leaves, so between members that all take their leave every record is read once.
 */
final class Member implements AutoCloseable, ConsumerRebalanceListener {
    final KafkaConsumer<byte[], byte[]> consumer;
    /** Where every record of the group goes, as {@code partition@offset}, with the number of times it was read. */
    private final ConcurrentHashMap<String, Integer> seen;
    private final Set<TopicPartition> owned = new HashSet<>();
    private final List<Set<TopicPartition>> taken = new ArrayList<>();
    final AtomicInteger assignments = new AtomicInteger();
    private final CloseOptions leaving;
    private final Thread thread;
    private volatile boolean stop = false;
    private volatile Throwable failure = null;

    Member(Session session, String group, String topic, ConcurrentHashMap<String, Integer> seen, String... configs) {
        this(session, group, topic, seen, CloseOptions.GroupMembershipOperation.DEFAULT, configs);
    }

    Member(Session session, String group, String topic, ConcurrentHashMap<String, Integer> seen,
            CloseOptions.GroupMembershipOperation leaving, String... configs) {
        this(session, group, seen, leaving, configs);
        this.consumer.subscribe(List.of(topic), this);
        this.thread.start();
    }

    Member(Session session, String group, SubscriptionPattern pattern, ConcurrentHashMap<String, Integer> seen,
            String... configs) {
        this(session, group, seen, CloseOptions.GroupMembershipOperation.DEFAULT, configs);
        this.consumer.subscribe(pattern, this);
        this.thread.start();
    }

    private Member(Session session, String group, ConcurrentHashMap<String, Integer> seen,
            CloseOptions.GroupMembershipOperation leaving, String... configs) {
        var all = new ArrayList<>(List.of("group.id", group));
        if (!"consumer".equals(Session.pairs(configs).get("group.protocol"))) {
            // In the new protocol these are the server's to say.
            all.addAll(List.of("heartbeat.interval.ms", "100", "session.timeout.ms", "6000"));
        }
        all.addAll(List.of(configs));
        this.consumer = session.consumer(all.toArray(String[]::new));
        this.seen = seen;
        this.leaving = CloseOptions.groupMembershipOperation(leaving);
        this.thread = new Thread(this::read, "member");
        this.thread.setDaemon(true);
    }

    private void read() {
        try {
            while (!stop) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(50))) {
                    seen.merge(Session.partition(record) + "@" + record.offset(), 1, Integer::sum);
                }
            }
            consumer.commitSync();
        } catch (Throwable thrown) {
            failure = thrown;
        } finally {
            consumer.close(leaving);
        }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        consumer.commitSync();
        synchronized (owned) {
            owned.removeAll(partitions);
            if (!partitions.isEmpty()) {
                taken.add(Set.copyOf(partitions));
            }
        }
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        synchronized (owned) {
            owned.removeAll(partitions);
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        assignments.incrementAndGet();
        synchronized (owned) {
            owned.addAll(partitions);
        }
    }

    Set<Integer> owned() {
        synchronized (owned) {
            var numbers = new TreeSet<Integer>();
            owned.forEach(partition -> numbers.add(partition.partition()));
            return numbers;
        }
    }

    Set<TopicPartition> partitions() {
        synchronized (owned) {
            return Set.copyOf(owned);
        }
    }

    /** Each set of partitions that was ever taken from this member, in order. */
    List<Set<TopicPartition>> taken() {
        synchronized (owned) {
            return List.copyOf(taken);
        }
    }

    Throwable failure() {
        return failure;
    }

    void leave() throws Exception {
        stop = true;
        thread.join(Check.PATIENCE.toMillis());
        Check.that(!thread.isAlive(), "the member left in time");
        if (failure != null) {
            throw new AssertionError("the member failed", failure);
        }
    }

    /** Waits until the members own so many partitions each, in any order, and no partition twice. */
    static void share(int partitions, List<Integer> sizes, Member... members) throws Exception {
        var described = new String[1];
        try {
            Check.eventually("shares", () -> {
                var all = new TreeSet<Integer>();
                var counts = new ArrayList<Integer>();
                var text = new ArrayList<String>();
                for (Member member : members) {
                    Set<Integer> owned = member.owned();
                    all.addAll(owned);
                    counts.add(owned.size());
                    text.add(owned + (member.failure == null ? "" : " failed: " + member.failure));
                }
                described[0] = text.toString();
                counts.sort(null);
                return counts.equals(sizes) && all.size() == partitions;
            });
        } catch (AssertionError late) {
            throw new AssertionError("want shares " + sizes + " of " + partitions + ", got " + described[0]);
        }
    }

    @Override
    public void close() throws Exception {
        stop = true;
        thread.join(Check.PATIENCE.toMillis());
    }
}
