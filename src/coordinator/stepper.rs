//! One shard of groups under a test's control: its image is made of topic names.

mod log;

use std::sync::Arc;

use self::log::StepLog;
use super::groups::{GroupErrand, GroupSettings, Groups};
use super::machine::{KeyValue, Machine};
use super::stepped::Stepped;
use crate::metadata::{Image, PartitionState, Topic};
use crate::types::{BrokerId, LeaderEpoch, TopicId, TopicName};

/// A shard that a test steps through.
pub(super) type Stepper = Stepped<Groups, StepLog, GroupErrand>;

impl Stepper {
    pub(super) fn new(settings: GroupSettings) -> Self {
        let groups = Groups::new(Arc::new(settings), Arc::default());
        Self::begin(groups, Image::default())
    }

    /// Creates a topic, or makes it larger.
    pub(super) fn topic(&mut self, name: &str, partitions: usize) -> TopicId {
        let name = TopicName::new(name).expect("a legal name");
        let known = self.image.topic(name.as_str()).map(|topic| topic.id);
        let id = known.unwrap_or_else(|| self.new_uuid());
        let topic = Arc::new(Topic {
            id,
            name: name.clone(),
            partitions: (0..partitions).map(|_| partition()).collect(),
        });
        Arc::make_mut(&mut self.image.topics).insert(name, Arc::clone(&topic));
        Arc::make_mut(&mut self.image.topics_by_id).insert(id, topic);
        self.turn(|groups, turn| groups.image_changed(turn));
        id
    }

    /// Deletes a topic.
    pub(super) fn delete_topic(&mut self, name: &str) {
        let topic = Arc::make_mut(&mut self.image.topics).remove(name).expect("a known topic");
        Arc::make_mut(&mut self.image.topics_by_id).remove(&topic.id);
        self.turn(|groups, turn| groups.image_changed(turn));
    }

    /// The process dies; another one reads the log. Whoever waited hears nothing.
    pub(super) fn restart(&mut self) {
        let before = std::mem::take(&mut self.hard);
        self.read_log(self.fresh());
        // What was counted change by change is what is there.
        assert_eq!(self.machine.state_bytes(&self.hard), self.machine.state_bytes(&before));
        self.loaded();
    }

    /// As [`Stepper::restart`], with another log.
    pub(super) fn restart_with(&mut self, log: Vec<KeyValue>) {
        self.log = StepLog::of(log);
        self.read_log(self.fresh());
        self.loaded();
    }

    /// Groups that know nothing yet.
    fn fresh(&self) -> Groups {
        let Groups { settings, metrics, .. } = &self.machine;
        Groups::new(Arc::clone(settings), Arc::clone(metrics))
    }

    /// What the shard counts as its memory.
    pub(super) fn state_bytes(&self) -> usize {
        self.machine.state_bytes(&self.hard)
    }

    /// All that the shard knows and waits for, to be compared.
    pub(super) fn state(&self) -> String {
        let Groups { classic, consumer, consumer_topics, expiry, .. } = &self.machine;
        let soft = (classic, consumer, consumer_topics, expiry);
        format!("{soft:?} {:?} {:?} {}", self.hard, self.timers, self.log.len())
    }
}

pub(super) fn partition() -> PartitionState {
    PartitionState {
        replicas: vec![BrokerId::new(1)],
        isr: vec![BrokerId::new(1)],
        removing_replicas: Vec::new(),
        adding_replicas: Vec::new(),
        leader: BrokerId::new(1),
        leader_recovery_state: 0,
        leader_epoch: LeaderEpoch::new(0),
        partition_epoch: 0,
        directories: Vec::new(),
        eligible_leader_replicas: Vec::new(),
        last_known_elr: Vec::new(),
    }
}
