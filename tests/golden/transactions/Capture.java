// Records what Apache Kafka answers to a fixed sequence of requests about transactions. Run it against an empty one-node Kafka 4.4.0
// with offsets.topic.num.partitions=1 and without an authorizer (or as a super user):
//
//   java -cp "$KAFKA/libs/*" Capture.java 127.0.0.1:9092 2> steps.txt | gzip -9n > steps.jsonl.gz
//
// Output: one JSON object a line (step, apiKey, apiVersion, request and response as hex, both without the length and the header;
// "again" where the request was sent until the transaction before it had ended, of which only the last answer is kept).
// Standard error shows the same in Kafka's own JSON form, to be read by people.

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.message.AddPartitionsToTxnRequestData.*;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData.*;
import org.apache.kafka.common.message.WriteTxnMarkersRequestData.*;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

public class Capture {
    static DataInputStream in;
    static DataOutputStream out;
    static int correlation = 0;
    static final Map<String, Uuid> topicIds = new HashMap<>();

    /** A transactional producer as the broker told it last. */
    static class Producer {
        final String id;
        long pid = -1;
        short epoch = -1;

        Producer(String id) {
            this.id = id;
        }
    }

    public static void main(String[] args) throws Exception {
        String[] address = args[0].split(":");
        try (Socket socket = new Socket(address[0], Integer.parseInt(address[1]))) {
            socket.setSoTimeout(20000);
            in = new DataInputStream(socket.getInputStream());
            out = new DataOutputStream(socket.getOutputStream());
            beforeAnybodyAsked();
            topics();
            initProducerId();
            addPartitions();
            addPartitionsOfSeveral();
            addOffsets();
            endTransactions();
            fencing();
            offsets();
            produce();
            describeAndList();
            producersAndMarkers();
        }
    }

    // ---- Before there is __transaction_state

    static void beforeAnybodyAsked() throws Exception {
        step("describe before", 0, describe("nobody"));
        step("list before", 2, list(List.of(), List.of(), -1, null));
        for (int version : new int[] {0, 5}) step("end before v" + version, version, end("nobody", 0, 0, true));
        for (int version : new int[] {0, 3}) step("add before v" + version, version, add("nobody", 0, 0));
        for (int version : new int[] {0, 5}) step("init before v" + version, version, init("nobody", 60000, -1, -1));
        step("nothing given, before", 0, end("", 0, 0, true));
        step("init without a name, before", 5, init("", 60000, -1, -1));
    }

    static void topics() throws Exception {
        for (String[] topic : new String[][] {{"t", "3"}, {"u", "1"}, {"hang", "2"}}) {
            CreateTopicsRequestData.CreatableTopicCollection topics = new CreateTopicsRequestData.CreatableTopicCollection();
            topics.mustAdd(new CreateTopicsRequestData.CreatableTopic().setName(topic[0]).setNumPartitions(Integer.parseInt(topic[1])).setReplicationFactor((short) 1));
            CreateTopicsResponseData answer = (CreateTopicsResponseData) step("create " + topic[0], 7, new CreateTopicsRequestData().setTopics(topics).setTimeoutMs(30000));
            topicIds.put(topic[0], answer.topics().iterator().next().topicId());
        }
        again("find the coordinator", 3, new FindCoordinatorRequestData().setKeyType((byte) 1).setKey("p"), "15");
        again("find the coordinator of groups", 3, new FindCoordinatorRequestData().setKeyType((byte) 0).setKey("g"), "15");
        again("its first producer", 5, init("first", 60000, -1, -1), "14", "15", "16");
    }

    // ---- InitProducerId

    static void initProducerId() throws Exception {
        for (int version = 0; version <= 5; version++) {
            step("init, empty name v" + version, version, init("", 60000, -1, -1));
            step("init, timeout 0 v" + version, version, init("a", 0, -1, -1));
            step("init, timeout below 0 v" + version, version, init("a", -5, -1, -1));
            step("init, timeout too long v" + version, version, init("a", 900001, -1, -1));
            step("init, longest timeout v" + version, version, init("longest", 900000, -1, -1));
            Producer producer = new Producer("i" + version);
            begin(producer, version);
            begin(producer, version);
            step("init without a name v" + version, version, init(null, 0, -1, -1));
            if (version < 3) continue;
            step("init, id without epoch v" + version, version, init("a", 60000, 7, -1));
            step("init, epoch without id v" + version, version, init("a", 60000, -1, 7));
            step("init, nameless with an id v" + version, version, init(null, 60000, 7, 7));
            step("init, half nameless v" + version, version, init(null, 60000, 7, -1));
            step("init, wrong id v" + version, version, init(producer.id, 60000, producer.pid + 1000000, producer.epoch));
            step("init, epoch before v" + version, version, init(producer.id, 60000, producer.pid, producer.epoch - 1));
            step("init, epoch to come v" + version, version, init(producer.id, 60000, producer.pid, producer.epoch + 1));
            step("init, as it is v" + version, version, init(producer.id, 60000, producer.pid, producer.epoch));
            step("init, the same once more v" + version, version, init(producer.id, 60000, producer.pid, producer.epoch));
            step("init, new name with id and epoch v" + version, version, init("new" + version, 60000, 4711, 5));
        }
    }

