//! Requests of both protocols in every state that a group can be in: one that is refused changes nothing.
//!
//! What each of them is answered is held against Apache Kafka over a socket; here it is looked at what it leaves behind.

use std::collections::BTreeSet;

use bytes::Bytes;
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest,
    OffsetCommitRequest, OffsetDeleteRequest, SyncGroupRequest,
};
use kafka_protocol::protocol::StrBytes;
use kafka_protocol::{ResponseError, messages};

use super::*;
use crate::coordinator::stepper::Stepper;

const GROUP: &str = "g";
/// A topic that consumers read, and one that nobody reads.
const READ: &str = "t";
const UNREAD: &str = "u";

/// Who a request says it is from.
#[derive(Clone, Debug)]
struct Member {
    group: &'static str,
    id: String,
    instance: Option<&'static str>,
    generation: i32,
}

impl Member {
    fn new(id: &str) -> Self {
        Self { group: GROUP, id: id.to_owned(), instance: None, generation: 0 }
    }

    /// It with one thing about it changed, with two, and as it is.
    fn and_strangers(&self) -> Vec<Self> {
        let next = self.generation.saturating_add(1);
        let generations = [self.generation - 1, next, 0, -1, -2, -3, i32::MIN, i32::MAX];
        let ids = ["", " ", "stranger", "\u{0}"];
        let instances = [None, Some(""), Some(" "), Some("i"), Some("j")];
        let mut all = vec![self.clone(), Self { group: "", ..self.clone() }];
        for generation in generations {
            all.push(Self { generation, ..self.clone() });
            for id in ids {
                all.push(Self { generation, id: id.to_owned(), ..self.clone() });
            }
        }
        for instance in instances {
            all.push(Self { instance, ..self.clone() });
            for id in ids {
                all.push(Self { instance, id: id.to_owned(), ..self.clone() });
            }
        }
        all
    }

    fn join(&self) -> JoinGroupRequest {
        JoinGroupRequest::default()
            .with_group_id(text(self.group).into())
            .with_member_id(text(&self.id))
            .with_group_instance_id(self.instance.map(text))
            .with_session_timeout_ms(30_000)
            .with_rebalance_timeout_ms(60_000)
            .with_protocol_type(text("consumer"))
            .with_protocols(protocols("range", b"\0\0\0\0\0\x01\0\x01t\xff\xff\xff\xff"))
    }

    fn sync(&self) -> SyncGroupRequest {
        let part = SyncGroupRequestAssignment::default()
            .with_member_id(text(&self.id))
            .with_assignment(Bytes::from_static(b"part"));
        SyncGroupRequest::default()
            .with_group_id(text(self.group).into())
            .with_member_id(text(&self.id))
            .with_group_instance_id(self.instance.map(text))
            .with_generation_id(self.generation)
            .with_protocol_type(Some(text("consumer")))
            .with_protocol_name(Some(text("range")))
            .with_assignments(vec![part])
    }

    fn heartbeat(&self) -> HeartbeatRequest {
        HeartbeatRequest::default()
            .with_group_id(text(self.group).into())
            .with_member_id(text(&self.id))
            .with_group_instance_id(self.instance.map(text))
            .with_generation_id(self.generation)
    }

    fn leave(&self) -> LeaveGroupRequest {
        let member = MemberIdentity::default()
            .with_member_id(text(&self.id))
            .with_group_instance_id(self.instance.map(text));
        LeaveGroupRequest::default()
            .with_group_id(text(self.group).into())
            .with_members(vec![member])
    }

