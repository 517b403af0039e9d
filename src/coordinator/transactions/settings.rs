//! Settings of transactions (Kafka's `TransactionStateManagerConfig`).

use crate::config::Layers;

/// Settings of the broker.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as the settings")]
pub struct TransactionSettings {
    pub transaction_max_timeout_ms: i32,
    pub transactional_id_expiration_ms: i64,
    pub remove_expired_transaction_cleanup_interval_ms: i64,
}

impl TransactionSettings {
    /// The settings in force at start.
    pub fn of(layers: Layers<'_>) -> Self {
        Self {
            transaction_max_timeout_ms: layers.int("transaction.max.timeout.ms"),
            transactional_id_expiration_ms: layers.number("transactional.id.expiration.ms"),
            remove_expired_transaction_cleanup_interval_ms: layers
                .number("transaction.remove.expired.transaction.cleanup.interval.ms"),
        }
    }
}
