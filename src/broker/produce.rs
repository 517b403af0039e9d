//! The produce use case: check, append, wait for the disk as far as the producer asked for it.
//!
//! Appends happen before [`Broker::produce`] returns, unless a log must be opened or a large compressed batch checked first;
//! the reply may then wait for the sync thread. Requests of one connection so take effect in order while their replies wait.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::Broker;
use super::partition::{Partition, PartitionAppendError, SyncNeed};
use super::registry::{ClosedPartition, Lookup, OpenPartitionError};
use super::step::Step;
use super::sync_wait::SyncWait;
use crate::env;
use crate::log::{Appended, BatchRejection, BatchRules, check_batch};
use crate::types::Timestamp;

/// Compressed batches from this size on are checked on the blocking pool: decompressing takes about 1 ns a byte.
const COMPRESSED_BYTES_INLINE_MAX: usize = 64 * 1024;

/// Which replies a producer wants (`acks`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// 0: none.
    None,
    /// 1: after the append.
    Leader,
    /// −1: when the data is durable in the topic's mode.
    All,
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
    /// One entry per partition, in the order of the request.
    pub batches: Vec<ProduceBatch>,
}

/// The batch for one partition.
#[derive(Debug)]
pub struct ProduceBatch {
    /// Where it goes.
    pub partition: Lookup,
    /// The `records` field; empty if null.
    pub records: Bytes,
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
    pub fn produce(self: &Arc<Self>, request: Produce) -> Step<Produced> {
        if request.batches.iter().all(is_quick) {
            let now = self.env.clock.wall();
            let batches = request.batches.iter();
            let appends = batches.map(|batch| append_one(batch, &request, now)).collect();
            return reply(appends, request.acks, request.timeout);
        }
        let broker = Arc::clone(self);
        Step::serial(async move { broker.produce_blocking(request).await })
    }

    /// As [`Broker::produce`], but for what may take long or wait for the disk before the append.
    async fn produce_blocking(self: Arc<Self>, mut request: Produce) -> Step<Produced> {
        let (acks, timeout) = (request.acks, request.timeout);
        let appends = env::spawn_blocking(move || {
            let now = self.env.clock.wall();
            for batch in &mut request.batches {
                open_if_closed(batch);
            }
            request.batches.iter().map(|batch| append_one(batch, &request, now)).collect()
        });
        match appends.await {
            Ok(appends) => reply(appends, acks, timeout),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }
}

/// One append on its way to a reply.
#[derive(Debug)]
struct Append {
    partition: Arc<Partition>,
    appended: Appended,
    need: SyncNeed,
}

type AppendResult = Result<Append, ProduceError>;

/// True if the batch can be appended on an async thread.
fn is_quick(batch: &ProduceBatch) -> bool {
    match &batch.partition {
        Lookup::Open(partition) => {
            partition.is_prepared()
                && (batch.records.len() <= COMPRESSED_BYTES_INLINE_MAX
                    || !is_compressed(&batch.records))
        }
        Lookup::Closed(_) => false,
        Lookup::Unknown => true,
    }
}

/// The codec bits of the attributes; a batch too short for them is refused by the check.
fn is_compressed(records: &[u8]) -> bool {
    const ATTRIBUTES_LOW_BYTE: usize = 22;
    const CODEC_BITS: u8 = 0b111;
    records.get(ATTRIBUTES_LOW_BYTE).is_some_and(|attributes| attributes & CODEC_BITS != 0)
}

fn open_if_closed(batch: &mut ProduceBatch) {
    if let Lookup::Closed(closed) = &batch.partition
        && let Ok(partition) = closed.open()
    {
        batch.partition = Lookup::Open(partition);
    }
}

fn append_one(batch: &ProduceBatch, request: &Produce, now: Timestamp) -> AppendResult {
    let partition = match &batch.partition {
        Lookup::Open(partition) => Arc::clone(partition),
        // Only after a first try to open it failed: this one tells why.
        Lookup::Closed(closed) => ClosedPartition::open(closed)?,
        Lookup::Unknown => return Err(ProduceError::UnknownPartition),
    };
    let policy = partition.topic().policy();
    let checked = if request.zstd_allowed {
        check_batch(&batch.records, &policy.rules, now)?
    } else {
        let rules = BatchRules { zstd_allowed: false, ..policy.rules.clone() };
        check_batch(&batch.records, &rules, now)?
    };
    let (appended, need) = partition.append(&checked, now)?;
    drop(policy);
    Ok(Append { partition, appended, need })
}

/// Queues the syncs that the appends call for and answers at once or when the disk has what must be there.
fn reply(appends: Vec<AppendResult>, acks: Acks, timeout: Duration) -> Step<Produced> {
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
    Step::later(async move {
        // What the time-out leaves unsynced shows in the partitions.
        let _ = tokio::time::timeout(timeout, wait.settled()).await;
        appends.into_iter().map(|append| settle(append?, acks)).collect()
    })
}

fn is_held(append: &Append, acks: Acks) -> bool {
    let held = match acks {
        Acks::None => false,
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
    if partition.directory().is_offline() {
        return Err(ProduceError::SyncFailed);
    }
    if partition.is_retired() {
        return Err(ProduceError::UnknownPartition);
    }
    Err(ProduceError::TimedOut)
}