    // ---- AddPartitionsToTxn

    static void addPartitions() throws Exception {
        for (int version = 0; version <= 3; version++) {
            Producer p = begin(new Producer("a" + version), 4);
            begin(p, 4);
            step("add, empty name v" + version, version, add("", p.pid, p.epoch, "t", "0"));
            step("add, unknown name v" + version, version, add("nobody", p.pid, p.epoch, "t", "0"));
            step("add, wrong id v" + version, version, add(p.id, p.pid + 1000000, p.epoch, "t", "0"));
            step("add, epoch before v" + version, version, add(p.id, p.pid, p.epoch - 1, "t", "0"));
            step("add, epoch to come v" + version, version, add(p.id, p.pid, p.epoch + 1, "t", "0"));
            step("add, some unknown v" + version, version, add(p.id, p.pid, p.epoch, "t", "0,7", "nothing", "0", "u", "0"));
            step("add, bad name v" + version, version, add(p.id, p.pid, p.epoch, "bad name", "0,-1", "u", "0"));
            step("add, unknown and wrong v" + version, version, add("nobody", p.pid, p.epoch, "t", "0", "nothing", "0"));
            step("add v" + version, version, add(p.id, p.pid, p.epoch, "t", "0,1", "u", "0"));
            step("add again v" + version, version, add(p.id, p.pid, p.epoch, "t", "1"));
            step("add one more v" + version, version, add(p.id, p.pid, p.epoch, "t", "2"));
            step("add, twice in one v" + version, version, add(p.id, p.pid, p.epoch, "t", "2,2", "u", "0"));
            step("add internal v" + version, version, add(p.id, p.pid, p.epoch, "__consumer_offsets", "0"));
            step("look at what was added v" + version, 0, describe(p.id));
            finish(p, 3, false);
            step("look at what ended v" + version, 0, describe(p.id));
            again("add to the next v" + version, version, add(p.id, p.pid, p.epoch, "u", "0"));
            finish(p, 3, true);
        }
    }

    static void addPartitionsOfSeveral() throws Exception {
        for (int version = 4; version <= 5; version++) {
            Producer p = begin(new Producer("s" + version), 5), q = begin(new Producer("r" + version), 5);
            step("several: unknown v" + version, version, several(one(p, false, "t", "0", "nothing", "0"), one(q, false, "t", "0,9")));
            step("several: add v" + version, version, several(one(p, false, "t", "0"), one(q, false, "t", "1", "u", "0")));
            step("several: look v" + version, 0, describe(p.id, q.id));
            step("several: verify v" + version, version, several(one(p, true, "t", "0,1"), one(q, true, "t", "1", "u", "0")));
            Producer wrong = new Producer(p.id), old = new Producer(q.id), nobody = new Producer("nobody"), empty = new Producer("");
            wrong.pid = p.pid + 1000000; wrong.epoch = p.epoch;
            old.pid = q.pid; old.epoch = (short) (q.epoch + 1);
            nobody.pid = 5; nobody.epoch = 0; empty.pid = 5; empty.epoch = 0;
            step("several: verify wrong ones v" + version, version, several(one(wrong, true, "t", "0"), one(old, true, "t", "0"), one(nobody, true, "t", "0"), one(empty, true, "t", "0")));
            step("several: add wrong ones v" + version, version, several(one(wrong, false, "t", "0"), one(old, false, "t", "0"), one(nobody, false, "t", "0"), one(empty, false, "t", "0")));
            step("several: no partitions v" + version, version, several(one(p, false), one(q, true)));
            finish(p, 5, true);
            finish(q, 4, false);
            step("several: verify after the end v" + version, version, several(one(p, true, "t", "0"), one(q, true, "t", "0")));
        }
    }

