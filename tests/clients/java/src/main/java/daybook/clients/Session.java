package daybook.clients;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * One scenario's view of the server: an admin client, and makers of producers and consumers, all closed at its end.
 * Names it hands out are new in every run, so that a server with data from earlier runs will do.
 */
final class Session implements AutoCloseable {
    final String bootstrap;
    final Admin admin;
    private final String prefix;
    private final List<AutoCloseable> open = new ArrayList<>();
    private int names = 0;

    Session(String bootstrap, String scenario) {
        this.bootstrap = bootstrap;
        this.prefix = "java-" + scenario.replace('_', '-') + "-" + Long.toString(System.nanoTime(), 36);
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap, "default.api.timeout.ms", 30_000));
    }

    /** For scenarios about what a server need not offer: without these requests they are skipped, by name. */
    void needs(ApiKeys... apis) throws Exception {
        try (Wire wire = new Wire(bootstrap)) {
            var offered = wire.versions();
            for (ApiKeys api : apis) {
                if (!offered.containsKey(api)) {
                    throw new Skipped("the server does not answer " + api.name);
                }
            }
        }
    }

    String name() {
        return prefix + "-" + names++;
    }

    String topic(int partitions, String... configs) throws Exception {
        String topic = name();
        create(new NewTopic(topic, partitions, (short) 1).configs(pairs(configs)));
        return topic;
    }

    /** Returns when the topic can be described: Kafka's brokers may learn of it a moment after it was created. */
    void create(NewTopic topic) throws Exception {
        admin.createTopics(List.of(topic)).all().get();
        Check.eventually(topic.name() + " can be described", () -> {
            try {
                admin.describeTopics(List.of(topic.name())).allTopicNames().get();
                return true;
            } catch (ExecutionException failed) {
                if (failed.getCause() instanceof UnknownTopicOrPartitionException) {
                    return false;
                }
                throw failed;
            }
        });
    }

    KafkaProducer<byte[], byte[]> producer(String... configs) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", bootstrap));
        all.putAll(pairs(configs));
        return closing(new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer()));
    }

    /** Reads from the beginning and commits only when told to, unless configured otherwise. */
    KafkaConsumer<byte[], byte[]> consumer(String... configs) {
        Map<String, Object> all = new HashMap<>(Map.of(
                "bootstrap.servers", bootstrap, "auto.offset.reset", "earliest", "enable.auto.commit", "false",
                // After a seek the fetch under way must end before the next begins; half a second, the default, is long.
                "fetch.max.wait.ms", "50"));
        all.putAll(pairs(configs));
        return closing(new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
    }

    /** Sends all, flushes, and returns where each went. */
    List<RecordMetadata> send(KafkaProducer<byte[], byte[]> producer, List<ProducerRecord<byte[], byte[]>> records)
            throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (var record : records) {
            sent.add(producer.send(record));
        }
        producer.flush();
        List<RecordMetadata> where = new ArrayList<>();
        for (var future : sent) {
            where.add(future.get());
        }
        return where;
    }

    /** Values {@code 0..count} as text, without keys, to one partition. */
    void fill(String topic, int partition, int count) throws Exception {
        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (int i = 0; i < count; i++) {
            records.add(new ProducerRecord<>(topic, partition, null, bytes("" + i)));
        }
        send(producer(), records);
    }

    /** Every record of the topic, partition by partition, each partition in order. */
    List<ConsumerRecord<byte[], byte[]>> readAll(String topic, String... configs) {
        var consumer = consumer(configs);
        var partitions = partitions(consumer, topic);
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
        long end = System.nanoTime() + Check.PATIENCE.toNanos();
        Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> got = new HashMap<>();
        while (!partitions.stream().allMatch(p -> consumer.position(p) >= ends.get(p))) {
            Check.that(System.nanoTime() < end, "reading " + topic + " came no further than " + got + ", ends " + ends);
            for (var record : consumer.poll(Duration.ofMillis(200))) {
                got.computeIfAbsent(partition(record), p -> new ArrayList<>()).add(record);
            }
        }
        consumer.close();
        var all = new ArrayList<ConsumerRecord<byte[], byte[]>>();
        for (var p : partitions) {
            all.addAll(got.getOrDefault(p, List.of()));
        }
        return all;
    }

    /** Polls until so many records have come; more than that is a failure, as is too long a wait. */
    static List<ConsumerRecord<byte[], byte[]>> poll(KafkaConsumer<byte[], byte[]> consumer, int count) {
        var got = new ArrayList<ConsumerRecord<byte[], byte[]>>();
        long end = System.nanoTime() + Check.PATIENCE.toNanos();
        while (got.size() < count) {
            Check.that(System.nanoTime() < end, "polled " + got.size() + " records in time, want " + count);
            consumer.poll(Duration.ofMillis(200)).forEach(got::add);
        }
        Check.equal(count, got.size(), "records polled");
        return got;
    }

    static List<TopicPartition> partitions(KafkaConsumer<?, ?> consumer, String topic) {
        return consumer.partitionsFor(topic).stream()
                .map(info -> new TopicPartition(topic, info.partition()))
                .sorted((a, b) -> a.partition() - b.partition())
                .toList();
    }

    static TopicPartition partition(ConsumerRecord<?, ?> record) {
        return new TopicPartition(record.topic(), record.partition());
    }

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    static List<String> values(Collection<ConsumerRecord<byte[], byte[]>> records) {
        return records.stream().map(record -> text(record.value())).toList();
    }

    /** Bytes that no codec makes smaller, the same for the same seed. */
    static byte[] noise(int size, long seed) {
        byte[] bytes = new byte[size];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    static Map<String, String> pairs(String... words) {
        Map<String, String> pairs = new HashMap<>();
        for (int i = 0; i < words.length; i += 2) {
            pairs.put(words[i], words[i + 1]);
        }
        return pairs;
    }

    <C extends AutoCloseable> C closing(C closeable) {
        synchronized (open) {
            open.add(closeable);
        }
        return closeable;
    }

    @Override
    public void close() throws Exception {
        for (AutoCloseable closeable : open) {
            // A scenario that failed may leave a consumer with another thread; its complaint must not hide the failure.
            try {
                if (closeable instanceof KafkaConsumer<?, ?> consumer) {
                    consumer.close(Duration.ofSeconds(1));
                } else if (closeable instanceof KafkaProducer<?, ?> producer) {
                    producer.close(Duration.ofSeconds(1));
                } else {
                    closeable.close();
                }
            } catch (Exception ignored) {
            }
        }
        admin.close(Duration.ofSeconds(1));
    }
}
