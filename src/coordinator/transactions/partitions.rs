//! What a transaction writes to (AddPartitionsToTxn, AddOffsetsToTxn, the first write to a partition).

use super::{
    Partitions, Refusal, Transaction, TransactionError, TransactionState, TransactionTurn,
    TransactionsHard, ending, write,
};
use crate::coordinator::TransactionalId;
use crate::types::{ProducerIdAndEpoch, TopicPartition};

/// Bytes that the partitions of a transaction may take in a record: what Kafka allows a record of `__transaction_state` to
/// have, less its other fields. A record that its log refuses would have the shard read again.
const RECORD_BYTES_MAX: usize = 1_000_000;

/// Bytes that a topic takes in a record beside its name.
const TOPIC_OVERHEAD: usize = 16;

/// Makes partitions part of a transaction, which begins with the first of them.
pub(super) fn add(turn: &mut TransactionTurn<'_>, asked: &Partitions) -> Result<(), Refusal> {
    let known = turn.hard().get(asked.id.as_str()).ok_or_else(|| unknown(&asked.id))?;
    check_producer(known.settled(), asked.producer)?;
    if known.state.is_ending() {
        return Err(Refusal::UntilEnded);
    }
    let is_open = known.state == TransactionState::Ongoing;
    if is_open && asked.partitions.iter().all(|partition| known.contains(partition)) {
        return Ok(());
    }
    let next = known.with_partitions(&asked.partitions, asked.version, turn.now.wall);
    if bytes_of(&next.partitions) > RECORD_BYTES_MAX {
        return Err(TransactionError::InvalidRequest.into());
    }
    write(turn, &asked.id, next);
    if !is_open {
        ending::watch(turn, &asked.id);
    }
    Ok(())
}

/// Tells which partitions are part of the transaction that is open (KIP-890, part 1).
pub(super) fn verify(
    hard: &TransactionsHard,
    asked: &Partitions,
) -> Vec<Result<(), TransactionError>> {
    let known = hard.get(asked.id.as_str()).ok_or_else(|| unknown(&asked.id));
    let known = known.and_then(|known| check_open(known, asked.producer));
    let verdict = |partition| match known {
        Ok(known) if known.contains(partition) => Ok(()),
        Ok(_) => Err(TransactionError::Abortable),
        Err(error) => Err(error),
    };
    asked.partitions.iter().map(verdict).collect()
}

/// Why a transactional id without a producer is refused.
fn unknown(id: &TransactionalId) -> TransactionError {
    match id.as_str() {
        "" => TransactionError::InvalidRequest,
        _ => TransactionError::InvalidProducerIdMapping,
    }
}

/// Who writes to a transaction that is ending comes too late for it. In version 1 it is not known whether the next one is
/// meant, so it is not told to wait here.
fn check_open(
    known: &Transaction,
    producer: ProducerIdAndEpoch,
) -> Result<&Transaction, TransactionError> {
    check_producer(known.producer, producer)?;
    match known.state.is_ending() {
        true => Err(TransactionError::ConcurrentTransactions),
        false => Ok(known),
    }
}

/// Who asks must be who has the transactional id.
pub(super) fn check_producer(
    known: ProducerIdAndEpoch,
    asking: ProducerIdAndEpoch,
) -> Result<(), TransactionError> {
    if known.id != asking.id {
        return Err(TransactionError::InvalidProducerIdMapping);
    }
    if known.epoch != asking.epoch {
        return Err(TransactionError::ProducerFenced);
    }
    Ok(())
}

fn bytes_of(partitions: &[TopicPartition]) -> usize {
    let topics = partitions.chunk_by(|a, b| a.topic == b.topic);
    topics
        .map(|of_topic| {
            TOPIC_OVERHEAD + of_topic[0].topic.as_str().len() + of_topic.len() * size_of::<i32>()
        })
        .sum()
}
