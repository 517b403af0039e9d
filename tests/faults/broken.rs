//! Any change, or any read, of the disk fails: once, or from then on.

use std::sync::Arc;

use super::life::Machine;
use super::panics;
use super::support::faulty_files::Faults;
use super::support::simulated_disk::{Fault, Touch};

/// Fails once: whoever goes on must not count on what was to be written.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_fails_once_takes_nothing_that_clients_were_told() {
    fail_each(libc::EIO, false, 0).await;
}

/// A disk that gives up.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fails_for_good_takes_nothing_that_clients_were_told() {
    fail_each(libc::EIO, true, 0).await;
}

/// A file system that the kernel made read-only.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_becomes_read_only_takes_nothing_that_clients_were_told() {
    fail_each(libc::EROFS, true, 1).await;
}

/// Somebody takes the rights away.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_may_not_be_changed_any_more_takes_nothing_that_clients_were_told() {
    fail_each(libc::EACCES, true, 0).await;
}

/// One that lasts looks much the same from one change to the next: every other one is enough.
async fn fail_each(errno: i32, lasting: bool, first: usize) {
    let panics = panics::watch();
    let mut after = first;
    loop {
        let mut machine = Machine::new();
        machine.disk.break_at(Some(Fault { what: Touch::Change, after, lasting, errno }));
        let when = format!("error {errno} at change {after}, lasting: {lasting}");
        if let Ok(life) = machine.node.begin() {
            machine.live(&life).await;
            life.stop().await;
        }
        if machine.disk.count(Touch::Change) <= after {
            break;
        }
        // What was not synced, also by a sync that failed, is gone.
        let left = machine.disk.crashed(after as u64);
        machine.node.faults = Arc::new(Faults::of(Arc::new(left)));
        machine.told.check(&machine.node, &machine.clock, &when).await;
        panics.assert_quiet(&when);
        after += if lasting { 2 } else { 1 };
    }
    assert!(after > 150, "{after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_fails_harms_nothing_but_what_it_was_for() {
    let panics = panics::watch();
    let mut machine = Machine::new();
    let life = machine.node.start();
    machine.live(&life).await;
    life.stop().await;
    let mut after = 0;
    loop {
        let errno = libc::EIO;
        let when = format!("read {after} fails");
        let disk = machine.disk.crashed(0);
        machine.node.faults = Arc::new(Faults::of(Arc::new(disk.clone())));
        disk.break_at(Some(Fault { what: Touch::Read, after, lasting: false, errno }));
        if let Ok(life) = machine.node.begin() {
            for topic in ["kept", "cut", "expiring", "gone"] {
                let _ = life.read(topic, 0, 4).await;
            }
            life.crash().await;
        }
        let reads = disk.count(Touch::Read);
        disk.break_at(None);
        machine.told.check(&machine.node, &machine.clock, &when).await;
        panics.assert_quiet(&when);
        if reads <= after {
            break;
        }
        after += 1;
    }
    assert!(after > 10, "{after}");
}
