//! Loads a broker with raw, pre-encoded requests, so that what is measured is the broker and not a client library.
//!
//! ```text
//! cargo build --release && cargo run --release --example load -- raw --size 1024 --partitions 6 --connections 4
//! cargo run --release --example load -- single --durability fsync
//! cargo run --release --example load -- rate --broker 127.0.0.1:9092 --pid 4711      # a broker that runs already
//! cargo run --release --example load -- start --broker 127.0.0.1:9092 --command "program arguments"
//! ```
//!
//! On a machine where load and broker share cores, broker CPU for each record is the figure to compare; records for each
//! second are not. Every case that produces checks that what was acknowledged is there. `benches/compare` runs these cases on
//! two brokers in turn.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    missing_docs,
    reason = "a program of its own, with clocks, threads and standard output"
)]

mod bare;
mod batches;
mod broker;
mod client;
mod connections;
mod fetcher;
mod first_records;
mod groups;
mod machine;
mod open_loop;
mod partitions;
mod raw;
mod reading;
mod report;
mod single;
mod start;
mod topics;
mod transactions;
mod wire;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use broker::Target;
use report::Report;

/// Loads a broker with raw, pre-encoded requests and says what that cost.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    how: How,
    #[command(subcommand)]
    case: Case,
}

/// The broker: a running one, one that `--command` starts, or else Highwater on an empty directory.
#[derive(Args)]
struct Which {
    /// Address of the broker.
    #[arg(long, global = true)]
    broker: Option<String>,
    /// Process id of a broker that runs already, to read its CPU time and memory.
    #[arg(long, global = true)]
    pid: Option<i32>,
    /// Starts the broker; words separated by blanks.
    #[arg(long, global = true)]
    command: Option<String>,
    /// The Highwater to start.
    #[arg(long, global = true, default_value = "target/release/highwater")]
    binary: PathBuf,
    /// Where it keeps its data; below a new temporary directory unless given.
    #[arg(long, global = true)]
    directory: Option<PathBuf>,
    /// Its durability: os or fsync.
    #[arg(long, global = true, default_value = "os")]
    durability: String,
}

#[derive(Args)]
struct How {
    /// Seconds that the broker is loaded.
    #[arg(long, global = true, default_value_t = 3.0)]
    seconds: f64,
    /// Largest segment of the connections; as the route has it, 64 KiB on a loopback, unless given. On an Ethernet it is 1448.
    #[arg(long, global = true, default_value_t = 0)]
    segment_bytes: u32,
    /// One line of JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Case {
    /// Pre-encoded Produce requests as fast as the broker takes them, read back afterwards.
    Raw(raw::Load),
    /// One record in flight.
    Single(single::Load),
    /// A burst each millisecond, whether or not the last ones are answered; latency counts from the due time.
    Rate(open_loop::Load),
    /// Reads a topic from its beginning.
    CatchUp(reading::CatchUp),
    /// Readers at the end of a topic that grows at a fixed rate.
    Tail(reading::Tail),
    /// A producer of librdkafka.
    Client(client::Load),
    /// Connections that say nothing, and a producer beside them.
    Idle(connections::Load),
    /// Many partitions: create, fill, stop, start, kill, start.
    Partitions(partitions::Load),
    /// How soon the member of a new group has its first record.
    FirstRecords,
    /// How soon a broker answers, and what it takes when it does nothing.
    Start,
    /// Everything for a while, so that compilers at run time have seen it.
    Warm,
    /// 20,000 commits a second.
    Commits,
    /// 1,000 members of one group.
    Members,
    /// 1,000 groups of one member.
    Groups,
    /// Transactions of version 2 (KIP-890), 1,000 a second.
    Transactions,
    /// The same of version 1.
    Transactions1,
    /// What the machine itself can do.
    Machine,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(report) if options.how.json => println!("{}", report.json()),
        Ok(report) => println!("{report}"),
        Err(error) => {
            eprintln_error(&error);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

#[allow(clippy::print_stderr, reason = "what went wrong is no result")]
fn eprintln_error(error: &io::Error) {
    eprintln!("{error}");
}

fn run(options: &Options) -> io::Result<Report> {
    let seconds = options.how.seconds;
    wire::set_segment_bytes(options.how.segment_bytes);
    match &options.case {
        Case::Machine => return machine::measure(options.which.directory.as_deref()),
        Case::Start => return start::start(Target::to_start(&options.which)?),
        Case::Partitions(load) => {
            let mut target = Target::to_start(&options.which)?;
            target.start_again()?;
            return load.run(&mut target);
        }
        _ => {}
    }
    let target = Target::of(&options.which)?;
    let directory = options.which.directory.as_deref();
    match &options.case {
        Case::Raw(load) => load.run(&target, seconds, directory),
        Case::Single(load) => load.run(&target, seconds, directory),
        Case::Rate(load) => load.run(&target, seconds),
        Case::CatchUp(load) => load.run(&target),
        Case::Tail(load) => load.run(&target, seconds),
        Case::Client(load) => load.run(&target, seconds),
        Case::Idle(load) => load.run(&target, seconds),
        Case::FirstRecords => first_records::first_records(&target),
        Case::Warm => raw::warm(&target, seconds),
        Case::Commits => groups::commits(&target, seconds as u64),
        Case::Members => groups::members(&target, seconds as u64),
        Case::Groups => groups::single_member_groups(&target, seconds as u64),
        Case::Transactions => {
            transactions::transactions(&target, seconds as u64, transactions::Version::V2)
        }
        Case::Transactions1 => {
            transactions::transactions(&target, seconds as u64, transactions::Version::V1)
        }
        Case::Start | Case::Partitions(_) | Case::Machine => Ok(Report::default()),
    }
}
