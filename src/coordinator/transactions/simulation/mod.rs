//! A seeded simulation: one coordinator, a few partitions, and programs that write transactions, some of them rivals for the
//! same transactional id.
//!
//! The network loses, delays and repeats. The programs crash; the broker crashes and loses what it had not synced, each log
//! for itself; the coordinator's shard is thrown away and read again while its errands are under way. What must hold is asked
//! after every step and over the final logs, see `oracle`.
//!
//! In version 1 a request to the coordinator that is overtaken by a later one of the same producer can end or begin the wrong
//! transaction: the protocol has no defence (KIP-890 is one), and only the connection keeps order. So does the network here.
//!
//! `HIGHWATER_SEED` repeats one run, `HIGHWATER_SEEDS` says how many are tried.

mod broker;
mod oracle;
mod partition;
mod program;

use self::broker::{Broker, Released};
use self::oracle::{Fate, Oracle};
use self::program::{Answer, Life, Program, Request};
use super::TransactionReply;
use super::stepper::at;
use crate::coordinator::schedule::{Schedule, seeds};
use crate::types::{TopicPartition, TransactionVersion};

const PARTITIONS: usize = 4;
const PROGRAMS: usize = 6;
/// Fewer than programs: some are rivals.
const IDS: usize = 4;
const TIMEOUT_MS: i32 = 10_000;
/// Simulated time with faults, and the time after them in which everything must have ended.
const FAULTS_MS: u64 = 120_000;
const SETTLING_MS: u64 = 60_000;
/// After this a program takes a request for lost.
const PATIENCE_MS: u64 = 3_000;

/// Which version the programs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    V1,
    V2,
    Both,
}

#[test]
fn transactions_of_version_1_are_atomic_under_faults() {
    run_seeds(Mix::V1);
}

#[test]
fn transactions_of_version_2_are_atomic_under_faults() {
    run_seeds(Mix::V2);
}

#[test]
fn transactions_of_both_versions_are_atomic_under_faults() {
    run_seeds(Mix::Both);
}

fn run_seeds(mix: Mix) {
    for seed in seeds(4) {
        println!("{mix:?}: HIGHWATER_SEED={seed}");
        Simulation::new(mix, seed).run();
    }
}

struct Simulation {
    schedule: Schedule<Event>,
    broker: Broker,
    next_transaction: u64,
    programs: Vec<Running>,
    oracle: Oracle,
}

/// A program and its connection.
struct Running {
    program: Program,
    /// The request that it waits for.
    waits_for: Option<u64>,
    requests: u64,
    stalled_until_ms: u64,
    /// What was sent last on its connection arrives then; nothing overtakes it.
    last_arrival_ms: u64,
}

/// One request of one life of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exchange {
    life: Life,
    request: u64,
}

/// A partition as the coordinator knows it.
fn name_of(partition: usize) -> TopicPartition {
    at("data", i32::try_from(partition).expect("few partitions"))
}

/// The reverse.
fn number_of(partition: &TopicPartition) -> usize {
    usize::try_from(partition.partition.get()).expect("numbered from 0")
}

enum Event {
    /// A program looks for something to do.
    Tick(usize),
    /// A request reaches the broker.
    Arrives(Exchange, Request),
    /// An answer reaches the program.
    Answered(Exchange, Answer),
    /// The program gives up waiting, and tries again.
    Patience(Exchange),
    /// A program dies and starts again.
    Crash(usize),
    /// A program stands still.
    Stall(usize),
    /// The broker dies and starts again.
    Restart,
    /// The coordinator throws its state away and reads its log: an append had failed.
    Reload,
    /// The broker of that life goes on with its syncs and errands.
    Work(u64),
}

impl Simulation {
    fn new(mix: Mix, seed: u64) -> Self {
        let programs = (0..PROGRAMS).map(|index| {
            let version = match mix {
                Mix::V1 => TransactionVersion::V1,
                Mix::V2 => TransactionVersion::V2,
                Mix::Both if index % 2 == 0 => TransactionVersion::V1,
                Mix::Both => TransactionVersion::V2,
            };
            let life = Life { program: index, number: 0 };
            Running {
                program: Program::new(life, &format!("t{}", index % IDS), version),
                waits_for: None,
                requests: 0,
                stalled_until_ms: 0,
                last_arrival_ms: 0,
            }
        });
        let mut simulation = Self {
            broker: Broker::new(if mix == Mix::V1 { 0 } else { 2 }),
            programs: programs.collect(),
            schedule: Schedule::new(seed),
            next_transaction: 0,
            oracle: Oracle::default(),
        };
        (0..PROGRAMS).for_each(|index| simulation.schedule.add_in(0, 1_000, Event::Tick(index)));
        simulation.schedule.add_in(0, 10, Event::Work(0));
        (0..3).for_each(|_| simulation.schedule_next_fault());
        simulation
    }

    fn run(mut self) {
        self.run_until(FAULTS_MS);
        self.schedule.faulty = false;
        // Some programs die for good: what they have begun is ended for them.
        (0..PROGRAMS).step_by(2).for_each(|index| self.start_anew(index));
        self.broker.crash(&self.schedule.random);
        self.schedule.add_in(0, 10, Event::Work(self.broker.life));
        self.run_until(FAULTS_MS + SETTLING_MS);
        self.oracle.check_end(&self.broker.partitions);
        let committed = self.oracle.transactions.values().filter(|it| it.fate == Fate::Committed);
        assert!(committed.count() > 50, "too few to prove anything");
        // Whatever is still known is idle, and so is what a restart makes of it.
        self.broker.crash(&self.schedule.random);
        assert!(self.broker.is_idle());
    }

