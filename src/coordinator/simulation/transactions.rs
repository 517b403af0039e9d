//! A seeded simulation of transactional commits: one shard of groups, producers that crash, stall and hear nothing, and a
//! coordinator of transactions that keeps its promises.
//!
//! Producers of both versions commit offsets of several groups in transactions, with plain commits and deletions in between.
//! The network loses, delays and repeats; the shard restarts, with a log that was cleaned. What a producer of version 1 sends
//! stays in its order, as on one connection: only version 2 protects it from itself.
//!
//! After every step the offsets are what the log says; an offset of a transaction that was not committed is never seen, and
//! none that was acknowledged is missing when its transaction is committed.

use std::collections::HashMap;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::{GroupId, TopicName, TxnOffsetCommitRequest};

use super::TOPIC;
use super::client::{call, text};
use super::transactions_model::{Coordinator, Truth};
use crate::coordinator::groups::{GroupCommand, GroupErrand, GroupReply, GroupSettings};
use crate::coordinator::machine::{Outcome, Token};
use crate::coordinator::schedule::{Schedule, seeds};
use crate::coordinator::stepper::Stepper;
use crate::env::Random;
use crate::types::{Marker, ProducerIdAndEpoch, TransactionVersion};

pub(super) const GROUPS: [&str; 2] = ["g", "h"];
pub(super) const PARTITIONS: i32 = 3;
const PRODUCERS: usize = 4;
/// Simulated time with faults, and the time after them in which every transaction must end.
const FAULTS_MS: u64 = 120_000;
const SETTLING_MS: u64 = 30_000;
/// After this a request, or a marker, is taken for lost.
const PATIENCE_MS: u64 = 2_000;

#[test]
fn transactions_commit_their_offsets_as_a_whole_or_not_at_all_under_faults() {
    for seed in seeds(6) {
        println!("HIGHWATER_SEED={seed}");
        Simulation::new(seed).run();
    }
}

struct Simulation {
    schedule: Schedule<Event>,
    stepper: Stepper,
    /// No transaction is begun any more.
    is_over: bool,
    /// How many requests producers have sent.
    exchanges: u64,
    producers: Vec<Producer>,
    coordinator: Coordinator,
    /// Who is to get the answer of what the shard has.
    asked: HashMap<Token, Asked>,
    truth: Truth,
}

/// A producer program. A crash ends its life; the next one begins with a new epoch.
struct Producer {
    identity: ProducerIdAndEpoch,
    version: TransactionVersion,
    phase: Phase,
    /// Number of the exchange that it waits for.
    waits_for: Option<u64>,
    /// When its last request arrives at the latest.
    line_until_ms: u64,
}

enum Phase {
    /// Asks who it is.
    Init,
    /// Begins its next transaction.
    Idle,
    /// Has so many requests to go; the one that was not acknowledged yet is sent again.
    Open { to_go: u64, last: Option<TxnOffsetCommitRequest> },
    /// Will abort its transaction.
    Abort,
    /// Its transaction ends.
    Ending,
}

#[derive(Clone)]
enum Asked {
    Commit { producer: usize, exchange: u64 },
    Marker(Marker),
    Other,
}

