//! Producers on their way into a transaction (Kafka's `VerificationStateEntry` and `VerificationGuard`; KIP-890).
//!
//! Before the first batch of a transaction comes into a partition, the coordinator is asked. Its answer may be overtaken: the
//! transaction is aborted meanwhile, the marker is here, and the batch would open a transaction that nobody ends. So a guard is
//! given out before the question; the batch must show it, and any marker or batch of the producer's transaction voids it.
//!
//! Only in memory, owned by the log's appender. An entry stays until the producer writes or is refused for good, so that strangers
//! leave nothing behind, or is forgotten like idle producers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::types::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, Timestamp, TransactionVersion};

/// What the first batch of a transaction shows. No two are the same in the life of the process, so that one of a transaction
/// that has ended opens no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinGuard(u64);

/// The producers of one partition that are about to open a transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct Joins {
    by_id: HashMap<ProducerId, Join>,
}

/// One producer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    pub(super) guard: JoinGuard,
    /// The lowest that was announced in this epoch: a higher one must not be written before it, or it could never follow.
    pub(super) lowest_sequence: i32,
    pub(super) version: TransactionVersion,
    epoch: ProducerEpoch,
    since: Timestamp,
}

impl Joins {
    /// The guard of a producer; the one that was given out before, if it has not been used up.
    pub(super) fn begin(
        &mut self,
        producer: ProducerIdAndEpoch,
        sequence: i32,
        version: TransactionVersion,
        now: Timestamp,
    ) -> JoinGuard {
        let join = self.by_id.entry(producer.id).or_insert_with(|| Join {
            guard: JoinGuard::new(),
            lowest_sequence: sequence,
            version,
            epoch: producer.epoch,
            since: now,
        });
        if producer.epoch > join.epoch {
            join.epoch = producer.epoch;
            join.lowest_sequence = sequence;
        } else if producer.epoch == join.epoch {
            join.lowest_sequence = join.lowest_sequence.min(sequence);
        }
        join.guard
    }

    pub(super) fn get(&self, id: ProducerId) -> Option<&Join> {
        self.by_id.get(&id)
    }

    /// The coordinator has refused for good. What was asked for with another guard goes on.
    pub(super) fn give_up(&mut self, id: ProducerId, guard: JoinGuard) {
        if self.by_id.get(&id).is_some_and(|join| join.guard == guard) {
            self.by_id.remove(&id);
        }
    }

    /// The producer is in its transaction, or the transaction has ended.
    pub(super) fn end(&mut self, id: ProducerId) {
        self.by_id.remove(&id);
    }

    /// Forgets those that asked so long ago and never wrote.
    pub(super) fn expire(&mut self, now: Timestamp, expiration_ms: i64) {
        self.by_id.retain(|_, join| now.get().saturating_sub(join.since.get()) < expiration_ms);
    }
}

impl JoinGuard {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::new(1_000);

    fn producer(epoch: i16) -> ProducerIdAndEpoch {
        ProducerIdAndEpoch { id: ProducerId::new(7), epoch: ProducerEpoch::new(epoch) }
    }

    fn begin(joins: &mut Joins, epoch: i16, sequence: i32) -> JoinGuard {
        joins.begin(producer(epoch), sequence, TransactionVersion::V1, NOW)
    }

    fn lowest(joins: &Joins) -> Option<i32> {
        joins.get(ProducerId::new(7)).map(|join| join.lowest_sequence)
    }

    #[test]
    fn batches_that_are_sent_together_share_a_guard_until_one_is_in() {
        let mut joins = Joins::default();
        let first = begin(&mut joins, 0, 0);
        assert_eq!(begin(&mut joins, 0, 10), first);
        joins.end(ProducerId::new(7));
        assert_ne!(begin(&mut joins, 0, 10), first);
    }

    #[test]
    fn the_lowest_sequence_of_the_newest_epoch_counts() {
        let mut joins = Joins::default();
        begin(&mut joins, 1, 5);
        begin(&mut joins, 1, 9);
        begin(&mut joins, 1, 3);
        assert_eq!(lowest(&joins), Some(3));
        begin(&mut joins, 0, 0);
        assert_eq!(lowest(&joins), Some(3), "an older epoch");
        begin(&mut joins, 2, 8);
        assert_eq!(lowest(&joins), Some(8));
    }

    #[test]
    fn who_is_refused_leaves_nothing_behind() {
        let mut joins = Joins::default();
        let refused = begin(&mut joins, 0, 0);
        joins.give_up(ProducerId::new(7), refused);
        assert_eq!(lowest(&joins), None);
        begin(&mut joins, 0, 0);
        joins.give_up(ProducerId::new(7), refused);
        assert_eq!(lowest(&joins), Some(0), "asked for anew");
    }

    #[test]
    fn who_never_writes_is_forgotten() {
        let mut joins = Joins::default();
        begin(&mut joins, 0, 0);
        joins.expire(Timestamp::new(1_099), 100);
        assert_eq!(lowest(&joins), Some(0));
        joins.expire(Timestamp::new(1_100), 100);
        assert_eq!(lowest(&joins), None);
    }
}
