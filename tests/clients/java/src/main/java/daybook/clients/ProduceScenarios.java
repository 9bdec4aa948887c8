package daybook.clients;

import static daybook.clients.Session.bytes;
import static daybook.clients.Session.text;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;

/** What was sent is what comes back: bytes, order, places, times, limits. */
final class ProduceScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("codecs", ProduceScenarios::codecs);
        scenarios.put("null_and_empty", ProduceScenarios::nullAndEmpty);
        scenarios.put("headers", ProduceScenarios::headers);
        scenarios.put("timestamps", ProduceScenarios::timestamps);
        scenarios.put("log_append_time", ProduceScenarios::logAppendTime);
        scenarios.put("size_limit", ProduceScenarios::sizeLimit);
        scenarios.put("acks", ProduceScenarios::acks);
        scenarios.put("pipelined", ProduceScenarios::pipelined);
        scenarios.put("idempotent", ProduceScenarios::idempotent);
        scenarios.put("key_partition", ProduceScenarios::keyPartition);
    }

    private static void codecs(Session session) throws Exception {
        String topic = session.topic(2);
        List<List<ProducerRecord<byte[], byte[]>>> sent = List.of(new ArrayList<>(), new ArrayList<>());
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
            for (int i = 0; i < 400; i++) {
                // Every third value is incompressible, the others are all but empty of information.
                byte[] value = i % 3 == 0 ? Session.noise(700, i) : bytes((codec + i).repeat(i % 50));
                var record = new ProducerRecord<>(topic, i % 2, 1_700_000_000_000L + i, bytes(codec + "-" + i), value);
                record.headers().add("codec", bytes(codec));
                records.add(record);
                sent.get(i % 2).add(record);
            }
            session.send(session.producer("compression.type", codec, "linger.ms", "50"), records);
        }
        for (int partition = 0; partition < 2; partition++) {
            int wanted = partition;
            same(sent.get(partition), session.readAll(topic).stream().filter(r -> r.partition() == wanted).toList());
        }
    }

    private static void nullAndEmpty(Session session) throws Exception {
        String topic = session.topic(1);
        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (String key : Arrays.asList(null, "", "key")) {
            for (String value : Arrays.asList(null, "", "value")) {
                records.add(new ProducerRecord<>(topic, 0, 1L, bytes(key), bytes(value)));
            }
        }
        session.send(session.producer("linger.ms", "50"), records);
        session.send(session.producer("linger.ms", "50", "compression.type", "gzip"), records);
        var twice = new ArrayList<>(records);
        twice.addAll(records);
        same(twice, session.readAll(topic));
    }

    private static void headers(Session session) throws Exception {
        String topic = session.topic(1);
        var record = new ProducerRecord<>(topic, 0, 1L, bytes("k"), bytes("v"));
        record.headers().add("twice", bytes("first")).add("other", null).add("twice", bytes("second"))
                .add("", bytes("no name")).add("empty", new byte[0]).add("twice", bytes("first"))
                .add("bytes", new byte[] {0, -1, -128, 127}).add("ключ", bytes("not ascii"));
        var many = new ProducerRecord<>(topic, 0, 1L, bytes("k"), bytes("many"));
        for (int i = 0; i < 500; i++) {
            many.headers().add("h" + i % 7, bytes("" + i));
        }
        var records = List.of(record, many, new ProducerRecord<>(topic, 0, 1L, bytes("k"), bytes("none")));
        session.send(session.producer("linger.ms", "50"), records);
        same(records, session.readAll(topic));
    }

    private static void timestamps(Session session) throws Exception {
        String topic = session.topic(1);
        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (long timestamp : new long[] {0, 1, 1_700_000_000_123L, 5, System.currentTimeMillis()}) {
            records.add(new ProducerRecord<>(topic, 0, timestamp, null, bytes("at " + timestamp)));
        }
        var where = session.send(session.producer("linger.ms", "50"), records);
        for (int i = 0; i < records.size(); i++) {
            Check.equal(records.get(i).timestamp(), where.get(i).timestamp(), "timestamp in the answer");
        }
        var got = session.readAll(topic);
        same(records, got);
        got.forEach(record -> Check.equal(TimestampType.CREATE_TIME, record.timestampType(), "timestamp type"));

        // message.timestamp.after.max.ms is an hour by default.
        long tomorrow = System.currentTimeMillis() + 86_400_000;
        Check.fails(InvalidTimestampException.class, "a time too far ahead", () -> session.send(
                session.producer(), List.of(new ProducerRecord<>(topic, 0, tomorrow, null, bytes("early")))));
        Check.equal(records.size(), session.readAll(topic).size(), "records after a refused one");
    }

    private static void logAppendTime(Session session) throws Exception {
        String topic = session.topic(1, "message.timestamp.type", "LogAppendTime");
        for (String codec : List.of("none", "lz4")) {
            var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
            for (int i = 0; i < 10; i++) {
                records.add(new ProducerRecord<>(topic, 0, 1000L + i, null, bytes(codec + i)));
            }
            long first = session.send(session.producer("linger.ms", "50", "compression.type", codec), records)
                    .get(0).timestamp();
            Check.that(first > 1_700_000_000_000L, "the answer tells the server's time, not " + first);
        }
        long before = 0;
        for (var record : session.readAll(topic)) {
            Check.equal(TimestampType.LOG_APPEND_TIME, record.timestampType(), "timestamp type");
            Check.that(record.timestamp() > 1_700_000_000_000L, "the server's time, not " + record.timestamp());
            Check.that(record.timestamp() >= before, "times don't run backwards");
            before = record.timestamp();
        }
    }

    private static void sizeLimit(Session session) throws Exception {
        String topic = session.topic(1);
        // The limit is on the batch: 61 bytes of head, then for one keyless record of about a mebibyte 11 bytes around
        // the value (length 3, attributes, two deltas, key length, value length 3, header count).
        int limit = 1_048_588, largest = limit - 61 - 11;
        var producer = session.producer("max.request.size", "3000000", "buffer.memory", "40000000");
        var whole = new ProducerRecord<byte[], byte[]>(topic, 0, 1L, null, Session.noise(largest, 1));
        var over = new ProducerRecord<byte[], byte[]>(topic, 0, 1L, null, Session.noise(largest + 1, 2));
        var far = new ProducerRecord<byte[], byte[]>(topic, 0, 1L, null, Session.noise(2_500_000, 3));
        var small = new ProducerRecord<byte[], byte[]>(topic, 0, 1L, null, bytes("small"));
        session.send(producer, List.of(whole));
        Check.fails(RecordTooLargeException.class, "one byte over", () -> session.send(producer, List.of(over)));
        Check.fails(RecordTooLargeException.class, "far over", () -> session.send(producer, List.of(far)));
        session.send(producer, List.of(small));
        same(List.of(whole, small), session.readAll(topic));

        String narrow = session.topic(1, "max.message.bytes", "2000");
        Check.fails(RecordTooLargeException.class, "over the topic's own limit", () -> session.send(producer,
                List.of(new ProducerRecord<>(narrow, 0, 1L, null, Session.noise(2000, 4)))));
        // A batch over the limit is split by the client until it fits.
        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (int i = 0; i < 30; i++) {
            records.add(new ProducerRecord<>(narrow, 0, 1L, null, Session.noise(500, i)));
        }
        session.send(session.producer("linger.ms", "100"), records);
        same(records, session.readAll(narrow));

        String wide = session.topic(1, "max.message.bytes", "5000000");
        session.send(producer, List.of(new ProducerRecord<>(wide, 0, 1L, null, far.value())));
        same(List.of(far), session.readAll(wide));
    }

    private static void acks(Session session) throws Exception {
        for (String acks : List.of("0", "1", "all")) {
            String topic = session.topic(1);
            var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
            for (int i = 0; i < 200; i++) {
                records.add(new ProducerRecord<>(topic, 0, (long) i, null, bytes(acks + i)));
            }
            // Without an answer nothing says that a partition was not ready yet, so one record goes ahead.
            session.send(session.producer(), records.subList(0, 1));
            var rest = records.subList(1, records.size());
            var where = session.send(session.producer("acks", acks, "enable.idempotence", "false"), rest);
            for (int i = 0; i < where.size(); i++) {
                Check.equal(acks.equals("0") ? -1L : i + 1, where.get(i).offset(), "offset in the answer, acks=" + acks);
            }
            // acks=0 answers nothing, so what was sent may arrive after the flush has ended.
            var consumer = session.consumer();
            consumer.assign(Session.partitions(consumer, topic));
            same(records, Session.poll(consumer, records.size()));
        }
    }

    /** Five requests in flight from a plain producer: on one connection their order must be kept too. */
    private static void pipelined(Session session) throws Exception {
        stream(session, "enable.idempotence", "false", "acks", "all", "retries", "0");
    }

    private static void idempotent(Session session) throws Exception {
        stream(session, "enable.idempotence", "true");
    }

    private static void stream(Session session, String... configs) throws Exception {
        String topic = session.topic(3);
        var all = new ArrayList<>(List.of(configs));
        all.addAll(List.of("max.in.flight.requests.per.connection", "5", "linger.ms", "1", "batch.size", "2000"));
        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (int i = 0; i < 15_000; i++) {
            records.add(new ProducerRecord<>(topic, i % 3, (long) i, null, bytes("" + i)));
        }
        var where = session.send(session.producer(all.toArray(String[]::new)), records);
        Map<Integer, Long> next = new HashMap<>();
        for (RecordMetadata metadata : where) {
            long want = next.merge(metadata.partition(), 1L, Long::sum) - 1;
            Check.equal(want, metadata.offset(), "offset in the answer");
        }
        var got = session.readAll(topic);
        Check.equal(records.size(), got.size(), "records");
        for (var record : got) {
            Check.equal("" + (record.offset() * 3 + record.partition()), text(record.value()), "record at its offset");
        }
    }

    /** Every client must put a key into the same partition; ../keys.tsv says which of seven. */
    private static void keyPartition(Session session) throws Exception {
        String topic = session.topic(7);
        Map<String, Integer> partitions = new HashMap<>();
        for (String line : Files.readAllLines(Path.of(System.getProperty("daybook.keys")))) {
            partitions.put(line.split("\t")[0], Integer.valueOf(line.split("\t")[1]));
        }
        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        partitions.keySet().forEach(key -> records.add(new ProducerRecord<>(topic, bytes(key), bytes("v" + key))));
        session.send(session.producer(), records);
        var got = session.readAll(topic);
        Check.equal(partitions.size(), got.size(), "records");
        for (var record : got) {
            Check.equal(partitions.get(text(record.key())), record.partition(), "partition of " + text(record.key()));
            Check.equal("v" + text(record.key()), text(record.value()), "value");
        }
    }

    /** Keys, values, headers in order, timestamps, and offsets without a gap. */
    static void same(List<ProducerRecord<byte[], byte[]>> sent, List<ConsumerRecord<byte[], byte[]>> got) {
        Check.equal(sent.size(), got.size(), "number of records");
        for (int i = 0; i < sent.size(); i++) {
            var want = sent.get(i);
            var have = got.get(i);
            String what = "record " + i + " of " + have.topic() + "-" + have.partition();
            Check.that(Arrays.equals(want.key(), have.key()), what + ": key");
            Check.that(Arrays.equals(want.value(), have.value()), what + ": value");
            Check.equal(want.timestamp(), have.timestamp(), what + ": timestamp");
            Check.equal((long) i, have.offset(), what + ": offset");
            Check.equal(show(want.headers()), show(have.headers()), what + ": headers");
        }
    }

    private static List<String> show(Iterable<Header> headers) {
        var shown = new ArrayList<String>();
        headers.forEach(header -> shown.add(header.key() + "=" + Arrays.toString(header.value())));
        return shown;
    }

    private ProduceScenarios() {}
}
