//! Produce requests in which several things are wrong: what Apache Kafka 4.4.0 says of them, which looks at one thing after the
//! other.

use bytes::{Bytes, BytesMut};
use highwater::types::Timestamp;
use kafka_protocol::messages::{EndTxnResponse, ProduceRequest, ProduceResponse, TransactionalId};

use crate::calls::{PRODUCE, Session, produce_request};
use crate::member::text;
use crate::records::{ATTRIBUTES, CRC, MAGIC, batch, changed, sent_by};
use crate::transactional::{END_TXN, Producer};

const NONE: i16 = 0;
const CORRUPT_MESSAGE: i16 = 2;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const INVALID_TOPIC_EXCEPTION: i16 = 17;
const INVALID_REQUIRED_ACKS: i16 = 21;
const INVALID_PRODUCER_EPOCH: i16 = 47;
const INVALID_PRODUCER_ID_MAPPING: i16 = 49;
const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: i16 = 53;
const UNSUPPORTED_COMPRESSION_TYPE: i16 = 76;
const INVALID_RECORD: i16 = 87;

const TRANSACTIONAL: u8 = 16;
const NO_CODEC: u8 = 5;

/// A batch of a producer, at the beginning of its sequence.
fn of_producer(attributes: u8, id: i64, epoch: i16) -> Bytes {
    changed(&sent_by(&batch(&[b"a"]), id, epoch, 0), ATTRIBUTES, &[0, attributes])
}

fn two() -> Bytes {
    let good = batch(&[b"a"]);
    Bytes::from([&good[..], &good[..]].concat())
}

/// Its checksum is wrong.
fn torn(batch: &Bytes) -> Bytes {
    let mut torn = BytesMut::from(&batch[..]);
    torn[CRC] ^= 1;
    torn.freeze()
}

/// A request for the first partitions of "t", of a transactional id or none.
fn request_of(id: Option<&str>, batches: &[Bytes]) -> ProduceRequest {
    let mut request = produce_request("t", 0, Some(batches[0].clone()));
    let partitions = &mut request.topic_data[0].partition_data;
    for (index, records) in batches.iter().enumerate().skip(1) {
        let next = partitions[0].clone().with_index(index as i32);
        partitions.push(next.with_records(Some(records.clone())));
    }
    request.with_transactional_id(id.map(|id| TransactionalId(text(id))))
}

/// The code and the words for each partition.
async fn told(session: &mut Session, request: &ProduceRequest) -> Vec<(i16, Option<String>)> {
    let answer: ProduceResponse = session.call(PRODUCE, 11, request).await;
    let partitions = answer.responses.iter().flat_map(|topic| &topic.partition_responses);
    let told = partitions.map(|partition| {
        (partition.error_code, partition.error_message.as_ref().map(|words| words.to_string()))
    });
    told.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn partition_form_transaction_acks_and_internal_topics_are_looked_at_in_this_order() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    session.create("__consumer_offsets", 1, &[]).await;
    let good = batch(&[b"a"]);
    let transactional = of_producer(TRANSACTIONAL, 5, 0);
    let cases = [
        ("t", 5, two(), 2, UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 0, two(), 2, INVALID_RECORD),
        ("t", 0, transactional, 2, INVALID_PRODUCER_ID_MAPPING),
        ("t", 0, good.clone(), 2, INVALID_REQUIRED_ACKS),
        ("t", 0, torn(&good), 2, INVALID_REQUIRED_ACKS),
        ("t", 0, torn(&good), 1, CORRUPT_MESSAGE),
        ("__consumer_offsets", 5, good.clone(), 1, UNKNOWN_TOPIC_OR_PARTITION),
        ("__consumer_offsets", 0, two(), 1, INVALID_RECORD),
        ("__consumer_offsets", 0, good.clone(), 2, INVALID_REQUIRED_ACKS),
        ("__consumer_offsets", 0, torn(&good), 1, INVALID_TOPIC_EXCEPTION),
    ];
    for (number, (topic, partition, records, acks, code)) in cases.into_iter().enumerate() {
        let request = produce_request(topic, partition, Some(records))
            .with_acks(acks)
            .with_transactional_id(Some(TransactionalId(text("nobody has begun it"))));
        assert_eq!(told(&mut session, &request).await, [(code, None)], "case {number}");
    }
    assert_eq!(session.produce("t", 0, good).await.base_offset, 0, "nothing of it was appended");
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_batch_or_of_several_producers_fails_the_whole_request() {
    let mut session = Session::start().await;
    session.create("t", 2, &[]).await;
    let good = batch(&[b"a"]);
    let magic_3 = changed(&good, MAGIC, &[3]);
    let [transactional, another] = [5, 6].map(|id| of_producer(TRANSACTIONAL, id, 0));
    let corrupt = || (CORRUPT_MESSAGE, Some("Invalid magic found in record: 3".to_owned()));
    let refused = || (TRANSACTIONAL_ID_AUTHORIZATION_FAILED, None);
    let unknown = || (INVALID_PRODUCER_ID_MAPPING, None);
    let cases = [
        (None, [&good, &magic_3], [corrupt(), corrupt()]),
        (None, [&transactional, &magic_3], [refused(), refused()]),
        (None, [&magic_3, &transactional], [corrupt(), corrupt()]),
        (Some("nobody"), [&transactional, &magic_3], [unknown(), (CORRUPT_MESSAGE, None)]),
    ];
    for (number, (id, batches, expected)) in cases.into_iter().enumerate() {
        let request = request_of(id, &batches.map(Bytes::clone));
        assert_eq!(told(&mut session, &request).await, expected, "case {number}");
    }
    let several = request_of(Some("nobody"), &[transactional, another, good.clone()]);
    for (code, words) in told(&mut session, &several).await {
        assert_eq!((code, words.is_some()), (INVALID_PRODUCER_ID_MAPPING, true));
    }
    assert_eq!(session.produce("t", 0, good).await.base_offset, 0, "nothing of it was appended");
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_joins_its_transaction_before_acks_are_looked_at() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let producer = Producer::begin(&mut session, "x", 60_000).await;
    let request = producer.produce(("t", 0), 0, &[Timestamp::new(0)]).with_acks(3);
    let answer: ProduceResponse = session.call(PRODUCE, 12, &request).await;
    assert_eq!(answer.responses[0].partition_responses[0].error_code, INVALID_REQUIRED_ACKS);
    let ended: EndTxnResponse = session.call(END_TXN, 4, &producer.end(false)).await;
    assert_eq!(ended.error_code, NONE, "there is a transaction to be ended");
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_that_is_not_known_has_an_epoch_before_the_first() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    for (epoch, code) in [(-3, INVALID_PRODUCER_EPOCH), (-1, NONE)] {
        let answer = session.produce("t", 0, of_producer(0, 7, epoch)).await;
        assert_eq!(answer.error_code, code, "{epoch}");
    }
    session.broker.stop().await;
}

/// Kafka fails there, with another code.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_looks_at_the_codec_behind_the_checksum_and_tells_where_it_begins() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let no_codec = changed(&batch(&[b"a"]), ATTRIBUTES + 1, &[NO_CODEC]);
    let torn = torn(&no_codec);
    let cases = [(no_codec, UNSUPPORTED_COMPRESSION_TYPE, 0), (torn, CORRUPT_MESSAGE, -1)];
    for (records, code, log_start) in cases {
        let answer = session.produce("t", 0, records).await;
        assert_eq!((answer.error_code, answer.log_start_offset), (code, log_start));
    }
    session.broker.stop().await;
}
