//! A producer begins or returns (InitProducerId; KIP-98, KIP-360).

use super::end::abort;
use super::transaction::is_last;
use super::{
    InitProducer, Refusal, Transaction, TransactionError, TransactionState, TransactionTurn,
    Transactions, write,
};
use crate::observe::AbortCause;
use crate::types::{ProducerEpoch, ProducerIdAndEpoch, Timestamp};

/// Gives a producer its id and epoch; whoever had the transactional id before is fenced, and what it had begun aborted first.
pub(super) fn init(
    shard: &mut Transactions,
    turn: &mut TransactionTurn<'_>,
    asked: &InitProducer,
) -> Result<ProducerIdAndEpoch, Refusal> {
    if asked.id.as_str().is_empty() {
        return Err(TransactionError::InvalidRequest.into());
    }
    if !(1..=shard.settings.transaction_max_timeout_ms).contains(&asked.timeout_ms) {
        return Err(TransactionError::InvalidTimeout.into());
    }
    let known = match turn.hard().get(asked.id.as_str()) {
        Some(known) => known.clone(),
        None => Transaction::new(shard.new_producer_id()?),
    };
    check_claim(&known, asked.current)?;
    match known.state {
        TransactionState::PrepareCommit | TransactionState::PrepareAbort => {
            return Err(Refusal::UntilEnded);
        }
        TransactionState::Ongoing => {
            abort(shard, turn, &asked.id, AbortCause::Fenced)?;
            let has_ended = turn.hard().get(asked.id.as_str()).is_some_and(|it| it.state.is_idle());
            return if has_ended { init(shard, turn, asked) } else { Err(Refusal::UntilEnded) };
        }
        _ => {}
    }
    let next = returned(shard, &known, asked.current, turn.now.wall)?;
    let next = Transaction { timeout_ms: asked.timeout_ms, ..next };
    let producer = next.producer;
    write(turn, &asked.id, next);
    Ok(producer)
}

/// Refuses a producer that believes to be somebody who was fenced. Whether the epoch of an idle one is right is seen when it
/// is raised.
///
/// Kafka does not look at the epoch while a transaction is open, so that a fenced producer could have it aborted.
fn check_claim(
    known: &Transaction,
    current: Option<ProducerIdAndEpoch>,
) -> Result<(), TransactionError> {
    let Some(current) = current.filter(|_| known.producer.epoch != ProducerEpoch::NONE) else {
        return Ok(());
    };
    let is_itself = match known.state {
        TransactionState::Ongoing => current == known.producer,
        _ => current.id == known.producer.id,
    };
    // Its epochs were used up, and it has not heard of its new id.
    let had_last_epoch = current.id == known.previous_id && is_last(current.epoch);
    match is_itself || had_last_epoch {
        true => Ok(()),
        false => Err(TransactionError::ProducerFenced),
    }
}

/// What an idle transactional id becomes when its producer returns.
fn returned(
    shard: &Transactions,
    known: &Transaction,
    current: Option<ProducerIdAndEpoch>,
    now: Timestamp,
) -> Result<Transaction, TransactionError> {
    let last_epoch = match current {
        None => ProducerEpoch::NONE,
        Some(_) if known.producer.epoch == ProducerEpoch::NONE => ProducerEpoch::NONE,
        Some(current) if current == known.producer => current.epoch,
        Some(current) if current.epoch == known.last_epoch => {
            return asked_again(shard, known, now);
        }
        Some(_) => return Err(TransactionError::ProducerFenced),
    };
    match known.is_exhausted() {
        true => Ok(known.with_producer_id(shard.new_producer_id()?, last_epoch, now)),
        false => Ok(known.with_next_epoch(last_epoch, now)),
    }
}

/// The answer to the same request was lost: it is given again. But the epoch that fenced the last one is never given away
/// (Kafka fails there).
fn asked_again(
    shard: &Transactions,
    known: &Transaction,
    now: Timestamp,
) -> Result<Transaction, TransactionError> {
    match known.is_beyond_last() {
        true => Ok(known.with_producer_id(shard.new_producer_id()?, known.last_epoch, now)),
        false => Ok(known.emptied(now)),
    }
}
