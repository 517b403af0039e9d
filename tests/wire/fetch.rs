//! Fetch (1): every version, limits, errors, long polls, sessions.

use bytes::Bytes;
use highwater::kafka::codec;
use highwater::types::Uuid;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::{FetchRequest, FetchResponse};

use crate::calls::{FETCH, Session, call};
use crate::peer::Peer;
use crate::pipelining::topic_name;
use crate::records::batch;

const NONE: i16 = 0;
const OFFSET_OUT_OF_RANGE: i16 = 1;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const FETCH_SESSION_ID_NOT_FOUND: i16 = 70;
const INVALID_FETCH_SESSION_EPOCH: i16 = 71;
const UNKNOWN_LEADER_EPOCH: i16 = 75;
const UNKNOWN_TOPIC_ID: i16 = 100;
const FETCH_SESSION_TOPIC_ID_ERROR: i16 = 106;

/// Bytes of a batch that come from the broker: base offset and leader epoch.
const PATCHED: [std::ops::Range<usize>; 2] = [0..8, 12..16];

fn asked(partition: i32, offset: i64) -> FetchPartition {
    FetchPartition::default()
        .with_partition(partition)
        .with_fetch_offset(offset)
        .with_partition_max_bytes(1 << 20)
}

/// At once, without a session.
fn request(topic: &str, partitions: Vec<FetchPartition>) -> FetchRequest {
    let topic = FetchTopic::default().with_topic(topic_name(topic)).with_partitions(partitions);
    FetchRequest::default()
        .with_max_wait_ms(0)
        .with_min_bytes(1)
        .with_max_bytes(50 << 20)
        .with_session_epoch(-1)
        .with_topics(vec![topic])
}

fn only(mut answer: FetchResponse) -> PartitionData {
    assert_eq!((answer.error_code, answer.responses.len()), (NONE, 1));
    let mut topic = answer.responses.remove(0);
    assert_eq!(topic.partitions.len(), 1);
    topic.partitions.remove(0)
}

fn records(partition: &PartitionData) -> Bytes {
    partition.records.clone().expect("never null")
}