    // ---- AddOffsetsToTxn

    static void addOffsets() throws Exception {
        for (int version = 0; version <= 4; version++) {
            Producer p = begin(new Producer("o" + version), 4);
            step("offsets, empty name v" + version, version, addOffsets("", p.pid, p.epoch, "g"));
            step("offsets, unknown name v" + version, version, addOffsets("nobody", p.pid, p.epoch, "g"));
            step("offsets, wrong id v" + version, version, addOffsets(p.id, p.pid + 1000000, p.epoch, "g"));
            step("offsets, wrong epoch v" + version, version, addOffsets(p.id, p.pid, p.epoch + 1, "g"));
            step("offsets, no group v" + version, version, addOffsets(p.id, p.pid, p.epoch, ""));
            step("offsets v" + version, version, addOffsets(p.id, p.pid, p.epoch, "g"));
            step("offsets again v" + version, version, addOffsets(p.id, p.pid, p.epoch, "h"));
            step("offsets, look v" + version, 0, describe(p.id));
            finish(p, 4, true);
        }
    }

    // ---- EndTxn

    static void endTransactions() throws Exception {
        for (int version = 0; version <= 5; version++) {
            Producer p = begin(new Producer("e" + version), 4);
            begin(p, 4);
            step("end, empty name v" + version, version, end("", p.pid, p.epoch, true));
            step("end, unknown name v" + version, version, end("nobody", p.pid, p.epoch, true));
            step("end, wrong id v" + version, version, end(p.id, p.pid + 1000000, p.epoch, true));
            step("end, epoch before v" + version, version, end(p.id, p.pid, p.epoch - 1, true));
            step("end, epoch to come v" + version, version, end(p.id, p.pid, p.epoch + 1, true));
            step("commit of none v" + version, version, end(p.id, p.pid, p.epoch, true));
            take(p, step("abort of none v" + version, version, end(p.id, p.pid, p.epoch, false)));
            for (boolean commit : new boolean[] {true, false}) {
                String how = commit ? "commit" : "abort";
                again(how + ": add v" + version, 3, add(p.id, p.pid, p.epoch, "t", "0", "u", "0"));
                step(how + ", epoch before v" + version, version, end(p.id, p.pid, p.epoch - 1, commit));
                step(how + ", epoch to come v" + version, version, end(p.id, p.pid, p.epoch + 1, commit));
                short before = p.epoch;
                take(p, step(how + " v" + version, version, end(p.id, p.pid, p.epoch, commit)));
                settle(p);
                step(how + " once more as before v" + version, version, end(p.id, p.pid, before, commit));
                step(how + " then the opposite as before v" + version, version, end(p.id, p.pid, before, !commit));
                step(how + " once more v" + version, version, end(p.id, p.pid, p.epoch, commit));
                if (commit || version < 5) step(how + " then the opposite v" + version, version, end(p.id, p.pid, p.epoch, !commit));
                take(p, step("init after " + how + " v" + version, 4, init(p.id, 60000, -1, -1)));
            }
        }
    }

    // ---- A second instance

    static void fencing() throws Exception {
        for (int version = 0; version <= 5; version++) {
            Producer p = begin(new Producer("f" + version), version);
            step("fence: add v" + version, 3, add(p.id, p.pid, p.epoch, "t", "0"));
            step("fence: begin in the midst v" + version, version, init(p.id, 60000, -1, -1));
            Producer q = new Producer(p.id);
            take(q, again("fence: begin at last v" + version, version, init(p.id, 60000, -1, -1)));
            for (int add = 0; add <= 3; add++) step("fence: zombie adds v" + add + " after " + version, add, add(p.id, p.pid, p.epoch, "t", "0"));
            for (int add = 0; add <= 4; add++) step("fence: zombie adds offsets v" + add + " after " + version, add, addOffsets(p.id, p.pid, p.epoch, "g"));
            for (int end = 0; end <= 5; end++) step("fence: zombie ends v" + end + " after " + version, end, end(p.id, p.pid, p.epoch, true));
            step("fence: look v" + version, 0, describe(p.id));
            if (version < 3) continue;
            step("fence: zombie begins as it was v" + version, version, init(p.id, 60000, p.pid, p.epoch));
            step("fence: add again v" + version, 3, add(q.id, q.pid, q.epoch, "t", "0"));
            step("fence: begin as it is in the midst v" + version, version, init(q.id, 60000, q.pid, q.epoch));
            again("fence: begin as it is at last v" + version, version, init(q.id, 60000, q.pid, q.epoch));
        }
    }

