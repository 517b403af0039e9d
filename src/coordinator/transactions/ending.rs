//! From the certain end of a transaction to its actual one: markers in all its partitions, then the record that says so.

use std::collections::HashMap;

use super::{
    Transaction, TransactionErrand, TransactionState, TransactionTimer, TransactionTurn,
    Transactions, WriteMarkers, waiting, write,
};
use crate::coordinator::TransactionalId;
use crate::types::{Outcome, TopicPartition, Uuid};

/// Transactions whose markers are being written.
#[derive(Debug, Default)]
pub(super) struct Endings {
    by_id: HashMap<TransactionalId, Ending>,
}

#[derive(Debug)]
struct Ending {
    /// The errand whose reports count.
    errand: Uuid,
    /// Where markers are missing.
    missing: Vec<TopicPartition>,
}

impl Endings {
    /// Where markers are missing; `None` if none are being written.
    pub(super) fn missing(&self, id: &str) -> Option<&[TopicPartition]> {
        self.by_id.get(id).map(|ending| &ending.missing[..])
    }
}

/// Writes down how a transaction ends, and has its markers written.
pub(super) fn prepare(
    shard: &mut Transactions,
    turn: &mut TransactionTurn<'_>,
    id: &TransactionalId,
    prepared: Transaction,
) {
    turn.cancel_timer(&TransactionTimer::Timeout(id.clone()));
    write(turn, id, prepared);
    finish(shard, turn, id);
}

/// The shard was just read: what is prepared goes on to its end, what is open is watched.
pub(super) fn loaded(shard: &mut Transactions, turn: &mut TransactionTurn<'_>) {
    let of = |wanted: fn(TransactionState) -> bool, turn: &TransactionTurn<'_>| {
        let found = turn.hard().iter().filter(|(_, known)| wanted(known.state));
        let mut ids: Vec<_> = found.map(|(id, _)| id.clone()).collect();
        // The same log leads to the same errands in the same order.
        ids.sort_unstable();
        ids
    };
    for id in of(|state| state == TransactionState::Ongoing, turn) {
        watch(turn, &id);
    }
    for id in of(TransactionState::is_ending, turn) {
        finish(shard, turn, &id);
    }
}

/// Sets the timer of a transaction that is open.
pub(super) fn watch(turn: &mut TransactionTurn<'_>, id: &TransactionalId) {
    let known = turn.hard().get(id.as_str());
    if let Some(deadline) = known.and_then(Transaction::deadline) {
        let left_ms = deadline.get().saturating_sub(turn.now.wall.get());
        turn.set_timer(TransactionTimer::Timeout(id.clone()), left_ms);
    }
}

/// Markers are durable, or their partitions are gone. What an errand reports that no longer counts is ignored: another one
/// is on its way.
pub(super) fn markers_written(
    shard: &mut Transactions,
    turn: &mut TransactionTurn<'_>,
    id: &TransactionalId,
    errand: Uuid,
    written: &[TopicPartition],
) {
    let ending = shard.endings.by_id.get_mut(id);
    let Some(ending) = ending.filter(|ending| ending.errand == errand) else { return };
    if written.len() >= ending.missing.len() && written == ending.missing {
        ending.missing.clear();
    } else {
        ending.missing.retain(|partition| !written.contains(partition));
    }
    if ending.missing.is_empty() {
        complete(shard, turn, id);
    }
}

/// Has the markers of a prepared transaction written; without any it has ended.
fn finish(shard: &mut Transactions, turn: &mut TransactionTurn<'_>, id: &TransactionalId) {
    let Some(known) = turn.hard().get(id.as_str()) else { return };
    if known.partitions.is_empty() {
        return complete(shard, turn, id);
    }
    let outcome = match known.state {
        TransactionState::PrepareCommit => Outcome::Commit,
        _ => Outcome::Abort,
    };
    let errand = turn.new_id();
    let markers = WriteMarkers {
        id: id.clone(),
        errand,
        producer: known.producer,
        outcome,
        version: known.version,
        partitions: known.partitions.to_vec(),
    };
    let ending = Ending { errand, missing: markers.partitions.clone() };
    shard.endings.by_id.insert(id.clone(), ending);
    turn.send_out(TransactionErrand::WriteMarkers(markers));
}

/// Writes down that a transaction has ended, and takes care of those who waited for it.
fn complete(shard: &mut Transactions, turn: &mut TransactionTurn<'_>, id: &TransactionalId) {
    shard.endings.by_id.remove(id);
    let Some(known) = turn.hard().get(id.as_str()) else { return };
    let completed = known.completed(turn.now.wall);
    write(turn, id, completed);
    waiting::ended(shard, turn, id);
}
