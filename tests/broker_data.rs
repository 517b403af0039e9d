//! The data path of a broker without sockets: acknowledgements and syncs, long polls, faults, restarts.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use highwater::broker::{
    Acks, DeleteRecords, FetchError, Lookup, OffsetQuery, PartitionAppendError, Produce,
    ProduceBatch, ProduceError, Step,
};
use highwater::env::ManualClock;
use highwater::log::AppendError;
use highwater::types::{LeaderEpoch, Offset};
use support::batches::{Sender, batch};
use support::broker::{LONG, Life, Node, now, only};

const OS: &[(&str, &str)] = &[("highwater.durability", "os")];

fn value(text: &str) -> Vec<u8> {
    batch(&[(text.as_bytes(), now())], None)
}

fn sequenced(text: &str, sequence: i32) -> Vec<u8> {
    let sender = Sender { id: 7, epoch: 0, sequence, transactional: false };
    batch(&[(text.as_bytes(), now())], Some(sender))
}

fn is_pending<T>(step: &Step<T>) -> bool {
    matches!(step, Step::Later(_))
}

/// A broker with topic `t`, whose partition has been opened and prepared by one record.
async fn started(node: &Node, partitions: usize, configs: &[(&str, &str)]) -> Life {
    let life = node.start();
    life.create("t", partitions, configs);
    for partition in 0..partitions {
        life.send("t", partition as i32, Acks::All, &value("first")).await.expect("acknowledged");
    }
    life
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acks_all_reply_waits_for_the_sync_and_consumers_see_nothing_before() {
    let node = Node::new();
    let life = started(&node, 1, &[]).await;
    node.faults.hold_syncs();
    let reply = life.produce("t", 0, Acks::All, &value("second"));
    assert!(is_pending(&reply));
    assert_eq!(life.values("t", 0, 0).await.len(), 1, "not durable, not visible");
    let latest = life.list("t", OffsetQuery::Latest);
    assert!(is_pending(&latest), "the end of the log waits for the sync, too");
    node.faults.release_syncs();
    assert_eq!(only(reply.finish().await).unwrap().base_offset, Offset::new(1));
    assert_eq!(only(latest.finish().await).unwrap().offset, Offset::new(2));
    assert_eq!(life.values("t", 0, 0).await, [(0, "first".into()), (1, "second".into())]);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn acks_one_does_not_wait_and_is_synced_all_the_same() {
    let node = Node::new();
    let life = started(&node, 1, &[]).await;
    node.faults.hold_syncs();
    assert!(matches!(life.produce("t", 0, Acks::Leader, &value("second")), Step::Now(_)));
    let waiting = life.fetch(life.fetch_of("t", 0, 1), Some(1));
    assert!(is_pending(&waiting));
    node.faults.release_syncs();
    let fetched = only(waiting.finish().await).unwrap();
    assert_eq!(fetched.high_watermark, Offset::new(2));
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn durability_os_neither_waits_nor_syncs() {
    let node = Node::new();
    let life = started(&node, 1, OS).await;
    node.faults.hold_syncs();
    assert!(matches!(life.produce("t", 0, Acks::All, &value("second")), Step::Now(_)));
    assert_eq!(life.values("t", 0, 1).await, [(1, "second".into())]);
    node.faults.release_syncs();
    life.stop().await;
}

/// A broker whose clock stands still until the test moves it, with topic `t`.
async fn started_in_frozen_time(configs: &[(&str, &str)]) -> (Node, Arc<ManualClock>, Life) {
    let (node, clock) = Node::in_frozen_time();
    let life = started(&node, 1, configs).await;
    life.create("probe", 1, &[]);
    (node, clock, life)
}

#[tokio::test(flavor = "multi_thread")]
async fn durability_interval_bounds_the_time_without_a_sync() {
    let configs = [
        ("highwater.durability", "interval"),
        ("highwater.durability.interval.ms", "200"),
        ("highwater.durability.interval.bytes", "1000000000"),
    ];
    let (_node, clock, life) = started_in_frozen_time(&configs).await;
    let synced = async |life: &Life| {
        life.broker.run_due_jobs();
        life.synced_so_far().await;
        life.synced_end("t", 0)
    };
    let begin = synced(&life).await;
    assert!(matches!(life.produce("t", 0, Acks::All, &value("second")), Step::Now(_)));
    assert_eq!(synced(&life).await, begin, "no time has passed");
    clock.advance_ms(199);
    assert_eq!(synced(&life).await, begin);
    clock.advance_ms(1);
    // Housekeeping may have taken the job already and be about to ask.
    while synced(&life).await != Offset::new(2) {}
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn durability_interval_bounds_the_bytes_without_a_sync() {
    let batch = value("as large as the others");
    let most = (3 * batch.len()).to_string();
    let configs = [
        ("highwater.durability", "interval"),
        ("highwater.durability.interval.ms", "3600000"),
        ("highwater.durability.interval.bytes", &most),
    ];
    let (_node, _clock, life) = started_in_frozen_time(&configs).await;
    life.synced_so_far().await;
    let begin = life.synced_end("t", 0);
    for sent in 1..=2 {
        assert!(matches!(life.produce("t", 0, Acks::All, &batch), Step::Now(_)));
        life.synced_so_far().await;
        assert_eq!(life.synced_end("t", 0), begin, "{sent} are below the bound");
    }
    for _ in 0..2 {
        assert!(matches!(life.produce("t", 0, Acks::All, &batch), Step::Now(_)), "none waits");
    }
    life.synced_so_far().await;
    assert!(life.synced_end("t", 0) > begin);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_stalls_is_kept_off_the_async_threads_for_a_while() {
    const A_WHILE_MS: i64 = 100;
    let (node, clock, life) = started_in_frozen_time(OS).await;
    let send = |life: &Life| life.produce("t", 0, Acks::All, &value("x"));
    node.faults.slow_writes(&clock, 5);
    assert!(matches!(send(&life), Step::Now(_)));
    assert!(matches!(send(&life), Step::Now(_)), "5 ms are no stall");
    node.faults.slow_writes(&clock, 6);
    assert!(matches!(send(&life), Step::Now(_)), "nobody knew");
    assert!(matches!(send(&life), Step::Now(_)), "one is a suspicion");
    node.faults.slow_writes(&clock, 0);
    for _ in 0..3 {
        let pooled = send(&life);
        assert!(matches!(pooled, Step::Serial(_)), "by way of the pool");
        only(pooled.finish().await).unwrap();
    }
    clock.advance_ms(A_WHILE_MS);
    assert!(matches!(send(&life), Step::Now(_)), "the disk is trusted again");
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flush_messages_holds_every_reply_for_the_sync() {
    let node = Node::new();
    let configs = [("highwater.durability", "os"), ("flush.messages", "2")];
    let life = started(&node, 1, &configs).await;
    node.faults.hold_syncs();
    let reply = life.produce("t", 0, Acks::Leader, &value("second"));
    assert!(is_pending(&reply), "two records are not synced");
    node.faults.release_syncs();
    only(reply.finish().await).unwrap();
    assert!(matches!(life.produce("t", 0, Acks::Leader, &value("third")), Step::Now(_)));
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_out_ends_the_wait_but_not_the_append() {
    let node = Node::new();
    let life = started(&node, 1, &[]).await;
    node.faults.hold_syncs();
    let reply = life.produce_within("t", 0, Acks::All, &value("second"), Duration::ZERO);
    assert!(matches!(only(reply.finish().await), Err(ProduceError::TimedOut)));
    node.faults.release_syncs();
    let latest = only(life.list("t", OffsetQuery::Latest).finish().await).unwrap();
    assert_eq!(latest.offset, Offset::new(2));
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_appended_while_earlier_replies_wait() {
    let node = Node::new();
    let life = started(&node, 1, &[]).await;
    node.faults.hold_syncs();
    let replies: Vec<_> =
        (0..50).map(|n| life.produce("t", 0, Acks::All, &value(&format!("v{n}")))).collect();
    let syncs_before = node.faults.syncs.load(Ordering::SeqCst);
    node.faults.release_syncs();
    for (n, reply) in replies.into_iter().enumerate() {
        let appended = only(reply.finish().await).unwrap();
        assert_eq!(appended.base_offset, Offset::new(n as i64 + 1));
    }
    let syncs = node.faults.syncs.load(Ordering::SeqCst) - syncs_before;
    assert!(syncs <= 2, "fifty appends formed at most two groups, not {syncs}");
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_is_answered_with_the_first_offset_once_that_is_durable() {
    let node = Node::new();
    let life = started(&node, 1, &[]).await;
    node.faults.hold_syncs();
    let first = life.produce("t", 0, Acks::All, &sequenced("a", 0));
    let again = life.produce("t", 0, Acks::All, &sequenced("a", 0));
    assert!(is_pending(&first) && is_pending(&again));
    node.faults.release_syncs();
    let (first, again) = (only(first.finish().await).unwrap(), only(again.finish().await).unwrap());
    assert_eq!((first.base_offset, again.base_offset), (Offset::new(1), Offset::new(1)));
    assert!(again.duplicate);
    let gap = life.send("t", 0, Acks::All, &sequenced("c", 2)).await;
    let refused = AppendError::OutOfOrderSequence(String::new());
    let Err(ProduceError::Append(PartitionAppendError::Log(error))) = gap else {
        panic!("a gap is refused: {gap:?}")
    };
    assert_eq!(std::mem::discriminant(&error), std::mem::discriminant(&refused));
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_producers_are_forgotten_after_the_time_that_was_set_last() {
    const EXPIRY_PASS_MS: i64 = 600_000;
    let (_node, clock, life) = started_in_frozen_time(&[]).await;
    life.send("t", 0, Acks::All, &sequenced("a", 0)).await.expect("the first");
    clock.advance_ms(EXPIRY_PASS_MS);
    life.broker.run_due_jobs();
    assert!(
        life.send("t", 0, Acks::All, &sequenced("b", 7)).await.is_err(),
        "a day has not passed"
    );
    // The next pass by the old time is minutes away.
    life.set_for_all_brokers("producer.id.expiration.ms", "1000");
    clock.advance_ms(1_250);
    // The pass runs here or in the background, whoever sees first that it is due.
    let forgotten = async {
        while life.send("t", 0, Acks::All, &sequenced("b", 7)).await.is_err() {
            life.broker.run_due_jobs();
        }
    };
    tokio::time::timeout(LONG, forgotten).await.expect("forgotten");
    life.stop().await;
}

/// As soon as Kafka's own `ProducerIdExpirationTest` wants it: five seconds after the ten.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_producer_is_known_for_half_its_time_longer_at_most() {
    let (mut node, clock) = Node::in_frozen_time();
    node.settings.producer_id_expiration_ms = 10_000;
    let life = started(&node, 1, &[]).await;
    // It goes silent between two passes.
    let sender = Sender { id: 7, epoch: 0, sequence: 0, transactional: false };
    let last = batch(&[(b"a", now() + 1_000)], Some(sender));
    life.send("t", 0, Acks::All, &last).await.expect("the first");
    for _ in 0..6 {
        clock.advance_ms(2_500);
        life.broker.run_due_jobs();
    }
    // A pass that is due may have been taken by the broker's own task.
    let forgotten = async {
        while life.send("t", 0, Acks::All, &sequenced("b", 7)).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, forgotten).await.expect("forgotten");
    life.stop().await;
}

/// Open `.log` files of a topic, as the system tells.
#[cfg(target_os = "linux")]
fn open_segments(node: &Node, topic: &str) -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
    let files = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let topic = node.path().join(topic).to_str().unwrap().to_owned();
    files
        .filter_map(|file| file.to_str().map(str::to_owned))
        .filter(|f| f.starts_with(&topic))
        .count()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_nobody_writes_to_holds_no_descriptor_and_no_tail() {
    const REST_MS: i64 = 10_000;
    const PARTITIONS: i32 = 30;
    for configs in [&[], OS] {
        let (node, clock, life) = started_in_frozen_time(&[]).await;
        life.create("wide", PARTITIONS as usize, configs);
        for partition in 0..PARTITIONS {
            life.send("wide", partition, Acks::All, &value("first")).await.expect("acknowledged");
        }
        assert_eq!(open_segments(&node, "wide-"), PARTITIONS as usize, "those just written to");
        let tails = life.broker.partitions.tail_bytes();
        assert!(tails <= 2_048 * (PARTITIONS as usize + 2), "{tails} bytes for a record in each");
        // The look runs here or in the background, whoever sees first that it is due.
        while open_segments(&node, "wide-") > 0 || life.broker.partitions.tail_bytes() > 0 {
            clock.advance_ms(REST_MS);
            life.broker.run_due_jobs();
        }
        let value = life.values("wide", 3, 0).await;
        assert_eq!(value.len(), 1, "it is read from its file");
        let second = life.send("wide", 3, Acks::All, &self::value("second")).await.unwrap();
        assert_eq!(second.base_offset, Offset::new(1), "and goes on where it was");
        life.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_sync_is_final() {
    let node = Node::new();
    let life = started(&node, 1, &[]).await;
    node.faults.hold_syncs();
    let reply = life.produce("t", 0, Acks::All, &value("lost"));
    let parked = life.fetch(life.fetch_of("t", 0, 1), Some(1));
    node.faults.sync_fails.store(true, Ordering::SeqCst);
    node.faults.release_syncs();
    assert!(matches!(only(reply.finish().await), Err(ProduceError::SyncFailed)));
    assert_eq!(only(parked.finish().await).unwrap_err(), FetchError::Storage);
    node.faults.sync_fails.store(false, Ordering::SeqCst);
    let next = life.send("t", 0, Acks::All, &value("refused")).await;
    assert!(matches!(next, Err(ProduceError::Append(PartitionAppendError::Offline))), "{next:?}");
    assert_eq!(life.read("t", 0, 0).await.unwrap_err(), FetchError::Storage);
    assert!(life.shutdown.is_requested(), "no log directory is left");
    life.stop().await;
    assert!(node.names(".kafka_cleanshutdown").is_empty(), "never marked as clean");
}

/// Something else finds out that the directory is of no use while the sync runs: who waits for the sync is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_fails_during_a_sync_holds_up_nobody_who_waits_for_it() {
    let node = Node::new();
    let life = node.start();
    life.create("t", 1, &[]);
    let directory = Arc::clone(&life.broker.partitions.directories()[0]);
    node.faults.before_directory_sync("t-0", move || directory.fail("a write elsewhere failed"));
    let record = value("lost");
    let sent = life.send("t", 0, Acks::All, &record);
    let sent = tokio::time::timeout(Duration::from_secs(20), sent).await.expect("an answer");
    assert!(matches!(sent, Err(ProduceError::SyncFailed)), "{sent:?}");
    life.crash().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_fails_is_answered_as_such_and_the_next_one_is_served() {
    let (node, clock, life) = started_in_frozen_time(&[]).await;
    // Its newest bytes leave memory once it rests.
    while life.broker.partitions.tail_bytes() > 0 {
        clock.advance_ms(10_000);
        life.broker.run_due_jobs();
    }
    node.faults.fail_next_read(|| ());
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(life.read("t", 0, 0).await.map(|fetched| fetched.records.len > 0));
    }
    assert_eq!(answers, [Err(FetchError::Storage), Ok(true), Ok(true)]);
    assert!(!life.is_offline());
    assert!(life.send_value("t", "second").await == Offset::new(1));
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_appends_serves_reads_and_recovers() {
    let node = Node::new();
    let life = started(&node, 1, &[]).await;
    node.faults.full.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        let refused = life.send("t", 0, Acks::All, &value("no room")).await;
        let Err(ProduceError::Append(PartitionAppendError::Log(AppendError::NoRoom(_)))) = refused
        else {
            panic!("the disk is full: {refused:?}")
        };
        assert_eq!(life.values("t", 0, 0).await.len(), 1);
    }
    assert_eq!(life.broker.metrics.no_room.get(), 3);
    node.faults.full.store(false, Ordering::SeqCst);
    assert_eq!(life.send_value("t", "room again").await, Offset::new(1));
    life.stop().await;
    let life = node.start();
    assert_eq!(life.values("t", 0, 0).await, [(0, "first".into()), (1, "room again".into())]);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_fetch_is_answered_by_the_append_that_it_lacks() {
    let node = Node::new();
    let life = started(&node, 2, OS).await;
    let one_size = life.read("t", 0, 0).await.unwrap().records.len;
    let fetch = highwater::broker::Fetch {
        wait: LONG,
        bytes_min: 2 * one_size,
        bytes_max: 1 << 20,
        isolation: highwater::log::Isolation::ReadUncommitted,
        partitions: vec![life.fetch_of("t", 0, 1), life.fetch_of("t", 1, 1)],
    };
    let parked = life.broker.fetch(fetch);
    assert!(is_pending(&parked));
    let parked = tokio::spawn(parked.finish());
    life.send("t", 0, Acks::All, &value("third")).await.unwrap();
    assert!(!parked.is_finished(), "half of what it wants");
    life.send("t", 1, Acks::All, &value("third")).await.unwrap();
    let answers = parked.await.unwrap();
    let lens: Vec<usize> = answers.into_iter().map(|answer| answer.unwrap().records.len).collect();
    assert_eq!(lens, [one_size, one_size]);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_fetch_gives_up_at_its_deadline() {
    let node = Node::new();
    let life = started(&node, 1, OS).await;
    let fetch = highwater::broker::Fetch {
        wait: Duration::from_millis(20),
        bytes_min: 1,
        bytes_max: 1 << 20,
        isolation: highwater::log::Isolation::ReadUncommitted,
        partitions: vec![life.fetch_of("t", 0, 1)],
    };
    let fetched = only(life.broker.fetch(fetch).finish().await).unwrap();
    assert_eq!((fetched.records.len, fetched.high_watermark), (0, Offset::new(1)));
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_that_finds_too_little_in_files_sleeps() {
    let node = Node::new();
    let life = started(&node, 1, OS).await;
    life.stop().await;
    let life = node.start();
    // Nothing is in memory after a start: the one record comes from its file.
    let parked = life.fetch(life.fetch_of("t", 0, 0), Some(100));
    let parked = tokio::spawn(parked.finish());
    while life.broker.metrics.fetches_waiting.get() == 0 {
        tokio::task::yield_now().await;
    }
    let reads = life.broker.metrics.reads.of(highwater::observe::ReadFrom::Files).get();
    assert_eq!(reads, 1, "one look, then a wait");
    life.send("t", 0, Acks::All, &value(&"x".repeat(100))).await.unwrap();
    let fetched = only(parked.await.unwrap()).unwrap();
    assert!(fetched.records.len > 200, "both records");
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_questions_are_answered_by_their_error() {
    let node = Node::new();
    let life = started(&node, 1, OS).await;
    let mut ahead = life.fetch_of("t", 0, 0);
    ahead.current_leader_epoch = LeaderEpoch::new(1000);
    let mut behind = ahead.clone();
    behind.current_leader_epoch = LeaderEpoch::new(-2);
    let cases = [
        (life.fetch_of("t", 0, 2), FetchError::OutOfRange),
        (life.fetch_of("t", 0, -5), FetchError::OutOfRange),
        (life.fetch_of("t", 1, 0), FetchError::UnknownPartition),
        (life.fetch_of("nothing", 0, 0), FetchError::UnknownPartition),
        (ahead, FetchError::UnknownLeaderEpoch),
        (behind, FetchError::FencedLeaderEpoch),
    ];
    for (asked, error) in cases {
        let answer = life.fetch(asked, Some(1)).finish().await;
        assert_eq!(only(answer).unwrap_err(), error, "an error does not wait");
    }
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_producers_and_consumers_agree_on_one_order() {
    const PRODUCERS: usize = 8;
    const EACH: usize = 60;
    let node = Node::new();
    let life = Arc::new(started(&node, 2, &[]).await);
    let mut tasks = Vec::new();
    for producer in 0..PRODUCERS {
        let life = Arc::clone(&life);
        tasks.push(tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for n in 0..EACH {
                let (partition, text) = (n % 2, format!("{producer}/{n}"));
                let acks = if n % 3 == 0 { Acks::Leader } else { Acks::All };
                let sent = life.send("t", partition as i32, acks, &value(&text)).await;
                acknowledged.push((partition, sent.unwrap().base_offset.get(), text));
            }
            acknowledged
        }));
    }
    let consumers = [0, 1].map(|partition| {
        let life = Arc::clone(&life);
        tokio::spawn(async move { consume(&life, partition, PRODUCERS * EACH / 2 + 1).await })
    });
    let mut acknowledged = Vec::new();
    for task in tasks {
        let sent = task.await.unwrap();
        let order: Vec<_> = sent.iter().filter(|(partition, ..)| *partition == 0).collect();
        assert!(order.windows(2).all(|pair| pair[0].1 < pair[1].1), "appended in order");
        acknowledged.extend(sent);
    }
    let [zero, one] = consumers;
    let read = [zero.await.unwrap(), one.await.unwrap()];
    for (partition, offset, text) in acknowledged {
        assert_eq!(read[partition][offset as usize], (offset, text));
    }
    Arc::into_inner(life).expect("all tasks have ended").stop().await;
}

/// Reads by long polls until `count` records are there.
async fn consume(life: &Life, partition: i32, count: usize) -> Vec<(i64, String)> {
    let mut read: Vec<(i64, String)> = Vec::new();
    while read.len() < count {
        let from = read.len() as i64;
        let fetch = life.fetch(life.fetch_of("t", partition, from), Some(1));
        let fetched = only(fetch.finish().await).expect("readable");
        let bytes = support::logs::bytes_of(&fetched.records);
        assert!(!bytes.is_empty(), "answered because there is something");
        read.extend(support::broker::values_in(&bytes));
    }
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_acknowledged_survives_a_stop_and_a_crash() {
    let node = Node::new();
    let life = started(&node, 1, &[]).await;
    life.send_value("t", "a").await;
    life.stop().await;
    let life = node.start();
    let earlier = life.values("t", 0, 0).await;
    assert_eq!(earlier, [(0, "first".into()), (1, "a".into())]);
    assert_eq!(life.send_value("t", "b").await, Offset::new(2));
    life.crash().await;
    let life = node.start();
    assert_eq!(life.values("t", 0, 1).await, [(1, "a".into()), (2, "b".into())]);
    assert_eq!(life.send_value("t", "c").await, Offset::new(3));
    life.stop().await;
    assert_eq!(node.names(".kafka_cleanshutdown").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_records_stay_deleted_after_a_crash() {
    let node = Node::new();
    let life = started(&node, 1, &[]).await;
    for text in ["a", "b", "c"] {
        life.send_value("t", text).await;
    }
    let delete = |life: &Life, before| {
        let asked = DeleteRecords { partition: life.find("t", 0), before: Offset::new(before) };
        life.broker.delete_records(vec![asked], LONG)
    };
    assert_eq!(only(delete(&life, 2).finish().await), Ok(Offset::new(2)));
    assert_eq!(life.read("t", 0, 1).await.unwrap_err(), FetchError::OutOfRange);
    assert!(only(delete(&life, 5).finish().await).is_err(), "beyond the end");
    assert_eq!(only(delete(&life, 1).finish().await), Ok(Offset::new(2)), "never goes back");
    life.crash().await;
    let life = node.start();
    let earliest = only(life.list("t", OffsetQuery::Earliest).finish().await).unwrap();
    assert_eq!(earliest.offset, Offset::new(2));
    assert_eq!(only(delete(&life, -1).finish().await), Ok(Offset::new(4)), "all of it");
    assert_eq!(life.values("t", 0, 4).await, []);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_that_are_damaged_count_as_lost() {
    let node = Node::new();
    let life = started(&node, 1, &[]).await;
    life.send_value("t", "a").await;
    let delete = DeleteRecords { partition: life.find("t", 0), before: Offset::new(1) };
    assert!(only(life.broker.delete_records(vec![delete], LONG).finish().await).is_ok());
    life.stop().await;
    for is_clean in [true, false] {
        for name in node.names("").iter().filter(|name| name.ends_with("-checkpoint")) {
            std::fs::write(node.path().join(name), "0\n1\nt 0 many\n").unwrap();
        }
        let life = node.start();
        assert_eq!(life.values("t", 0, 1).await, [(1, "a".into())], "clean: {is_clean}");
        assert_eq!(life.read("t", 0, 0).await.unwrap_err(), FetchError::OutOfRange);
        life.crash().await;
    }
    // A clean stop writes all of them anew, also where nothing happened.
    node.start().stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_starts_that_are_lost_are_found_also_of_logs_that_nobody_asks_for() {
    let node = Node::new();
    let life = started(&node, 3, &[]).await;
    for partition in 0..3 {
        life.send("t", partition, Acks::All, &value("kept")).await.expect("acknowledged");
        let delete = DeleteRecords { partition: life.find("t", partition), before: Offset::new(1) };
        assert!(only(life.broker.delete_records(vec![delete], LONG).finish().await).is_ok());
    }
    life.stop().await;
    std::fs::remove_file(node.path().join("log-start-offset-checkpoint")).unwrap();
    let life = node.start();
    assert_eq!(life.values("t", 1, 1).await, [(1, "kept".into())]);
    life.stop().await;
    let life = node.start();
    for partition in 0..3 {
        let deleted = life.read("t", partition, 0).await;
        assert_eq!(deleted.unwrap_err(), FetchError::OutOfRange, "{partition}");
    }
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_made_again_under_its_name_has_none_of_the_old_data() {
    let node = Node::new();
    let life = started(&node, 1, &[]).await;
    let old = life.find("t", 0);
    let parked = life.fetch(life.fetch_of("t", 0, 1), Some(1));
    life.delete("t");
    assert_eq!(only(parked.finish().await).unwrap_err(), FetchError::UnknownPartition);
    assert!(matches!(life.find("t", 0), Lookup::Unknown));
    life.create("t", 1, &[]);
    let Lookup::Open(old) = old else { panic!("it was open") };
    let checked = value("too late");
    let late = highwater::broker::ProduceBatch::new(Lookup::Open(old), checked.into());
    let late = life.broker.produce(highwater::broker::Produce {
        acks: Acks::All,
        timeout: LONG,
        zstd_allowed: true,
        transaction: None,
        batches: vec![late],
    });
    let late = only(late.finish().await);
    assert!(matches!(late, Err(ProduceError::Append(PartitionAppendError::Retired))), "{late:?}");
    assert_eq!(life.values("t", 0, 0).await, []);
    assert_eq!(life.send_value("t", "new").await, Offset::ZERO);
    assert_eq!(node.names("t-0.").len(), 1, "the old directory waits for its removal");
    life.crash().await;
    let life = node.start();
    assert_eq!(life.values("t", 0, 0).await, [(0, "new".into())]);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_that_the_metadata_does_not_know_are_set_aside() {
    let node = Node::new();
    node.directories.are_spoilt();
    let life = started(&node, 1, &[]).await;
    life.stop().await;
    std::fs::create_dir(node.path().join("unknown-0")).unwrap();
    std::fs::create_dir(node.path().join("t-1")).unwrap();
    let life = node.start();
    assert!(node.names("unknown-0").iter().all(|name| name.ends_with("-stray")));
    assert!(node.names("t-1").iter().all(|name| name.ends_with("-stray")));
    assert_eq!(life.values("t", 0, 0).await.len(), 1);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_directory_of_an_older_topic_of_the_name_is_not_served() {
    let node = Node::new();
    node.directories.are_spoilt();
    let life = started(&node, 1, &[]).await;
    // The deletion is written, but the process dies before the directory is renamed.
    let topic = highwater::metadata::TopicRef::Name(highwater::types::TopicName::new("t").unwrap());
    life.broker.metadata.delete_topics(vec![topic]).remove(0).unwrap();
    life.create("t", 1, &[]);
    life.crash().await;
    let life = node.start();
    assert_eq!(life.values("t", 0, 0).await, []);
    let strays = node.names("t-0.").into_iter().filter(|name| name.ends_with("-stray"));
    assert_eq!(strays.count(), 1, "set aside");
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn producer_ids_are_never_given_twice() {
    let node = Node::new();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let life = node.start();
        for _ in 0..1500 {
            let id = life.broker.next_producer_id().finish().await.unwrap();
            assert!(seen.insert(id), "{id} twice");
        }
        life.crash().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_reaches_logs_that_nobody_opened() {
    let mut node = Node::new();
    let life = started(&node, 1, &[("retention.ms", "1")]).await;
    life.create("kept", 1, &[]);
    life.send_value("kept", "stays").await;
    life.stop().await;
    node.settings.log_retention_check_interval_ms = 20;
    let life = node.start();
    while life.broker.metrics.segments_deleted.get() == 0 {
        tokio::task::yield_now().await;
    }
    let earliest = only(life.list("t", OffsetQuery::Earliest).finish().await).unwrap();
    assert_eq!(earliest.offset, Offset::new(1), "the one record is gone");
    let open = life.broker.partitions.open_partitions();
    assert_eq!(open.len(), 1, "what has nothing to delete stays closed");
    drop(open);
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn starting_opens_no_log() {
    let node = Node::new();
    let life = started(&node, 20, OS).await;
    life.stop().await;
    let life = node.start();
    assert!(life.broker.partitions.open_partitions().is_empty());
    let usage = life.broker.directory_usage().remove(0);
    let sizes: Vec<u64> = usage
        .partitions
        .iter()
        .filter(|held| held.name.topic.as_str() == "t")
        .map(|held| held.bytes)
        .collect();
    assert_eq!(sizes.len(), 20);
    assert!(sizes.iter().all(|size| *size > 0));
    life.stop().await;
}

/// Two who wait for each other; neither comes alone.
fn rendezvous() -> [impl FnOnce() + Send + use<>; 2] {
    let ((to_first, first), (to_second, second)) =
        (std::sync::mpsc::channel(), std::sync::mpsc::channel());
    [(to_second, first), (to_first, second)].map(|(tell, hear)| {
        move || {
            _ = tell.send(());
            hear.recv_timeout(Duration::from_secs(20))
                .expect("the other log is prepared at the same time");
        }
    })
}

/// One record for each of three partitions of "t" in one request.
async fn produce_to_three(life: &Life) {
    let batches = (0..3).map(|partition| {
        let text = format!("of {partition}");
        ProduceBatch::new(life.find("t", partition), value(&text).into())
    });
    let request = Produce {
        acks: Acks::All,
        timeout: LONG,
        zstd_allowed: true,
        transaction: None,
        batches: batches.collect(),
    };
    let produced = life.broker.produce(request).finish().await;
    assert!(produced.iter().all(Result::is_ok), "{produced:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_logs_of_one_request_wait_for_the_disk_together() {
    let node = Node::new();
    let life = node.start();
    life.create("t", 3, &[]);
    let [first, second] = rendezvous();
    node.faults.before_directory_sync("t-0.", first);
    node.faults.before_directory_sync("t-2.", second);
    produce_to_three(&life).await;
    for partition in 0..3 {
        let expected = (0, format!("of {partition}"));
        assert_eq!(life.values("t", partition, 0).await, [expected], "to its own partition");
    }
    life.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_logs_of_one_request_write_a_new_epoch_together() {
    let node = Node::new();
    let life = node.start();
    life.create("t", 3, &[]);
    produce_to_three(&life).await;
    for partition in 0..3 {
        let Lookup::Open(partition) = life.find("t", partition) else {
            panic!("it was written to")
        };
        partition.set_leader_epoch(LeaderEpoch::new(partition.leader_epoch().get() + 1));
    }
    let [first, second] = rendezvous();
    node.faults.before_directory_sync("t-0", first);
    node.faults.before_directory_sync("t-2", second);
    produce_to_three(&life).await;
    life.stop().await;
}
