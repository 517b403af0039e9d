//! What must hold at every moment, and in the end.

use std::collections::HashMap;

use super::partition::{Entry, Partition};
use super::program::Life;
use crate::types::{ProducerId, ProducerIdAndEpoch};

/// What a program knows of the end of one of its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was told so.
    Committed,
    /// It was told so, or has never asked for the commit.
    Aborted,
    /// It has asked for the commit and not heard of it: all or nothing.
    Unknown,
}

/// One transaction as its program sees it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) fate: Fate,
    /// Records that were acknowledged, by partition.
    pub(super) written: HashMap<usize, usize>,
}

#[derive(Debug, Default)]
pub(super) struct Oracle {
    /// Who was given each producer id and epoch.
    owners: HashMap<ProducerIdAndEpoch, Life>,
    /// The newest epoch that was given to somebody who began, by producer id.
    begun: HashMap<ProducerId, i16>,
    pub(super) transactions: HashMap<u64, Seen>,
}

impl Oracle {
    /// An answer tells a program who it is: nobody else was told that.
    pub(super) fn given(&mut self, producer: ProducerIdAndEpoch, life: Life) {
        let owner = *self.owners.entry(producer).or_insert(life);
        assert_eq!(owner, life, "{producer} was given to {owner:?} and to {life:?}");
        assert_ne!(producer.epoch.get(), i16::MAX, "nobody could be fenced any more");
    }

    /// Somebody has begun with this epoch: those before it are fenced from now on.
    pub(super) fn began(&mut self, producer: ProducerIdAndEpoch) {
        let newest = self.begun.entry(producer.id).or_insert(-1);
        *newest = producer.epoch.get().max(*newest);
    }

    /// A record was appended.
    pub(super) fn appended(&self, producer: ProducerIdAndEpoch) {
        let newest = self.begun.get(&producer.id).copied().unwrap_or(-1);
        assert!(producer.epoch.get() >= newest, "{producer} writes after epoch {newest} has begun");
    }

    /// When nothing has failed for long: what a consumer finds is what the programs know.
    pub(super) fn check_end(&self, partitions: &[Partition]) {
        let committed: Vec<_> = partitions.iter().map(Partition::committed).collect();
        for (index, partition) in partitions.iter().enumerate() {
            assert!(partition.is_stable(), "partition {index}: a transaction was left open");
            for transaction in committed[index].keys() {
                assert!(self.transactions.contains_key(transaction), "{transaction} never was");
            }
            check_sequences(index, partition);
        }
        for (transaction, seen) in &self.transactions {
            let found: HashMap<usize, usize> = committed
                .iter()
                .enumerate()
                .filter_map(|(index, of)| Some((index, *of.get(transaction)?)))
                .collect();
            let is_right = match seen.fate {
                Fate::Committed => found == seen.written,
                Fate::Aborted => found.is_empty(),
                Fate::Unknown => found.is_empty() || found == seen.written,
            };
            assert!(is_right, "transaction {transaction}: {seen:?}, a consumer finds {found:?}");
        }
    }
}

/// In each epoch a producer's records count up.
fn check_sequences(index: usize, partition: &Partition) {
    let mut next: HashMap<ProducerIdAndEpoch, i32> = HashMap::new();
    for entry in &partition.log {
        let Entry::Data(write) = entry else { continue };
        let expected = next.entry(write.producer).or_insert(write.sequence);
        assert_eq!(write.sequence, *expected, "partition {index}: {write:?}");
        *expected += 1;
    }
}
