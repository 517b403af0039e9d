//! What a shard knows of one transactional id, and what becomes of it (Kafka's `TransactionMetadata`).
//!
//! Each change is a function from one value to the next, which is then written down. That the change is allowed has been
//! decided before.

use std::sync::Arc;

use super::TransactionState;
use crate::types::{
    Outcome, ProducerEpoch, ProducerId, ProducerIdAndEpoch, Timestamp, TopicPartition,
    TransactionVersion,
};

/// The highest epoch. It is never given to a producer, so that every producer can be fenced by a higher one.
const EPOCH_MAX: ProducerEpoch = ProducerEpoch::new(i16::MAX);

/// A transactional id: its producer and its newest transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Who may write.
    pub producer: ProducerIdAndEpoch,
    /// The producer id before the newest change; almost always the same.
    pub previous_id: ProducerId,
    /// The producer id once the transaction has ended, if that is another: the epochs of this one are used up.
    pub next_id: ProducerId,
    /// Of KIP-939: kept where a Kafka wrote it, and never used.
    pub next_epoch: ProducerEpoch,
    /// The epoch that the producer had before, if it was raised for that same producer: it may ask again. [`ProducerEpoch::NONE`] if
    /// somebody else had it. Not written down, but found again where the state tells it.
    pub last_epoch: ProducerEpoch,
    /// Longest time from the start of a transaction to its end.
    pub timeout_ms: i32,
    /// Where it stands.
    pub state: TransactionState,
    /// Where it wrote, sorted. Markers are written to all of these.
    pub partitions: Arc<[TopicPartition]>,
    /// When this was written down.
    pub last_update: Timestamp,
    /// When the newest transaction was begun; [`Timestamp::NONE`] before the first one.
    pub start: Timestamp,
    /// The rules of the newest transaction.
    pub version: TransactionVersion,
}

impl Transaction {
    /// A transactional id that nobody had before. Its producer has no epoch yet.
    pub(super) fn new(id: ProducerId) -> Self {
        Self {
            producer: ProducerIdAndEpoch { id, epoch: ProducerEpoch::NONE },
            previous_id: ProducerId::NONE,
            next_id: ProducerId::NONE,
            next_epoch: ProducerEpoch::NONE,
            last_epoch: ProducerEpoch::NONE,
            timeout_ms: 0,
            state: TransactionState::Empty,
            partitions: Arc::default(),
            last_update: Timestamp::NONE,
            start: Timestamp::NONE,
            version: TransactionVersion::V1,
        }
    }

    /// True if no higher epoch may be given to a producer.
    pub(super) fn is_exhausted(&self) -> bool {
        is_last(self.producer.epoch)
    }

    /// True if the epoch is one that no producer ever gets.
    pub(super) fn is_beyond_last(&self) -> bool {
        self.producer.epoch == EPOCH_MAX
    }

    /// Who may write once the transaction has ended; the same if none is open.
    pub(super) fn settled(&self) -> ProducerIdAndEpoch {
        if self.version == TransactionVersion::V2 && self.next_id != ProducerId::NONE {
            return first_of(self.next_id);
        }
        self.producer
    }

    /// When an open transaction has taken too long; `None` if it may take as long as it likes (KIP-939).
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        (self.timeout_ms != i32::MAX)
            .then(|| Timestamp::new(self.start.get().saturating_add(self.timeout_ms.into())))
    }

    /// True if all of them are part of it.
    pub(super) fn contains(&self, partition: &TopicPartition) -> bool {
        self.partitions.binary_search(partition).is_ok()
    }

    /// A producer begins anew with the next epoch. `last_epoch` is the one that may ask again.
    pub(super) fn with_next_epoch(&self, last_epoch: ProducerEpoch, now: Timestamp) -> Self {
        Self { producer: self.raised(), last_epoch, ..self.emptied(now) }
    }

    /// A producer begins anew as another one.
    pub(super) fn with_producer_id(
        &self,
        id: ProducerId,
        last_epoch: ProducerEpoch,
        now: Timestamp,
    ) -> Self {
        Self { producer: first_of(id), last_epoch, ..self.emptied(now) }
    }

    /// A producer has asked again for what it was already given.
    pub(super) fn emptied(&self, now: Timestamp) -> Self {
        Self {
            partitions: Arc::default(),
            start: Timestamp::NONE,
            ..self.changed(TransactionState::Empty, now)
        }
    }

    /// More partitions are part of it, which has begun if it had not.
    pub(super) fn with_partitions(
        &self,
        more: &[TopicPartition],
        version: TransactionVersion,
        now: Timestamp,
    ) -> Self {
        let start = if self.state == TransactionState::Ongoing { self.start } else { now };
        let mut partitions = self.partitions.to_vec();
        partitions.extend_from_slice(more);
        partitions.sort_unstable();
        partitions.dedup();
        let changed = self.changed(TransactionState::Ongoing, now);
        Self { partitions: partitions.into(), start, version, ..changed }
    }

    /// How it ends is certain. In version 2 the epoch rises, and beyond the last one `next_id` takes over in the end.
    pub(super) fn prepared(
        &self,
        outcome: Outcome,
        version: TransactionVersion,
        next_id: Option<ProducerId>,
        now: Timestamp,
    ) -> Self {
        let state = match outcome {
            Outcome::Commit => TransactionState::PrepareCommit,
            Outcome::Abort => TransactionState::PrepareAbort,
        };
        let mut next = self.changed(state, now);
        if version == TransactionVersion::V2 {
            next.producer = self.raised();
            next.last_epoch = self.producer.epoch;
        }
        if self.state != TransactionState::Ongoing {
            next.start = now;
        }
        Self { version, next_id: next_id.unwrap_or(ProducerId::NONE), ..next }
    }

    /// The coordinator aborts what a producer of version 1 has begun, and fences it.
    pub(super) fn fenced(&self, now: Timestamp) -> Self {
        let prepared = self.prepared(Outcome::Abort, TransactionVersion::V1, None, now);
        Self { producer: self.raised(), last_epoch: ProducerEpoch::NONE, ..prepared }
    }

    /// All markers are written.
    pub(super) fn completed(&self, now: Timestamp) -> Self {
        let state = match self.state {
            TransactionState::PrepareCommit => TransactionState::CompleteCommit,
            _ => TransactionState::CompleteAbort,
        };
        Self {
            producer: self.settled(),
            next_id: ProducerId::NONE,
            partitions: Arc::default(),
            ..self.changed(state, now)
        }
    }

    fn changed(&self, state: TransactionState, now: Timestamp) -> Self {
        Self { previous_id: self.producer.id, state, last_update: now, ..self.clone() }
    }

    fn raised(&self) -> ProducerIdAndEpoch {
        let ProducerIdAndEpoch { id, epoch } = self.producer;
        ProducerIdAndEpoch { id, epoch: ProducerEpoch::new(epoch.get().saturating_add(1)) }
    }
}

/// True for the highest epoch that a producer may have, and above.
pub(super) fn is_last(epoch: ProducerEpoch) -> bool {
    epoch.get() >= EPOCH_MAX.get() - 1
}

fn first_of(id: ProducerId) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch { id, epoch: ProducerEpoch::new(0) }
}
