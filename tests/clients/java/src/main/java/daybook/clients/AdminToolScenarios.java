package daybook.clients;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Kafka's command line tools for administrators, with the answers they print. */
final class AdminToolScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("configs_altered", AdminToolScenarios::configsAltered);
        scenarios.put("broker_configs", AdminToolScenarios::brokerConfigs);
        scenarios.put("client_metrics", AdminToolScenarios::clientMetrics);
        scenarios.put("quotas", AdminToolScenarios::quotas);
        scenarios.put("log_dirs", AdminToolScenarios::logDirs);
        scenarios.put("elections", AdminToolScenarios::elections);
        scenarios.put("reassignments", AdminToolScenarios::reassignments);
        scenarios.put("quorum", AdminToolScenarios::quorum);
    }

    private static String tool(Session session, String tool, String... args) throws Exception {
        var all = new ArrayList<>(List.of("--bootstrap-server", session.bootstrap));
        all.addAll(List.of(args));
        return Tool.ok("", tool, all.toArray(String[]::new));
    }

    private static String node(Session session) throws Exception {
        return session.admin.describeCluster().nodes().get().iterator().next().idString();
    }

    private static void contains(String want, String got) {
        Check.that(got.contains(want), "want " + want + " in: " + got);
    }

    private static void configsAltered(Session session) throws Exception {
        String topic = session.topic(1);
        String[] of = {"--entity-type", "topics", "--entity-name", topic};
        contains("Completed updating config for topic " + topic, tool(session, "ConfigCommand", with(of, "--alter",
                "--add-config", "retention.ms=7000,cleanup.policy=[delete,compact]")));
        Check.eventually("it is described", () -> {
            String described = tool(session, "ConfigCommand", with(of, "--describe"));
            return described.contains("  retention.ms=7000 ") && described.contains("  cleanup.policy=delete,compact ");
        });
        tool(session, "ConfigCommand", with(of, "--alter", "--delete-config", "retention.ms"));
        Check.eventually("it is back", () -> !tool(session, "ConfigCommand", with(of, "--describe")).contains("retention.ms"));
    }

    private static void brokerConfigs(Session session) throws Exception {
        String node = node(session);
        String[] one = {"--entity-type", "brokers", "--entity-name", node};
        String[] all = {"--entity-type", "brokers", "--entity-default"};
        try {
            contains("Completed updating config for broker " + node,
                    tool(session, "ConfigCommand", with(one, "--alter", "--add-config", "log.cleaner.backoff.ms=20000")));
            contains("Completed updating default config for brokers in the cluster",
                    tool(session, "ConfigCommand", with(all, "--alter", "--add-config", "log.cleaner.backoff.ms=25000")));
            Check.eventually("both levels are described", () -> tool(session, "ConfigCommand", with(one, "--describe"))
                    .contains("log.cleaner.backoff.ms=20000 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.cleaner.backoff.ms=20000, "
                            + "DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleaner.backoff.ms=25000, DEFAULT_CONFIG:log.cleaner.backoff.ms=15000}"));
            contains("log.cleaner.backoff.ms=25000", tool(session, "ConfigCommand", with(all, "--describe")));
        } finally {
            tool(session, "ConfigCommand", with(one, "--alter", "--delete-config", "log.cleaner.backoff.ms"));
            tool(session, "ConfigCommand", with(all, "--alter", "--delete-config", "log.cleaner.backoff.ms"));
        }
    }

    private static void clientMetrics(Session session) throws Exception {
        String name = session.name();
        contains("Altered client metrics config for " + name, tool(session, "ClientMetricsCommand", "--alter", "--name", name,
                "--metrics", "org.apache.kafka.consumer.", "--interval", "30000", "--match", "client_id=nobody"));
        Check.eventually("it is listed", () -> tool(session, "ClientMetricsCommand", "--list").contains(name));
        String described = tool(session, "ClientMetricsCommand", "--describe", "--name", name);
        contains("interval.ms=30000", described);
        contains("metrics=org.apache.kafka.consumer.", described);
        contains("Deleted client metrics config for " + name,
                tool(session, "ClientMetricsCommand", "--delete", "--name", name));
    }

    private static void quotas(Session session) throws Exception {
        String name = session.name();
        String[] of = {"--entity-type", "clients", "--entity-name", name};
        contains("Completed updating config for client " + name, tool(session, "ConfigCommand",
                with(of, "--alter", "--add-config", "producer_byte_rate=1024,consumer_byte_rate=2048")));
        Check.eventually("it is described", () -> {
            String described = tool(session, "ConfigCommand", with(of, "--describe"));
            return described.contains("Quota configs for client-id '" + name + "' are ")
                    && described.contains("producer_byte_rate=1024.0") && described.contains("consumer_byte_rate=2048.0");
        });
        tool(session, "ConfigCommand", with(of, "--alter", "--delete-config", "producer_byte_rate,consumer_byte_rate"));
        Check.eventually("it is gone", () -> !tool(session, "ConfigCommand", with(of, "--describe")).contains("byte_rate"));
    }

    private static void logDirs(Session session) throws Exception {
        String topic = session.topic(1);
        session.fill(topic, 0, 10);
        String described = tool(session, "LogDirsCommand", "--describe", "--topic-list", topic);
        contains("\"partition\":\"" + topic + "-0\"", described);
        contains("\"offsetLag\":0", described);
        contains("\"error\":null", described);
        Check.that(!described.contains("\"size\":0"), "it has a size: " + described);
    }

    private static void elections(Session session) throws Exception {
        String topic = session.topic(1);
        String elected = tool(session, "LeaderElectionCommand", "--election-type", "preferred", "--topic", topic,
                "--partition", "0");
        contains("Valid replica already elected for partitions " + topic + "-0", elected);
    }

    private static void reassignments(Session session) throws Exception {
        String topic = session.topic(1);
        Path plan = Files.createTempFile("reassignment", ".json");
        try {
            Files.writeString(plan, "{\"version\":1,\"partitions\":[{\"topic\":\"" + topic
                    + "\",\"partition\":0,\"replicas\":[" + node(session) + "]}]}");
            String file = plan.toString();
            contains("Successfully started partition reassignment for " + topic + "-0",
                    tool(session, "reassign.ReassignPartitionsCommand", "--execute", "--reassignment-json-file", file));
            contains("Reassignment of partition " + topic + "-0 is completed.",
                    tool(session, "reassign.ReassignPartitionsCommand", "--verify", "--reassignment-json-file", file));
            contains("No partition reassignments found.", tool(session, "reassign.ReassignPartitionsCommand", "--list"));
        } finally {
            Files.delete(plan);
        }
    }

    private static void quorum(Session session) throws Exception {
        String status = tool(session, "MetadataQuorumCommand", "describe", "--status");
        contains("LeaderId:               " + node(session), status);
        contains("MaxFollowerLag:         0", status);
    }

    private static String[] with(String[] of, String... more) {
        var all = new ArrayList<>(List.of(of));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    private AdminToolScenarios() {}
}
