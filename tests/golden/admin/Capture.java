// Records what Apache Kafka answers to a fixed sequence of admin requests. Run it against an empty one-node Kafka 4.4.0 (node.id 0,
// num.partitions 2, no authorizer), formatted with `--release-version 4.0` as Highwater formats its own directory:
//
//   java -cp "$KAFKA/libs/*" Capture.java 127.0.0.1:9092 2> steps.txt | gzip -9n > steps.jsonl.gz
//
// Output: one JSON object a line (step, apiKey, apiVersion, request and response as hex, both without the length and the header).
// Standard error shows the same in Kafka's own JSON form, to be read by people.

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.message.CreateTopicsRequestData.*;
import org.apache.kafka.common.message.DeleteTopicsRequestData.DeleteTopicState;
import org.apache.kafka.common.message.MetadataRequestData.MetadataRequestTopic;
import org.apache.kafka.common.message.CreatePartitionsRequestData.*;
import org.apache.kafka.common.message.DescribeConfigsRequestData.DescribeConfigsResource;
import org.apache.kafka.common.message.DescribeTopicPartitionsRequestData.TopicRequest;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;

public class Capture {
    static DataInputStream in;
    static DataOutputStream out;
    static int correlation = 0;

    public static void main(String[] args) throws Exception {
        String[] address = args[0].split(":");
        try (Socket socket = new Socket(address[0], Integer.parseInt(address[1]))) {
            in = new DataInputStream(socket.getInputStream());
            out = new DataOutputStream(socket.getOutputStream());
            createTopics();
            createPartitions();
            metadata();
            describeTopicPartitions();
            describeCluster();
            describeConfigs();
            incrementalAlterConfigs();
            alterConfigs();
            others();
            deleteTopics();
        }
    }

    // ---- CreateTopics

    static void createTopics() throws Exception {
        step("create with counts, defaults, an assignment and configs", 7, topics(false,
            topic("alpha", 3, 1), topic("beta", -1, -1), assigned("gamma", List.of(0), List.of(0)),
            with(topic("delta", 1, 1), "retention.ms", "1000", "cleanup.policy", "compact,delete")));
        step("create again", 7, topics(false, topic("alpha", 3, 1), topic("alpha.one", 1, 1)));
        step("names that collide", 7, topics(false, topic("alpha_one", 1, 1), topic("x.y", 1, 1), topic("x_y", 1, 1)));
        step("names that are not legal", 7, topics(false, topic("", 1, 1), topic(".", 1, 1), topic("..", 1, 1),
            topic("has space", 1, 1), topic("x".repeat(250), 1, 1), topic("__cluster_metadata", 1, 1)));
        step("one name twice", 7, topics(false, topic("twice", 1, 1), topic("once", 1, 1), topic("twice", 1, 1)));
        step("counts that are not legal", 7, topics(false, topic("n0", 0, 1), topic("n-2", -2, 1), topic("r0", 1, 0),
            topic("r-2", 1, -2), topic("r2", 1, 2), topic("r3", -1, 3)));
        step("assignments that are not legal", 7, topics(false, assigned("m1", List.of(7)), assigned("m2", List.of(0, 0)),
            assigned("m3", List.of()), assigned("m4", List.of(0), List.of(0, 1)), assigned("m5", List.of(-1)),
            gap("m6"), assigned("m7", List.of(0)).setNumPartitions(1), assigned("m8", List.of(0)).setReplicationFactor((short) 1)));
        step("configs that are not legal", 7, topics(false, with(topic("c1", 1, 1), "no.such.key", "1"),
            with(topic("c2", 1, 1), "retention.ms", "soon"), with(topic("c3", 1, 1), "retention.ms", null),
            with(topic("c4", 1, 1), "cleanup.policy", "shred"), with(topic("c5", 1, 1), "min.cleanable.dirty.ratio", "2"),
            with(topic("c6", 1, 1), "min.compaction.lag.ms", "10", "max.compaction.lag.ms", "5"),
            with(topic("c7", 1, 1), "compression.type", "brotli"), with(topic("c8", 1, 1), "segment.bytes", "1"),
            with(topic("c9", 1, 1), "message.timestamp.type", "Never"), with(topic("c10", 1, 1), "preallocate", "maybe"),
            with(topic("c11", 1, 1), "leader.replication.throttled.replicas", "nonsense"),
            with(topic("c12", 1, 1), "retention.ms", "-2")));
        step("several mistakes at once", 7, topics(false, with(topic("no good", 0, 5), "no.such.key", "1"),
            with(topic("s1", 0, 5), "no.such.key", "1"), with(topic("s2", 0, 1), "no.such.key", "1"), topic("alpha", 0, 9)));
        step("one key twice", 7, topics(false, with(topic("k1", 1, 1), "retention.ms", "5", "retention.ms", "6")));
        step("validate only", 7, topics(true, topic("v1", 2, 1), topic("alpha", 1, 1), with(topic("v2", -1, -1), "retention.ms", "7")));
        step("validate only left nothing", 13, new MetadataRequestData().setTopics(List.of(named("v1"), named("v2"))).setAllowAutoTopicCreation(false));
        step("no topics", 7, topics(false));
        for (int version = 2; version <= 6; version++) {
            int count = version < 4 ? 2 : -1;
            step("create v" + version, version, topics(false, topic("old" + version, count, version < 4 ? 1 : -1), topic("alpha", 1, 1), topic("r2", 1, 2)));
        }
        step("defaults before they were allowed", 3, topics(false, topic("d3", -1, -1)));
        step("too many partitions at once", 7, topics(true, topic("many", 10_001, 1)));
        step("too many partitions in two topics", 7, topics(true, topic("many1", 9_999, 1), topic("many2", -1, 1), topic("", 1, 1)));
        step("as many as may be", 7, topics(true, topic("many1", 9_998, 1), topic("many2", -1, 1)));
        step("many at once", 5, topics(false, topic("t1", 1, 1), topic("t2", 1, 1), topic("t3", 1, 1)));
    }

