//! `highwater txn`: list, describe, producers, find-hanging, abort; what Kafka's `kafka-transactions.sh` does.

mod abort;
mod describe;
mod hanging;
mod list;
mod producers;

use std::io::Write;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::CommandError;
use super::session;
use crate::types::{PartitionIndex, Timestamp};

/// What to do with transactions.
#[derive(Debug, Subcommand)]
pub enum TransactionCommand {
    /// List the transactional ids with their producers and where their transactions stand
    #[command(after_help = "\
Examples:
  highwater txn list
  highwater txn list --state ongoing,prepare-commit    those that are open or on their way to an end
  highwater txn list --longer-than PT1M                those that have been open for more than a minute
  highwater txn list --pattern 'shipping-.*'           those whose whole name the expression matches")]
    List(list::ListArguments),
    /// Show the transactions of some transactional ids: producer, time, partitions
    #[command(after_help = "Example:\n  highwater txn describe shipping-1 shipping-2")]
    Describe(describe::DescribeArguments),
    /// Show the producers that a partition knows, and where their open transactions begin
    #[command(after_help = "Example:\n  highwater txn producers --topic orders --partition 0")]
    Producers(producers::ProducersArguments),
    /// Find transactions that are open in a partition while no coordinator will ever end them
    #[command(after_help = "\
Consumers that read committed records wait for such a transaction for ever. The exit code is 0 whether some are found or none.

Examples:
  highwater txn find-hanging                                    in every partition that the broker leads
  highwater txn find-hanging --topic orders --partition 0
  highwater txn find-hanging --max-transaction-timeout 60       where producers may take an hour")]
    FindHanging(hanging::HangingArguments),
    /// End a transaction in one partition, whatever its coordinator knows: for those that hang
    #[command(after_help = "\
For a transaction that its coordinator still knows this is the wrong way: its producer goes on and believes it to be whole.

Examples:
  highwater txn abort --topic orders --partition 0 --start-offset 4711
  highwater txn abort --topic orders --partition 0 --producer-id 1002 --producer-epoch 7 --coordinator-epoch 0")]
    Abort(abort::AbortArguments),
}

/// One partition.
#[derive(Debug, Args)]
pub struct OnePartition {
    /// Name of the topic
    #[arg(long, value_name = "TOPIC")]
    topic: String,
    /// Its partition
    #[arg(long, value_name = "N", value_parser = index)]
    partition: PartitionIndex,
}

fn index(text: &str) -> Result<PartitionIndex, String> {
    let number = text.parse().ok().filter(|number| *number >= 0);
    number.map(PartitionIndex::new).ok_or_else(|| "expected a number of a partition".to_owned())
}

pub(super) fn run(command: TransactionCommand, out: &mut dyn Write) -> Result<(), CommandError> {
    session::run(async {
        match command {
            TransactionCommand::List(arguments) => list::list(arguments, out).await,
            TransactionCommand::Describe(arguments) => describe::describe(&arguments, out).await,
            TransactionCommand::Producers(arguments) => producers::list(&arguments, out).await,
            TransactionCommand::FindHanging(arguments) => hanging::find(&arguments, out).await,
            TransactionCommand::Abort(arguments) => abort::abort(&arguments, out).await,
        }
    })
}

/// Time from `then` to `now`; none where a clock that runs ahead has written `then`.
fn since(then: Timestamp, now: Timestamp) -> Duration {
    let millis = now.get().saturating_sub(then.get());
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
