//! One shard of groups under a test's control: a manual clock, a log in memory, an image made of topic names.

mod log;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use self::log::StepLog;
use super::groups::{
    GroupCommand, GroupErrand, GroupReply, GroupSettings, GroupTimer, Groups, GroupsHard,
};
use super::machine::{Effects, KeyValue, Machine, Now, Timers, Token, Turn, TurnParts};
use crate::metadata::{Image, PartitionState, Topic};
use crate::types::{BrokerId, LeaderEpoch, Timestamp, TopicId, TopicName, Uuid};

/// A shard that a test steps through.
pub(super) struct Stepper {
    pub(super) groups: Groups,
    pub(super) hard: GroupsHard,
    pub(super) image: Image,
    pub(super) now: Now,
    /// Everything written so far.
    pub(super) log: StepLog,
    /// Everything that was sent out and nobody has taken yet.
    pub(super) errands: Vec<GroupErrand>,
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
            log: StepLog::default(),
            errands: Vec::new(),
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
        self.log = StepLog::of(log);
        self.read_log();
        self.turn(|groups, turn| groups.loaded(turn));
    }

    fn read_log(&mut self) {
        self.groups =
            Groups::new(Arc::clone(&self.groups.settings), Arc::clone(&self.groups.metrics));
        self.hard = GroupsHard::default();
        self.timers = Timers::new();
        self.replies.clear();
        self.errands.clear();
        self.log.read(|entry| Groups::apply(&mut self.hard, entry));
        self.groups.restore_producers(&self.log.producers());
    }

    /// What the shard counts as its memory.
    pub(super) fn state_bytes(&self) -> usize {
        self.groups.state_bytes(&self.hard)
    }

    /// All that the shard knows and waits for, to be compared.
    pub(super) fn state(&self) -> String {
        let Groups { classic, consumer, consumer_topics, expiry, .. } = &self.groups;
        let soft = (classic, consumer, consumer_topics, expiry);
        format!("{soft:?} {:?} {:?} {}", self.hard, self.timers, self.log.len())
    }

    /// Random ids count up from here.
    pub(super) fn set_next_id(&mut self, id: u128) {
        self.next_id.set(id);
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
        effects.writes.iter().for_each(|write| self.log.append(write));
        self.errands.extend(effects.errands);
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
