//! Topics that a request names without any of their partitions: Kafka's answers to most APIs do not name them, if they are there.

use kafka_protocol::messages::delete_records_request::DeleteRecordsTopic;
use kafka_protocol::messages::txn_offset_commit_request::TxnOffsetCommitRequestTopic;
use kafka_protocol::messages::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use kafka_protocol::messages::{
    DeleteRecordsRequest, DeleteRecordsResponse, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
    WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use kafka_protocol::protocol::StrBytes;

use crate::calls::{DELETE_RECORDS, Session};
use crate::lifted::WRITE_TXN_MARKERS;
use crate::pipelining::topic_name;

const TXN_OFFSET_COMMIT: i16 = 28;
const UNKNOWN_SERVER_ERROR: i16 = -1;

#[tokio::test(flavor = "multi_thread")]
async fn topics_without_partitions_have_no_part_in_the_answer_if_they_are_there() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let topic = DeleteRecordsTopic::default().with_name(topic_name("t"));
    let delete = DeleteRecordsRequest::default().with_topics(vec![topic]);
    let deleted: DeleteRecordsResponse = session.call(DELETE_RECORDS, 2, &delete).await;
    assert!(deleted.topics.is_empty());
    for (name, is_named) in [("t", false), ("missing", true)] {
        let topic = TxnOffsetCommitRequestTopic::default().with_name(topic_name(name));
        let commit = TxnOffsetCommitRequest::default()
            .with_group_id(StrBytes::from_static_str("g").into())
            .with_topics(vec![topic]);
        let answer: TxnOffsetCommitResponse = session.call(TXN_OFFSET_COMMIT, 3, &commit).await;
        assert_eq!(!answer.topics.is_empty(), is_named, "{name}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn markers_are_for_producers_and_partitions_that_there_may_be() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let marker = |producer: i64, partitions: Vec<i32>| {
        let topic = WritableTxnMarkerTopic::default()
            .with_name(topic_name("t"))
            .with_partition_indexes(partitions);
        WritableTxnMarker::default().with_producer_id(producer.into()).with_topics(vec![topic])
    };
    let request = WriteTxnMarkersRequest::default()
        .with_markers(vec![marker(5, vec![]), marker(-1, vec![0])]);
    let answer: WriteTxnMarkersResponse = session.call(WRITE_TXN_MARKERS, 1, &request).await;
    assert_eq!(answer.markers.len(), 1, "one of them is for nothing");
    assert_eq!(answer.markers[0].topics[0].partitions[0].error_code, UNKNOWN_SERVER_ERROR);
    session.broker.stop().await;
}
