// Writes logs that a compaction has something to do with, on an Apache Kafka that is up and whose cleaner is off.
//
//   java -cp "$KAFKA/libs/*" Compaction.java BOOTSTRAP first|second
//
// `first` creates the topics and fills them, `second` adds to them what a second cleaning has to do with. Each flush is one batch.

import java.util.*;
import java.util.function.Consumer;

import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.StringSerializer;

public class Compaction {
    static String bootstrap;
    static int number;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        boolean first = args[1].equals("first");
        number = first ? 0 : 1000;
        if (first) topics();
        codecs();
        keys("append-time", 12);
        tombstones(first);
        transactions(first);
        producers(first);
        lastWord(first);
    }

    static void topics() throws Exception {
        Map<String, String> common = Map.of("cleanup.policy", "compact", "internal.segment.bytes", "1500", "min.cleanable.dirty.ratio", "0.01",
            "delete.retention.ms", "5", "index.interval.bytes", "300");
        Map<String, String> appendTime = new HashMap<>(common);
        appendTime.put("message.timestamp.type", "LogAppendTime");
        Map<String, String> kept = new HashMap<>(common);
        kept.put("delete.retention.ms", "360000000000");
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            List<NewTopic> topics = new ArrayList<>();
            for (String name : List.of("codecs", "tombstones", "transactions", "producers", "last-word")) topics.add(new NewTopic(name, 1, (short) 1).configs(common));
            topics.add(new NewTopic("append-time", 1, (short) 1).configs(appendTime));
            topics.add(new NewTopic("tombstones-kept", 1, (short) 1).configs(kept));
            topics.add(new NewTopic("transactions-kept", 1, (short) 1).configs(kept));
            admin.createTopics(topics).all().get();
        }
    }

    static KafkaProducer<String, String> producer(String codec, boolean idempotent, String transactionalId) {
        Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "compression.type", codec, "linger.ms", "60000",
            "batch.size", "100000", "enable.idempotence", String.valueOf(idempotent), "acks", "all"));
        if (transactionalId != null) config.put("transactional.id", transactionalId);
        KafkaProducer<String, String> producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        if (transactionalId != null) producer.initTransactions();
        return producer;
    }

    static void send(KafkaProducer<String, String> producer, String topic, String... pairs) {
        for (int at = 0; at < pairs.length; at += 2) {
            number += 1;
            String value = pairs[at + 1] == null ? null : pairs[at + 1] + "-" + number;
            RecordHeaders headers = new RecordHeaders();
            if (number % 7 == 0) headers.add("h" + number, number % 2 == 0 ? null : new byte[] {1, 2}).add("h", new byte[0]);
            producer.send(new ProducerRecord<>(topic, null, 1700000000000L + number * 10L - (number % 5) * 17, pairs[at], value, headers));
        }
        producer.flush();
    }

    static void codecs() {
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            try (var producer = producer(codec, false, null)) {
                for (int round = 0; round < 4; round++) {
                    send(producer, "codecs", "a", "v", "b" + round, "longer and longer and longer and longer and longer and longer value", "c-" + codec, "v", "d", "");
                    send(producer, "codecs", "only-" + codec + round, "v", "e" + round % 2, "v");
                }
            }
        }
        try (var producer = producer("none", false, null)) { fill(producer, "codecs"); }
    }

    static void keys(String topic, int rounds) {
        try (var producer = producer("none", false, null)) {
            for (int round = 0; round < rounds; round++) send(producer, topic, "a", "v", "b" + round % 3, "w".repeat(60), "c" + round, "x", "c" + (round - 1), null);
            fill(producer, topic);
        }
    }

    /** Enough to begin another segment behind all that came before. */
    static void fill(KafkaProducer<String, String> producer, String topic) {
        for (int i = 0; i < 3; i++) send(producer, topic, "filler-" + i, "f".repeat(1000));
    }

    static void tombstones(boolean first) {
        for (String topic : List.of("tombstones", "tombstones-kept")) {
            try (var producer = producer("none", false, null)) {
                for (int round = 0; round < 6; round++) {
                    send(producer, topic, "a" + round, "v", "b", "v", "deleted" + round, "v");
                    send(producer, topic, "deleted" + round, null, "deleted-and-back", null);
                    send(producer, topic, "never-there" + round, null);
                    send(producer, topic, "deleted-and-back", "v", "x" + round, "y".repeat(150));
                    if (!first) send(producer, topic, "deleted0", "back");
                }
                fill(producer, topic);
            }
        }
    }

    static void transactions(boolean first) {
        for (String topic : List.of("transactions", "transactions-kept")) {
            try (var a = producer("none", true, topic + "-a"); var b = producer("lz4", true, topic + "-b"); var c = producer("none", true, topic + "-c");
                 var plain = producer("none", false, null)) {
                for (int round = 0; round < 3; round++) {
                    a.beginTransaction(); b.beginTransaction();
                    send(a, topic, "a", "committed", "only-a" + round, "v");
                    send(b, topic, "a", "aborted", "b", "aborted");
                    send(plain, topic, "a", "plain", "p", "plain");
                    send(a, topic, "a" + round, "committed".repeat(9));
                    b.abortTransaction();
                    send(b, c, topic, round);
                    a.commitTransaction();
                    send(plain, topic, "b", "plain", "c" + round, null);
                }
                // All of its data is written again later: the marker alone is left.
                a.beginTransaction(); send(a, topic, "again", "v"); a.commitTransaction();
                c.beginTransaction(); send(c, topic, "again", "v", "gone", null); c.abortTransaction();
                send(plain, topic, "again", "plain");
                if (first) { b.beginTransaction(); send(b, topic, "b-last", "v"); b.commitTransaction(); }
                fill(plain, topic);
            }
        }
    }

    static void send(KafkaProducer<String, String> b, KafkaProducer<String, String> c, String topic, int round) {
        c.beginTransaction();
        send(c, topic, "c", "aborted".repeat(20));
        b.beginTransaction();
        send(b, topic, "b", "committed", "b" + round, null);
        b.commitTransaction();
        send(c, topic, "c", "aborted");
        c.abortTransaction();
    }

    /** The last batch of each producer stays for its sequence, though its records are old. */
    static void producers(boolean first) {
        try (var plain = producer("none", false, null); var one = producer("none", true, null); var two = producer("gzip", true, null)) {
            for (int round = 0; round < 4; round++) {
                send(one, "producers", "a", "v", "b", "w");
                send(two, "producers", "a", "v", "c", "w".repeat(100));
                send(plain, "producers", "p" + round, "v".repeat(200));
            }
            send(plain, "producers", "a", "v", "b", "v", "c", "v");
            fill(plain, "producers");
        }
    }

    /** What lies at the end of what is cleaned is old as well. */
    static void lastWord(boolean first) {
        try (var plain = producer("none", false, null)) {
            for (int round = 0; round < 3; round++) send(plain, "last-word", "a", "v".repeat(500), "b", "w".repeat(500));
            send(plain, "last-word", "a", "v".repeat(700), "b", "v".repeat(700));
        }
    }
}
