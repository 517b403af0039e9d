// Records what Apache Kafka answers to group requests that no client should send: every field out of its range, ids of other
// groups, of members that are gone and of nobody, members of one protocol that call the APIs of the other, foreign bytes. Run it
// against an empty one-node Kafka 4.4.0 (node.id 0, auto.create.topics.enable=false, offsets.topic.num.partitions=1,
// group.initial.rebalance.delay.ms=0, group.consumer.assignment.interval.ms=0, no authorizer):
//
//   java -cp "$KAFKA/libs/*" Capture.java 127.0.0.1:9092 2> steps.txt | gzip -9n > steps.jsonl.gz
//
// Output: one JSON object a line: event, step, apiKey, apiVersion, request and response as hex, both without the length and the header.
// `ask` is a request with its answer, `send` one on a connection of its own whose answer nobody waits for (null), `until` one to
// repeat until it is answered so. Standard error shows the same in words.

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.message.CreateTopicsRequestData.*;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData.TopicPartitions;
import org.apache.kafka.common.message.IncrementalAlterConfigsRequestData.*;
import org.apache.kafka.common.message.JoinGroupRequestData.*;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.OffsetCommitRequestData.*;
import org.apache.kafka.common.message.OffsetDeleteRequestData.*;
import org.apache.kafka.common.message.OffsetFetchRequestData.*;
import org.apache.kafka.common.message.SyncGroupRequestData.SyncGroupRequestAssignment;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;

public class Capture {
    static String[] address;
    static final List<Wire> wires = new ArrayList<>();
    static int correlation = 0;
    static Uuid topicId;

    /** A member of a group as its client knows it. */
    record Member(String group, String id, String instance, int generation) {
        Member as(String other) { return new Member(group, other, instance, generation); }
        Member in(String other) { return new Member(other, id, instance, generation); }
        Member called(String other) { return new Member(group, id, other, generation); }
        Member at(int other) { return new Member(group, id, instance, other); }
    }

    public static void main(String[] args) throws Exception {
        address = args[0].split(":");
        wires.add(new Wire());
        CreateTopicsResponseData created = (CreateTopicsResponseData) step("topics", 7, topics("t", 3, "u", 1));
        topicId = created.topics().find("t").topicId();
        waitForCoordinator();
        coordinators();
        joins();
        members();
        heartbeats();
        commits();
        fetches();
        offsetDeletes();
        admin();
        configs();
        step("groups of joins that were refused", 2, new DeleteGroupsRequestData().setGroupsNames(List.of("odd")));
        step("what is left", 5, new ListGroupsRequestData());
    }

    /** The first group makes __consumer_offsets. */
    static void waitForCoordinator() throws Exception {
        FindCoordinatorRequestData find = new FindCoordinatorRequestData().setCoordinatorKeys(List.of("first"));
        while (((FindCoordinatorResponseData) ask(wires.get(0), (short) 4, find)).coordinators().get(0).errorCode() != 0) Thread.sleep(200);
        HeartbeatRequestData beat = new HeartbeatRequestData().setGroupId("first").setMemberId("x");
        while (((HeartbeatResponseData) ask(wires.get(0), (short) 4, beat)).errorCode() != 25) Thread.sleep(200);
    }

    static CreateTopicsRequestData topics(Object... namesAndCounts) {
        CreatableTopicCollection all = new CreatableTopicCollection();
        for (int i = 0; i < namesAndCounts.length; i += 2)
            all.mustAdd(new CreatableTopic().setName((String) namesAndCounts[i]).setNumPartitions((int) namesAndCounts[i + 1]).setReplicationFactor((short) 1));
        return new CreateTopicsRequestData().setTimeoutMs(30000).setTopics(all);
    }

    // ---- FindCoordinator

    static void coordinators() throws Exception {
        for (int version = 0; version <= 6; version++) {
            if (version >= 4) {
                step("coordinators of odd names", version, new FindCoordinatorRequestData().setCoordinatorKeys(List.of("", " ", "a", "a", long32k())));
                step("coordinators of nobody", version, new FindCoordinatorRequestData().setCoordinatorKeys(List.of()));
            } else {
                for (String key : List.of("", " ", "a", long32k()))
                    step("coordinator of an odd name", version, new FindCoordinatorRequestData().setKey(key));
            }
            if (version == 0) continue;
            for (int type : new int[] {3, -1, 127, -128}) {
                FindCoordinatorRequestData find = new FindCoordinatorRequestData().setKeyType((byte) type);
                step("coordinator of an unknown kind", version, version >= 4 ? find.setCoordinatorKeys(List.of("a", "b")) : find.setKey("a"));
            }
        }
    }