    fn run_until(&mut self, end_ms: u64) {
        while let Some((step_ms, event)) = self.schedule.next_by(end_ms) {
            self.broker.advance_ms(step_ms);
            self.happens(event);
            self.release();
        }
        self.schedule.pass_until(end_ms);
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Tick(index) => self.tick(index),
            Event::Arrives(exchange, request) => {
                self.broker.arrives(exchange, request, &self.oracle);
            }
            Event::Answered(exchange, answer) => self.answered(exchange, answer),
            Event::Patience(exchange) => {
                if let Some(running) = self.waiting(exchange) {
                    running.waits_for = None;
                }
            }
            Event::Crash(index) => {
                self.start_anew(index);
                self.schedule_next_fault();
            }
            Event::Stall(index) => {
                self.programs[index].stalled_until_ms =
                    self.schedule.now_ms + self.schedule.below(30_000);
                self.schedule_next_fault();
            }
            Event::Restart => {
                self.broker.crash(&self.schedule.random);
                self.schedule.add_in(0, 10, Event::Work(self.broker.life));
                self.schedule_next_fault();
            }
            Event::Reload => {
                self.broker.reload();
                self.schedule_next_fault();
            }
            Event::Work(life) if life == self.broker.life => {
                self.broker.work(&self.schedule.random, self.schedule.faulty, &self.oracle);
                self.schedule.add_in(1, 10, Event::Work(life));
            }
            Event::Work(_) => {}
        }
    }

    fn tick(&mut self, index: usize) {
        let stops = !self.schedule.faulty;
        let running = &mut self.programs[index];
        if running.waits_for.is_none() && running.stalled_until_ms <= self.schedule.now_ms {
            let (random, number) = (&self.schedule.random, self.next_transaction);
            if let Some(request) = running.program.next(random, number, &mut self.oracle, stops) {
                running.requests += 1;
                let exchange = Exchange { life: running.program.life, request: running.requests };
                running.waits_for = Some(exchange.request);
                self.next_transaction += 1;
                self.transmit(exchange, request);
            }
        }
        self.schedule.add_in(1, 30, Event::Tick(index));
    }

    fn transmit(&mut self, exchange: Exchange, request: Request) {
        self.schedule.add_in(PATIENCE_MS, 1, Event::Patience(exchange));
        if self.schedule.one_in(30) {
            return;
        }
        let version = self.programs[exchange.life.program].program.version;
        let keeps_order =
            version == TransactionVersion::V1 && matches!(request, Request::Coordinator(_));
        let delay_ms = self.schedule.below(20);
        let running = &mut self.programs[exchange.life.program];
        let at_ms = (self.schedule.now_ms + delay_ms).max(running.last_arrival_ms);
        running.last_arrival_ms = at_ms;
        if !keeps_order && self.schedule.one_in(10) {
            // It comes again, perhaps when its program is long past it.
            let spread_ms = if self.schedule.one_in(2) { 100 } else { 2 * PATIENCE_MS };
            self.schedule.add_in(0, spread_ms, Event::Arrives(exchange, request.clone()));
        }
        if !keeps_order && self.schedule.one_in(50) {
            return self.schedule.add_in(0, 2 * PATIENCE_MS, Event::Arrives(exchange, request));
        }
        self.schedule.add_at(at_ms, Event::Arrives(exchange, request));
    }

    fn answered(&mut self, exchange: Exchange, answer: Answer) {
        let index = exchange.life.program;
        let Some(running) = self.waiting(exchange) else { return };
        running.waits_for = None;
        if !self.programs[index].program.answered(answer, &mut self.oracle) {
            self.start_anew(index);
            self.programs[index].stalled_until_ms =
                self.schedule.now_ms + self.schedule.below(2_000);
        }
    }

    fn start_anew(&mut self, index: usize) {
        let running = &mut self.programs[index];
        let Life { program, number } = running.program.life;
        let life = Life { program, number: number + 1 };
        running.program = Program::new(life, &running.program.id, running.program.version);
        running.waits_for = None;
    }

    /// Answers leave the broker when what they depend on is durable.
    fn release(&mut self) {
        for Released { exchange, answer } in self.broker.released() {
            let begins = matches!(&answer, Answer::Coordinator(TransactionReply::InitProducer(_)));
            if let Answer::Coordinator(
                TransactionReply::InitProducer(Ok(who)) | TransactionReply::End(Ok(who)),
            ) = &answer
            {
                self.oracle.given(*who, exchange.life);
                if begins {
                    self.oracle.began(*who);
                }
            }
            if !self.schedule.one_in(30) {
                self.schedule.add_in(0, 20, Event::Answered(exchange, answer));
            }
        }
    }

    /// The program, if it still waits for this request.
    fn waiting(&mut self, exchange: Exchange) -> Option<&mut Running> {
        let running = &mut self.programs[exchange.life.program];
        let waits =
            running.program.life == exchange.life && running.waits_for == Some(exchange.request);
        waits.then_some(running)
    }

    /// One more fault of a random kind, some time from now.
    fn schedule_next_fault(&mut self) {
        let index = usize::try_from(self.schedule.below(PROGRAMS as u64)).expect("small");
        let event = match self.schedule.below(6) {
            0 | 1 => Event::Restart,
            2 => Event::Reload,
            3 => Event::Stall(index),
            _ => Event::Crash(index),
        };
        if self.schedule.now_ms + 10_000 < FAULTS_MS {
            self.schedule.add_in(10, 6_000, event);
        }
    }
}
