package daybook.clients;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs one of Kafka's command line tools inside this JVM, as if it had been started from a shell: a fresh JVM for each
 * of some fifty calls would take most of a minute. Standard streams are the process's own, so one tool at a time.
 */
record Tool(int status, String out, String err) {
    private static final class Exited extends RuntimeException {
        Exited() {
            super("the tool has exited", null, false, false);
        }
    }

    /** Runs the tool on this input and insists on its exit status being 0. */
    static String ok(String input, String tool, String... args) throws Exception {
        Tool ran = run(input, tool, args);
        Check.that(ran.status == 0, tool + " " + List.of(args) + " ended with " + ran.status + ": " + ran.out + ran.err);
        return ran.out;
    }

    /** For tools whose last words come from an exit hook of the JVM itself: in a JVM of their own. */
    static String inOwnJvm(String tool, String... args) throws Exception {
        var command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1",
                "-cp", System.getProperty("java.class.path"), "org.apache.kafka.tools." + tool));
        command.addAll(List.of(args));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        try {
            String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            Check.that(process.waitFor() == 0, tool + " " + List.of(args) + " ended with " + process.exitValue() + ": " + out);
            return out;
        } finally {
            process.destroyForcibly();
        }
    }

    static Tool run(String input, String tool, String... args) throws Exception {
        var out = new ByteArrayOutputStream();
        var err = new ByteArrayOutputStream();
        PrintStream realOut = System.out;
        PrintStream realErr = System.err;
        InputStream realIn = System.in;
        // Some tools catch what we throw in their way out and exit once more: the first word counts.
        var exited = new AtomicReference<Integer>();
        Exit.Procedure exit = (code, message) -> {
            exited.compareAndSet(null, code);
            throw new Exited();
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        var hooks = new ArrayList<Runnable>();
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
        try {
            Class.forName("org.apache.kafka.tools." + tool).getMethod("main", String[].class).invoke(null, (Object) args);
        } catch (InvocationTargetException thrown) {
            if (exited.get() == null) {
                throw new AssertionError(tool + " " + List.of(args) + " threw; " + out + err, thrown.getCause());
            }
        } finally {
            hooks.forEach(Runnable::run);
            System.out.flush();
            System.setOut(realOut);
            System.setErr(realErr);
            System.setIn(realIn);
        }
        int status = exited.get() == null ? 0 : exited.get();
        return new Tool(status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }
}