    // ---- JoinGroup into groups that are not there, one field out of order each time

    static void joins() throws Exception {
        for (int version = 0; version <= 9; version++) {
            final int v = version;
            oddJoin("no group id", v, join -> join.setGroupId(""));
            for (int timeout : new int[] {0, -1, 5999, 1800001, Integer.MIN_VALUE, Integer.MAX_VALUE})
                oddJoin("session time-out " + timeout, v, join -> join.setSessionTimeoutMs(timeout));
            oddJoin("no protocol type", v, join -> join.setProtocolType(""));
            oddJoin("no protocols", v, join -> join.setProtocols(new JoinGroupRequestProtocolCollection()));
            oddJoin("nobody's id", v, join -> join.setMemberId("stranger"));
            if (v < 5) continue;
            oddJoin("an instance with nobody's id", v, join -> join.setGroupInstanceId("i").setMemberId("stranger"));
        }
        for (int version : new int[] {0, 3, 5, 9}) {
            accepted("foreign bytes", version, join -> join.setProtocols(protocols("range", "\u0000\u0003\u007f\u007f\u007f")));
            accepted("no bytes", version, join -> join.setProtocols(protocols("range", "")));
            accepted("an empty protocol name", version, join -> join.setProtocols(protocols("", "x")));
            accepted("a type of its own", version, join -> join.setProtocolType("x\u0000y").setProtocols(protocols("\u0000", "x")));
        }
        JoinGroupRequestData static1 = join("static-empty-name").setGroupInstanceId("");
        step("an empty instance id", 9, static1);
        step("an empty instance id, who is it", 6, describe("static-empty-name"));
    }

    static void oddJoin(String name, int version, Consumer<JoinGroupRequestData> change) throws Exception {
        JoinGroupRequestData join = join("odd");
        change.accept(join);
        if (version == 0) join.setRebalanceTimeoutMs(-1);
        step("join, " + name, version, join);
        step("a join that was refused leaves no group", 6, describe("odd"));
    }

    /** A member with something odd that is no reason to refuse it, its whole life. */
    static void accepted(String name, int version, Consumer<JoinGroupRequestData> change) throws Exception {
        String group = "odd " + name + " v" + version;
        JoinGroupRequestData join = join(group);
        if (version == 0) join.setRebalanceTimeoutMs(-1);
        change.accept(join);
        JoinGroupResponseData joined = (JoinGroupResponseData) step("join, " + name, version, join);
        if (joined.errorCode() == 79) joined = (JoinGroupResponseData) step("join, " + name, version, join.setMemberId(joined.memberId()));
        if (joined.errorCode() != 0) return;
        Member member = new Member(group, joined.memberId(), null, joined.generationId());
        step("sync, " + name, Math.min(version, 5) == 5 ? 4 : Math.min(version, 3), sync(member).setProtocolType(null).setProtocolName(null));
        step("describe, " + name, 6, describe(group));
        step("offsets of it can be deleted if nobody can tell what it reads", 0, deleteOffsets(group, "t", 0, "u", 0));
        step("leave, " + name, 2, new LeaveGroupRequestData().setGroupId(group).setMemberId(member.id));
        step("describe, " + name, 6, describe(group));
    }

    static JoinGroupRequestData join(String group) {
        return new JoinGroupRequestData().setGroupId(group).setSessionTimeoutMs(1800000).setRebalanceTimeoutMs(60000)
            .setProtocolType("consumer").setProtocols(protocols("range", SUBSCRIPTION));
    }

    static final String SUBSCRIPTION = "\0\0\0\0\0\1\0\1t\u00ff\u00ff\u00ff\u00ff";

    static JoinGroupRequestProtocolCollection protocols(String... namesAndBytes) {
        JoinGroupRequestProtocolCollection all = new JoinGroupRequestProtocolCollection();
        for (int i = 0; i < namesAndBytes.length; i += 2)
            all.mustAdd(new JoinGroupRequestProtocol().setName(namesAndBytes[i]).setMetadata(namesAndBytes[i + 1].getBytes(StandardCharsets.ISO_8859_1)));
        return all;
    }

    // ---- Requests of members, in every state that a group can be in

    /** Brings a group into a state; whoever the requests are changed from. */
    interface Making { Member make(String group) throws Exception; }