    // ---- TxnOffsetCommit

    static void offsets() throws Exception {
        for (int version = 0; version <= 6; version++) {
            String group = "g" + version;
            Producer p = begin(new Producer("c" + version), 5);
            step("commit offsets, nothing v" + version, version, commit(version, p, group, p.epoch));
            step("commit offsets, all unknown v" + version, version, commit(version, p, group, p.epoch, "nothing", "0"));
            step("commit offsets, no group v" + version, version, commit(version, p, "", p.epoch, "t", "0", "nothing", "0"));
            step("commit offsets, not added v" + version, version, commit(version, p, group, p.epoch, "t", "0"));
            if (version < 5) step("commit offsets: add v" + version, 4, addOffsets(p.id, p.pid, p.epoch, group));
            step("commit offsets, wrong epoch v" + version, version, commit(version, p, group, p.epoch + 1, "t", "0"));
            step("commit offsets v" + version, version, commit(version, p, group, p.epoch, "t", "0,1", "nothing", "0", "u", "0,5"));
            if (version >= 3) {
                step("commit offsets, unknown member v" + version, version, commit(version, p, group, p.epoch, "t", "0").setMemberId("m").setGenerationIdOrMemberEpoch(3));
                step("commit offsets, generation alone v" + version, version, commit(version, p, group, p.epoch, "t", "0").setGenerationIdOrMemberEpoch(3));
                step("commit offsets, static member v" + version, version, commit(version, p, group, p.epoch, "t", "0").setGroupInstanceId("s").setMemberId("m").setGenerationIdOrMemberEpoch(3));
            }
            step("commit offsets, long metadata v" + version, version, longMetadata(version, p, group));
            for (int fetch = 7; fetch <= 9; fetch++) {
                step("fetch pending offsets v" + fetch + " after " + version, fetch, fetchOffsets(fetch, group, true));
                step("fetch offsets v" + fetch + " after " + version, fetch, fetchOffsets(fetch, group, false));
            }
            step("offsets: look v" + version, 0, describe(p.id));
            finish(p, version < 5 ? 4 : 5, version != 1);
            step("fetch ended offsets v" + version, 8, fetchOffsets(8, group, true));
            again("commit offsets to the next v" + version, version, commit(version, p, group, p.epoch, "t", "2"), "51");
            finish(p, version < 5 ? 4 : 5, false);
            step("fetch aborted offsets v" + version, 8, fetchOffsets(8, group, true));
            step("commit offsets as a zombie v" + version, version, commit(version, p, group, p.epoch - 1, "t", "2"));
            Producer wrong = new Producer(p.id);
            wrong.pid = p.pid + 1000000;
            step("commit offsets, wrong id v" + version, version, commit(version, wrong, group, p.epoch, "t", "2"));
            wrong = new Producer("nobody");
            wrong.pid = p.pid;
            step("commit offsets, unknown name v" + version, version, commit(version, wrong, group, p.epoch, "t", "2"));
            wrong = new Producer("");
            wrong.pid = p.pid;
            step("commit offsets, empty name v" + version, version, commit(version, wrong, group, p.epoch, "t", "2"));
        }
    }

    // ---- Produce

