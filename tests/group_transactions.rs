//! Offsets that transactions commit, in a broker with its logs: across its lives, under fencing, and under the cleaner.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use highwater::broker::CONSUMER_OFFSETS;
use highwater::config::Sources;
use highwater::coordinator::groups::{GroupCommand, GroupReply};
use highwater::log::scan;
use highwater::observe::CoordinatorOf;
use highwater::types::{Outcome, TransactionVersion};
use kafka_protocol::messages::TxnOffsetCommitRequest;
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use support::broker::{Life, Node};
use support::group_requests::{call, text};
use support::logs::bytes_of;
use support::transactions::Producer;

use TransactionVersion::{V1, V2};

const GROUP: &str = "g";
const INVALID_PRODUCER_EPOCH: i16 = 47;
const UNSTABLE_OFFSET_COMMIT: i16 = 88;

/// A transactional producer that commits offsets of the group.
struct Committer(Producer);

impl Committer {
    /// Begins, and ends whatever its name had open: that is over when this returns.
    async fn init(life: &Life, id: &str, version: TransactionVersion) -> Self {
        Self(Producer::begin(life, id, version).await)
    }

    /// In version 1 a producer says first that it will commit offsets.
    async fn begin(&self, life: &Life) {
        if self.0.version == V2 {
            return;
        }
        life.broker.ensure_group_topic().finish().await.expect("a topic");
        let shard = life.broker.group_shard(GROUP).expect("a shard");
        self.0.add(life, &[(CONSUMER_OFFSETS, shard.get())]).await;
    }

    /// Commits one offset of topic `t`; the code of the answer.
    async fn commit(&self, life: &Life, partition: i32, offset: i64) -> i16 {
        let Producer { id, me, version, .. } = &self.0;
        let partition = TxnOffsetCommitRequestPartition::default()
            .with_partition_index(partition)
            .with_committed_offset(offset);
        let topic = TxnOffsetCommitRequestTopic::default()
            .with_name(text("t").into())
            .with_partitions(vec![partition]);
        let request = TxnOffsetCommitRequest::default()
            .with_transactional_id(text(id.as_str()).into())
            .with_group_id(text(GROUP).into())
            .with_producer_id(me.id.get().into())
            .with_producer_epoch(me.epoch.get())
            .with_generation_id(-1)
            .with_topics(vec![topic]);
        let version = if *version == V1 { 3 } else { 5 };
        let command = GroupCommand::CommitInTransaction(call(version, request));
        let reply = life.broker.group_call(GROUP, command).await;
        let Ok(GroupReply::CommitInTransaction(answer)) = reply else { panic!("{reply:?}") };
        answer.topics[0].partitions[0].error_code
    }

    /// Ends its transaction, and waits until it has.
    async fn end(&mut self, life: &Life, outcome: Outcome) {
        self.0.end(life, outcome).await;
        // Whoever begins anew waits for the end of what was before.
        *self = Self::init(life, self.0.id.as_str(), self.0.version).await;
    }
}

/// Offset and code of both partitions.
async fn fetch(life: &Life, require_stable: bool) -> [(i64, i16); 2] {
    life.committed(GROUP, "t", require_stable).await
}

/// No write that a shard has decided was refused: that would have cost it its state.
fn assert_nothing_was_refused(life: &Life) {
    assert_eq!(life.broker.metrics.coordinator_append_failures.of(CoordinatorOf::Groups).get(), 0);
}

enum Between {
    Stop,
    Crash,
}

