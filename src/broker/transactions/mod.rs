//! Transactions: which shard a transactional id belongs to, the way there, and what partitions ask of it.

mod admin;
mod errands;
mod joining;
mod markers;
mod overview;

use std::sync::Arc;

pub use admin::{DescribeProducersError, WriteMarker};
pub(super) use errands::Errands;
pub use markers::MarkError;
pub use overview::OpenTransactions;

use super::Broker;
use super::coordinator_shards::{Coordinated, CoordinatorError, CoordinatorParts};
use super::producer_ids::ProducerIds;
use super::step::{BoxFuture, Step};
use crate::coordinator::runtime::Coordinator;
pub use crate::coordinator::transactions::TRANSACTION_VERSION;
use crate::coordinator::transactions::{
    Partitions, ProducerIdSource, TransactionCommand, TransactionError, TransactionReply,
    TransactionSettings, Transactions,
};
use crate::observe::CoordinatorOf;
use crate::types::PartitionIndex;

/// Where transactional ids and their transactions are kept (Kafka's `Topic.TRANSACTION_STATE_TOPIC_NAME`).
pub const TRANSACTION_STATE: &str = "__transaction_state";

impl Coordinated for Transactions {
    const TOPIC: &'static str = TRANSACTION_STATE;

    fn coordinator(broker: &Broker) -> &Arc<Coordinator<Self>> {
        &broker.transactions
    }
}

/// The coordinator of all transactions.
pub(super) fn start(
    parts: CoordinatorParts,
    settings: Arc<TransactionSettings>,
    producer_ids: Arc<ProducerIds>,
) -> Arc<Coordinator<Transactions>> {
    let metrics = Arc::clone(&parts.metrics);
    parts.start(
        CoordinatorOf::Transactions,
        move || {
            let ids = Arc::clone(&producer_ids) as Arc<dyn ProducerIdSource>;
            Transactions::new(Arc::clone(&settings), ids, Arc::clone(&metrics))
        },
        Broker::run_transaction_errand,
    )
}

impl Broker {
    /// Makes sure that transactions have a place: creates `__transaction_state` when it is first needed.
    pub fn ensure_transaction_topic(self: &Arc<Self>) -> Step<Result<(), CoordinatorError>> {
        self.ensure_topic_of::<Transactions>()
    }

    /// Sends a command to the shard of a transactional id. It is queued, behind those that came earlier, before this returns,
    /// unless the very first one must create `__transaction_state`.
    pub fn transaction_call(
        self: &Arc<Self>,
        id: &str,
        command: TransactionCommand,
    ) -> BoxFuture<Result<TransactionReply, CoordinatorError>> {
        self.call_shard_of::<Transactions>(id, command)
    }

    /// Sends a command to every shard that has a log; the answers in order of the shards.
    pub fn transaction_call_each(
        &self,
        command: impl Fn() -> TransactionCommand,
    ) -> BoxFuture<Vec<Result<TransactionReply, CoordinatorError>>> {
        self.call_each_shard_of::<Transactions>(command)
    }

    /// About how much memory the shard of a transactional id takes, and so what is known of the id at most.
    pub fn transaction_state_bytes(&self, id: &str) -> usize {
        self.state_bytes_of::<Transactions>(id)
    }

    /// The partition of `__transaction_state` that keeps a transactional id; `None` before the topic exists.
    pub fn transaction_shard(&self, id: &str) -> Option<PartitionIndex> {
        self.shard_of::<Transactions>(id)
    }

    /// Makes partitions part of a producer's open transaction (version 2) or makes sure that they are (version 1): what has to
    /// be done before something of the transaction is first written to them.
    pub fn join_transaction(
        self: &Arc<Self>,
        asked: Partitions,
    ) -> BoxFuture<Result<(), TransactionError>> {
        let verdicts = self.join_partitions(asked);
        Box::pin(async move { verdicts.await.into_iter().collect() })
    }

    /// Sends everyone away who waits for a transaction; what comes from now on hears that this is not its coordinator.
    pub fn stop_transactions(&self) {
        self.transactions.close();
    }
}
