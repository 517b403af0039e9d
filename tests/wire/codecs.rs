//! The hand-written codecs of the hot paths against the generated ones and against Kafka's own bytes.

use bytes::{Bytes, BytesMut};
use highwater::env::{Random, SeededRandom};
use highwater::kafka::codec::fetch::{FetchHead, FetchPartition, FetchResponse, GENERATED_TO};
use highwater::kafka::codec::produce::{PartitionAnswer, ProduceRequest, ProduceResponse};
use highwater::kafka::codec::{LeaderIdAndEpoch, TopicKey, id_from_wire, id_to_wire};
use highwater::kafka::{ErrorCode, Response, ResponsePart};
use highwater::log::{AbortedTransaction, Part, Slice};
use highwater::types::{
    BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerId, Timestamp, Uuid,
};
use kafka_protocol::messages::{self, fetch_response, produce_request, produce_response};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

use crate::captures;

/// The bytes of a response whose records lie in memory.
fn flatten(response: &Response) -> Bytes {
    let mut bytes = BytesMut::new();
    for part in &response.parts {
        match part {
            ResponsePart::Inline(inline) => bytes.extend_from_slice(inline),
            ResponsePart::Records(slice) => {
                for part in &slice.parts {
                    let Part::Shared(shared) = part else { panic!("records in a file") };
                    bytes.extend_from_slice(shared);
                }
            }
        }
    }
    assert_eq!(bytes.len(), response.len());
    bytes.freeze()
}

fn encode(message: &impl Encodable, version: i16) -> Bytes {
    let mut bytes = BytesMut::new();
    message.encode(&mut bytes, version).expect("the generated encoder takes it");
    bytes.freeze()
}

/// Random choices; the seed is printed, so that a failure can be had again.
struct Dice(SeededRandom);