    static void members() throws Exception {
        foreign = stable("foreign", null);
        inState("nobody", group -> new Member(group, "stranger", null, 1));
        inState("simple", Capture::simple);
        inState("empty", Capture::empty);
        inState("pending", Capture::pending);
        inState("preparing", Capture::preparing);
        inState("completing", group -> joined(group, null));
        inState("stable", group -> stable(group, null));
        inState("static", group -> stable(group, "i"));
        inState("replaced", Capture::replaced);
        inState("connect", Capture::connect);
        inState("consumer", group -> consumer(group, null));
        inState("consumer-static", group -> consumer(group, "i"));
        inState("consumer-away", Capture::away);
        inState("consumer-left", Capture::left);
        inState("mixed", Capture::mixed);
    }

    static Member foreign;
    
    static void inState(String state, Making making) throws Exception {
        for (String api : List.of("heartbeat", "sync", "commit", "fetch", "consumer heartbeat", "join", "consumer join", "leave")) {
            String group = state + " " + api;
            Member member = making.make(group);
            for (Member odd : odd(member)) probe(api, state + ": " + api, odd);
            if (api.equals("join")) joinsInto(member);
            show(state + ": after " + api, group);
            while (wires.size() > 1) wires.remove(wires.size() - 1).close();
        }
    }

    /** The member with one thing about it changed, then two, then none. */
    static List<Member> odd(Member member) {
        List<Member> all = new ArrayList<>();
        int generation = member.generation;
        for (int other : new int[] {generation - 1, generation + 1, 0, -1, -2, Integer.MIN_VALUE, Integer.MAX_VALUE})
            if (other != generation) all.add(member.at(other));
        for (String id : List.of("", "stranger", " ", foreign.id, "x".repeat(300))) {
            all.add(member.as(id));
            all.add(member.as(id).at(-1));
            all.add(member.as(id).called("i"));
        }
        for (String instance : List.of("", "j", " ")) all.add(member.called(instance));
        all.add(member.called(member.instance == null ? "i" : null));
        all.add(member.as("stranger").at(0));
        all.add(member.in(""));
        all.add(member.in("no such group"));
        all.add(foreign.in(member.group));
        all.add(member);
        return all;
    }

    static void probe(String api, String step, Member member) throws Exception {
        switch (api) {
            case "heartbeat" -> step(step, 4, new HeartbeatRequestData().setGroupId(member.group).setMemberId(member.id).setGroupInstanceId(member.instance).setGenerationId(member.generation));
            case "sync" -> {
                step(step, 5, sync(member).setProtocolName("roundrobin"));
                step(step, 5, sync(member).setProtocolType("connect"));
                step(step, 5, sync(member).setProtocolType(null));
                step(step, 5, sync(member));
            }
            case "commit" -> {
                step(step, 10, commit(member, Uuid.ZERO_UUID, topicId));
                step(step, 9, commit(member, "t", "no such topic"));
                step(step, 8, commit(member, "t"));
            }
            case "fetch" -> step(step, 9, new OffsetFetchRequestData().setGroups(List.of(new OffsetFetchRequestGroup().setGroupId(member.group)
                .setMemberId(member.id).setMemberEpoch(member.generation).setTopics(List.of(new OffsetFetchRequestTopics().setName("t").setPartitionIndexes(List.of(0, 1)))))));
            case "consumer heartbeat" -> {
                // A join changes the group: it has a probe of its own.
                if (member.generation != 0) step(step, 1, beat(member));
            }
            case "join" -> {
                // What waits for others, or has others wait for it, is not sent.
                boolean unknown = !member.id.isEmpty() && member.instance == null && member.id.equals("stranger") || member.id.equals(foreign.id) || member.id.equals(" ");
                if (unknown || member.group.isEmpty()) step(step, 9, join(member.group).setMemberId(member.id).setGroupInstanceId(member.instance));
            }
            case "consumer join" -> {
                if (member.generation == 0 && (member.id.isEmpty() || member.id.equals("stranger"))) step(step, 1, consumerJoin(member).setSubscribedTopicNames(List.of("u")));
            }
            case "leave" -> step(step, 5, new LeaveGroupRequestData().setGroupId(member.group).setMembers(List.of(new MemberIdentity().setMemberId(member.id).setGroupInstanceId(member.instance))));
        }
    }

    static void joinsInto(Member member) throws Exception {
        step("join with another type", 9, join(member.group).setMemberId(member.id).setGroupInstanceId(member.instance).setProtocolType("connect2"));
        step("join with no protocol of theirs", 9, join(member.group).setMemberId(member.id).setGroupInstanceId(member.instance).setProtocols(protocols("sticky", "x")));
        step("join with no protocols", 9, join(member.group).setMemberId(member.id).setGroupInstanceId(member.instance).setProtocols(new JoinGroupRequestProtocolCollection()));
        step("a stranger joins with another type", 9, join(member.group).setMemberId("stranger").setProtocolType("connect2"));
        step("a new one joins with no protocol of theirs", 3, join(member.group).setProtocols(protocols("sticky2", "x")).setProtocolType("connect3"));
    }

