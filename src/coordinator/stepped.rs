//! One shard under a test's control: a manual clock, a log in memory, ids that count up.
//!
//! `stepper` makes of it what tests of groups step through, `transactions::stepper` the same for transactions.

use std::cell::Cell;
use std::collections::HashMap;
use std::time::Duration;

use super::machine::{
    Effects, Entry, LogProducer, Machine, Now, Timers, Token, Turn, TurnParts, Write,
};
use crate::metadata::Image;
use crate::types::{Timestamp, Uuid};

/// Where a stepped shard writes, and what it is read from.
pub(super) trait Log<M: Machine> {
    /// Appends what a turn has written. Panics where a partition's log would refuse.
    fn append(&mut self, write: &Write<M::Record>);

    /// Hands out every entry as a shard reads it.
    fn read(&self, each: impl FnMut(&Entry<M::Record>));

    /// What it tells a shard of producers.
    fn producers(&self) -> Vec<LogProducer>;
}

/// A shard that a test steps through. Its log is an `L`, its errands are looked at as `E`s.
pub(super) struct Stepped<M: Machine, L, E> {
    pub(super) machine: M,
    pub(super) hard: M::Hard,
    pub(super) image: Image,
    pub(super) now: Now,
    /// Everything written so far.
    pub(super) log: L,
    /// Everything that was sent out and nobody has taken yet.
    pub(super) errands: Vec<E>,
    pub(super) timers: Timers<M::Timer>,
    replies: HashMap<Token, M::Reply>,
    next_token: u64,
    next_id: Cell<u128>,
}

impl<M: Machine, L: Log<M> + Default, E: From<M::Errand>> Stepped<M, L, E> {
    /// A shard with an empty log.
    pub(super) fn begin(machine: M, image: Image) -> Self {
        let wall = Timestamp::new(1_700_000_000_000);
        let mut stepped = Self {
            machine,
            hard: M::Hard::default(),
            image,
            now: Now { wall, monotonic: Duration::ZERO },
            log: L::default(),
            errands: Vec::new(),
            timers: Timers::new(),
            replies: HashMap::new(),
            next_token: 0,
            next_id: Cell::new(1),
        };
        stepped.loaded();
        stepped
    }

    /// Sends a command; its answer is there now or comes later.
    pub(super) fn send(&mut self, command: M::Command) -> Token {
        self.next_token += 1;
        let token = Token(self.next_token);
        self.turn(|machine, turn| machine.decide(turn, command, token));
        token
    }

    /// Sends a command that is answered at once.
    pub(super) fn ask(&mut self, command: M::Command) -> M::Reply {
        let token = self.send(command);
        self.take(token).expect("answered at once")
    }

    /// The answer, if it has been given.
    pub(super) fn take(&mut self, token: Token) -> Option<M::Reply> {
        self.replies.remove(&token)
    }

    /// Lets time pass; timers run out in order, each at its time.
    pub(super) fn advance_ms(&mut self, step_ms: u64) {
        let end = self.now.monotonic + Duration::from_millis(step_ms);
        while let Some(due) = self.timers.next_due().filter(|due| *due <= end) {
            self.move_clock(due.max(self.now.monotonic));
            while let Some(timer) = self.timers.take_due(self.now.monotonic) {
                self.turn(|machine, turn| machine.expired(turn, timer));
            }
        }
        self.move_clock(end);
    }

    /// The process dies; the machine of another one, which is new, reads the log. Whoever waited hears nothing, errands are
    /// lost. To be followed by [`Stepped::loaded`].
    pub(super) fn read_log(&mut self, machine: M) {
        self.machine = machine;
        self.hard = M::Hard::default();
        self.timers = Timers::new();
        self.replies.clear();
        self.errands.clear();
        self.log.read(|entry| M::apply(&mut self.hard, entry));
        self.machine.restore_producers(&self.log.producers());
    }

    /// The log has been read.
    pub(super) fn loaded(&mut self) {
        self.turn(|machine, turn| machine.loaded(turn));
    }

    /// Does something in a turn of its own.
    pub(super) fn turn<T>(&mut self, step: impl FnOnce(&mut M, &mut Turn<'_, M>) -> T) -> T {
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
        let outcome = step(&mut self.machine, &mut turn);
        effects.writes.iter().for_each(|write| self.log.append(write));
        self.errands.extend(effects.errands.into_iter().map(E::from));
        for (token, reply) in effects.replies {
            let known = self.replies.insert(token, reply);
            assert!(known.is_none(), "answered twice: {token:?}");
        }
        outcome
    }

    /// Random ids count up from here.
    pub(super) fn set_next_id(&mut self, id: u128) {
        self.next_id.set(id);
    }

    /// A random id.
    pub(super) fn new_uuid(&self) -> Uuid {
        next_uuid(&self.next_id)
    }

    fn move_clock(&mut self, to: Duration) {
        let passed = to.saturating_sub(self.now.monotonic);
        let passed_ms = i64::try_from(passed.as_millis()).expect("tests are short");
        self.now.wall = Timestamp::new(self.now.wall.get() + passed_ms);
        self.now.monotonic = to;
    }
}

fn next_uuid(next: &Cell<u128>) -> Uuid {
    let id = next.get();
    next.set(id + 1);
    Uuid::from_bytes(id.to_be_bytes())
}
