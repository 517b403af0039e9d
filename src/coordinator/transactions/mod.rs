//! The state machine of a shard of `__transaction_state`: which producer a transactional id has, and its transaction
//! (Kafka's `TransactionCoordinator` and `TransactionStateManager`; KIP-98, KIP-360, KIP-890).
//!
//! The version of a transaction is chosen by its requests, never by the cluster, but for what the coordinator ends by itself.
//! What is prepared is certain to end: the markers are an errand, sent out again when the shard is read.
//!
//! This module sends a command to the part that it is for. `transaction` holds the changes from state to state, `init`,
//! `partitions` and `end` decide which of them a request leads to, `ending` brings what is prepared to its end, `waiting`
//! keeps those that can be answered only then, `expiry` ends what has taken too long and forgets what is not used.

mod commands;
mod describe;
mod end;
mod ending;
mod error;
mod expiry;
mod hard;
mod init;
mod partitions;
mod record;
mod settings;
#[cfg(test)]
mod simulation;
mod state;
#[cfg(test)]
mod stepper;
#[cfg(test)]
mod tests;
mod transaction;
mod waiting;

use std::fmt::Debug;
use std::sync::Arc;

pub use commands::{
    End, InitProducer, ListFilter, Partitions, TransactionCommand, TransactionDescription,
    TransactionErrand, TransactionListing, TransactionOverview, TransactionReply, WriteMarkers,
};
pub use error::TransactionError;
pub use hard::TransactionsHard;
pub use record::{TRANSACTION_VERSION, TransactionRecord, ValueFormat, decode, encode};
pub use settings::TransactionSettings;
pub use state::TransactionState;
pub use transaction::Transaction;

use self::ending::Endings;
use self::expiry::ExpiryRound;
use self::waiting::{Asked, Waiting};
use super::TransactionalId;
use super::machine::{Entry, InvalidRecord, KeyValue, Machine, Token, Turn};
use crate::observe::Metrics;
use crate::types::{ProducerId, TransactionVersion};

/// A turn on a shard of transactions.
pub type TransactionTurn<'a> = Turn<'a, Transactions>;

/// Partitions that a transaction may gain before that counts as growth, see [`Machine::grows`].
const FEW_PARTITIONS: usize = 64;

/// Where new producer ids come from.
pub trait ProducerIdSource: Debug + Send + Sync + 'static {
    /// An id that nobody had before; `None` while none is at hand, and has one fetched. Never blocks.
    fn try_next(&self) -> Option<ProducerId>;
}

/// Soft state of a shard, and its settings.
#[derive(Debug)]
pub struct Transactions {
    /// The broker's settings.
    settings: Arc<TransactionSettings>,
    /// For producers that are new or have used up their epochs.
    producer_ids: Arc<dyn ProducerIdSource>,
    /// Where what becomes of transactions is counted.
    metrics: Arc<Metrics>,
    /// Where markers are still being written.
    endings: Endings,
    /// Who waits for that.
    waiting: Waiting,
    /// How far the look for transactional ids that have expired has come.
    expiry: ExpiryRound,
}

/// Timers of a shard of transactions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TransactionTimer {
    /// An open transaction has taken too long.
    Timeout(TransactionalId),
    /// Someone has waited long enough for a transaction to end.
    Waiting(TransactionalId),
    /// The next look for transactional ids that have expired.
    Expiry,
}

impl Transactions {
    /// A shard that knows nothing yet.
    pub fn new(
        settings: Arc<TransactionSettings>,
        producer_ids: Arc<dyn ProducerIdSource>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            settings,
            producer_ids,
            metrics,
            endings: Endings::default(),
            waiting: Waiting::default(),
            expiry: ExpiryRound::default(),
        }
    }

    fn new_producer_id(&self) -> Result<ProducerId, TransactionError> {
        self.producer_ids.try_next().ok_or(TransactionError::NotAvailable)
    }

    /// Answers, or keeps who asked until a transaction has ended.
    fn carry_out(&mut self, turn: &mut TransactionTurn<'_>, asked: Asked) {
        use TransactionCommand as Ask;
        use TransactionReply as Reply;
        let verdict = match &asked.command {
            Ask::InitProducer(ask) => init::init(self, turn, ask).answered(Reply::InitProducer),
            Ask::AddPartitions(ask) => partitions::add(turn, ask).answered(Reply::AddPartitions),
            Ask::VerifyPartitions(ask) => {
                Some(Reply::VerifyPartitions(partitions::verify(turn.hard(), ask)))
            }
            Ask::End(ask) => end::end(self, turn, ask).answered(Reply::End),
            Ask::MarkersWritten { id, errand, partitions } => {
                ending::markers_written(self, turn, id, *errand, partitions);
                Some(Reply::MarkersWritten)
            }
            Ask::Describe(id) => Some(Reply::Describe(describe::describe(self, turn.hard(), id))),
            Ask::List(filter) => Some(Reply::List(describe::list(turn, filter))),
            Ask::Overview => Some(Reply::Overview(describe::overview(turn.hard()))),
        };
        match verdict {
            Some(reply) => turn.answer(asked.token, reply),
            None => waiting::wait(self, turn, asked),
        }
    }
}