    static void show(String step, String group) throws Exception {
        step(step, 6, describe(group));
        step(step, 1, new ConsumerGroupDescribeRequestData().setGroupIds(List.of(group)));
        step(step, 9, new OffsetFetchRequestData().setGroups(List.of(new OffsetFetchRequestGroup().setGroupId(group).setTopics(null))));
    }

    static Member simple(String group) throws Exception {
        step("a commit of nobody", 9, commit(new Member(group, "", null, -1), "t"));
        return new Member(group, "stranger", null, 0);
    }

    static Member joined(String group, String instance) throws Exception {
        JoinGroupRequestData join = join(group).setGroupInstanceId(instance);
        JoinGroupResponseData joined = (JoinGroupResponseData) step("join", 9, join);
        if (joined.errorCode() == 79) joined = (JoinGroupResponseData) step("join", 9, join.setMemberId(joined.memberId()));
        return new Member(group, joined.memberId(), instance, joined.generationId());
    }

    static Member stable(String group, String instance) throws Exception {
        Member member = joined(group, instance);
        step("sync", 5, sync(member));
        return member;
    }

    static Member empty(String group) throws Exception {
        Member member = stable(group, null);
        step("leave", 5, new LeaveGroupRequestData().setGroupId(group).setMembers(List.of(new MemberIdentity().setMemberId(member.id))));
        return member;
    }

    static Member pending(String group) throws Exception {
        JoinGroupResponseData given = (JoinGroupResponseData) step("ask for an id", 9, join(group));
        return new Member(group, given.memberId(), null, 0);
    }

    /** One member waits for the other, which does not join again. */
    static Member preparing(String group) throws Exception {
        Member member = stable(group, null);
        JoinGroupResponseData given = (JoinGroupResponseData) step("ask for an id", 9, join(group));
        Wire other = new Wire();
        wires.add(other);
        send("join and wait", other, 9, join(group).setMemberId(given.memberId()));
        until("the other has joined", 4, new HeartbeatRequestData().setGroupId(group).setMemberId(member.id).setGenerationId(member.generation), 27);
        return member;
    }

    static Member replaced(String group) throws Exception {
        Member old = stable(group, "i");
        step("the instance comes back", 9, join(group).setGroupInstanceId("i"));
        return old;
    }

    static Member connect(String group) throws Exception {
        JoinGroupRequestData join = join(group).setProtocolType("connect").setProtocols(protocols("eager", "worker"));
        JoinGroupResponseData joined = (JoinGroupResponseData) step("join", 3, join);
        Member member = new Member(group, joined.memberId(), null, joined.generationId());
        step("sync", 3, sync(member).setProtocolType(null).setProtocolName(null));
        return member;
    }

    static Member consumer(String group, String instance) throws Exception {
        String id = "member-of-" + group.replace(' ', '-');
        ConsumerGroupHeartbeatResponseData joined = (ConsumerGroupHeartbeatResponseData) step("consumer join", 1, consumerJoin(new Member(group, id, instance, 0)));
        Member member = new Member(group, id, instance, joined.memberEpoch());
        step("consumer heartbeat", 1, beat(member).setTopicPartitions(List.of(new TopicPartitions().setTopicId(topicId).setPartitions(List.of(0, 1, 2)))));
        return member;
    }

    static Member away(String group) throws Exception {
        Member member = consumer(group, "i");
        step("leave for a while", 1, beat(member.at(-2)));
        return member;
    }

    static Member left(String group) throws Exception {
        Member member = consumer(group, null);
        step("leave", 1, beat(member.at(-1)));
        return member;
    }

    /** A member of the classic protocol in a group of the new one. */
    static Member mixed(String group) throws Exception {
        consumer(group, null);
        return joined(group, null);
    }

    static SyncGroupRequestData sync(Member member) {
        return new SyncGroupRequestData().setGroupId(member.group).setMemberId(member.id).setGroupInstanceId(member.instance).setGenerationId(member.generation)
            .setProtocolType("consumer").setProtocolName("range")
            .setAssignments(List.of(new SyncGroupRequestAssignment().setMemberId(member.id).setAssignment("mine".getBytes()), new SyncGroupRequestAssignment().setMemberId("stranger").setAssignment("his".getBytes())));
    }

