//! Partitions that nobody has written to: whoever reads them finds an empty log, and no directory is made for that.

use highwater::config::BrokerSettings;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use kafka_protocol::messages::{
    DeleteTopicsRequest, DeleteTopicsResponse, FetchRequest, FetchResponse, FindCoordinatorRequest,
    FindCoordinatorResponse, ListOffsetsRequest, ListOffsetsResponse, OffsetFetchRequest,
    OffsetFetchResponse, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
};
use kafka_protocol::protocol::StrBytes;

use crate::calls::{FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH, Session, call};
use crate::operator;
use crate::peer::Peer;
use crate::pipelining::topic_name;
use crate::records::batch;

const OFFSET_FETCH: i16 = 9;
const FIND_COORDINATOR: i16 = 10;
const DELETE_TOPICS: i16 = 20;

const OFFSET_OUT_OF_RANGE: i16 = 1;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const UNKNOWN_LEADER_EPOCH: i16 = 75;

const INTERNAL: [&str; 2] = ["__consumer_offsets", "__transaction_state"];

fn fetch(topic: &str, partition: FetchPartition) -> FetchRequest {
    let partition = partition.with_partition_max_bytes(1 << 20);
    let topic =
        FetchTopic::default().with_topic(topic_name(topic)).with_partitions(vec![partition]);
    FetchRequest::default()
        .with_min_bytes(1)
        .with_max_bytes(1 << 20)
        .with_session_epoch(-1)
        .with_topics(vec![topic])
}

fn fetched(mut answer: FetchResponse) -> PartitionData {
    answer.responses.remove(0).partitions.remove(0)
}

/// A broker with the topic `t`, and both coordinators' topics in its metadata.
async fn untouched() -> Session {
    let mut session = Session::start_with(|settings: &mut BrokerSettings| {
        settings.http_listen = Some("127.0.0.1:0".to_owned());
    })
    .await;
    session.create("t", 3, &[]).await;
    for key_type in [0, 1] {
        let find = FindCoordinatorRequest::default()
            .with_key_type(key_type)
            .with_coordinator_keys(vec![StrBytes::from_static_str("x")]);
        let found: FindCoordinatorResponse = session.call(FIND_COORDINATOR, 4, &find).await;
        assert_eq!(found.coordinators[0].error_code, 0);
    }
    session
}

/// Error, offset and epoch.
async fn list(session: &mut Session, topic: &str, timestamp: i64) -> (i16, i64, i32) {
    let partition = ListOffsetsPartition::default().with_timestamp(timestamp);
    let topic =
        ListOffsetsTopic::default().with_name(topic_name(topic)).with_partitions(vec![partition]);
    let request =
        ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![topic]);
    let answer: ListOffsetsResponse = session.call(LIST_OFFSETS, 9, &request).await;
    let listed = &answer.topics[0].partitions[0];
    (listed.error_code, listed.offset, listed.leader_epoch)
}

/// Error, epoch and end.
async fn end_of_epoch(session: &mut Session, topic: &str, epoch: i32) -> (i16, i32, i64) {
    let partition = OffsetForLeaderPartition::default().with_leader_epoch(epoch);
    let topic = OffsetForLeaderTopic::default()
        .with_topic(topic_name(topic))
        .with_partitions(vec![partition.with_current_leader_epoch(-1)]);
    let request = OffsetForLeaderEpochRequest::default()
        .with_replica_id((-1).into())
        .with_topics(vec![topic]);
    let answer: OffsetForLeaderEpochResponse =
        session.call(OFFSET_FOR_LEADER_EPOCH, 4, &request).await;
    let end = &answer.topics[0].partitions[0];
    (end.error_code, end.leader_epoch, end.end_offset)
}

