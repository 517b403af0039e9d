//! What the logs of coordinators said at a point in time, as far as other logs depend on it.

use std::collections::BTreeMap;
use std::io;

use super::point::Decision;
use super::stored_log::{Open, StoredLog, each_record};
use crate::coordinator::records::{self, GroupRecord};
use crate::coordinator::transactions::{self, Transaction, TransactionState};
use crate::types::{Offset, ProducerEpoch, ProducerId, ProducerIdAndEpoch, TopicPartition};

/// Committed offsets and transactions.
#[derive(Debug, Default)]
pub(super) struct Coordinators {
    commits: BTreeMap<(String, TopicPartition), Offset>,
    transactions: BTreeMap<String, Transaction>,
}

/// What that comes to for one partition each.
#[derive(Debug, Default)]
pub(super) struct Expectations {
    committed: BTreeMap<TopicPartition, Offset>,
    decided: BTreeMap<TopicPartition, BTreeMap<ProducerId, Decision>>,
    /// Transactions that the coordinator will end at their time-out.
    ongoing: BTreeMap<TopicPartition, BTreeMap<ProducerId, ProducerEpoch>>,
}

impl Coordinators {
    /// Reads a partition of `__consumer_offsets`. Offsets of a transaction count whether it was committed or not: what was read is
    /// there.
    pub fn read_groups(&mut self, log: &StoredLog<'_>) -> io::Result<()> {
        read(log, |key, value| {
            let Ok(Some(GroupRecord::OffsetCommit { group, topic, partition, value })) =
                records::decode(key, value)
            else {
                return;
            };
            let key = (group.as_str().to_owned(), TopicPartition { topic, partition });
            match value {
                Some(commit) => self.commits.insert(key, commit.offset),
                None => self.commits.remove(&key),
            };
        })
    }

    /// Reads a partition of `__transaction_state`.
    pub fn read_transactions(&mut self, log: &StoredLog<'_>) -> io::Result<()> {
        read(log, |key, value| {
            let Ok(Some(record)) = transactions::decode(key, value) else { return };
            let id = record.id.as_str().to_owned();
            match record.value {
                Some((transaction, _)) => self.transactions.insert(id, transaction),
                None => self.transactions.remove(&id),
            };
        })
    }

    pub fn expectations(&self) -> Expectations {
        let mut expected = Expectations::default();
        for ((_, partition), offset) in &self.commits {
            let committed = expected.committed.entry(partition.clone()).or_insert(*offset);
            *committed = (*committed).max(*offset);
        }
        for transaction in self.transactions.values() {
            let is_decided = match transaction.state {
                TransactionState::PrepareCommit | TransactionState::PrepareAbort => true,
                TransactionState::Ongoing | TransactionState::PrepareEpochFence => false,
                TransactionState::Empty
                | TransactionState::CompleteCommit
                | TransactionState::CompleteAbort
                | TransactionState::Dead => continue,
            };
            let ProducerIdAndEpoch { id, epoch } = transaction.producer;
            let decision = Decision { epoch, at: transaction.last_update };
            for partition in transaction.partitions.iter().cloned() {
                if is_decided {
                    expected.decided.entry(partition).or_default().insert(id, decision);
                } else {
                    expected.ongoing.entry(partition).or_default().insert(id, epoch);
                }
            }
        }
        expected
    }
}

impl Expectations {
    /// The records below it were there.
    pub fn committed(&self, partition: &TopicPartition) -> Offset {
        self.committed.get(partition).copied().unwrap_or(Offset::ZERO)
    }

    /// Producers whose records were all there.
    pub fn decided(&self, partition: &TopicPartition) -> Option<&BTreeMap<ProducerId, Decision>> {
        self.decided.get(partition)
    }

    /// Whether the coordinator will end what a producer has open in a partition, as it should end. Behind the marker of a
    /// decided transaction begins one that the coordinator of the point knows nothing of.
    pub fn is_cared_for(&self, partition: &TopicPartition, open: &Open) -> bool {
        let ProducerIdAndEpoch { id, epoch } = open.producer;
        let ongoing = self.ongoing.get(partition).and_then(|producers| producers.get(&id));
        let decided = self.decided.get(partition).and_then(|producers| producers.get(&id));
        ongoing.is_some_and(|known| epoch <= *known)
            || decided.is_some_and(|known| epoch <= known.epoch && open.after < known.at)
    }
}

/// Keys and values of all records that can be read.
fn read(log: &StoredLog<'_>, mut visit: impl FnMut(&[u8], Option<&[u8]>)) -> io::Result<()> {
    log.walk(|_, batch| {
        each_record(batch, &mut visit);
        Ok(())
    })
}
