package daybook.clients;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.protocol.ApiKeys;

/** Kafka's command line tools where they change what readers see: what they print, and what has become of it. */
final class ChangeToolScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("topics_altered", ChangeToolScenarios::topicsAltered);
        scenarios.put("delete_records", ChangeToolScenarios::deleteRecords);
        scenarios.put("delete_offsets", ChangeToolScenarios::deleteOffsets);
        scenarios.put("transactions", ChangeToolScenarios::transactions);
        scenarios.put("share_groups", ChangeToolScenarios::shareGroups);
    }

    private static void topicsAltered(Session session) throws Exception {
        String topic = session.topic(2, "retention.ms", "60000");
        session.fill(topic, 1, 3);
        ToolScenarios.tool(session, "TopicCommand", "--alter", "--topic", topic, "--partitions", "5");
        Check.eventually("there are five partitions", () -> ToolScenarios.tool(
                session, "TopicCommand", "--describe", "--topic", topic).contains("PartitionCount: 5\t"));
        Check.equal(List.of("0", "1", "2"), Session.values(session.readAll(topic)), "records are where they were");
        Tool fewer = Tool.run("", "TopicCommand",
                ToolScenarios.args(session, "--alter", "--topic", topic, "--partitions", "1"));
        Check.equal(1, fewer.status(), "fewer partitions are refused");
        Check.that((fewer.out() + fewer.err()).contains("5 partition"), "and it says why: " + fewer);
        String overridden = ToolScenarios.tool(session, "TopicCommand", "--describe", "--topics-with-overrides");
        Check.that(overridden.contains("Topic: " + topic + "\t"), "topics with overrides: " + overridden);
    }

    private static void deleteRecords(Session session) throws Exception {
        session.needs(ApiKeys.DELETE_RECORDS);
        String topic = session.topic(3);
        session.fill(topic, 0, 10);
        session.fill(topic, 1, 10);
        String deleted = delete(session, topic, 0, 4, 1, -1);
        Check.that(deleted.contains("partition: " + topic + "-0\tlow_watermark: 4"), "the first four: " + deleted);
        Check.that(deleted.contains("partition: " + topic + "-1\tlow_watermark: 10"), "all: " + deleted);
        Check.equal(topic + ":0:4\n" + topic + ":1:10\n" + topic + ":2:0\n",
                ToolScenarios.tool(session, "GetOffsetShell", "--topic", topic, "--time", "earliest"), "where they begin");
        Check.equal(List.of("4", "5", "6", "7", "8", "9"), Session.values(session.readAll(topic)), "what is left");
        String backwards = delete(session, topic, 0, 2);
        Check.that(backwards.contains("partition: " + topic + "-0\tlow_watermark: 4"), "no way back: " + backwards);
        String beyond = delete(session, topic, 0, 11);
        Check.that(beyond.contains("partition: " + topic + "-0\terror: ") && beyond.contains("OffsetOutOfRange"),
                "beyond the end: " + beyond);
        session.fill(topic, 1, 1);
        Check.equal(List.of("0"), Session.values(session.readAll(topic)).subList(6, 7), "it goes on at the same end");
    }

    private static String delete(Session session, String topic, int... partitionsAndOffsets) throws Exception {
        var parts = new ArrayList<String>();
        for (int i = 0; i < partitionsAndOffsets.length; i += 2) {
            parts.add("{\"topic\":\"%s\",\"partition\":%d,\"offset\":%d}".formatted(
                    topic, partitionsAndOffsets[i], partitionsAndOffsets[i + 1]));
        }
        Path file = Files.createTempFile("daybook-delete-", ".json");
        try {
            Files.writeString(file, "{\"version\":1,\"partitions\":[" + String.join(",", parts) + "]}");
            return ToolScenarios.tool(session, "DeleteRecordsCommand", "--offset-json-file", file.toString());
        } finally {
            Files.delete(file);
        }
    }

    private static void deleteOffsets(Session session) throws Exception {
        session.needs(ApiKeys.OFFSET_DELETE);
        String topic = session.topic(2);
        session.fill(topic, 0, 5);
        session.fill(topic, 1, 5);
        String group = session.name();
        ToolScenarios.tool(session, ToolScenarios.GROUPS, "--reset-offsets", "--group", group, "--topic", topic,
                "--to-latest", "--execute");
        String deleted = ToolScenarios.tool(session, ToolScenarios.GROUPS, "--delete-offsets", "--group", group,
                "--topic", topic + ":0");
        Check.that(Pattern.compile(topic + "\\s+0\\s+Successful").matcher(deleted).find(), "deleted: " + deleted);
        var left = GroupScenarios.committed(session, group);
        Check.equal(List.of(topic + "-1"), left.keySet().stream().map(Object::toString).toList(), "what is left");
        String unknown = Tool.run("", ToolScenarios.GROUPS, ToolScenarios.args(session, "--delete-offsets", "--group",
                session.name(), "--topic", topic)).out();
        Check.that(unknown.contains("GroupIdNotFoundException") || unknown.contains("does not exist"),
                "of a group that is not there: " + unknown);
    }

    /** One transaction left open, found, described and aborted as an administrator does it. */
    private static void transactions(Session session) throws Exception {
        session.needs(ApiKeys.LIST_TRANSACTIONS);
        String topic = session.topic(1);
        session.fill(topic, 0, 3);
        String id = session.name();
        var producer = session.producer("transactional.id", id);
        producer.initTransactions();
        producer.beginTransaction();
        producer.send(new ProducerRecord<>(topic, 0, null, Session.bytes("pending"))).get();
        String list = transactionsTool(session, "list");
        String row = ToolScenarios.row(list, id);
        Check.that(row.contains("Ongoing"), "list: " + list);
        String described = transactionsTool(session, "describe", "--transactional-id", id);
        Check.that(described.contains(id) && described.contains("Ongoing") && described.contains(topic + "-0"),
                "describe: " + described);
        String producers = transactionsTool(session, "describe-producers", "--topic", topic, "--partition", "0");
        // The last column is where the transaction began; of a producer without one there is no number.
        Check.that(producers.lines().anyMatch(line -> line.strip().endsWith("\t3") || line.strip().endsWith(" 3")),
                "where the open transaction began: " + producers);
        Check.equal(3, session.readAll(topic, "isolation.level", "read_committed").size(), "committed before");
        transactionsTool(session, "abort", "--topic", topic, "--partition", "0", "--start-offset", "3");
        session.fill(topic, 0, 1);
        Check.equal(List.of("0", "1", "2", "0"),
                Session.values(session.readAll(topic, "isolation.level", "read_committed")), "committed after the abort");
        Check.equal(List.of("0", "1", "2", "pending", "0"), Session.values(session.readAll(topic)), "uncommitted too");
    }

    /** Of all tools the one that wants the address before its verb. */
    private static String transactionsTool(Session session, String... args) throws Exception {
        return Tool.ok("", "TransactionsCommand",
                ToolScenarios.plus(new String[] {"--bootstrap-server", session.bootstrap}, args));
    }

    private static void shareGroups(Session session) throws Exception {
        session.needs(ApiKeys.SHARE_FETCH);
        String topic = session.topic(1);
        session.fill(topic, 0, 10);
        String group = session.name();
        ToolScenarios.tool(session, "ConfigCommand", "--alter", "--entity-type", "groups", "--entity-name", group,
                "--add-config", "share.auto.offset.reset=earliest");
        String read = ToolScenarios.tool(session, "consumer.ConsoleShareConsumer", "--topic", topic, "--group", group,
                "--max-messages", "10");
        Check.equal("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", read, "read by the share group");
        String shareTool = "consumer.group.ShareGroupCommand";
        Check.that(ToolScenarios.tool(session, shareTool, "--list").lines().anyMatch(line -> line.strip().equals(group)), "--list");
        Check.that(ToolScenarios.row(ToolScenarios.tool(session, "GroupsCommand", "--list"), group).contains("Share"), "kafka-groups");
        String state = ToolScenarios.tool(session, shareTool, "--describe", "--group", group, "--state");
        Check.that(ToolScenarios.row(state, group).contains("Empty"), "--describe --state: " + state);
        Check.eventually("its position is the end", () -> Pattern.compile(group + "\\s+" + topic + "\\s+0\\s+.*\\b(10|0)\\b")
                .matcher(ToolScenarios.tool(session, shareTool, "--describe", "--group", group)).find());
        String reset = ToolScenarios.tool(session, shareTool, "--reset-offsets", "--group", group, "--topic", topic,
                "--to-earliest", "--execute");
        Check.that(ToolScenarios.row(reset, group).matches(group + "\\s+" + topic + "\\s+0\\s+0\\s*"), "reset: " + reset);
        Check.equal("0\n1\n2\n", ToolScenarios.tool(session, "consumer.ConsoleShareConsumer", "--topic", topic,
                "--group", group, "--max-messages", "3"), "read again");
        String deleted = ToolScenarios.tool(session, shareTool, "--delete", "--group", group);
        Check.that(deleted.contains("successful"), "delete: " + deleted);
        Check.that(ToolScenarios.tool(session, shareTool, "--list").lines().noneMatch(line -> line.strip().equals(group)), "list after it");
    }

    private ChangeToolScenarios() {}
}
