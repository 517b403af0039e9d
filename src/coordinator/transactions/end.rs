//! How a transaction ends: by its producer (EndTxn) or by the coordinator.
//!
//! In version 1 an end keeps the epoch, so that a repeated request looks like the first one and is known by the state. In
//! version 2 it raises the epoch, so that a repeated request comes with the one before, and the current epoch means the next
//! transaction, of which the coordinator may not have heard: aborting that is no error (KIP-890).

use super::partitions::check_producer;
use super::transaction::is_last;
use super::{
    End, Refusal, Transaction, TransactionError, TransactionState, TransactionTurn, Transactions,
    ending, own_version,
};
use crate::coordinator::TransactionalId;
use crate::observe::AbortCause;
use crate::types::{Outcome, ProducerId, ProducerIdAndEpoch, TransactionVersion};

/// What an EndTxn comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It is prepared now.
    Prepare,
    /// It has ended so before.
    Done,
}

/// Ends a transaction as its producer asks. The answer is what the producer is from now on.
pub(super) fn end(
    shard: &mut Transactions,
    turn: &mut TransactionTurn<'_>,
    asked: &End,
) -> Result<ProducerIdAndEpoch, Refusal> {
    let known = turn.hard().get(asked.id.as_str());
    let known = known.ok_or(TransactionError::InvalidProducerIdMapping)?;
    if known.state.is_ending() {
        check_may_wait(known, asked)?;
        return Err(Refusal::UntilEnded);
    }
    let verdict = match asked.version {
        TransactionVersion::V1 => judge_v1(known, asked)?,
        TransactionVersion::V2 => judge_v2(known, asked)?,
    };
    if verdict == Verdict::Done {
        return Ok(known.producer);
    }
    let next_id = match asked.version {
        TransactionVersion::V1 => None,
        TransactionVersion::V2 => next_id(shard, known)?,
    };
    let prepared = known.prepared(asked.outcome, asked.version, next_id, turn.now.wall);
    let producer = prepared.settled();
    match asked.outcome {
        Outcome::Commit => shard.metrics.transactions_committed.increment(),
        Outcome::Abort => shard.metrics.transactions_aborted.of(AbortCause::Client).increment(),
    }
    ending::prepare(shard, turn, &asked.id, prepared);
    Ok(producer)
}

/// Aborts an open transaction for the coordinator: its producer is fenced.
pub(super) fn abort(
    shard: &mut Transactions,
    turn: &mut TransactionTurn<'_>,
    id: &TransactionalId,
    cause: AbortCause,
) -> Result<(), TransactionError> {
    let known = turn.hard().get(id.as_str()).ok_or(TransactionError::NotFound)?;
    let now = turn.now.wall;
    let prepared = match own_version(turn) {
        TransactionVersion::V1 => known.fenced(now),
        // Kafka lets the epoch go beyond the last one here, and a retry of the producer could then be given that.
        TransactionVersion::V2 => {
            let next_id = next_id(shard, known)?;
            known.prepared(Outcome::Abort, TransactionVersion::V2, next_id, now)
        }
    };
    shard.metrics.transactions_aborted.of(cause).increment();
    ending::prepare(shard, turn, id, prepared);
    Ok(())
}

/// A new producer id where the epochs of the present one end.
fn next_id(
    shard: &Transactions,
    known: &Transaction,
) -> Result<Option<ProducerId>, TransactionError> {
    known.is_exhausted().then(|| shard.new_producer_id()).transpose()
}

/// Only those who can be answered well later wait for the end: who repeats the request that led to it, and who goes on.
fn check_may_wait(known: &Transaction, asked: &End) -> Result<(), TransactionError> {
    let repeats = asked.version == TransactionVersion::V2
        && asked.producer.id == known.producer.id
        && is_before(asked.producer, known.producer);
    if repeats { Ok(()) } else { check_producer(known.settled(), asked.producer) }
}

fn judge_v1(known: &Transaction, asked: &End) -> Result<Verdict, TransactionError> {
    use TransactionState as S;
    check_producer(known.producer, asked.producer)?;
    match (known.state, asked.outcome) {
        (S::Ongoing, _) => Ok(Verdict::Prepare),
        (S::CompleteCommit, Outcome::Commit) | (S::CompleteAbort, Outcome::Abort) => {
            Ok(Verdict::Done)
        }
        _ => Err(TransactionError::InvalidState),
    }
}

fn judge_v2(known: &Transaction, asked: &End) -> Result<Verdict, TransactionError> {
    use TransactionState as S;
    let is_complete = matches!(known.state, S::CompleteCommit | S::CompleteAbort);
    if is_complete && is_retry(known, asked.producer) {
        return match (known.state, asked.outcome) {
            (S::CompleteCommit, Outcome::Commit) | (S::CompleteAbort, Outcome::Abort) => {
                Ok(Verdict::Done)
            }
            _ => Err(TransactionError::InvalidState),
        };
    }
    check_producer(known.producer, asked.producer)?;
    match (known.state, asked.outcome) {
        (S::Ongoing, _) => Ok(Verdict::Prepare),
        (S::Empty | S::CompleteCommit | S::CompleteAbort, Outcome::Abort) => Ok(Verdict::Prepare),
        _ => Err(TransactionError::InvalidState),
    }
}

/// True if who asks has the epoch that the last end has raised.
fn is_retry(known: &Transaction, asking: ProducerIdAndEpoch) -> bool {
    let had_last_epoch =
        asking.id == known.previous_id && is_last(asking.epoch) && known.producer.epoch.get() == 0;
    had_last_epoch || asking.id == known.producer.id && is_before(asking, known.producer)
}

fn is_before(asking: ProducerIdAndEpoch, known: ProducerIdAndEpoch) -> bool {
    i32::from(asking.epoch.get()) + 1 == i32::from(known.epoch.get())
}
