//! A consumer of the classic protocol, eager: it lets everything go before it joins again.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::consumer_protocol_assignment::TopicPartition;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, HeartbeatRequest, JoinGroupRequest,
    JoinGroupResponse, SyncGroupRequest, SyncGroupResponse, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

use super::client::{Client, Membership, Positions, Request, call, fetch_offsets, group, text};
use super::{PARTITIONS, TOPIC};
use crate::coordinator::groups::{GroupCommand, GroupReply};

const SESSION_MS: i32 = 10_000;
const REBALANCE_MS: i32 = 20_000;
const HEARTBEAT_MS: u64 = 3_000;

pub(super) struct ClassicClient {
    member: Membership,
    phase: Phase,
    owned: BTreeSet<i32>,
    positions: Positions,
    next_heartbeat_ms: u64,
    sends: Sends,
}

enum Phase {
    Join,
    /// The leader brings everyone's assignment.
    Sync(BTreeMap<String, Vec<i32>>),
    Consume,
    /// Another program has taken its name.
    Fenced,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sends {
    Commit,
    Other,
}

impl ClassicClient {
    pub(super) fn new(instance: Option<String>) -> Self {
        Self {
            member: Membership { id: String::new(), instance, epoch: -1 },
            phase: Phase::Join,
            owned: BTreeSet::new(),
            positions: Positions::default(),
            next_heartbeat_ms: 0,
            sends: Sends::Other,
        }
    }

    fn join(&self) -> Request {
        let member = self.member.clone();
        Rc::new(move || {
            let subscription = ConsumerProtocolSubscription::default()
                .with_topics(vec![StrBytes::from_static_str(TOPIC)]);
            let protocol = JoinGroupRequestProtocol::default()
                .with_name(StrBytes::from_static_str("range"))
                .with_metadata(versioned(&subscription));
            GroupCommand::Join(call(
                9,
                JoinGroupRequest::default()
                    .with_group_id(group())
                    .with_session_timeout_ms(SESSION_MS)
                    .with_rebalance_timeout_ms(REBALANCE_MS)
                    .with_member_id(text(&member.id))
                    .with_group_instance_id(member.instance.as_deref().map(text))
                    .with_protocol_type(StrBytes::from_static_str("consumer"))
                    .with_protocols(vec![protocol]),
            ))
        })
    }

    fn sync(&self, assignments: &BTreeMap<String, Vec<i32>>) -> Request {
        let (member, assignments) = (self.member.clone(), assignments.clone());
        Rc::new(move || {
            let assignment = |(id, partitions): (&String, &Vec<i32>)| {
                SyncGroupRequestAssignment::default()
                    .with_member_id(text(id))
                    .with_assignment(encode_assignment(partitions))
            };
            GroupCommand::Sync(call(
                5,
                SyncGroupRequest::default()
                    .with_group_id(group())
                    .with_generation_id(member.epoch)
                    .with_member_id(text(&member.id))
                    .with_group_instance_id(member.instance.as_deref().map(text))
                    .with_protocol_type(Some(StrBytes::from_static_str("consumer")))
                    .with_protocol_name(Some(StrBytes::from_static_str("range")))
                    .with_assignments(assignments.iter().map(assignment).collect()),
            ))
        })
    }

    fn heartbeat(&self) -> Request {
        let member = self.member.clone();
        Rc::new(move || {
            GroupCommand::Heartbeat(call(
                4,
                HeartbeatRequest::default()
                    .with_group_id(group())
                    .with_generation_id(member.epoch)
                    .with_member_id(text(&member.id))
                    .with_group_instance_id(member.instance.as_deref().map(text)),
            ))
        })
    }

    fn joined(&mut self, response: &JoinGroupResponse) {
        match ResponseError::try_from_code(response.error_code) {
            None => {
                self.member.id = response.member_id.to_string();
                self.member.epoch = response.generation_id;
                let mut assignments = BTreeMap::new();
                if response.leader == response.member_id && !response.skip_assignment {
                    let ids: Vec<_> = response
                        .members
                        .iter()
                        .map(|member| member.member_id.to_string())
                        .collect();
                    for partition in 0..PARTITIONS {
                        let owner = &ids[usize::try_from(partition).expect("positive") % ids.len()];
                        assignments.entry(owner.clone()).or_insert_with(Vec::new).push(partition);
                    }
                }
                self.phase = Phase::Sync(assignments);
            }
            Some(ResponseError::MemberIdRequired) => {
                self.member.id = response.member_id.to_string();
            }
            Some(error) => self.refused(error),
        }
    }

