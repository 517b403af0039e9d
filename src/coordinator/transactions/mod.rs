//! The state machine of a shard of `__transaction_state`: which producer a transactional id has, and its transaction
//! (Kafka's `TransactionCoordinator` and `TransactionStateManager`; KIP-98, KIP-360, KIP-890).
//!
//! The version of a transaction is chosen by its requests, never by the cluster. What is prepared is certain to end: the
//! markers are an errand, sent out again when the shard is read.

mod commands;
mod error;
mod settings;

use std::fmt::Debug;
use std::sync::Arc;

pub use commands::{
    End, InitProducer, ListFilter, Partitions, TransactionCommand, TransactionDescription,
    TransactionErrand, TransactionListing, TransactionOverview, TransactionReply, WriteMarkers,
};
pub use error::TransactionError;
pub use settings::TransactionSettings;

use super::TransactionalId;
use super::machine::{Entry, InvalidRecord, KeyValue, Machine, Token, Turn};
use crate::observe::Metrics;
use crate::types::ProducerId;

/// A turn on a shard of transactions.
pub type TransactionTurn<'a> = Turn<'a, Transactions>;

/// Where new producer ids come from.
pub trait ProducerIdSource: Debug + Send + Sync + 'static {
    /// An id that nobody had before; `None` while none is at hand, and has one fetched. Never blocks.
    fn try_next(&self) -> Option<ProducerId>;
}

/// Where a transaction stands (Kafka's `TransactionState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named as in Kafka")]
pub enum TransactionState {
    Empty,
    Ongoing,
    PrepareCommit,
    PrepareAbort,
    CompleteCommit,
    CompleteAbort,
    Dead,
    PrepareEpochFence,
}

/// Soft state of a shard, and its settings.
#[derive(Debug)]
pub struct Transactions {
    /// The broker's settings.
    pub settings: Arc<TransactionSettings>,
    /// For producers that are new or have used up their epochs.
    pub producer_ids: Arc<dyn ProducerIdSource>,
    /// Where what becomes of transactions is counted.
    pub metrics: Arc<Metrics>,
}

/// What the records of a shard add up to.
#[derive(Debug, Default)]
pub struct TransactionsHard {}

/// A record of `__transaction_state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRecord {}

/// Timers of a shard of transactions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TransactionTimer {
    /// An open transaction has taken too long.
    Timeout(TransactionalId),
}

impl Machine for Transactions {
    type Command = TransactionCommand;
    type Reply = TransactionReply;
    type Record = TransactionRecord;
    type Hard = TransactionsHard;
    type Timer = TransactionTimer;
    type Errand = TransactionErrand;

    fn decide(
        &mut self,
        turn: &mut TransactionTurn<'_>,
        command: TransactionCommand,
        token: Token,
    ) {
        use TransactionCommand as Ask;
        use TransactionReply as Reply;
        let missing = TransactionError::NotAvailable;
        turn.answer(
            token,
            match command {
                Ask::InitProducer(_) => Reply::InitProducer(Err(missing)),
                Ask::AddPartitions(_) => Reply::AddPartitions(Err(missing)),
                Ask::VerifyPartitions(asked) => {
                    Reply::VerifyPartitions(asked.partitions.iter().map(|_| Err(missing)).collect())
                }
                Ask::End(_) => Reply::End(Err(missing)),
                Ask::MarkersWritten { .. } => Reply::MarkersWritten,
                Ask::Describe(_) => Reply::Describe(Err(missing)),
                Ask::List(_) => Reply::List(Vec::new()),
                Ask::Overview => Reply::Overview(Vec::new()),
            },
        );
    }

    fn expired(&mut self, _turn: &mut TransactionTurn<'_>, _timer: TransactionTimer) {}

    fn loaded(&mut self, _turn: &mut TransactionTurn<'_>) {}

    fn image_changed(&mut self, _turn: &mut TransactionTurn<'_>) {}

    fn apply(_hard: &mut TransactionsHard, _entry: &Entry<TransactionRecord>) {}

    fn encode(_record: &TransactionRecord) -> KeyValue {
        KeyValue { key: Vec::new(), value: None }
    }

    fn decode(
        _key: &[u8],
        _value: Option<&[u8]>,
    ) -> Result<Option<TransactionRecord>, InvalidRecord> {
        Ok(None)
    }
}