impl Dice {
    fn new(test: &str) -> Self {
        let seed = std::env::var("HIGHWATER_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| highwater::env::SystemRandom.next_u64());
        println!("{test}: HIGHWATER_TEST_SEED={seed}");
        Self(SeededRandom::new(seed))
    }

    fn below(&self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    fn flip(&self) -> bool {
        self.below(2) == 0
    }

    fn i64(&self) -> i64 {
        self.0.next_u64() as i64
    }

    fn i32(&self) -> i32 {
        self.0.next_u64() as i32
    }

    fn text(&self) -> String {
        (0..self.below(300)).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }

    fn bytes(&self) -> Bytes {
        (0..self.below(400)).map(|_| self.0.next_u64() as u8).collect()
    }

    fn error(&self) -> ErrorCode {
        ErrorCode::ALL[self.below(ErrorCode::ALL.len())]
    }
}

/// A topic as both codecs name it.
fn topic_key(name: &str, id: Uuid, by_id: bool) -> TopicKey<'_> {
    if by_id { TopicKey::Id(id) } else { TopicKey::Name(name) }
}

fn message_name(name: &str) -> messages::TopicName {
    StrBytes::from_string(name.to_owned()).into()
}

/// Reads with our reader and compares with what the generated decoder says.
fn assert_same_produce_request(body: &Bytes, version: i16) {
    let theirs = messages::ProduceRequest::decode(&mut body.clone(), version).expect("decodes");
    let ours = ProduceRequest::parse_body(body.clone(), version).expect("parses");
    assert_eq!(ours.acks, theirs.acks);
    assert_eq!(ours.timeout_ms, theirs.timeout_ms);
    let transactional_id = theirs.transactional_id.as_ref().map(|id| id.as_str());
    assert_eq!(ours.transactional_id(), transactional_id);
    // Topics without partitions are not told of.
    let theirs = || theirs.topic_data.iter().filter(|topic| !topic.partition_data.is_empty());
    assert_eq!(ours.topics, theirs().count());
    assert_eq!(ours.topics().count(), theirs().count());
    let mut partitions = 0;
    for (ours_topic, theirs_topic) in ours.topics().zip(theirs()) {
        let id = id_from_wire(theirs_topic.topic_id);
        assert_eq!(ours_topic.topic, topic_key(&theirs_topic.name, id, version >= 13));
        assert_eq!(ours_topic.partitions, theirs_topic.partition_data.len());
        let read = ours_topic.partitions().map(|data| {
            let records = data.records.map(|records| ours.share(records));
            (data.index.get(), records)
        });
        let expected = theirs_topic.partition_data.iter().map(|p| (p.index, p.records.clone()));
        assert!(read.eq(expected));
        partitions += ours_topic.partitions;
    }
    assert_eq!(ours.partitions, partitions);
}

#[test]
fn produce_requests_of_real_clients_read_as_the_generated_decoder_reads_them() {
    for capture in captures::of(0) {
        let client_id_len = i16::from_be_bytes([capture.request[8], capture.request[9]]) as usize;
        let tags = usize::from(capture.version >= 9);
        let body = capture.request.slice(10 + client_id_len + tags..);
        assert_same_produce_request(&body, capture.version);
    }
}

fn random_produce_request(dice: &Dice, version: i16) -> messages::ProduceRequest {
    let partition = |_| {
        let records = if dice.below(5) == 0 { None } else { Some(dice.bytes()) };
        produce_request::PartitionProduceData::default()
            .with_index(dice.i32())
            .with_records(records)
    };
    let topic = |_| {
        let topic = produce_request::TopicProduceData::default()
            .with_partition_data((0..dice.below(4)).map(partition).collect());
        if version >= 13 {
            topic.with_topic_id(id_to_wire(dice.0.uuid()))
        } else {
            topic.with_name(message_name(&dice.text()))
        }
    };
    let transactional_id = dice.flip().then(|| StrBytes::from_string(dice.text()).into());
    messages::ProduceRequest::default()
        .with_transactional_id(transactional_id)
        .with_acks(dice.i32() as i16)
        .with_timeout_ms(dice.i32())
        .with_topic_data((0..dice.below(4)).map(topic).collect())
}

#[test]
fn produce_requests_of_every_version_read_as_the_generated_decoder_reads_them() {
    let dice = Dice::new("produce requests");
    for round in 0..1000 {
        let version = 3 + round % 11;
        let body = encode(&random_produce_request(&dice, version), version);
        assert_same_produce_request(&body, version);
    }
}

/// The same random answer for one partition, for both encoders.
fn random_answer<'a>(
    dice: &Dice,
    version: i16,
    errors: &'a [(i32, Option<&'a str>)],
    message: Option<&'a str>,
) -> (PartitionAnswer<'a>, produce_response::PartitionProduceResponse) {
    let leader = dice.flip().then(|| LeaderIdAndEpoch {
        id: BrokerId::new(dice.i32()),
        epoch: LeaderEpoch::new(dice.i32()),
    });
    let ours = PartitionAnswer {
        index: PartitionIndex::new(dice.i32()),
        error: dice.error(),
        base_offset: Offset::new(dice.i64()),
        log_append_time: Timestamp::new(dice.i64()),
        log_start: Offset::new(dice.i64()),
        record_errors: errors,
        error_message: message,
        current_leader: leader,
    };
    let mut theirs = produce_response::PartitionProduceResponse::default()
        .with_index(ours.index.get())
        .with_error_code(ours.error.number())
        .with_base_offset(ours.base_offset.get())
        .with_log_append_time_ms(ours.log_append_time.get());
    if version >= 5 {
        theirs = theirs.with_log_start_offset(ours.log_start.get());
    }
    if version >= 8 {
        let error = |(position, text): &(i32, Option<&str>)| {
            produce_response::BatchIndexAndErrorMessage::default()
                .with_batch_index(*position)
                .with_batch_index_error_message(text.map(str_bytes))
        };
        theirs = theirs
            .with_record_errors(errors.iter().map(error).collect())
            .with_error_message(message.map(str_bytes));
    }
    if let Some(leader) = leader.filter(|_| version >= 10) {
        theirs = theirs.with_current_leader(
            produce_response::LeaderIdAndEpoch::default()
                .with_leader_id(leader.id.get().into())
                .with_leader_epoch(leader.epoch.get()),
        );
    }
    (ours, theirs)
}

