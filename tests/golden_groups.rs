//! Groups and offsets that Apache Kafka left in its directories, asked of a broker that opens them: they are what Kafka said
//! they were.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::collections::BTreeMap;

use highwater::coordinator::groups::{GroupCommand, GroupReply};
use highwater::types::{
    Outcome, ProducerEpoch, ProducerId, ProducerIdAndEpoch, TransactionVersion,
};
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::offset_fetch_response::OffsetFetchResponseGroup;
use kafka_protocol::protocol::StrBytes;
use serde_json::{Value, json};
use support::broker::{Life, Node};
use support::golden::Golden;
use support::transactions::Producer;

const UNSTABLE_OFFSET_COMMIT: i16 = 88;

/// A directory of Kafka, ready to be opened, and what Kafka said of the groups in it.
fn taken(fixture: &str) -> (Node, Value) {
    let (directory, expected) = Golden::unpack(fixture, "data.tar.gz").into_parts();
    let groups = match expected.get("groups") {
        Some(groups) => groups.clone(),
        None => expected["afterKafkaStart"]["answers"]["groups"].clone(),
    };
    let node = Node { directories: directory.into(), ..Node::new() };
    if fixture.starts_with("killed") {
        // What is not opened here stays as the kill left it, with Kafka's preallocated indexes.
        node.directories.are_spoilt();
    }
    (node, groups)
}

async fn listed(life: &Life) -> BTreeMap<String, ListedGroup> {
    let command = || GroupCommand::List { states: Vec::new(), types: Vec::new() };
    let mut all = BTreeMap::new();
    for reply in life.broker.group_call_each(command).await {
        let Ok(GroupReply::List(groups)) = reply else { panic!("{reply:?}") };
        all.extend(groups.into_iter().map(|group| (group.group_id.to_string(), group)));
    }
    all
}

async fn fetched(life: &Life, group: &str, require_stable: bool) -> OffsetFetchResponseGroup {
    let asked = OffsetFetchRequestGroup::default()
        .with_group_id(StrBytes::from_string(group.to_owned()).into())
        .with_member_epoch(-1)
        .with_topics(None);
    let command = GroupCommand::FetchOffsets { version: 9, group: asked, require_stable };
    let reply = life.broker.group_call(group, command).await;
    let Ok(GroupReply::FetchOffsets(answer)) = reply else { panic!("{reply:?}") };
    assert_eq!(answer.error_code, 0);
    answer
}

/// A group as Kafka's admin client prints it.
async fn printed(life: &Life, group: &ListedGroup) -> Value {
    let mut offsets = serde_json::Map::new();
    for topic in fetched(life, &group.group_id, false).await.topics {
        for at in topic.partitions {
            let offset = json!({
                "offset": at.committed_offset,
                "leaderEpoch": at.committed_leader_epoch,
                "metadata": at.metadata.as_deref(),
            });
            offsets.insert(format!("{}-{}", &*topic.name, at.partition_index), offset);
        }
    }
    let capital = |name: &str| name[..1].to_uppercase() + &name[1..];
    json!({
        "offsets": offsets,
        "protocol": &*group.protocol_type,
        "state": &*group.group_state,
        "type": capital(&group.group_type),
    })
}

/// Kafka's word of the groups that are served here.
fn served(groups: &Value) -> BTreeMap<String, Value> {
    let served = |group: &Value| group["type"] != "Share";
    let groups = groups.as_object().expect("groups").iter();
    groups.filter(|(_, g)| served(g)).map(|(id, g)| (id.clone(), g.clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_and_offsets_of_kafka_are_what_kafka_said_they_were() {
    for fixture in ["clean-4.4", "clean-4.3", "clean-3.9", "killed-4.4"] {
        let (node, groups) = taken(fixture);
        let expected = served(&groups);
        assert!(expected.len() > 5, "{fixture}");
        // The second life reads what the first one made of it.
        for life in 0..2 {
            let broker = node.start();
            let mut found = BTreeMap::new();
            for (id, group) in listed(&broker).await {
                let printed = printed(&broker, &group).await;
                found.insert(id, printed);
            }
            assert_eq!(found, expected, "{fixture}, life {life}");
            broker.stop().await;
        }
    }
}

/// Offset and code of two partitions in the group whose offset is in a transaction that Kafka left open.
async fn pending(life: &Life) -> [(i64, i16); 2] {
    life.committed("g-pending", "offsets", true).await
}

/// Ends what Kafka left open, as its producer does, and waits until it has ended.
async fn end_open(life: &Life, outcome: Outcome) {
    let id = "txn-left-open";
    let me = ProducerIdAndEpoch { id: ProducerId::new(2_001), epoch: ProducerEpoch::new(0) };
    let mut producer = Producer::known(id, me, TransactionVersion::V2);
    producer.end(life, outcome).await;
    assert_eq!(producer.me.epoch, ProducerEpoch::new(1));
    // Whoever begins anew is answered once the end is everywhere.
    Producer::begin(life, id, TransactionVersion::V2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offset_of_a_transaction_that_kafka_left_open_is_not_stable_until_it_ends_here() {
    for (outcome, offset) in [(Outcome::Commit, 1), (Outcome::Abort, -1)] {
        let (node, _) = taken("clean-4.4");
        let life = node.start();
        assert_eq!(pending(&life).await, [(-1, 0), (-1, UNSTABLE_OFFSET_COMMIT)]);
        end_open(&life, outcome).await;
        assert_eq!(pending(&life).await, [(-1, 0), (offset, 0)]);
        life.stop().await;
        let life = node.start();
        assert_eq!(pending(&life).await, [(-1, 0), (offset, 0)]);
        life.stop().await;
    }
}
