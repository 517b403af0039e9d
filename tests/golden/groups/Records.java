// Prints records of `__consumer_offsets` with what Apache Kafka 4.4.0 says they are: those of the log directories given as arguments
// (unpacked `data.tar.gz`), and one of each type and version that those do not hold, written by Kafka's own generated classes.
//
//   java -cp "$KAFKA/libs/*" Records.java clean-3.9 clean-4.3 clean-4.4 killed-4.4 | gzip -9n > records.jsonl.gz
//
// One JSON object a line: origin, key and value (hex; value null for a tombstone), type and version, keyData and data as in Kafka's dump tool.

import java.io.File;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.coordinator.group.generated.*;

public class Records {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Uuid TOPIC = new Uuid(0x0102030405060708L, 0x090a0b0c0d0e0f10L);
    static final Uuid OTHER = new Uuid(0x1112131415161718L, 0x191a1b1c1d1e1f20L);

    public static void main(String[] args) throws Exception {
        for (String directory : args) {
            for (int partition = 0; partition < 4; partition++) {
                File folder = new File(directory, "__consumer_offsets-" + partition);
                File segment = new File(folder, "00000000000000000000.log");
                if (segment.length() > 0) segment(new File(directory).getName(), segment);
            }
        }
        offsets();
        classicGroups();
        consumerGroups();
        others();
    }

    static void segment(String origin, File file) throws Exception {
        try (FileRecords records = FileRecords.open(file)) {
            for (RecordBatch batch : records.batches()) {
                if (batch.isControlBatch()) continue;
                for (org.apache.kafka.common.record.internal.Record record : batch) {
                    byte[] value = record.hasValue() ? bytes(record.value()) : null;
                    print(origin, bytes(record.key()), value);
                }
            }
        }
    }

    static void offsets() throws Exception {
        OffsetCommitKey key = new OffsetCommitKey().setGroup("old").setTopic("topic").setPartition(7);
        for (short version = 0; version <= 4; version++) {
            OffsetCommitValue value = new OffsetCommitValue().setOffset(1L << 40).setMetadata("märchen").setCommitTimestamp(1700000000123L);
            if (version >= 3) value.setLeaderEpoch(9);
            if (version >= 4) value.setTopicId(TOPIC);
            if (version == 1) value.setExpireTimestamp(1700000999999L);
            made(key, value, version);
        }
        made(key, new OffsetCommitValue().setOffset(1), (short) 1);
        made(key, new OffsetCommitValue().setOffset(1), (short) 4);
        made(key, null, (short) 0);
        made(new LegacyOffsetCommitKey().setGroup("older").setTopic("topic").setPartition(0), new LegacyOffsetCommitValue().setOffset(5).setMetadata("m").setCommitTimestamp(6), (short) 0);
    }

    static void classicGroups() throws Exception {
        GroupMetadataKey key = new GroupMetadataKey().setGroup("classic");
        for (short version = 0; version <= 4; version++) {
            GroupMetadataValue.MemberMetadata one = new GroupMetadataValue.MemberMetadata().setMemberId("m-1").setClientId("c").setClientHost("/1.2.3.4")
                .setSessionTimeout(10000).setSubscription(new byte[] {1, 2, 3}).setAssignment(new byte[] {4});
            GroupMetadataValue.MemberMetadata two = one.duplicate().setMemberId("m-2").setSubscription(new byte[0]).setAssignment(new byte[0]);
            if (version >= 1) one.setRebalanceTimeout(60000);
            if (version >= 1) two.setRebalanceTimeout(300000);
            if (version >= 3) one.setGroupInstanceId("instance");
            GroupMetadataValue value = new GroupMetadataValue().setProtocolType("consumer").setGeneration(12).setProtocol("range").setLeader("m-1").setMembers(List.of(one, two));
            if (version >= 2) value.setCurrentStateTimestamp(1700000000123L);
            made(key, value, version);
        }
        made(key, null, (short) 0);
    }

