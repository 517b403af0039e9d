//! What the records of a shard add up to: the newest of each transactional id.

use std::collections::HashMap;

use super::{Transaction, TransactionRecord};
use crate::coordinator::TransactionalId;
use crate::coordinator::machine::Entry;
use crate::types::TopicPartition;

/// Bytes that a transactional id takes about: its entry, its timer, its text with two counters.
const ID_BYTES: usize = size_of::<TransactionalId>() * 2 + size_of::<Transaction>() + 96;

/// Bytes that a partition takes about: twice while markers are being written, and a name that only it may hold.
const PARTITION_BYTES: usize = size_of::<TopicPartition>() * 2 + 48;

/// What the records of a shard add up to.
#[derive(Debug, Default)]
pub struct TransactionsHard {
    transactions: HashMap<TransactionalId, Transaction>,
    bytes: usize,
}

impl TransactionsHard {
    /// What is known of a transactional id.
    pub fn get(&self, id: &str) -> Option<&Transaction> {
        self.transactions.get(id)
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&TransactionalId, &Transaction)> {
        self.transactions.iter()
    }

    /// About how many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes over what a record says.
    pub(super) fn apply(&mut self, entry: &Entry<TransactionRecord>) {
        // Nobody writes to this topic in transactions: neither Kafka nor this broker.
        let Entry::Record(TransactionRecord { id, value }) = entry else { return };
        let before = match value {
            Some((transaction, _)) => {
                self.bytes += bytes_of(id, transaction);
                self.transactions.insert(id.clone(), transaction.clone())
            }
            None => self.transactions.remove(id),
        };
        self.bytes -= before.map_or(0, |before| bytes_of(id, &before));
    }
}

fn bytes_of(id: &TransactionalId, transaction: &Transaction) -> usize {
    ID_BYTES + id.as_str().len() + transaction.partitions.len() * PARTITION_BYTES
}
