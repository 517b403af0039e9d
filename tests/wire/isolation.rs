//! What readers of both isolation levels are given of transactions that were aborted or are open.

use highwater::log::scan::scan;
use highwater::types::Timestamp;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{
    AddPartitionsToTxnResponse, EndTxnResponse, FetchRequest, FetchResponse, ListOffsetsRequest,
    ListOffsetsResponse, ProduceResponse,
};

use crate::calls::{FETCH, LIST_OFFSETS, PRODUCE, Session};
use crate::pipelining::topic_name;
use crate::transactional::{ADD_PARTITIONS_TO_TXN, END_TXN, Producer};

const READ_UNCOMMITTED: i8 = 0;
const READ_COMMITTED: i8 = 1;

/// A transaction that writes `count` records to `t-0`.
async fn open(session: &mut Session, name: &str, count: usize) -> Producer {
    let producer = Producer::begin(session, name, 60_000).await;
    let add = producer.add("t", 0);
    let added: AddPartitionsToTxnResponse = session.call(ADD_PARTITIONS_TO_TXN, 3, &add).await;
    let added = &added.results_by_topic_v3_and_below[0].results_by_partition[0];
    assert_eq!(added.partition_error_code, 0);
    let produce = producer.produce(("t", 0), 0, &vec![Timestamp::new(0); count]);
    let produced: ProduceResponse = session.call(PRODUCE, 11, &produce).await;
    assert_eq!(produced.responses[0].partition_responses[0].error_code, 0);
    producer
}

async fn fetch(session: &mut Session, isolation_level: i8, offset: i64) -> PartitionData {
    let partition =
        FetchPartition::default().with_fetch_offset(offset).with_partition_max_bytes(1 << 20);
    let topic = FetchTopic::default().with_topic(topic_name("t")).with_partitions(vec![partition]);
    let request = FetchRequest::default()
        .with_max_bytes(1 << 20)
        .with_session_epoch(-1)
        .with_isolation_level(isolation_level)
        .with_topics(vec![topic]);
    let mut answer: FetchResponse = session.call(FETCH, 12, &request).await;
    answer.responses.remove(0).partitions.remove(0)
}

async fn latest(session: &mut Session, isolation_level: i8) -> i64 {
    let partition = ListOffsetsPartition::default().with_timestamp(-1);
    let topic =
        ListOffsetsTopic::default().with_name(topic_name("t")).with_partitions(vec![partition]);
    let request = ListOffsetsRequest::default()
        .with_replica_id((-1).into())
        .with_isolation_level(isolation_level)
        .with_topics(vec![topic]);
    let answer: ListOffsetsResponse = session.call(LIST_OFFSETS, 6, &request).await;
    answer.topics[0].partitions[0].offset
}

/// Records of clients, markers and, where they are told, what was aborted: of everything that may be read.
async fn read(session: &mut Session, isolation_level: i8) -> (i32, i32, Option<Vec<(i64, i64)>>) {
    let (mut data, mut markers, mut from) = (0, 0, 0);
    let mut aborted: Option<Vec<(i64, i64)>> = None;
    loop {
        let fetched = fetch(session, isolation_level, from).await;
        assert_eq!((fetched.high_watermark, fetched.last_stable_offset), (6, 4));
        for one in fetched.aborted_transactions.into_iter().flatten() {
            let aborted = aborted.get_or_insert_default();
            let named = (one.producer_id.0, one.first_offset);
            // An answer may end anywhere, so several may name it.
            if !aborted.contains(&named) {
                aborted.push(named);
            }
        }
        let records = fetched.records.expect("never null");
        if records.is_empty() {
            return (data, markers, aborted);
        }
        for (_, stored) in scan(&records) {
            let header = stored.header().expect("magic 2");
            *(if header.is_control() { &mut markers } else { &mut data }) += header.records_count;
            from = stored.last_offset().get() + 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn read_uncommitted_is_shown_everything_and_read_committed_what_has_ended() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let aborted = open(&mut session, "aborted", 3).await;
    let ended: EndTxnResponse = session.call(END_TXN, 3, &aborted.end(false)).await;
    assert_eq!(ended.error_code, 0);
    // Whoever begins anew waits for the marker.
    Producer::begin(&mut session, "aborted", 60_000).await;
    open(&mut session, "open", 2).await;

    let named = Some(vec![(aborted.id, 0)]);
    for (level, seen, end) in
        [(READ_UNCOMMITTED, (5, 1, None), 6), (READ_COMMITTED, (3, 1, named), 4)]
    {
        assert_eq!(read(&mut session, level).await, seen);
        assert_eq!(latest(&mut session, level).await, end);
    }
    session.broker.stop().await;
}
