//! What a partition remembers of idempotent and transactional producers (Kafka's `ProducerStateManager`).
//!
//! Owned by the log's appender. Every change is made by [`Producers::apply`], in live traffic as in recovery; the checks of
//! a batch come before it, in [`Producers::check`](super::producer_checks), and change nothing.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use smallvec::SmallVec;

use super::batch::BatchHeader;
use super::format::aborted_index::AbortedEntry;
use super::joins::{JoinGuard, Joins};
use crate::types::{
    Offset, Outcome, ProducerEpoch, ProducerId, ProducerIdAndEpoch, Timestamp, TransactionVersion,
};

/// How many batches back a resent one is still recognised.
const RECENT_BATCHES_MAX: usize = 5;

/// A map with room for so many times what is in it gives memory back.
const SPARE_FACTOR: usize = 4;

/// One batch as far as it takes to recognise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecentBatch {
    pub(super) last_sequence: i32,
    pub(super) last_offset: Offset,
    pub(super) offset_delta: i32,
    pub(super) timestamp: Timestamp,
}

impl RecentBatch {
    pub(super) fn first_sequence(&self) -> i32 {
        // Sequences live in 0..=2³¹−1 and wrap there.
        self.last_sequence.wrapping_sub(self.offset_delta) & i32::MAX
    }

    /// Offset of its first record.
    pub(super) fn base_offset(&self) -> Offset {
        self.last_offset.plus(-i64::from(self.offset_delta))
    }
}

/// The state of one producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Producer {
    pub(super) epoch: ProducerEpoch,
    /// −1 before the first marker.
    pub(super) coordinator_epoch: i32,
    pub(super) last_timestamp: Timestamp,
    /// First offset of its open transaction.
    pub(super) transaction_start: Option<Offset>,
    /// Oldest first; empty if only markers were seen in this epoch.
    pub(super) recent: SmallVec<[RecentBatch; RECENT_BATCHES_MAX]>,
}

/// What the record in a control batch of a transaction says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndMarker {
    pub(super) outcome: Outcome,
    pub(super) coordinator_epoch: i32,
}

/// A transaction that a marker has just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndedTransaction {
    /// As the transaction index would have it.
    pub(super) entry: AbortedEntry,
    pub(super) outcome: Outcome,
}

impl EndedTransaction {
    /// What belongs into the transaction index.
    pub(super) fn aborted(&self) -> Option<AbortedEntry> {
        (self.outcome == Outcome::Abort).then_some(self.entry)
    }
}

/// All producers of a partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Producers {
    by_id: HashMap<ProducerId, Producer>,
    /// Open transactions by first offset.
    open: BTreeMap<Offset, ProducerId>,
    /// Producers that are about to open one.
    joins: Joins,
}

impl Producers {
    /// Puts a producer from a snapshot in.
    pub(super) fn restore(&mut self, id: ProducerId, producer: Producer) {
        if let Some(start) = producer.transaction_start {
            self.open.insert(start, id);
        }
        self.by_id.insert(id, producer);
    }

    /// All of them, in the order of their ids.
    pub(super) fn sorted(&self) -> Vec<(ProducerId, &Producer)> {
        let mut all: Vec<_> = self.by_id.iter().map(|(id, producer)| (*id, producer)).collect();
        all.sort_by_key(|(id, _)| *id);
        all
    }

    /// What is known of one.
    pub(super) fn get(&self, id: ProducerId) -> Option<&Producer> {
        self.by_id.get(&id)
    }