    fn synced(&mut self, response: &SyncGroupResponse) {
        match ResponseError::try_from_code(response.error_code) {
            None => {
                self.owned = decode_assignment(&response.assignment);
                self.positions.clear();
                self.phase = Phase::Consume;
            }
            Some(error) => self.refused(error),
        }
    }

    fn refused(&mut self, error: ResponseError) {
        self.owned.clear();
        self.positions.clear();
        self.phase = Phase::Join;
        match error {
            ResponseError::UnknownMemberId => self.member.id.clear(),
            ResponseError::FencedInstanceId => self.phase = Phase::Fenced,
            ResponseError::RebalanceInProgress | ResponseError::IllegalGeneration => {}
            error => panic!("a client that keeps the rules was told {error:?}"),
        }
    }

    fn heard(&mut self, code: i16) {
        if let Some(error) = ResponseError::try_from_code(code) {
            self.refused(error);
        }
    }
}

impl Client for ClassicClient {
    fn next(&mut self, now_ms: u64) -> Option<Request> {
        let last = std::mem::replace(&mut self.sends, Sends::Other);
        match &self.phase {
            Phase::Fenced => None,
            Phase::Join => Some(self.join()),
            Phase::Sync(assignments) => Some(self.sync(assignments)),
            // What it consumed before it stood still is committed before it hears what has become of the group.
            Phase::Consume if now_ms >= self.next_heartbeat_ms && last == Sends::Commit => {
                self.next_heartbeat_ms = now_ms + HEARTBEAT_MS;
                Some(self.heartbeat())
            }
            Phase::Consume => {
                let missing = self.positions.missing(&self.owned);
                if !missing.is_empty() {
                    return Some(fetch_offsets(missing, None));
                }
                self.positions.consume();
                self.sends = Sends::Commit;
                (!self.positions.is_empty()).then(|| self.positions.commit(&self.member))
            }
        }
    }

    fn answered(&mut self, _now_ms: u64, reply: GroupReply) {
        match reply {
            GroupReply::Join(response) => self.joined(&response),
            GroupReply::Sync(response) => self.synced(&response),
            GroupReply::Heartbeat(response) => self.heard(response.error_code),
            GroupReply::CommitOffsets(response) => {
                self.heard(response.topics[0].partitions[0].error_code);
            }
            GroupReply::FetchOffsets(group) => self.positions.begin(&group, &self.owned),
            other => panic!("not asked for: {other:?}"),
        }
    }

    fn gave_up(&mut self) {
        // The same again: it cannot know whether the coordinator has heard it.
    }

    fn may_repeat(&self) -> bool {
        self.sends == Sends::Other
    }

    fn owned(&self) -> BTreeSet<i32> {
        self.owned.clone()
    }

    fn identity(&self) -> Option<(String, i32)> {
        None
    }
}

/// A message of the consumer protocol with its version in front.
fn versioned(message: &impl Encodable) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i16(0);
    message.encode(&mut bytes, 0).expect("version 0 has these fields");
    bytes.freeze()
}

fn encode_assignment(partitions: &[i32]) -> Bytes {
    let topic = TopicPartition::default()
        .with_topic(TopicName(StrBytes::from_static_str(TOPIC)))
        .with_partitions(partitions.to_vec());
    versioned(&ConsumerProtocolAssignment::default().with_assigned_partitions(vec![topic]))
}

fn decode_assignment(bytes: &Bytes) -> BTreeSet<i32> {
    let mut bytes = bytes.clone();
    if bytes.is_empty() {
        return BTreeSet::new();
    }
    let version = bytes.get_i16();
    let assignment =
        ConsumerProtocolAssignment::decode(&mut bytes, version).expect("an assignment");
    assignment.assigned_partitions.iter().flat_map(|topic| topic.partitions.clone()).collect()
}
