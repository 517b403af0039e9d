//! What the handlers of the transaction APIs share: the way to the shard of a transactional id and back, and which code says what
//! went wrong.

use std::sync::Arc;

use super::coordinators::{self, Asked};
use crate::broker::Broker;
use crate::coordinator::TransactionalId;
use crate::coordinator::transactions::{
    TransactionCommand, TransactionError, TransactionReply, TransactionState,
};
use crate::kafka::ErrorCode;
use crate::types::{ProducerEpoch, ProducerId, ProducerIdAndEpoch};

/// Which of the newer codes a version of an API knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codes {
    /// PRODUCER_FENCED (KIP-588); older ones are told INVALID_PRODUCER_EPOCH.
    pub fenced: bool,
    /// TRANSACTION_ABORTABLE (KIP-890); older ones are told INVALID_TXN_STATE.
    pub abortable: bool,
}

impl Codes {
    /// Those of `version` of an API that knows PRODUCER_FENCED and TRANSACTION_ABORTABLE from these versions on.
    pub const fn of(version: i16, fenced_from: i16, abortable_from: i16) -> Self {
        Self { fenced: version >= fenced_from, abortable: version >= abortable_from }
    }

    /// The code of a refusal.
    pub const fn code(self, error: TransactionError) -> ErrorCode {
        match error {
            TransactionError::InvalidRequest => ErrorCode::InvalidRequest,
            TransactionError::InvalidTimeout => ErrorCode::InvalidTransactionTimeout,
            TransactionError::InvalidProducerIdMapping => ErrorCode::InvalidProducerIdMapping,
            TransactionError::ProducerFenced if self.fenced => ErrorCode::ProducerFenced,
            TransactionError::ProducerFenced => ErrorCode::InvalidProducerEpoch,
            TransactionError::ConcurrentTransactions => ErrorCode::ConcurrentTransactions,
            TransactionError::InvalidState => ErrorCode::InvalidTxnState,
            TransactionError::Abortable if self.abortable => ErrorCode::TransactionAbortable,
            TransactionError::Abortable => ErrorCode::InvalidTxnState,
            TransactionError::NotFound => ErrorCode::TransactionalIdNotFound,
            TransactionError::NotAvailable => ErrorCode::CoordinatorNotAvailable,
        }
    }
}

/// Sends a command to the shard of `id`. It stands in the shard's queue when this returns, so that the requests of a
/// connection take effect in their order. `verdict` takes out of the reply what the command asked for.
pub fn ask<A: Send + 'static>(
    broker: &Arc<Broker>,
    id: &TransactionalId,
    command: TransactionCommand,
    codes: Codes,
    verdict: fn(TransactionReply) -> Result<A, TransactionError>,
) -> Asked<A> {
    if id.as_str().is_empty() {
        return refused(ErrorCode::InvalidRequest);
    }
    // FindCoordinator makes the topic; whoever has not asked it is sent there, as by Kafka.
    if broker.transaction_shard(id.as_str()).is_none() {
        return refused(ErrorCode::NotCoordinator);
    }
    let reply = broker.transaction_call(id.as_str(), command);
    Box::pin(async move {
        let reply = reply.await.map_err(|error| coordinators::code(&error))?;
        verdict(reply).map_err(|error| codes.code(error))
    })
}

/// An answer that needs no coordinator.
pub fn refused<A: Send + 'static>(code: ErrorCode) -> Asked<A> {
    Box::pin(std::future::ready(Err(code)))
}

/// A reply to another command than the one that was sent: a fault of ours.
pub fn unexpected(reply: &TransactionReply) -> ! {
    unreachable!("a shard answers a command with the reply of its name: {reply:?}")
}

/// A producer as requests name it.
pub const fn producer(id: i64, epoch: i16) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch { id: ProducerId::new(id), epoch: ProducerEpoch::new(epoch) }
}

/// States with their names (Kafka's `TransactionState`).
const STATES: [(TransactionState, &str); 8] = [
    (TransactionState::Empty, "Empty"),
    (TransactionState::Ongoing, "Ongoing"),
    (TransactionState::PrepareCommit, "PrepareCommit"),
    (TransactionState::PrepareAbort, "PrepareAbort"),
    (TransactionState::CompleteCommit, "CompleteCommit"),
    (TransactionState::CompleteAbort, "CompleteAbort"),
    (TransactionState::Dead, "Dead"),
    (TransactionState::PrepareEpochFence, "PrepareEpochFence"),
];

/// Name of a state.
pub fn state_name(state: TransactionState) -> &'static str {
    let named = STATES.iter().find(|(known, _)| *known == state);
    named.map(|(_, name)| *name).expect("every state has a name")
}

/// State of this name, which counts with its case.
pub fn state_of(name: &str) -> Option<TransactionState> {
    STATES.iter().find(|(_, known)| *known == name).map(|(state, _)| *state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_versions_are_told_the_codes_that_they_know() {
        let (old, new) = (Codes::of(1, 2, 4), Codes::of(4, 2, 4));
        let code = |codes: Codes, error| codes.code(error);
        assert_eq!(code(old, TransactionError::ProducerFenced), ErrorCode::InvalidProducerEpoch);
        assert_eq!(code(new, TransactionError::ProducerFenced), ErrorCode::ProducerFenced);
        assert_eq!(code(old, TransactionError::Abortable), ErrorCode::InvalidTxnState);
        assert_eq!(code(new, TransactionError::Abortable), ErrorCode::TransactionAbortable);
    }

    #[test]
    fn names_of_states_come_back() {
        for (state, name) in STATES {
            assert_eq!((state_name(state), state_of(name)), (name, Some(state)));
        }
        assert_eq!(state_of("ongoing"), None);
    }
}