fn is_sent(stored: &[u8], sent: &[u8]) -> bool {
    let same = |at: &usize| stored.get(*at) == sent.get(*at);
    stored.len() == sent.len()
        && (0..sent.len()).filter(|at| !PATCHED.iter().any(|p| p.contains(at))).all(|at| same(&at))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_version_returns_what_was_produced() {
    let mut session = Session::start().await;
    let id = session.create("t", 1, &[]).await;
    let sent = batch(&[b"some", b"records"]);
    assert_eq!(session.produce("t", 0, sent.clone()).await.error_code, NONE);
    for version in 4..=18 {
        let mut request = request("t", vec![asked(0, 1)]);
        if version >= 13 {
            request.topics[0].topic = Default::default();
            request.topics[0].topic_id = codec::id_to_wire(Uuid::from_bytes(id));
        }
        let answer: FetchResponse = session.call(FETCH, version, &request).await;
        let named = answer.responses[0].topic.as_str() == "t";
        let numbered = answer.responses[0].topic_id.into_bytes() == id;
        assert_eq!((named, numbered), (version < 13, version >= 13), "v{version}");
        let partition = only(answer);
        assert!(
            is_sent(&records(&partition), &sent),
            "v{version}: the whole batch around offset 1"
        );
        let ends = (partition.high_watermark, partition.last_stable_offset);
        assert_eq!(ends, (2, 2), "v{version}");
        assert_eq!(partition.aborted_transactions, None, "read_uncommitted");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_committed_lists_aborted_transactions_even_if_there_are_none() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    session.produce("t", 0, batch(&[b"a"])).await;
    let request = request("t", vec![asked(0, 0)]).with_isolation_level(1);
    let partition = only(session.call(FETCH, 12, &request).await);
    assert_eq!(partition.aborted_transactions.map(|list| list.len()), Some(0));
    assert!(!partition.records.expect("never null").is_empty());
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_come_at_once_with_empty_records() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    session.produce("t", 0, batch(&[b"a"])).await;
    let epoch = |epoch| asked(0, 0).with_current_leader_epoch(epoch);
    let cases = [
        ("t", asked(0, 2), OFFSET_OUT_OF_RANGE),
        ("t", asked(0, -1), OFFSET_OUT_OF_RANGE),
        ("t", asked(1, 0), UNKNOWN_TOPIC_OR_PARTITION),
        ("nothing", asked(0, 0), UNKNOWN_TOPIC_OR_PARTITION),
        ("t", epoch(1_000), UNKNOWN_LEADER_EPOCH),
    ];
    for (topic, partition, error) in cases {
        let request = request(topic, vec![partition]).with_max_wait_ms(60_000);
        let partition = only(session.call(FETCH, 12, &request).await);
        assert_eq!(partition.error_code, error);
        let ends = (partition.high_watermark, partition.last_stable_offset);
        assert_eq!((ends, partition.log_start_offset), ((-1, -1), -1));
        assert_eq!(partition.records, Some(Bytes::new()));
        // As Kafka has it: null where a read failed, none where there is nothing to read.
        let aborted = partition.aborted_transactions.map(|list| list.len());
        assert_eq!(aborted, (error == UNKNOWN_TOPIC_OR_PARTITION).then_some(0));
    }
    let mut by_id = request("", vec![asked(0, 0)]);
    by_id.topics[0].topic_id = codec::id_to_wire(Uuid::from_bytes([9; 16]));
    assert_eq!(only(session.call(FETCH, 16, &by_id).await).error_code, UNKNOWN_TOPIC_ID);
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_batch_is_whole_and_later_ones_keep_to_the_limits() {
    let mut session = Session::start().await;
    session.create("t", 3, &[]).await;
    let sent = batch(&[&[b'x'; 500]]);
    for partition in 0..3 {
        session.produce("t", partition, sent.clone()).await;
        session.produce("t", partition, sent.clone()).await;
    }
    let lens = |answer: FetchResponse| -> Vec<usize> {
        answer.responses[0].partitions.iter().map(|p| records(p).len()).collect()
    };
    let partitions = || (0..3).map(|partition| asked(partition, 0)).collect::<Vec<_>>();
    let size = sent.len();
    let small = request("t", partitions()).with_max_bytes(10);
    assert_eq!(lens(session.call(FETCH, 12, &small).await), [size, 0, 0]);
    let small_each: Vec<_> =
        partitions().into_iter().map(|p| p.with_partition_max_bytes(1)).collect();
    assert_eq!(lens(session.call(FETCH, 12, &request("t", small_each)).await), [size, 0, 0]);
    let whole = request("t", partitions()).with_max_bytes(5 * size as i32);
    assert_eq!(lens(session.call(FETCH, 12, &whole).await), [2 * size, 2 * size, size]);
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_waits_for_the_next_append() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let mut consumer = Peer::connect(session.broker.address).await;
    let waiting = tokio::spawn(async move {
        let request = request("t", vec![asked(0, 0)]).with_max_wait_ms(600_000);
        only(call(&mut consumer, FETCH, 12, &request).await)
    });
    while session.broker.broker().metrics.fetches_waiting.get() == 0 {
        tokio::task::yield_now().await;
    }
    let sent = batch(&[b"awaited"]);
    session.produce("t", 0, sent.clone()).await;
    assert!(is_sent(&records(&waiting.await.unwrap()), &sent));
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_ahead_of_its_epoch_is_told_where_it_parts() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    session.produce("t", 0, batch(&[b"a"])).await;
    let current = only(session.call(FETCH, 12, &request("t", vec![asked(0, 0)])).await);
    let epoch = i32::from_be_bytes(records(&current)[12..16].try_into().unwrap());
    let agreeing = request("t", vec![asked(0, 1).with_last_fetched_epoch(epoch)]);
    let partition = only(session.call(FETCH, 12, &agreeing).await);
    assert_eq!(partition.diverging_epoch.epoch, -1, "the logs agree");
    session.broker.stop().await;
}

/// The next request of a session: only changes are named.
fn incremental(session_id: i32, epoch: i32) -> FetchRequest {
    request("", Vec::new())
        .with_topics(Vec::new())
        .with_session_id(session_id)
        .with_session_epoch(epoch)
}

fn sent_partitions(answer: &FetchResponse) -> Vec<i32> {
    let topics = answer.responses.iter();
    topics.flat_map(|topic| topic.partitions.iter().map(|p| p.partition_index)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_sends_only_what_is_new() {
    let mut session = Session::start().await;
    session.create("t", 3, &[]).await;
    let full = request("t", (0..3).map(|p| asked(p, 0)).collect()).with_session_epoch(0);
    let answer: FetchResponse = session.call(FETCH, 12, &full).await;
    assert!(answer.session_id > 0);
    assert_eq!(sent_partitions(&answer), [0, 1, 2]);
    let id = answer.session_id;
    let answer: FetchResponse = session.call(FETCH, 12, &incremental(id, 1)).await;
    assert_eq!((answer.session_id, sent_partitions(&answer)), (id, vec![]));
    session.produce("t", 1, batch(&[b"new"])).await;
    let answer: FetchResponse = session.call(FETCH, 12, &incremental(id, 2)).await;
    assert_eq!(sent_partitions(&answer), [1]);
    // It goes on behind what it has got, and no longer cares for partition 2.
    let moved =
        FetchTopic::default().with_topic(topic_name("t")).with_partitions(vec![asked(1, 1)]);
    let forgotten = ForgottenTopic::default().with_topic(topic_name("t")).with_partitions(vec![2]);
    let change =
        incremental(id, 3).with_topics(vec![moved]).with_forgotten_topics_data(vec![forgotten]);
    let answer: FetchResponse = session.call(FETCH, 12, &change).await;
    assert!(sent_partitions(&answer).is_empty());
    session.produce("t", 2, batch(&[b"unwanted"])).await;
    let answer: FetchResponse = session.call(FETCH, 12, &incremental(id, 4)).await;
    assert!(sent_partitions(&answer).is_empty());
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_isolation_level_that_there_is_not_fails_as_in_kafka() {
    const UNKNOWN_SERVER_ERROR: i16 = -1;
    let mut session = Session::start().await;
    let id = session.create("t", 1, &[]).await;
    for version in [6, 12, 13] {
        let mut unknown = request("t", vec![asked(0, 0)]).with_isolation_level(2);
        if version >= 13 {
            let topic = &mut unknown.topics[0];
            (topic.topic, topic.topic_id) =
                (Default::default(), codec::id_to_wire(Uuid::from_bytes(id)));
        }
        let answer: FetchResponse = session.call(FETCH, version, &unknown).await;
        let error = if version >= 7 { UNKNOWN_SERVER_ERROR } else { NONE };
        assert_eq!(answer.error_code, error, "v{version}");
        let codes: Vec<_> =
            answer.responses.iter().flat_map(|t| &t.partitions).map(|p| p.error_code).collect();
        let each: &[i16] = if version < 13 { &[UNKNOWN_SERVER_ERROR] } else { &[] };
        assert_eq!(codes, each, "v{version}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_may_begin_without_partitions() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    session.produce("t", 0, batch(&[b"a"])).await;
    let empty = request("t", Vec::new()).with_session_epoch(0);
    let opened: FetchResponse = session.call(FETCH, 12, &empty).await;
    assert!(opened.session_id > 0 && opened.responses.is_empty());
    let added =
        FetchTopic::default().with_topic(topic_name("t")).with_partitions(vec![asked(0, 0)]);
    let next = incremental(opened.session_id, 1).with_topics(vec![added]);
    let answer: FetchResponse = session.call(FETCH, 12, &next).await;
    assert_eq!(sent_partitions(&answer), [0]);
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_sessions_are_refused_as_a_whole() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let full = request("t", vec![asked(0, 0)]).with_session_epoch(0);
    let id = session.call::<FetchResponse>(FETCH, 12, &full).await.session_id;
    let cases = [
        (12, incremental(id ^ 1, 1), FETCH_SESSION_ID_NOT_FOUND),
        (12, incremental(id, 5), INVALID_FETCH_SESSION_EPOCH),
        (13, incremental(id, 1), FETCH_SESSION_TOPIC_ID_ERROR),
    ];
    for (version, request, error) in cases {
        let answer: FetchResponse = session.call(FETCH, version, &request).await;
        assert_eq!((answer.error_code, answer.session_id), (error, 0));
        assert!(answer.responses.is_empty());
    }
    session.broker.stop().await;
}
