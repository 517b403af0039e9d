//! Callers whom Kafka would send away with CONCURRENT_TRANSACTIONS because a transaction is just being ended: they wait until
//! it has, which takes milliseconds, and are then decided in the order of their arrival. Kafka's clients would come back after
//! their back-off, 20 to 100 ms later.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::{
    TransactionCommand, TransactionError, TransactionReply, TransactionTimer, TransactionTurn,
    Transactions,
};
use crate::coordinator::TransactionalId;
use crate::coordinator::machine::Token;

/// Callers that wait for one transactional id; further ones are sent away at once. A producer has one request under way,
/// others are its rivals.
const WAITING_MAX: usize = 8;

/// The longest that one waits before it is sent away after all: far less than any client's request time-out.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// A command and who asked.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) command: TransactionCommand,
    pub(super) token: Token,
    /// How long it may wait, once it waits.
    pub(super) until: Option<Duration>,
}

/// Those who wait, by transactional id, in the order of their arrival and so of their deadlines.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    by_id: HashMap<TransactionalId, VecDeque<Asked>>,
}

/// Keeps a caller until the transaction has ended.
pub(super) fn wait(shard: &mut Transactions, turn: &mut TransactionTurn<'_>, mut asked: Asked) {
    let Some(id) = id_of(&asked.command).cloned() else { return };
    let waiting = shard.waiting.by_id.entry(id.clone()).or_default();
    if waiting.len() >= WAITING_MAX {
        return send_away(turn, &asked);
    }
    let until = *asked.until.get_or_insert(turn.now.monotonic.saturating_add(WAIT_MAX));
    waiting.push_back(asked);
    if waiting.len() == 1 {
        set_timer(turn, id, until);
    }
}

/// A transaction has ended: decides all who waited for that. Some may have to wait for the next one.
pub(super) fn ended(
    shard: &mut Transactions,
    turn: &mut TransactionTurn<'_>,
    id: &TransactionalId,
) {
    let Some(waiting) = shard.waiting.by_id.remove(id) else { return };
    turn.cancel_timer(&TransactionTimer::Waiting(id.clone()));
    for asked in waiting {
        shard.carry_out(turn, asked);
    }
}

/// Sends away those who have waited long enough.
pub(super) fn waited_enough(
    shard: &mut Transactions,
    turn: &mut TransactionTurn<'_>,
    id: TransactionalId,
) {
    let Some(waiting) = shard.waiting.by_id.get_mut(&id) else { return };
    let now = turn.now.monotonic;
    while let Some(asked) = waiting.pop_front_if(|asked| asked.until.is_none_or(|at| at <= now)) {
        send_away(turn, &asked);
    }
    match waiting.front().and_then(|asked| asked.until) {
        Some(until) => set_timer(turn, id, until),
        None => drop(shard.waiting.by_id.remove(&id)),
    }
}

fn set_timer(turn: &mut TransactionTurn<'_>, id: TransactionalId, until: Duration) {
    let left = until.saturating_sub(turn.now.monotonic);
    // Rounded up: a timer that comes too early finds nobody to send away, and is set again.
    let left_ms = i64::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i64::MAX);
    turn.set_timer(TransactionTimer::Waiting(id), left_ms);
}

fn send_away(turn: &mut TransactionTurn<'_>, asked: &Asked) {
    use TransactionCommand as Ask;
    use TransactionReply as Reply;
    let error = TransactionError::ConcurrentTransactions;
    let reply = match &asked.command {
        Ask::InitProducer(_) => Reply::InitProducer(Err(error)),
        Ask::AddPartitions(_) => Reply::AddPartitions(Err(error)),
        Ask::End(_) => Reply::End(Err(error)),
        Ask::VerifyPartitions(_)
        | Ask::MarkersWritten { .. }
        | Ask::Describe(_)
        | Ask::List(_)
        | Ask::Overview => return,
    };
    turn.answer(asked.token, reply);
}

/// Whose transaction those commands are about that may have to wait.
fn id_of(command: &TransactionCommand) -> Option<&TransactionalId> {
    use TransactionCommand as Ask;
    match command {
        Ask::InitProducer(asked) => Some(&asked.id),
        Ask::AddPartitions(asked) => Some(&asked.id),
        Ask::End(asked) => Some(&asked.id),
        Ask::VerifyPartitions(_)
        | Ask::MarkersWritten { .. }
        | Ask::Describe(_)
        | Ask::List(_)
        | Ask::Overview => None,
    }
}