    static CreateTopicsRequestData topics(boolean validateOnly, CreatableTopic... topics) {
        CreatableTopicCollection all = new CreatableTopicCollection();
        for (CreatableTopic topic : topics) all.mustAdd(topic);
        return new CreateTopicsRequestData().setTimeoutMs(30000).setValidateOnly(validateOnly).setTopics(all);
    }

    static CreatableTopic topic(String name, int partitions, int replication) {
        return new CreatableTopic().setName(name).setNumPartitions(partitions).setReplicationFactor((short) replication);
    }

    @SafeVarargs
    static CreatableTopic assigned(String name, List<Integer>... replicas) {
        CreatableTopic topic = topic(name, -1, -1);
        for (int i = 0; i < replicas.length; i++)
            topic.assignments().add(new CreatableReplicaAssignment().setPartitionIndex(i).setBrokerIds(replicas[i]));
        return topic;
    }

    static CreatableTopic gap(String name) {
        CreatableTopic topic = topic(name, -1, -1);
        topic.assignments().add(new CreatableReplicaAssignment().setPartitionIndex(0).setBrokerIds(List.of(0)));
        topic.assignments().add(new CreatableReplicaAssignment().setPartitionIndex(2).setBrokerIds(List.of(0)));
        return topic;
    }

    static CreatableTopic with(CreatableTopic topic, String... configs) {
        for (int i = 0; i < configs.length; i += 2)
            topic.configs().mustAdd(new CreatableTopicConfig().setName(configs[i]).setValue(configs[i + 1]));
        return topic;
    }

    // ---- CreatePartitions

    static void createPartitions() throws Exception {
        step("grow", 3, grow(false, more("beta", 4), more("nothing", 4), more("alpha", 3), more("gamma", 1)));
        step("grow as told", 3, grow(false, more("gamma", 4, List.of(0), List.of(0)), more("delta", 2, List.of(0))));
        step("grow wrongly", 3, grow(false, more("alpha", 5, List.of(0)), more("beta", 5, List.of(9)), more("t1", 2, List.of(0, 0)),
            more("t2", 0), more("t3", -1), more("x.y", 2, List.of())));
        step("grow one name twice", 3, grow(false, more("t1", 2), more("t2", 2), more("t1", 3)));
        step("grow, validate only", 3, grow(true, more("t1", 9), more("nothing", 2)));
        step("grow by too many", 3, grow(true, more("t1", 10_001), more("t2", 10_003)));
        for (int version = 0; version <= 2; version++)
            step("grow v" + version, version, grow(false, more("old" + (version + 2), 5), more("nothing", 4)));
    }

