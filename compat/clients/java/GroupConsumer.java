import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A Java consumer for the suite {@code groups}: BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE]. */
public class GroupConsumer {
    static final int COMMIT_EVERY = 50;
    static final Map<String, String> ASSIGNORS = Map.of("range", "RangeAssignor", "roundrobin", "RoundRobinAssignor",
        "cooperative-sticky", "CooperativeStickyAssignor");

    public static void main(String[] arguments) throws InterruptedException {
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("group.id", arguments[2]);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        config.put("reconnect.backoff.max.ms", "200");
        config.put("default.api.timeout.ms", "10000");
        config.put("key.deserializer", ByteArrayDeserializer.class.getName());
        config.put("value.deserializer", ByteArrayDeserializer.class.getName());
        if (arguments[3].equals("consumer")) {
            config.put("group.protocol", "consumer");
        } else {
            String assignor = ASSIGNORS.get(arguments[3]);
            config.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor);
            config.put("session.timeout.ms", System.getenv("SESSION_MS"));
            config.put("heartbeat.interval.ms", "500");
        }
        if (arguments.length > 4) config.put("group.instance.id", arguments[4]);
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config);
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup();
            try {
                main.join();
            } catch (InterruptedException e) {
                // The process ends anyway.
            }
        }));
        consumer.subscribe(java.util.List.of(arguments[1]), new Assigned());
        try {
            consume(consumer, arguments[1]);
        } catch (FencedInstanceIdException e) {
            // The client has said so to the same output, without an end of line.
            System.out.println("\nfenced");
            Runtime.getRuntime().halt(0);
        } catch (WakeupException e) {
            consumer.close();
        }
    }

    /** Says what it is given. */
    static class Assigned implements ConsumerRebalanceListener {
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            System.out.println("assigned " + partitions.stream().map(TopicPartition::partition).sorted()
                .map(String::valueOf).collect(Collectors.joining(",")));
        }
    }

    static void consume(KafkaConsumer<byte[], byte[]> consumer, String topic) {
        Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
        int uncommitted = 0;
        while (true) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                System.out.println("processed " + record.partition() + " " + record.offset());
                var next = new OffsetAndMetadata(record.offset() + 1, record.leaderEpoch(), "");
                positions.put(new TopicPartition(topic, record.partition()), next);
                uncommitted++;
            }
            if (uncommitted >= COMMIT_EVERY) {
                uncommitted = 0;
                commit(consumer, positions);
            }
        }
    }

    /** Commits what is still assigned, and says so if it was acknowledged. */
    static void commit(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, OffsetAndMetadata> positions) {
        positions.keySet().retainAll(consumer.assignment());
        try {
            consumer.commitSync(positions);
        } catch (WakeupException | FencedInstanceIdException e) {
            throw e;
        } catch (KafkaException e) {
            return;
        }
        positions.forEach((partition, next) ->
            System.out.println("committed " + partition.partition() + " " + next.offset()));
    }
}
