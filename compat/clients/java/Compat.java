import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own Java client under {@code compat/run}: writes the common records, reads them back, compares. It compiles against every
 * client library from 2.1 on.
 */
public class Compat {
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    static final int PARTITIONS = 64;
    static final int RECORDS_EACH = 10;
    static final int SEQUENCE = 5000;
    static final Duration TIMEOUT = Duration.ofSeconds(60);

    record Content(byte[] key, byte[] value, List<Header> headers) {}

    interface Case {
        void run() throws Exception;
    }

    final String bootstrap;
    final String prefix;

    Compat(String bootstrap, String prefix) {
        this.bootstrap = bootstrap;
        this.prefix = prefix;
    }

    public static void main(String[] arguments) {
        Compat compat = new Compat(arguments[1], arguments[2]);
        if (arguments[0].equals("write")) compat.write();
        else compat.check();
        System.out.flush();
    }

    static List<Content> records() {
        byte[] big = new byte[1_000_000];
        for (int i = 0; i < big.length; i++) big[i] = (byte) ('a' + i % 26);
        List<Header> headers = List.of(header("h", "a"), header("h", "b"), header("empty", ""), header("none", null));
        return List.of(new Content(bytes("key-0"), bytes("value-0"), headers), content(null, "no key"),
            content("no value", null), content(null, null), content("", ""),
            new Content(bytes("big"), big, List.of()), content("ünïcode", "日本 Ω"));
    }

    static Content content(String key, String value) {
        return new Content(bytes(key), bytes(value), List.of());
    }

    static Header header(String name, String value) {
        return new RecordHeader(name, bytes(value));
    }

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    static void report(String name, Case what) {
        try {
            what.run();
            System.out.println(name + "\tok\t");
        } catch (Exception | AssertionError e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            System.out.println(name + "\tFAIL\t" + String.valueOf(cause).replaceAll("\\s+", " "));
        }
    }

    void write() {
        report("topics", this::createTopics);
        for (String codec : CODECS) {
            report(codec, () -> {
                try (var producer = producer(Map.of("compression.type", codec))) {
                    send(producer, codec, 0, records());
                }
            });
        }
        report("partitions", () -> {
            try (var producer = producer(Map.of())) {
                for (int p = 0; p < PARTITIONS; p++) send(producer, "partitions", p, texts(p + "-", RECORDS_EACH));
            }
        });
        report("idempotent", () -> {
            try (var producer = producer(Map.of("enable.idempotence", "true"))) {
                send(producer, "idempotent", 0, texts("", SEQUENCE));
            }
        });
    }

    static List<Content> texts(String before, int count) {
        List<Content> texts = new ArrayList<>();
        for (int i = 0; i < count; i++) texts.add(content(null, before + i));
        return texts;
    }

    void createTopics() throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        for (String codec : CODECS) topics.add(new NewTopic(prefix + "-" + codec, 1, (short) 1));
        topics.add(new NewTopic(prefix + "-partitions", PARTITIONS, (short) 1));
        topics.add(new NewTopic(prefix + "-idempotent", 1, (short) 1));
        try (AdminClient admin = AdminClient.create(Map.<String, Object>of("bootstrap.servers", bootstrap))) {
            admin.createTopics(topics).all().get();
        }
        try (var producer = producer(Map.of())) {
            expect(producer.partitionsFor(prefix + "-partitions").size() == PARTITIONS, "64 partitions");
        }
    }

    KafkaProducer<byte[], byte[]> producer(Map<String, String> more) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("acks", "all");
        settings.putAll(more);
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    void send(KafkaProducer<byte[], byte[]> producer, String topic, int partition, List<Content> records)
            throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (Content r : records) {
            sent.add(producer.send(
                new ProducerRecord<>(prefix + "-" + topic, partition, null, r.key(), r.value(), r.headers())));
        }
        for (int i = 0; i < sent.size(); i++) expect(sent.get(i).get().offset() == i, "record " + i + " has its offset");
    }

    void check() {
        for (String codec : CODECS) report(codec, () -> compare(read(codec, 1).get(0), records()));
        report("partitions", () -> {
            var read = read("partitions", PARTITIONS);
            for (int p = 0; p < PARTITIONS; p++) compare(read.get(p), texts(p + "-", RECORDS_EACH));
        });
        report("idempotent", () -> compare(read("idempotent", 1).get(0), texts("", SEQUENCE)));
    }

    /** Every partition from its beginning to the end it had at first, by direct assignment. */
    List<List<ConsumerRecord<byte[], byte[]>>> read(String topic, int count) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "enable.auto.commit", false);
        List<TopicPartition> partitions = new ArrayList<>();
        List<List<ConsumerRecord<byte[], byte[]>>> read = new ArrayList<>();
        for (int p = 0; p < count; p++) {
            partitions.add(new TopicPartition(prefix + "-" + topic, p));
            read.add(new ArrayList<>());
        }
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            var ends = consumer.endOffsets(partitions);
            long limit = System.nanoTime() + TIMEOUT.toNanos();
            while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                consumer.poll(Duration.ofMillis(500)).forEach(r -> read.get(r.partition()).add(r));
                expect(System.nanoTime() < limit, "the end is reached in time");
            }
        }
        return read;
    }

    static void compare(List<ConsumerRecord<byte[], byte[]>> read, List<Content> expected) {
        expect(read.size() == expected.size(), read.size() + " records, expected " + expected.size());
        for (int i = 0; i < read.size(); i++) {
            ConsumerRecord<byte[], byte[]> have = read.get(i);
            Content want = expected.get(i);
            expect(have.offset() == i, "record " + i + " at its offset");
            expect(have.timestamp() > 0, "record " + i + " has a timestamp");
            expect(Arrays.equals(have.key(), want.key()), "key of record " + i);
            expect(Arrays.equals(have.value(), want.value()), "value of record " + i);
            expect(Arrays.asList(have.headers().toArray()).equals(want.headers()), "headers of record " + i);
        }
    }

    static void expect(boolean holds, String what) {
        if (!holds) throw new AssertionError("not so: " + what);
    }
}