    static CreatePartitionsRequestData grow(boolean validateOnly, CreatePartitionsTopic... topics) {
        CreatePartitionsTopicCollection all = new CreatePartitionsTopicCollection();
        for (CreatePartitionsTopic topic : topics) all.mustAdd(topic);
        return new CreatePartitionsRequestData().setTimeoutMs(30000).setValidateOnly(validateOnly).setTopics(all);
    }

    @SafeVarargs
    static CreatePartitionsTopic more(String name, int count, List<Integer>... replicas) {
        List<CreatePartitionsAssignment> assignments = null;
        if (replicas.length > 0) {
            assignments = new ArrayList<>();
            for (List<Integer> ids : replicas) assignments.add(new CreatePartitionsAssignment().setBrokerIds(ids));
        }
        return new CreatePartitionsTopic().setName(name).setCount(count).setAssignments(assignments);
    }

    // ---- Metadata and its successors

    static void metadata() throws Exception {
        for (int version = 0; version <= 13; version++) {
            List<MetadataRequestTopic> some = List.of(named("gamma"), named("nothing"), named("alpha"), named("bad name"));
            MetadataRequestData request = new MetadataRequestData().setTopics(some);
            if (version >= 4) request.setAllowAutoTopicCreation(false);
            if (version < 4) request.setTopics(List.of(named("gamma"), named("alpha"), named("bad name")));
            if (version >= 8) request.setIncludeTopicAuthorizedOperations(true);
            if (version >= 8 && version <= 10) request.setIncludeClusterAuthorizedOperations(true);
            step("metadata v" + version, version, request);
            step("metadata of everything v" + version, version, everything(version));
            if (version > 0) step("metadata of nothing v" + version, version, new MetadataRequestData().setTopics(List.of()));
        }
        step("metadata of one name twice", 12, new MetadataRequestData().setTopics(List.of(named("alpha"), named("beta"), named("alpha"))).setAllowAutoTopicCreation(false));
        step("metadata by id", 12, new MetadataRequestData().setTopics(List.of(identified(id("alpha")), identified(new Uuid(5, 5)), identified(id("beta")))));
        step("metadata by id v13", 13, new MetadataRequestData().setTopics(List.of(identified(id("gamma")), identified(new Uuid(5, 5)))).setIncludeTopicAuthorizedOperations(true));
        step("metadata by id and name", 12, new MetadataRequestData().setAllowAutoTopicCreation(false).setTopics(List.of(named("alpha"), identified(id("beta")))));
        step("metadata by id before it was allowed", 11, new MetadataRequestData().setTopics(List.of(new MetadataRequestTopic().setName("alpha").setTopicId(new Uuid(5, 5)))));
        step("metadata, empty name", 12, new MetadataRequestData().setAllowAutoTopicCreation(true).setTopics(List.of(named(""))));
    }

    static MetadataRequestData everything(int version) {
        return new MetadataRequestData().setTopics(version == 0 ? List.of() : null);
    }

    static MetadataRequestTopic named(String name) {
        return new MetadataRequestTopic().setName(name);
    }

    static MetadataRequestTopic identified(Uuid id) {
        return new MetadataRequestTopic().setName(null).setTopicId(id);
    }

    static void describeTopicPartitions() throws Exception {
        step("partitions of some", 0, partitions(2000, null, "gamma", "alpha", "nothing", "bad name"));
        step("partitions of all", 0, partitions(2000, null));
        step("partitions, first page", 0, partitions(2, null, "alpha", "beta"));
        step("partitions, page that ends with a topic", 0, partitions(3, null, "alpha", "beta"));
        step("partitions, from a cursor", 0, partitions(2, cursor("alpha", 2), "alpha", "beta", "gamma"));
        step("partitions, from a cursor within", 0, partitions(2000, cursor("beta", 1), "gamma", "beta", "alpha"));
        step("partitions, cursor at a topic that is gone", 0, partitions(2000, cursor("azimuth", 1), "alpha", "beta"));
        step("partitions, cursor over all", 0, partitions(3, cursor("gamma", 1)));
        step("partitions, cursor beyond", 0, partitions(2000, cursor("alpha", 99), "alpha"));
        step("partitions, negative cursor", 0, partitions(2000, cursor("alpha", -1), "alpha"));
        step("partitions, limit zero", 0, partitions(0, null, "alpha"));
        step("partitions, one name twice", 0, partitions(2000, null, "alpha", "beta", "alpha"));
    }