    fn consumer_heartbeat(&self) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest::default()
            .with_group_id(text(self.group).into())
            .with_member_id(text(&self.id))
            .with_instance_id(self.instance.map(text))
            .with_member_epoch(self.generation)
            .with_rebalance_timeout_ms(-1)
            .with_topic_partitions(None)
    }

    fn consumer_join(&self) -> ConsumerGroupHeartbeatRequest {
        self.consumer_heartbeat()
            .with_member_epoch(0)
            .with_rebalance_timeout_ms(60_000)
            .with_subscribed_topic_names(Some(vec![messages::TopicName(text(READ))]))
            .with_topic_partitions(Some(Vec::new()))
    }

    fn commit(&self, metadata: &str) -> OffsetCommitRequest {
        let partition = OffsetCommitRequestPartition::default()
            .with_committed_offset(42)
            .with_committed_metadata(Some(text(metadata)));
        let topic = OffsetCommitRequestTopic::default()
            .with_name(messages::TopicName(text(READ)))
            .with_partitions(vec![partition]);
        OffsetCommitRequest::default()
            .with_group_id(text(self.group).into())
            .with_member_id(text(&self.id))
            .with_group_instance_id(self.instance.map(text))
            .with_generation_id_or_member_epoch(self.generation)
            .with_topics(vec![topic])
    }

    /// Requests in its name, most of them with something that is not in order besides.
    fn requests(&self) -> Vec<GroupCommand> {
        use GroupCommand as Ask;
        let joins = [
            self.join().with_session_timeout_ms(i32::MIN),
            self.join().with_session_timeout_ms(i32::MAX),
            self.join().with_protocol_type(text("connect")),
            self.join().with_protocol_type(text("")),
            self.join().with_protocols(Vec::new()),
            self.join().with_protocols(protocols("strange", b"\xff\xff\xff")),
            self.join().with_protocols(protocols("", b"")),
            self.join().with_protocols(protocols("range", b"\0\x03\x7f\xff\xff\xff")),
            self.join(),
        ];
        let mut all: Vec<_> = joins.into_iter().map(|join| Ask::Join(call(9, join))).collect();
        all.push(Ask::Sync(call(5, self.sync().with_protocol_name(Some(text("strange"))))));
        all.push(Ask::Sync(call(5, self.sync().with_protocol_type(Some(text("connect"))))));
        all.push(Ask::Sync(call(5, self.sync())));
        all.push(Ask::Heartbeat(call(4, self.heartbeat())));
        all.push(Ask::Leave(call(5, self.leave())));
        for metadata in ["", &"m".repeat(5_000)] {
            all.push(Ask::CommitOffsets(call(9, self.commit(metadata))));
        }
        let heartbeats = [
            self.consumer_heartbeat().with_rack_id(Some(text(""))),
            self.consumer_heartbeat().with_server_assignor(Some(text("mine"))),
            self.consumer_heartbeat().with_subscribed_topic_regex(Some(text("("))),
            self.consumer_heartbeat(),
            self.consumer_join().with_rebalance_timeout_ms(-1),
            self.consumer_join().with_subscribed_topic_names(None),
            self.consumer_join().with_topic_partitions(None),
            self.consumer_join().with_topic_partitions(Some(vec![TopicPartitions::default()])),
            self.consumer_join(),
        ];
        all.extend(heartbeats.into_iter().map(|beat| Ask::ConsumerHeartbeat(call(1, beat))));
        all.push(self.fetch());
        all
    }

    fn fetch(&self) -> GroupCommand {
        let topic = OffsetFetchRequestTopics::default()
            .with_name(messages::TopicName(text(READ)))
            .with_partition_indexes(vec![0, -1, i32::MAX]);
        let group = OffsetFetchRequestGroup::default()
            .with_group_id(text(self.group).into())
            .with_member_id(Some(text(&self.id)))
            .with_member_epoch(self.generation)
            .with_topics(Some(vec![topic]));
        GroupCommand::FetchOffsets { version: 9, group, require_stable: true }
    }
}

