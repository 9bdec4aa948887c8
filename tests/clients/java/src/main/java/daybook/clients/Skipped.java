package daybook.clients;

/** Thrown by a scenario that can't be tried on this server; the message is the reason. */
final class Skipped extends Exception {
    Skipped(String reason) {
        super(reason);
    }
}