    static DescribeTopicPartitionsRequestData partitions(int limit, DescribeTopicPartitionsRequestData.Cursor cursor, String... names) {
        List<TopicRequest> topics = new ArrayList<>();
        for (String name : names) topics.add(new TopicRequest().setName(name));
        return new DescribeTopicPartitionsRequestData().setTopics(topics).setResponsePartitionLimit(limit).setCursor(cursor);
    }

    static DescribeTopicPartitionsRequestData.Cursor cursor(String name, int index) {
        return new DescribeTopicPartitionsRequestData.Cursor().setTopicName(name).setPartitionIndex(index);
    }

    static void describeCluster() throws Exception {
        for (int version = 0; version <= 2; version++) {
            step("cluster v" + version, version, new DescribeClusterRequestData());
            step("cluster with operations v" + version, version, new DescribeClusterRequestData().setIncludeClusterAuthorizedOperations(true));
        }
        step("cluster of controllers", 1, new DescribeClusterRequestData().setEndpointType((byte) 2));
        step("cluster of nobody", 1, new DescribeClusterRequestData().setEndpointType((byte) 3));
        step("cluster with fenced brokers", 2, new DescribeClusterRequestData().setIncludeFencedBrokers(true));
    }

    // ---- Configs

    static void describeConfigs() throws Exception {
        step("configs of a topic", 4, describe(false, false, resource(2, "delta")));
        step("configs of a topic with synonyms", 4, describe(true, false, resource(2, "delta")));
        step("configs of a topic with documentation", 4, describe(true, true, resource(2, "alpha")));
        step("some configs of a topic", 4, describe(true, false, resource(2, "delta", "retention.ms", "no.such.key", "cleanup.policy", "retention.ms")));
        step("no configs of a topic", 4, describe(true, false, resource(2, "delta", new String[0]).setConfigurationKeys(List.of())));
        step("configs of topics that are not there", 4, describe(false, false, resource(2, "nothing"), resource(2, "bad name"), resource(2, "")));
        step("configs of the broker", 4, describe(false, false, resource(4, "0", "log.retention.ms", "num.partitions", "advertised.listeners", "node.id",
            "ssl.keystore.password", "log.retention.hours", "message.max.bytes", "no.such.key", "log.cleaner.threads", "auto.create.topics.enable", "compression.type")));
        step("configs of the broker with synonyms", 4, describe(true, false, resource(4, "0", "log.retention.ms", "num.partitions", "ssl.keystore.password",
            "message.max.bytes", "log.cleaner.threads", "log.segment.bytes", "log.roll.ms", "log.flush.interval.ms", "compression.type")));
        step("configs of all brokers", 4, describe(true, true, resource(4, "")));
        step("configs of other brokers", 4, describe(false, false, resource(4, "1"), resource(4, "one"), resource(4, "-1")));
        step("configs of groups and client metrics", 4, describe(false, false, resource(16, "metrics"), resource(32, "group", "consumer.session.timeout.ms")));
        step("configs of what has no name", 4, describe(false, false, resource(16, ""), resource(32, "")));
        step("configs of unknown things", 4, describe(false, false, resource(0, "x"), resource(1, "x"), resource(3, "x"), resource(64, "x"), resource(2, "gamma", "flush.ms")));
        step("configs of loggers", 4, describe(false, false, resource(8, "0", "kafka.no.such.Logger"), resource(8, "1"), resource(8, "")));
        step("configs of one topic twice", 4, describe(false, false, resource(2, "alpha", "flush.ms"), resource(2, "alpha", "flush.messages")));
        for (int version = 1; version <= 3; version++)
            step("configs v" + version, version, describe(true, version >= 3, resource(2, "delta"), resource(4, "0", "log.retention.hours"), resource(2, "nothing")));
    }

    static DescribeConfigsRequestData describe(boolean synonyms, boolean documentation, DescribeConfigsResource... resources) {
        return new DescribeConfigsRequestData().setResources(Arrays.asList(resources)).setIncludeSynonyms(synonyms).setIncludeDocumentation(documentation);
    }

