//! The power goes between any two changes of the disk, while topics are made, rolled, expired, cut and deleted.

use std::sync::Arc;

use super::life::Machine;
use super::panics;
use super::support::faulty_files::Faults;

/// States that a cut may have left, for each of them.
const CRASHES: u64 = 2;
/// Tests that share the cuts.
const SHARES: usize = 2;

#[tokio::test(flavor = "multi_thread")]
async fn at_any_even_step_it_takes_nothing_that_clients_were_told() {
    cut_at_each_of(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_any_odd_step_it_takes_nothing_that_clients_were_told() {
    cut_at_each_of(1).await;
}

async fn cut_at_each_of(share: usize) {
    let panics = panics::watch();
    let mut at = share;
    loop {
        let mut machine = Machine::new();
        machine.disk.cut_power_at(at);
        let life = machine.node.start();
        machine.live(&life).await;
        life.stop().await;
        if machine.disk.has_power() {
            break;
        }
        for crash in 0..CRASHES {
            let when = format!("power cut at change {at}, crash {crash}");
            let seed = at as u64 * 31 + crash;
            let left = machine.disk.when_power_went(seed).expect("it went");
            machine.node.faults = Arc::new(Faults::of(Arc::new(left)));
            machine.told.check(&machine.node, &machine.clock, &when).await;
            panics.assert_quiet(&when);
        }
        at += SHARES;
    }
    println!("{at} changes");
    assert!(at > 150, "a life changed next to nothing: {at}");
}
