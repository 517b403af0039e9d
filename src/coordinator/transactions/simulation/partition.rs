//! A partition as far as transactions need one: what `log` and `broker` do, in few words and without their code.

use std::collections::HashMap;

use super::super::stepper::producer;
use crate::types::{Outcome, ProducerId, ProducerIdAndEpoch, TransactionVersion};

/// One record that a producer wants to have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) producer: ProducerIdAndEpoch,
    pub(super) sequence: i32,
    /// The transaction as its program counts it; no partition knows that.
    pub(super) transaction: u64,
}

/// What is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Data(Write),
    Marker(ProducerIdAndEpoch, Outcome),
}

/// What a partition says to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Appended,
    /// It is there already.
    Duplicate,
    /// Its transaction is not open here: the coordinator must be asked, and this be shown.
    Join(u64),
    /// An older epoch.
    Fenced,
    /// Something is missing before it.
    OutOfOrder,
}

#[derive(Debug, Default)]
pub(super) struct Partition {
    pub(super) log: Vec<Entry>,
    /// What a crash cannot take away.
    pub(super) synced: usize,
    producers: HashMap<ProducerId, Known>,
    next_guard: u64,
}

#[derive(Debug)]
struct Known {
    epoch: i16,
    /// `None` after a marker or in a new epoch.
    sequence: Option<i32>,
    is_open: bool,
    guard: Option<u64>,
}

impl Partition {
    /// Appends if nothing speaks against it. `guard` is what was given out with [`Verdict::Join`].
    pub(super) fn append(&mut self, write: Write, guard: Option<u64>) -> Verdict {
        let next_guard = &mut self.next_guard;
        let ProducerIdAndEpoch { id, epoch } = write.producer;
        let known = self.producers.entry(id).or_insert(Known {
            epoch: -1,
            sequence: None,
            is_open: false,
            guard: None,
        });
        if epoch.get() < known.epoch {
            return Verdict::Fenced;
        }
        let is_same_epoch = epoch.get() == known.epoch;
        let last = known.sequence.filter(|_| is_same_epoch);
        match last {
            Some(last) if write.sequence == last => return Verdict::Duplicate,
            Some(last) if write.sequence != last + 1 => return Verdict::OutOfOrder,
            None if !is_same_epoch && known.epoch >= 0 && write.sequence != 0 => {
                return Verdict::OutOfOrder;
            }
            _ => {}
        }
        if !(known.is_open && is_same_epoch) {
            let wanted = *known.guard.get_or_insert_with(|| {
                *next_guard += 1;
                *next_guard
            });
            if guard != Some(wanted) {
                return Verdict::Join(wanted);
            }
        }
        self.take(Entry::Data(write));
        Verdict::Appended
    }

    /// Ends a transaction; false if somebody newer was here.
    pub(super) fn mark(
        &mut self,
        producer: ProducerIdAndEpoch,
        outcome: Outcome,
        version: TransactionVersion,
    ) -> bool {
        let epoch = producer.epoch.get();
        let known = self.producers.get(&producer.id);
        let taken = known.is_none_or(|known| match version {
            TransactionVersion::V1 => epoch >= known.epoch,
            TransactionVersion::V2 => {
                epoch > known.epoch || epoch == known.epoch && (!known.is_open || epoch == i16::MAX)
            }
        });
        if taken {
            self.take(Entry::Marker(producer, outcome));
        }
        taken
    }

    /// The process dies: what was not synced may be lost. Guards are.
    pub(super) fn crash(&mut self, survivors: usize) {
        let log: Vec<_> = self.log.drain(..self.synced + survivors).collect();
        self.log.clear();
        self.producers.clear();
        log.into_iter().for_each(|entry| self.take(entry));
        self.synced = self.log.len();
        self.next_guard += 1_000_000;
    }

    /// True if no transaction is open.
    pub(super) fn is_stable(&self) -> bool {
        self.producers.values().all(|known| !known.is_open)
    }

    /// The transactions that a read_committed consumer finds, each with the number of its records.
    pub(super) fn committed(&self) -> HashMap<u64, usize> {
        let mut open: HashMap<ProducerId, Vec<u64>> = HashMap::new();
        let mut committed = HashMap::new();
        for entry in &self.log {
            match entry {
                Entry::Data(write) => {
                    open.entry(write.producer.id).or_default().push(write.transaction);
                }
                Entry::Marker(producer, outcome) => {
                    let ended = open.remove(&producer.id).unwrap_or_default();
                    if *outcome == Outcome::Commit {
                        ended.into_iter().for_each(|it| *committed.entry(it).or_default() += 1);
                    }
                }
            }
        }
        committed
    }

    fn take(&mut self, entry: Entry) {
        self.log.push(entry);
        let (producer, sequence) = match entry {
            Entry::Data(write) => (write.producer, Some(write.sequence)),
            Entry::Marker(producer, _) => (producer, None),
        };
        let epoch = producer.epoch.get();
        let known = self.producers.entry(producer.id).or_insert(Known {
            epoch,
            sequence: None,
            is_open: false,
            guard: None,
        });
        // A marker of the same epoch leaves the sequences as they are.
        if sequence.is_some() || known.epoch != epoch {
            known.sequence = sequence;
        }
        (known.epoch, known.is_open, known.guard) = (epoch, sequence.is_some(), None);
    }
}

#[test]
fn the_model_of_a_partition_fences_and_asks() {
    let mut partition = Partition::default();
    let write = |epoch, sequence| Write { producer: producer(1, epoch), sequence, transaction: 1 };
    let Verdict::Join(guard) = partition.append(write(0, 0), None) else { panic!("asks first") };
    assert_eq!(partition.append(write(0, 0), Some(guard)), Verdict::Appended);
    assert_eq!(partition.append(write(0, 0), None), Verdict::Duplicate);
    assert_eq!(partition.append(write(0, 2), None), Verdict::OutOfOrder);
    assert!(!partition.is_stable());
    let marker = producer(1, 1);
    assert!(!partition.mark(producer(1, 0), Outcome::Commit, TransactionVersion::V2));
    assert!(partition.mark(marker, Outcome::Commit, TransactionVersion::V2));
    assert!(partition.mark(marker, Outcome::Commit, TransactionVersion::V2), "again");
    assert_eq!(partition.append(write(0, 1), Some(guard)), Verdict::Fenced);
    assert!(partition.is_stable() && partition.committed() == HashMap::from([(1, 1)]));
}
