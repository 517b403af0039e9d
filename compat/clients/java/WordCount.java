import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Produced;

/**
 * A stateful word count of Kafka Streams with {@code exactly_once_v2}: {@code BOOTSTRAP INPUT OUTPUT APPLICATION DIRECTORY}. Every
 * update is written, {@code WORD COUNT}, since nothing is cached: an exact result has each count of each word once, in order.
 */
public class WordCount {
    public static void main(String[] arguments) {
        var builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[1])
            .flatMapValues(line -> Arrays.asList(line.split("-")))
            .groupBy((key, word) -> word)
            .count()
            .toStream()
            .mapValues((word, count) -> word + " " + count)
            .to(arguments[2], Produced.with(Serdes.String(), Serdes.String()));
        var streams = new KafkaStreams(builder.build(), config(arguments));
        streams.setUncaughtExceptionHandler(error -> {
            System.err.println(error);
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(20))));
        streams.start();
    }

    static Properties config(String[] arguments) {
        var config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("application.id", arguments[3]);
        config.put("state.dir", arguments[4]);
        config.put("processing.guarantee", "exactly_once_v2");
        config.put("default.key.serde", Serdes.StringSerde.class.getName());
        config.put("default.value.serde", Serdes.StringSerde.class.getName());
        config.put("statestore.cache.max.bytes", "0");
        config.put("num.stream.threads", "2");
        config.put("consumer.auto.offset.reset", "earliest");
        config.put("consumer.session.timeout.ms", "6000");
        config.put("consumer.heartbeat.interval.ms", "500");
        config.put("reconnect.backoff.max.ms", "200");
        return config;
    }
}
