//! Measures a broker with raw, pre-encoded requests: what the broker costs, not what a client library costs.
//!
//! ```text
//! cargo build --release && cargo run --release --example load                 # all cases, fsync and os
//! cargo run --release --example load -- --cases rate,single --durability fsync
//! cargo run --release --example load -- --broker 127.0.0.1:9092 --pid 4711    # a broker that runs already
//! ```
//!
//! On a machine where load and broker share cores, broker CPU for each record is the figure to compare; records for each
//! second are not. Every case checks that as many records are in the log as were acknowledged.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    missing_docs,
    reason = "a program of its own, with clocks, threads and standard output"
)]

mod broker;
mod cases;
mod groups;
mod partitions;
mod transactions;
mod wire;

use std::path::PathBuf;

use clap::Parser;

use broker::Target;
use cases::CASES;

/// Measures a broker with raw, pre-encoded requests.
#[derive(Parser)]
struct Options {
    /// Address of a running broker; without it one is started for each case, on an empty directory.
    #[arg(long)]
    broker: Option<String>,
    /// Process id of that broker, to read its CPU time.
    #[arg(long, requires = "broker")]
    pid: Option<i32>,
    /// The binary to start.
    #[arg(long, default_value = "target/release/highwater")]
    binary: PathBuf,
    /// Where it keeps its data; below a new temporary directory unless given.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Durability modes to run each case with.
    #[arg(long, value_delimiter = ',', default_value = "os,fsync")]
    durability: Vec<String>,
    /// Cases to run, all by default: bulk100, bulk1024, small, rate, single, fetch, partitions, commits, members,
    /// groups, transactions, transactions1.
    #[arg(long, value_delimiter = ',')]
    cases: Vec<String>,
    /// Seconds that each case loads the broker.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
}

fn main() {
    let options = Options::parse();
    println!("case          mode   result");
    let modes =
        if options.broker.is_some() { vec!["-".to_owned()] } else { options.durability.clone() };
    for (name, case) in CASES {
        if !options.cases.is_empty() && !options.cases.iter().any(|chosen| chosen == name) {
            continue;
        }
        for mode in &modes {
            let mut target = target(&options, mode);
            let result = case(&mut target, options.seconds)
                .unwrap_or_else(|error| format!("FAILED: {error}"));
            println!("{name:<13} {mode:<6} {result}");
        }
    }
}

fn target(options: &Options, durability: &str) -> Target {
    match &options.broker {
        Some(address) => Target::running(address.clone(), options.pid),
        None => Target::start(&options.binary, options.directory.as_deref(), durability),
    }
}