    static ConsumerGroupHeartbeatRequestData beat(Member member) {
        return new ConsumerGroupHeartbeatRequestData().setGroupId(member.group).setMemberId(member.id).setInstanceId(member.instance).setMemberEpoch(member.generation);
    }

    static ConsumerGroupHeartbeatRequestData consumerJoin(Member member) {
        return beat(member.at(0)).setRebalanceTimeoutMs(60000).setSubscribedTopicNames(List.of("t")).setTopicPartitions(List.of());
    }

    static DescribeGroupsRequestData describe(String... groups) {
        return new DescribeGroupsRequestData().setGroups(List.of(groups));
    }

    // ---- ConsumerGroupHeartbeat, one field out of order each time

    static void heartbeats() throws Exception {
        List<Consumer<ConsumerGroupHeartbeatRequestData>> changes = List.of(
            beat -> beat.setGroupId(""), beat -> beat.setGroupId(" "), beat -> beat.setMemberId(" "), beat -> beat.setInstanceId(""), beat -> beat.setInstanceId(" "),
            beat -> beat.setRackId(""), beat -> beat.setRackId(" "), beat -> beat.setRebalanceTimeoutMs(-1), beat -> beat.setSubscribedTopicNames(null),
            beat -> beat.setTopicPartitions(null), beat -> beat.setTopicPartitions(List.of(new TopicPartitions().setTopicId(topicId).setPartitions(List.of(0)))),
            beat -> beat.setTopicPartitions(List.of(new TopicPartitions())), beat -> beat.setServerAssignor("mine"), beat -> beat.setServerAssignor(""),
            beat -> beat.setServerAssignor("Range"), beat -> beat.setMemberEpoch(-1), beat -> beat.setMemberEpoch(-2), beat -> beat.setMemberEpoch(-3),
            beat -> beat.setMemberEpoch(Integer.MIN_VALUE), beat -> beat.setMemberEpoch(1), beat -> beat.setMemberEpoch(Integer.MAX_VALUE));
        for (int version = 0; version <= 1; version++)
            for (Consumer<ConsumerGroupHeartbeatRequestData> change : changes) {
                ConsumerGroupHeartbeatRequestData join = consumerJoin(new Member("odd consumer", "m", null, 0));
                change.accept(join);
                step("consumer heartbeat", version, join);
                show("nothing of it is left", "odd consumer");
            }
        step("no member id", 1, consumerJoin(new Member("odd consumer", "", null, 0)));
        for (String regex : List.of("(", "[", "*", "a{2,1}", "(?<n", "\\"))
            step("a pattern that is none", 1, consumerJoin(new Member("odd consumer", "m", null, 0)).setSubscribedTopicRegex(regex));
        show("nothing of it is left", "odd consumer");
        Member member = consumer("consumer in order", null);
        List<Consumer<ConsumerGroupHeartbeatRequestData>> later = List.of(
            beat -> beat.setRackId(""), beat -> beat.setInstanceId(""), beat -> beat.setServerAssignor("mine"),
            beat -> beat.setSubscribedTopicRegex("("), beat -> beat.setMemberEpoch(0), beat -> beat.setMemberEpoch(-3));
        for (Consumer<ConsumerGroupHeartbeatRequestData> change : later) {
            ConsumerGroupHeartbeatRequestData beat = beat(member);
            change.accept(beat);
            step("consumer heartbeat of a member", 1, beat);
        }
        show("it goes on", "consumer in order");
        List<Consumer<ConsumerGroupHeartbeatRequestData>> oddButFine = List.of(
            beat -> beat.setTopicPartitions(List.of(new TopicPartitions().setTopicId(topicId).setPartitions(List.of(-1, 7, Integer.MAX_VALUE)))),
            beat -> beat.setTopicPartitions(List.of(new TopicPartitions().setTopicId(Uuid.ZERO_UUID).setPartitions(List.of(0)))),
            beat -> beat.setRebalanceTimeoutMs(-1), beat -> beat.setSubscribedTopicNames(List.of("t", "t", "no.such.topic")),
            beat -> beat.setTopicPartitions(List.of(new TopicPartitions().setTopicId(topicId).setPartitions(List.of(0, 1, 2)))));
        for (Consumer<ConsumerGroupHeartbeatRequestData> change : oddButFine) {
            ConsumerGroupHeartbeatRequestData beat = beat(member);
            change.accept(beat);
            ConsumerGroupHeartbeatResponseData answer = (ConsumerGroupHeartbeatResponseData) step("an odd consumer heartbeat", 1, beat);
            member = member.at(answer.memberEpoch());
        }
        show("it goes on", "consumer in order");
    }