/// Requests about groups that are in no one's name.
fn requests_of_nobody() -> Vec<GroupCommand> {
    use GroupCommand as Ask;
    let mut all = Vec::new();
    for group in ["", " ", GROUP, "no such group"] {
        all.push(Ask::DeleteGroup(GroupId::new(group)));
        all.push(Ask::DescribeConsumer(GroupId::new(group)));
        all.push(Ask::DescribeClassic { version: 6, group: GroupId::new(group) });
        for topic in [READ, UNREAD, ""] {
            let partition = OffsetDeleteRequestPartition::default().with_partition_index(-1);
            let topic = OffsetDeleteRequestTopic::default()
                .with_name(messages::TopicName(text(topic)))
                .with_partitions(vec![partition]);
            let request = OffsetDeleteRequest::default()
                .with_group_id(text(group).into())
                .with_topics(vec![topic]);
            all.push(Ask::DeleteOffsets(request));
        }
    }
    let states = vec!["nonsense".to_owned(), String::new()];
    all.push(Ask::List { states: states.clone(), types: Vec::new() });
    all.push(Ask::List { states: Vec::new(), types: states });
    all
}

/// Brings a new shard into a state and names a member of the group.
type Making = fn(&mut Stepper) -> Member;

/// States of a group.
const STATES: [(&str, Making); 13] = [
    ("nobody", |_| Member::new("stranger")),
    ("simple", simple),
    ("pending", pending),
    ("empty", empty),
    ("preparing", preparing),
    ("completing", |stepper| joined(stepper, None)),
    ("stable", |stepper| stable(stepper, None)),
    ("static", |stepper| stable(stepper, Some("i"))),
    ("replaced", replaced),
    ("consumer", |stepper| consumer(stepper, None)),
    ("static consumer", |stepper| consumer(stepper, Some("i"))),
    ("consumer that is away", away),
    ("mixed", mixed),
];

#[test]
fn a_request_that_is_refused_leaves_nothing_behind() {
    let mut refusals = BTreeSet::new();
    for (state, make) in STATES {
        let fresh = || {
            let mut stepper = Stepper::new(GroupSettings::default());
            stepper.topic(READ, 2);
            stepper.topic(UNREAD, 1);
            let member = make(&mut stepper);
            (stepper, member)
        };
        let (mut stepper, member) = fresh();
        let mut before = stepper.state();
        for command in requests(&member) {
            let asked = format!("{state}: {command:?}");
            let token = stepper.send(command);
            match stepper.take(token).as_ref().and_then(refusal) {
                Some(error) => {
                    assert_eq!(stepper.state(), before, "{asked} is refused with {error:?}");
                    refusals.insert(error.code());
                }
                // What is in order, or is to wait, may change the group: the next one finds it as it was.
                None => {
                    stepper = fresh().0;
                    before = stepper.state();
                }
            }
        }
    }
    // A member that is pending and joins as a static one is refused with -1 by Kafka too.
    let seen: Vec<i16> = refusals.into_iter().collect();
    assert_eq!(seen, [-1, 12, 22, 23, 24, 25, 26, 42, 68, 69, 82, 86, 110, 111, 112, 113, 128]);
}

fn requests(member: &Member) -> Vec<GroupCommand> {
    let members = member.and_strangers();
    members.iter().flat_map(Member::requests).chain(requests_of_nobody()).collect()
}

/// The error, if a reply says nothing else. Members are told to join again, or given an id to join with, by errors too.
fn refusal(reply: &GroupReply) -> Option<ResponseError> {
    let codes: Vec<i16> = match reply {
        GroupReply::Join(answer) => vec![answer.error_code],
        GroupReply::Sync(answer) => vec![answer.error_code],
        GroupReply::Heartbeat(answer) => vec![answer.error_code],
        GroupReply::Leave(answer) => match answer.error_code {
            0 => answer.members.iter().map(|member| member.error_code).collect(),
            error => vec![error],
        },
        GroupReply::ConsumerHeartbeat(answer) => vec![answer.error_code],
        GroupReply::CommitOffsets(answer) => {
            let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
            partitions.map(|partition| partition.error_code).collect()
        }
        GroupReply::FetchOffsets(answer) => vec![answer.error_code],
        GroupReply::DeleteOffsets(answer) => match answer.error_code {
            0 => {
                let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
                partitions.map(|partition| partition.error_code).collect()
            }
            error => vec![error],
        },
        GroupReply::DeleteGroup(answer) => vec![answer.error_code],
        GroupReply::DescribeClassic(answer) => vec![answer.error_code],
        GroupReply::DescribeConsumer(answer) => vec![answer.error_code],
        GroupReply::List(_) | GroupReply::Overview(_) => Vec::new(),
        other => panic!("{other:?}"),
    };
    let first = ResponseError::try_from_code(*codes.first()?)?;
    let goes_on =
        matches!(first, ResponseError::RebalanceInProgress | ResponseError::MemberIdRequired);
    (!goes_on && codes.iter().all(|code| *code == first.code())).then_some(first)
}

