//! `highwater dirs`: list, describe, move; what Kafka's `kafka-log-dirs.sh` does, and `kafka-reassign-partitions.sh` for moves
//! within a broker.

use std::io::Write;

use clap::{Args, Subcommand};

use super::CommandError;
use super::session::{self, BrokerAddress, failed};
use super::table::Table;
use crate::kafka::client::{LogDirDescription, PlacedPartition, Topics};

/// What to do with log directories.
#[derive(Debug, Subcommand)]
pub enum DirsCommand {
    /// List the log directories with their room and what they hold
    List(ListArguments),
    /// Show which partition lies where, and how far moves are
    #[command(
        after_help = "Examples:\n  highwater dirs describe\n  highwater dirs describe orders shipping"
    )]
    Describe(DescribeArguments),
    /// Move partitions of a topic into another log directory while they are used
    #[command(after_help = "\
The move goes on in the background; `highwater dirs describe TOPIC` shows how far it is. Moving a partition back to where it is
calls its move off.

Examples:
  highwater dirs move orders --to /disk2/data                      all partitions
  highwater dirs move orders --partition 0,3 --to /disk2/data")]
    Move(MoveArguments),
}

/// Of which broker.
#[derive(Debug, Args)]
pub struct ListArguments {
    #[command(flatten)]
    address: BrokerAddress,
}

/// Of which topics.
#[derive(Debug, Args)]
pub struct DescribeArguments {
    /// Topics; all if none is named
    #[arg(value_name = "TOPIC")]
    topics: Vec<String>,
    #[command(flatten)]
    address: BrokerAddress,
}

/// What goes where.
#[derive(Debug, Args)]
pub struct MoveArguments {
    /// Name of the topic
    #[arg(value_name = "TOPIC")]
    topic: String,
    /// Its partitions; all if none is named
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(i32).range(0..))]
    partition: Vec<i32>,
    /// Absolute path of the log directory, as `highwater dirs list` shows it
    #[arg(long, value_name = "DIRECTORY")]
    to: String,
    #[command(flatten)]
    address: BrokerAddress,
}

pub(super) fn run(command: DirsCommand, out: &mut dyn Write) -> Result<(), CommandError> {
    session::run(async {
        match command {
            DirsCommand::List(arguments) => list(&arguments, out).await,
            DirsCommand::Describe(arguments) => describe(&arguments, out).await,
            DirsCommand::Move(arguments) => begin_moves(&arguments, out).await,
        }
    })
}

async fn list(arguments: &ListArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let directories = described(&arguments.address).await?;
    let mut table =
        Table::new(["state", "partitions", "moving in", "bytes", "usable", "total", "directory"]);
    for directory in &directories {
        let (copies, held): (Vec<_>, Vec<_>) =
            directory.partitions.iter().partition(|partition| partition.is_future);
        let bytes: i64 = held.iter().map(|partition| partition.bytes).sum();
        let state = if directory.offline { "offline" } else { "online" };
        table.push([
            state.to_owned(),
            held.len().to_string(),
            copies.len().to_string(),
            bytes.to_string(),
            text(directory.usable_bytes),
            text(directory.total_bytes),
            directory.path.clone(),
        ]);
    }
    Ok(table.write(out)?)
}

async fn describe(arguments: &DescribeArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let directories = described(&arguments.address).await?;
    let topics = &arguments.topics;
    let asked =
        |partition: &PlacedPartition| topics.is_empty() || topics.contains(&partition.topic);
    let mut rows: Vec<(&PlacedPartition, &str)> = Vec::new();
    for directory in &directories {
        let partitions = directory.partitions.iter().filter(|partition| asked(partition));
        rows.extend(partitions.map(|partition| (partition, directory.path.as_str())));
    }
    rows.sort_by_key(|(partition, _)| (&partition.topic, partition.index, partition.is_future));
    let mut table = Table::new(["topic", "partition", "bytes", "state", "directory"]);
    for (partition, path) in rows {
        let state = match (partition.is_future, partition.lag) {
            (false, _) => "here".to_owned(),
            (true, ..0) => "moving in".to_owned(),
            (true, lag) => format!("moving in, {lag} behind"),
        };
        table.push([
            partition.topic.clone(),
            partition.index.to_string(),
            partition.bytes.to_string(),
            state,
            path.to_owned(),
        ]);
    }
    Ok(table.write(out)?)
}

async fn begin_moves(arguments: &MoveArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    let topic = arguments.topic.as_str();
    let mut partitions = arguments.partition.clone();
    if partitions.is_empty() {
        let cluster = client.describe(Topics::Named(&[topic])).await;
        let cluster = cluster.map_err(|error| failed(&error))?;
        let all = cluster.topics.iter().flat_map(|topic| &topic.partitions);
        partitions.extend(all.map(|partition| partition.index));
    }
    let moved = client.move_partitions(topic, &partitions, &arguments.to).await;
    moved.map_err(|error| failed(&error))?;
    for partition in partitions {
        writeln!(out, "{topic}-{partition} moves to {}", arguments.to)?;
    }
    Ok(())
}

async fn described(address: &BrokerAddress) -> Result<Vec<LogDirDescription>, CommandError> {
    let mut client = address.connect().await?;
    client.describe_log_dirs().await.map_err(|error| failed(&error))
}

fn text(bytes: Option<i64>) -> String {
    bytes.map(|bytes| bytes.to_string()).unwrap_or_default()
}
