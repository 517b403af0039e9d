//! Partitions that move to another log directory while they are written and read; killed at every step.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use highwater::broker::{Acks, Lookup, MoveRequestError, Partition};
use highwater::env::{Random, SeededRandom};
use highwater::types::{PartitionIndex, TopicName, TopicPartition};
use support::batches::{Sender, batch};
use support::broker::{Life, NODE, Node, now};

fn sequenced(text: &str, sequence: i32) -> Vec<u8> {
    let sender = Sender { id: 7, epoch: 0, sequence, transactional: false };
    batch(&[(text.as_bytes(), now())], Some(sender))
}

fn name(topic: &str) -> TopicPartition {
    TopicPartition { topic: TopicName::new(topic).unwrap(), partition: PartitionIndex::new(0) }
}

fn open(life: &Life, topic: &str) -> Arc<Partition> {
    match life.find(topic, 0) {
        Lookup::Open(partition) => partition,
        Lookup::Closed(closed) => closed.open().unwrap(),
        Lookup::Unknown => panic!("{topic} is there"),
    }
}

fn place(life: &Life, topic: &str) -> PathBuf {
    open(life, topic).directory().path().to_owned()
}

fn begin_move(life: &Life, topic: &str, to: &std::path::Path) -> Result<(), MoveRequestError> {
    life.broker.move_partition(&name(topic), &to.to_string_lossy())
}

/// Waits for the end of a move, however it ends.
async fn ended(life: &Life, topic: &str) {
    let broker = Arc::clone(&life.broker);
    let name = name(topic);
    tokio::task::spawn_blocking(move || broker.moves.wait_for(&name)).await.unwrap();
}

fn elsewhere(node: &Node, life: &Life, topic: &str) -> PathBuf {
    let here = place(life, topic);
    node.paths().into_iter().find(|path| *path != here).unwrap()
}

/// Directories of the partition in all log directories, by kind.
fn directories(node: &Node, topic: &str) -> (Vec<PathBuf>, Vec<String>) {
    let (mut current, mut others) = (Vec::new(), Vec::new());
    for path in node.paths() {
        for entry in std::fs::read_dir(&path).unwrap() {
            let found = entry.unwrap().file_name().into_string().unwrap();
            if found == format!("{topic}-0") {
                current.push(path.clone());
            } else if found.starts_with(&format!("{topic}-0.")) {
                others.push(found.rsplit('-').next().unwrap().to_owned());
            }
        }
    }
    (current, others)
}