fn str_bytes(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

#[test]
fn produce_responses_of_every_version_are_those_of_the_generated_encoder() {
    let dice = Dice::new("produce responses");
    for round in 0..1000 {
        let version = 3 + round % 11;
        let topics = dice.below(4);
        let mut ours = ProduceResponse::new(version, topics, topics);
        let mut theirs = messages::ProduceResponse::default();
        for _ in 0..topics {
            let (name, id, partitions) = (dice.text(), dice.0.uuid(), dice.below(4));
            ours.topic(topic_key(&name, id, version >= 13), partitions);
            let mut topic = produce_response::TopicProduceResponse::default();
            if version >= 13 {
                topic = topic.with_topic_id(id_to_wire(id));
            } else {
                topic = topic.with_name(message_name(&name));
            }
            for _ in 0..partitions {
                let text = dice.text();
                let errors = [(dice.i32(), Some(text.as_str())), (dice.i32(), None)];
                let errors = &errors[..dice.below(3)];
                let message = dice.flip().then_some(text.as_str());
                let (answer, partition) = random_answer(&dice, version, errors, message);
                ours.partition(&answer);
                topic.partition_responses.push(partition);
            }
            theirs.responses.push(topic);
        }
        let throttle_ms = dice.i32();
        let theirs = theirs.with_throttle_time_ms(throttle_ms);
        assert_eq!(flatten(&ours.finish(throttle_ms)), encode(&theirs, version), "v{version}");
    }
}

/// A captured response without its header.
fn body_of(capture: &captures::Capture, flexible_from: i16) -> Option<Bytes> {
    let tags = usize::from(capture.version >= flexible_from);
    capture.response.as_ref().map(|response| response.slice(4 + tags..))
}

fn error_code(number: i16) -> ErrorCode {
    ErrorCode::from_number(number).expect("a code that Kafka knows")
}

#[test]
fn produce_responses_of_kafka_are_written_as_kafka_writes_them() {
    let mut compared = 0;
    for capture in captures::of(0) {
        let version = capture.version;
        let Some(body) = body_of(&capture, 9) else { continue };
        let theirs =
            messages::ProduceResponse::decode(&mut body.clone(), version).expect("decodes");
        if !theirs.node_endpoints.is_empty() {
            // One node has nobody else to point at.
            continue;
        }
        let mut ours = ProduceResponse::new(version, theirs.responses.len(), 1);
        for topic in &theirs.responses {
            let id = id_from_wire(topic.topic_id);
            ours.topic(topic_key(&topic.name, id, version >= 13), topic.partition_responses.len());
            for partition in &topic.partition_responses {
                let text = partition.error_message.as_ref().map(|text| text.as_str());
                ours.partition(&PartitionAnswer {
                    base_offset: Offset::new(partition.base_offset),
                    log_append_time: Timestamp::new(partition.log_append_time_ms),
                    log_start: Offset::new(partition.log_start_offset),
                    error_message: text,
                    ..PartitionAnswer::failed(
                        PartitionIndex::new(partition.index),
                        error_code(partition.error_code),
                    )
                });
            }
        }
        let ours = flatten(&ours.finish(theirs.throttle_time_ms));
        assert_eq!(ours, body, "v{version} to {}", capture.client);
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

/// Records in one or two shared pieces.
fn random_records(dice: &Dice) -> (Slice, Bytes) {
    let all = dice.bytes();
    let cut = dice.below(all.len() + 1);
    let pieces = [all.slice(..cut), all.slice(cut..)];
    let mut slice = Slice { len: all.len(), ..Slice::default() };
    slice.parts.extend(pieces.into_iter().filter(|piece| !piece.is_empty()).map(Part::Shared));
    (slice, all)
}

fn random_partition<'a>(
    dice: &Dice,
    version: i16,
    aborted: Option<&'a [AbortedTransaction]>,
) -> (FetchPartition<'a>, fetch_response::PartitionData) {
    let ours = FetchPartition {
        index: PartitionIndex::new(dice.i32()),
        error: dice.error(),
        high_watermark: Offset::new(dice.i64()),
        last_stable_offset: Offset::new(dice.i64()),
        log_start: Offset::new(dice.i64()),
        aborted,
        preferred_read_replica: BrokerId::new(dice.i32()),
        diverging_epoch: dice
            .flip()
            .then(|| (LeaderEpoch::new(dice.i32()), Offset::new(dice.i64()))),
        current_leader: dice.flip().then(|| LeaderIdAndEpoch {
            id: BrokerId::new(dice.i32()),
            epoch: LeaderEpoch::new(dice.i32()),
        }),
    };
    let transaction = |transaction: &AbortedTransaction| {
        fetch_response::AbortedTransaction::default()
            .with_producer_id(transaction.producer_id.get().into())
            .with_first_offset(transaction.first_offset.get())
    };
    let mut theirs = fetch_response::PartitionData::default()
        .with_partition_index(ours.index.get())
        .with_error_code(ours.error.number())
        .with_high_watermark(ours.high_watermark.get())
        .with_last_stable_offset(ours.last_stable_offset.get())
        .with_aborted_transactions(aborted.map(|all| all.iter().map(transaction).collect()));
    if version >= 5 {
        theirs = theirs.with_log_start_offset(ours.log_start.get());
    }
    if version >= 11 {
        theirs = theirs.with_preferred_read_replica(ours.preferred_read_replica.get().into());
    }
    if let Some((epoch, end)) = ours.diverging_epoch.filter(|_| version >= 12) {
        theirs = theirs.with_diverging_epoch(
            fetch_response::EpochEndOffset::default()
                .with_epoch(epoch.get())
                .with_end_offset(end.get()),
        );
    }
    if let Some(leader) = ours.current_leader.filter(|_| version >= 12) {
        theirs = theirs.with_current_leader(
            fetch_response::LeaderIdAndEpoch::default()
                .with_leader_id(leader.id.get().into())
                .with_leader_epoch(leader.epoch.get()),
        );
    }
    (ours, theirs)
}

fn random_head(dice: &Dice, version: i16) -> (FetchHead, messages::FetchResponse) {
    let head = FetchHead { throttle_ms: dice.i32(), error: dice.error(), session_id: dice.i32() };
    let mut theirs = messages::FetchResponse::default().with_throttle_time_ms(head.throttle_ms);
    if version >= 7 {
        theirs = theirs.with_error_code(head.error.number()).with_session_id(head.session_id);
    }
    (head, theirs)
}

#[test]
fn fetch_responses_of_every_version_are_those_of_the_generated_encoder() {
    let dice = Dice::new("fetch responses");
    for round in 0..1000 {
        let version = 4 + round % 14;
        let topics = dice.below(4);
        let (head, mut theirs) = random_head(&dice, version);
        let mut ours = FetchResponse::new(version, head, topics, topics);
        for _ in 0..topics {
            let (name, id, partitions) = (dice.text(), dice.0.uuid(), dice.below(4));
            ours.topic(topic_key(&name, id, version >= 13), partitions);
            let mut topic = fetch_response::FetchableTopicResponse::default();
            if version >= 13 {
                topic = topic.with_topic_id(id_to_wire(id));
            } else {
                topic = topic.with_topic(message_name(&name));
            }
            for _ in 0..partitions {
                let transaction = |_| AbortedTransaction {
                    producer_id: ProducerId::new(dice.i64()),
                    first_offset: Offset::new(dice.i64()),
                };
                let aborted: Vec<_> = (0..dice.below(4)).map(transaction).collect();
                let aborted = dice.flip().then_some(&aborted[..]);
                let (partition, expected) = random_partition(&dice, version, aborted);
                let (records, bytes) = random_records(&dice);
                ours.partition(&partition, records);
                topic.partitions.push(expected.with_records(Some(bytes)));
            }
            theirs.responses.push(topic);
        }
        assert_eq!(flatten(&ours.finish()), encode(&theirs, version), "v{version}");
    }
}

#[test]
fn fetch_responses_of_kafka_are_written_as_kafka_writes_them() {
    let mut compared = 0;
    for capture in captures::of(1) {
        let version = capture.version.min(GENERATED_TO);
        let Some(body) = body_of(&capture, 12) else { continue };
        let theirs = messages::FetchResponse::decode(&mut body.clone(), version).expect("decodes");
        let head = FetchHead {
            throttle_ms: theirs.throttle_time_ms,
            error: error_code(theirs.error_code),
            session_id: theirs.session_id,
        };
        let mut ours = FetchResponse::new(version, head, theirs.responses.len(), 1);
        for topic in &theirs.responses {
            let id = id_from_wire(topic.topic_id);
            ours.topic(topic_key(&topic.topic, id, version >= 13), topic.partitions.len());
            for partition in &topic.partitions {
                write_captured(&mut ours, partition);
            }
        }
        assert_eq!(flatten(&ours.finish()), body, "v{version} to {}", capture.client);
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

fn write_captured(ours: &mut FetchResponse, partition: &fetch_response::PartitionData) {
    let transaction = |transaction: &fetch_response::AbortedTransaction| AbortedTransaction {
        producer_id: ProducerId::new(transaction.producer_id.0),
        first_offset: Offset::new(transaction.first_offset),
    };
    let aborted: Option<Vec<_>> =
        partition.aborted_transactions.as_ref().map(|all| all.iter().map(transaction).collect());
    let bytes = partition.records.clone().expect("records are never null");
    let mut records = Slice { len: bytes.len(), ..Slice::default() };
    records.parts.push(Part::Shared(bytes));
    let written = FetchPartition {
        high_watermark: Offset::new(partition.high_watermark),
        last_stable_offset: Offset::new(partition.last_stable_offset),
        log_start: Offset::new(partition.log_start_offset),
        aborted: aborted.as_deref(),
        preferred_read_replica: BrokerId::new(partition.preferred_read_replica.0),
        ..FetchPartition::failed(
            PartitionIndex::new(partition.partition_index),
            error_code(partition.error_code),
        )
    };
    ours.partition(&written, records);
}
