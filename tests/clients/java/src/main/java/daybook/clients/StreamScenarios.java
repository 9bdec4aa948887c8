package daybook.clients;

import static daybook.clients.Session.bytes;

import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.InvalidRecordException;

/** What Kafka does not have: a record that says what its stream must be. */
final class StreamScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("expected_version", StreamScenarios::expectedVersion);
    }

    private static void expectedVersion(Session session) throws Exception {
        String topic = session.topic(3, "daybook.streams", "true");
        String key = "order-1";
        var producer = session.producer();
        refused(session, producer, topic, key, "0", key, "does not exist");
        Check.equal(0L, send(session, producer, topic, key, "-1"), "offset: what is refused takes none");
        refused(session, producer, topic, key, "-1", key, "version 0");
        refused(session, producer, topic, key, "4", key, "version 4", "version 0");
        Check.equal(1L, send(session, producer, topic, key, "0"), "offset of the second");
        Check.equal(2L, send(session, producer, topic, key, "any"), "offset of the third");
        refused(session, producer, topic, key, "soon", "daybook-expected-version");

        // A batch is refused as a whole, and each of its records learns it.
        var batch = session.producer("linger.ms", "10000");
        var good = batch.send(record(topic, key, "2"));
        var bad = batch.send(record(topic, key, "7"));
        batch.flush();
        Check.fails(Exception.class, "the good record of a batch", good::get);
        Check.fails(InvalidRecordException.class, "the bad record of a batch", bad::get);
        Check.equal(3, session.readAll(topic).size(), "records appended");

        // In one batch each record is expected after the one before it.
        var both = session.send(session.producer("linger.ms", "10000"), List.of(record(topic, key, "2"), record(topic, key, "3")));
        Check.equal(List.of(3L, 4L), both.stream().map(where -> where.offset()).toList(), "offsets of a batch");
    }

    private static long send(Session session, KafkaProducer<byte[], byte[]> producer, String topic, String key, String expected)
            throws Exception {
        return session.send(producer, List.of(record(topic, key, expected))).get(0).offset();
    }

    /** The record must fail with words for each of these. */
    private static void refused(
            Session session, KafkaProducer<byte[], byte[]> producer, String topic, String key, String expected, String... words) {
        var error = Check.fails(InvalidRecordException.class, "a record that expects " + expected,
                () -> session.send(producer, List.of(record(topic, key, expected))));
        for (String word : words) {
            Check.that(error.getMessage().contains(word), "the error says " + word + ": " + error.getMessage());
        }
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, String key, String expected) {
        var record = new ProducerRecord<>(topic, bytes(key), bytes("value"));
        record.headers().add("daybook-expected-version", bytes(expected));
        return record;
    }
}