    static void produce() throws Exception {
        for (int version = 3; version <= 13; version++) {
            Producer p = begin(begin(new Producer("p" + version), 5), 5);
            if (version < 12) {
                step("produce, not added v" + version, version, produce(version, p, "t", 0, p.epoch, 0, 2));
                step("produce: add v" + version, 3, add(p.id, p.pid, p.epoch, "t", "0"));
            }
            step("produce v" + version, version, produce(version, p, "t", 0, p.epoch, 0, 2));
            step("produce, the same v" + version, version, produce(version, p, "t", 0, p.epoch, 0, 2));
            step("produce, a gap v" + version, version, produce(version, p, "t", 0, p.epoch, 7, 2));
            step("produce, more v" + version, version, produce(version, p, "t", 0, p.epoch, 2, 1));
            step("produce, not added either v" + version, version, produce(version, p, "t", 1, p.epoch, 0, 1));
            step("produce, unknown topic v" + version, version, produce(version, p, "nothing", 0, p.epoch, 0, 1));
            step("produce, epoch to come v" + version, version, produce(version, p, "t", 0, p.epoch + 1, 0, 1));
            step("produce: look v" + version, 0, describe(p.id));
            step("produce: stable end v" + version, 5, listOffsets(1, "t", 0));
            step("produce: end v" + version, 5, listOffsets(0, "t", 0));
            finish(p, version < 12 ? 4 : 5, version % 2 == 0);
            step("produce: stable end afterwards v" + version, 5, listOffsets(1, "t", 0));
            step("produce, after the end v" + version, version, produce(version, p, "t", 0, p.epoch, version < 12 ? 3 : 0, 1));
            step("produce, as a zombie v" + version, version, produce(version, p, "t", 0, p.epoch - 1, 0, 1));
            finish(p, version < 12 ? 4 : 5, false);
            Producer nameless = new Producer(null), stranger = new Producer(p.id), nobody = new Producer("nobody"), empty = new Producer("");
            nameless.pid = nobody.pid = empty.pid = p.pid;
            stranger.pid = p.pid + 1000000;
            step("produce, no name v" + version, version, produce(version, nameless, "t", 0, p.epoch, 0, 1));
            step("produce, wrong id v" + version, version, produce(version, stranger, "t", 0, p.epoch, 0, 1));
            step("produce, unknown name v" + version, version, produce(version, nobody, "t", 2, p.epoch, 0, 1));
            step("produce, empty name v" + version, version, produce(version, empty, "t", 2, p.epoch, 0, 1));
        }
    }

    // ---- DescribeTransactions, ListTransactions

    static void describeAndList() throws Exception {
        Producer p = begin(new Producer("open"), 5);
        step("list: add", 3, add(p.id, p.pid, p.epoch, "u", "0", "t", "2,0"));
        step("describe some", 0, describe("open", "nobody", "", "i0", "open"));
        step("describe none", 0, describe());
        for (int version = 0; version <= 2; version++) {
            step("list all v" + version, version, list(List.of(), List.of(), -1, null));
            step("list open v" + version, version, list(List.of("Ongoing"), List.of(), -1, null));
            step("list two states v" + version, version, list(List.of("Ongoing", "Empty", "CompleteAbort"), List.of(), -1, null));
            step("list unknown states v" + version, version, list(List.of("ongoing", "Gone"), List.of(), -1, null));
            step("list known and unknown states v" + version, version, list(List.of("Ongoing", "Gone"), List.of(), -1, null));
            step("list internal states v" + version, version, list(List.of("Dead", "PrepareEpochFence", "PrepareCommit"), List.of(), -1, null));
            step("list one producer v" + version, version, list(List.of(), List.of(p.pid, 1000000L), -1, null));
            step("list one producer in another state v" + version, version, list(List.of("Empty"), List.of(p.pid), -1, null));
        }
        for (int version = 1; version <= 2; version++) {
            step("list long ones v" + version, version, list(List.of("Ongoing"), List.of(), 100000000, null));
            step("list short ones v" + version, version, list(List.of("Ongoing"), List.of(), -7, null));
        }
        for (String pattern : new String[] {"", "open", "o", "o.*", "[io][0-3]", "(open|nobody)", "open|i0", "[", "(?i)OPEN", "^open$", "\\Qopen\\E", "ope."})
            step("list with pattern " + pattern.replace("\\", "/"), 2, list(List.of(), List.of(), -1, pattern));
        step("list with a bad pattern and an unknown state", 2, list(List.of("Gone"), List.of(), -1, "["));
        finish(p, 4, false);
    }

    // ---- DescribeProducers, WriteTxnMarkers

