package daybook.clients;

import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;

/** The two applications that the scenarios of Kafka Streams run; the word count also as a program, to be killed. */
final class StreamsApp {
    /** Runs until it is killed: {@code StreamsApp BOOTSTRAP APPLICATION DIRECTORY LINES COUNTS}. */
    public static void main(String[] args) {
        KafkaStreams streams = start(wordCount(args[3], args[4]), args[0], args[1], args[2]);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(20))));
    }

    /** Every word gives one record: the word and how often it has been seen by then. */
    static Topology wordCount(String lines, String counts) {
        var builder = new StreamsBuilder();
        builder.stream(lines, Consumed.with(Serdes.String(), Serdes.String()))
                .flatMapValues(line -> Arrays.asList(line.split(" ")))
                // Grouping by another key sends the words through a repartition topic.
                .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
                .count(Materialized.as("counts"))
                .toStream()
                .mapValues(count -> Long.toString(count))
                .to(counts, Produced.with(Serdes.String(), Serdes.String()));
        return builder.build();
    }

    /**
     * Orders (key: order, value: customer) meet their payments (key: order, value: amount) in a window, then the
     * customer's name from a table. Out comes, by customer, {@code order amount name}.
     */
    static Topology join(String orders, String payments, String customers, String joined) {
        var builder = new StreamsBuilder();
        var strings = Consumed.with(Serdes.String(), Serdes.String());
        var names = builder.table(customers, strings);
        var paid = builder.stream(payments, strings);
        builder.stream(orders, strings)
                .join(paid, (order, customer, amount) -> customer + " " + order + " " + amount,
                        JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ofMinutes(10)),
                        StreamJoined.with(Serdes.String(), Serdes.String(), Serdes.String()).withStoreName("paid"))
                .map((order, text) -> {
                    String[] words = text.split(" ", 2);
                    return KeyValue.pair(words[0], words[1]);
                })
                .join(names, (text, name) -> text + " " + name,
                        Joined.with(Serdes.String(), Serdes.String(), Serdes.String()))
                .to(joined, Produced.with(Serdes.String(), Serdes.String()));
        return builder.build();
    }

    static KafkaStreams start(Topology topology, String bootstrap, String application, String directory) {
        var config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("application.id", application);
        config.put("state.dir", directory);
        config.put("processing.guarantee", "exactly_once_v2");
        // Every update comes out, none is merged with the next.
        config.put("statestore.cache.max.bytes", "0");
        // Long enough for a transaction to be found open.
        config.put("commit.interval.ms", "500");
        // A member that was killed holds its group up for as long.
        config.put("consumer.session.timeout.ms", "6000");
        config.put("consumer.heartbeat.interval.ms", "500");
        config.put("consumer.auto.offset.reset", "earliest");
        var streams = new KafkaStreams(topology, config);
        streams.setUncaughtExceptionHandler(thrown -> {
            thrown.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        return streams;
    }

    private StreamsApp() {}
}