    // ---- Offsets

    static OffsetCommitRequestData commit(Member member, Object... topics) {
        List<OffsetCommitRequestTopic> all = new ArrayList<>();
        for (Object topic : topics) {
            OffsetCommitRequestTopic row = new OffsetCommitRequestTopic().setPartitions(List.of(at(0, 42)));
            all.add(topic instanceof Uuid id ? row.setTopicId(id) : row.setName((String) topic));
        }
        return new OffsetCommitRequestData().setGroupId(member.group).setMemberId(member.id).setGroupInstanceId(member.instance)
            .setGenerationIdOrMemberEpoch(member.generation).setTopics(all);
    }

    static OffsetCommitRequestPartition at(int partition, long offset) {
        return new OffsetCommitRequestPartition().setPartitionIndex(partition).setCommittedOffset(offset).setCommittedMetadata("m");
    }

    static void commits() throws Exception {
        Member nobody = new Member("commits", "", null, -1);
        for (int version = 2; version <= 10; version++) {
            Member own = nobody.in("commits v" + version);
            OffsetCommitRequestData ranges = rows(version, own, at(0, -1), at(1, -2), at(2, Long.MIN_VALUE), at(0, Long.MAX_VALUE), at(-1, 1), at(3, 1), at(Integer.MAX_VALUE, 1), at(Integer.MIN_VALUE, 1));
            step("offsets and partitions out of range", version, ranges);
            step("metadata as long as it may be, and longer", version, rows(version, own, at(0, 1).setCommittedMetadata("m".repeat(4096)), at(1, 1).setCommittedMetadata("m".repeat(4097)), at(2, 1).setCommittedMetadata(null)));
            if (version >= 6) step("leader epochs", version, rows(version, own, at(0, 5).setCommittedLeaderEpoch(-2), at(1, 5).setCommittedLeaderEpoch(Integer.MAX_VALUE), at(2, 5).setCommittedLeaderEpoch(Integer.MIN_VALUE)));
            if (version <= 4) for (long retention : new long[] {0, -1, -2, 1_000_000_000L}) step("retention " + retention, version, rows(version, own.in("commits v" + version + " " + retention), at(0, 7)).setRetentionTimeMs(retention));
            step("nothing", version, rows(version, own).setTopics(List.of()));
            step("a topic without partitions", version, rows(version, own));
            if (version < 10) step("odd topics", version, commit(own, "", ".", "no such topic", "a/b", "__consumer_offsets"));
            step("no group", version, rows(version, own.in(""), at(0, 1)));
            show("commits v" + version, "commits v" + version);
        }
    }

    static OffsetCommitRequestData rows(int version, Member member, OffsetCommitRequestPartition... rows) {
        OffsetCommitRequestTopic topic = new OffsetCommitRequestTopic().setPartitions(List.of(rows));
        if (version >= 10) topic.setTopicId(topicId); else topic.setName("t");
        return commit(member).setTopics(List.of(topic));
    }

    static void fetches() throws Exception {
        step("a commit", 9, rows(9, new Member("fetched", "", null, -1), at(0, 42), at(2, 43)));
        for (int version = 1; version <= 7; version++) {
            for (String group : List.of("fetched", "nobodys", "", " ")) {
                step("odd topics", version, new OffsetFetchRequestData().setGroupId(group).setTopics(List.of(old("t", 0, 1, 2, 3, -1, Integer.MAX_VALUE, 0), old("", 0), old("no such topic", 0), old("t"))));
                if (version >= 2) step("everything", version, new OffsetFetchRequestData().setGroupId(group).setTopics(null));
                step("nothing", version, new OffsetFetchRequestData().setGroupId(group).setTopics(List.of()));
            }
        }
        for (int version = 8; version <= 10; version++) {
            List<OffsetFetchRequestGroup> groups = new ArrayList<>();
            for (String group : List.of("fetched", "nobodys", "", "fetched")) groups.add(new OffsetFetchRequestGroup().setGroupId(group).setTopics(null));
            step("everything of several", version, new OffsetFetchRequestData().setGroups(groups));
            step("of nobody", version, new OffsetFetchRequestData().setGroups(List.of()));
            List<OffsetFetchRequestTopics> topics = version < 10
                ? List.of(of("t", null, 0, 1, -1, 99, 0), of("", null, 0), of("no such topic", null, 0))
                : List.of(of(null, topicId, 0, 1, -1, 99, 0), of(null, Uuid.ZERO_UUID, 0), of(null, new Uuid(5, 5), 0));
            step("odd topics", version, new OffsetFetchRequestData().setRequireStable(true).setGroups(List.of(new OffsetFetchRequestGroup().setGroupId("fetched").setTopics(topics), new OffsetFetchRequestGroup().setGroupId("nobodys").setTopics(topics))));
        }
    }