    static DescribeConfigsResource resource(int type, String name, String... keys) {
        return new DescribeConfigsResource().setResourceType((byte) type).setResourceName(name).setConfigurationKeys(keys.length == 0 ? null : Arrays.asList(keys));
    }

    static void incrementalAlterConfigs() throws Exception {
        step("set and delete", 1, change(false, incremental(2, "alpha", op(0, "retention.ms", "5000"), op(0, "flush.ms", "9")), incremental(2, "delta", op(1, "retention.ms", null))));
        look("alpha", "delta");
        step("synonyms of keys that are null on the broker", 4, describe(true, false, resource(2, "alpha", "flush.ms", "retention.ms", "segment.ms", "segment.jitter.ms")));
        step("append and subtract", 1, change(false, incremental(2, "alpha", op(2, "cleanup.policy", "compact")), incremental(2, "delta", op(3, "cleanup.policy", "delete")),
            incremental(2, "beta", op(2, "retention.ms", "5"))));
        look("alpha", "delta", "beta");
        step("append twice, subtract what is not there", 1, change(false, incremental(2, "alpha", op(2, "cleanup.policy", "compact,compact")), incremental(2, "delta", op(3, "cleanup.policy", "delete"))));
        look("alpha", "delta");
        step("subtract the last", 1, change(false, incremental(2, "delta", op(3, "cleanup.policy", "compact"))));
        look("delta");
        step("one mistake spoils the resource", 1, change(false, incremental(2, "gamma", op(0, "retention.ms", "1"), op(0, "no.such.key", "1")), incremental(2, "beta", op(0, "retention.ms", "1"))));
        look("gamma", "beta");
        step("values that are not legal", 1, change(false, incremental(2, "gamma", op(0, "retention.ms", "x")), incremental(2, "t1", op(0, "retention.ms", null)),
            incremental(2, "t3", op(2, "cleanup.policy", "x")), incremental(2, "x.y", op(1, "no.such.key", null)),
            incremental(2, "alpha.one", op(0, "segment.bytes", "13")), incremental(2, "old2", op(2, "cleanup.policy", null))));
        step("delete what is not set", 1, change(false, incremental(2, "gamma", op(1, "retention.ms", null))));
        step("one key twice in one resource", 1, change(false, twice("gamma")));
        step("one resource twice", 1, sameResourceTwice());
        step("topics that are not there", 1, change(false, incremental(2, "nothing", op(0, "retention.ms", "1")), incremental(2, "bad name", op(0, "retention.ms", "1")), incremental(2, "", op(0, "retention.ms", "1"))));
        step("a list with blanks", 1, change(false, incremental(2, "t1", op(0, "cleanup.policy", " compact , delete "))));
        look("t1");
        step("a list with one entry twice", 1, change(false, incremental(2, "t1", op(0, "cleanup.policy", "delete,delete"))));
        step("an append with blanks", 1, change(false, incremental(2, "t2", op(2, "cleanup.policy", "compact , delete"))));
        look("t2");
        step("a number with blanks", 1, change(false, incremental(2, "t1", op(0, "retention.ms", " 12 "))));
        look("t1");
        step("an empty number", 1, change(false, incremental(2, "t1", op(0, "retention.ms", ""))));
        step("change nothing", 1, change(false, incremental(2, "gamma")));
        step("set, validate only", 1, change(true, incremental(2, "gamma", op(0, "retention.ms", "77")), incremental(2, "t1", op(0, "retention.ms", "x"))));
        look("gamma");
        step("set the broker", 1, change(false, incremental(4, "0", op(0, "log.retention.ms", "123456"))));
        step("set all brokers", 1, change(false, incremental(4, "", op(0, "log.retention.ms", "654321"), op(0, "message.max.bytes", "2000000"))));
        step("broker after", 4, describe(true, false, resource(4, "0", "log.retention.ms", "message.max.bytes"), resource(4, "")));
        step("topic after", 4, describe(true, false, resource(2, "gamma", "retention.ms", "max.message.bytes"), resource(2, "alpha", "retention.ms")));
        step("set the broker wrongly", 1, change(false, incremental(4, "1", op(0, "log.retention.ms", "1")), incremental(4, "one", op(0, "log.retention.ms", "1"))));
        step("set what cannot change", 1, change(false, incremental(4, "0", op(0, "node.id", "7"))));
        step("set what cannot change everywhere", 1, change(false, incremental(4, "", op(0, "num.partitions", "7"))));
        step("set an unknown key of the broker", 1, change(false, incremental(4, "0", op(0, "no.such.key", "7"))));
        step("set a wrong value of the broker", 1, change(false, incremental(4, "0", op(0, "message.max.bytes", "x"))));
        step("set several keys that cannot change", 1, change(false, incremental(4, "0", op(0, "num.partitions", "7"), op(0, "log.retention.ms", "1"), op(0, "node.id", "7"))));
        step("set per broker what is per broker only", 1, change(false, incremental(4, "", op(0, "listeners", "PLAINTEXT://127.0.0.1:1"))));
        step("set a password of the broker", 1, change(false, incremental(4, "0", op(0, "listener.name.plaintext.ssl.keystore.password", "secret"))));
        step("unset the broker", 1, change(false, incremental(4, "0", op(1, "log.retention.ms", null), op(1, "listener.name.plaintext.ssl.keystore.password", null)), incremental(4, "", op(1, "log.retention.ms", null), op(1, "message.max.bytes", null))));
        step("set what has no name", 1, change(false, incremental(16, "", op(0, "interval.ms", "500")), incremental(32, "", op(0, "consumer.session.timeout.ms", "46000"))));
        step("loggers", 1, change(false, incremental(8, "0", op(0, "kafka.server", "NOTALEVEL"))));
        step("set groups and client metrics", 1, change(false, incremental(16, "metrics", op(0, "interval.ms", "500")), incremental(32, "group", op(0, "consumer.session.timeout.ms", "46000")), incremental(32, "group2", op(0, "no.such", "1")), incremental(16, "metrics2", op(0, "no.such", "1"))));
        step("groups and client metrics after", 4, describe(false, false, resource(16, "metrics"), resource(32, "group", "consumer.session.timeout.ms")));
        step("unknown things", 1, change(false, incremental(0, "x", op(0, "a", "1"))));
        step("unknown things 3", 1, change(false, incremental(3, "x", op(0, "a", "1"))));
        step("set v0", 0, change(false, incremental(2, "gamma", op(0, "flush.ms", "3")), incremental(2, "nothing", op(0, "flush.ms", "3"))));
    }