fn named(life: &Life, topic: &str) -> PathBuf {
    let image = life.broker.metadata.image();
    let id = image.topic(topic).unwrap().partitions[0].directory_of(NODE).unwrap();
    let mut all = life.broker.partitions.directories().iter();
    all.find(|directory| directory.id() == id).unwrap().path().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_moves_with_everything_and_the_next_start_finds_it_there() {
    let node = Node::with_directories(2);
    let life = node.start();
    life.create("t", 1, &[("segment.bytes", "1000"), ("file.delete.delay.ms", "0")]);
    for sequence in 0..40 {
        life.send("t", 0, Acks::All, &sequenced(&format!("{sequence}"), sequence)).await.unwrap();
    }
    let (from, to) = (place(&life, "t"), elsewhere(&node, &life, "t"));
    let before = life.values("t", 0, 0).await;
    begin_move(&life, "t", &to).unwrap();
    ended(&life, "t").await;
    assert_eq!(place(&life, "t"), to);
    assert_eq!(named(&life, "t"), to);
    assert_eq!(life.values("t", 0, 0).await, before);
    assert_eq!(life.broker.metrics.moves_made.get(), 1);
    // Of the idempotent producer everything is known: the last batch again is a duplicate, the next one follows.
    assert!(life.send("t", 0, Acks::All, &sequenced("39", 39)).await.unwrap().duplicate);
    life.send("t", 0, Acks::All, &sequenced("40", 40)).await.unwrap();
    assert_eq!(directories(&node, "t").0, std::slice::from_ref(&to));
    life.broker.run_due_jobs();
    while !directories(&node, "t").1.is_empty() {
        // Housekeeping took the job before, and is at it.
        tokio::task::yield_now().await;
    }
    // There and back again.
    begin_move(&life, "t", &from).unwrap();
    ended(&life, "t").await;
    assert_eq!(place(&life, "t"), from);
    life.stop().await;

    let life = node.start();
    assert_eq!(place(&life, "t"), from);
    assert_eq!(life.values("t", 0, 0).await.len(), 41);
    assert!(life.send("t", 0, Acks::All, &sequenced("40", 40)).await.unwrap().duplicate);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_after_a_move_loses_nothing_and_deleted_records_stay_deleted() {
    let node = Node::with_directories(2);
    let life = node.start();
    life.create("t", 1, &[("segment.bytes", "1000")]);
    for sequence in 0..40 {
        life.send("t", 0, Acks::All, &sequenced(&format!("{sequence}"), sequence)).await.unwrap();
    }
    let before = highwater::types::Offset::new(17);
    let asked = highwater::broker::DeleteRecords { partition: life.find("t", 0), before };
    let deleted = life.broker.delete_records(vec![asked], support::broker::LONG).finish().await;
    assert_eq!(deleted[0].as_ref().unwrap(), &before);
    let to = elsewhere(&node, &life, "t");
    begin_move(&life, "t", &to).unwrap();
    ended(&life, "t").await;
    life.send("t", 0, Acks::All, &sequenced("40", 40)).await.unwrap();
    life.crash().await;
    let life = node.start();
    assert_eq!(place(&life, "t"), to);
    let values = life.values("t", 0, 17).await;
    assert_eq!((values.len(), values[0].0), (24, 17));
    assert!(life.read("t", 0, 16).await.is_err(), "deleted");
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn producers_and_consumers_notice_nothing_of_moves_to_and_fro() {
    const MOVES: usize = 12;
    let seed = 20_261_130;
    println!("seed {seed}");
    let random = SeededRandom::new(seed);
    let node = Node::with_directories(3);
    let life = Arc::new(node.start());
    life.create("t", 1, &[("segment.bytes", "4000"), ("file.delete.delay.ms", "0")]);
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let producer = tokio::spawn({
        let (life, done) = (Arc::clone(&life), Arc::clone(&done));
        async move {
            let mut sequence = 0;
            while !done.load(Ordering::Acquire) {
                let sent = life
                    .send("t", 0, Acks::All, &sequenced(&format!("{sequence}"), sequence))
                    .await
                    .expect("acknowledged");
                assert!(!sent.duplicate);
                assert_eq!(sent.base_offset.get(), i64::from(sequence));
                sequence += 1;
            }
            sequence
        }
    });
    let consumer = tokio::spawn({
        let (life, done) = (Arc::clone(&life), Arc::clone(&done));
        async move {
            let mut next = 0;
            while !done.load(Ordering::Acquire) {
                // From the middle on, again and again.
                let from = next / 2;
                let values = life.values("t", 0, from).await;
                for (at, (offset, value)) in values.iter().enumerate() {
                    assert_eq!(*offset, from + at as i64);
                    assert_eq!(*value, offset.to_string());
                }
                next = values.last().map_or(next, |(offset, _)| offset + 1);
                tokio::task::yield_now().await;
            }
        }
    });
    for _ in 0..MOVES {
        let to = node.paths().swap_remove((random.next_u64() % 3) as usize);
        begin_move(&life, "t", &to).unwrap();
        if !random.next_u64().is_multiple_of(4) {
            ended(&life, "t").await;
            assert_eq!(place(&life, "t"), to);
        }
        life.broker.run_due_jobs();
    }
    ended(&life, "t").await;
    done.store(true, Ordering::Release);
    let sent = producer.await.unwrap();
    consumer.await.unwrap();
    assert_eq!(life.values("t", 0, 0).await.len(), sent as usize);
    assert_eq!(directories(&node, "t").0.len(), 1);
    let life = Arc::into_inner(life).expect("nobody else has it");
    life.crash().await;
    let life = node.start();
    assert_eq!(life.values("t", 0, 0).await.len(), sent as usize);
    life.stop().await;
}

/// The disk stops to take part after so many steps, as if the process had been killed there.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_step_of_a_move_leaves_one_whole_partition() {
    let mut finished = 0;
    for steps in 0.. {
        let node = Node::with_directories(2);
        let life = node.start();
        life.create("t", 1, &[("segment.bytes", "400")]);
        for sequence in 0..6 {
            let record = sequenced(&format!("{sequence}"), sequence);
            life.send("t", 0, Acks::All, &record).await.unwrap();
        }
        let to = elsewhere(&node, &life, "t");
        node.faults.die_after(Some(steps));
        let begun = begin_move(&life, "t", &to);
        ended(&life, "t").await;
        let alive = node.faults.is_alive();
        assert!(begun.is_ok() || !alive);
        life.crash().await;
        node.faults.die_after(None);

        let life = node.start();
        let values = life.values("t", 0, 0).await;
        assert_eq!(values.len(), 6, "after {steps} steps");
        ended(&life, "t").await;
        assert_eq!(life.values("t", 0, 0).await.len(), 6, "after {steps} steps");
        life.send("t", 0, Acks::All, &sequenced("6", 6)).await.unwrap();
        let (current, others) = directories(&node, "t");
        assert_eq!(current, [place(&life, "t")], "after {steps} steps");
        assert_eq!(named(&life, "t"), current[0]);
        assert!(others.iter().all(|kind| kind == "delete"), "after {steps} steps: {others:?}");
        finished += usize::from(current[0] == to);
        life.stop().await;
        if alive {
            assert_eq!(current, [to]);
            println!(
                "{steps} steps; {finished} of the kills left the partition in the new directory"
            );
            return;
        }
        assert!(steps < 500, "it comes to an end");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_back_calls_a_move_off_and_removes_the_copy() {
    let node = Node::with_directories(2);
    let life = node.start();
    life.create("t", 1, &[]);
    life.send("t", 0, Acks::All, &sequenced("0", 0)).await.unwrap();
    let (from, to) = (place(&life, "t"), elsewhere(&node, &life, "t"));
    // The copy waits for its sync.
    node.faults.hold_syncs();
    begin_move(&life, "t", &to).unwrap();
    let described = life.broker.directory_usage();
    let futures = described.iter().flat_map(|usage| &usage.partitions).filter(|p| p.is_future);
    assert_eq!(futures.count(), 1);
    let broker = Arc::clone(&life.broker);
    let (name, back) = (name("t"), from.to_string_lossy().into_owned());
    let called_off = tokio::task::spawn_blocking(move || broker.move_partition(&name, &back));
    node.faults.release_syncs();
    called_off.await.unwrap().unwrap();
    ended(&life, "t").await;
    assert_eq!(place(&life, "t"), from);
    life.broker.moves.close();
    let (current, others) = directories(&node, "t");
    assert_eq!((current, others.iter().filter(|kind| *kind == "future").count()), (vec![from], 0));
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_the_topic_ends_its_move() {
    let node = Node::with_directories(2);
    let life = node.start();
    life.create("t", 1, &[("file.delete.delay.ms", "0")]);
    life.send("t", 0, Acks::All, &sequenced("0", 0)).await.unwrap();
    let to = elsewhere(&node, &life, "t");
    node.faults.hold_syncs();
    begin_move(&life, "t", &to).unwrap();
    let life = Arc::new(life);
    let deleting = tokio::task::spawn_blocking({
        let life = Arc::clone(&life);
        move || life.delete("t")
    });
    node.faults.release_syncs();
    deleting.await.unwrap();
    ended(&life, "t").await;
    life.broker.run_due_jobs();
    life.broker.moves.close();
    // The housekeeping thread may be at the removal at this very moment.
    while !directories(&node, "t").1.is_empty() {
        life.broker.run_due_jobs();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(directories(&node, "t").0, Vec::<PathBuf>::new());
    Arc::into_inner(life).expect("nobody else has it").stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_fails_or_is_full_leaves_the_partition_where_it_is() {
    let node = Node::with_directories(2);
    let life = node.start();
    life.create("t", 1, &[]);
    life.send("t", 0, Acks::All, &sequenced("0", 0)).await.unwrap();
    let (from, to) = (place(&life, "t"), elsewhere(&node, &life, "t"));
    node.faults.full_when_cleaning.store(true, Ordering::SeqCst);
    begin_move(&life, "t", &to).unwrap();
    ended(&life, "t").await;
    node.faults.full_when_cleaning.store(false, Ordering::SeqCst);
    assert_eq!(place(&life, "t"), from);
    assert_eq!(life.broker.metrics.moves_failed.get(), 1);
    assert_eq!(directories(&node, "t").1, Vec::<String>::new(), "no copy is left");
    assert!(life.broker.health.offline().is_empty(), "a full disk is no broken one");

    if to != node.path() {
        node.faults.break_below(Some(&to));
        let failed = begin_move(&life, "t", &to);
        assert!(matches!(failed, Err(MoveRequestError::Failed(_))), "{failed:?}");
        assert_eq!(life.broker.health.offline().len(), 1);
        assert_eq!(place(&life, "t"), from);
        life.send("t", 0, Acks::All, &sequenced("1", 1)).await.unwrap();
        let refused = begin_move(&life, "t", &to);
        assert!(matches!(refused, Err(MoveRequestError::Offline)), "{refused:?}");
    }
    node.faults.break_below(None);
    life.crash().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_a_stop_interrupts_goes_on_at_the_next_start() {
    let node = Node::with_directories(2);
    let life = node.start();
    life.create("t", 1, &[]);
    life.send("t", 0, Acks::All, &sequenced("0", 0)).await.unwrap();
    let to = elsewhere(&node, &life, "t");
    node.faults.hold_syncs();
    begin_move(&life, "t", &to).unwrap();
    let broker = Arc::clone(&life.broker);
    let stopping = tokio::task::spawn_blocking(move || broker.close());
    // The stop has asked the mover to end before it waits for it.
    while !life.shutdown.is_requested() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    node.faults.release_syncs();
    stopping.await.unwrap();
    life.crash().await;
    let life = node.start();
    ended(&life, "t").await;
    assert_eq!(place(&life, "t"), to);
    assert_eq!(life.values("t", 0, 0).await.len(), 1);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_moved_is_said() {
    let node = Node::with_directories(2);
    let life = node.start();
    life.create("t", 1, &[]);
    let here = place(&life, "t");
    assert!(begin_move(&life, "t", &here).is_ok(), "it is there already");
    let refused = begin_move(&life, "t", std::path::Path::new("/nowhere"));
    assert!(matches!(refused, Err(MoveRequestError::NoSuchDirectory)), "{refused:?}");
    let refused = begin_move(&life, "missing", &here);
    assert!(matches!(refused, Err(MoveRequestError::UnknownPartition)), "{refused:?}");
    let refused = begin_move(&life, &"x".repeat(240), &here);
    assert!(matches!(refused, Err(MoveRequestError::NameTooLong)), "{refused:?}");
    life.stop().await;
}
