//! The produce use case: check, append, wait for the disk as far as the producer asked for it.
//!
//! Appends happen before [`Broker::produce`] returns, unless a log must be opened or a large compressed batch checked first;
//! the reply may then wait for the sync thread. Requests of one connection so take effect in order while their replies wait.
//! What belongs to a transaction takes a way of its own up to the append (`transactions::joining`).
//!
//! What is looked at in which order is Kafka's (`KafkaApis.handleProduceRequest`, `ReplicaManager.handleProduceAppend`): partition ·
//! form of the batch · transaction · acks · internal topic · the batch in itself (`log/check`) · its producer.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::Broker;
use super::partition::{Partition, PartitionAppendError, SyncNeed};
use super::registry::{Lookup, OpenPartitionError, open_together};
use super::step::{Step, off_thread};
use super::sync_wait::SyncWait;
use super::tally::{self, Waiting};
use crate::coordinator::TransactionalId;
use crate::coordinator::transactions::TransactionError;
use crate::env;
use crate::log::batch::BatchHeader;
use crate::log::{
    Admission, Appended, BatchRejection, BatchRules, CheckedBatch, Origin, check_batch,
    check_batch_inline, check_form,
};
use crate::types::{Timestamp, TransactionVersion};

/// Which replies a producer wants (`acks`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// 0: none.
    None,
    /// 1: after the append.
    Leader,
    /// −1: when the data is durable in the topic's mode.
    All,
    /// Any other number: nothing is written.
    Undefined,
}

/// A Produce request whose partitions have been looked up.
#[derive(Debug)]
pub struct Produce {
    /// Which replies are wanted.
    pub acks: Acks,
    /// Longest wait for the sync; the append stays.
    pub timeout: Duration,
    /// Produce before v7 may not carry zstd.
    pub zstd_allowed: bool,
    /// Set if the producer has a transactional id.
    pub transaction: Option<ProduceTransaction>,
    /// One entry per partition, in the order of the request.
    pub batches: Vec<ProduceBatch>,
}

/// The transaction that batches of a request belong to.
#[derive(Clone, Debug)]
pub struct ProduceTransaction {
    /// Whose.
    pub id: TransactionalId,
    /// The rules that the version of the request chooses.
    pub version: TransactionVersion,
}

/// The batch for one partition.
#[derive(Debug)]
pub struct ProduceBatch {
    /// Where it goes.
    pub partition: Lookup,
    /// The `records` field; empty if null.
    pub records: Bytes,
    /// What lets it in if it belongs to a transaction, or why it may not come in.
    pub(super) admission: Result<Admission, TransactionError>,
    /// The header of a batch that belongs to the transaction of the request.
    pub(super) transactional: Option<BatchHeader>,
    is_of_internal_topic: bool,
}

impl ProduceBatch {
    /// A batch as the producer sent it.
    pub fn new(partition: Lookup, records: Bytes) -> Self {
        Self {
            partition,
            records,
            admission: Ok(Admission::Open),
            transactional: None,
            is_of_internal_topic: false,
        }
    }

    /// The same for a topic that the producer may not write to.
    pub fn to_internal_topic(self) -> Self {
        Self { is_of_internal_topic: true, ..self }
    }

    /// Why it does not come to the log, in Kafka's order: partition · form · transaction · acks · internal topic. `None` where the
    /// way through the log tells the first three as well.
    fn refusal(&self, request: &Produce) -> Option<ProduceError> {
        let last = match request.acks {
            Acks::Undefined => ProduceError::UndefinedAcks,
            _ if self.is_of_internal_topic => ProduceError::InternalTopic,
            Acks::None | Acks::Leader | Acks::All => return None,
        };
        if matches!(self.partition, Lookup::Unknown) {
            return Some(ProduceError::UnknownPartition);
        }
        let form = check_form(&self.records, request.zstd_allowed).err().map(Into::into);
        let refusal = form.or_else(|| self.admission.err().map(Into::into));
        Some(refusal.unwrap_or(last))
    }
}

