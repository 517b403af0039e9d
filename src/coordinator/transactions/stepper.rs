//! One shard of transactions under a test's control: its producer ids count up.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::coordinator::machine::{LogProducer, Write};
use crate::coordinator::stepped::{Log, Stepped};
use crate::metadata::Image;
use crate::types::{
    Outcome, PartitionIndex, ProducerEpoch, ProducerIdAndEpoch, TopicName, TopicPartition,
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

type Shard = Stepped<Transactions, Vec<KeyValue>, WriteMarkers>;

/// A shard that a test steps through, and what it was made of.
pub(super) struct Stepper {
    shard: Shard,
    pub(super) ids: Arc<CountedIds>,
    pub(super) metrics: Arc<Metrics>,
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
        let transactions = Transactions::new(Arc::new(settings()), source, Arc::clone(&metrics));
        Self { shard: Shard::begin(transactions, image), ids, metrics }
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

    /// The process dies; another one reads the log. Whoever waited hears nothing, errands are lost.
    pub(super) fn restart(&mut self) {
        let source = Arc::clone(&self.ids) as Arc<dyn ProducerIdSource>;
        let settings = Arc::clone(&self.machine.settings);
        let metrics = Arc::clone(&self.metrics);
        self.read_log(Transactions::new(settings, source, metrics));
        self.loaded();
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
}

impl Deref for Stepper {
    type Target = Shard;

    fn deref(&self) -> &Shard {
        &self.shard
    }
}

impl DerefMut for Stepper {
    fn deref_mut(&mut self) -> &mut Shard {
        &mut self.shard
    }
}

/// Transactions write plain records only.
impl Log<Transactions> for Vec<KeyValue> {
    fn append(&mut self, write: &Write<TransactionRecord>) {
        let Write::Record(record) = write else { panic!("only plain records are written") };
        self.push(encode(record));
    }

    fn read(&self, mut each: impl FnMut(&Entry<TransactionRecord>)) {
        for entry in self {
            let record = decode(&entry.key, entry.value.as_deref()).expect("our own bytes");
            each(&Entry::Record(record.expect("a known type")));
        }
    }

    fn producers(&self) -> Vec<LogProducer> {
        Vec::new()
    }
}

impl From<TransactionErrand> for WriteMarkers {
    fn from(TransactionErrand::WriteMarkers(asked): TransactionErrand) -> Self {
        asked
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
