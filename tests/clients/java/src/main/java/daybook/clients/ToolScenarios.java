package daybook.clients;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/** Kafka's command line tools, with the answers they print. */
final class ToolScenarios {
    static final String GROUPS = "consumer.group.ConsumerGroupCommand";
    private static final String CONSOLE_CONSUMER = "consumer.ConsoleConsumer";

    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("cluster", ToolScenarios::cluster);
        scenarios.put("api_versions", ToolScenarios::apiVersions);
        scenarios.put("topics", ToolScenarios::topics);
        scenarios.put("topics_refused", ToolScenarios::topicsRefused);
        scenarios.put("configs", ToolScenarios::configs);
        scenarios.put("console", ToolScenarios::console);
        scenarios.put("codecs", ToolScenarios::codecs);
        scenarios.put("positions", ToolScenarios::positions);
        scenarios.put("get_offsets", ToolScenarios::getOffsets);
        scenarios.put("perf", ToolScenarios::perf);
        scenarios.put("end_to_end", ToolScenarios::endToEnd);
        scenarios.put("verifiable", ToolScenarios::verifiable);
        scenarios.put("compatibility", ToolScenarios::compatibility);
        scenarios.put("group_admin", ToolScenarios::groupAdmin);
        scenarios.put("group_reset", ToolScenarios::groupReset);
        scenarios.put("share_groups", ToolScenarios::shareGroups);
    }

    private static void cluster(Session session) throws Exception {
        String id = session.admin.describeCluster().clusterId().get();
        Check.equal("Cluster ID: " + id, tool(session, "ClusterTool", "cluster-id").strip(), "kafka-cluster cluster-id");
        String endpoints = tool(session, "ClusterTool", "list-endpoints");
        Check.that(endpoints.contains("127.0.0.1"), "the endpoint is listed: " + endpoints);
    }

    private static void apiVersions(Session session) throws Exception {
        String versions = tool(session, "BrokerApiVersionsCommand");
        Check.that(versions.startsWith(session.bootstrap + " (id: "), "which node: " + versions);
        for (String api : List.of("Produce(0)", "Fetch(1)", "ListOffsets(2)", "Metadata(3)", "OffsetCommit(8)",
                "OffsetFetch(9)", "FindCoordinator(10)", "JoinGroup(11)", "Heartbeat(12)", "LeaveGroup(13)",
                "SyncGroup(14)", "DescribeGroups(15)", "ListGroups(16)", "ApiVersions(18)", "CreateTopics(19)",
                "DeleteTopics(20)", "InitProducerId(22)", "DescribeConfigs(32)", "DeleteGroups(42)",
                "DescribeCluster(60)")) {
            var line = Pattern.compile(Pattern.quote(api) + ": \\d+.* \\[usable: \\d+\\]").matcher(versions);
            Check.that(line.find(), api + " is usable: " + versions);
        }
    }

    private static void topics(Session session) throws Exception {
        String name = session.name();
        String created = tool(session, "TopicCommand", "--create", "--topic", name, "--partitions", "3",
                "--config", "retention.ms=60000");
        Check.equal("Created topic " + name + ".", created.strip(), "create");
        Check.eventually("it is listed",
                () -> tool(session, "TopicCommand", "--list").lines().anyMatch(line -> line.equals(name)));
        String described = tool(session, "TopicCommand", "--describe", "--topic", name);
        Check.that(described.contains("PartitionCount: 3\tReplicationFactor: 1"), "describe: " + described);
        Check.that(described.contains("retention.ms=60000"), "describe shows what was set: " + described);
        Check.equal(4L, described.lines().count(), "lines of the description: one and three");
        Check.equal("", tool(session, "TopicCommand", "--describe", "--unavailable-partitions").strip(), "unavailable");
        tool(session, "TopicCommand", "--create", "--if-not-exists", "--topic", name);
        Check.equal("", tool(session, "TopicCommand", "--delete", "--topic", name).strip(), "delete");
        Check.eventually("it is no longer listed",
                () -> tool(session, "TopicCommand", "--list").lines().noneMatch(line -> line.equals(name)));
    }

    private static void topicsRefused(Session session) throws Exception {
        String name = session.topic(1);
        String[][] refused = {
            {"Topic '" + name + "' already exists", "--create", "--topic", name},
            {"opic name", "--create", "--topic", "a b"},
            {"The partitions must be greater than 0", "--create", "--topic", session.name(), "--partitions", "0"},
            {"eplicat", "--create", "--topic", session.name(), "--replication-factor", "2"},
            {"does not exist as expected", "--describe", "--topic", session.name()},
            {"does not exist as expected", "--delete", "--topic", session.name()},
        };
        for (String[] words : refused) {
            Tool ran = Tool.run("", "TopicCommand", args(session, Arrays.copyOfRange(words, 1, words.length)));
            Check.equal(1, ran.status(), "exit status of " + List.of(words));
            Check.that((ran.out() + ran.err()).contains(words[0]), "want " + List.of(words) + ", got " + ran);
        }
    }

    private static void configs(Session session) throws Exception {
        String topic = session.topic(1, "max.message.bytes", "2000", "segment.ms", "3600000");
        String set = tool(session, "ConfigCommand", "--describe", "--entity-type", "topics", "--entity-name", topic);
        Check.that(set.contains("Dynamic configs for topic " + topic + " are:"), "describe: " + set);
        Check.that(set.contains("max.message.bytes=2000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:max.message.bytes=2000"),
                "what was set: " + set);
        Check.that(set.contains("segment.ms=3600000 "), "what was set: " + set);
        Check.that(!set.contains("retention.bytes"), "nothing else: " + set);
        String all = tool(session, "ConfigCommand", "--describe", "--all", "--entity-type", "topics", "--entity-name", topic);
        Check.that(all.contains("retention.ms=604800000 sensitive=false"), "defaults too: " + all);
        Check.that(all.contains("cleanup.policy=delete sensitive=false"), "defaults too: " + all);
        Check.that(all.lines().count() >= 25, "all configs: " + all);
    }

    private static void console(Session session) throws Exception {
        String topic = session.topic(2);
        String lines = """
                h1:v1,h2:v2,h1:v3\tk1\tfirst
                h1:\tk2\t
                h1:NULL\tNULL\tno key
                \tk3\tsecond — zweite
                h:v\tk3\tNULL
                """.replace("\n\tk3", "\nNULL\tk3");
        feed(session, lines, "ConsoleProducer", "--topic", topic, "--reader-property", "parse.key=true",
                "--reader-property", "parse.headers=true", "--reader-property", "null.marker=NULL");
        String[] print = {"--from-beginning", "--max-messages", "5", "--formatter-property", "print.key=true",
            "--formatter-property", "print.headers=true", "--formatter-property", "print.timestamp=true",
            "--formatter-property", "print.partition=true", "--formatter-property", "print.offset=true",
            "--formatter-property", "null.literal=NULL"};
        String got = tool(session, CONSOLE_CONSUMER, plus(print, "--topic", topic));
        var bare = new ArrayList<String>();
        for (String line : got.lines().toList()) {
            var parts = Pattern.compile("CreateTime:\\d{13}\tPartition:\\d\tOffset:\\d\t(.*)").matcher(line);
            Check.that(parts.matches(), "a line in the asked form: " + line);
            bare.add(parts.group(1));
        }
        var want = new ArrayList<>(List.of(
                "h1:v1,h2:v2,h1:v3\tk1\tfirst", "h1:\tk2\t", "h1:NULL\tNULL\tno key",
                "NO_HEADERS\tk3\tsecond — zweite", "h:v\tk3\tNULL"));
        bare.sort(null);
        want.sort(null);
        Check.equal(want, bare, "lines back");

        String group = session.name();
        String[] inGroup = {"--topic", topic, "--group", group, "--from-beginning"};
        Check.equal(2L, tool(session, CONSOLE_CONSUMER, plus(inGroup, "--max-messages", "2")).lines().count(), "two");
        Check.equal(3L, tool(session, CONSOLE_CONSUMER, plus(inGroup, "--max-messages", "3")).lines().count(), "the rest");
    }

    private static void codecs(Session session) throws Exception {
        String topic = session.topic(1);
        var want = new StringBuilder();
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            var lines = new StringBuilder();
            IntStream.range(0, 200).forEach(i -> lines.append(codec).append(' ').append(i).append('\n'));
            feed(session, lines.toString(), "ConsoleProducer", "--topic", topic, "--compression-codec", codec,
                    "--request-required-acks", "all");
            want.append(lines);
        }
        String got = tool(session, CONSOLE_CONSUMER, "--topic", topic, "--from-beginning", "--max-messages", "1000");
        Check.equal(want.toString(), got, "lines of all codecs");
    }

    private static void positions(Session session) throws Exception {
        String topic = session.topic(2);
        session.fill(topic, 1, 10);
        String[] one = {"--topic", topic, "--partition", "1"};
        Check.equal("7\n8\n9\n", tool(session, CONSOLE_CONSUMER, plus(one, "--offset", "7", "--max-messages", "3")), "offset");
        Check.equal("0\n", tool(session, CONSOLE_CONSUMER, plus(one, "--offset", "earliest", "--max-messages", "1")), "earliest");
        Tool none = Tool.run("", CONSOLE_CONSUMER,
                args(session, plus(one, "--offset", "latest", "--timeout-ms", "500")));
        Check.equal("", none.out(), "nothing after the latest");
        Tool all = Tool.run("", CONSOLE_CONSUMER,
                args(session, "--topic", topic, "--from-beginning", "--timeout-ms", "2000"));
        Check.equal(10L, all.out().lines().count(), "all until there is no more: " + all);
    }

    private static void getOffsets(Session session) throws Exception {
        String topic = session.topic(3);
        long start = System.currentTimeMillis();
        session.fill(topic, 0, 10);
        session.fill(topic, 2, 5);
        String[][] asked = {
            {"-1", "10", "0", "5"}, {"latest", "10", "0", "5"}, {"-2", "0", "0", "0"}, {"earliest", "0", "0", "0"},
            {String.valueOf(start), "0", "", "0"}, {String.valueOf(start + 86_400_000), "", "", ""},
        };
        for (String[] question : asked) {
            String got = tool(session, "GetOffsetShell", "--topic", topic, "--time", question[0]);
            var want = new StringBuilder();
            for (int partition = 0; partition < 3; partition++) {
                if (!question[partition + 1].isEmpty()) {
                    want.append(topic + ":" + partition + ":" + question[partition + 1] + "\n");
                }
            }
            Check.equal(want.toString(), got, "offsets at " + question[0]);
        }
        String max = tool(session, "GetOffsetShell", "--topic-partitions", topic + ":0", "--time", "max-timestamp");
        Check.that(max.matches(Pattern.quote(topic) + ":0:\\d\n"), "offset of the largest timestamp: " + max);
    }

    private static void perf(Session session) throws Exception {
        String topic = session.topic(2);
        String sent = tool(session, "ProducerPerformance", "--topic", topic, "--num-records", "50000",
                "--record-size", "100", "--throughput", "-1", "--command-property", "acks=all", "compression.type=lz4");
        Check.that(sent.contains("50000 records sent, "), "kafka-producer-perf-test: " + sent);
        String read = tool(session, "ConsumerPerformance", "--topic", topic, "--num-records", "50000", "--hide-header");
        String[] figures = read.strip().split(", ");
        Check.that(figures.length == 10, "kafka-consumer-perf-test: " + read);
        Check.equal("50000", figures[4], "records that kafka-consumer-perf-test read");
        Check.equal(50000L, session.consumer().endOffsets(Session.partitions(session.consumer(), topic))
                .values().stream().mapToLong(Long::longValue).sum(), "records in the topic");
    }

    private static void endToEnd(Session session) throws Exception {
        String topic = session.topic(1);
        // It compares every record that it reads with the one that it has just sent.
        String out = Tool.ok("", "EndToEndLatency", "--bootstrap-server", session.bootstrap, "--topic", topic,
                "--num-records", "300", "--producer-acks", "all", "--record-size", "100");
        Check.that(out.contains("Percentiles: 50th = "), "kafka-e2e-latency: " + out);
        Check.equal(300, session.readAll(topic).size(), "records in the topic");
    }

    private static void verifiable(Session session) throws Exception {
        String topic = session.topic(1);
        String sent = Tool.inOwnJvm("VerifiableProducer", "--bootstrap-server", session.bootstrap, "--topic", topic,
                "--max-messages", "500", "--acks", "-1");
        Check.equal(500L, sent.lines().filter(line -> line.contains("\"producer_send_success\"")).count(), "acknowledged");
        Check.that(sent.contains("\"sent\":500") && sent.contains("\"acked\":500"), "summary: " + sent.lines().skip(501).toList());
        String read = Tool.inOwnJvm("VerifiableConsumer", "--bootstrap-server", session.bootstrap, "--topic", topic,
                "--group-id", session.name(), "--max-messages", "500", "--reset-policy", "earliest", "--verbose");
        Check.equal(500L, read.lines().filter(line -> line.contains("\"record_data\"")).count(), "read");
        Check.that(read.contains("\"offsets_committed\"") && read.contains("\"success\":true"), "committed");
    }

    private static void compatibility(Session session) throws Exception {
        // Kafka's own check that a client fits a server. It wants to be told whether there is access control.
        boolean acls = true;
        try {
            session.admin.describeAcls(AclBindingFilter.ANY).values().get();
        } catch (ExecutionException failed) {
            acls = !(failed.getCause() instanceof UnsupportedVersionException);
        }
        // The tool creates a topic of this name and leaves it behind.
        var left = session.admin.listTopics().names().get();
        if (left.contains("newtopic")) {
            session.admin.deleteTopics(List.of("newtopic")).all().get();
            Check.eventually("newtopic is gone", () -> !session.admin.listTopics().names().get().contains("newtopic"));
        }
        Tool.ok("", "ClientCompatibilityTest", "--bootstrap-server", session.bootstrap, "--topic", session.name(),
                "--num-cluster-nodes", "1", "--offsets-for-times-supported", "true", "--cluster-id-supported", "true",
                "--expect-record-too-large-exception", "false", "--create-topics-supported", "true",
                "--describe-configs-supported", "true", "--idempotent-producer-supported", "true",
                "--describe-acls-supported", String.valueOf(acls));
    }

    private static void shareGroups(Session session) throws Exception {
        String shareGroups = "consumer.group.ShareGroupCommand";
        String topic = session.topic(1);
        session.fill(topic, 0, 5);
        String group = session.name();
        tool(session, "ConfigCommand", "--alter", "--entity-type", "groups", "--entity-name", group,
                "--add-config", "share.auto.offset.reset=earliest");
        String configs = tool(session, "ConfigCommand", "--describe", "--entity-type", "groups", "--entity-name", group);
        Check.that(configs.contains("share.auto.offset.reset=earliest"), "configs of the group: " + configs);
        String[] consume = {"--topic", topic, "--group", group, "--timeout-ms", "20000"};
        String got = tool(session, "consumer.ConsoleShareConsumer", plus(consume, "--max-messages", "5"));
        Check.equal(List.of("0", "1", "2", "3", "4"), got.lines().toList(), "console share consumer");
        session.fill(topic, 0, 2);
        Check.that(tool(session, shareGroups, "--list").lines().anyMatch(line -> line.strip().equals(group)), "--list");
        Check.that(row(tool(session, "GroupsCommand", "--list"), group).contains("Share"), "kafka-groups --list");
        Check.eventually("it is empty", () ->
                row(tool(session, shareGroups, "--describe", "--group", group, "--state"), group).contains("Empty"));
        String offsets = tool(session, shareGroups, "--describe", "--group", group, "--offsets");
        Check.that(Pattern.compile(group + "\\s+" + topic + "\\s+0\\s+\\d+\\s+2").matcher(offsets).find(),
                "lag: " + offsets);
        String reset = tool(session, shareGroups, "--reset-offsets", "--group", group, "--topic", topic,
                "--to-earliest", "--execute");
        Check.that(Pattern.compile(topic + "\\s+0\\s+0").matcher(reset).find(), "reset to the beginning: " + reset);
        String[] reject = plus(consume, "--max-messages", "7", "--reject");
        Check.equal(7L, tool(session, "consumer.ConsoleShareConsumer", reject).lines().count(), "all anew, and rejected");
        Check.eventually("it is empty again", () ->
                row(tool(session, shareGroups, "--describe", "--group", group, "--state"), group).contains("Empty"));
        offsets = tool(session, shareGroups, "--describe", "--group", group);
        Check.that(Pattern.compile(group + "\\s+" + topic + "\\s+0\\s+\\d+\\s+0").matcher(offsets).find(),
                "nothing is left: " + offsets);
        tool(session, shareGroups, "--delete-offsets", "--group", group, "--topic", topic);
        Check.that(Tool.run("", shareGroups, args(session, "--describe", "--group", group, "--offsets")).out().lines()
                .noneMatch(line -> line.contains(topic)), "the topic's offsets are gone");
    }

    private static void groupAdmin(Session session) throws Exception {
        String topic = session.topic(2);
        session.fill(topic, 0, 10);
        session.fill(topic, 1, 10);
        String group = session.name();
        var seen = new ConcurrentHashMap<String, Integer>();
        Member member = session.closing(new Member(session, group, topic, seen, "client.id", "the-reader"));
        Check.eventually("all is read", () -> seen.size() == 20);
        Check.that(tool(session, GROUPS, "--list").lines().anyMatch(line -> line.strip().equals(group)), "--list");
        Check.that(row(tool(session, GROUPS, "--list", "--state"), group).contains("Stable"), "--list --state");
        Check.that(row(tool(session, "GroupsCommand", "--list"), group).contains("Classic"), "kafka-groups --list");
        String members = tool(session, GROUPS, "--describe", "--group", group, "--members", "--verbose");
        Check.that(row(members, group).contains("the-reader") && row(members, group).contains(topic), "members: " + members);
        String state = tool(session, GROUPS, "--describe", "--group", group, "--state");
        Check.that(row(state, group).contains("range") && row(state, group).contains("Stable"), "state: " + state);
        Check.that(Tool.run("", GROUPS, args(session, "--delete", "--group", group)).out().contains("GroupNotEmptyException"),
                "a group with members is not deleted");
        member.leave();
        session.fill(topic, 1, 5);
        String offsets = tool(session, GROUPS, "--describe", "--group", group, "--offsets");
        var zero = Pattern.compile(group + "\\s+" + topic + "\\s+0\\s+10\\s+10\\s+0\\s").matcher(offsets);
        var one = Pattern.compile(group + "\\s+" + topic + "\\s+1\\s+10\\s+15\\s+5\\s").matcher(offsets);
        Check.that(zero.find() && one.find(), "position, end and lag: " + offsets);
        String deleted = tool(session, GROUPS, "--delete", "--group", group);
        Check.that(deleted.contains("was successful"), "delete: " + deleted);
        Check.that(tool(session, GROUPS, "--list").lines().noneMatch(line -> line.strip().equals(group)), "list after it");
    }

    private static void groupReset(Session session) throws Exception {
        String topic = session.topic(1);
        session.fill(topic, 0, 20);
        String group = session.name();
        String[][] resets = {
            {"20", "--to-latest"}, {"0", "--to-earliest"}, {"7", "--to-offset", "7"}, {"10", "--shift-by", "3"},
            {"10", "--to-current"}, {"20", "--to-datetime", "2999-01-01T00:00:00.000"},
            {"0", "--by-duration", "P1D"},
        };
        for (String[] reset : resets) {
            String out = tool(session, GROUPS, plus(Arrays.copyOfRange(reset, 1, reset.length),
                    "--reset-offsets", "--group", group, "--topic", topic, "--execute"));
            Check.that(row(out, group).matches(group + "\\s+" + topic + "\\s+0\\s+" + reset[0] + "\\s*"), "reset: " + out);
            Check.equal(Long.valueOf(reset[0]),
                    GroupScenarios.committed(session, group).values().iterator().next(), "position after " + reset[1]);
        }
        String dry = tool(session, GROUPS, "--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--dry-run");
        Check.that(row(dry, group).contains("20"), "dry run: " + dry);
        Check.equal(0L, GroupScenarios.committed(session, group).values().iterator().next(), "unmoved by the dry run");
    }

    /** The line that speaks of this group. */
    static String row(String table, String group) {
        return table.lines().filter(line -> line.startsWith(group)).findFirst().orElse("(no row for " + group + " in " + table + ")");
    }

    static String tool(Session session, String tool, String... args) throws Exception {
        return Tool.ok("", tool, args(session, args));
    }

    private static String feed(Session session, String input, String tool, String... args) throws Exception {
        return Tool.ok(input, tool, args(session, args));
    }

    static String[] args(Session session, String... args) {
        return plus(args, "--bootstrap-server", session.bootstrap);
    }

    static String[] plus(String[] args, String... more) {
        var all = new ArrayList<>(List.of(args));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    private ToolScenarios() {}
}