/// Why a batch is not acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum ProduceError {
    /// There is no such partition.
    #[error("there is no such partition")]
    UnknownPartition,
    /// The batch is not acceptable.
    #[error(transparent)]
    Rejected(#[from] BatchRejection),
    /// The log could not be opened.
    #[error(transparent)]
    Open(#[from] OpenPartitionError),
    /// The log refused.
    #[error(transparent)]
    Append(#[from] PartitionAppendError),
    /// The coordinator does not take the partition into the transaction.
    #[error("the partition is no part of the transaction: {0}")]
    Transaction(#[from] TransactionError),
    /// Transactional batches of several producers: the whole request is refused.
    #[error("transactional batches of more than one producer")]
    SeveralProducers,
    /// [`Acks::Undefined`].
    #[error("acks must be -1, 0 or 1")]
    UndefinedAcks,
    /// The topic is a coordinator's to write to.
    #[error("the topic is internal")]
    InternalTopic,
    /// Appended, but the sync failed.
    #[error("the log directory went offline before the data was synced")]
    SyncFailed,
    /// Appended, but not synced in time.
    #[error("the sync took longer than the request allows")]
    TimedOut,
}

/// What became of each batch, in the order of the request.
pub type Produced = Vec<Result<Appended, ProduceError>>;

impl Broker {
    /// Appends batches to their partitions.
    pub fn produce(self: &Arc<Self>, mut request: Produce) -> Step<Produced> {
        match request.transaction.take() {
            None => self.produce_admitted(request),
            Some(transaction) => self.produce_in_transaction(request, transaction),
        }
    }

    /// Appends batches that have joined their transaction if they belong to one.
    pub(super) fn produce_admitted(self: &Arc<Self>, request: Produce) -> Step<Produced> {
        let now = Now { wall: self.env.clock.wall(), monotonic: self.env.clock.monotonic() };
        let watch = self.stalls.begin(now.monotonic, env::voluntary_switches);
        let mut appends = Vec::with_capacity(request.batches.len());
        for batch in &request.batches {
            match append_inline(batch, &request, now) {
                Some(append) => appends.push(append),
                None => return Arc::clone(self).produce_blocking(request, appends),
            }
        }
        let ended = self.env.clock.monotonic();
        if self.stalls.end(&watch, ended, env::voluntary_switches) {
            for append in appends.iter().flatten() {
                append.partition.directory().note_stall(ended);
            }
        }
        self.reply(&request, appends)
    }

    /// Goes on where something may take long or wait for the disk before the append: behind `appends`.
    fn produce_blocking(
        self: Arc<Self>,
        request: Produce,
        mut appends: Vec<AppendResult>,
    ) -> Step<Produced> {
        let rest = request.batches[appends.len()..].iter().map(|batch| &batch.partition);
        let unprepared: Vec<_> = rest.filter(|lookup| is_unprepared(lookup)).cloned().collect();
        let append_rest = move || {
            let now = self.env.clock.wall();
            let rest = &request.batches[appends.len()..];
            appends.extend(rest.iter().map(|batch| append_blocking(batch, &request, now)));
            self.reply(&request, appends)
        };
        if unprepared.len() < 2 {
            return Step::serial(off_thread(append_rest));
        }
        Step::serial(async move {
            open_together(unprepared, Partition::prepare).await;
            off_thread(append_rest).await
        })
    }

    /// Queues the syncs that the appends call for and answers at once or when the disk has what must be there.
    fn reply(&self, request: &Produce, appends: Vec<AppendResult>) -> Step<Produced> {
        let mut tally = tally::Appends::default();
        for (batch, append) in request.batches.iter().zip(&appends) {
            tally.add(batch.records.len(), append.as_ref().ok().map(|append| &append.appended));
        }
        tally.count_in(&self.metrics);
        let acks = request.acks;
        // After all appends of the request: they shall form one group.
        for append in appends.iter().flatten() {
            if append.need > SyncNeed::None {
                append.partition.queue_sync();
            }
        }
        let held = appends.iter().flatten().any(|append| is_held(append, acks));
        if !held {
            return Step::Now(appends.into_iter().map(|append| Ok(append?.appended)).collect());
        }
        let wait = SyncWait::new();
        for append in appends.iter().flatten().filter(|append| is_held(append, acks)) {
            append.partition.hold_until_synced(append.appended.end_offset, &wait);
        }
        let (metrics, timeout) = (Arc::clone(&self.metrics), request.timeout);
        Step::later(async move {
            let _waiting = Waiting::begin(&metrics.acks_waiting);
            // What the time-out leaves unsynced shows in the partitions.
            let _ = tokio::time::timeout(timeout, wait.settled()).await;
            appends.into_iter().map(|append| settle(append?, acks)).collect()
        })
    }
}

/// The time of a request.
#[derive(Clone, Copy, Debug)]
struct Now {
    wall: Timestamp,
    monotonic: Duration,
}

/// One append on its way to a reply.
#[derive(Debug)]
struct Append {
    partition: Arc<Partition>,
    appended: Appended,
    need: SyncNeed,
}

type AppendResult = Result<Append, ProduceError>;

/// Appends on an async thread; `None` if it may take long: a log must be opened or prepared first, the batch is large, the
/// disk was seen to stall just now.
fn append_inline(batch: &ProduceBatch, request: &Produce, now: Now) -> Option<AppendResult> {
    if let Some(refusal) = batch.refusal(request) {
        return Some(Err(refusal));
    }
    let partition = match &batch.partition {
        Lookup::Open(partition) => partition,
        Lookup::Closed(_) => return None,
        Lookup::Unknown => return Some(Err(ProduceError::UnknownPartition)),
    };
    if !partition.takes_inline(batch.records.len(), now.monotonic) {
        return None;
    }
    let policy = partition.topic().policy();
    let rules = rules(&policy.rules, request);
    let checked = check_batch_inline(&batch.records, &rules, now.wall)?;
    Some(append(partition, checked, batch.admission, now.wall))
}

/// As [`append_inline`], on a thread that may wait.
fn append_blocking(batch: &ProduceBatch, request: &Produce, now: Timestamp) -> AppendResult {
    if let Some(refusal) = batch.refusal(request) {
        return Err(refusal);
    }
    let partition = match &batch.partition {
        Lookup::Open(partition) => Arc::clone(partition),
        Lookup::Closed(closed) => closed.open()?,
        Lookup::Unknown => return Err(ProduceError::UnknownPartition),
    };
    let policy = partition.topic().policy();
    let rules = rules(&policy.rules, request);
    append(&partition, check_batch(&batch.records, &rules, now), batch.admission, now)
}

/// True if the first append of the leader's epoch may have to wait for the disk.
fn is_unprepared(lookup: &Lookup) -> bool {
    match lookup {
        Lookup::Open(partition) => !partition.is_prepared(),
        Lookup::Closed(_) => true,
        Lookup::Unknown => false,
    }
}

fn rules<'a>(rules: &'a BatchRules, request: &Produce) -> Cow<'a, BatchRules> {
    if request.zstd_allowed {
        return Cow::Borrowed(rules);
    }
    Cow::Owned(BatchRules { zstd_allowed: false, ..rules.clone() })
}

fn append(
    partition: &Arc<Partition>,
    checked: Result<CheckedBatch<'_>, BatchRejection>,
    admission: Result<Admission, TransactionError>,
    now: Timestamp,
) -> AppendResult {
    let checked = CheckedBatch { origin: Origin::Client(admission?), ..checked? };
    let (appended, need) = partition.append(&checked, now)?;
    Ok(Append { partition: Arc::clone(partition), appended, need })
}

fn is_held(append: &Append, acks: Acks) -> bool {
    let held = match acks {
        Acks::None | Acks::Undefined => false,
        Acks::Leader => append.need == SyncNeed::EveryReply,
        Acks::All => append.need >= SyncNeed::AcksAll,
    };
    held && append.partition.synced_end() < append.appended.end_offset
}

fn settle(append: Append, acks: Acks) -> Result<Appended, ProduceError> {
    if !is_held(&append, acks) {
        return Ok(append.appended);
    }
    let partition = &append.partition;
    if partition.is_offline() {
        return Err(ProduceError::SyncFailed);
    }
    if partition.is_retired() {
        return Err(ProduceError::UnknownPartition);
    }
    Err(ProduceError::TimedOut)
}
