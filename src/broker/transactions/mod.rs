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
use super::coordinator_shards::{CoordinatorParts, shard_of, shards_on_disk};
use super::producer_ids::ProducerIds;
use super::step::{BoxFuture, Step, off_thread};
use super::topics::CreateTopicError;
use crate::coordinator::runtime::{CallError, Coordinator};
pub use crate::coordinator::transactions::TRANSACTION_VERSION;
use crate::coordinator::transactions::{
    Partitions, ProducerIdSource, TransactionCommand, TransactionError, TransactionReply,
    TransactionSettings, Transactions,
};
use crate::observe::CoordinatorOf;
use crate::types::PartitionIndex;

/// Where transactional ids and their transactions are kept (Kafka's `Topic.TRANSACTION_STATE_TOPIC_NAME`).
pub const TRANSACTION_STATE: &str = "__transaction_state";

/// Why a transactional id cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum TransactionCallError {
    /// `__transaction_state` could not be made.
    #[error("{TRANSACTION_STATE} cannot be created: {0}")]
    NoTopic(CreateTopicError),
    /// The shard did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
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
        TRANSACTION_STATE,
        move || {
            let ids = Arc::clone(&producer_ids) as Arc<dyn ProducerIdSource>;
            Transactions::new(Arc::clone(&settings), ids, Arc::clone(&metrics))
        },
        Broker::run_transaction_errand,
    )
}

impl Broker {
    /// Makes sure that transactions have a place: creates `__transaction_state` when it is first needed.
    pub fn ensure_transaction_topic(self: &Arc<Self>) -> Step<Result<(), TransactionCallError>> {
        if self.metadata.image().topic(TRANSACTION_STATE).is_some() {
            return Step::Now(Ok(()));
        }
        let broker = Arc::clone(self);
        Step::later(off_thread(move || {
            broker.create_internal_topic(TRANSACTION_STATE).map_err(TransactionCallError::NoTopic)
        }))
    }

    /// Sends a command to the shard of a transactional id. It is queued, behind those that came earlier, before this returns,
    /// unless the very first one must create `__transaction_state`.
    pub fn transaction_call(
        self: &Arc<Self>,
        id: &str,
        command: TransactionCommand,
    ) -> BoxFuture<Result<TransactionReply, TransactionCallError>> {
        if let Some(shard) = self.transaction_shard(id) {
            let answer = self.transactions.call(shard, command);
            return Box::pin(async move { Ok(answer.await?) });
        }
        let (broker, id) = (Arc::clone(self), id.to_owned());
        Box::pin(async move {
            broker.ensure_transaction_topic().finish().await?;
            let shard = broker.transaction_shard(&id).ok_or(CallError::NotAvailable)?;
            Ok(broker.transactions.call(shard, command).await?)
        })
    }

    /// Sends a command to every shard that has a log; the answers in order of the shards.
    pub fn transaction_call_each(
        self: &Arc<Self>,
        command: impl Fn() -> TransactionCommand,
    ) -> BoxFuture<Vec<Result<TransactionReply, TransactionCallError>>> {
        let image = self.metadata.image();
        let shards = shards_on_disk(&image, &self.partitions, TRANSACTION_STATE);
        let answers: Vec<_> =
            shards.into_iter().map(|shard| self.transactions.call(shard, command())).collect();
        Box::pin(async move {
            let mut replies = Vec::with_capacity(answers.len());
            for answer in answers {
                replies.push(answer.await.map_err(TransactionCallError::from));
            }
            replies
        })
    }

    /// The partition of `__transaction_state` that keeps a transactional id; `None` before the topic exists.
    pub fn transaction_shard(&self, id: &str) -> Option<PartitionIndex> {
        shard_of(&self.metadata.image(), TRANSACTION_STATE, id)
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