    static void producersAndMarkers() throws Exception {
        step("producers of none", 0, producers());
        step("producers", 0, producers("hang", "0,1,7", "nothing", "0", "bad name", "0", "", "0", "u", "0"));
        for (int version = 1; version <= 2; version++) {
            Producer p = begin(begin(new Producer("h" + version), 5), 5);
            int partition = version - 1;
            step("markers: hang v" + version, 12, produce(12, p, "hang", partition, p.epoch, 0, 3));
            step("markers: producers v" + version, 0, producers("hang", "" + partition));
            step("markers: none v" + version, version, new WriteTxnMarkersRequestData().setMarkers(List.of()));
            step("markers: unknown v" + version, version, markers(marker(p.pid, p.epoch, false, 0, 0, "nothing", "0"), marker(p.pid + 1, p.epoch, false, 0, 0, "hang", "9")));
            step("markers: epoch before v" + version, version, markers(marker(p.pid, p.epoch - 1, false, 0, 0, "hang", "" + partition)));
            step("markers: abort v" + version, version, markers(marker(p.pid, p.epoch, false, 0, 0, "hang", "" + partition)));
            step("markers: producers after v" + version, 0, producers("hang", "" + partition));
            step("markers: abort again v" + version, version, markers(marker(p.pid, p.epoch, false, 0, 0, "hang", "" + partition)));
            step("markers: older coordinator v" + version, version, markers(marker(p.pid, p.epoch, false, -1, 0, "hang", "" + partition)));
            step("markers: newer coordinator v" + version, version, markers(marker(p.pid, p.epoch, false, 5, 0, "hang", "" + partition)));
            step("markers: coordinator as before v" + version, version, markers(marker(p.pid, p.epoch, false, 4, 0, "hang", "" + partition)));
            step("markers: of a stranger v" + version, version, markers(marker(7777, 3, true, 0, 0, "hang", "" + partition, "t", "0,8")));
            step("markers: stranger after v" + version, 0, producers("hang", "" + partition));
            if (version == 2) {
                step("markers: version 2, same epoch", version, markers(marker(p.pid, p.epoch, false, 5, 2, "hang", "" + partition)));
                step("markers: version 2, next epoch", version, markers(marker(p.pid, p.epoch + 1, false, 5, 2, "hang", "" + partition)));
                step("markers: version 2, that epoch again", version, markers(marker(p.pid, p.epoch + 1, false, 5, 2, "hang", "" + partition)));
                step("markers: version 1, that epoch again", version, markers(marker(p.pid, p.epoch + 1, false, 5, 1, "hang", "" + partition)));
                step("markers: unknown version", version, markers(marker(p.pid, p.epoch + 1, false, 5, 9, "hang", "" + partition)));
                step("markers: producers at last", 0, producers("hang", "" + partition));
            }
            step("markers: stable end v" + version, 5, listOffsets(1, "hang", partition));
        }
        Producer p = begin(new Producer("hm"), 5);
        step("markers in a group: commit", 5, commit(5, p, "gm", p.epoch, "t", "0"));
        step("markers in a group: pending", 8, fetchOffsets(8, "gm", true));
        step("markers in a group: producers", 0, producers("__consumer_offsets", "0"));
        step("markers in a group: write", 1, markers(marker(p.pid, p.epoch, true, 0, 0, "__consumer_offsets", "0")));
        step("markers in a group: settled", 8, fetchOffsets(8, "gm", true));
    }

    // ---- Requests

    static InitProducerIdRequestData init(String id, int timeout, long pid, int epoch) {
        return new InitProducerIdRequestData().setTransactionalId(id).setTransactionTimeoutMs(timeout).setProducerId(pid).setProducerEpoch((short) epoch);
    }

    static AddPartitionsToTxnRequestData add(String id, long pid, int epoch, String... partitions) {
        return new AddPartitionsToTxnRequestData().setV3AndBelowTransactionalId(id).setV3AndBelowProducerId(pid).setV3AndBelowProducerEpoch((short) epoch).setV3AndBelowTopics(asked(partitions));
    }

    static AddPartitionsToTxnTopicCollection asked(String... partitions) {
        AddPartitionsToTxnTopicCollection topics = new AddPartitionsToTxnTopicCollection();
        for (int i = 0; i < partitions.length; i += 2)
            topics.add(new AddPartitionsToTxnTopic().setName(partitions[i]).setPartitions(numbers(partitions[i + 1])));
        return topics;
    }

    static List<Integer> numbers(String list) {
        List<Integer> numbers = new ArrayList<>();
        for (String number : list.split(",")) numbers.add(Integer.parseInt(number));
        return numbers;
    }

    static AddPartitionsToTxnTransaction one(Producer p, boolean verify, String... partitions) {
        return new AddPartitionsToTxnTransaction().setTransactionalId(p.id).setProducerId(p.pid).setProducerEpoch(p.epoch).setVerifyOnly(verify).setTopics(asked(partitions));
    }

    static AddPartitionsToTxnRequestData several(AddPartitionsToTxnTransaction... transactions) {
        AddPartitionsToTxnTransactionCollection all = new AddPartitionsToTxnTransactionCollection();
        for (var transaction : transactions) all.add(transaction);
        return new AddPartitionsToTxnRequestData().setTransactions(all);
    }

