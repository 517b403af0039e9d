//! A broker in 64 MiB, under two hundred clients that want more than it can take: it slows them, and neither dies nor loses
//! anything that it acknowledged.
//!
//! ```text
//! cargo test --release --test overload -- --nocapture                           # seconds
//! HIGHWATER_OVERLOAD_ROUNDS=100 cargo test --release --test overload -- --nocapture
//! ```
//!
//! The limit is a control group's where this process may make one (root, in most containers): above it the kernel kills, page
//! cache included in what it counts. Where it may not, the most that was ever resident is compared with the limit.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine, clients and the operator"
)]

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "../support/batches.rs"]
mod batches;
mod clients;
mod ledger;
mod limit;
mod probe;
#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "../app/process.rs"]
mod process;
#[path = "../support/processes.rs"]
mod processes;
#[path = "../support/raw.rs"]
mod raw;

use std::sync::Arc;
use std::time::Duration;

use clients::Clients;
use ledger::Ledger;
use limit::MemoryLimit;
use process::Process;
use processes::create_topic;

const LIMIT_BYTES: u64 = 64 << 20;
/// Given where there is no group: in one the broker finds by itself what it may take.
const BUDGET: &str = "24MiB";
const PARTITIONS: i32 = 64;
/// Of load, in each round.
const ROUND: Duration = Duration::from_secs(8);

fn rounds() -> usize {
    let given = std::env::var("HIGHWATER_OVERLOAD_ROUNDS");
    given.map_or(1, |text| text.parse().expect("a number"))
}

#[test]
fn two_hundred_clients_cannot_kill_a_broker_in_64_mib_and_nothing_acknowledged_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let limit = MemoryLimit::new(LIMIT_BYTES);
    println!("limit: {limit:?}");
    let mut variables = vec![("RUST_LOG", "error")];
    if limit.group().is_none() {
        variables.push(("HIGHWATER_MEMORY_BYTES", BUDGET));
    }
    let mut broker = Process::start_in_group(directory.path(), &variables, limit.group());
    let address = broker.address().to_string();
    for round in 0..rounds() {
        let topic = format!("overload-{round}");
        create_topic(&address, &topic, PARTITIONS);
        let ledger = Arc::new(Ledger::default());
        let clients = Clients::start(&address, &topic, &ledger);
        std::thread::sleep(ROUND);
        assert_eq!(broker.ended(), None, "round {round}: {}", limit.tell(broker.id()));
        let told = clients.stop();
        assert_eq!(broker.ended(), None, "round {round}: {}", limit.tell(broker.id()));
        println!("round {round}: {told}; {}", limit.tell(broker.id()));
        ledger.assert_kept(&address, &topic, PARTITIONS);
        println!("round {round}: {ledger}");
        limit.assert_kept(broker.id());
        clients::delete_topic(&address, &topic);
    }
    broker.signal(libc::SIGTERM);
    assert_eq!(broker.wait(), Some(0), "a clean stop");
}

#[test]
fn clients_that_read_nothing_or_send_a_byte_a_second_cost_others_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut broker = Process::start(directory.path(), &[("RUST_LOG", "error")]);
    let address = broker.address().to_string();
    create_topic(&address, "probe", 1);
    create_topic(&address, "silent", PARTITIONS);
    let alone = probe::round_trips(&address, "probe");
    let silent = Clients::start_silent(&address, "silent");
    let beside = probe::round_trips(&address, "probe");
    println!("{}", silent.stop());
    let again = probe::round_trips(&address, "probe");
    println!("alone {alone}, beside silent clients {beside}, alone again {again}");
    beside.assert_like([alone, again]);
    broker.signal(libc::SIGTERM);
    assert_eq!(broker.wait(), Some(0), "a clean stop");
}
