//! The log of a stepped shard: it refuses what a partition's log refuses, and can be cleaned as by the cleaner.

use std::collections::{BTreeMap, HashMap};

use super::super::groups::Groups;
use super::super::machine::{Entry, KeyValue, LogProducer, Machine, Outcome, Write};
use super::super::records::GroupRecord;
use super::super::stepped::Log;
use crate::types::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, TransactionVersion};

/// Everything that was written, but for what was cleaned away.
#[derive(Clone, Debug, Default)]
pub(in crate::coordinator) struct StepLog {
    entries: Vec<Write<KeyValue>>,
    producers: BTreeMap<ProducerId, LogProducer>,
}

impl StepLog {
    /// A log of records outside transactions.
    pub(in crate::coordinator) fn of(records: Vec<KeyValue>) -> Self {
        let entries = records.into_iter().map(Write::Record).collect();
        Self { entries, producers: BTreeMap::new() }
    }

    /// Number of records and markers.
    pub(in crate::coordinator) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(in crate::coordinator) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Everything in it.
    pub(in crate::coordinator) fn entries(&self) -> &[Write<KeyValue>] {
        &self.entries
    }

    /// Its records, whether in a transaction or not.
    pub(in crate::coordinator) fn records(&self) -> Vec<KeyValue> {
        self.entries.iter().filter_map(record_of).cloned().collect()
    }

    /// Appends a record outside any transaction.
    pub(in crate::coordinator) fn push(&mut self, record: KeyValue) {
        self.entries.push(Write::Record(record));
    }

    fn admit(&mut self, producer: ProducerIdAndEpoch) {
        let known = self.known(producer);
        assert!(producer.epoch >= known.producer.epoch, "{producer} is fenced by {known:?}");
        known.producer = producer;
        known.in_transaction = true;
    }

    fn admit_marker(&mut self, marker: &crate::types::Marker) {
        let known = self.known(marker.producer);
        let (epoch, last) = (marker.producer.epoch, known.producer.epoch);
        let ends_another =
            marker.version == TransactionVersion::V2 && epoch == last && known.in_transaction;
        assert!(epoch >= last && !ends_another, "{marker:?} after {known:?}");
        assert!(marker.coordinator_epoch >= known.coordinator_epoch, "{marker:?} after {known:?}");
        *known = LogProducer {
            producer: marker.producer,
            coordinator_epoch: marker.coordinator_epoch,
            in_transaction: false,
        };
    }

    fn known(&mut self, producer: ProducerIdAndEpoch) -> &mut LogProducer {
        self.producers.entry(producer.id).or_insert(LogProducer {
            producer: ProducerIdAndEpoch { id: producer.id, epoch: ProducerEpoch::NONE },
            coordinator_epoch: -1,
            in_transaction: false,
        })
    }

    /// The newest value of each key, tombstones left out: what compaction would leave once every transaction has ended.
    pub(in crate::coordinator) fn compacted(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let outcomes = self.outcomes();
        let mut newest = BTreeMap::new();
        for (entry, outcome) in self.entries.iter().zip(outcomes) {
            let Some(KeyValue { key, value }) = record_of(entry) else { continue };
            match (outcome, value) {
                (Some(Outcome::Commit), Some(value)) => newest.insert(key.clone(), value.clone()),
                (Some(Outcome::Commit), None) => newest.remove(key),
                _ => continue,
            };
        }
        newest
    }

    /// Leaves the newest entry of each key, tombstones excepted, below the first transaction that is open: what the cleaner
    /// makes of a log in the end. Producers are remembered.
    pub(in crate::coordinator) fn clean(&mut self) {
        let outcomes = self.outcomes();
        let unstable = outcomes.iter().position(Option::is_none).unwrap_or(outcomes.len());
        let mut newest = HashMap::new();
        for (at, entry) in self.entries[..unstable].iter().enumerate() {
            if let (Some(record), Some(Outcome::Commit)) = (record_of(entry), outcomes[at]) {
                newest.insert(record.key.clone(), at);
            }
        }
        let is_kept = |at: usize, entry: &Write<KeyValue>| {
            at >= unstable
                || record_of(entry).is_none_or(|record| {
                    record.value.is_some() && newest.get(&record.key) == Some(&at)
                })
        };
        let entries = std::mem::take(&mut self.entries).into_iter().enumerate();
        self.entries =
            entries.filter(|(at, entry)| is_kept(*at, entry)).map(|(_, entry)| entry).collect();
    }

    /// What has become of each entry; `None` while its transaction is open.
    fn outcomes(&self) -> Vec<Option<Outcome>> {
        let mut ends = HashMap::new();
        let mut outcomes: Vec<_> = self
            .entries
            .iter()
            .rev()
            .map(|entry| match entry {
                Write::Record(_) => Some(Outcome::Commit),
                Write::Pending(producer, _) => ends.get(&producer.id).copied(),
                Write::Marker(marker) => {
                    ends.insert(marker.producer.id, marker.outcome);
                    Some(marker.outcome)
                }
            })
            .collect();
        outcomes.reverse();
        outcomes
    }
}

impl Log<Groups> for StepLog {
    fn append(&mut self, write: &Write<GroupRecord>) {
        let entry = match write {
            Write::Record(record) => Write::Record(Groups::encode(record)),
            Write::Pending(producer, record) => {
                self.admit(*producer);
                Write::Pending(*producer, Groups::encode(record))
            }
            Write::Marker(marker) => {
                self.admit_marker(marker);
                Write::Marker(*marker)
            }
        };
        self.entries.push(entry);
    }

    fn read(&self, mut each: impl FnMut(&Entry<GroupRecord>)) {
        let decode = |KeyValue { key, value }: &KeyValue| {
            let record = Groups::decode(key, value.as_deref()).expect("our own bytes");
            record.expect("a known type")
        };
        for entry in &self.entries {
            each(&match entry {
                Write::Record(record) => Entry::Record(decode(record)),
                Write::Pending(producer, record) => {
                    Entry::Pending { producer: producer.id, record: decode(record) }
                }
                Write::Marker(marker) => {
                    Entry::Ended { producer: marker.producer.id, outcome: marker.outcome }
                }
            });
        }
    }

    fn producers(&self) -> Vec<LogProducer> {
        self.producers.values().copied().collect()
    }
}

fn record_of(entry: &Write<KeyValue>) -> Option<&KeyValue> {
    match entry {
        Write::Record(record) | Write::Pending(_, record) => Some(record),
        Write::Marker(_) => None,
    }
}