    static void look(String... topics) throws Exception {
        DescribeConfigsResource[] resources = new DescribeConfigsResource[topics.length];
        for (int i = 0; i < topics.length; i++) resources[i] = resource(2, topics[i], "retention.ms", "flush.ms", "cleanup.policy");
        step("look", 4, describe(false, false, resources));
    }

    static IncrementalAlterConfigsRequestData change(boolean validateOnly, IncrementalAlterConfigsRequestData.AlterConfigsResource... resources) {
        IncrementalAlterConfigsRequestData.AlterConfigsResourceCollection all = new IncrementalAlterConfigsRequestData.AlterConfigsResourceCollection();
        for (var resource : resources) all.mustAdd(resource);
        return new IncrementalAlterConfigsRequestData().setResources(all).setValidateOnly(validateOnly);
    }

    static IncrementalAlterConfigsRequestData.AlterConfigsResource incremental(int type, String name, IncrementalAlterConfigsRequestData.AlterableConfig... configs) {
        IncrementalAlterConfigsRequestData.AlterableConfigCollection all = new IncrementalAlterConfigsRequestData.AlterableConfigCollection();
        for (var config : configs) all.mustAdd(config);
        return new IncrementalAlterConfigsRequestData.AlterConfigsResource().setResourceType((byte) type).setResourceName(name).setConfigs(all);
    }

    static IncrementalAlterConfigsRequestData.AlterableConfig op(int operation, String name, String value) {
        return new IncrementalAlterConfigsRequestData.AlterableConfig().setName(name).setConfigOperation((byte) operation).setValue(value);
    }

    static IncrementalAlterConfigsRequestData.AlterConfigsResource twice(String topic) {
        return incremental(2, topic, op(0, "retention.ms", "3"), op(1, "retention.ms", null));
    }

