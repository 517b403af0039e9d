//! Topics over a socket: creation on first use, deletion under load, restarts, addresses. What Kafka answers
//! to each request is compared in `admin.rs`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use highwater::config::Listener;
use highwater::kafka::codec;
use highwater::types::Uuid;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::{
    CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse,
    FetchRequest, FetchResponse, MetadataRequest, MetadataResponse, ProduceResponse,
};

use crate::broker::TestBroker;
use crate::calls::{FETCH, PRODUCE, Session, call, produce_request};
use crate::data_directories::DataDirectories;
use crate::peer::Peer;
use crate::pipelining::topic_name;
use crate::records::batch;

const METADATA: i16 = 3;
const CREATE_TOPICS: i16 = 19;
const DELETE_TOPICS: i16 = 20;

const NONE: i16 = 0;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const INVALID_TOPIC_EXCEPTION: i16 = 17;
const INVALID_REPLICATION_FACTOR: i16 = 38;
const UNKNOWN_TOPIC_ID: i16 = 100;

fn asks_for(names: &[&str]) -> MetadataRequest {
    let topic = |name: &&str| MetadataRequestTopic::default().with_name(Some(topic_name(name)));
    MetadataRequest::default().with_topics(Some(names.iter().map(topic).collect()))
}

async fn topics(session: &mut Session, request: &MetadataRequest) -> Vec<MetadataResponseTopic> {
    session.call::<MetadataResponse>(METADATA, 12, request).await.topics
}

fn told(topics: &[MetadataResponseTopic]) -> Vec<(&str, i16)> {
    topics
        .iter()
        .map(|t| (t.name.as_ref().map_or("", |name| name.as_str()), t.error_code))
        .collect()
}

/// Batches in the metadata log: one for each append.
fn metadata_batches(session: &Session) -> usize {
    const HEAD: usize = 12;
    let directory = &session.broker.broker().settings.log_dirs[0];
    let log = directory.join("__cluster_metadata-0/00000000000000000000.log");
    let bytes = read(&log);
    let (mut at, mut batches) = (0, 0);
    while at + HEAD <= bytes.len() {
        let length = u32::from_be_bytes(*bytes[at + 8..].first_chunk().expect("a length"));
        at += HEAD + length as usize;
        batches += 1;
    }
    assert_eq!(at, bytes.len(), "whole batches");
    batches
}

