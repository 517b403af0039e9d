//! Many long answers at a time in a small byte budget.

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::{
    GroupId, MetadataRequest, OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest,
};

use crate::broker::TestBroker;
use crate::calls::call;
use crate::connections::ping;
use crate::member::text;
use crate::peer::{Peer, api, encoded, request};
use crate::pipelining::{create_topic_of, topic_name};

const METADATA: i16 = 3;
const METADATA_VERSION: i16 = 12;
const BUDGET_BYTES: usize = 8 << 20;
/// Long answers may have a quarter of it.
const ANSWERS_BYTES: usize = BUDGET_BYTES / 4;
/// What is built has turned out to be a little more than was thought, three times.
const ANSWERS_BYTES_MAX: usize = ANSWERS_BYTES + ANSWERS_BYTES / 8;
const PEERS: usize = 60;

const TOPICS: i32 = 10;
const PARTITIONS: i32 = 1_000;
const OFFSET_COMMIT: i16 = 8;
const OFFSET_FETCH: i16 = 9;
const OFFSET_FETCH_VERSION: i16 = 7;

fn everything() -> Vec<u8> {
    encoded(&MetadataRequest::default().with_topics(None), METADATA_VERSION)
}

async fn broker_with_a_long_answer() -> TestBroker {
    let broker = TestBroker::start_with(|settings| settings.memory_bytes = BUDGET_BYTES).await;
    let mut peer = Peer::connect(broker.address).await;
    for number in 0..TOPICS {
        create_topic_of(&mut peer, &format!("topic-{number}"), PARTITIONS).await;
    }
    broker
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_that_ask_for_everything_take_turns_for_memory_and_all_are_answered() {
    let broker = broker_with_a_long_answer().await;
    let mut asking = Vec::new();
    for _ in 0..PEERS {
        let address = broker.address;
        asking.push(tokio::spawn(async move {
            let mut peer = Peer::connect(address).await;
            let answer = peer.ask(api(METADATA), METADATA_VERSION, &everything()).await;
            answer.expect("an answer").len()
        }));
    }
    let memory = &broker.broker().answer_memory;
    for asking in asking {
        let len = asking.await.expect("answered");
        assert!(len > 10_000 * 20, "{len} bytes");
        assert!(memory.used_bytes() <= ANSWERS_BYTES_MAX, "{}", memory.used_bytes());
    }
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_that_do_not_read_cost_others_no_short_answer() {
    let broker = broker_with_a_long_answer().await;
    others_are_answered(broker, (METADATA, METADATA_VERSION, everything())).await;
}

/// What a group has committed, or who is in it, may be as long as the state of its shard.
#[tokio::test(flavor = "multi_thread")]
async fn nor_do_those_that_do_not_read_what_a_group_has() {
    let broker = broker_with_a_long_answer().await;
    let mut peer = Peer::connect(broker.address).await;
    for number in 0..TOPICS {
        commit_everywhere(&mut peer, &format!("topic-{number}")).await;
    }
    let all = OffsetFetchRequest::default().with_group_id(group()).with_topics(None);
    let all = encoded(&all, OFFSET_FETCH_VERSION);
    others_are_answered(broker, (OFFSET_FETCH, OFFSET_FETCH_VERSION, all)).await;
}

fn group() -> GroupId {
    text("group").into()
}

async fn commit_everywhere(peer: &mut Peer, topic: &str) {
    let partition = |index| {
        OffsetCommitRequestPartition::default()
            .with_partition_index(index)
            .with_committed_metadata(Some(text(&"m".repeat(100))))
    };
    let topic = OffsetCommitRequestTopic::default()
        .with_name(topic_name(topic))
        .with_partitions((0..PARTITIONS).map(partition).collect());
    let commit = OffsetCommitRequest::default()
        .with_group_id(group())
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![topic]);
    let answer: OffsetCommitResponse = call(peer, OFFSET_COMMIT, 8, &commit).await;
    let mut partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
    assert!(partitions.all(|partition| partition.error_code == 0));
}

/// Peers ask this and read nothing; meanwhile others are served.
async fn others_are_answered(broker: TestBroker, (key, version, body): (i16, i16, Vec<u8>)) {
    let mut silent = Vec::new();
    for _ in 0..PEERS {
        let mut peer = Peer::connect(broker.address).await;
        for id in 0..8 {
            peer.send_frame(&request(api(key), version, id, &body)).await;
        }
        silent.push(peer);
    }
    let memory = &broker.broker().answer_memory;
    while memory.used_bytes() < ANSWERS_BYTES / 2 {
        assert!(ping(&mut Peer::connect(broker.address).await).await);
    }
    for _ in 0..20 {
        assert!(ping(&mut Peer::connect(broker.address).await).await);
    }
    assert!(memory.used_bytes() <= ANSWERS_BYTES_MAX, "{}", memory.used_bytes());
    assert!(broker.broker().budget.used_bytes() <= BUDGET_BYTES);
    drop(silent);
    broker.stop().await;
}
