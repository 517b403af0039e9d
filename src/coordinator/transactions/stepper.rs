//! One shard of transactions under a test's control: a manual clock, a log in memory, producer ids that count up.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::*;
use crate::coordinator::machine::{Effects, Now, Timers, TurnParts, Write};
use crate::metadata::Image;
use crate::types::{
    Outcome, PartitionIndex, ProducerEpoch, ProducerIdAndEpoch, Timestamp, TopicName,
    TopicPartition, Uuid,
};

/// Producer ids from 1000 on, as long as there are some.
#[derive(Debug)]
pub(super) struct CountedIds {
    next: AtomicI64,
    left: AtomicI64,
}

impl CountedIds {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { next: AtomicI64::new(1000), left: AtomicI64::new(i64::MAX) })
    }

    /// From now on there are only so many.
    pub(super) fn leave(&self, count: i64) {
        self.left.store(count, Ordering::Relaxed);
    }
}

impl ProducerIdSource for CountedIds {
    fn try_next(&self) -> Option<ProducerId> {
        if self.left.fetch_sub(1, Ordering::Relaxed) <= 0 {
            self.left.store(0, Ordering::Relaxed);
            return None;
        }
        Some(ProducerId::new(self.next.fetch_add(1, Ordering::Relaxed)))
    }
}

/// A shard that a test steps through.
pub(super) struct Stepper {
    pub(super) shard: Transactions,
    pub(super) hard: TransactionsHard,
    pub(super) image: Image,
    pub(super) now: Now,
    pub(super) ids: Arc<CountedIds>,
    pub(super) metrics: Arc<Metrics>,
    /// Everything written so far.
    pub(super) log: Vec<KeyValue>,
    /// What was sent out and not taken yet.
    pub(super) errands: Vec<WriteMarkers>,
    timers: Timers<TransactionTimer>,
    replies: HashMap<Token, TransactionReply>,
    next_token: u64,
    next_id: Cell<u128>,
}

/// Kafka's, but for round numbers.
pub(super) fn settings() -> TransactionSettings {
    TransactionSettings {
        transaction_max_timeout_ms: 900_000,
        transactional_id_expiration_ms: 604_800_000,
        remove_expired_transaction_cleanup_interval_ms: 3_600_000,
    }
}

impl Stepper {
    /// A cluster whose `transaction.version` is `level`.
    pub(super) fn new(level: i16) -> Self {
        let (ids, metrics) = (CountedIds::new(), Arc::<Metrics>::default());
        let source = Arc::clone(&ids) as Arc<dyn ProducerIdSource>;
        let mut image = Image::default();
        Arc::make_mut(&mut image.features).insert(TRANSACTION_VERSION.to_owned(), level);
        let wall = Timestamp::new(1_700_000_000_000);
        let mut stepper = Self {
            shard: Transactions::new(Arc::new(settings()), source, Arc::clone(&metrics)),
            hard: TransactionsHard::default(),
            image,
            now: Now { wall, monotonic: Duration::ZERO },
            ids,
            metrics,
            log: Vec::new(),
            errands: Vec::new(),
            timers: Timers::new(),
            replies: HashMap::new(),
            next_token: 0,
            next_id: Cell::new(1),
        };
        stepper.turn(|shard, turn| shard.loaded(turn));
        stepper
    }

    /// Sends a command; its answer is there now or comes later.
    pub(super) fn send(&mut self, command: TransactionCommand) -> Token {
        self.next_token += 1;
        let token = Token(self.next_token);
        self.turn(|shard, turn| shard.decide(turn, command, token));
        token
    }

    /// Sends a command that is answered at once.
    pub(super) fn ask(&mut self, command: TransactionCommand) -> TransactionReply {
        let token = self.send(command);
        self.take(token).expect("answered at once")
    }

    /// The answer, if it has been given.
    pub(super) fn take(&mut self, token: Token) -> Option<TransactionReply> {
        self.replies.remove(&token)
    }

    /// All markers that are to be written are.
    pub(super) fn write_markers(&mut self) {
        for errand in std::mem::take(&mut self.errands) {
            self.report(&errand, errand.partitions.clone());
        }
    }

    /// Some markers of an errand are written.
    pub(super) fn report(&mut self, errand: &WriteMarkers, partitions: Vec<TopicPartition>) {
        let WriteMarkers { id, errand, .. } = errand.clone();
        self.ask(TransactionCommand::MarkersWritten { id, errand, partitions });
    }

    /// Lets time pass; timers run out in order, each at its time.
    pub(super) fn advance_ms(&mut self, step_ms: u64) {
        let end = self.now.monotonic + Duration::from_millis(step_ms);
        while let Some(due) = self.timers.next_due().filter(|due| *due <= end) {
            self.move_clock(due.max(self.now.monotonic));
            while let Some(timer) = self.timers.take_due(self.now.monotonic) {
                self.turn(|shard, turn| shard.expired(turn, timer));
            }
        }
        self.move_clock(end);
    }