    static void consumerGroups() throws Exception {
        ConsumerGroupMetadataKey group = new ConsumerGroupMetadataKey().setGroupId("new");
        made(group, new ConsumerGroupMetadataValue().setEpoch(3), (short) 0);
        made(group, new ConsumerGroupMetadataValue().setEpoch(3).setMetadataHash(-5), (short) 0);
        made(group, null, (short) 0);
        ConsumerGroupPartitionMetadataKey partitions = new ConsumerGroupPartitionMetadataKey().setGroupId("new");
        made(partitions, new ConsumerGroupPartitionMetadataValue().setTopics(List.of(new ConsumerGroupPartitionMetadataValue.TopicMetadata()
            .setTopicId(TOPIC).setTopicName("topic").setNumPartitions(3))), (short) 0);
        made(partitions, null, (short) 0);
        ConsumerGroupMemberMetadataKey member = new ConsumerGroupMemberMetadataKey().setGroupId("new").setMemberId("member");
        ConsumerGroupMemberMetadataValue value = new ConsumerGroupMemberMetadataValue().setInstanceId("i").setRackId("r").setClientId("c").setClientHost("/::1")
            .setSubscribedTopicNames(List.of("a", "b")).setSubscribedTopicRegex("a.*").setRebalanceTimeoutMs(1000).setServerAssignor("range").setClassicMemberMetadata(null);
        made(member, value, (short) 0);
        made(member, value.duplicate().setInstanceId(null).setRackId(null).setSubscribedTopicRegex(null).setServerAssignor(null)
            .setClassicMemberMetadata(new ConsumerGroupMemberMetadataValue.ClassicMemberMetadata().setSessionTimeoutMs(45000).setSupportedProtocols(List.of(
                new ConsumerGroupMemberMetadataValue.ClassicProtocol().setName("range").setMetadata(new byte[] {0, 1}),
                new ConsumerGroupMemberMetadataValue.ClassicProtocol().setName("roundrobin").setMetadata(new byte[0])))), (short) 0);
        made(member, value.duplicate().setClassicMemberMetadata(new ConsumerGroupMemberMetadataValue.ClassicMemberMetadata()), (short) 0);
        made(member, null, (short) 0);
        ConsumerGroupTargetAssignmentMetadataKey target = new ConsumerGroupTargetAssignmentMetadataKey().setGroupId("new");
        made(target, new ConsumerGroupTargetAssignmentMetadataValue().setAssignmentEpoch(3), (short) 0);
        made(target, new ConsumerGroupTargetAssignmentMetadataValue().setAssignmentEpoch(3).setAssignmentTimestamp(1700000000123L), (short) 0);
        made(target, null, (short) 0);
        ConsumerGroupTargetAssignmentMemberKey part = new ConsumerGroupTargetAssignmentMemberKey().setGroupId("new").setMemberId("member");
        made(part, new ConsumerGroupTargetAssignmentMemberValue().setTopicPartitions(List.of(
            new ConsumerGroupTargetAssignmentMemberValue.TopicPartition().setTopicId(TOPIC).setPartitions(List.of(0, 300)),
            new ConsumerGroupTargetAssignmentMemberValue.TopicPartition().setTopicId(OTHER).setPartitions(List.of()))), (short) 0);
        made(part, null, (short) 0);
        currentAssignments();
        ConsumerGroupRegularExpressionKey expression = new ConsumerGroupRegularExpressionKey().setGroupId("new").setRegularExpression("a.*");
        made(expression, new ConsumerGroupRegularExpressionValue().setTopics(List.of("a", "ab")).setVersion(77).setTimestamp(1700000000123L), (short) 0);
        made(expression, null, (short) 0);
    }

    static void currentAssignments() throws Exception {
        ConsumerGroupCurrentMemberAssignmentKey key = new ConsumerGroupCurrentMemberAssignmentKey().setGroupId("new").setMemberId("member");
        ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions with = new ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions()
            .setTopicId(TOPIC).setPartitions(List.of(0, 1)).setAssignmentEpochs(List.of(4, 5));
        ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions without = new ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions()
            .setTopicId(OTHER).setPartitions(List.of(2)).setAssignmentEpochs(List.of());
        made(key, new ConsumerGroupCurrentMemberAssignmentValue().setMemberEpoch(5).setPreviousMemberEpoch(4).setState((byte) 1)
            .setAssignedPartitions(List.of(with)).setPartitionsPendingRevocation(List.of(without)), (short) 0);
        made(key, new ConsumerGroupCurrentMemberAssignmentValue().setMemberEpoch(-2).setPreviousMemberEpoch(4).setAssignedPartitions(List.of())
            .setPartitionsPendingRevocation(List.of()), (short) 0);
        made(key, null, (short) 0);
    }

    // Types that belong to other kinds of groups.
    static void others() throws Exception {
        made(new ShareGroupMetadataKey().setGroupId("share"), new ShareGroupMetadataValue().setEpoch(1).setMetadataHash(2), (short) 0);
        made(new StreamsGroupMetadataKey().setGroupId("streams"), null, (short) 0);
    }

    static void made(ApiMessage key, ApiMessage value, short version) throws Exception {
        byte[] bytes = value == null ? null : MessageUtil.toVersionPrefixedBytes(version, value);
        print("made", MessageUtil.toCoordinatorTypePrefixedBytes(key), bytes);
    }

    static void print(String origin, byte[] key, byte[] value) throws Exception {
        ObjectNode line = JSON.createObjectNode();
        line.put("origin", origin);
        line.put("key", HexFormat.of().formatHex(key));
        line.put("value", value == null ? null : HexFormat.of().formatHex(value));
        ByteBuffer buffer = ByteBuffer.wrap(key);
        short type = buffer.getShort();
        ApiMessage keyMessage = CoordinatorRecordType.fromId(type).newRecordKey();
        keyMessage.read(new ByteBufferAccessor(buffer), (short) 0);
        line.put("type", type);
        line.set("keyData", CoordinatorRecordJsonConverters.writeRecordKeyAsJson(keyMessage));
        if (value != null) {
            ByteBuffer body = ByteBuffer.wrap(value);
            short version = body.getShort();
            ApiMessage valueMessage = CoordinatorRecordType.fromId(type).newRecordValue();
            valueMessage.read(new ByteBufferAccessor(body), version);
            line.put("version", version);
            line.set("data", CoordinatorRecordJsonConverters.writeRecordValueAsJson(valueMessage, version));
        }
        System.out.println(JSON.writeValueAsString(line));
    }

    static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }
}
