//! A fixed sequence of requests about transactions that was asked of Apache Kafka 4.4.0 (`tests/golden/transactions/Capture.java`), asked
//! of us: field by field the same answers, but for what [`comparable`] names.
//!
//! Producer ids need no translation: both brokers give them out from 0 on, so an id that one of them gives where the other does
//! not shows in everything that follows.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::StrBytes;

use crate::broker::TestBroker;
use crate::peer::{Peer, api};
use crate::recording::{self, Step, assert_no_step_differs, decoded};
use crate::translation::Translation;
use crate::txn_offsets;

const STEPS: &[u8] = include_bytes!("../golden/transactions/steps.jsonl.gz");

/// What the recorded Kafka was started with, as far as it shows.
const SETTINGS: &[(&str, &str)] = &[("node.id", "0"), ("offsets.topic.num.partitions", "1")];

/// Longest wait for the end of a transaction.
const PATIENCE: Duration = Duration::from_secs(20);

const PRODUCE: i16 = 0;
const LIST_OFFSETS: i16 = 2;
const OFFSET_FETCH: i16 = 9;
const FIND_COORDINATOR: i16 = 10;
const CREATE_TOPICS: i16 = 19;
const INIT_PRODUCER_ID: i16 = 22;
const ADD_PARTITIONS_TO_TXN: i16 = 24;
const ADD_OFFSETS_TO_TXN: i16 = 25;
const END_TXN: i16 = 26;
const WRITE_TXN_MARKERS: i16 = 27;
const TXN_OFFSET_COMMIT: i16 = 28;
const DESCRIBE_PRODUCERS: i16 = 61;
const DESCRIBE_TRANSACTIONS: i16 = 65;
const LIST_TRANSACTIONS: i16 = 66;

#[tokio::test(flavor = "multi_thread")]
async fn requests_about_transactions_are_answered_as_kafka_answers_them() {
    let broker = TestBroker::start_set(SETTINGS).await;
    let mut peer = Peer::connect(broker.address).await;
    let mut replay = Replay::default();
    let mut differences = Vec::new();
    let steps = recording::steps(STEPS);
    assert!(steps.len() > 1000, "the recording is complete");
    for step in &steps {
        let (theirs, ours) = replay.compare(&mut peer, step).await;
        if theirs != ours {
            let what = format!("{} v{}", step.name, step.version);
            differences.push(format!("{what}:\n  Kafka: {theirs}\n  we:    {ours}"));
        }
    }
    broker.stop().await;
    assert_no_step_differs(&differences);
}

#[derive(Default)]
struct Replay {
    ids: Translation,
    /// A request that Kafka sent away while a transaction was ending, and that was answered here when it had ended.
    waited: Option<(Bytes, Bytes)>,
}

impl Replay {
    /// Kafka's answer and ours to one step.
    async fn compare(&mut self, peer: &mut Peer, step: &Step) -> (String, String) {
        let request = self.ids.to_ours(&step.request);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.answer(peer, step, &request).await;
            learn(&mut self.ids, step, &answer);
            let theirs = comparable(step.key, step.version, &self.ids.to_ours(step.theirs()));
            let ours = comparable(step.key, step.version, &answer);
            if theirs == ours {
                return (theirs, ours);
            }
            if is_sent_away(&theirs) && !is_sent_away(&ours) {
                self.waited = Some((request, answer));
                return (theirs.clone(), theirs);
            }
            if !is_repeated(step, &ours) || Instant::now() > deadline {
                return (theirs, ours);
            }
        }
    }

    async fn answer(&mut self, peer: &mut Peer, step: &Step, request: &Bytes) -> Bytes {
        match self.waited.take() {
            Some((asked, answer)) if asked == request && is_asked_again(step) => answer,
            _ => {
                let answer = peer.ask(api(step.key), step.version, request).await;
                answer.unwrap_or_else(|| panic!("{}: closed", step.name))
            }
        }
    }
}

/// CONCURRENT_TRANSACTIONS.
fn is_sent_away(answer: &str) -> bool {
    answer.contains("error_code: 51")
}

/// True if it was asked until the transaction before had ended.
fn is_asked_again(step: &Step) -> bool {
    step.line["again"].as_bool().expect("a flag")
}

/// True if the end of the transaction is still awaited.
fn is_repeated(step: &Step, answer: &str) -> bool {
    is_asked_again(step) && (is_sent_away(answer) || answer.contains("\"Prepare"))
}

/// Topics that were created are the same ones if they have the same names.
fn learn(ids: &mut Translation, step: &Step, answer: &Bytes) {
    if step.key != CREATE_TOPICS {
        return;
    }
    let id = |body: &Bytes| {
        let created: CreateTopicsResponse = decoded(step.version, body);
        created.topics[0].topic_id.into_bytes()
    };
    ids.add(&id(step.theirs()), &id(answer));
}