enum Event {
    /// A producer looks for something to do.
    Tick(usize),
    /// Something reaches the shard.
    Arrives(Asked, Box<dyn Fn() -> GroupCommand>),
    /// An answer reaches a producer.
    Answered(usize, u64, Vec<i16>),
    /// A producer gives up waiting.
    Patience(usize, u64),
    /// The coordinator sends a marker, unless it was told that it is there.
    SendMarker(Marker),
    /// A producer program dies and starts again.
    Crash(usize),
    /// The shard dies and is read again.
    Restart,
    /// Somebody commits outside transactions, or deletes.
    Bystander,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut stepper = Stepper::new(GroupSettings::default());
        stepper.topic(TOPIC, usize::try_from(PARTITIONS).expect("positive"));
        let mut simulation = Self {
            schedule: Schedule::new(seed),
            stepper,
            is_over: false,
            exchanges: 0,
            producers: Vec::new(),
            coordinator: Coordinator::default(),
            asked: HashMap::new(),
            truth: Truth::default(),
        };
        for index in 0..PRODUCERS {
            simulation.producers.push(Producer {
                identity: ProducerIdAndEpoch::NONE,
                version: [TransactionVersion::V1, TransactionVersion::V2][index % 2],
                phase: Phase::Init,
                waits_for: None,
                line_until_ms: 0,
            });
            simulation.schedule.add_in(0, 1_000, Event::Tick(index));
        }
        for event in [Event::Restart, Event::Bystander, Event::Crash(0), Event::Crash(1)] {
            simulation.schedule.add_in(1_000, 5_000, event);
        }
        simulation
    }

    fn run(mut self) {
        self.run_until(FAULTS_MS);
        self.schedule.faulty = false;
        self.run_until(FAULTS_MS + SETTLING_MS);
        let ended = [Outcome::Commit, Outcome::Abort].map(|outcome| self.truth.ended(outcome));
        assert!(ended[0] > 50 && ended[1] > 10, "too few were committed and aborted: {ended:?}");
        self.settle();
    }

    fn run_until(&mut self, end_ms: u64) {
        while let Some((step_ms, event)) = self.schedule.next_by(end_ms) {
            self.stepper.advance_ms(step_ms);
            self.happens(event);
            self.truth.observe(&mut self.stepper);
            self.carry_out_errands();
            self.collect_answers();
        }
        self.stepper.advance_ms(self.schedule.pass_until(end_ms));
    }

    /// Everyone ends what is open, and hears that it has.
    fn settle(&mut self) {
        self.schedule.retain(|event| !matches!(event, Event::Bystander));
        for index in 0..PRODUCERS {
            self.producers[index].phase = Phase::Init;
        }
        self.is_over = true;
        self.run_until(FAULTS_MS + 2 * SETTLING_MS);
        self.truth.assert_nothing_hangs();
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Tick(index) => self.tick(index),
            Event::Arrives(asked, command) => {
                let token = self.stepper.send(command());
                self.asked.insert(token, asked);
            }
            Event::Answered(index, exchange, codes) => self.answered(index, exchange, &codes),
            Event::Patience(index, exchange) => {
                let gives_up = self.schedule.below(2) == 0;
                let producer = &mut self.producers[index];
                if producer.waits_for == Some(exchange) {
                    producer.waits_for = None;
                    if gives_up && let Phase::Open { .. } = producer.phase {
                        producer.phase = Phase::Abort;
                    }
                }
            }
            Event::SendMarker(marker) => self.send_marker(marker),
            Event::Crash(index) => {
                (self.producers[index].phase, self.producers[index].waits_for) =
                    (Phase::Init, None);
                self.again(Event::Crash((index + 1) % PRODUCERS));
            }
            Event::Restart => {
                if self.schedule.below(2) == 0 {
                    self.truth.clean(&mut self.stepper);
                }
                self.stepper.restart();
                self.asked.clear();
                self.again(Event::Restart);
            }
            Event::Bystander => {
                let command = self.truth.bystander(self.schedule.random.next_u64());
                let token = self.stepper.send(command);
                self.asked.insert(token, Asked::Other);
                self.schedule.add_in(50, 500, Event::Bystander);
            }
        }
    }

    fn again(&mut self, event: Event) {
        if self.schedule.now_ms < FAULTS_MS {
            self.schedule.add_in(500, 5_000, event);
        }
    }

    fn tick(&mut self, index: usize) {
        if self.producers[index].waits_for.is_none() {
            self.step(index);
        }
        self.schedule.add_in(5, 100, Event::Tick(index));
    }

    fn step(&mut self, index: usize) {
        let requests = 1 + self.schedule.below(3);
        let producer = &mut self.producers[index];
        let name = index;
        match &mut producer.phase {
            Phase::Init => {
                let (identity, marker) = self.coordinator.init(name, producer.version);
                let former = producer.identity;
                if let Some(identity) = identity {
                    producer.identity = identity;
                    producer.phase = Phase::Idle;
                }
                self.ends(former, marker, Outcome::Abort);
            }
            Phase::Idle if self.is_over => {}
            Phase::Idle => {
                if self.coordinator.begin(name, producer.identity, producer.version) {
                    producer.phase = Phase::Open { to_go: requests, last: None };
                }
            }
            // In version 1 only when nothing of it is on its way any more.
            Phase::Open { to_go: 0, .. } | Phase::Abort
                if producer.line_until_ms > self.schedule.now_ms => {}
            Phase::Open { to_go: 0, .. } if !self.schedule.random.next_u64().is_multiple_of(3) => {
                self.end(index, Outcome::Commit);
            }
            Phase::Open { to_go: 0, .. } | Phase::Abort => self.end(index, Outcome::Abort),
            Phase::Open { .. } => self.send_commit(index),
            Phase::Ending => {
                if let Some(identity) = self.coordinator.ended(name) {
                    producer.identity = identity;
                    producer.phase = Phase::Idle;
                }
            }
        }
    }

    fn end(&mut self, index: usize, outcome: Outcome) {
        let producer = &mut self.producers[index];
        producer.phase = Phase::Ending;
        let marker = self.coordinator.end(index, producer.version, outcome);
        let identity = producer.identity;
        self.ends(identity, marker, outcome);
    }

    fn ends(&mut self, of: ProducerIdAndEpoch, marker: Option<Marker>, outcome: Outcome) {
        match marker {
            Some(marker) => {
                self.truth.decided(of.id, outcome);
                self.schedule.add_in(0, 100, Event::SendMarker(marker));
            }
            // Nothing of it is anywhere, and must never be.
            None => self.truth.decided(of.id, Outcome::Abort),
        }
    }

    fn send_commit(&mut self, index: usize) {
        let number = self.schedule.random.next_u64();
        let producer = &mut self.producers[index];
        let Phase::Open { last, .. } = &mut producer.phase else { return };
        let request = last
            .get_or_insert_with(|| {
                let group = GROUPS[usize::try_from(number % 2).expect("small")];
                let partitions = (0..PARTITIONS).filter(|at| (number >> (2 + at)) & 1 == 1);
                let partitions: Vec<_> =
                    partitions.chain([i32::try_from(number % 3).expect("small")]).collect();
                let offset = self.truth.next_offset(producer.identity);
                request(index, producer.identity, group, &partitions, offset)
            })
            .clone();
        self.exchanges += 1;
        let exchange = self.exchanges;
        producer.waits_for = Some(exchange);
        let version = match producer.version {
            TransactionVersion::V1 => 3,
            TransactionVersion::V2 => 5,
        };
        let asked = Asked::Commit { producer: index, exchange };
        let command = move || GroupCommand::CommitInTransaction(call(version, request.clone()));
        self.transmit(index, asked, command);
        self.schedule.add_in(PATIENCE_MS, 1, Event::Patience(index, exchange));
    }

    fn transmit(
        &mut self,
        index: usize,
        asked: Asked,
        command: impl Fn() -> GroupCommand + Clone + 'static,
    ) {
        if self.schedule.one_in(20) {
            return;
        }
        if self.producers[index].version == TransactionVersion::V2 {
            if self.schedule.one_in(10) {
                let late = Event::Arrives(asked.clone(), Box::new(command.clone()));
                self.schedule.add_in(0, 3 * PATIENCE_MS, late);
            }
            return self.schedule.add_in(0, 100, Event::Arrives(asked, Box::new(command)));
        }
        // One connection: nothing is overtaken, and nothing stays behind when the producer goes on.
        let line_ms = self.producers[index].line_until_ms.saturating_sub(self.schedule.now_ms);
        let delay_ms = line_ms + self.schedule.below(100);
        self.producers[index].line_until_ms = self.schedule.now_ms + delay_ms + 1;
        self.schedule.add_in(delay_ms, 1, Event::Arrives(asked, Box::new(command)));
    }

    fn answered(&mut self, index: usize, exchange: u64, codes: &[i16]) {
        let producer = &mut self.producers[index];
        if producer.waits_for != Some(exchange) {
            return;
        }
        producer.waits_for = None;
        let Phase::Open { to_go, last } = &mut producer.phase else { return };
        match ResponseError::try_from_code(codes[0]) {
            None => {
                let request = last.take().expect("it waits for an answer to it");
                *to_go -= 1;
                self.truth.acknowledged(&request);
            }
            Some(
                ResponseError::CoordinatorNotAvailable | ResponseError::ConcurrentTransactions,
            ) => {}
            Some(ResponseError::InvalidProducerEpoch) => producer.phase = Phase::Init,
            Some(ResponseError::InvalidTxnState | ResponseError::TransactionAbortable) => {
                producer.phase = Phase::Abort;
            }
            Some(error) => panic!("a producer that keeps the rules was told {error:?}"),
        }
    }

    fn send_marker(&mut self, marker: Marker) {
        if self.coordinator.is_ending(&marker) {
            if !self.schedule.one_in(10) {
                let command = Box::new(move || GroupCommand::EndTransaction(marker));
                self.schedule.add_in(0, 100, Event::Arrives(Asked::Marker(marker), command));
            }
            self.schedule.add_in(PATIENCE_MS, 500, Event::SendMarker(marker));
        }
    }

    fn carry_out_errands(&mut self) {
        for errand in std::mem::take(&mut self.stepper.errands) {
            let GroupErrand::VerifyTransaction(asked) = errand;
            let verdict = self.coordinator.join(&asked);
            let command = Box::new(move || GroupCommand::TransactionVerified {
                errand: asked.errand,
                producer: asked.producer.id,
                verdict,
            });
            let spread_ms = if self.schedule.one_in(10) { 3 * PATIENCE_MS } else { 50 };
            self.schedule.add_in(0, spread_ms, Event::Arrives(Asked::Other, command));
        }
    }

    fn collect_answers(&mut self) {
        let mut tokens: Vec<Token> = self.asked.keys().copied().collect();
        tokens.sort_unstable();
        for token in tokens {
            let Some(reply) = self.stepper.take(token) else { continue };
            let asked = self.asked.remove(&token).expect("it is among the keys");
            let is_lost = self.schedule.one_in(20);
            match (asked, reply) {
                (Asked::Marker(marker), GroupReply::EndTransaction(taken)) => {
                    assert!(taken.is_ok() || !self.coordinator.is_ending(&marker), "{marker:?}");
                    if !is_lost {
                        self.coordinator.marked(&marker);
                    }
                }
                (
                    Asked::Commit { producer, exchange },
                    GroupReply::CommitInTransaction(response),
                ) if !is_lost => {
                    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
                    let codes = partitions.map(|partition| partition.error_code).collect();
                    self.schedule.add_in(0, 100, Event::Answered(producer, exchange, codes));
                }
                _ => {}
            }
        }
    }
}

fn request(
    name: usize,
    producer: ProducerIdAndEpoch,
    group: &'static str,
    partitions: &[i32],
    offset: i64,
) -> TxnOffsetCommitRequest {
    let unique: std::collections::BTreeSet<_> = partitions.iter().copied().collect();
    let partition = |at| {
        TxnOffsetCommitRequestPartition::default()
            .with_partition_index(at)
            .with_committed_offset(offset)
            .with_committed_metadata(Some(text("")))
    };
    let topic = TxnOffsetCommitRequestTopic::default()
        .with_name(TopicName(text(TOPIC)))
        .with_partitions(unique.into_iter().map(partition).collect());
    TxnOffsetCommitRequest::default()
        .with_transactional_id(text(&format!("tx-{name}")).into())
        .with_group_id(GroupId(text(group)))
        .with_producer_id(producer.id.get().into())
        .with_producer_epoch(producer.epoch.get())
        .with_generation_id(-1)
        .with_topics(vec![topic])
}
