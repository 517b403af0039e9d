//! What coordinators say that their state takes, beside what an allocator was asked for.
#![allow(missing_docs, clippy::print_stdout, reason = "a test that tells what it has measured")]

#[path = "fuzz/allocator.rs"]
mod allocator;
#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "support/group_requests.rs"]
mod group_requests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use group_requests::{call, commit_request, join_request, offsets_with, text};
use highwater::coordinator::groups::{GroupCommand, GroupSettings, Groups, GroupsHard};
use highwater::coordinator::machine::{Effects, Machine, Now, Timers, Token, Turn, TurnParts};
use highwater::metadata::Image;
use highwater::types::{Timestamp, Uuid};
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, SyncGroupRequest};

/// Told may be off by so many percent in either direction.
const TOLERANCE_PERCENT: usize = 30;

/// A shard without a log.
struct Shard {
    groups: Groups,
    hard: GroupsHard,
    timers: Timers<<Groups as Machine>::Timer>,
    image: Image,
    replies: Vec<(Token, <Groups as Machine>::Reply)>,
    next: u64,
}

impl Shard {
    fn new() -> Self {
        Self {
            groups: Groups::new(Arc::new(GroupSettings::default()), Arc::default()),
            hard: GroupsHard::default(),
            timers: Timers::new(),
            image: Image::default(),
            replies: Vec::new(),
            next: 0,
        }
    }

    fn ask(&mut self, command: GroupCommand) {
        let mut effects = Effects::default();
        let now = Now { wall: Timestamp::new(1_700_000_000_000), monotonic: Duration::ZERO };
        let token = Token(self.next);
        self.next += 1;
        let id = u128::from(self.next);
        let ids = move || Uuid::from_bytes(id.to_be_bytes());
        let mut turn = Turn::new(TurnParts {
            now,
            image: &self.image,
            ids: &ids,
            hard: &mut self.hard,
            effects: &mut effects,
            timers: &mut self.timers,
        });
        self.groups.decide(&mut turn, command, token);
        self.replies = effects.replies;
    }

    fn told(&self) -> usize {
        self.groups.state_bytes(&self.hard)
    }
}

/// What `fill` leaves in the shard must be what it is told to take.
fn compare(what: &str, fill: impl FnOnce(&mut Shard)) {
    let mut shard = Shard::new();
    let ((), held) = allocator::held_by(|| {
        fill(&mut shard);
        shard.replies = Vec::new();
    });
    let told = shard.told();
    println!("{what}: {held} bytes held, {told} told");
    let off = held.abs_diff(told);
    assert!(off * 100 <= held * TOLERANCE_PERCENT, "{what}: {held} bytes held, {told} told");
}

/// Joins without an id: version 3 is admitted at once.
fn join(group: &str, said: usize) -> GroupCommand {
    let request =
        join_request(group, said).with_session_timeout_ms(10_000).with_rebalance_timeout_ms(60_000);
    GroupCommand::Join(call(3, request))
}

fn commit(group: &str, topic: &str, partitions: i32, metadata: &str) -> GroupCommand {
    let request = commit_request(group, topic, offsets_with(partitions, metadata));
    GroupCommand::CommitOffsets(call(8, request))
}

#[test]
fn members_of_one_classic_group() {
    for said in [11, 1_000, 100_000] {
        compare(&format!("300 members that say {said} bytes"), |shard| {
            (0..300).for_each(|_| shard.ask(join("group", said)));
        });
    }
}

#[test]
fn classic_groups_of_one_member_with_an_assignment() {
    use highwater::coordinator::groups::GroupReply;
    compare("1000 groups of one member", |shard| {
        for number in 0..1_000 {
            let group = format!("group-{number}");
            shard.ask(join(&group, 50));
            let joined = shard.replies.pop();
            let Some((_, GroupReply::Join(joined))) = joined else { panic!("{joined:?}") };
            let part = SyncGroupRequestAssignment::default()
                .with_member_id(joined.member_id.clone())
                .with_assignment(Bytes::from(vec![7; 200]));
            let request = SyncGroupRequest::default()
                .with_group_id(text(&group).into())
                .with_generation_id(joined.generation_id)
                .with_member_id(joined.member_id)
                .with_assignments(vec![part]);
            shard.ask(GroupCommand::Sync(call(3, request)));
        }
    });
}

#[test]
fn members_of_the_consumer_protocol() {
    for groups in [1, 1_000] {
        compare(&format!("1000 members in {groups} groups"), |shard| {
            for number in 0..1_000 {
                let request = ConsumerGroupHeartbeatRequest::default()
                    .with_group_id(text(&format!("group-{}", number % groups)).into())
                    .with_member_id(text(&format!("member-with-a-long-id-{number:05}")))
                    .with_rebalance_timeout_ms(60_000)
                    .with_subscribed_topic_names(Some(vec![text("a").into(), text("b").into()]))
                    .with_topic_partitions(Some(Vec::new()));
                shard.ask(GroupCommand::ConsumerHeartbeat(call(1, request)));
            }
        });
    }
}

#[test]
fn committed_offsets() {
    compare("offsets of one large group", |shard| {
        (0..50).for_each(|n| shard.ask(commit("group", &format!("topic-{n}"), 1_000, "")));
    });
    compare("offsets of groups of ten partitions", |shard| {
        (0..2_000).for_each(|n| shard.ask(commit(&format!("group-{n}"), "topic", 10, "")));
    });
    compare("offsets alone in their groups", |shard| {
        (0..10_000).for_each(|n| shard.ask(commit(&format!("group-{n}"), "topic", 1, "")));
    });
    compare("offsets with metadata", |shard| {
        let metadata = "m".repeat(100);
        (0..1_000).for_each(|n| shard.ask(commit(&format!("group-{n}"), "topic", 10, &metadata)));
    });
}

#[test]
fn what_is_refused_without_memory_is_what_is_new() {
    let mut shard = Shard::new();
    shard.ask(commit("known", "topic", 2, ""));
    let grows = |command| shard.groups.grows(&shard.hard, &command);
    assert!(!grows(commit("known", "topic", 2, "")));
    assert!(grows(commit("known", "topic", 3, "")));
    assert!(grows(commit("known", "topic", 2, "metadata")));
    assert!(grows(commit("new", "topic", 2, "")));
    assert!(grows(join("known", 1)));
}
