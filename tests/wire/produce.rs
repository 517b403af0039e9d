//! Produce (0): every version, every refusal.

use bytes::{BufMut, Bytes, BytesMut};
use highwater::config::{Codec, Validation};
use highwater::kafka::codec;
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::log::compress::Compression;
use highwater::types::{Timestamp, Uuid};
use kafka_protocol::messages::ProduceResponse;
use kafka_protocol::messages::produce_request::TopicProduceData;
use kafka_protocol::messages::produce_response::PartitionProduceResponse;

use crate::calls::{PRODUCE, Session, produce_request};
use crate::peer::{Peer, api};
use crate::pipelining::topic_name;
use crate::records::{ATTRIBUTES, batch, changed, sent_by};

const NONE: i16 = 0;
const CORRUPT_MESSAGE: i16 = 2;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const MESSAGE_TOO_LARGE: i16 = 10;
const INVALID_REQUIRED_ACKS: i16 = 21;
const INVALID_TIMESTAMP: i16 = 32;
const OUT_OF_ORDER_SEQUENCE_NUMBER: i16 = 45;
const INVALID_PRODUCER_EPOCH: i16 = 47;
const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: i16 = 53;
const UNSUPPORTED_COMPRESSION_TYPE: i16 = 76;
const INVALID_RECORD: i16 = 87;
const UNKNOWN_TOPIC_ID: i16 = 100;

fn only(mut answer: ProduceResponse) -> PartitionProduceResponse {
    assert_eq!(answer.responses.len(), 1);
    let mut topic = answer.responses.remove(0);
    assert_eq!(topic.partition_responses.len(), 1, "one answer for one partition");
    topic.partition_responses.remove(0)
}

const FIRST_TIMESTAMP: usize = 27;
const MAX_TIMESTAMP: usize = 35;

