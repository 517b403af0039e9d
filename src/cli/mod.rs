//! The command line: arguments, sub-commands, their output and exit codes.
//!
//! Without a sub-command the process is a broker ([`BrokerArguments`]). Every other command writes its answer to the writer
//! it is given and ends with 0, with 1 if it failed, or with 2 if it was asked the wrong way.

mod arguments;
mod backup;
mod check;
mod config;
mod consume;
mod dirs;
mod dump;
mod fetched;
mod format;
mod group;
mod moment;
mod partitioner;
mod position;
mod produce;
mod progress;
mod session;
mod spoken;
mod table;
#[cfg(test)]
mod tests;
mod topic;
mod txn;

use std::io::{self, Write};

use clap::{Parser, Subcommand};

pub use arguments::{BrokerArguments, SourcesError};

/// A Kafka-compatible broker in one binary.
///
/// Without a command it runs a broker. With no options at all it listens on 127.0.0.1:9092 and keeps its data in
/// ./highwater-data.
#[derive(Debug, Parser)]
#[command(
    name = "highwater",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true
)]
#[command(after_help = "\
Examples:
  highwater                                          a broker on 127.0.0.1:9092
  highwater --listen 0.0.0.0:9092 --data-dir /data   on all addresses, data in /data
  highwater --config server.properties               with Kafka's own configuration file
  highwater --set num.partitions=4                   with one setting changed
  highwater config explain log.retention.hours       what a setting does here
  highwater topic create orders --partitions 6       a topic on the broker that runs here
  echo hello | highwater produce orders
  highwater consume orders
  highwater group describe shipping                  how far the consumers are behind
  highwater check /var/lib/kafka                     what a stopped Kafka's directory holds, before it is taken over
  highwater dirs move orders --to /disk2/data        partitions to another log directory
  highwater txn find-hanging                         transactions that hold consumers up for ever
  highwater dump --verify /data                      are the files what was once written to them?
  highwater backup all.tar.zst --data-dir /data      everything in one archive, while the broker runs")]
pub struct Arguments {
    /// What to do instead of running a broker.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to run the broker.
    #[command(flatten)]
    pub broker: BrokerArguments,
}

/// A sub-command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what a stopped node's directory holds and what a start would do; changes nothing
    Check(check::CheckArguments),
    /// Show settings: what there are, what they do, what is in force
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Create, list, describe and delete topics
    #[command(subcommand)]
    Topic(topic::TopicCommand),
    /// List, describe, reset and delete consumer groups
    #[command(subcommand)]
    Group(group::GroupCommand),
    /// List, describe and abort transactions
    #[command(subcommand)]
    Txn(txn::TransactionCommand),
    /// List and describe log directories, move partitions between them
    #[command(subcommand)]
    Dirs(dirs::DirsCommand),
    /// Write lines of standard input to a topic
    Produce(produce::ProduceArguments),
    /// Print the records of a topic
    Consume(consume::ConsumeArguments),
    /// Show and check files of a data directory: logs, indexes, snapshots, checkpoints
    #[command(after_help = "\
It only reads, and may run beside a broker. The exit code is 1 if anything is damaged, with or without --verify.

Examples:
  highwater dump /data/orders-0                                 what the files of a partition hold
  highwater dump --records /data/orders-0/00000000000000000000.log
  highwater dump --records --offsets 4711 /data/orders-0        the record at one offset
  highwater dump --verify /data                                 is everything as it was written?
  highwater dump -r --json /data/__consumer_offsets-12          commits as JSON, for jq
  highwater dump -r /data/__cluster_metadata-0                  topics, configs, ACLs and when they changed")]
    Dump(dump::DumpArguments),
    /// Write all data of a node to one archive, as of one moment, beside the running broker
    #[command(after_help = "\
The archive is a tar file compressed with zstd: topics and ids, configs, records, producers, transactions, groups with their
offsets, ACLs, SCRAM users and quotas. An interrupted backup goes on when the command is given again.

Examples:
  highwater backup orders.tar.zst --data-dir /data
  highwater backup all.tar.zst --data-dir /disk1/data --data-dir /disk2/data
  highwater backup all.tar.zst --config server.properties
  tar --zstd -tvf orders.tar.zst                     what is in it
  highwater restore orders.tar.zst --check           is it whole?")]
    Backup(backup::BackupArguments),
    /// Make a data directory out of an archive
    #[command(after_help = "\
Everything is compared with its checksums; no broker starts on the directory before all of it is there. An interrupted restore
goes on when the command is given again. The first start on it reads all logs and makes their indexes.

Examples:
  highwater restore orders.tar.zst --data-dir /new
  highwater restore orders.tar.zst --data-dir /new --at 2026-05-01T14:02:00     as it was then, UTC
  highwater --data-dir /new                          a broker on it; Apache Kafka starts on it too")]
    Restore(backup::restore::RestoreArguments),
}

/// Why a command failed; its text goes to standard error.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It was asked the wrong way: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// The output could not be written: exit code 1, or 0 if the reader has gone.
    #[error("writing the output failed: {0}")]
    Output(#[from] io::Error),
}

impl CommandError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
            // `highwater config list | head` is no failure.
            Self::Output(e) if e.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Output(_) => 1,
        }
    }
}

/// Runs a sub-command; its answer goes to `out`.
pub fn run(command: Command, out: &mut dyn Write) -> Result<(), CommandError> {
    match command {
        Command::Check(arguments) => check::run(&arguments, out),
        Command::Config(command) => config::run(command, out),
        Command::Topic(command) => topic::run(command, out),
        Command::Group(command) => group::run(command, out),
        Command::Txn(command) => txn::run(command, out),
        Command::Dirs(command) => dirs::run(command, out),
        Command::Produce(arguments) => produce::run(&arguments, out),
        Command::Consume(arguments) => consume::run(&arguments, out),
        Command::Dump(arguments) => dump::run(&arguments, out),
        Command::Backup(arguments) => backup::run(&arguments, out),
        Command::Restore(arguments) => backup::restore::run(&arguments, out),
    }
}