/// What the data APIs say of partition 0 of a topic.
async fn read_as_consumers_do(session: &mut Session, topic: &str) {
    const NONE: (i16, i64, i32) = (0, -1, -1);
    let (error, latest, epoch) = list(session, topic, -1).await;
    assert_eq!((error, latest), (0, 0), "{topic}");
    assert!(epoch >= 0, "{topic}");
    for (timestamp, listed) in
        [(-2, (0, 0, epoch)), (-3, NONE), (-4, (0, 0, epoch)), (-5, NONE), (0, NONE)]
    {
        assert_eq!(list(session, topic, timestamp).await, listed, "{topic} at {timestamp}");
    }
    assert_eq!(end_of_epoch(session, topic, epoch).await, (0, epoch, 0), "{topic}");
    assert_eq!(end_of_epoch(session, topic, epoch + 1).await, (0, -1, -1), "{topic}");
    let from = |offset| FetchPartition::default().with_fetch_offset(offset);
    for isolation_level in [0, 1] {
        let ask = fetch(topic, from(0)).with_isolation_level(isolation_level);
        let empty = fetched(session.call(FETCH, 12, &ask).await);
        assert_eq!((empty.error_code, empty.records.map(|records| records.len())), (0, Some(0)));
        let ends = (empty.high_watermark, empty.last_stable_offset, empty.log_start_offset);
        assert_eq!(ends, (0, 0, 0), "{topic}");
        let aborted = empty.aborted_transactions.map(|list| list.len());
        assert_eq!(aborted, (isolation_level == 1).then_some(0), "{topic}");
    }
    let agreeing = fetch(topic, from(0).with_last_fetched_epoch(epoch));
    let agreed = fetched(session.call(FETCH, 12, &agreeing).await);
    assert_eq!((agreed.error_code, agreed.diverging_epoch.epoch), (0, -1), "{topic}");
    let ahead = fetch(topic, from(3).with_last_fetched_epoch(epoch));
    let ahead = ahead.with_isolation_level(1);
    let parted = fetched(session.call(FETCH, 12, &ahead).await);
    assert_eq!(parted.aborted_transactions, None, "{topic}: nothing is read");
    let diverging = parted.diverging_epoch;
    assert_eq!((diverging.epoch, diverging.end_offset), (epoch, 0), "{topic}");
    for (asked, error) in [
        (from(1), OFFSET_OUT_OF_RANGE),
        (from(0).with_last_fetched_epoch(epoch + 1), OFFSET_OUT_OF_RANGE),
        (from(0).with_current_leader_epoch(epoch + 1), UNKNOWN_LEADER_EPOCH),
    ] {
        let refused = fetched(session.call(FETCH, 12, &fetch(topic, asked)).await);
        assert_eq!(refused.error_code, error, "{topic}");
    }
}

async fn fetch_offsets(session: &mut Session) {
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(StrBytes::from_static_str("nobody").into())
        .with_topics(None);
    let request = OffsetFetchRequest::default().with_groups(vec![group]).with_require_stable(true);
    let answer: OffsetFetchResponse = session.call(OFFSET_FETCH, 8, &request).await;
    assert_eq!((answer.groups[0].error_code, answer.groups[0].topics.len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_reads_makes_no_directory() {
    let mut session = untouched().await;
    for topic in ["t", INTERNAL[0], INTERNAL[1]] {
        read_as_consumers_do(&mut session, topic).await;
    }
    fetch_offsets(&mut session).await;
    for words in [
        "consume t",
        "consume __consumer_offsets",
        "topic list",
        "topic describe t",
        "group list",
        "group describe nobody",
        "txn list",
        "txn describe nobody",
        "txn find-hanging",
        "txn producers --topic t --partition 0",
        "txn producers --topic __consumer_offsets --partition 49",
    ] {
        // Some have nothing to show and say so.
        let _ = operator::run(&session.broker, words).await;
        assert_eq!(session.broker.partition_directories(), ["__cluster_metadata-0"], "{words}");
    }
    operator::metrics(&session.broker).await;
    assert_eq!(session.broker.partition_directories(), ["__cluster_metadata-0"]);
    session.produce("t", 1, batch(&[b"a"])).await;
    assert_eq!(session.broker.partition_directories(), ["__cluster_metadata-0", "t-1"]);
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_that_waits_for_the_first_record_is_told_of_the_deletion() {
    let mut session = untouched().await;
    let mut consumer = Peer::connect(session.broker.address).await;
    let waiting = tokio::spawn(async move {
        let request = fetch("t", FetchPartition::default()).with_max_wait_ms(600_000);
        fetched(call(&mut consumer, FETCH, 12, &request).await)
    });
    while session.broker.broker().metrics.fetches_waiting.get() == 0 {
        tokio::task::yield_now().await;
    }
    let delete = DeleteTopicsRequest::default()
        .with_topic_names(vec![topic_name("t")])
        .with_timeout_ms(30_000);
    let deleted: DeleteTopicsResponse = session.call(DELETE_TOPICS, 5, &delete).await;
    assert_eq!(deleted.responses[0].error_code, 0);
    assert_eq!(waiting.await.unwrap().error_code, UNKNOWN_TOPIC_OR_PARTITION);
    session.broker.stop().await;
}