    fn move_clock(&mut self, to: Duration) {
        let passed = to.saturating_sub(self.now.monotonic);
        let passed_ms = i64::try_from(passed.as_millis()).expect("tests are short");
        self.now.wall = Timestamp::new(self.now.wall.get() + passed_ms);
        self.now.monotonic = to;
    }

    /// The process dies; another one reads the log. Whoever waited hears nothing, errands are lost.
    pub(super) fn restart(&mut self) {
        let source = Arc::clone(&self.ids) as Arc<dyn ProducerIdSource>;
        let settings = Arc::clone(&self.shard.settings);
        self.shard = Transactions::new(settings, source, Arc::clone(&self.metrics));
        self.hard = TransactionsHard::default();
        self.timers = Timers::new();
        self.replies.clear();
        self.errands.clear();
        for entry in &self.log {
            let record = decode(&entry.key, entry.value.as_deref()).expect("our own bytes");
            self.hard.apply(&Entry::Record(record.expect("a known type")));
        }
        self.turn(|shard, turn| shard.loaded(turn));
    }

    /// Puts a transactional id into a state, as if it had been read from the log.
    pub(super) fn put(&mut self, id: &str, transaction: Transaction) {
        let record =
            TransactionRecord { id: id.into(), value: Some((transaction, ValueFormat::V1)) };
        self.log.push(encode(&record));
        self.restart();
    }

    pub(super) fn get(&self, id: &str) -> &Transaction {
        self.hard.get(id).expect("a known transactional id")
    }

    /// Does something in a turn of its own.
    pub(super) fn turn<T>(
        &mut self,
        step: impl FnOnce(&mut Transactions, &mut TransactionTurn<'_>) -> T,
    ) -> T {
        let mut effects = Effects::default();
        let next_id = &self.next_id;
        let ids = || {
            let id = next_id.get();
            next_id.set(id + 1);
            Uuid::from_bytes(id.to_be_bytes())
        };
        let mut turn = Turn::new(TurnParts {
            now: self.now,
            image: &self.image,
            ids: &ids,
            hard: &mut self.hard,
            effects: &mut effects,
            timers: &mut self.timers,
        });
        let outcome = step(&mut self.shard, &mut turn);
        for write in effects.writes {
            let Write::Record(record) = write else { panic!("only plain records are written") };
            self.log.push(encode(&record));
        }
        let markers = effects.errands.into_iter().map(|TransactionErrand::WriteMarkers(it)| it);
        self.errands.extend(markers);
        for (token, reply) in effects.replies {
            let known = self.replies.insert(token, reply);
            assert!(known.is_none(), "answered twice: {token:?}");
        }
        outcome
    }
}

/// What producers ask for, in few words.
impl Stepper {
    pub(super) fn init(
        &mut self,
        id: &str,
        current: Option<ProducerIdAndEpoch>,
    ) -> Result<ProducerIdAndEpoch, TransactionError> {
        match self.ask(init(id, current)) {
            TransactionReply::InitProducer(verdict) => verdict,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn add(
        &mut self,
        id: &str,
        producer: ProducerIdAndEpoch,
        partitions: &[TopicPartition],
        version: TransactionVersion,
    ) -> Result<(), TransactionError> {
        match self.ask(add(id, producer, partitions, version)) {
            TransactionReply::AddPartitions(verdict) => verdict,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn end(
        &mut self,
        id: &str,
        producer: ProducerIdAndEpoch,
        outcome: Outcome,
        version: TransactionVersion,
    ) -> Result<ProducerIdAndEpoch, TransactionError> {
        match self.ask(end(id, producer, outcome, version)) {
            TransactionReply::End(verdict) => verdict,
            other => panic!("{other:?}"),
        }
    }
}

pub(super) fn init(id: &str, current: Option<ProducerIdAndEpoch>) -> TransactionCommand {
    TransactionCommand::InitProducer(InitProducer {
        id: id.into(),
        timeout_ms: 60_000,
        current,
        version: 4,
    })
}

pub(super) fn add(
    id: &str,
    producer: ProducerIdAndEpoch,
    partitions: &[TopicPartition],
    version: TransactionVersion,
) -> TransactionCommand {
    let partitions = partitions.to_vec();
    TransactionCommand::AddPartitions(Partitions { id: id.into(), producer, partitions, version })
}

pub(super) fn end(
    id: &str,
    producer: ProducerIdAndEpoch,
    outcome: Outcome,
    version: TransactionVersion,
) -> TransactionCommand {
    TransactionCommand::End(End { id: id.into(), producer, outcome, version })
}

pub(super) fn producer(id: i64, epoch: i16) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch { id: ProducerId::new(id), epoch: ProducerEpoch::new(epoch) }
}

pub(super) fn at(topic: &str, partition: i32) -> TopicPartition {
    TopicPartition {
        topic: TopicName::new(topic).expect("a legal name"),
        partition: PartitionIndex::new(partition),
    }
}
