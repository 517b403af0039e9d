import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own client under the suite {@code transactions}, see {@code compat/clients/python/txn_spec.py}: {@code write BOOTSTRAP TOPIC},
 * {@code read BOOTSTRAP TOPIC LEVEL}, {@code transform BOOTSTRAP INPUT OUTPUT GROUP TRANSACTIONAL-ID}.
 */
public class TransactionClient {
    static final int PARTITIONS = 3;
    static final int RECORDS = 10;
    static final double ABORT_SHARE = 0.1;
    static final int DEFAULT_TIMEOUT_MS = 60_000;
    static final int LATE_TIMEOUT_MS = 4_000;
    static final int LATE_MS = 15_000;

    final String bootstrap;
    final String topic;
    KafkaProducer<String, String> producer;

    TransactionClient(String bootstrap, String topic) {
        this.bootstrap = bootstrap;
        this.topic = topic;
    }

    public static void main(String[] arguments) {
        TransactionClient client = new TransactionClient(arguments[1], arguments[2]);
        switch (arguments[0]) {
            case "write" -> client.write();
            case "read" -> client.read(arguments[3]);
            default -> client.transform(arguments[3], arguments[4], arguments[5]);
        }
        System.out.flush();
    }

    void write() {
        producer = producer(topic + "-id");
        report("two in a row", () -> commit("first", "second"));
        report("abort", () -> {
            producer.beginTransaction();
            send("aborted");
            producer.abortTransaction();
            return commit("after");
        });
        report("offsets", () -> {
            sendWithOffset("offsets", 5);
            producer.commitTransaction();
            sendWithOffset("no-offsets", 8);
            producer.abortTransaction();
            return "";
        });
        report("fencing", this::fence);
        report("timeout", this::outlive);
        producer.close();
    }

    static void report(String name, Callable<String> what) {
        try {
            System.out.println(name + "\tok\t" + what.call());
        } catch (Exception | AssertionError e) {
            System.out.println(name + "\tFAIL\t" + e.toString().replaceAll("\\s+", " "));
        }
    }

    KafkaProducer<String, String> producer(String transactionalId) {
        return producer(transactionalId, DEFAULT_TIMEOUT_MS);
    }

    KafkaProducer<String, String> producer(String transactionalId, int timeoutMs) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("transactional.id", transactionalId);
        config.put("transaction.timeout.ms", timeoutMs);
        config.put("max.block.ms", "60000");
        config.put("reconnect.backoff.max.ms", "200");
        var made = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        made.initTransactions();
        return made;
    }

    String commit(String... phases) throws Exception {
        for (String phase : phases) {
            producer.beginTransaction();
            send(phase);
            producer.commitTransaction();
        }
        return "";
    }

    void send(String phase) throws Exception {
        List<java.util.concurrent.Future<?>> sent = new ArrayList<>();
        for (int n = 0; n < RECORDS; n++) {
            sent.add(producer.send(new ProducerRecord<>(topic, n % PARTITIONS, null, phase + "-" + n)));
        }
        producer.flush();
        for (var one : sent) one.get();
    }

    void sendWithOffset(String phase, long offset) throws Exception {
        producer.beginTransaction();
        send(phase);
        try (var consumer = consumer(Map.of("group.id", topic + "-group"))) {
            var next = Map.of(new TopicPartition(topic + "-in", 0), new OffsetAndMetadata(offset));
            producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
        }
    }

    String fence() throws Exception {
        producer.beginTransaction();
        send("zombie");
        var first = producer;
        producer = producer(topic + "-id");
        commit("heir");
        try {
            first.commitTransaction();
        } catch (KafkaException e) {
            first.close(Duration.ZERO);
            return e.getClass().getSimpleName();
        }
        throw new AssertionError("the first instance committed");
    }

    String outlive() throws Exception {
        producer.close();
        producer = producer(topic + "-late", LATE_TIMEOUT_MS);
        producer.beginTransaction();
        send("late");
        Thread.sleep(LATE_MS);
        try {
            producer.commitTransaction();
        } catch (KafkaException e) {
            producer.close(Duration.ZERO);
            producer = producer(topic + "-late", LATE_TIMEOUT_MS);
            commit("in-time");
            return e.getClass().getSimpleName();
        }
        throw new AssertionError("it committed after its time");
    }

    KafkaConsumer<String, String> consumer(Map<String, String> more) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        config.put("reconnect.backoff.max.ms", "200");
        config.putAll(more);
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    void read(String level) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (int p = 0; p < PARTITIONS; p++) partitions.add(new TopicPartition(topic, p));
        try (var consumer = consumer(Map.of("isolation.level", level))) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            var ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> System.out.println(record.value()));
            }
        }
    }

    /** Passes records on from {@code topic} exactly once; ends with an error when it cannot go on, to be started again. */
    void transform(String target, String group, String transactionalId) {
        var consumer = consumer(Map.of("group.id", group, "isolation.level", "read_committed", "max.poll.records", "100",
            "session.timeout.ms", "6000", "heartbeat.interval.ms", "500"));
        consumer.subscribe(List.of(topic));
        producer = producer(transactionalId);
        while (true) {
            var records = consumer.poll(Duration.ofMillis(200));
            if (records.isEmpty()) continue;
            try {
                passOn(consumer, records, target);
            } catch (ProducerFencedException | InvalidProducerEpochException | OutOfOrderSequenceException
                     | AuthorizationException e) {
                throw e;
            } catch (KafkaException e) {
                producer.abortTransaction();
                goBack(consumer);
            }
        }
    }

    void passOn(KafkaConsumer<String, String> consumer, ConsumerRecords<String, String> records, String target) {
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> next = new java.util.HashMap<>();
        for (ConsumerRecord<String, String> record : records) {
            producer.send(new ProducerRecord<>(target, record.partition(), null, record.value()));
            next.put(new TopicPartition(topic, record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        if (ThreadLocalRandom.current().nextDouble() < ABORT_SHARE) {
            producer.flush();
            throw new KafkaException("aborted on purpose");
        }
        producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
        producer.commitTransaction();
    }

    /** To what is committed, since the transaction did not take its records. */
    static void goBack(KafkaConsumer<String, String> consumer) {
        var committed = consumer.committed(consumer.assignment());
        for (TopicPartition partition : consumer.assignment()) {
            var place = committed.get(partition);
            consumer.seek(partition, place == null ? 0 : place.offset());
        }
    }
}
