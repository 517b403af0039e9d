//! Groups of the new protocol, stepped through with a manual clock. Expected values are Kafka 4.4's.

mod assign;
mod bad_input;
mod commit;
mod describe;
mod embedded;
mod golden;
mod heartbeat;
mod life;
mod many;
mod metadata;
mod metadata_hash;
mod migration;
mod pattern;
mod random;
mod reconcile;
mod regular_expression;
mod static_members;

use std::collections::BTreeSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicName as WireTopicName,
};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid as WireUuid;

use super::group::ConsumerGroup;
use crate::coordinator::groups::{
    Call, Client, GroupCommand, GroupReply, GroupSettings, Groups, HardGroup,
};
use crate::coordinator::machine::Machine;
use crate::coordinator::records::GroupRecord;
use crate::coordinator::stepper::Stepper;
use crate::types::TopicId;

const GROUP: &str = "g";
const REBALANCE_MS: i32 = 60_000;
const SESSION_MS: u64 = 45_000;
/// Newest version of ConsumerGroupHeartbeat.
const HEARTBEAT: i16 = 1;

/// A shard with one group in the middle of the test.
struct Bench {
    stepper: Stepper,
}

/// A member as its client knows it. It lets go at once of what it is told to.
#[derive(Clone, Debug)]
struct Consumer {
    id: String,
    epoch: i32,
    owned: BTreeSet<(TopicId, i32)>,
    topics: Option<Vec<&'static str>>,
    pattern: Option<&'static str>,
    instance: Option<&'static str>,
    assignor: Option<&'static str>,
}

impl Consumer {
    fn new(id: &str, topics: &[&'static str]) -> Self {
        Self {
            id: id.to_owned(),
            epoch: 0,
            owned: BTreeSet::new(),
            topics: Some(topics.to_vec()),
            pattern: None,
            instance: None,
            assignor: None,
        }
    }

    fn matching(id: &str, pattern: &'static str) -> Self {
        Self { topics: None, pattern: Some(pattern), ..Self::new(id, &[]) }
    }

    fn with_instance(id: &str, instance: &'static str, topics: &[&'static str]) -> Self {
        Self { instance: Some(instance), ..Self::new(id, topics) }
    }

    /// Everything, as when it joins.
    fn full(&self) -> ConsumerGroupHeartbeatRequest {
        let names =
            self.topics.as_ref().map(|topics| topics.iter().map(|name| topic(name)).collect());
        self.delta()
            .with_rebalance_timeout_ms(REBALANCE_MS)
            .with_subscribed_topic_names(names)
            .with_subscribed_topic_regex(self.pattern.map(text))
            .with_server_assignor(self.assignor.map(text))
            .with_topic_partitions(Some(self.reported()))
    }

    /// As little as it can say.
    fn delta(&self) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest::default()
            .with_group_id(text(GROUP).into())
            .with_member_id(text(&self.id))
            .with_member_epoch(self.epoch)
            .with_instance_id(self.instance.map(text))
            .with_rebalance_timeout_ms(-1)
            .with_topic_partitions(None)
    }

    /// With what it owns.
    fn owning(&self) -> ConsumerGroupHeartbeatRequest {
        self.delta().with_topic_partitions(Some(self.reported()))
    }

    fn reported(&self) -> Vec<TopicPartitions> {
        let topics: BTreeSet<TopicId> = self.owned.iter().map(|(topic, _)| *topic).collect();
        let of_topic = |topic: TopicId| {
            let partitions = self.owned.iter().filter(|at| at.0 == topic).map(|at| at.1);
            TopicPartitions::default()
                .with_topic_id(WireUuid::from_bytes(topic.to_bytes()))
                .with_partitions(partitions.collect())
        };
        topics.into_iter().map(of_topic).collect()
    }

    /// Takes over what it is told.
    fn hear(&mut self, response: &ConsumerGroupHeartbeatResponse) {
        assert_eq!(response.error_code, 0, "{}: {:?}", self.id, response.error_message);
        self.epoch = response.member_epoch;
        if let Some(assigned) = assigned(response) {
            self.owned = assigned;
        }
    }

    /// Its partitions of all topics, in order of topics.
    fn partitions(&self) -> Vec<i32> {
        self.owned.iter().map(|at| at.1).collect()
    }
}

/// What the answer assigns, if it does.
fn assigned(response: &ConsumerGroupHeartbeatResponse) -> Option<BTreeSet<(TopicId, i32)>> {
    let assignment = response.assignment.as_ref()?;
    let topics = assignment.topic_partitions.iter();
    let partitions = topics.flat_map(|topic| {
        let id = TopicId::from_bytes(topic.topic_id.into_bytes());
        topic.partitions.iter().map(move |partition| (id, *partition))
    });
    Some(partitions.collect())
}

