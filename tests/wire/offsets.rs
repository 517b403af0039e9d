//! ListOffsets (2), OffsetForLeaderEpoch (23), DeleteRecords (21): every version and every special value.

use kafka_protocol::messages::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use kafka_protocol::messages::{
    DeleteRecordsRequest, DeleteRecordsResponse, ListOffsetsRequest, ListOffsetsResponse,
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
};

use crate::calls::{DELETE_RECORDS, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH, Session};
use crate::pipelining::topic_name;
use crate::records::batch;

const UNKNOWN_SERVER_ERROR: i16 = -1;
const NONE: i16 = 0;
const OFFSET_OUT_OF_RANGE: i16 = 1;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const UNSUPPORTED_VERSION: i16 = 35;
const INVALID_REQUEST: i16 = 42;
const POLICY_VIOLATION: i16 = 44;
const FENCED_LEADER_EPOCH: i16 = 74;
const UNKNOWN_LEADER_EPOCH: i16 = 75;

fn list(topic: &str, asked: &[(i32, i64)]) -> ListOffsetsRequest {
    let partition = |&(partition, timestamp): &(i32, i64)| {
        ListOffsetsPartition::default().with_partition_index(partition).with_timestamp(timestamp)
    };
    let topic = ListOffsetsTopic::default()
        .with_name(topic_name(topic))
        .with_partitions(asked.iter().map(partition).collect());
    ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![topic])
}

/// Error, offset and timestamp of each partition.
fn listed(answer: &ListOffsetsResponse) -> Vec<(i16, i64, i64)> {
    let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|p| (p.error_code, p.offset, p.timestamp)).collect()
}

/// Topic `t` with four records of timestamp 0, the first of them deleted.
async fn four_records() -> Session {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    session.produce("t", 0, batch(&[b"a", b"b"])).await;
    session.produce("t", 0, batch(&[b"c", b"d"])).await;
    let answer: DeleteRecordsResponse =
        session.call(DELETE_RECORDS, 2, &delete("t", &[(0, 1)])).await;
    assert_eq!(answer.topics[0].partitions[0].low_watermark, 1);
    session
}

