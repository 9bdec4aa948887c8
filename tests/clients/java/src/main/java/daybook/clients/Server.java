package daybook.clients;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.Socket;

/** The server as far as a scenario can have it restarted: by asking {@code ../run}, which started it. */
final class Server {
    /** Ends the server without warning and starts it again on the same address and data; returns when it is ready. */
    static void restart() throws Exception {
        String address = System.getenv("CLIENTS_RESTART");
        if (address == null) {
            throw new Skipped("a server that was there already is not restarted");
        }
        int colon = address.lastIndexOf(':');
        try (Socket socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
                BufferedReader answers = new BufferedReader(new InputStreamReader(socket.getInputStream()))) {
            Check.equal("ready", answers.readLine(), "the answer to the wish for a restart");
        }
    }

    private Server() {}
}
