//! Transactions that take too long, and transactional ids that nobody uses any more.
//!
//! A transaction is aborted at its time and not at the next of Kafka's looks every
//! `transaction.abort.timed.out.transaction.cleanup.interval.ms`. Every
//! `transaction.remove.expired.transaction.cleanup.interval.ms` all transactional ids are looked through, some in each turn, so
//! that no command waits for all of them.

use super::end::abort;
use super::{
    TransactionRecord, TransactionState, TransactionTimer, TransactionTurn, Transactions, ending,
};
use crate::coordinator::TransactionalId;
use crate::observe::AbortCause;

/// Transactional ids that one turn looks at.
const LOOKS_PER_TURN: usize = 1_000;

/// Between two turns of a round, so that commands come in between.
const TURN_GAP_MS: i64 = 1;

/// Wait before a transaction is tried to be aborted again: no producer id was at hand.
const RETRY_AFTER_MS: i64 = 100;

/// Transactional ids that are still to be looked at in this round.
#[derive(Debug, Default)]
pub(super) struct ExpiryRound {
    ids: Vec<TransactionalId>,
}

/// The shard was just read: sets the timer of the first round.
pub(super) fn loaded(shard: &Transactions, turn: &mut TransactionTurn<'_>) {
    set_timer(shard, turn);
}

/// The timer of an open transaction has run out.
pub(super) fn timed_out(
    shard: &mut Transactions,
    turn: &mut TransactionTurn<'_>,
    id: &TransactionalId,
) {
    let Some(known) = turn.hard().get(id.as_str()) else { return };
    if known.state != TransactionState::Ongoing {
        return;
    }
    if known.deadline().is_none_or(|deadline| deadline > turn.now.wall) {
        // The clock was set back.
        return ending::watch(turn, id);
    }
    let producer = known.producer;
    match abort(shard, turn, id, AbortCause::Timeout) {
        Ok(()) => {
            tracing::info!(transactional_id = id.as_str(), %producer, "a transaction has taken too long and is aborted");
        }
        Err(_) => turn.set_timer(TransactionTimer::Timeout(id.clone()), RETRY_AFTER_MS),
    }
}

/// Forgets transactional ids whose time has come.
pub(super) fn expire(shard: &mut Transactions, turn: &mut TransactionTurn<'_>) {
    if shard.expiry.ids.is_empty() {
        shard.expiry.ids = turn.hard().iter().map(|(id, _)| id.clone()).collect();
        shard.expiry.ids.sort_unstable();
    }
    let from = shard.expiry.ids.len().saturating_sub(LOOKS_PER_TURN);
    for id in shard.expiry.ids.split_off(from) {
        if has_expired(shard, turn, &id) {
            turn.write(TransactionRecord { id, value: None });
            shard.metrics.transactional_ids_expired.increment();
        }
    }
    set_timer(shard, turn);
}

fn has_expired(shard: &Transactions, turn: &TransactionTurn<'_>, id: &TransactionalId) -> bool {
    let oldest = turn.now.wall.get().saturating_sub(shard.settings.transactional_id_expiration_ms);
    let known = turn.hard().get(id.as_str());
    known.is_some_and(|known| known.state.is_idle() && known.last_update.get() <= oldest)
}

fn set_timer(shard: &Transactions, turn: &mut TransactionTurn<'_>) {
    let delay_ms = match shard.expiry.ids.is_empty() {
        true => shard.settings.remove_expired_transaction_cleanup_interval_ms,
        false => TURN_GAP_MS,
    };
    turn.set_timer(TransactionTimer::Expiry, delay_ms);
}