    static AddOffsetsToTxnRequestData addOffsets(String id, long pid, int epoch, String group) {
        return new AddOffsetsToTxnRequestData().setTransactionalId(id).setProducerId(pid).setProducerEpoch((short) epoch).setGroupId(group);
    }

    static EndTxnRequestData end(String id, long pid, int epoch, boolean commit) {
        return new EndTxnRequestData().setTransactionalId(id).setProducerId(pid).setProducerEpoch((short) epoch).setCommitted(commit);
    }

    static TxnOffsetCommitRequestData commit(int version, Producer p, String group, int epoch, String... partitions) {
        List<TxnOffsetCommitRequestTopic> topics = new ArrayList<>();
        for (int i = 0; i < partitions.length; i += 2) {
            List<TxnOffsetCommitRequestPartition> asked = new ArrayList<>();
            for (int partition : numbers(partitions[i + 1]))
                asked.add(new TxnOffsetCommitRequestPartition().setPartitionIndex(partition).setCommittedOffset(10 + partition).setCommittedMetadata(partition == 0 ? "m" : null).setCommittedLeaderEpoch(version >= 2 ? partition : -1));
            TxnOffsetCommitRequestTopic topic = new TxnOffsetCommitRequestTopic().setPartitions(asked);
            topics.add(version < 6 ? topic.setName(partitions[i]) : topic.setTopicId(topicIds.getOrDefault(partitions[i], new Uuid(5, 5))));
        }
        return new TxnOffsetCommitRequestData().setTransactionalId(p.id).setGroupId(group).setProducerId(p.pid).setProducerEpoch((short) epoch).setTopics(topics);
    }

    static TxnOffsetCommitRequestData longMetadata(int version, Producer p, String group) {
        TxnOffsetCommitRequestData commit = commit(version, p, group, p.epoch, "t", "0,2");
        commit.topics().get(0).partitions().get(1).setCommittedMetadata("x".repeat(4097));
        return commit;
    }

    static OffsetFetchRequestData fetchOffsets(int version, String group, boolean stable) {
        OffsetFetchRequestData request = new OffsetFetchRequestData().setRequireStable(stable);
        if (version < 8) return request.setGroupId(group).setTopics(List.of(
            new OffsetFetchRequestData.OffsetFetchRequestTopic().setName("t").setPartitionIndexes(List.of(0, 1, 2)), new OffsetFetchRequestData.OffsetFetchRequestTopic().setName("u").setPartitionIndexes(List.of(0))));
        return request.setGroups(List.of(new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(group).setTopics(List.of(
            new OffsetFetchRequestData.OffsetFetchRequestTopics().setName("t").setPartitionIndexes(List.of(0, 1, 2)), new OffsetFetchRequestData.OffsetFetchRequestTopics().setName("u").setPartitionIndexes(List.of(0))))));
    }

    static ProduceRequestData produce(int version, Producer p, String topic, int partition, int epoch, int sequence, int count) {
        SimpleRecord[] records = new SimpleRecord[count];
        for (int i = 0; i < count; i++) records[i] = new SimpleRecord(1700000000000L + sequence + i, ("k" + i).getBytes(), ("v" + (sequence + i)).getBytes());
        MemoryRecords batch = MemoryRecords.withTransactionalRecords(Compression.NONE, p.pid, (short) epoch, sequence, records);
        ProduceRequestData.TopicProduceData data = new ProduceRequestData.TopicProduceData().setPartitionData(List.of(new ProduceRequestData.PartitionProduceData().setIndex(partition).setRecords(batch)));
        if (version < 13) data.setName(topic); else data.setTopicId(topicIds.getOrDefault(topic, new Uuid(5, 5)));
        ProduceRequestData.TopicProduceDataCollection topics = new ProduceRequestData.TopicProduceDataCollection();
        topics.mustAdd(data);
        return new ProduceRequestData().setTransactionalId(p.id).setAcks((short) -1).setTimeoutMs(30000).setTopicData(topics);
    }

    static ListOffsetsRequestData listOffsets(int isolation, String topic, int partition) {
        return new ListOffsetsRequestData().setReplicaId(-1).setIsolationLevel((byte) isolation).setTopics(List.of(new ListOffsetsRequestData.ListOffsetsTopic().setName(topic).setPartitions(
            List.of(new ListOffsetsRequestData.ListOffsetsPartition().setPartitionIndex(partition).setTimestamp(-1).setCurrentLeaderEpoch(-1)))));
    }

