package daybook.clients;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A program in a JVM of its own, so that it can be killed in the middle of its work. */
final class Child implements AutoCloseable {
    private final String name;
    private final Process process;
    /** What it has printed, the newest last; guarded by itself. */
    private final List<String> lines = new ArrayList<>();

    private static final int LINES_MAX = 400;

    Child(String classpath, String mainClass, String... args) throws IOException {
        name = mainClass;
        var command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-Xmx512M",
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classpath, mainClass));
        command.addAll(List.of(args));
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        Thread reader = new Thread(this::read, "output of " + name);
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        try (BufferedReader out = process.inputReader()) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                synchronized (lines) {
                    lines.add(line);
                    if (lines.size() > LINES_MAX) {
                        lines.remove(0);
                    }
                }
            }
        } catch (IOException ended) {
            // The stream breaks when the process is killed.
        }
    }

    String output() {
        synchronized (lines) {
            return String.join("\n| ", lines);
        }
    }

    /** Fails at once if the program has ended, for whoever waits for something that it should do. */
    void mustBeAlive() {
        Check.that(process.isAlive(), name + " ended too early:\n| " + output());
    }

    /** As the system does it when memory runs out: without a word to anyone. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor();
    }

    /** As an administrator does it; the program has time to finish what it does. */
    void terminate() throws InterruptedException {
        process.destroy();
        boolean ended = process.waitFor(Check.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        Check.that(ended, name + " did not end after SIGTERM:\n| " + output());
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
