//! Which transactions are open, for metrics.

use std::sync::Arc;

use super::Broker;
use crate::broker::step::BoxFuture;
use crate::coordinator::transactions::{TransactionCommand, TransactionOverview, TransactionReply};

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
}