    static IncrementalAlterConfigsRequestData sameResourceTwice() {
        return change(false, incremental(2, "gamma", op(0, "retention.ms", "3")), incremental(2, "t1", op(0, "flush.ms", "3")), incremental(2, "gamma", op(0, "flush.ms", "3")));
    }

    static void alterConfigs() throws Exception {
        step("replace", 2, replace(false, whole(2, "alpha", "flush.ms", "44"), whole(2, "nothing", "flush.ms", "44"), whole(2, "t1", "no.such.key", "1"), whole(2, "t2", "retention.ms", null)));
        look("alpha");
        step("replace by nothing", 1, replace(false, whole(2, "alpha")));
        look("alpha");
        step("replace, validate only", 0, replace(true, whole(2, "alpha", "flush.ms", "45")));
        look("alpha");
        step("replace the broker's", 2, replace(false, whole(4, "0", "log.retention.ms", "99999"), whole(4, "7", "log.retention.ms", "99999")));
        step("broker after replacing", 4, describe(true, false, resource(4, "0", "log.retention.ms")));
        step("replace the broker's by nothing", 2, replace(false, whole(4, "0")));
        step("replace unknown things", 2, replace(false, whole(3, "x", "a", "1")));
    }

    static AlterConfigsRequestData replace(boolean validateOnly, AlterConfigsRequestData.AlterConfigsResource... resources) {
        AlterConfigsRequestData.AlterConfigsResourceCollection all = new AlterConfigsRequestData.AlterConfigsResourceCollection();
        for (var resource : resources) all.mustAdd(resource);
        return new AlterConfigsRequestData().setResources(all).setValidateOnly(validateOnly);
    }

    static AlterConfigsRequestData.AlterConfigsResource whole(int type, String name, String... configs) {
        AlterConfigsRequestData.AlterableConfigCollection all = new AlterConfigsRequestData.AlterableConfigCollection();
        for (int i = 0; i < configs.length; i += 2)
            all.mustAdd(new AlterConfigsRequestData.AlterableConfig().setName(configs[i]).setValue(configs[i + 1]));
        return new AlterConfigsRequestData.AlterConfigsResource().setResourceType((byte) type).setResourceName(name).setConfigs(all);
    }

    // ---- Log dirs, reassignments, elections

    static void others() throws Exception {
        for (int version = 1; version <= 4; version++) {
            DescribeLogDirsRequestData.DescribableLogDirTopicCollection some = new DescribeLogDirsRequestData.DescribableLogDirTopicCollection();
            some.mustAdd(new DescribeLogDirsRequestData.DescribableLogDirTopic().setTopic("alpha").setPartitions(List.of(0, 2, 9)));
            some.mustAdd(new DescribeLogDirsRequestData.DescribableLogDirTopic().setTopic("nothing").setPartitions(List.of(0)));
            step("log dirs of some v" + version, version, new DescribeLogDirsRequestData().setTopics(some));
            step("log dirs of all v" + version, version, new DescribeLogDirsRequestData().setTopics(null));
            step("log dirs of none v" + version, version, new DescribeLogDirsRequestData());
        }
        step("reassignments", 0, new ListPartitionReassignmentsRequestData().setTopics(null));
        step("reassignments of some", 0, new ListPartitionReassignmentsRequestData().setTopics(List.of(
            new ListPartitionReassignmentsRequestData.ListPartitionReassignmentsTopics().setName("alpha").setPartitionIndexes(List.of(0)),
            new ListPartitionReassignmentsRequestData.ListPartitionReassignmentsTopics().setName("nothing").setPartitionIndexes(List.of(0)))));
        for (int version = 0; version <= 2; version++)
            for (int type = 0; type <= (version == 0 ? 0 : 2); type++) {
                ElectLeadersRequestData.TopicPartitionsCollection some = new ElectLeadersRequestData.TopicPartitionsCollection();
                some.mustAdd(new ElectLeadersRequestData.TopicPartitions().setTopic("alpha").setPartitions(List.of(0, 2, 9)));
                some.mustAdd(new ElectLeadersRequestData.TopicPartitions().setTopic("nothing").setPartitions(List.of(0)));
                step("elect some v" + version + " type " + type, version, new ElectLeadersRequestData().setElectionType((byte) type).setTopicPartitions(some).setTimeoutMs(5000));
                step("elect all v" + version + " type " + type, version, new ElectLeadersRequestData().setElectionType((byte) type).setTopicPartitions(null).setTimeoutMs(5000));
            }
    }

