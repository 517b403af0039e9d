//! `highwater txn describe`.

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;

use super::since;
use crate::cli::CommandError;
use crate::cli::session::{BrokerAddress, failed};
use crate::cli::spoken::spoken;
use crate::env::{Clock, SystemClock};
use crate::kafka::client::TransactionDescription;
use crate::types::Timestamp;

/// Which transactional ids.
#[derive(Debug, Args)]
pub struct DescribeArguments {
    /// Transactional ids
    #[arg(required = true, value_name = "TRANSACTIONAL-ID")]
    ids: Vec<String>,
    #[command(flatten)]
    address: BrokerAddress,
}

pub(super) async fn describe(
    arguments: &DescribeArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    for id in &arguments.ids {
        let described = client.describe_transaction(id).await.map_err(|error| failed(&error))?;
        show(&described, SystemClock::default().wall(), out)?;
    }
    Ok(())
}

fn show(described: &TransactionDescription, now: Timestamp, out: &mut dyn Write) -> io::Result<()> {
    let TransactionDescription { id, state, producer, timeout_ms, start, partitions } = described;
    let timeout = Duration::from_millis(u64::try_from(*timeout_ms).unwrap_or(0));
    writeln!(out, "{id}  {state}  {producer}  timeout {}", spoken(timeout))?;
    let Some(start) = start else { return Ok(()) };
    let (began, what) = (spoken(since(*start, now)), if is_open(state) { "open" } else { "last" });
    writeln!(out, "  {what} one begun {began} ago, at {start} ms")?;
    for topic in partitions.chunk_by(|a, b| a.0 == b.0) {
        let indexes: Vec<String> = topic.iter().map(|(_, index)| index.to_string()).collect();
        writeln!(out, "  {}:{}", topic[0].0, indexes.join(","))?;
    }
    Ok(())
}

/// States in which consumers of committed records wait for the transaction.
fn is_open(state: &str) -> bool {
    state == "Ongoing" || state.starts_with("Prepare")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{PartitionIndex, ProducerEpoch, ProducerId, ProducerIdAndEpoch};

    fn text(state: &str, start: Option<i64>, partitions: &[(&str, i32)]) -> String {
        let named =
            |(topic, index): &(&str, i32)| ((*topic).to_owned(), PartitionIndex::new(*index));
        let described = TransactionDescription {
            id: "shipping".to_owned(),
            state: state.to_owned(),
            producer: ProducerIdAndEpoch { id: ProducerId::new(7), epoch: ProducerEpoch::new(3) },
            timeout_ms: 60_000,
            start: start.map(Timestamp::new),
            partitions: partitions.iter().map(named).collect(),
        };
        let mut out = Vec::new();
        show(&described, Timestamp::new(65_000), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_open_transaction_shows_its_age_and_its_partitions() {
        let partitions = [("orders", 0), ("orders", 4), ("returns", 1)];
        let expected = "shipping  Ongoing  producer 7 epoch 3  timeout 1m0s\n  open one begun 1m4s ago, at 1000 ms\n  orders:0,4\n  returns:1\n";
        assert_eq!(text("Ongoing", Some(1_000), &partitions), expected);
    }

    #[test]
    fn one_that_has_ended_is_not_open() {
        let text = text("CompleteAbort", Some(64_000), &[]);
        assert!(text.ends_with("  last one begun 1.0s ago, at 64000 ms\n"), "{text}");
    }

    #[test]
    fn without_one_there_is_one_line() {
        assert_eq!(text("Empty", None, &[]).lines().count(), 1);
    }
}