#[expect(clippy::disallowed_methods, reason = "looks at what the broker wrote")]
fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("the metadata log")
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_that_a_client_asks_for_come_into_being_in_one_append() {
    let mut session = Session::start().await;
    let before = metadata_batches(&session);
    let answer = topics(&mut session, &asks_for(&["b", "not legal", "a", "c", "a"])).await;
    let expected = [("b", NONE), ("not legal", INVALID_TOPIC_EXCEPTION), ("a", NONE), ("c", NONE)];
    assert_eq!(told(&answer), expected);
    for topic in answer.iter().filter(|topic| topic.error_code == NONE) {
        assert!(!topic.topic_id.is_nil());
        let partition = &topic.partitions[0];
        assert_eq!(
            (partition.leader_id.0, partition.leader_epoch, partition.error_code),
            (1, 0, NONE)
        );
    }
    assert_eq!(metadata_batches(&session), before + 1);
    topics(&mut session, &asks_for(&["b", "a", "c"])).await;
    assert_eq!(metadata_batches(&session), before + 1, "what is there is not made again");
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_comes_into_being_where_client_or_broker_say_no() {
    let mut session = Session::start().await;
    let request = asks_for(&["a"]).with_allow_auto_topic_creation(false);
    let answer = topics(&mut session, &request).await;
    assert_eq!(told(&answer), [("a", UNKNOWN_TOPIC_OR_PARTITION)]);
    session.broker.stop().await;
    let broker =
        TestBroker::start_with(|settings| settings.auto_create_topics_enable = false).await;
    let peer = Peer::connect(broker.address).await;
    let mut session = Session { broker, peer };
    let answer = topics(&mut session, &asks_for(&["a"])).await;
    assert_eq!(told(&answer), [("a", UNKNOWN_TOPIC_OR_PARTITION)]);
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_cannot_be_made_is_answered_with_the_reason() {
    let broker = TestBroker::start_with(|settings| settings.default_replication_factor = 3).await;
    let peer = Peer::connect(broker.address).await;
    let mut session = Session { broker, peer };
    let answer = topics(&mut session, &asks_for(&["orders", "__consumer_offsets"])).await;
    let expected = [("orders", INVALID_REPLICATION_FACTOR), ("__consumer_offsets", NONE)];
    assert_eq!(told(&answer), expected);
    assert!(answer[1].is_internal);
    assert_eq!(answer[1].partitions.len(), 50);
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_partitions_are_one_append_and_one_answer() {
    let mut session = Session::start().await;
    let before = metadata_batches(&session);
    let name = |number: i32| format!("t{number:02}");
    let topic = |number| {
        CreatableTopic::default()
            .with_name(topic_name(&name(number)))
            .with_num_partitions(50)
            .with_replication_factor(1)
    };
    let request = CreateTopicsRequest::default()
        .with_topics((0..20).map(topic).collect())
        .with_timeout_ms(30_000);
    let answer: CreateTopicsResponse = session.call(CREATE_TOPICS, 7, &request).await;
    assert!(answer.topics.iter().all(|topic| topic.error_code == NONE));
    assert_eq!(metadata_batches(&session), before + 1);
    let all = topics(&mut session, &MetadataRequest::default().with_topics(None)).await;
    let names: Vec<String> = (0..20).map(name).collect();
    assert_eq!(told(&all), names.iter().map(|name| (name.as_str(), NONE)).collect::<Vec<_>>());
    assert_eq!(all.iter().map(|topic| topic.partitions.len()).sum::<usize>(), 1000);
    session.broker.stop().await;
}

async fn delete(session: &mut Session, name: &str) {
    let request = DeleteTopicsRequest::default()
        .with_topic_names(vec![topic_name(name)])
        .with_timeout_ms(30_000);
    let answer: DeleteTopicsResponse = session.call(DELETE_TOPICS, 5, &request).await;
    assert_eq!(answer.responses[0].error_code, NONE);
}

/// Everything in partition 0 of a topic with this id.
async fn content(session: &mut Session, id: [u8; 16]) -> Vec<u8> {
    let partition =
        FetchPartition::default().with_partition_max_bytes(1 << 24).with_fetch_offset(0);
    let topic = FetchTopic::default()
        .with_topic_id(codec::id_to_wire(Uuid::from_bytes(id)))
        .with_partitions(vec![partition]);
    let request = FetchRequest::default()
        .with_topics(vec![topic])
        .with_max_bytes(1 << 24)
        .with_session_epoch(-1);
    let answer: FetchResponse = session.call(FETCH, 13, &request).await;
    let partition = &answer.responses[0].partitions[0];
    assert_eq!(partition.error_code, NONE);
    partition.records.as_ref().map(|records| records.to_vec()).unwrap_or_default()
}

/// Produces to the topic with this id until it is gone; the errors that it sees are those of a topic that is.
async fn produce_until_gone(mut peer: Peer, id: [u8; 16], value: String, started: Arc<AtomicBool>) {
    let mut request = produce_request("", 0, Some(batch(&[value.as_bytes()])));
    request.topic_data[0].topic_id = codec::id_to_wire(Uuid::from_bytes(id));
    loop {
        let answer: ProduceResponse = call(&mut peer, PRODUCE, 13, &request).await;
        match answer.responses[0].partition_responses[0].error_code {
            NONE => started.store(true, Ordering::Release),
            UNKNOWN_TOPIC_ID | UNKNOWN_TOPIC_OR_PARTITION => return,
            other => panic!("error {other}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_made_again_under_load_has_a_new_id_and_no_old_records() {
    let mut session = Session::start().await;
    let mut ids = std::collections::HashSet::new();
    for round in 0..10 {
        let id = session.create("again", 1, &[]).await;
        assert!(ids.insert(id), "an id is used once");
        let value = format!("round {round}");
        let started = Arc::new(AtomicBool::new(false));
        let producers: Vec<_> = [(), (), ()]
            .map(|()| {
                let (address, value) = (session.broker.address, value.clone());
                let started = Arc::clone(&started);
                tokio::spawn(async move {
                    let peer = Peer::connect(address).await;
                    produce_until_gone(peer, id, value, started).await;
                })
            })
            .into();
        while !started.load(Ordering::Acquire) {
            session.produce("again", 0, batch(&[value.as_bytes()])).await;
        }
        let stored = content(&mut session, id).await;
        let old = format!("round {}", round - 1);
        assert!(!stored.windows(old.len()).any(|window| window == old.as_bytes()), "{old}");
        delete(&mut session, "again").await;
        for producer in producers {
            producer.await.expect("a producer that sees the end");
        }
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_ids_and_never_lowers_an_epoch() {
    let directory = DataDirectories::one();
    let mut last = None;
    for _ in 0..3 {
        let broker = TestBroker::start_with(|settings| {
            settings.log_dirs = vec![directory.path().to_owned()];
            settings.metadata_log_dir = directory.path().to_owned();
        })
        .await;
        let peer = Peer::connect(broker.address).await;
        let mut session = Session { broker, peer };
        let topic = topics(&mut session, &asks_for(&["kept"])).await.remove(0);
        let partition = &topic.partitions[0];
        assert_eq!((topic.error_code, partition.leader_id.0), (NONE, 1));
        let now = (topic.topic_id, partition.leader_epoch);
        if let Some((id, epoch)) = last.replace(now) {
            assert_eq!(now.0, id);
            assert!(now.1 >= epoch, "{} after {epoch}", now.1);
        }
        session.broker.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_listener_tells_its_own_address() {
    let broker = TestBroker::start_with(|settings| {
        settings.listeners.push(Listener {
            name: "OUTSIDE".to_owned(),
            advertised_host: "broker.example".to_owned(),
            advertised_port: 19092,
            ..settings.listeners[0].clone()
        });
    })
    .await;
    let mut addresses = Vec::new();
    for &address in broker.addresses() {
        let mut peer = Peer::connect(address).await;
        let answer: MetadataResponse = call(&mut peer, METADATA, 12, &asks_for(&[])).await;
        let node = &answer.brokers[0];
        addresses.push((node.host.to_string(), node.port));
    }
    let bound = i32::from(broker.addresses()[0].port());
    let expected = [("127.0.0.1".to_owned(), bound), ("broker.example".to_owned(), 19092)];
    assert_eq!(addresses, expected);
    broker.stop().await;
}
