//! Why the coordinator of transactions refuses.

/// One variant for each Kafka error code that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransactionError {
    /// INVALID_REQUEST.
    #[error("the request contradicts itself")]
    InvalidRequest,
    /// INVALID_TRANSACTION_TIMEOUT.
    #[error("the transaction timeout is not above 0 or above transaction.max.timeout.ms")]
    InvalidTimeout,
    /// INVALID_PRODUCER_ID_MAPPING.
    #[error("the transactional id has another producer id, or none")]
    InvalidProducerIdMapping,
    /// PRODUCER_FENCED; INVALID_PRODUCER_EPOCH for the older versions of each API.
    #[error("a newer producer has the transactional id")]
    ProducerFenced,
    /// CONCURRENT_TRANSACTIONS.
    #[error("the transaction before has not ended yet")]
    ConcurrentTransactions,
    /// INVALID_TXN_STATE.
    #[error("the transaction is in no state for this")]
    InvalidState,
    /// TRANSACTION_ABORTABLE (KIP-890); INVALID_TXN_STATE for versions that do not know it.
    #[error("the partition is not part of the transaction, which can only be aborted")]
    Abortable,
    /// TRANSACTIONAL_ID_NOT_FOUND.
    #[error("there is no such transactional id")]
    NotFound,
    /// COORDINATOR_NOT_AVAILABLE.
    #[error("the coordinator cannot answer at the moment")]
    NotAvailable,
}
