//! One shard of groups under a test's control: a manual clock, a log in memory, an image made of topic names.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::groups::{GroupCommand, GroupReply, GroupSettings, GroupTimer, Groups, GroupsHard};
use super::machine::{
    Effects, Entry, KeyValue, Machine, Now, Timers, Token, Turn, TurnParts, Write,
};
use crate::metadata::{Image, PartitionState, Topic};
use crate::types::{BrokerId, LeaderEpoch, Timestamp, TopicId, TopicName, Uuid};

/// A shard that a test steps through.
pub(super) struct Stepper {
    pub(super) groups: Groups,
    pub(super) hard: GroupsHard,
    pub(super) image: Image,
    pub(super) now: Now,
    /// Everything written so far.
    pub(super) log: Vec<KeyValue>,
    timers: Timers<GroupTimer>,
    replies: HashMap<Token, GroupReply>,
    next_token: u64,
    next_id: Cell<u128>,
}

impl Stepper {
    pub(super) fn new(settings: GroupSettings) -> Self {
        let wall = Timestamp::new(1_700_000_000_000);
        let mut stepper = Self {
            groups: Groups::new(Arc::new(settings), Arc::default()),
            hard: GroupsHard::default(),
            image: Image::default(),
            now: Now { wall, monotonic: Duration::ZERO },
            log: Vec::new(),
            timers: Timers::new(),
            replies: HashMap::new(),
            next_token: 0,
            next_id: Cell::new(1),
        };
        stepper.turn(|groups, turn| groups.loaded(turn));
        stepper
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

    /// Sends a command; its answer is there now or comes later.
    pub(super) fn send(&mut self, command: GroupCommand) -> Token {
        self.next_token += 1;
        let token = Token(self.next_token);
        self.turn(|groups, turn| groups.decide(turn, command, token));
        token
    }

    /// Sends a command that is answered at once.
    pub(super) fn ask(&mut self, command: GroupCommand) -> GroupReply {
        let token = self.send(command);
        self.take(token).expect("answered at once")
    }

    /// The answer, if it has been given.
    pub(super) fn take(&mut self, token: Token) -> Option<GroupReply> {
        self.replies.remove(&token)
    }

    /// Lets time pass; timers run out in order, each at its time.
    pub(super) fn advance_ms(&mut self, step_ms: u64) {
        let end = self.now.monotonic + Duration::from_millis(step_ms);
        while let Some(due) = self.timers.next_due().filter(|due| *due <= end) {
            self.move_clock(due.max(self.now.monotonic));
            while let Some(timer) = self.timers.take_due(self.now.monotonic) {
                self.turn(|groups, turn| groups.expired(turn, timer));
            }
        }
        self.move_clock(end);
    }

    /// The process dies; another one reads the log. Whoever waited hears nothing.
    pub(super) fn restart(&mut self) {
        let before = std::mem::take(&mut self.hard);
        self.read_log();
        // What was counted change by change is what is there.
        assert_eq!(self.groups.state_bytes(&self.hard), self.groups.state_bytes(&before));
        self.turn(|groups, turn| groups.loaded(turn));
    }

    /// As [`Stepper::restart`], with another log.
    pub(super) fn restart_with(&mut self, log: Vec<KeyValue>) {
        self.log = log;
        self.read_log();
        self.turn(|groups, turn| groups.loaded(turn));
    }

    fn read_log(&mut self) {
        self.groups =
            Groups::new(Arc::clone(&self.groups.settings), Arc::clone(&self.groups.metrics));
        self.hard = GroupsHard::default();
        self.timers = Timers::new();
        self.replies.clear();
        for entry in &self.log {
            let record = Groups::decode(&entry.key, entry.value.as_deref()).expect("our own bytes");
            Groups::apply(&mut self.hard, &Entry::Record(record.expect("a known type")));
        }
    }

    /// The newest value of each key: what compaction would leave, tombstones left out.
    pub(super) fn compacted(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut newest = BTreeMap::new();
        for KeyValue { key, value } in &self.log {
            match value {
                Some(value) => newest.insert(key.clone(), value.clone()),
                None => newest.remove(key),
            };
        }
        newest
    }

    /// Random ids count up from here.
    pub(super) fn set_next_id(&mut self, id: u128) {
        self.next_id.set(id);
    }

    /// Leaves the newest entry of each key, tombstones excepted: what the cleaner makes of a log in the end.
    pub(super) fn clean_log(&mut self) {
        let newest: HashMap<_, _> =
            self.log.iter().enumerate().map(|(index, entry)| (entry.key.clone(), index)).collect();
        let mut index = 0..;
        self.log.retain(|entry| {
            let is_newest =
                index.next().is_some_and(|index| newest.get(&entry.key) == Some(&index));
            is_newest && entry.value.is_some()
        });
    }

    fn move_clock(&mut self, to: Duration) {
        let passed = to.saturating_sub(self.now.monotonic);
        let passed_ms = i64::try_from(passed.as_millis()).expect("tests are short");
        self.now.wall = Timestamp::new(self.now.wall.get() + passed_ms);
        self.now.monotonic = to;
    }

    /// Does something in a turn of its own.
    pub(super) fn turn<T>(
        &mut self,
        step: impl FnOnce(&mut Groups, &mut Turn<'_, Groups>) -> T,
    ) -> T {
        let mut effects = Effects::default();
        let next_id = &self.next_id;
        let ids = || next_uuid(next_id);
        let mut turn = Turn::new(TurnParts {
            now: self.now,
            image: &self.image,
            ids: &ids,
            hard: &mut self.hard,
            effects: &mut effects,
            timers: &mut self.timers,
        });
        let outcome = step(&mut self.groups, &mut turn);
        self.log.extend(effects.writes.iter().filter_map(|write| match write {
            Write::Record(record) => Some(Groups::encode(record)),
            Write::Pending(..) | Write::Marker(_) => None,
        }));
        for (token, reply) in effects.replies {
            let known = self.replies.insert(token, reply);
            assert!(known.is_none(), "answered twice: {token:?}");
        }
        outcome
    }

    fn new_uuid(&self) -> Uuid {
        next_uuid(&self.next_id)
    }
}

fn next_uuid(next: &Cell<u128>) -> Uuid {
    let id = next.get();
    next.set(id + 1);
    Uuid::from_bytes(id.to_be_bytes())
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
