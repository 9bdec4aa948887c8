package daybook.clients;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs the scenarios of one client in this process: {@code Main CLIENT BOOTSTRAP [SCENARIO]...}, or with {@code --list}
 * in place of the bootstrap address prints their names. Each ends in one line {@code RESULT name pass|fail|skip seconds};
 * a failure's story precedes it in lines that open with a bar.
 */
public final class Main {
    interface Scenario {
        void run(Session session) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        switch (args[0]) {
            case "java" -> {
                VersionScenarios.add(scenarios);
                TopicScenarios.add(scenarios);
                CleaningScenarios.add(scenarios);
                ProduceScenarios.add(scenarios);
                ReadScenarios.add(scenarios);
                GroupScenarios.add(scenarios);
                ConsumerProtocolScenarios.add(scenarios);
                CommitScenarios.add(scenarios);
                ShareScenarios.add(scenarios);
                StreamScenarios.add(scenarios);
                AdminScenarios.add(scenarios);
            }
            case "tools" -> {
                ToolScenarios.add(scenarios);
                AdminToolScenarios.add(scenarios);
                ChangeToolScenarios.add(scenarios);
            }
            case "streams" -> StreamsScenarios.add(scenarios);
            case "connect" -> ConnectScenarios.add(scenarios);
            default -> throw new IllegalArgumentException("no client is called " + args[0]);
        }
        if (args[1].equals("--list")) {
            scenarios.keySet().forEach(System.out::println);
            return;
        }
        List<String> asked = new ArrayList<>(List.of(args).subList(2, args.length));
        // The tools' scenarios redirect System.out, so results go to the stream that was there at the start.
        PrintStream results = System.out;
        boolean failed = false;
        for (var scenario : scenarios.entrySet()) {
            if (!asked.isEmpty() && !asked.contains(scenario.getKey())) {
                continue;
            }
            failed |= !runOne(args[1], scenario.getKey(), scenario.getValue(), results);
        }
        System.exit(failed ? 1 : 0);
    }

    private static boolean runOne(String bootstrap, String name, Scenario scenario, PrintStream results) {
        long start = System.nanoTime();
        Throwable failure = null;
        try (Session session = new Session(bootstrap, name)) {
            scenario.run(session);
        } catch (Skipped reason) {
            results.printf("RESULT %s skip %.2f %s%n", name, (System.nanoTime() - start) / 1e9, reason.getMessage());
            results.flush();
            return true;
        } catch (Throwable thrown) {
            failure = thrown;
        }
        if (failure != null) {
            for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
                results.println("| " + cause.toString().replace("\n", "\n| "));
                for (StackTraceElement frame : cause.getStackTrace()) {
                    if (frame.getClassName().startsWith("daybook.")) {
                        results.println("|     at " + frame);
                    }
                }
            }
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        results.printf("RESULT %s %s %.2f%n", name, failure == null ? "pass" : "fail", seconds);
        results.flush();
        return failure == null;
    }
}
