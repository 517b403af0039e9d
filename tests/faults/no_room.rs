//! The disk is full, or no file may be opened any more, from any moment of a life on; then there is room again.

use super::life::Machine;
use super::panics;
use super::support::broker::Life;
use super::support::simulated_disk::{Fault, Touch};

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_full_at_any_byte_is_waited_for() {
    const STEP_BYTES: usize = 23;
    let mut limit = 0;
    loop {
        let mut machine = Machine::new();
        machine.disk.limit(limit);
        let when = format!("full at {limit} bytes");
        let full = live_and_recover(&mut machine, &when, |machine| {
            let full = machine.disk.used_bytes() + 200 > limit;
            machine.disk.limit(usize::MAX);
            full
        });
        if !full.await {
            break;
        }
        limit += STEP_BYTES;
    }
    assert!(limit > 2_000, "{limit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptors_that_run_out_at_any_file_are_waited_for() {
    let mut after = 0;
    loop {
        let mut machine = Machine::new();
        let errno = libc::EMFILE;
        machine.disk.break_at(Some(Fault { what: Touch::Open, after, lasting: true, errno }));
        let when = format!("no descriptor from file {after} on");
        let hit = live_and_recover(&mut machine, &when, |machine| {
            let hit = machine.disk.count(Touch::Open) > after;
            machine.disk.break_at(None);
            hit
        });
        if !hit.await {
            break;
        }
        after += 1;
    }
    assert!(after > 50, "{after}");
}

/// What closing a log writes finds no room: the next start must not take the stop for a clean one.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_without_room_is_not_clean_and_loses_nothing() {
    let mut machine = Machine::new();
    let life = machine.node.start();
    machine.live(&life).await;
    machine.disk.limit(machine.disk.used_bytes());
    life.stop().await;
    assert!(machine.node.names(".kafka_cleanshutdown").is_empty());
    machine.disk.limit(usize::MAX);
    machine.told.check(&machine.node, &machine.clock, "a stop without room").await;
}

/// A life in which room runs out; then `relieve` makes some, and the same life must go on. What `relieve` said.
async fn live_and_recover(
    machine: &mut Machine,
    when: &str,
    relieve: impl Fn(&Machine) -> bool,
) -> bool {
    let panics = panics::watch();
    let Some(life) = try_start(machine) else {
        relieve(machine);
        machine.told.check(&machine.node, &machine.clock, when).await;
        return true;
    };
    machine.live(&life).await;
    let ran_out = relieve(machine);
    assert!(!life.is_offline() && !life.shutdown.is_requested(), "{when}: it gave up");
    life.create("relief", 1, &[]);
    life.send_value("relief", "there is room again").await;
    life.stop().await;
    assert_eq!(machine.node.names(".kafka_cleanshutdown").len(), 1, "{when}");
    machine.told.check(&machine.node, &machine.clock, when).await;
    panics.assert_quiet(when);
    ran_out
}

fn try_start(machine: &Machine) -> Option<Life> {
    machine.node.begin().ok()
}
