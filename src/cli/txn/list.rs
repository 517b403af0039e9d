//! `highwater txn list`.

use std::io::Write;
use std::time::Duration;

use clap::Args;

use crate::cli::CommandError;
use crate::cli::moment;
use crate::cli::session::{BrokerAddress, failed};
use crate::cli::table::Table;
use crate::kafka::client::TransactionFilter;
use crate::types::ProducerId;

/// Kafka's names of states, and how they are written here.
const STATES: [(&str, &str); 8] = [
    ("empty", "Empty"),
    ("ongoing", "Ongoing"),
    ("prepare-commit", "PrepareCommit"),
    ("prepare-abort", "PrepareAbort"),
    ("complete-commit", "CompleteCommit"),
    ("complete-abort", "CompleteAbort"),
    ("prepare-epoch-fence", "PrepareEpochFence"),
    ("dead", "Dead"),
];

/// Those that are open or on their way to an end.
const OPEN: [&str; 3] = ["Ongoing", "PrepareCommit", "PrepareAbort"];

/// Which transactions.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Only those in one of these states: empty, ongoing, prepare-commit, prepare-abort, complete-commit, complete-abort,
    /// prepare-epoch-fence, dead
    #[arg(long, value_name = "STATE,...", value_delimiter = ',', value_parser = state)]
    state: Vec<String>,
    /// Only those of one of these producer ids
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    producer_id: Vec<i64>,
    /// Only those that have been open for longer, such as PT1M; with --state also those in that state that never were open
    #[arg(long, value_name = "DURATION", value_parser = moment::duration)]
    longer_than: Option<Duration>,
    /// Only those whose whole transactional id this regular expression matches
    #[arg(long, value_name = "EXPRESSION")]
    pattern: Option<String>,
    #[command(flatten)]
    address: BrokerAddress,
}

/// Kafka's name of a state, from either spelling.
fn state(text: &str) -> Result<String, String> {
    let plain = |name: &str| name.replace('-', "").to_lowercase();
    let known = STATES.iter().find(|(ours, _)| plain(ours) == plain(text));
    known.map(|(_, kafkas)| (*kafkas).to_owned()).ok_or_else(|| {
        let names: Vec<&str> = STATES.iter().map(|(ours, _)| *ours).collect();
        format!("expected one of {}", names.join(", "))
    })
}

pub(super) async fn list(
    arguments: ListArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    // A broker counts a transactional id without a transaction as one that was begun in 1970.
    let states = match arguments.longer_than {
        Some(_) if arguments.state.is_empty() => OPEN.map(str::to_owned).into(),
        _ => arguments.state,
    };
    let filter = TransactionFilter {
        states,
        producers: arguments.producer_id.into_iter().map(ProducerId::new).collect(),
        longer_than_ms: arguments.longer_than.map(millis),
        pattern: arguments.pattern,
    };
    let listed = client.list_transactions(&filter).await.map_err(|error| failed(&error))?;
    let mut table = Table::new(["transactional id", "producer id", "state"]);
    for transaction in listed {
        table.push([transaction.id, transaction.producer.to_string(), transaction.state]);
    }
    Ok(table.write(out)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_may_be_written_as_here_or_as_in_kafka() {
        assert_eq!(state("ongoing").as_deref(), Ok("Ongoing"));
        assert_eq!(state("prepare-commit").as_deref(), Ok("PrepareCommit"));
        assert_eq!(state("CompleteAbort").as_deref(), Ok("CompleteAbort"));
        assert!(state("open").unwrap_err().contains("ongoing"));
    }
}
