//! A file system that is really full: a small tmpfs in a namespace of our own, and a small ext4 on a loop device where that can be
//! had. The test starts itself again inside of each.

use std::path::{Path, PathBuf};
use std::process::Command;

use highwater::broker::{Acks, PartitionAppendError, ProduceError};
use highwater::log::AppendError;
use tempfile::TempDir;

use super::support::batches::batch;
use super::support::broker::{Life, Node, now};

/// Where the volume is mounted, for the test inside.
const VOLUME: &str = "HIGHWATER_FULL_VOLUME";
/// Set by whoever accepts that no volume can be had on this machine.
const WITHOUT: &str = "HIGHWATER_WITHOUT_FULL_VOLUME";
const INSIDE: &str = "full_volume::inside_of_a_small_volume";
const VOLUME_BYTES: usize = 12 << 20;

/// How to get a small volume; `$0` is the program to run, `$1` where to mount.
const WAYS: [(&str, &[&str], &str); 3] = [
    ("tmpfs", &["-rm"], "mount -t tmpfs -o size=12m none \"$1\""),
    ("tmpfs as root", &["-m"], "mount -t tmpfs -o size=12m none \"$1\""),
    (
        "ext4 on a loop device",
        &["-m"],
        "truncate -s 12M \"$1.img\" && mkfs.ext4 -q -F \"$1.img\" && mount -o loop \"$1.img\" \"$1\"",
    ),
];

#[test]
fn a_broker_on_a_full_volume_waits_for_room() {
    let mut had = Vec::new();
    for (name, flags, mount) in WAYS {
        // Root has the first as well as the second.
        if name == "tmpfs as root" && had.contains(&"tmpfs") {
            continue;
        }
        if !run(flags, mount, "true").status.success() {
            println!("no {name} on this machine");
            continue;
        }
        let test = format!("exec \"$0\" --exact {INSIDE} --nocapture");
        let output = run(flags, mount, &test);
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}{errors}");
        assert!(said.contains("the volume was full"), "{name} was not tried: {said}");
        println!("tried on {name}");
        had.push(name);
    }
    let accepted = std::env::var_os(WITHOUT).is_some();
    assert!(
        !had.is_empty() || accepted,
        "no small volume can be had here; set {WITHOUT} to accept"
    );
}

/// Runs a command of the shell where the volume is mounted.
fn run(flags: &[&str], mount: &str, then: &str) -> std::process::Output {
    let directory = TempDir::new().unwrap();
    let at = directory.path().join("volume");
    std::fs::create_dir(&at).unwrap();
    let script = format!("{mount} >&2 && {then}");
    let mut command = Command::new("unshare");
    command.args(flags).args(["sh", "-c", &script]).arg(std::env::current_exe().unwrap()).arg(&at);
    command.env(VOLUME, &at).output().unwrap_or_else(|error| panic!("unshare: {error}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn inside_of_a_small_volume() {
    let Some(volume) = std::env::var_os(VOLUME).map(PathBuf::from) else { return };
    let node = Node { directories: TempDir::new_in(&volume).unwrap().into(), ..Node::new() };
    let life = node.start();
    life.create("t", 1, &[]);
    let kept = life.send_value("t", "kept").await;
    fill(&life, "ballast").await;
    println!("the volume was full");
    assert_eq!(life.values("t", 0, 0).await, [(kept.get(), "kept".into())], "reads go on");
    assert!(!life.is_offline() && !life.shutdown.is_requested());
    // What makes room is a change of the metadata, which find some on a full disk too.
    life.delete("ballast");
    life.broker.run_due_jobs();
    let next = sent_once_there_is_room(&life).await;
    assert_eq!(next, kept.plus(1), "what was refused has taken no offset");
    life.stop().await;

    let life = node.start();
    assert_eq!(life.values("t", 0, 0).await.len(), 2);
    fill(&life, "more").await;
    life.crash().await;
    start_without_room(&node, &volume).await;
}

/// Fills what a killed broker left free, then starts the next one.
async fn start_without_room(node: &Node, volume: &Path) {
    let filler = volume.join("filler");
    let full = std::fs::write(&filler, vec![1; VOLUME_BYTES]);
    assert!(full.is_err(), "the volume is smaller than that");
    match node.begin() {
        Ok(life) => {
            assert_eq!(life.values("t", 0, 0).await.len(), 2);
            life.crash().await;
        }
        Err(error) => println!("refused: {error}"),
    }
    std::fs::remove_file(filler).unwrap();
    let life = node.start();
    life.delete("more");
    life.broker.run_due_jobs();
    sent_once_there_is_room(&life).await;
    assert_eq!(life.values("t", 0, 0).await.len(), 3);
    life.stop().await;
    node.check();
}

/// Sends until there is no room, not even for a small record.
async fn fill(life: &Life, topic: &str) {
    life.create(topic, 1, &[("segment.bytes", "2000000"), ("file.delete.delay.ms", "0")]);
    for bytes in [500_000, 20_000, 500] {
        let records = batch(&[(&vec![b'v'; bytes], now())], None);
        let mut sent = 0;
        while is_taken(life, topic, &records).await {
            sent += bytes;
            assert!(sent < 2 * VOLUME_BYTES, "the volume has no end");
        }
    }
}

async fn is_taken(life: &Life, topic: &str, records: &[u8]) -> bool {
    match life.send(topic, 0, Acks::All, records).await {
        Ok(_) => true,
        Err(ProduceError::Append(PartitionAppendError::Log(AppendError::NoRoom(_)))) => false,
        Err(other) => panic!("{other:?}"),
    }
}

/// The deleted topic's files are removed in the background.
async fn sent_once_there_is_room(life: &Life) -> highwater::types::Offset {
    let records = batch(&[(b"again", now())], None);
    loop {
        match life.send("t", 0, Acks::All, &records).await {
            Ok(appended) => return appended.base_offset,
            Err(ProduceError::Append(PartitionAppendError::Log(AppendError::NoRoom(_)))) => {
                life.broker.run_due_jobs();
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}