    static OffsetFetchRequestTopic old(String name, Integer... partitions) {
        return new OffsetFetchRequestTopic().setName(name).setPartitionIndexes(List.of(partitions));
    }

    static OffsetFetchRequestTopics of(String name, Uuid id, Integer... partitions) {
        OffsetFetchRequestTopics topic = new OffsetFetchRequestTopics().setPartitionIndexes(List.of(partitions));
        return name == null ? topic.setTopicId(id) : topic.setName(name);
    }

    static OffsetDeleteRequestData deleteOffsets(String group, Object... topicsAndPartitions) {
        OffsetDeleteRequestTopicCollection all = new OffsetDeleteRequestTopicCollection();
        for (int i = 0; i < topicsAndPartitions.length; i += 2)
            all.mustAdd(new OffsetDeleteRequestTopic().setName((String) topicsAndPartitions[i]).setPartitions(List.of(new OffsetDeleteRequestPartition().setPartitionIndex((int) topicsAndPartitions[i + 1]))));
        return new OffsetDeleteRequestData().setGroupId(group).setTopics(all);
    }

    static void offsetDeletes() throws Exception {
        stable("reader", null);
        consumer("new reader", null);
        connect("worker");
        empty("gone");
        step("a commit", 9, commit(new Member("gone", "", null, -1), "t"));
        for (String group : List.of("", " ", "nobodys", "reader", "new reader", "worker", "gone", "fetched")) {
            step("delete offsets", 0, deleteOffsets(group, "t", 0, "u", 0, "no such topic", 0, "", 0, "a/b", -1));
            step("delete offsets of partitions that are not there", 0, deleteOffsets(group, "u", 5, "t", -1));
            step("delete no offsets", 0, deleteOffsets(group));
            show("delete offsets", group);
        }
    }

    // ---- Groups as such

    static void admin() throws Exception {
        String[] groups = {"", " ", "nobodys", "reader", "new reader", "worker", "reader", long32k()};
        for (int version = 0; version <= 6; version++) {
            // Of a group with the longest name, Kafka 4.4 fails to say that it is not there.
            step("describe", version, describe(version < 6 ? groups : java.util.Arrays.copyOf(groups, groups.length - 1)));
            step("describe nothing", version, describe());
        }
        for (int version = 0; version <= 1; version++) step("describe as consumer groups", version, new ConsumerGroupDescribeRequestData().setGroupIds(List.of(groups).subList(0, groups.length - 1)));
        for (int version = 4; version <= 5; version++) {
            step("list states that are none", version, new ListGroupsRequestData().setStatesFilter(List.of("nonsense", "", " ")));
            step("list states in any case", version, new ListGroupsRequestData().setStatesFilter(List.of("PREPARINGREBALANCE", "completingrebalance")));
        }
        step("list types that are none", 5, new ListGroupsRequestData().setTypesFilter(List.of("nonsense", "")));
        step("list one type that is none", 5, new ListGroupsRequestData().setTypesFilter(List.of("nonsense", "Consumer")));
        step("list types in any case", 5, new ListGroupsRequestData().setTypesFilter(List.of("CONSUMER")).setStatesFilter(List.of("eMPTY")));
        for (int version = 0; version <= 2; version++) {
            step("delete", version, new DeleteGroupsRequestData().setGroupsNames(List.of("", " ", "nobodys", "reader", "new reader", "worker", "fetched", "gone")));
            step("delete nothing", version, new DeleteGroupsRequestData().setGroupsNames(List.of()));
        }
        simple("twice");
        step("delete one twice", 2, new DeleteGroupsRequestData().setGroupsNames(List.of("twice", "twice")));
        show("what was refused goes on", "reader");
        show("what was refused goes on", "new reader");
        show("what was deleted is gone", "gone");
    }

