package daybook.clients;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** Kafka Connect's standalone worker with its file connectors: what goes in at one file comes out at another. */
final class ConnectScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("file_to_file", ConnectScenarios::fileToFile);
    }

    private static void fileToFile(Session session) throws Exception {
        String topic = session.topic(1);
        Path directory = Files.createTempDirectory("daybook-connect-");
        session.closing(() -> {
            try (var paths = Files.walk(directory)) {
                paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            }
        });
        Path source = directory.resolve("source.txt");
        Path sink = directory.resolve("sink.txt");
        String[] worker = {
            write(directory.resolve("worker.properties"),
                    "bootstrap.servers=" + session.bootstrap,
                    "listeners=http://127.0.0.1:0",
                    "key.converter=org.apache.kafka.connect.storage.StringConverter",
                    "value.converter=org.apache.kafka.connect.storage.StringConverter",
                    "plugin.discovery=service_load",
                    "offset.storage.file.filename=" + directory.resolve("offsets"),
                    "offset.flush.interval.ms=500"),
            write(directory.resolve("source.properties"),
                    "name=" + session.name(), "connector.class=FileStreamSource", "tasks.max=1",
                    "file=" + source, "topic=" + topic),
            write(directory.resolve("sink.properties"),
                    "name=" + session.name(), "connector.class=FileStreamSink", "tasks.max=1",
                    "file=" + sink, "topics=" + topic),
        };
        var want = new ArrayList<String>();
        append(source, want, 500);
        try (Child connect = start(worker)) {
            awaitLines(connect, sink, want);
            append(source, want, 300);
            awaitLines(connect, sink, want);
            connect.terminate();
        }
        Check.equal(want, Files.readAllLines(sink), "the file that came out");
        Check.equal(want, Session.values(session.readAll(topic)), "records in the topic");
    }

    private static Child start(String[] worker) throws Exception {
        // Our own classes are first, with what says how to log.
        String ours = System.getProperty("java.class.path").split(File.pathSeparator)[0];
        String theirs = System.getProperty("daybook.connect") + "/*";
        return new Child(ours + File.pathSeparator + theirs, "org.apache.kafka.connect.cli.ConnectStandalone", worker);
    }

    private static void append(Path source, List<String> want, int count) throws Exception {
        var lines = new ArrayList<String>();
        for (int i = 0; i < count; i++) {
            int number = want.size() + i;
            lines.add(number % 50 == 0 ? "" : "line " + number + " — Zeile " + "x".repeat(number % 97));
        }
        Files.write(source, lines, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        want.addAll(lines);
    }

    private static void awaitLines(Child connect, Path sink, List<String> want) throws Exception {
        Check.eventually(want.size() + " lines have come through", () -> {
            connect.mustBeAlive();
            return Files.exists(sink) && Files.readAllLines(sink).size() >= want.size();
        });
    }

    private static String write(Path file, String... lines) throws Exception {
        return Files.write(file, List.of(lines)).toString();
    }

    private ConnectScenarios() {}
}
