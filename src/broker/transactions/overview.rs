//! Which transactions are open, for metrics.

use std::sync::Arc;

use super::Broker;
use crate::broker::partition::Partition;
use crate::broker::step::BoxFuture;
use crate::coordinator::transactions::{TransactionCommand, TransactionOverview, TransactionReply};
use crate::types::Timestamp;

/// How long a transaction may be silent beyond the longest time that one may take (Kafka's
/// `ProducerStateManager.LATE_TRANSACTION_BUFFER_MS`).
const LATE_BUFFER_MS: i64 = 5 * 60 * 1000;

/// All transactions that are open or on their way to an end, as far as their shards have answered.
#[derive(Debug, Default)]
pub struct OpenTransactions {
    /// In no order.
    pub transactions: Vec<TransactionOverview>,
    /// Shards that answered.
    pub shards_active: usize,
    /// Shards whose log cannot be used.
    pub shards_failed: usize,
}

impl Broker {
    /// Asks every shard that has a log.
    pub fn open_transactions(self: &Arc<Self>) -> BoxFuture<OpenTransactions> {
        let answers = self.transaction_call_each(|| TransactionCommand::Overview);
        Box::pin(async move {
            let mut open = OpenTransactions::default();
            for answer in answers.await {
                if let Ok(TransactionReply::Overview(transactions)) = answer {
                    open.shards_active += 1;
                    open.transactions.extend(transactions);
                } else {
                    open.shards_failed += 1;
                }
            }
            open
        })
    }
    /// Open partitions whose oldest open transaction should have ended long ago, which means that nobody will end it. Costs
    /// those without an open transaction a look at their view.
    pub fn partitions_with_late_transactions(&self) -> usize {
        let longest_ms = i64::from(self.transaction_settings.transaction_max_timeout_ms);
        let late_before = self.env.clock.wall().get() - longest_ms - LATE_BUFFER_MS;
        let partitions = self.partitions.open_partitions();
        let late = |partition: &&Arc<Partition>| is_late(partition, late_before);
        partitions.iter().filter(late).count()
    }
}

/// A producer without a clock, whose records have no time, is never late.
fn is_late(partition: &Partition, late_before: i64) -> bool {
    let has_open = partition.ends().view.first_open.is_some();
    let written = || partition.lock().log.oldest_open_written();
    has_open && written().is_some_and(|at| at > Timestamp::new(0) && at.get() < late_before)
}
