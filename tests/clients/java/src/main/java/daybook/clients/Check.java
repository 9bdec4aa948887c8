package daybook.clients;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;

/** Assertions whose messages say what was compared, and waiting that ends in a failure, not in a hang. */
final class Check {
    /** How long anything may take that has no limit of its own. Generous: the machine may be busy with other work. */
    static final Duration PATIENCE = Duration.ofSeconds(30);

    interface Action {
        void run() throws Exception;
    }

    static void equal(Object want, Object got, String what) {
        if (!Objects.equals(want, got)) {
            throw new AssertionError(what + ": want " + shorten(want) + ", got " + shorten(got));
        }
    }

    static void that(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    /** The action must fail with exactly this kind of error, be it thrown or inside a future. */
    static <E extends Throwable> E fails(Class<E> kind, String what, Action action) {
        try {
            action.run();
        } catch (Throwable thrown) {
            Throwable cause = thrown instanceof ExecutionException ? thrown.getCause() : thrown;
            if (kind.isInstance(cause)) {
                return kind.cast(cause);
            }
            throw new AssertionError(what + ": want " + kind.getSimpleName(), cause);
        }
        throw new AssertionError(what + ": want " + kind.getSimpleName() + ", but it succeeded");
    }

    /** For what the server is free to show a moment later, such as a deleted topic's absence from a list. */
    static void eventually(String what, Callable<Boolean> holds) throws Exception {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!holds.call()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not within " + PATIENCE.toSeconds() + " s: " + what);
            }
            Thread.sleep(20);
        }
    }

    private static String shorten(Object value) {
        String text = String.valueOf(value);
        return text.length() <= 600 ? text : text.substring(0, 600) + "… (" + text.length() + " characters)";
    }

    private Check() {}
}