    /// Where one stands: one that nothing is known of is before its first epoch.
    pub(super) fn standing(&self, id: ProducerId) -> Cow<'_, Producer> {
        self.get(id).map_or_else(|| Cow::Owned(Producer::unknown()), Cow::Borrowed)
    }

    /// Producers that are about to open a transaction.
    pub(super) fn joins(&self) -> &Joins {
        &self.joins
    }

    /// A producer wants to write to the partition in a transaction, beginning with this sequence number: what it needs to be
    /// let in once the coordinator has agreed; `None` if its transaction is open here.
    pub(super) fn begin_join(
        &mut self,
        producer: ProducerIdAndEpoch,
        sequence: i32,
        version: TransactionVersion,
        now: Timestamp,
    ) -> Option<JoinGuard> {
        let known = self.by_id.get(&producer.id);
        if known.is_some_and(|known| known.is_in_transaction(producer.epoch)) {
            return None;
        }
        Some(self.joins.begin(producer, sequence, version, now))
    }

    /// The coordinator does not let the producer in that was given this guard.
    pub(super) fn give_up_join(&mut self, id: ProducerId, guard: JoinGuard) {
        self.joins.give_up(id, guard);
    }

    /// First offset of the oldest open transaction.
    pub(super) fn first_unstable(&self) -> Option<Offset> {
        self.open.keys().next().copied()
    }

    /// When the producer of the oldest open transaction has last written.
    pub(super) fn oldest_open_written(&self) -> Option<Timestamp> {
        let (_, id) = self.open.first_key_value()?;
        Some(self.by_id.get(id)?.last_timestamp)
    }

    /// Takes in a batch that is in the log; its offsets are final. `marker` is what a control batch of a transaction says.
    /// Returns the transaction that it ends.
    pub(super) fn apply(
        &mut self,
        header: &BatchHeader,
        marker: Option<EndMarker>,
    ) -> Option<EndedTransaction> {
        if !header.has_producer_id() {
            return None;
        }
        if header.is_transactional() {
            // Data opens the transaction, a marker ends it: who still wants in must ask again.
            self.joins.end(header.producer_id);
        }
        if header.is_control() {
            return match marker {
                Some(marker) => self.apply_marker(header, marker),
                None if header.records_count == 0 => self.apply_emptied_marker(header),
                None => None,
            };
        }
        let producer = self.by_id.entry(header.producer_id).or_insert_with(Producer::unknown);
        producer.add_batch(header);
        if header.is_transactional() && producer.transaction_start.is_none() {
            producer.transaction_start = Some(header.base_offset);
            self.open.insert(header.base_offset, header.producer_id);
        }
        None
    }

    /// Compaction has taken the record out of a marker, whose transaction has no data left. The batch stays for its producer
    /// epoch, which Kafka forgets when it recovers such a log, and so fences nobody.
    fn apply_emptied_marker(&mut self, header: &BatchHeader) -> Option<EndedTransaction> {
        let producer = self.by_id.entry(header.producer_id).or_insert_with(Producer::unknown);
        producer.enter_epoch(header.producer_epoch);
        producer.last_timestamp = header.max_timestamp;
        if let Some(start) = producer.transaction_start.take() {
            self.open.remove(&start);
        }
        None
    }

    fn apply_marker(
        &mut self,
        header: &BatchHeader,
        marker: EndMarker,
    ) -> Option<EndedTransaction> {
        let ended = self.ended_by(header, marker);
        let producer = self.by_id.entry(header.producer_id).or_insert_with(Producer::unknown);
        producer.enter_epoch(header.producer_epoch);
        producer.coordinator_epoch = marker.coordinator_epoch;
        producer.last_timestamp = header.max_timestamp;
        if let Some(start) = producer.transaction_start.take() {
            self.open.remove(&start);
        }
        ended
    }

    /// The transaction that a marker ends, or would end; `None` if it is not open. The offsets of the header are final.
    pub(super) fn ended_by(
        &self,
        header: &BatchHeader,
        marker: EndMarker,
    ) -> Option<EndedTransaction> {
        let first_offset = self.by_id.get(&header.producer_id)?.transaction_start?;
        let last_offset = header.last_offset();
        let next_open = self.open.keys().find(|start| **start != first_offset).copied();
        let entry = AbortedEntry {
            producer_id: header.producer_id,
            first_offset,
            last_offset,
            last_stable_offset: next_open.unwrap_or(last_offset.plus(1)),
        };
        Some(EndedTransaction { entry, outcome: marker.outcome })
    }

    /// Forgets producers that have been idle for `expiration_ms` and have no transaction open.
    pub(super) fn expire(&mut self, now: Timestamp, expiration_ms: i64) {
        self.by_id.retain(|_, producer| !producer.is_expired(now, expiration_ms));
        // A map keeps the memory of what it has once held.
        if self.by_id.len() < self.by_id.capacity() / SPARE_FACTOR {
            self.by_id.shrink_to_fit();
        }
        self.joins.expire(now, expiration_ms);
    }
}

impl Producer {
    fn unknown() -> Self {
        Self {
            epoch: ProducerEpoch::NONE,
            coordinator_epoch: -1,
            last_timestamp: Timestamp::NONE,
            transaction_start: None,
            recent: SmallVec::new(),
        }
    }

    /// True if its transaction of this epoch is open here.
    pub(super) fn is_in_transaction(&self, epoch: ProducerEpoch) -> bool {
        self.transaction_start.is_some() && self.epoch == epoch
    }

    pub(super) fn is_expired(&self, now: Timestamp, expiration_ms: i64) -> bool {
        let idle_ms = now.get().saturating_sub(self.last_timestamp.get());
        self.transaction_start.is_none() && idle_ms >= expiration_ms
    }

    /// The batches of an older epoch say nothing about the sequences of this one.
    fn enter_epoch(&mut self, epoch: ProducerEpoch) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.recent.clear();
        }
    }

    fn add_batch(&mut self, header: &BatchHeader) {
        self.enter_epoch(header.producer_epoch);
        if self.recent.len() == RECENT_BATCHES_MAX {
            self.recent.remove(0);
        }
        self.recent.push(RecentBatch {
            last_sequence: header.last_sequence(),
            last_offset: header.last_offset(),
            offset_delta: header.last_offset_delta,
            timestamp: header.max_timestamp,
        });
        self.last_timestamp = header.max_timestamp;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_producers_that_were_forgotten_is_given_back() {
        let mut producers = Producers::default();
        for id in 0..10_000 {
            let last_timestamp = Timestamp::new(if id == 7 { 1_000 } else { 0 });
            let producer = Producer { last_timestamp, ..Producer::unknown() };
            producers.restore(ProducerId::new(id), producer);
        }
        producers.expire(Timestamp::new(1_000), 1_000);
        assert_eq!(producers.sorted().len(), 1);
        assert!(producers.by_id.capacity() < 100, "{}", producers.by_id.capacity());
    }
}
