package daybook.clients;

import static daybook.clients.Session.bytes;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.PolicyViolationException;

/** Records that go: by DeleteRecords. */
final class CleaningScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("deleted_records", CleaningScenarios::deletedRecords);
    }

    private static void deletedRecords(Session session) throws Exception {
        String topic = session.topic(1);
        var place = new TopicPartition(topic, 0);
        session.fill(topic, 0, 10);
        Check.equal(4L, delete(session, place, 4), "start after the first deletion");
        Check.equal(4L, delete(session, place, 2), "a start doesn't go back");
        Check.fails(org.apache.kafka.common.errors.OffsetOutOfRangeException.class, "delete past the end",
                () -> delete(session, place, 11));
        String compacted = session.topic(1, "cleanup.policy", "compact");
        Check.fails(PolicyViolationException.class, "delete from a compacted topic",
                () -> delete(session, new TopicPartition(compacted, 0), 0));

        var strict = session.consumer("auto.offset.reset", "none");
        strict.assign(List.of(place));
        strict.seek(place, 1);
        Check.fails(OffsetOutOfRangeException.class, "read what is gone", () -> Session.poll(strict, 1));
        Check.equal(Map.of(place, 4L), strict.beginningOffsets(List.of(place)), "first offset");

        var earliest = session.consumer("auto.offset.reset", "earliest");
        earliest.assign(List.of(place));
        earliest.seek(place, 1);
        var expected = new ArrayList<String>();
        for (int i = 4; i < 10; i++) {
            expected.add("" + i);
        }
        Check.equal(expected, Session.values(Session.poll(earliest, 6)), "records of a consumer whose offset is gone");

        Check.equal(10L, delete(session, place, -1), "start after all was deleted");
        session.send(session.producer(), List.of(new ProducerRecord<>(topic, 0, null, bytes("new"))));
        var left = session.readAll(topic);
        Check.equal(List.of("new"), Session.values(left), "what came afterwards");
        Check.equal(10L, left.get(0).offset(), "its offset");
    }

    private static long delete(Session session, TopicPartition place, long before) throws Exception {
        var deleted = session.admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(before)));
        return deleted.lowWatermarks().get(place).get().lowWatermark();
    }

    private CleaningScenarios() {}
}
