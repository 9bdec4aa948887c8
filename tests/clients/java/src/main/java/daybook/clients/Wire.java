package daybook.clients;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ApiVersionsResponse;
import org.apache.kafka.common.requests.RequestHeader;

/** One connection that speaks any version of any request, with Kafka's own encoder and decoder. */
final class Wire implements AutoCloseable {
    private final Socket socket;
    private int correlation = 0;

    Wire(String bootstrap) throws IOException {
        int colon = bootstrap.lastIndexOf(':');
        socket = new Socket(bootstrap.substring(0, colon), Integer.parseInt(bootstrap.substring(colon + 1)));
        socket.setSoTimeout((int) Check.PATIENCE.toMillis());
    }

    /** Newest version that both sides know, by API, with the oldest the server knows. */
    Map<ApiKeys, short[]> versions() throws IOException {
        var request = new ApiVersionsRequestData().setClientSoftwareName("wire").setClientSoftwareVersion("1");
        var answer = (ApiVersionsResponse) call(ApiKeys.API_VERSIONS, (short) 3, request);
        Map<ApiKeys, short[]> versions = new HashMap<>();
        for (var api : answer.data().apiKeys()) {
            if (ApiKeys.hasId(api.apiKey())) {
                ApiKeys key = ApiKeys.forId(api.apiKey());
                short newest = (short) Math.min(api.maxVersion(), key.latestVersion());
                versions.put(key, new short[] {(short) Math.max(api.minVersion(), key.oldestVersion()), newest});
            }
        }
        return versions;
    }

    /** The answer, decoded to its last byte. */
    AbstractResponse call(ApiKeys api, short version, ApiMessage request) throws IOException {
        var header = new RequestHeader(api, version, "wire", ++correlation);
        ByteBuffer answer = exchange(header, version, request);
        AbstractResponse response = AbstractResponse.parseResponse(answer, header);
        Check.equal(0, answer.remaining(), "bytes after the answer to " + api + " " + version);
        return response;
    }

    /** The answer's bytes; the request is encoded as {@code bodyVersion} whatever its header says. */
    ByteBuffer exchange(RequestHeader header, short bodyVersion, ApiMessage request) throws IOException {
        var cache = new ObjectSerializationCache();
        short headerVersion = header.headerVersion();
        int size = header.data().size(cache, headerVersion) + request.size(cache, bodyVersion);
        ByteBuffer out = ByteBuffer.allocate(4 + size);
        out.putInt(size);
        var writer = new ByteBufferAccessor(out);
        header.data().write(writer, cache, headerVersion);
        request.write(writer, cache, bodyVersion);
        socket.getOutputStream().write(out.array(), 0, out.position());
        var in = new DataInputStream(socket.getInputStream());
        byte[] answer = new byte[in.readInt()];
        in.readFully(answer);
        return ByteBuffer.wrap(answer);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