    static void configs() throws Exception {
        String[][] settings = {
            {"consumer.session.timeout.ms", "1"}, {"consumer.session.timeout.ms", "x"}, {"consumer.session.timeout.ms", ""}, {"consumer.session.timeout.ms", "60001"},
            {"consumer.session.timeout.ms", "-1"}, {"consumer.heartbeat.interval.ms", "0"}, {"consumer.heartbeat.interval.ms", "99999999"},
            {"consumer.heartbeat.interval.ms", "45000"}, {"no.such.setting", "1"}, {"", "1"}, {"retention.ms", "1"}};
        for (String[] setting : settings)
            step("set " + setting[0] + " to " + setting[1], 1, alter("reader", setting[0], setting[1]));
        step("settings of no group", 1, alter("", "consumer.session.timeout.ms", "50000"));
        step("settings of a group that is not there", 1, alter("not yet", "consumer.session.timeout.ms", "50000"));
        step("what was refused is not set", 4, new DescribeConfigsRequestData().setResources(List.of(
            new DescribeConfigsRequestData.DescribeConfigsResource().setResourceType((byte) 32).setResourceName("reader").setConfigurationKeys(List.of("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "no.such.setting")))));
    }

    static IncrementalAlterConfigsRequestData alter(String group, String key, String value) {
        AlterableConfigCollection configs = new AlterableConfigCollection();
        configs.mustAdd(new AlterableConfig().setName(key).setValue(value).setConfigOperation((byte) 0));
        AlterConfigsResourceCollection all = new AlterConfigsResourceCollection();
        all.mustAdd(new AlterConfigsResource().setResourceType((byte) 32).setResourceName(group).setConfigs(configs));
        return new IncrementalAlterConfigsRequestData().setResources(all);
    }

    static String long32k() {
        return "x".repeat(32767);
    }

    // ---- The wire

    static class Wire {
        final Socket socket;
        final DataInputStream in;
        final DataOutputStream out;

        Wire() throws Exception {
            socket = new Socket(address[0], Integer.parseInt(address[1]));
            socket.setSoTimeout(20_000);
            socket.setTcpNoDelay(true);
            in = new DataInputStream(socket.getInputStream());
            out = new DataOutputStream(socket.getOutputStream());
        }

        void close() throws Exception { socket.close(); }
    }

    static ApiMessage step(String name, int version, ApiMessage request) throws Exception {
        ApiMessage response = ask(wires.get(0), (short) version, request);
        print("ask", name, request.apiKey(), version, request, response);
        return response;
    }

    static void send(String name, Wire wire, int version, ApiMessage request) throws Exception {
        write(wire, (short) version, request);
        print("send", name, request.apiKey(), version, request, null);
    }

    static void until(String name, int version, HeartbeatRequestData request, int error) throws Exception {
        HeartbeatResponseData response;
        do response = (HeartbeatResponseData) ask(wires.get(0), (short) version, request); while (response.errorCode() != error);
        print("until", name, request.apiKey(), version, request, response);
    }

    static void print(String event, String name, int key, int version, ApiMessage request, ApiMessage response) throws Exception {
        System.out.printf("{\"event\":\"%s\",\"step\":\"%s\",\"apiKey\":%d,\"apiVersion\":%d,\"request\":\"%s\",\"response\":%s}%n", event,
            name.replaceAll("[^ -~]|[\\\\\"]", "?"), key, version, hex(request, version), response == null ? "null" : "\"" + hex(response, version) + "\"");
        System.err.printf("%s v%d: %s, %s%n    %s%n    %s%n", request.getClass().getSimpleName(), version, event, name, json(request, version), response == null ? "answered later" : json(response, version));
    }

    static ApiMessage ask(Wire wire, short version, ApiMessage request) throws Exception {
        write(wire, version, request);
        ApiMessageType type = ApiMessageType.fromApiKey(request.apiKey());
        byte[] frame = new byte[wire.in.readInt()];
        wire.in.readFully(frame);
        ByteBufferAccessor answer = new ByteBufferAccessor(ByteBuffer.wrap(frame));
        new ResponseHeaderData().read(answer, type.responseHeaderVersion(version));
        ApiMessage response = type.newResponse();
        response.read(answer, version);
        return response;
    }

    static void write(Wire wire, short version, ApiMessage request) throws Exception {
        ApiMessageType type = ApiMessageType.fromApiKey(request.apiKey());
        RequestHeaderData header = new RequestHeaderData().setRequestApiKey(request.apiKey()).setRequestApiVersion(version).setCorrelationId(++correlation).setClientId("test");
        byte[] head = bytes(header, type.requestHeaderVersion(version));
        byte[] body = bytes(request, version);
        ByteBuffer frame = ByteBuffer.allocate(4 + head.length + body.length).putInt(head.length + body.length).put(head).put(body);
        wire.out.write(frame.array());
        wire.out.flush();
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
        String text = String.valueOf(converter.getMethod("write", message.getClass(), short.class).invoke(null, message, (short) version));
        return text.length() > 2000 ? text.substring(0, 2000) + "..." : text;
    }
}