    // ---- DeleteTopics

    static void deleteTopics() throws Exception {
        step("delete by name and id", 6, byState(gone("t1"), gone(id("t2")), gone("nothing"), gone(new Uuid(5, 5))));
        step("delete one name twice", 6, byState(gone("t3"), gone("old2"), gone("t3")));
        step("delete by both and by neither", 6, byState(new DeleteTopicState().setName("old3").setTopicId(id("old3")), new DeleteTopicState().setName(null)));
        step("delete by name and by the id of the same", 6, byState(gone("old4"), gone(id("old4"))));
        step("delete one id twice", 6, byState(gone(id("old5")), gone(id("old5")), gone(id("old6"))));
        step("delete names that are not legal", 6, byState(gone(""), gone("bad name")));
        for (int version = 1; version <= 5; version++)
            step("delete v" + version, version, new DeleteTopicsRequestData().setTimeoutMs(30000).setTopicNames(List.of("nothing", version == 1 ? "x.y" : "alpha.one", version == 3 ? "beta" : "nobody")));
        step("delete v5, one name twice", 5, new DeleteTopicsRequestData().setTimeoutMs(30000).setTopicNames(List.of("gamma", "gamma", "nobody")));
        step("create a deleted one again", 7, topics(false, topic("beta", 1, 1)));
        step("and it is a new one", 12, new MetadataRequestData().setTopics(List.of(named("beta"))).setAllowAutoTopicCreation(false));
    }

    static DeleteTopicsRequestData byState(DeleteTopicState... topics) {
        return new DeleteTopicsRequestData().setTimeoutMs(30000).setTopics(Arrays.asList(topics));
    }

    static DeleteTopicState gone(String name) {
        return new DeleteTopicState().setName(name);
    }

    static DeleteTopicState gone(Uuid id) {
        return new DeleteTopicState().setName(null).setTopicId(id);
    }

    // ---- The wire

    static Uuid id(String name) throws Exception {
        MetadataResponseData answer = (MetadataResponseData) ask((short) 12, new MetadataRequestData().setTopics(List.of(named(name))).setAllowAutoTopicCreation(false));
        return answer.topics().iterator().next().topicId();
    }

    /** Sends one request, records it and waits until the broker has caught up with its controller. */
    static void step(String name, int version, ApiMessage request) throws Exception {
        ApiMessage response = ask((short) version, request);
        System.out.printf("{\"step\":\"%s\",\"apiKey\":%d,\"apiVersion\":%d,\"request\":\"%s\",\"response\":\"%s\"}%n",
            name, request.apiKey(), version, hex(request, version), response == null ? "" : hex(response, version));
        System.err.printf("%s v%d: %s%n    %s%n    %s%n", request.getClass().getSimpleName(), version, name, json(request, version), response == null ? "closed" : json(response, version));
        Thread.sleep(150);
    }

    static ApiMessage ask(short version, ApiMessage request) throws Exception {
        ApiMessageType type = ApiMessageType.fromApiKey(request.apiKey());
        RequestHeaderData header = new RequestHeaderData().setRequestApiKey(request.apiKey()).setRequestApiVersion(version).setCorrelationId(++correlation).setClientId("golden");
        byte[] head = bytes(header, type.requestHeaderVersion(version));
        byte[] body = bytes(request, version);
        out.writeInt(head.length + body.length);
        out.write(head);
        out.write(body);
        out.flush();
        byte[] frame = new byte[in.readInt()];
        in.readFully(frame);
        ByteBufferAccessor answer = new ByteBufferAccessor(ByteBuffer.wrap(frame));
        new ResponseHeaderData().read(answer, type.responseHeaderVersion(version));
        ApiMessage response = type.newResponse();
        response.read(answer, version);
        return response;
    }

    static byte[] bytes(ApiMessage message, int version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, (short) version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    static String hex(ApiMessage message, int version) {
        return java.util.HexFormat.of().formatHex(bytes(message, version));
    }

    static String json(ApiMessage message, int version) throws Exception {
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        return String.valueOf(converter.getMethod("write", message.getClass(), short.class).invoke(null, message, (short) version));
    }
}