/// An answer as text, without what may differ: the order of elements (Kafka's is that of its hash tables, ours that of the
/// request), moments, addresses, words about a refused record.
fn comparable(key: i16, version: i16, body: &Bytes) -> String {
    match key {
        PRODUCE => text(&produced(decoded(version, body))),
        LIST_OFFSETS => text(&decoded::<ListOffsetsResponse>(version, body)),
        OFFSET_FETCH => text(&fetched(decoded(version, body))),
        FIND_COORDINATOR => text(&found(decoded(version, body))),
        CREATE_TOPICS => {
            decoded::<CreateTopicsResponse>(version, body).topics[0].error_code.to_string()
        }
        INIT_PRODUCER_ID => text(&decoded::<InitProducerIdResponse>(version, body)),
        ADD_PARTITIONS_TO_TXN => text(&added(decoded(version, body))),
        ADD_OFFSETS_TO_TXN => text(&decoded::<AddOffsetsToTxnResponse>(version, body)),
        END_TXN => text(&decoded::<EndTxnResponse>(version, body)),
        WRITE_TXN_MARKERS => text(&written(decoded(1, body))),
        TXN_OFFSET_COMMIT => committed(version, body),
        DESCRIBE_PRODUCERS => text(&producers(decoded(version, body))),
        DESCRIBE_TRANSACTIONS => text(&described(decoded(version, body))),
        LIST_TRANSACTIONS => text(&listed(decoded(version, body))),
        other => panic!("API {other} is not recorded"),
    }
}

fn text(answer: &impl Debug) -> String {
    format!("{answer:?}").replace(", unknown_tagged_fields: {}", "")
}

fn produced(mut answer: ProduceResponse) -> ProduceResponse {
    for partition in answer.responses.iter_mut().flat_map(|topic| &mut topic.partition_responses) {
        partition.error_message = None;
        // Kafka tells the time of a duplicate, and where the log of a refused batch starts.
        partition.log_append_time_ms = -1;
        if partition.error_code != 0 {
            partition.log_start_offset = -1;
        }
    }
    answer
}

fn fetched(mut answer: OffsetFetchResponse) -> OffsetFetchResponse {
    answer.topics.sort_by_key(|topic| topic.name.clone());
    for group in &mut answer.groups {
        group.topics.sort_by_key(|topic| topic.name.clone());
    }
    answer
}

fn found(mut answer: FindCoordinatorResponse) -> FindCoordinatorResponse {
    assert!(!answer.host.is_empty() && answer.port > 0);
    (answer.host, answer.port) = (StrBytes::default(), 0);
    answer
}

fn added(mut answer: AddPartitionsToTxnResponse) -> AddPartitionsToTxnResponse {
    let of_several = answer.results_by_transaction.iter_mut();
    let several = of_several.map(|transaction| &mut transaction.topic_results);
    for topics in several.chain([&mut answer.results_by_topic_v3_and_below]) {
        topics.sort_by_key(|topic| topic.name.clone());
        for topic in topics {
            topic.results_by_partition.sort_by_key(|partition| partition.partition_index);
        }
    }
    answer.results_by_transaction.sort_by_key(|result| result.transactional_id.clone());
    answer
}

fn written(mut answer: WriteTxnMarkersResponse) -> WriteTxnMarkersResponse {
    answer.markers.sort_by_key(|marker| marker.producer_id.0);
    for marker in &mut answer.markers {
        marker.topics.sort_by_key(|topic| topic.name.clone());
        for topic in &mut marker.topics {
            topic.partitions.sort_by_key(|partition| partition.partition_index);
        }
    }
    answer
}

fn committed(version: i16, body: &Bytes) -> String {
    if version >= 6 {
        let mut topics = txn_offsets::codes(body).expect("decodes");
        topics.iter_mut().for_each(|(_, partitions)| partitions.sort_unstable());
        topics.sort_unstable();
        return format!("{topics:?}");
    }
    let mut answer: TxnOffsetCommitResponse = decoded(version, body);
    answer.topics.sort_by_key(|topic| topic.name.clone());
    for topic in &mut answer.topics {
        topic.partitions.sort_by_key(|partition| partition.partition_index);
    }
    text(&answer)
}

/// Of a moment only that there is one, unless it is that of a record that a test dated.
fn moment(timestamp: i64) -> i64 {
    const LAST_DATED: i64 = 1_700_000_999_999;
    if timestamp > LAST_DATED { i64::MAX } else { timestamp }
}

fn producers(mut answer: DescribeProducersResponse) -> DescribeProducersResponse {
    answer.topics.sort_by_key(|topic| topic.name.clone());
    for partition in answer.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
        partition.active_producers.sort_by_key(|producer| producer.producer_id.0);
        for producer in &mut partition.active_producers {
            producer.last_timestamp = moment(producer.last_timestamp);
        }
    }
    answer
}

fn described(mut answer: DescribeTransactionsResponse) -> DescribeTransactionsResponse {
    // What is asked twice is answered once here.
    answer.transaction_states.sort_by_key(|state| state.transactional_id.clone());
    answer.transaction_states.dedup_by_key(|state| state.transactional_id.clone());
    for state in &mut answer.transaction_states {
        state.transaction_start_time_ms = moment(state.transaction_start_time_ms);
        state.topics.sort_by_key(|topic| topic.topic.clone());
        state.topics.iter_mut().for_each(|topic| topic.partitions.sort_unstable());
    }
    answer
}

fn listed(mut answer: ListTransactionsResponse) -> ListTransactionsResponse {
    answer.unknown_state_filters.sort_unstable();
    answer.transaction_states.sort_by_key(|state| state.transactional_id.clone());
    answer
}
