//! A consumer of the new protocol (KIP-848): it lets go what it is told to, says so, and takes what it is given.

use std::collections::BTreeSet;
use std::rc::Rc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;

use super::TOPIC;
use super::client::{Client, Membership, Positions, Request, call, fetch_offsets, group, text};
use crate::coordinator::groups::{GroupCommand, GroupReply};
use crate::types::TopicId;

const REBALANCE_MS: i32 = 20_000;
const HEARTBEAT_MS: u64 = 3_000;

pub(super) struct ConsumerClient {
    member: Membership,
    topic_id: TopicId,
    owned: BTreeSet<i32>,
    positions: Positions,
    next_heartbeat_ms: u64,
    /// What the next heartbeat says beside that it lives.
    tells: Tells,
    fenced: bool,
    commits: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tells {
    Nothing,
    Owned,
    Everything,
}

impl ConsumerClient {
    pub(super) fn new(name: String, instance: Option<String>, topic_id: TopicId) -> Self {
        Self {
            member: Membership { id: name, instance, epoch: 0 },
            topic_id,
            owned: BTreeSet::new(),
            positions: Positions::default(),
            next_heartbeat_ms: 0,
            tells: Tells::Everything,
            fenced: false,
            commits: false,
        }
    }

    fn heartbeat(&self) -> Request {
        let (member, tells) = (self.member.clone(), self.tells);
        let owned: Vec<i32> = self.owned.iter().copied().collect();
        let topic_id = uuid::Uuid::from_bytes(self.topic_id.to_bytes());
        Rc::new(move || {
            let mut request = ConsumerGroupHeartbeatRequest::default()
                .with_group_id(group())
                .with_member_id(text(&member.id))
                .with_member_epoch(member.epoch)
                .with_instance_id(member.instance.as_deref().map(text))
                .with_rebalance_timeout_ms(-1)
                .with_subscribed_topic_names(None)
                .with_topic_partitions(None);
            if tells == Tells::Everything {
                request.rebalance_timeout_ms = REBALANCE_MS;
                request.subscribed_topic_names =
                    Some(vec![TopicName(StrBytes::from_static_str(TOPIC))]);
            }
            if tells != Tells::Nothing {
                let partitions = TopicPartitions::default()
                    .with_topic_id(topic_id)
                    .with_partitions(owned.clone());
                let some = if owned.is_empty() { Vec::new() } else { vec![partitions] };
                request.topic_partitions = Some(some);
            }
            GroupCommand::ConsumerHeartbeat(call(1, request))
        })
    }

    fn heard(&mut self, response: ConsumerGroupHeartbeatResponse) {
        if let Some(error) = ResponseError::try_from_code(response.error_code) {
            return self.refused(error);
        }
        self.member.epoch = response.member_epoch;
        self.tells = Tells::Nothing;
        let Some(assignment) = response.assignment else { return };
        let topics = assignment.topic_partitions.iter();
        let given: BTreeSet<i32> = topics.flat_map(|topic| topic.partitions.clone()).collect();
        if given != self.owned {
            self.owned = given;
            self.positions.retain(&self.owned);
            self.tells = Tells::Owned;
            self.next_heartbeat_ms = 0;
        }
    }

    fn refused(&mut self, error: ResponseError) {
        match error {
            ResponseError::UnknownMemberId | ResponseError::FencedMemberEpoch => {
                self.owned.clear();
                self.positions.clear();
                self.member.epoch = 0;
                self.tells = Tells::Everything;
                self.next_heartbeat_ms = 0;
            }
            // The epoch has moved on; the next heartbeat tells which one it is.
            ResponseError::StaleMemberEpoch => self.next_heartbeat_ms = 0,
            ResponseError::FencedInstanceId => {
                self.owned.clear();
                self.positions.clear();
                self.fenced = true;
            }
            // The program before this one has the name until its session ends.
            ResponseError::UnreleasedInstanceId => {}
            error => panic!("a client that keeps the rules was told {error:?}"),
        }
    }
}

impl Client for ConsumerClient {
    fn next(&mut self, now_ms: u64) -> Option<Request> {
        let committed = std::mem::replace(&mut self.commits, false);
        if self.fenced {
            return None;
        }
        // What it consumed before it stood still is committed before it hears what has become of the group.
        let may_commit = !self.positions.is_empty() && self.tells == Tells::Nothing && !committed;
        if self.member.epoch == 0 || (now_ms >= self.next_heartbeat_ms && !may_commit) {
            self.next_heartbeat_ms = now_ms + HEARTBEAT_MS;
            return Some(self.heartbeat());
        }
        let missing = self.positions.missing(&self.owned);
        if !missing.is_empty() {
            return Some(fetch_offsets(missing, Some(self.member.clone())));
        }
        self.positions.consume();
        self.commits = true;
        (!self.positions.is_empty()).then(|| self.positions.commit(&self.member))
    }

    fn answered(&mut self, _now_ms: u64, reply: GroupReply) {
        let code = match reply {
            GroupReply::ConsumerHeartbeat(response) => return self.heard(response),
            GroupReply::CommitOffsets(response) => response.topics[0].partitions[0].error_code,
            GroupReply::FetchOffsets(group) => {
                if group.error_code == 0 {
                    self.positions.begin(&group, &self.owned);
                }
                group.error_code
            }
            other => panic!("not asked for: {other:?}"),
        };
        if let Some(error) = ResponseError::try_from_code(code) {
            self.refused(error);
        }
    }

    fn gave_up(&mut self) {
        // It cannot know what the coordinator has heard, so it says all there is to say.
        self.tells = Tells::Everything;
        self.next_heartbeat_ms = 0;
    }

    fn may_repeat(&self) -> bool {
        !self.commits
    }

    fn owned(&self) -> BTreeSet<i32> {
        self.owned.clone()
    }

    fn identity(&self) -> Option<(String, i32)> {
        (!self.fenced).then(|| (self.member.id.clone(), self.member.epoch))
    }
}
