// Prints records of `__transaction_state` with what Apache Kafka 4.4.0 says they are: those of the log directories given as arguments
// (unpacked `data.tar.gz`), and some of each version and state that those do not hold, written by Kafka's own generated classes.
//
//   java -cp "$KAFKA/libs/*" Records.java clean-3.9 clean-4.3 clean-4.4 killed-4.4 | gzip -9n > records.jsonl.gz
//
// One JSON object a line: origin, key and value (hex; value null for a tombstone), type and version, keyData and data as in Kafka's dump tool.

import java.io.File;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.coordinator.transaction.TransactionState;
import org.apache.kafka.coordinator.transaction.generated.*;

public class Records {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        for (String directory : args) {
            for (int partition = 0; partition < 4; partition++) {
                File folder = new File(directory, "__transaction_state-" + partition);
                File segment = new File(folder, "00000000000000000000.log");
                if (segment.length() > 0) segment(new File(directory).getName(), segment);
            }
        }
        TransactionLogKey key = new TransactionLogKey().setTransactionalId("märchen");
        made(key, null, (short) 0);
        for (short version = 0; version <= 1; version++) {
            for (TransactionState state : TransactionState.values()) states(key, version, state);
        }
    }

    static void states(TransactionLogKey key, short version, TransactionState state) throws Exception {
        TransactionLogValue value = new TransactionLogValue().setProducerId(1L << 40).setProducerEpoch((short) 32767).setTransactionTimeoutMs(60000)
            .setTransactionStatus(state.id()).setTransactionLastUpdateTimestampMs(1700000000123L).setTransactionStartTimestampMs(-1);
        made(key, value.duplicate().setTransactionPartitions(state == TransactionState.EMPTY ? null : List.of()), version);
        TransactionLogValue open = value.duplicate().setTransactionStartTimestampMs(1700000000001L).setTransactionPartitions(List.of(
            new TransactionLogValue.PartitionsSchema().setTopic("__consumer_offsets").setPartitionIds(List.of(7)),
            new TransactionLogValue.PartitionsSchema().setTopic("topic").setPartitionIds(List.of(0, 1, 300))));
        if (state != TransactionState.EMPTY) made(key, open, version);
        if (version == 0) return;
        made(key, open.duplicate().setTransactionPartitions(state == TransactionState.EMPTY ? null : open.transactionPartitions()).setPreviousProducerId(5)
            .setNextProducerId(1L << 41).setClientTransactionVersion((short) 2), version);
        made(key, open.duplicate().setTransactionPartitions(state == TransactionState.EMPTY ? null : open.transactionPartitions()).setNextProducerEpoch((short) 3)
            .setClientTransactionVersion((short) 1), version);
    }

    static void segment(String origin, File file) throws Exception {
        try (FileRecords records = FileRecords.open(file)) {
            for (RecordBatch batch : records.batches()) {
                for (org.apache.kafka.common.record.internal.Record record : batch) {
                    byte[] value = record.hasValue() ? bytes(record.value()) : null;
                    print(origin, bytes(record.key()), value);
                }
            }
        }
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
