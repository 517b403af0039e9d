//! Several requests in flight on one connection.

use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    CreateTopicsRequest, CreateTopicsResponse, FetchRequest, FetchResponse, ListOffsetsRequest,
    ListOffsetsResponse, MetadataResponse, OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse, ProduceRequest, ProduceResponse, TopicName,
};
use kafka_protocol::protocol::{Decodable, StrBytes};

use crate::broker::TestBroker;
use crate::calls::{FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH, PRODUCE, Session};
use crate::peer::{Peer, api, body_of, encoded, framed, request};
use crate::records::batch;

const METADATA: i16 = 3;
const API_VERSIONS: i16 = 18;
const CREATE_TOPICS: i16 = 19;

pub(crate) fn topic_name(name: &str) -> TopicName {
    StrBytes::from_string(name.to_owned()).into()
}

pub(crate) async fn create_topic(peer: &mut Peer, name: &str) {
    create_topic_of(peer, name, 1).await;
}

pub(crate) async fn create_topic_of(peer: &mut Peer, name: &str, partitions: i32) {
    let topic = CreatableTopic::default()
        .with_name(topic_name(name))
        .with_num_partitions(partitions)
        .with_replication_factor(1);
    let asked = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(30_000);
    let body = peer.ask(api(CREATE_TOPICS), 5, &encoded(&asked, 5)).await.expect("an answer");
    let answer = CreateTopicsResponse::decode(&mut body.clone(), 5).expect("decodes");
    assert_eq!(answer.topics[0].error_code, 0);
}