#[tokio::test(flavor = "multi_thread")]
async fn every_version_appends_and_tells_the_offset() {
    let mut session = Session::start().await;
    let id = session.create("t", 2, &[]).await;
    for (number, version) in (3..=13).enumerate() {
        let mut request = produce_request("t", 1, Some(batch(&[b"a", b"b"])));
        if version >= 13 {
            let topic = &mut request.topic_data[0];
            (topic.name, topic.topic_id) =
                (Default::default(), codec::id_to_wire(Uuid::from_bytes(id)));
        }
        let answer: ProduceResponse = session.call(PRODUCE, version, &request).await;
        if version >= 13 {
            assert_eq!(answer.responses[0].topic_id.into_bytes(), id);
        } else {
            assert_eq!(answer.responses[0].name.as_str(), "t");
        }
        let answer = only(answer);
        assert_eq!((answer.index, answer.error_code), (1, NONE), "v{version}");
        assert_eq!(answer.base_offset, number as i64 * 2, "v{version}");
        assert_eq!(answer.log_append_time_ms, -1, "CreateTime");
        assert_eq!(answer.log_start_offset, if version >= 5 { 0 } else { -1 });
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_has_its_own_code_and_no_offset() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let good = batch(&[b"a"]);
    let mut torn = BytesMut::from(&good[..]);
    let last = torn.len() - 1;
    torn[last] ^= 1;
    let two = Bytes::from([&good[..], &good[..]].concat());
    let large = batch(&[&vec![b'x'; 1_100_000]]);
    let cases = [
        ("nothing", 0, Some(good.clone()), UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 1, Some(good.clone()), UNKNOWN_TOPIC_OR_PARTITION),
        ("t", -1, Some(good.clone()), UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 0, None, INVALID_RECORD),
        ("t", 0, Some(Bytes::new()), INVALID_RECORD),
        ("t", 0, Some(torn.freeze()), CORRUPT_MESSAGE),
        ("t", 0, Some(two), INVALID_RECORD),
        ("t", 0, Some(large), MESSAGE_TOO_LARGE),
    ];
    for (number, (topic, partition, records, error)) in cases.into_iter().enumerate() {
        let request = produce_request(topic, partition, records);
        let answer = only(session.call(PRODUCE, 12, &request).await);
        assert_eq!(answer.error_code, error, "case {number}");
        let offsets = (answer.base_offset, answer.log_append_time_ms, answer.log_start_offset);
        assert_eq!(offsets, (-1, -1, -1), "case {number}");
    }
    assert_eq!(session.produce("t", 0, good).await.base_offset, 0, "nothing of it was appended");
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_refuses_a_batch_tells_where_it_begins_and_words_only_about_records() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let good = batch(&[b"a"]);
    let [control, placed] = [(ATTRIBUTES, &[0, 0x20][..]), (0, &[0, 0, 0, 0, 0, 0, 0, 7])]
        .map(|(at, field)| changed(&good, at, field));
    assert_eq!(session.produce("t", 0, sent_by(&good, 17, 1, 0)).await.error_code, NONE);
    let cases = [
        (control, INVALID_RECORD),
        (placed, INVALID_RECORD),
        (sent_by(&good, 17, 1, 5), OUT_OF_ORDER_SEQUENCE_NUMBER),
        (sent_by(&good, 17, 0, 1), INVALID_PRODUCER_EPOCH),
    ];
    for (number, (records, error)) in cases.into_iter().enumerate() {
        let answer = session.produce("t", 0, records).await;
        assert_eq!((answer.error_code, answer.log_start_offset), (error, 0), "case {number}");
        assert_eq!(answer.error_message, None, "case {number}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_without_partitions_are_not_answered_and_null_is_malformed() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let mut request = produce_request("t", 0, Some(batch(&[b"a"])));
    let nothing = TopicProduceData::default().with_name(topic_name("empty"));
    request.topic_data.insert(0, nothing);
    assert_eq!(only(session.call(PRODUCE, 12, &request).await).error_code, NONE);
    // No transactional id, acks=1, the time-out, and null in the place of the topics.
    for (version, body) in [
        (8, &[0xff, 0xff, 0, 1, 0, 0, 0x75, 0x30, 0xff, 0xff, 0xff, 0xff][..]),
        (9, &[0, 0, 1, 0, 0, 0x75, 0x30, 0, 0]),
    ] {
        let mut peer = Peer::connect(session.broker.address).await;
        assert!(peer.ask(api(PRODUCE), version, body).await.is_none(), "v{version}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn acks_that_do_not_exist_are_refused_for_every_partition() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    for acks in [2, -2, i16::MAX] {
        let request = produce_request("t", 0, Some(batch(&[b"a"]))).with_acks(acks);
        let answer = only(session.call(PRODUCE, 9, &request).await);
        assert_eq!(answer.error_code, INVALID_REQUIRED_ACKS);
        let nowhere = produce_request("t", 1, Some(batch(&[b"a"]))).with_acks(acks);
        let answer = only(session.call(PRODUCE, 9, &nowhere).await);
        assert_eq!(answer.error_code, UNKNOWN_TOPIC_OR_PARTITION);
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_topic_id_is_told_from_an_unknown_partition() {
    let mut session = Session::start().await;
    let id = session.create("t", 1, &[]).await;
    for (id, partition, error) in
        [([9; 16], 0, UNKNOWN_TOPIC_ID), (id, 7, UNKNOWN_TOPIC_OR_PARTITION)]
    {
        let mut request = produce_request("", partition, Some(batch(&[b"a"])));
        request.topic_data[0].topic_id = codec::id_to_wire(Uuid::from_bytes(id));
        let answer = only(session.call(PRODUCE, 13, &request).await);
        assert_eq!(answer.error_code, error);
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotent_producer_gets_the_first_offset_again_and_no_gaps() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let plain = batch(&[b"a", b"b"]);
    let cases = [
        (0, 0, NONE, 0),
        (0, 2, NONE, 2),
        (0, 6, OUT_OF_ORDER_SEQUENCE_NUMBER, -1),
        (1, 1, OUT_OF_ORDER_SEQUENCE_NUMBER, -1),
        (1, 0, NONE, 4),
        (0, 4, INVALID_PRODUCER_EPOCH, -1),
    ];
    for (epoch, sequence, error, offset) in cases {
        let answer = session.produce("t", 0, sent_by(&plain, 17, epoch, sequence)).await;
        assert_eq!((answer.error_code, answer.base_offset), (error, offset), "{epoch} {sequence}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_before_is_answered_with_its_first_offset_and_its_time() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let time = 1_700_000_000_000_i64.to_be_bytes();
    let timed = changed(&batch(&[b"a", b"b"]), FIRST_TIMESTAMP, &[time, time].concat());
    for (log_append_time, what) in [(-1, "CreateTime"), (1_700_000_000_000, "sent again")] {
        let answer = session.produce("t", 0, sent_by(&timed, 17, 0, 0)).await;
        assert_eq!((answer.error_code, answer.base_offset), (NONE, 0), "{what}");
        assert_eq!(answer.log_append_time_ms, log_append_time, "{what}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_last_five_batches_each_is_known_again_and_an_older_one_is_out_of_order() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let plain = batch(&[b"a"]);
    let sent_first = [0, 1, 2, 3, 4, 5].map(|sequence| (sequence, NONE, i64::from(sequence)));
    let sent_again = [5, 3, 1].map(|sequence| (sequence, NONE, i64::from(sequence)));
    let too_old = [(0, OUT_OF_ORDER_SEQUENCE_NUMBER, -1)];
    for (sequence, error, offset) in [&sent_first[..], &sent_again, &too_old].concat() {
        let answer = session.produce("t", 0, sent_by(&plain, 17, 0, sequence)).await;
        assert_eq!((answer.error_code, answer.base_offset), (error, offset), "{sequence}");
    }
    let next = session.produce("t", 0, batch(&[b"b"])).await;
    assert_eq!(next.base_offset, 6, "nothing was appended twice");
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn zstd_needs_version_7() {
    const ZSTD: u8 = 4;
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let plain = batch(&[b"a"]);
    let records = zstd::encode_all(&plain[61..], 3).unwrap();
    let mut bytes = BytesMut::from(&plain[..61]);
    bytes.put_slice(&records);
    let length = bytes.len() as i32 - 12;
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    let compressed = changed(&bytes.freeze(), ATTRIBUTES, &[0, ZSTD]);
    for (version, error) in [(6, UNSUPPORTED_COMPRESSION_TYPE), (7, NONE)] {
        let request = produce_request("t", 0, Some(compressed.clone()));
        assert_eq!(only(session.call(PRODUCE, version, &request).await).error_code, error);
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compacted_topic_names_the_records_without_key() {
    let mut session = Session::start().await;
    session.create("t", 1, &[("cleanup.policy", "compact")]).await;
    let answer = session.produce("t", 0, batch(&[b"a", b"b"])).await;
    assert_eq!(answer.error_code, INVALID_RECORD);
    let named: Vec<i32> = answer.record_errors.iter().map(|record| record.batch_index).collect();
    assert_eq!(named, [0, 1]);
    assert!(answer.error_message.is_some());
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_append_time_is_the_brokers_clock() {
    let mut session = Session::start().await;
    session.create("t", 1, &[("message.timestamp.type", "LogAppendTime")]).await;
    let old = changed(&batch(&[b"a"]), MAX_TIMESTAMP, &[0; 8]);
    let answer = session.produce("t", 0, old).await;
    assert_eq!(answer.error_code, NONE);
    assert!(answer.log_append_time_ms > 1_700_000_000_000);
    let claimed = changed(&batch(&[b"a"]), ATTRIBUTES, &[0, 0x08]);
    assert_eq!(session.produce("t", 0, claimed).await.error_code, INVALID_TIMESTAMP);
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transactional_batch_without_a_transactional_id_is_not_authorized() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let transactional = changed(&sent_by(&batch(&[b"a"]), 5, 0, 0), ATTRIBUTES, &[0, 0x10]);
    for partition in [0, 1] {
        let answer = session.produce("t", partition, transactional.clone()).await;
        assert_eq!(answer.error_code, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "{partition}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fast_validation_leaves_the_records_to_the_producer() {
    const HEADER_LEN: usize = 61;
    let good = batch(&[b"a"]);
    let hollow = changed(&good, HEADER_LEN, &vec![0xee; good.len() - HEADER_LEN]);
    for (validation, hollow_code) in
        [(Validation::Strict, INVALID_RECORD), (Validation::Fast, NONE)]
    {
        let mut session = Session::start_with(|settings| settings.validation = validation).await;
        session.create("t", 1, &[]).await;
        let produced = session.produce("t", 0, hollow.clone()).await;
        assert_eq!(produced.error_code, hollow_code, "{validation:?}");
        let mut damaged = BytesMut::from(&good[..]);
        damaged[HEADER_LEN] ^= 1;
        let produced = session.produce("t", 0, damaged.freeze()).await;
        assert_eq!(produced.error_code, CORRUPT_MESSAGE, "{validation:?}: the checksum counts");
        session.create("compacted", 1, &[("cleanup.policy", "compact")]).await;
        let produced = session.produce("compacted", 0, good.clone()).await;
        assert_eq!(produced.error_code, INVALID_RECORD, "{validation:?}: no key");
        session.broker.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_records_are_as_large_as_the_topic_allows() {
    let mut session = Session::start().await;
    let limit = [("max.decompressed.message.bytes", "1000")];
    session.create("t", 1, &limit).await;
    for (value_len, code) in [(900, NONE), (1000, INVALID_RECORD)] {
        let compression = Compression::default_of(Codec::Zstd);
        let mut builder =
            BatchBuilder::new(BatchTemplate { compression, ..BatchTemplate::default() });
        builder.append(Timestamp::NONE, None, Some(&vec![7; value_len]));
        let bytes = Bytes::from(builder.build().expect("memory"));
        let produced = session.produce("t", 0, bytes).await;
        assert_eq!(produced.error_code, code, "{value_len}: {:?}", produced.error_message);
        let uncompressed = session.produce("t", 0, batch(&[&vec![7; value_len]])).await;
        assert_eq!(uncompressed.error_code, NONE, "bounded by max.message.bytes");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_of_coordinators_are_not_for_clients_to_write() {
    const INVALID_TOPIC_EXCEPTION: i16 = 17;
    let mut session = Session::start().await;
    let none_yet = session.produce("__consumer_offsets", 0, batch(&[b"a"])).await;
    assert_eq!(none_yet.error_code, UNKNOWN_TOPIC_OR_PARTITION);
    let id = session.create("__consumer_offsets", 1, &[]).await;
    let refused = session.produce("__consumer_offsets", 0, batch(&[b"a"])).await;
    assert_eq!(refused.error_code, INVALID_TOPIC_EXCEPTION);
    let mut by_id = produce_request("", 0, Some(batch(&[b"a"])));
    by_id.topic_data[0].topic_id = codec::id_to_wire(Uuid::from_bytes(id));
    let answer: ProduceResponse = session.call(PRODUCE, 13, &by_id).await;
    assert_eq!(only(answer).error_code, INVALID_TOPIC_EXCEPTION);
    session.broker.stop().await;
}