#[tokio::test(flavor = "multi_thread")]
async fn special_timestamps_mean_what_they_mean_to_kafka() {
    const LATEST: i64 = -1;
    const EARLIEST: i64 = -2;
    const MAX_TIMESTAMP: i64 = -3;
    const EARLIEST_LOCAL: i64 = -4;
    const LATEST_TIERED: i64 = -5;
    let refused = (UNSUPPORTED_VERSION, -1, -1);
    let mut session = four_records().await;
    for version in 1..=10 {
        let mut ask = async |timestamp| {
            let answer: ListOffsetsResponse =
                session.call(LIST_OFFSETS, version, &list("t", &[(0, timestamp)])).await;
            listed(&answer)[0]
        };
        assert_eq!(ask(LATEST).await, (NONE, 4, -1), "v{version}");
        assert_eq!(ask(EARLIEST).await, (NONE, 1, -1), "v{version}");
        assert_eq!(ask(0).await, (NONE, 1, 0), "the first that is left, v{version}");
        assert_eq!(ask(1).await, (NONE, -1, -1), "none so young, v{version}");
        let max = if version >= 7 { (NONE, 0, 0) } else { refused };
        let max_timestamp = ask(MAX_TIMESTAMP).await;
        assert_eq!((max_timestamp.0, max_timestamp.2), (max.0, max.2), "v{version}");
        let local = if version >= 8 { (NONE, 1, -1) } else { refused };
        assert_eq!(ask(EARLIEST_LOCAL).await, local, "v{version}");
        let tiered = if version >= 9 { (NONE, -1, -1) } else { refused };
        assert_eq!(ask(LATEST_TIERED).await, tiered, "v{version}");
        assert_eq!(ask(-7).await, refused, "v{version}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_and_repeated_partitions_are_refused_one_by_one() {
    let mut session = four_records().await;
    let answer: ListOffsetsResponse =
        session.call(LIST_OFFSETS, 6, &list("t", &[(0, -1), (5, -1)])).await;
    assert_eq!(listed(&answer), [(NONE, 4, -1), (UNKNOWN_TOPIC_OR_PARTITION, -1, -1)]);
    let answer: ListOffsetsResponse =
        session.call(LIST_OFFSETS, 6, &list("t", &[(0, -1), (0, -2)])).await;
    assert_eq!(listed(&answer), [(INVALID_REQUEST, -1, -1)], "answered once");
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_isolation_level_that_there_is_not_fails_and_what_has_no_partitions_is_not_named() {
    let mut session = four_records().await;
    let unknown = list("t", &[(0, -1), (5, -1)]).with_isolation_level(3);
    let answer: ListOffsetsResponse = session.call(LIST_OFFSETS, 6, &unknown).await;
    assert_eq!(listed(&answer), [(UNKNOWN_SERVER_ERROR, -1, -1); 2]);
    let nothing: ListOffsetsResponse = session.call(LIST_OFFSETS, 6, &list("t", &[])).await;
    assert!(nothing.topics.is_empty());
    session.broker.stop().await;
}

fn end_of_epoch(current: i32, epoch: i32) -> OffsetForLeaderEpochRequest {
    let partition = OffsetForLeaderPartition::default()
        .with_current_leader_epoch(current)
        .with_leader_epoch(epoch);
    let topic = OffsetForLeaderTopic::default()
        .with_topic(topic_name("t"))
        .with_partitions(vec![partition]);
    OffsetForLeaderEpochRequest::default().with_replica_id((-1).into()).with_topics(vec![topic])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_epoch_ends_where_the_log_ends_or_is_unknown() {
    let mut session = four_records().await;
    let latest: ListOffsetsResponse = session.call(LIST_OFFSETS, 4, &list("t", &[(0, -1)])).await;
    let epoch = latest.topics[0].partitions[0].leader_epoch;
    for version in 2..=4 {
        let mut ask = async |current, asked| {
            let answer: OffsetForLeaderEpochResponse =
                session.call(OFFSET_FOR_LEADER_EPOCH, version, &end_of_epoch(current, asked)).await;
            let end = &answer.topics[0].partitions[0];
            (end.error_code, end.leader_epoch, end.end_offset)
        };
        assert_eq!(ask(-1, epoch).await, (NONE, epoch, 4), "v{version}");
        assert_eq!(ask(epoch, epoch).await, (NONE, epoch, 4), "v{version}");
        assert_eq!(ask(-1, epoch + 1).await, (NONE, -1, -1), "v{version}");
        assert_eq!(ask(-1, -1).await, (NONE, -1, -1), "v{version}");
        assert_eq!(ask(-1, -2).await, (NONE, -2, 1), "before the first there is, v{version}");
        assert_eq!(ask(epoch + 1, epoch).await, (UNKNOWN_LEADER_EPOCH, -1, -1), "v{version}");
        assert_eq!(ask(-2, epoch).await, (FENCED_LEADER_EPOCH, -1, -1), "v{version}");
    }
    session.broker.stop().await;
}

fn delete(topic: &str, asked: &[(i32, i64)]) -> DeleteRecordsRequest {
    let partition = |&(partition, offset): &(i32, i64)| {
        DeleteRecordsPartition::default().with_partition_index(partition).with_offset(offset)
    };
    let topic = DeleteRecordsTopic::default()
        .with_name(topic_name(topic))
        .with_partitions(asked.iter().map(partition).collect());
    DeleteRecordsRequest::default().with_topics(vec![topic]).with_timeout_ms(30_000)
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_records_raises_the_log_start_and_nothing_lowers_it() {
    let mut session = four_records().await;
    session.create("keyed", 1, &[("cleanup.policy", "compact")]).await;
    for (version, before, low_watermark) in [(0, 2, 2), (1, 1, 2), (2, -1, 4)] {
        let answer: DeleteRecordsResponse =
            session.call(DELETE_RECORDS, version, &delete("t", &[(0, before)])).await;
        let partition = &answer.topics[0].partitions[0];
        assert_eq!((partition.error_code, partition.low_watermark), (NONE, low_watermark));
    }
    let cases = [
        ("t", 0, 5, OFFSET_OUT_OF_RANGE),
        ("t", 0, -2, OFFSET_OUT_OF_RANGE),
        ("t", 1, 0, UNKNOWN_TOPIC_OR_PARTITION),
        ("nothing", 0, 0, UNKNOWN_TOPIC_OR_PARTITION),
        ("keyed", 0, 0, POLICY_VIOLATION),
    ];
    for (topic, partition, before, error) in cases {
        let answer: DeleteRecordsResponse =
            session.call(DELETE_RECORDS, 2, &delete(topic, &[(partition, before)])).await;
        let partition = &answer.topics[0].partitions[0];
        assert_eq!(
            (partition.error_code, partition.low_watermark),
            (error, -1),
            "{topic} {before}"
        );
    }
    session.broker.stop().await;
}
