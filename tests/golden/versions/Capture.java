// Records what Apache Kafka answers in versions that the generated codec lacks, or that few clients ask in. Run it against an empty
// one-node Kafka 4.4.0 (node.id 0, offsets.topic.num.partitions 1, no authorizer):
//
//   java -cp "$KAFKA/libs/*" Capture.java 127.0.0.1:9092 2> steps.txt | gzip -9n > steps.jsonl.gz
//
// Output: one JSON object a line (step, apiKey, apiVersion, request and response as hex, both without the length and the header).
// Standard error shows the same in Kafka's own JSON form, to be read by people.

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.List;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.message.CreateTopicsRequestData.*;
import org.apache.kafka.common.message.ListOffsetsRequestData.*;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.record.internal.*;

public class Capture {
    static DataInputStream in;
    static DataOutputStream out;
    static int correlation = 0;

    public static void main(String[] args) throws Exception {
        String[] address = args[0].split(":");
        try (Socket socket = new Socket(address[0], Integer.parseInt(address[1]))) {
            in = new DataInputStream(socket.getInputStream());
            out = new DataOutputStream(socket.getOutputStream());
            apiVersions();
            topic();
            listOffsets("without records");
            produce();
            listOffsets("with records");
            findCoordinator();
            deleteGroups();
            describeLogDirs();
        }
    }

    static void apiVersions() throws Exception {
        DescribeClusterResponseData cluster = (DescribeClusterResponseData) step("the cluster", 2, new DescribeClusterRequestData());
        String own = cluster.clusterId();
        String[] clusters = {null, "", "another-cluster", own};
        for (String id : clusters)
            for (int node : new int[] {-1, 0, 1, -2, Integer.MAX_VALUE})
                step("to node " + node + " of " + (own.equals(id) ? "this cluster" : id), 5, versions(id, node));
        step("to a node of a cluster, without a name", 5, versions("another-cluster", 1).setClientSoftwareName(""));
    }

    static ApiVersionsRequestData versions(String cluster, int node) {
        return new ApiVersionsRequestData().setClientSoftwareName("golden").setClientSoftwareVersion("1.0").setClusterId(cluster).setNodeId(node);
    }

    static void topic() throws Exception {
        CreatableTopicCollection all = new CreatableTopicCollection();
        CreatableTopicConfigCollection configs = new CreatableTopicConfigCollection();
        // The records are old.
        configs.add(new CreatableTopicConfig().setName("retention.ms").setValue("-1"));
        all.add(new CreatableTopic().setName("versions").setNumPartitions(2).setReplicationFactor((short) 1).setConfigs(configs));
        step("create", 7, new CreateTopicsRequestData().setTimeoutMs(30000).setTopics(all));
        // Until its partitions have leaders.
        Thread.sleep(3000);
    }

    static void produce() throws Exception {
        MemoryRecords records = MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(1700000000000L, "a".getBytes()), new SimpleRecord(1700000000005L, "b".getBytes()));
        ProduceRequestData.TopicProduceDataCollection topics = new ProduceRequestData.TopicProduceDataCollection();
        topics.add(new ProduceRequestData.TopicProduceData().setName("versions").setPartitionData(List.of(new ProduceRequestData.PartitionProduceData().setIndex(0).setRecords(records))));
        step("produce", 12, new ProduceRequestData().setAcks((short) -1).setTimeoutMs(30000).setTopicData(topics));
    }

    static void listOffsets(String when) throws Exception {
        for (int version = 10; version <= 11; version++)
            for (long timestamp = 0; timestamp >= -7; timestamp--)
                step("offsets " + timestamp + " " + when, version, new ListOffsetsRequestData().setReplicaId(-1).setTimeoutMs(1000).setTopics(List.of(
                    new ListOffsetsTopic().setName("versions").setPartitions(List.of(at(0, timestamp), at(1, timestamp), at(7, timestamp))))));
    }

    static ListOffsetsPartition at(int partition, long timestamp) {
        return new ListOffsetsPartition().setPartitionIndex(partition).setTimestamp(timestamp);
    }

    static void findCoordinator() throws Exception {
        step("make the topic of groups", 6, coordinators(0, "g"));
        step("make the topic of transactions", 6, coordinators(1, "t"));
        Thread.sleep(3000);
        step("coordinators of groups", 6, coordinators(0, "g", "h", "", "g"));
        step("coordinators of transactions", 6, coordinators(1, "t", ""));
        step("coordinators of an unknown type", 6, coordinators(3, "t"));
        step("no coordinators", 6, coordinators(0));
    }

    static FindCoordinatorRequestData coordinators(int type, String... keys) {
        return new FindCoordinatorRequestData().setKeyType((byte) type).setCoordinatorKeys(List.of(keys));
    }

    static void deleteGroups() throws Exception {
        step("commit", 9, new OffsetCommitRequestData().setGroupId("empty").setTopics(List.of(new OffsetCommitRequestData.OffsetCommitRequestTopic().setName("versions")
            .setPartitions(List.of(new OffsetCommitRequestData.OffsetCommitRequestPartition().setPartitionIndex(0).setCommittedOffset(1).setCommittedLeaderEpoch(-1))))));
        step("a member", 1, new ConsumerGroupHeartbeatRequestData().setGroupId("full").setMemberId(Uuid.randomUuid().toString()).setMemberEpoch(0)
            .setRebalanceTimeoutMs(30000).setSubscribedTopicNames(List.of("versions")).setTopicPartitions(List.of()));
        step("delete groups", 3, groups("none", "empty", "full", ""));
        step("delete groups twice", 3, groups("none", "none", "full", "full"));
        step("delete no groups", 3, groups());
    }

    static DeleteGroupsRequestData groups(String... names) {
        return new DeleteGroupsRequestData().setGroupsNames(List.of(names));
    }

    static void describeLogDirs() throws Exception {
        DescribeLogDirsRequestData.DescribableLogDirTopicCollection some = new DescribeLogDirsRequestData.DescribableLogDirTopicCollection();
        some.add(new DescribeLogDirsRequestData.DescribableLogDirTopic().setTopic("versions").setPartitions(List.of(0, 1, 7)));
        step("directories of partitions", 5, new DescribeLogDirsRequestData().setTopics(some));
        step("directories of nothing", 5, new DescribeLogDirsRequestData().setTopics(new DescribeLogDirsRequestData.DescribableLogDirTopicCollection()));
    }

    static ApiMessage step(String name, int version, ApiMessage request) throws Exception {
        ApiMessage response = ask((short) version, request);
        System.out.printf("{\"step\":\"%s\",\"apiKey\":%d,\"apiVersion\":%d,\"request\":\"%s\",\"response\":\"%s\"}%n",
            name, request.apiKey(), version, hex(request, version), hex(response, version));
        System.err.printf("%s v%d: %s%n    %s%n    %s%n", request.getClass().getSimpleName(), version, name, json(request, version), json(response, version));
        Thread.sleep(150);
        return response;
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
