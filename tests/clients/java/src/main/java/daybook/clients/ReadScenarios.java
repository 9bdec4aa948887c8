package daybook.clients;

import static daybook.clients.Session.bytes;
import static daybook.clients.Session.text;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Where reading starts, what one fetch may bring, and offsets by time. */
final class ReadScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("positions", ReadScenarios::positions);
        scenarios.put("out_of_range", ReadScenarios::outOfRange);
        scenarios.put("mid_batch", ReadScenarios::midBatch);
        scenarios.put("times", ReadScenarios::times);
        scenarios.put("max_timestamp", ReadScenarios::maxTimestamp);
        scenarios.put("small_fetch", ReadScenarios::smallFetch);
        scenarios.put("fetch_session", ReadScenarios::fetchSession);
        scenarios.put("pause_resume", ReadScenarios::pauseResume);
        scenarios.put("long_poll", ReadScenarios::longPoll);
        scenarios.put("min_bytes", ReadScenarios::minBytes);
    }

    private static void positions(Session session) throws Exception {
        String topic = session.topic(2);
        session.fill(topic, 0, 100);
        session.fill(topic, 1, 10);
        var zero = new TopicPartition(topic, 0);
        var one = new TopicPartition(topic, 1);
        var both = List.of(zero, one);
        var consumer = session.consumer("max.poll.records", "1000");
        consumer.assign(both);
        Check.equal(Map.of(zero, 0L, one, 0L), consumer.beginningOffsets(both), "beginnings");
        Check.equal(Map.of(zero, 100L, one, 10L), consumer.endOffsets(both), "ends");
        Check.equal(110, Session.poll(consumer, 110).size(), "from the earliest");
        consumer.seekToEnd(both);
        Check.equal(100L, consumer.position(zero), "position at the end");
        consumer.seek(zero, 97);
        consumer.seek(one, 0);
        consumer.pause(List.of(one));
        Check.equal(List.of("97", "98", "99"), Session.values(Session.poll(consumer, 3)), "from an offset");
        consumer.seekToBeginning(List.of(zero));
        Check.equal("0", text(Session.poll(consumer, 100).get(0).value()), "from the beginning");

        var late = session.consumer("auto.offset.reset", "latest", "group.id", session.name());
        late.assign(List.of(zero));
        Check.equal(100L, late.position(zero), "latest");
        session.send(session.producer(), List.of(new ProducerRecord<>(topic, 0, null, bytes("new"))));
        Check.equal(List.of("new"), Session.values(Session.poll(late, 1)), "only what came after");
    }

    private static void outOfRange(Session session) throws Exception {
        String topic = session.topic(1);
        session.fill(topic, 0, 10);
        var partition = new TopicPartition(topic, 0);
        var strict = session.consumer("auto.offset.reset", "none");
        strict.assign(List.of(partition));
        strict.seek(partition, 11);
        var failure = Check.fails(OffsetOutOfRangeException.class, "beyond the end", () -> pollUntilFailure(strict));
        Check.equal(Map.of(partition, 11L), failure.offsetOutOfRangePartitions(), "what was out of range");
        strict.seek(partition, 10);
        Check.equal(0, strict.poll(Duration.ofMillis(300)).count(), "the end itself is in range");

        var earliest = session.consumer();
        earliest.assign(List.of(partition));
        earliest.seek(partition, 1000);
        Check.equal("0", text(Session.poll(earliest, 10).get(0).value()), "reset to the earliest");

        var latest = session.consumer("auto.offset.reset", "latest");
        latest.assign(List.of(partition));
        latest.seek(partition, 1000);
        Check.eventually("reset to the latest", () -> {
            latest.poll(Duration.ofMillis(50));
            return latest.position(partition) == 10;
        });
    }

    private static void pollUntilFailure(KafkaConsumer<byte[], byte[]> consumer) {
        long end = System.nanoTime() + Check.PATIENCE.toNanos();
        while (System.nanoTime() < end) {
            consumer.poll(Duration.ofMillis(200));
        }
    }

    /** The server answers with the whole batch that holds the asked offset; the client drops what is before it. */
    private static void midBatch(Session session) throws Exception {
        for (String codec : List.of("none", "zstd")) {
            String topic = session.topic(1);
            var partition = new TopicPartition(topic, 0);
            var producer = session.producer("linger.ms", "10000", "batch.size", "100000", "compression.type", codec);
            for (int batch = 0; batch < 3; batch++) {
                var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
                for (int i = 0; i < 50; i++) {
                    records.add(new ProducerRecord<>(topic, 0, null, bytes("" + (batch * 50 + i))));
                }
                session.send(producer, records);
            }
            var consumer = session.consumer("max.poll.records", "1000");
            consumer.assign(List.of(partition));
            for (int offset : new int[] {0, 1, 25, 49, 50, 51, 99, 100, 149}) {
                consumer.seek(partition, offset);
                var got = Session.poll(consumer, 150 - offset);
                for (int i = 0; i < got.size(); i++) {
                    Check.equal((long) offset + i, got.get(i).offset(), "offset");
                    Check.equal("" + (offset + i), text(got.get(i).value()), "value");
                }
            }
        }
    }

    private static void times(Session session) throws Exception {
        String topic = session.topic(2);
        var zero = new TopicPartition(topic, 0);
        var one = new TopicPartition(topic, 1);
        // Batches of their own first, then all in one batch, where the search goes on inside it.
        long[] times = {100, 300, 200, 300, 500};
        for (int partition = 0; partition < 2; partition++) {
            var producer = session.producer("linger.ms", "10000");
            var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
            for (long time : times) {
                records.add(new ProducerRecord<>(topic, partition, time, null, bytes("at " + time)));
                if (partition == 0) {
                    session.send(producer, List.of(records.remove(0)));
                }
            }
            session.send(producer, records);
        }
        var consumer = session.consumer();
        long[][] asked = {{0, 0, 100}, {100, 0, 100}, {101, 1, 300}, {200, 1, 300}, {300, 1, 300}, {301, 4, 500}, {500, 4, 500}};
        for (long[] question : asked) {
            var answers = consumer.offsetsForTimes(Map.of(zero, question[0], one, question[0]));
            for (var partition : List.of(zero, one)) {
                String what = "first at or after " + question[0] + " in " + partition;
                Check.equal(question[1], answers.get(partition).offset(), what);
                Check.equal(question[2], answers.get(partition).timestamp(), "time of the " + what);
            }
        }
        var none = consumer.offsetsForTimes(Map.of(zero, 501L, one, 501L));
        Check.that(none.get(zero) == null && none.get(one) == null, "nothing after the last: " + none);

        consumer.assign(List.of(one));
        consumer.seek(one, consumer.offsetsForTimes(Map.of(one, 301L)).get(one).offset());
        Check.equal(List.of("at 500"), Session.values(Session.poll(consumer, 1)), "read from a time");
    }

    private static void maxTimestamp(Session session) throws Exception {
        String topic = session.topic(2);
        var full = new TopicPartition(topic, 0);
        var empty = new TopicPartition(topic, 1);
        var batch = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (long time : new long[] {100, 900, 200}) {
            batch.add(new ProducerRecord<>(topic, 0, time, null, bytes("v")));
        }
        session.send(session.producer("linger.ms", "10000"), batch);
        session.send(session.producer(), List.of(new ProducerRecord<>(topic, 0, 300L, null, bytes("v"))));

        Check.equal("1 at 900", offset(session, full, OffsetSpec.maxTimestamp()), "max timestamp");
        Check.equal("-1 at -1", offset(session, empty, OffsetSpec.maxTimestamp()), "max timestamp of an empty partition");
        Check.equal("0 at -1", offset(session, full, OffsetSpec.earliest()), "earliest");
        Check.equal("4 at -1", offset(session, full, OffsetSpec.latest()), "latest");
        Check.equal("0 at -1", offset(session, empty, OffsetSpec.latest()), "latest of an empty partition");
        Check.equal("1 at 900", offset(session, full, OffsetSpec.forTimestamp(101)), "first after a time");
        Check.equal("-1 at -1", offset(session, full, OffsetSpec.forTimestamp(901)), "first after the last time");
        Check.equal("0 at -1", offset(session, full, OffsetSpec.earliestLocal()), "earliest on this disk");
    }

    private static String offset(Session session, TopicPartition partition, OffsetSpec spec) throws Exception {
        ListOffsetsResultInfo info = session.admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get();
        return info.offset() + " at " + info.timestamp();
    }

    /** Limits smaller than a message: the first batch comes all the same, or the reader would stand still. */
    private static void smallFetch(Session session) throws Exception {
        String topic = session.topic(3);
        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (int i = 0; i < 30; i++) {
            records.add(new ProducerRecord<>(topic, i % 3, (long) i, null, Session.noise(i % 2 == 0 ? 30_000 : 10, i)));
        }
        session.send(session.producer("batch.size", "1"), records);
        String[][] limits = {
            {"max.partition.fetch.bytes", "1000"},
            {"fetch.max.bytes", "1000"},
            {"fetch.max.bytes", "1000", "max.partition.fetch.bytes", "1000"},
            {"fetch.max.bytes", "50000", "max.partition.fetch.bytes", "31000"},
        };
        for (String[] limit : limits) {
            var got = session.readAll(topic, limit);
            for (int partition = 0; partition < 3; partition++) {
                int wanted = partition;
                ProduceScenarios.same(records.stream().filter(r -> r.partition() == wanted).toList(),
                        got.stream().filter(r -> r.partition() == wanted).toList());
            }
        }
    }

    /** Many partitions, few with news: the session lets both sides speak of the changed ones only. */
    private static void fetchSession(Session session) throws Exception {
        var partitions = new ArrayList<TopicPartition>();
        for (int i = 0; i < 10; i++) {
            String topic = session.topic(12);
            for (int partition = 0; partition < 12; partition++) {
                partitions.add(new TopicPartition(topic, partition));
            }
        }
        var producer = session.producer();
        var consumer = session.consumer();
        Map<TopicPartition, Integer> written = new HashMap<>();
        // The assignment grows, shrinks and grows again, so that partitions are added to and forgotten by the session.
        for (List<TopicPartition> assigned : List.of(partitions, partitions.subList(0, 50), partitions.subList(30, 120))) {
            consumer.assign(assigned);
            for (var partition : assigned) {
                consumer.seek(partition, written.getOrDefault(partition, 0));
            }
            for (int round = 0; round < 6; round++) {
                Set<String> want = new HashSet<>();
                var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
                for (int i = round; i < assigned.size(); i += 17) {
                    var partition = assigned.get(i);
                    int offset = written.merge(partition, 1, Integer::sum) - 1;
                    String value = partition + "@" + offset;
                    want.add(value);
                    records.add(new ProducerRecord<>(partition.topic(), partition.partition(), null, bytes(value)));
                }
                session.send(producer, records);
                var got = Session.poll(consumer, records.size());
                Check.equal(want, new HashSet<>(Session.values(got)), "records of round " + round);
                got.forEach(r -> Check.equal(Session.partition(r) + "@" + r.offset(), text(r.value()), "record"));
            }
        }
    }

    private static void pauseResume(Session session) throws Exception {
        String topic = session.topic(2);
        var zero = new TopicPartition(topic, 0);
        var one = new TopicPartition(topic, 1);
        session.fill(topic, 0, 50);
        session.fill(topic, 1, 50);
        var consumer = session.consumer();
        consumer.assign(List.of(zero, one));
        consumer.pause(List.of(one));
        for (var record : Session.poll(consumer, 50)) {
            Check.equal(0, record.partition(), "only the partition that is not paused");
        }
        Check.equal(0L, consumer.position(one), "the paused one did not move");
        consumer.resume(List.of(one));
        consumer.pause(List.of(zero));
        session.fill(topic, 0, 5);
        session.fill(topic, 1, 5);
        for (var record : Session.poll(consumer, 55)) {
            Check.equal(1, record.partition(), "the other way round");
        }
        consumer.resume(List.of(zero));
        Check.equal(List.of("0", "1", "2", "3", "4"), Session.values(Session.poll(consumer, 5)), "what waited meanwhile");
    }

    /** A fetch that waits at the server is answered by the write, not by its time running out. */
    private static void longPoll(Session session) throws Exception {
        String topic = session.topic(1);
        var consumer = session.consumer("fetch.max.wait.ms", "120000", "request.timeout.ms", "200000");
        consumer.assign(List.of(new TopicPartition(topic, 0)));
        var producer = session.producer();
        for (int i = 0; i < 20; i++) {
            Check.equal(0, consumer.poll(Duration.ofMillis(20)).count(), "nothing yet, but a fetch is under way");
            session.send(producer, List.of(new ProducerRecord<>(topic, 0, null, bytes("" + i))));
            Check.equal(List.of("" + i), Session.values(Session.poll(consumer, 1)), "the record that was waited for");
        }
    }

    /** fetch.min.bytes holds the answer back until there is enough, or the wait is over. */
    private static void minBytes(Session session) throws Exception {
        String topic = session.topic(1);
        var consumer = session.consumer("fetch.min.bytes", "100000", "fetch.max.wait.ms", "120000",
                "request.timeout.ms", "200000");
        consumer.assign(List.of(new TopicPartition(topic, 0)));
        KafkaProducer<byte[], byte[]> producer = session.producer("batch.size", "1");
        session.send(producer, List.of(new ProducerRecord<>(topic, 0, null, Session.noise(1000, 0))));
        Check.equal(0, consumer.poll(Duration.ofMillis(700)).count(), "too little is held back");
        var rest = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (int i = 1; i < 120; i++) {
            rest.add(new ProducerRecord<>(topic, 0, null, Session.noise(1000, i)));
        }
        session.send(producer, rest);
        // Only the first answer is certain to be large enough; what remains may be below the minimum again.
        long end = System.nanoTime() + Check.PATIENCE.toNanos();
        int got = 0;
        while (got < 94) {
            Check.that(System.nanoTime() < end, "enough bytes end the wait; got " + got);
            got += consumer.poll(Duration.ofMillis(200)).count();
        }
    }

    private ReadScenarios() {}
}