fn produce(topic: &str, acks: i16, value: &[u8]) -> Vec<u8> {
    let data = PartitionProduceData::default().with_records(Some(batch(&[value])));
    let topic =
        TopicProduceData::default().with_name(topic_name(topic)).with_partition_data(vec![data]);
    let request = ProduceRequest::default()
        .with_acks(acks)
        .with_timeout_ms(30_000)
        .with_topic_data(vec![topic]);
    encoded(&request, 7)
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_right_behind_api_versions_is_answered_behind_it() {
    // kafka-python 2.0 sends both in one segment to find out what it speaks to.
    let broker = TestBroker::start().await;
    let mut peer = Peer::connect(broker.address).await;
    let versions = framed(&request(api(API_VERSIONS), 0, 1, &[]));
    let metadata = framed(&request(api(METADATA), 0, 2, &[0, 0, 0, 0]));
    peer.send(&[versions, metadata].concat()).await;
    let first = peer.frame().await.expect("an answer");
    body_of(api(API_VERSIONS), 0, 1, &first);
    let second = peer.frame().await.expect("an answer");
    let body = body_of(api(METADATA), 0, 2, &second);
    let answer = MetadataResponse::decode(&mut body.clone(), 0).expect("decodes");
    assert_eq!(answer.brokers.len(), 1);
    assert_eq!(answer.brokers[0].port, i32::from(broker.address.port()));
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_produce_requests_in_flight_take_effect_and_are_answered_in_order() {
    let broker = TestBroker::start().await;
    let mut peer = Peer::connect(broker.address).await;
    create_topic(&mut peer, "five").await;
    for acks in [-1, 1] {
        let requests: Vec<_> = (0..5)
            .flat_map(|id| {
                framed(&request(api(PRODUCE), 7, id, &produce("five", acks, &[id as u8])))
            })
            .collect();
        peer.send(&requests).await;
        let mut offsets = Vec::new();
        for id in 0..5 {
            let answer = peer.frame().await.expect("an answer");
            let body = body_of(api(PRODUCE), 7, id, &answer);
            let answer = ProduceResponse::decode(&mut body.clone(), 7).expect("decodes");
            let partition = &answer.responses[0].partition_responses[0];
            assert_eq!(partition.error_code, 0);
            offsets.push(partition.base_offset);
        }
        let first = offsets[0];
        assert_eq!(offsets, (first..first + 5).collect::<Vec<_>>());
    }
    broker.stop().await;
}

/// Kafka begins with a request when the one before it is answered. A Java consumer that is told of records and then of an end before
/// them has a lag below zero, until more records come.
#[tokio::test(flavor = "multi_thread")]
async fn no_end_told_behind_a_waiting_fetch_is_older_than_its_records() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let mut consumer = Peer::connect(session.broker.address).await;
    consumer.send(&fetch_and_ends("t")).await;
    while session.broker.broker().metrics.fetches_waiting.get() == 0 {
        tokio::task::yield_now().await;
    }
    session.produce("t", 0, batch(&[b"a", b"b"])).await;
    let mut body = async |key, id| {
        let answer = consumer.frame().await.expect("an answer");
        body_of(api(key), 4, id, &answer)
    };
    let fetched = FetchResponse::decode(&mut body(FETCH, 1).await, 4).expect("decodes");
    assert_eq!(fetched.responses[0].partitions[0].high_watermark, 2);
    let listed = ListOffsetsResponse::decode(&mut body(LIST_OFFSETS, 2).await, 4).expect("decodes");
    assert_eq!(listed.topics[0].partitions[0].offset, 2);
    let mut ended = body(OFFSET_FOR_LEADER_EPOCH, 3).await;
    let ended = OffsetForLeaderEpochResponse::decode(&mut ended, 4).expect("decodes");
    assert_eq!(ended.topics[0].partitions[0].end_offset, 2);
    session.broker.stop().await;
}

/// In one segment: a fetch that waits for a first record, and questions for the end.
fn fetch_and_ends(topic: &str) -> Vec<u8> {
    let partitions = vec![FetchPartition::default().with_partition_max_bytes(1 << 20)];
    let fetched = FetchTopic::default().with_topic(topic_name(topic)).with_partitions(partitions);
    let fetch = FetchRequest::default()
        .with_max_wait_ms(600_000)
        .with_min_bytes(1)
        .with_max_bytes(1 << 20)
        .with_topics(vec![fetched]);
    let partitions = vec![ListOffsetsPartition::default().with_timestamp(-1)];
    let listed =
        ListOffsetsTopic::default().with_name(topic_name(topic)).with_partitions(partitions);
    let list = ListOffsetsRequest::default().with_topics(vec![listed]);
    let partitions = vec![OffsetForLeaderPartition::default()];
    let ended =
        OffsetForLeaderTopic::default().with_topic(topic_name(topic)).with_partitions(partitions);
    let end = OffsetForLeaderEpochRequest::default().with_topics(vec![ended]);
    let requests = [
        request(api(FETCH), 4, 1, &encoded(&fetch, 4)),
        request(api(LIST_OFFSETS), 4, 2, &encoded(&list, 4)),
        request(api(OFFSET_FOR_LEADER_EPOCH), 4, 3, &encoded(&end, 4)),
    ];
    requests.iter().flat_map(|request| framed(request)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_produce_request_without_acks_gets_no_answer() {
    let broker = TestBroker::start().await;
    let mut peer = Peer::connect(broker.address).await;
    create_topic(&mut peer, "none").await;
    let silent = framed(&request(api(PRODUCE), 7, 1, &produce("none", 0, b"x")));
    let metadata = framed(&request(api(METADATA), 0, 2, &[0, 0, 0, 0]));
    peer.send(&[silent, metadata].concat()).await;
    let answer = peer.frame().await.expect("an answer");
    body_of(api(METADATA), 0, 2, &answer);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_without_acks_closes_the_connection() {
    let broker = TestBroker::start().await;
    let mut peer = Peer::connect(broker.address).await;
    peer.send_frame(&request(api(PRODUCE), 7, 1, &produce("no-such-topic", 0, b"x"))).await;
    peer.closed().await;
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_requests_than_may_be_in_flight_are_all_answered_in_order() {
    const REQUESTS: i32 = 1000;
    let broker = TestBroker::start().await;
    let mut peer = Peer::connect(broker.address).await;
    create_topic(&mut peer, "many").await;
    let requests: Vec<_> = (0..REQUESTS)
        .flat_map(|id| framed(&request(api(PRODUCE), 7, id, &produce("many", -1, b"x"))))
        .collect();
    let (mut reading, mut writing) = peer.stream.into_split();
    let sent = tokio::spawn(async move {
        tokio::io::AsyncWriteExt::write_all(&mut writing, &requests).await.expect("sent");
        writing
    });
    for id in 0..REQUESTS {
        let length = tokio::io::AsyncReadExt::read_i32(&mut reading).await.expect("an answer");
        let mut answer = vec![0; length as usize];
        tokio::io::AsyncReadExt::read_exact(&mut reading, &mut answer).await.expect("whole");
        let body = body_of(api(PRODUCE), 7, id, &answer.into());
        let answer = ProduceResponse::decode(&mut body.clone(), 7).expect("decodes");
        let partition = &answer.responses[0].partition_responses[0];
        assert_eq!((partition.error_code, partition.base_offset), (0, i64::from(id)));
    }
    drop(sent.await.expect("sent"));
    broker.stop().await;
}