fn simple(stepper: &mut Stepper) -> Member {
    let nobody = Member { generation: -1, ..Member::new("") };
    stepper.ask(GroupCommand::CommitOffsets(call(9, nobody.commit(""))));
    Member::new("stranger")
}

fn pending(stepper: &mut Stepper) -> Member {
    Member::new(&new_member_id(stepper))
}

fn new_member_id(stepper: &mut Stepper) -> String {
    let token = stepper.send(GroupCommand::Join(call(9, Member::new("").join())));
    join_answer(stepper, token).member_id.to_string()
}

fn joined(stepper: &mut Stepper, instance: Option<&'static str>) -> Member {
    let mut member = Member { instance, ..Member::new("") };
    if instance.is_none() {
        member.id = new_member_id(stepper);
    }
    let token = stepper.send(GroupCommand::Join(call(9, member.join())));
    let answer = join_answer(stepper, token);
    Member { id: answer.member_id.to_string(), generation: answer.generation_id, ..member }
}

fn join_answer(stepper: &mut Stepper, token: Token) -> messages::JoinGroupResponse {
    match stepper.take(token) {
        Some(GroupReply::Join(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

fn stable(stepper: &mut Stepper, instance: Option<&'static str>) -> Member {
    let member = joined(stepper, instance);
    stepper.ask(GroupCommand::Sync(call(5, member.sync())));
    member
}

fn empty(stepper: &mut Stepper) -> Member {
    let member = stable(stepper, None);
    stepper.ask(GroupCommand::Leave(call(5, member.leave())));
    member
}

/// Another one has joined, and waits.
fn preparing(stepper: &mut Stepper) -> Member {
    let member = stable(stepper, None);
    let other = Member::new(&new_member_id(stepper));
    let token = stepper.send(GroupCommand::Join(call(9, other.join())));
    assert!(stepper.take(token).is_none());
    member
}

/// The one who is fenced.
fn replaced(stepper: &mut Stepper) -> Member {
    let old = stable(stepper, Some("i"));
    let restarted = Member { id: String::new(), ..old.clone() };
    stepper.ask(GroupCommand::Join(call(9, restarted.join())));
    old
}

fn consumer(stepper: &mut Stepper, instance: Option<&'static str>) -> Member {
    let member = Member { instance, ..Member::new("m") };
    let request = member.consumer_join();
    match stepper.ask(GroupCommand::ConsumerHeartbeat(call(1, request))) {
        GroupReply::ConsumerHeartbeat(answer) => {
            assert_eq!(answer.error_code, 0, "{:?}", answer.error_message);
            Member { generation: answer.member_epoch, ..member }
        }
        other => panic!("{other:?}"),
    }
}

fn away(stepper: &mut Stepper) -> Member {
    let member = consumer(stepper, Some("i"));
    let leave = Member { generation: -2, ..member.clone() }.consumer_heartbeat();
    stepper.ask(GroupCommand::ConsumerHeartbeat(call(1, leave)));
    member
}

/// A member of the classic protocol in a group of the new one.
fn mixed(stepper: &mut Stepper) -> Member {
    consumer(stepper, None);
    joined(stepper, None)
}

fn protocols(name: &str, subscription: &'static [u8]) -> Vec<JoinGroupRequestProtocol> {
    let protocol = JoinGroupRequestProtocol::default()
        .with_name(text(name))
        .with_metadata(Bytes::from_static(subscription));
    vec![protocol]
}

fn call<R>(version: i16, request: R) -> Call<R> {
    let client = Client { id: Arc::from("client"), host: Arc::from("/127.0.0.1") };
    Call { version, client, request }
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}
