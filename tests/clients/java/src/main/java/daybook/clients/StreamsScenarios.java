package daybook.clients;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.streams.KafkaStreams;

/** Kafka Streams with {@code exactly_once_v2}: the result is compared record by record, whatever ended in between. */
final class StreamsScenarios {
    private static final String[] COMMITTED = {"isolation.level", "read_committed"};

    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("word_count", StreamsScenarios::wordCount);
        scenarios.put("join", StreamsScenarios::join);
    }

    /** The application is killed inside a transaction; its successor must go on as if nothing had been. */
    private static void wordCount(Session session) throws Exception {
        session.needs(ApiKeys.END_TXN, ApiKeys.TXN_OFFSET_COMMIT);
        String lines = session.topic(3);
        String counts = session.topic(3);
        Path directory = directory(session);
        String[] args = {session.bootstrap, session.name(), directory.toString(), lines, counts};
        Map<String, Integer> want = new HashMap<>();
        int written = 0;
        boolean caught = false;
        for (int tries = 0; tries < 10 && !caught; tries++) {
            try (Child app = new Child(System.getProperty("java.class.path"), StreamsApp.class.getName(), args)) {
                // Each try ends with counts that nobody has committed, or the next one is made with more lines.
                for (int batches = 0; batches < 150 && !pending(session, counts); batches++) {
                    app.mustBeAlive();
                    written = writeLines(session, lines, written, 10, want);
                    Thread.sleep(200);
                }
                app.kill();
            }
            caught = pending(session, counts);
        }
        Check.that(caught, "the application was killed inside a transaction");
        written = writeLines(session, lines, written, 100, want);
        try (Child app = new Child(System.getProperty("java.class.path"), StreamsApp.class.getName(), args)) {
            int total = want.values().stream().mapToInt(Integer::intValue).sum();
            awaitCommitted(session, counts, total, app::mustBeAlive);
            app.terminate();
        }
        checkCounts(session, counts, want);
    }

    /** Each word's counts must be 1, 2, 3 … without a gap and without a repetition. */
    private static void checkCounts(Session session, String counts, Map<String, Integer> want) {
        Map<String, List<String>> got = new HashMap<>();
        for (var record : session.readAll(counts, COMMITTED)) {
            got.computeIfAbsent(Session.text(record.key()), word -> new ArrayList<>()).add(Session.text(record.value()));
        }
        Check.equal(want.keySet(), got.keySet(), "the words");
        want.forEach((word, count) -> Check.equal(
                IntStream.rangeClosed(1, count).mapToObj(Integer::toString).toList(), got.get(word), "counts of " + word));
    }

    /** Whether records of an open transaction stand in the topic. */
    private static boolean pending(Session session, String topic) {
        return end(session, topic, "read_uncommitted") > end(session, topic, "read_committed");
    }

    private static long end(Session session, String topic, String isolation) {
        try (var consumer = session.consumer("isolation.level", isolation)) {
            return consumer.endOffsets(Session.partitions(consumer, topic)).values().stream().mapToLong(Long::longValue).sum();
        }
    }

    private static int writeLines(Session session, String topic, int from, int count, Map<String, Integer> words)
            throws Exception {
        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (int i = from; i < from + count; i++) {
            String line = "seven" + i % 7 + " eleven" + i % 11 + " all";
            List.of(line.split(" ")).forEach(word -> words.merge(word, 1, Integer::sum));
            records.add(new ProducerRecord<>(topic, i % 3, null, Session.bytes(line)));
        }
        try (var producer = session.producer("acks", "all")) {
            session.send(producer, records);
        }
        return from + count;
    }

    /** The server ends without warning while orders flow; then the application is closed and comes back without its files. */
    private static void join(Session session) throws Exception {
        session.needs(ApiKeys.END_TXN, ApiKeys.TXN_OFFSET_COMMIT);
        String orders = session.topic(2);
        String payments = session.topic(2);
        String customers = session.topic(2);
        String joined = session.topic(2);
        var names = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (int i = 0; i < 10; i++) {
            names.add(new ProducerRecord<>(customers, Session.bytes("c" + i), Session.bytes("Name " + i)));
        }
        session.send(session.producer(), names);
        String application = session.name();
        var topology = StreamsApp.join(orders, payments, customers, joined);
        var want = new ArrayList<String>();
        KafkaStreams first = StreamsApp.start(topology, session.bootstrap, application, directory(session).toString());
        try {
            order(session, orders, payments, 0, 100, want);
            awaitAll(session, joined, want, first);
            order(session, orders, payments, 100, 200, want);
            Server.restart();
            order(session, orders, payments, 200, 300, want);
            awaitAll(session, joined, want, first);
        } finally {
            first.close(Duration.ofSeconds(20));
        }
        order(session, orders, payments, 300, 400, want);
        // A new directory: what it must remember comes from the changelogs.
        KafkaStreams second = StreamsApp.start(topology, session.bootstrap, application, directory(session).toString());
        try {
            awaitAll(session, joined, want, second);
        } finally {
            second.close(Duration.ofSeconds(20));
        }
        Check.equal(want.stream().sorted().toList(), results(session, joined), "every paid order with its customer, once");
    }

    /** Payments come in the opposite order, some of a batch earlier, and every tenth order is not paid. */
    private static void order(Session session, String orders, String payments, int from, int to, List<String> want)
            throws Exception {
        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (int i = from; i < to; i++) {
            records.add(new ProducerRecord<>(orders, Session.bytes("o" + i), Session.bytes("c" + i % 10)));
            int paid = from + to - 1 - i;
            if (paid % 10 != 0) {
                records.add(new ProducerRecord<>(payments, Session.bytes("o" + paid), Session.bytes("amount" + paid)));
                want.add("c" + paid % 10 + ": o" + paid + " amount" + paid + " Name " + paid % 10);
            }
        }
        try (var producer = session.producer("acks", "all")) {
            session.send(producer, records);
        }
    }

    private static void awaitAll(Session session, String joined, List<String> want, KafkaStreams app) {
        awaitCommitted(session, joined, want.size(), () -> Check.that(
                !app.state().hasCompletedShutdown(), "the application goes on, but is " + app.state()));
    }

    private static void awaitCommitted(Session session, String topic, int count, Runnable alive) {
        try (var consumer = session.consumer(COMMITTED)) {
            consumer.assign(Session.partitions(consumer, topic));
            // After a kill its group waits for the dead member's session to end, and the server may have been restarted.
            long end = System.nanoTime() + 2 * Check.PATIENCE.toNanos();
            for (int got = 0; got < count; got += consumer.poll(Duration.ofMillis(200)).count()) {
                alive.run();
                Check.that(System.nanoTime() < end, "of " + count + " records " + got + " are committed in time");
            }
        }
    }

    private static List<String> results(Session session, String joined) {
        return session.readAll(joined, COMMITTED).stream()
                .map(record -> Session.text(record.key()) + ": " + Session.text(record.value())).sorted().toList();
    }

    /** A directory of the application's state, removed at the end. */
    private static Path directory(Session session) throws Exception {
        Path directory = Files.createTempDirectory("daybook-streams-");
        session.closing(() -> {
            try (var paths = Files.walk(directory)) {
                paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            }
        });
        return directory;
    }

    private StreamsScenarios() {}
}