async fn next_life(node: &Node, life: Life, between: &Between) -> Life {
    match between {
        Between::Stop => life.stop().await,
        Between::Crash => life.crash().await,
    }
    node.start()
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_count_when_their_transaction_is_committed_in_a_later_life() {
    for version in [V1, V2] {
        for between in [Between::Stop, Between::Crash] {
            let node = Node::new();
            let life = node.start();
            life.create("t", 2, &[]);
            let mut producer = Committer::init(&life, "tx", version).await;
            producer.begin(&life).await;
            assert_eq!(producer.commit(&life, 0, 5).await, 0);
            assert_eq!(fetch(&life, false).await, [(-1, 0), (-1, 0)]);
            let life = next_life(&node, life, &between).await;
            assert_eq!(fetch(&life, true).await, [(-1, UNSTABLE_OFFSET_COMMIT), (-1, 0)]);
            assert_eq!(producer.commit(&life, 1, 6).await, 0, "its transaction is open here");
            producer.end(&life, Outcome::Commit).await;
            assert_eq!(fetch(&life, true).await, [(5, 0), (6, 0)]);

            producer.begin(&life).await;
            assert_eq!(producer.commit(&life, 0, 7).await, 0);
            let life = next_life(&node, life, &between).await;
            producer.end(&life, Outcome::Abort).await;
            let life = next_life(&node, life, &between).await;
            assert_eq!(fetch(&life, true).await, [(5, 0), (6, 0)]);
            assert_nothing_was_refused(&life);
            life.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_producer_is_told_so_and_costs_the_shard_nothing() {
    for version in [V1, V2] {
        let node = Node::new();
        let mut life = node.start();
        life.create("t", 2, &[]);
        let zombie = Committer::init(&life, "tx", version).await;
        zombie.begin(&life).await;
        assert_eq!(zombie.commit(&life, 0, 5).await, 0);
        let mut heir = Committer::init(&life, "tx", version).await;
        for _ in 0..2 {
            assert_eq!(zombie.commit(&life, 0, 6).await, INVALID_PRODUCER_EPOCH);
            assert_eq!(fetch(&life, true).await, [(-1, 0), (-1, 0)], "aborted");
            heir.begin(&life).await;
            assert_eq!(heir.commit(&life, 1, 7).await, 0);
            assert_eq!(zombie.commit(&life, 0, 6).await, INVALID_PRODUCER_EPOCH);
            heir.end(&life, Outcome::Abort).await;
            assert_nothing_was_refused(&life);
            life = next_life(&node, life, &Between::Stop).await;
        }
        life.stop().await;
    }
}

/// Data records of the group's shard.
async fn records_left(life: &Life) -> usize {
    let shard = life.broker.group_shard(GROUP).expect("a shard").get();
    let (mut count, mut from) = (0, 0);
    loop {
        let fetched = life.read(CONSUMER_OFFSETS, shard, from).await.expect("readable");
        if fetched.records.len == 0 {
            return count;
        }
        let bytes = bytes_of(&fetched.records);
        for (_, stored) in scan::scan(&bytes) {
            let header = stored.header().expect("magic 2");
            count += usize::from(!header.is_control()) * header.records_count as usize;
            from = stored.last_offset().get() + 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cleaner_changes_nothing_of_what_counts_and_what_is_pending() {
    let backoff = ("log.cleaner.backoff.ms".to_owned(), "0".to_owned());
    let sources = Sources { flags: vec![backoff], ..Sources::default() };
    let settings = highwater::config::load(sources).expect("valid").settings;
    let node = Node { settings, ..Node::new() };
    let life = node.start();
    life.create("t", 2, &[]);
    life.broker.ensure_group_topic().finish().await.expect("a topic");
    let small = [
        ("internal.segment.bytes", "1000"),
        ("min.cleanable.dirty.ratio", "0.01"),
        ("file.delete.delay.ms", "0"),
    ];
    life.configure(CONSUMER_OFFSETS, &small);

    let mut producers =
        [Committer::init(&life, "one", V1).await, Committer::init(&life, "two", V2).await];
    for round in 0..60 {
        let producer = &mut producers[round % 2];
        producer.begin(&life).await;
        for at in 0..2 {
            let offset = i64::try_from(10 * round).unwrap() + i64::from(at);
            assert_eq!(producer.commit(&life, at, offset).await, 0);
        }
        let outcome = if round % 3 == 0 { Outcome::Abort } else { Outcome::Commit };
        producer.end(&life, outcome).await;
    }
    let mut open = Committer::init(&life, "open", V1).await;
    open.begin(&life).await;
    assert_eq!(open.commit(&life, 1, 9_999).await, 0);
    let before = (fetch(&life, false).await, fetch(&life, true).await);
    assert_eq!(before.0, [(590, 0), (591, 0)]);
    assert_eq!(before.1, [(590, 0), (-1, UNSTABLE_OFFSET_COMMIT)]);

    let mut checkpoints = node.faults.cleaner_checkpoints.subscribe();
    while records_left(&life).await > 20 {
        checkpoints.changed().await.expect("the faults outlive the broker");
    }
    let mut life = life;
    for between in [Between::Stop, Between::Crash] {
        life = next_life(&node, life, &between).await;
        let after = (fetch(&life, false).await, fetch(&life, true).await);
        assert_eq!(after, before);
    }
    open.end(&life, Outcome::Commit).await;
    assert_eq!(fetch(&life, true).await, [(590, 0), (9_999, 0)]);
    assert_nothing_was_refused(&life);
    life.stop().await;
}
