//! Open transactions: how many, in which state, since when. What became of those that ended is counted in the table of
//! `observe`, and how far they hold consumers back is told of each partition in `topics`.

use std::fmt::Write as _;

use super::exposition::single;
use crate::broker::OpenTransactions;
use crate::coordinator::transactions::{TransactionOverview, TransactionState};
use crate::observe::header;
use crate::types::Timestamp;

/// States that hold read_committed consumers back, and how they are labelled.
const STATES: [(TransactionState, &str); 4] = [
    (TransactionState::Ongoing, "ongoing"),
    (TransactionState::PrepareCommit, "prepare-commit"),
    (TransactionState::PrepareAbort, "prepare-abort"),
    (TransactionState::PrepareEpochFence, "prepare-epoch-fence"),
];

/// `open` is missing if the shards could not tell in time.
pub(super) fn expose(out: &mut String, open: Option<&OpenTransactions>, now: Timestamp) {
    single(
        out,
        "highwater_transactions_complete",
        "1 if every shard of transactions has answered this scrape.",
        u8::from(open.is_some_and(|open| open.shards_failed == 0)),
    );
    let Some(open) = open else { return };
    let name = "highwater_transaction_shards";
    header(out, name, "gauge", "Shards of transactions that have a log, by state.");
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{name}{{state=\"active\"}} {}", open.shards_active);
    let _ = writeln!(out, "{name}{{state=\"failed\"}} {}", open.shards_failed);
    let name = "highwater_transactions_open";
    header(
        out,
        name,
        "gauge",
        "Transactions that have not ended in all their partitions, by state.",
    );
    for (state, label) in STATES {
        let count = open.transactions.iter().filter(|one| one.state == state).count();
        let _ = writeln!(out, "{name}{{state=\"{label}\"}} {count}");
    }
    single(
        out,
        "highwater_transaction_oldest_seconds",
        "Age of the oldest of these, 0 without any.",
        oldest_seconds(&open.transactions, now),
    );
}

/// One that was begun by a clock that runs ahead is new.
#[expect(clippy::cast_precision_loss, reason = "exact up to 285,000 years")]
fn oldest_seconds(transactions: &[TransactionOverview], now: Timestamp) -> f64 {
    let ages = transactions.iter().map(|one| now.get().saturating_sub(one.start.get()));
    ages.max().unwrap_or(0).max(0) as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::TransactionalId;
    use crate::types::ProducerEpoch;

    fn one(state: TransactionState, start: i64) -> TransactionOverview {
        let id = TransactionalId::new("id");
        TransactionOverview {
            id,
            state,
            start: Timestamp::new(start),
            epoch: ProducerEpoch::new(0),
        }
    }

    fn text(transactions: Vec<TransactionOverview>, shards_failed: usize) -> String {
        let mut out = String::new();
        let open = OpenTransactions { transactions, shards_active: 2, shards_failed };
        expose(&mut out, Some(&open), Timestamp::new(10_000));
        out
    }

    #[test]
    fn open_transactions_are_counted_by_state_and_the_oldest_has_an_age() {
        let text = text(
            vec![
                one(TransactionState::Ongoing, 9_000),
                one(TransactionState::Ongoing, 7_500),
                one(TransactionState::PrepareAbort, 12_000),
            ],
            0,
        );
        for line in [
            "highwater_transactions_complete 1",
            "highwater_transaction_shards{state=\"active\"} 2",
            "highwater_transactions_open{state=\"ongoing\"} 2",
            "highwater_transactions_open{state=\"prepare-commit\"} 0",
            "highwater_transactions_open{state=\"prepare-abort\"} 1",
            "highwater_transaction_oldest_seconds 2.5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_shard_that_cannot_be_read_is_said() {
        let text = text(Vec::new(), 1);
        assert!(text.starts_with("# HELP highwater_transactions_complete"), "{text}");
        assert!(text.contains("\nhighwater_transactions_complete 0\n"), "{text}");
        assert!(text.ends_with("highwater_transaction_oldest_seconds 0\n"), "{text}");
    }

    #[test]
    fn without_an_answer_nothing_is_counted() {
        let mut out = String::new();
        expose(&mut out, None, Timestamp::new(0));
        assert!(out.ends_with("highwater_transactions_complete 0\n"), "{out}");
    }
}