impl Bench {
    /// Every change of the group is assigned at once.
    fn new() -> Self {
        Self::with(settings())
    }

    fn with(settings: GroupSettings) -> Self {
        Self { stepper: Stepper::new(settings) }
    }

    fn send(&mut self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse {
        self.send_version(HEARTBEAT, request)
    }

    fn send_version(
        &mut self,
        version: i16,
        request: ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponse {
        let call = Call { version, client: client(), request };
        match self.stepper.ask(GroupCommand::ConsumerHeartbeat(call)) {
            GroupReply::ConsumerHeartbeat(response) => response,
            other => panic!("{other:?}"),
        }
    }

    fn error(&mut self, request: ConsumerGroupHeartbeatRequest) -> Option<ResponseError> {
        ResponseError::try_from_code(self.send(request).error_code)
    }

    fn join(&mut self, consumer: &mut Consumer) {
        consumer.epoch = 0;
        consumer.owned.clear();
        let response = self.send(consumer.full());
        consumer.hear(&response);
    }

    /// One heartbeat that says what it owns.
    fn beat(&mut self, consumer: &mut Consumer) {
        let response = self.send(consumer.owning());
        consumer.hear(&response);
    }

    /// Heartbeats of all until nothing changes any more.
    fn settle(&mut self, consumers: &mut [&mut Consumer]) {
        for _ in 0..10 {
            let written = self.stepper.log.len();
            for consumer in consumers.iter_mut() {
                self.beat(consumer);
            }
            if self.stepper.log.len() == written {
                return;
            }
        }
        panic!("the group does not settle");
    }

    /// What was written since the log was that long.
    fn written_since(&self, length: usize) -> Vec<GroupRecord> {
        let written = self.stepper.log.records();
        let decoded = written[length..]
            .iter()
            .map(|entry| Groups::decode(&entry.key, entry.value.as_deref()).expect("our bytes"));
        decoded.map(|record| record.expect("a known type")).collect()
    }

    /// The same in words: `member a`, `-target a` for a tombstone.
    fn written(&self, length: usize) -> Vec<String> {
        self.written_since(length).iter().map(show).collect()
    }

    fn mark(&self) -> usize {
        self.stepper.log.len()
    }

    fn group(&self) -> &ConsumerGroup {
        match self.stepper.hard.groups.get(GROUP) {
            Some(HardGroup::Consumer(group)) => group,
            other => panic!("{other:?}"),
        }
    }

    fn has_group(&self) -> bool {
        self.stepper.hard.groups.contains_key(GROUP)
    }

    fn is_member(&self, id: &str) -> bool {
        self.has_group() && self.group().member(id).is_some()
    }
}

fn settings() -> GroupSettings {
    GroupSettings { consumer_assignment_interval_ms: 0, ..GroupSettings::default() }
}

fn client() -> Client {
    Client { id: "client".into(), host: "/127.0.0.1".into() }
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn topic(name: &str) -> WireTopicName {
    WireTopicName(text(name))
}

fn show(record: &GroupRecord) -> String {
    use GroupRecord as R;
    let sign = |is_some: bool| if is_some { "" } else { "-" };
    match record {
        R::OffsetCommit { value, .. } => format!("{}offset", sign(value.is_some())),
        R::ClassicGroup { value, .. } => format!("{}classic", sign(value.is_some())),
        R::ConsumerGroup { value: Some(value), .. } => format!("group {}", value.epoch),
        R::ConsumerGroup { value: None, .. } => "-group".to_owned(),
        R::ConsumerGroupPartitions { is_tombstone, .. } => {
            format!("{}partitions", sign(!is_tombstone))
        }
        R::ConsumerMember { member, value, .. } => {
            format!("{}member {member}", sign(value.is_some()))
        }
        R::TargetAssignment { value: Some(value), .. } => {
            format!("targets {}", value.assignment_epoch)
        }
        R::TargetAssignment { value: None, .. } => "-targets".to_owned(),
        R::TargetMember { member, value, .. } => {
            format!("{}target {member}", sign(value.is_some()))
        }
        R::CurrentAssignment { member, value: Some(value), .. } => {
            format!("current {member} {}", value.member_epoch)
        }
        R::CurrentAssignment { member, value: None, .. } => format!("-current {member}"),
        R::RegularExpression { expression, value, .. } => {
            format!("{}regex {expression}", sign(value.is_some()))
        }
    }
}
