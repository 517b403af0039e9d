//! What is going on (DescribeTransactions, ListTransactions, metrics).

use super::{
    ListFilter, Transaction, TransactionDescription, TransactionError, TransactionListing,
    TransactionOverview, TransactionState, TransactionTurn, Transactions, TransactionsHard,
};
use crate::coordinator::TransactionalId;
use crate::types::Timestamp;

/// One transactional id. Of a transaction that is being ended those partitions are shown that lack their marker.
pub(super) fn describe(
    shard: &Transactions,
    hard: &TransactionsHard,
    id: &TransactionalId,
) -> Result<TransactionDescription, TransactionError> {
    if id.as_str().is_empty() {
        return Err(TransactionError::InvalidRequest);
    }
    let known = hard.get(id.as_str()).ok_or(TransactionError::NotFound)?;
    let missing = shard.endings.missing(id.as_str());
    Ok(TransactionDescription {
        state: known.state,
        timeout_ms: known.timeout_ms,
        start: known.start,
        producer: known.producer,
        partitions: missing.unwrap_or(&known.partitions).to_vec(),
    })
}

/// Those that the filter wants, in no order.
pub(super) fn list(turn: &TransactionTurn<'_>, filter: &ListFilter) -> Vec<TransactionListing> {
    let wanted =
        turn.hard().iter().filter(|(id, known)| is_wanted(filter, id, known, turn.now.wall));
    wanted
        .map(|(id, known)| TransactionListing {
            id: id.clone(),
            producer: known.producer.id,
            state: known.state,
        })
        .collect()
}

/// As in Kafka, one that was never begun counts as begun long ago.
fn is_wanted(
    filter: &ListFilter,
    id: &TransactionalId,
    known: &Transaction,
    now: Timestamp,
) -> bool {
    let age_ms = now.get().saturating_sub(known.start.get());
    let is_long = |longer_than: std::time::Duration| {
        i64::try_from(longer_than.as_millis()).is_ok_and(|least| age_ms > least)
    };
    (filter.producers.is_empty() || filter.producers.contains(&known.producer.id))
        && (filter.states.is_empty() || filter.states.contains(&known.state))
        && filter.longer_than.is_none_or(is_long)
        && filter.pattern.as_ref().is_none_or(|pattern| pattern.is_match(id.as_str()))
}

/// Those that are open or being ended.
pub(super) fn overview(hard: &TransactionsHard) -> Vec<TransactionOverview> {
    let alive = hard
        .iter()
        .filter(|(_, known)| known.state == TransactionState::Ongoing || known.state.is_ending());
    alive
        .map(|(id, known)| TransactionOverview {
            id: id.clone(),
            state: known.state,
            start: known.start,
            epoch: known.producer.epoch,
        })
        .collect()
}