/// Why a command is not carried out now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// It never will be.
    Final(TransactionError),
    /// It can be decided once the transaction that is being ended has ended.
    UntilEnded,
}

impl From<TransactionError> for Refusal {
    fn from(error: TransactionError) -> Self {
        Self::Final(error)
    }
}

/// What deciding a command has come to.
trait Decided<T> {
    /// The reply; `None` if it must wait.
    fn answered(
        self,
        reply: impl FnOnce(Result<T, TransactionError>) -> TransactionReply,
    ) -> Option<TransactionReply>;
}

impl<T> Decided<T> for Result<T, Refusal> {
    fn answered(
        self,
        reply: impl FnOnce(Result<T, TransactionError>) -> TransactionReply,
    ) -> Option<TransactionReply> {
        match self {
            Ok(done) => Some(reply(Ok(done))),
            Err(Refusal::Final(error)) => Some(reply(Err(error))),
            Err(Refusal::UntilEnded) => None,
        }
    }
}

/// Writes down what a transactional id is from now on.
fn write(turn: &mut TransactionTurn<'_>, id: &TransactionalId, transaction: Transaction) {
    if let Some(before) = turn.hard().get(id.as_str()) {
        let (state, before) = (transaction.state, before.state);
        assert!(state.may_follow(before), "{id:?} does not go from {before:?} to {state:?}");
    }
    let format = ValueFormat::of(turn.image, transaction.version);
    turn.write(TransactionRecord { id: id.clone(), value: Some((transaction, format)) });
}

/// The rules of what the coordinator ends by itself (Kafka: those of the cluster).
fn own_version(turn: &TransactionTurn<'_>) -> TransactionVersion {
    match turn.image.features.get(TRANSACTION_VERSION) {
        Some(2..) => TransactionVersion::V2,
        _ => TransactionVersion::V1,
    }
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
        self.carry_out(turn, Asked { command, token, until: None });
    }

    fn expired(&mut self, turn: &mut TransactionTurn<'_>, timer: TransactionTimer) {
        match timer {
            TransactionTimer::Timeout(id) => expiry::timed_out(self, turn, &id),
            TransactionTimer::Waiting(id) => waiting::waited_enough(self, turn, id),
            TransactionTimer::Expiry => expiry::expire(self, turn),
        }
    }

    fn loaded(&mut self, turn: &mut TransactionTurn<'_>) {
        ending::loaded(self, turn);
        expiry::loaded(self, turn);
    }

    /// What was deleted is found out by those who write markers.
    fn image_changed(&mut self, _turn: &mut TransactionTurn<'_>) {}

    fn apply(hard: &mut TransactionsHard, entry: &Entry<TransactionRecord>) {
        hard.apply(entry);
    }

    fn encode(record: &TransactionRecord) -> KeyValue {
        encode(record)
    }

    fn decode(
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<Option<TransactionRecord>, InvalidRecord> {
        decode(key, value)
    }

    fn state_bytes(&self, hard: &TransactionsHard) -> usize {
        hard.bytes()
    }

    fn grows(&self, hard: &TransactionsHard, command: &TransactionCommand) -> bool {
        match command {
            TransactionCommand::InitProducer(ask) => hard.get(ask.id.as_str()).is_none(),
            TransactionCommand::AddPartitions(ask) => ask.partitions.len() > FEW_PARTITIONS,
            _ => false,
        }
    }
}