    static DescribeTransactionsRequestData describe(String... ids) {
        return new DescribeTransactionsRequestData().setTransactionalIds(Arrays.asList(ids));
    }

    static ListTransactionsRequestData list(List<String> states, List<Long> producers, long duration, String pattern) {
        return new ListTransactionsRequestData().setStateFilters(states).setProducerIdFilters(producers).setDurationFilter(duration).setTransactionalIdPattern(pattern);
    }

    static DescribeProducersRequestData producers(String... partitions) {
        DescribeProducersRequestData.TopicRequestCollection topics = new DescribeProducersRequestData.TopicRequestCollection();
        for (int i = 0; i < partitions.length; i += 2)
            topics.add(new DescribeProducersRequestData.TopicRequest().setName(partitions[i]).setPartitionIndexes(numbers(partitions[i + 1])));
        return new DescribeProducersRequestData().setTopics(topics);
    }

    static WritableTxnMarker marker(long pid, int epoch, boolean commit, int coordinatorEpoch, int version, String... partitions) {
        List<WritableTxnMarkerTopic> topics = new ArrayList<>();
        for (int i = 0; i < partitions.length; i += 2)
            topics.add(new WritableTxnMarkerTopic().setName(partitions[i]).setPartitionIndexes(numbers(partitions[i + 1])));
        return new WritableTxnMarker().setProducerId(pid).setProducerEpoch((short) epoch).setTransactionResult(commit).setCoordinatorEpoch(coordinatorEpoch).setTransactionVersion((byte) version).setTopics(topics);
    }

    static WriteTxnMarkersRequestData markers(WritableTxnMarker... markers) {
        return new WriteTxnMarkersRequestData().setMarkers(Arrays.asList(markers));
    }

    // ---- Lives of producers

    static Producer begin(Producer p, int version) throws Exception {
        take(p, again("begin " + p.id, version, init(p.id, 60000, -1, -1)));
        return p;
    }

    /** Ends what is open and waits until it has ended everywhere. */
    static void finish(Producer p, int version, boolean commit) throws Exception {
        take(p, step((commit ? "commit of " : "abort of ") + p.id, version, end(p.id, p.pid, p.epoch, commit)));
        settle(p);
    }

    static void settle(Producer p) throws Exception {
        repeated("settled " + p.id, 0, describe(p.id), "\"Prepare");
    }

    static void take(Producer p, ApiMessage response) {
        if (response instanceof InitProducerIdResponseData told && told.errorCode() == 0) {
            p.pid = told.producerId();
            p.epoch = told.producerEpoch();
        }
        if (response instanceof EndTxnResponseData told && told.errorCode() == 0 && told.producerId() >= 0) {
            p.pid = told.producerId();
            p.epoch = told.producerEpoch();
        }
    }

    // ---- The wire

    static ApiMessage step(String name, int version, ApiMessage request) throws Exception {
        return record(name, version, request, ask((short) version, request), false);
    }

    /** Asks until the answer is none of these codes: what is under way has come to its end then. */
    static ApiMessage again(String name, int version, ApiMessage request, String... codes) throws Exception {
        String[] texts = codes.length == 0 ? new String[] {"rrorCode\":51,", "rrorCode\":51}"} : new String[2 * codes.length];
        for (int i = 0; i < codes.length; i++) {
            texts[2 * i] = "rrorCode\":" + codes[i] + ",";
            texts[2 * i + 1] = "rrorCode\":" + codes[i] + "}";
        }
        return repeated(name, version, request, texts);
    }

    static ApiMessage repeated(String name, int version, ApiMessage request, String... texts) throws Exception {
        while (true) {
            ApiMessage response = ask((short) version, request);
            String json = json(response, version);
            if (Arrays.stream(texts).noneMatch(json::contains)) return record(name, version, request, response, true);
            Thread.sleep(10);
        }
    }

    static ApiMessage record(String name, int version, ApiMessage request, ApiMessage response, boolean again) throws Exception {
        System.out.printf("{\"step\":\"%s\",\"again\":%b,\"apiKey\":%d,\"apiVersion\":%d,\"request\":\"%s\",\"response\":\"%s\"}%n",
            name.replace("\"", ""), again, request.apiKey(), version, hex(request, version), hex(response, version));
        System.err.printf("%s v%d: %s%n    %s%n    %s%n", request.getClass().getSimpleName(), version, name, request instanceof ProduceRequestData ? "" : json(request, version), json(response, version));
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
