//! Odd requests, as no client sends them: what Apache Kafka 4.4.0 answers, field by field where it is not what one would expect.

use kafka_protocol::messages::add_partitions_to_txn_request::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use kafka_protocol::messages::alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::alter_partition_reassignments_request::ReassignableTopic;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use kafka_protocol::messages::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use kafka_protocol::messages::*;

use crate::calls::Session;
use crate::lifted::WRITE_TXN_MARKERS;
use crate::member::text;
use crate::peer::{Peer, api};
use crate::pipelining::topic_name;
use crate::transactional::{ADD_PARTITIONS_TO_TXN, Producer};

const METADATA: i16 = 3;
const ALTER_CONFIGS: i16 = 33;
const ALTER_PARTITION_REASSIGNMENTS: i16 = 45;
const OFFSET_DELETE: i16 = 47;

const UNKNOWN_SERVER_ERROR: i16 = -1;
const NONE: i16 = 0;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const INVALID_REQUEST: i16 = 42;
const INVALID_PRODUCER_EPOCH: i16 = 47;
const TRANSACTION_COORDINATOR_FENCED: i16 = 52;
const OPERATION_NOT_ATTEMPTED: i16 = 55;
const GROUP_ID_NOT_FOUND: i16 = 69;

const TOPIC: i8 = 2;

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_given_twice_changes_no_config() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let value = |value: &str| {
        AlterableConfig::default().with_name(text("retention.ms")).with_value(Some(text(value)))
    };
    let resource = AlterConfigsResource::default()
        .with_resource_type(TOPIC)
        .with_resource_name(text("t"))
        .with_configs(vec![value("1000"), value("2000")]);
    let request = AlterConfigsRequest::default().with_resources(vec![resource]);
    let answer: AlterConfigsResponse = session.call(ALTER_CONFIGS, 2, &request).await;
    let told = &answer.responses[0];
    assert_eq!(told.error_code, INVALID_REQUEST);
    assert_eq!(told.error_message, Some(text("Error due to duplicate config keys")));
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reassignments_of_no_topic_are_answered_with_what_an_answer_begins_with() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let nothing_of_t = ReassignableTopic::default().with_name(topic_name("t"));
    for (topics, may_change, words) in
        [(vec![], true, Some(text(""))), (vec![nothing_of_t], false, None)]
    {
        let request = AlterPartitionReassignmentsRequest::default()
            .with_allow_replication_factor_change(false)
            .with_topics(topics);
        let answer: AlterPartitionReassignmentsResponse =
            session.call(ALTER_PARTITION_REASSIGNMENTS, 1, &request).await;
        assert_eq!((answer.error_code, answer.error_message), (NONE, words));
        assert_eq!(answer.allow_replication_factor_change, may_change);
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn null_for_topics_or_a_name_is_malformed_where_the_version_has_none() {
    let mut session = Session::start().await;
    let nameless = MetadataRequestTopic::default().with_name(None);
    let one = MetadataRequest::default().with_topics(Some(vec![nameless]));
    // Null in the place of the array; an array of one null, without and with compact lengths, the second with nothing else asked
    // for and no tags.
    let bodies: [(i16, &[u8]); 3] =
        [(0, &[0xff; 4]), (1, &[0, 0, 0, 1, 0xff, 0xff]), (9, &[2, 0, 0, 0, 0, 0, 0])];
    for (version, body) in bodies {
        let mut peer = Peer::connect(session.broker.address).await;
        assert!(peer.ask(api(METADATA), version, body).await.is_none(), "v{version}");
    }
    for version in [10, 11] {
        let answer: MetadataResponse = session.call(METADATA, version, &one).await;
        let topic = &answer.topics[0];
        assert_eq!(
            (topic.error_code, topic.name.as_deref().map(|name| &**name)),
            (INVALID_REQUEST, Some(""))
        );
        assert!(answer.brokers.is_empty() && answer.cluster_id.is_none());
        assert_eq!(answer.controller_id.0, -1);
    }
    session.broker.stop().await;
}

/// The topics that an answer names, each with index and code of its partitions.
type Named = Vec<(String, Vec<(i32, i16)>)>;

fn named(topics: &[(&str, &[(i32, i16)])]) -> Named {
    topics.iter().map(|(name, told)| ((*name).to_owned(), told.to_vec())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_offsets_name_topics_that_there_are_with_their_partitions_alone() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    commit_offset(&mut session, "g").await;
    let cases: [(&str, &[(&str, &[i32])], i16, Named); 4] = [
        ("g", &[("t", &[]), ("u", &[])], NONE, named(&[("u", &[])])),
        (
            "g",
            &[("t", &[]), ("u", &[0])],
            NONE,
            named(&[("u", &[(0, UNKNOWN_TOPIC_OR_PARTITION)])]),
        ),
        (
            "g",
            &[("t", &[0, 5])],
            NONE,
            named(&[("t", &[(0, NONE), (5, UNKNOWN_TOPIC_OR_PARTITION)])]),
        ),
        ("none", &[("t", &[0]), ("u", &[0])], GROUP_ID_NOT_FOUND, vec![]),
    ];
    for (group, asked, code, expected) in cases {
        let partition =
            |index: &i32| OffsetDeleteRequestPartition::default().with_partition_index(*index);
        let topic = |(name, indices): &(&str, &[i32])| {
            OffsetDeleteRequestTopic::default()
                .with_name(topic_name(name))
                .with_partitions(indices.iter().map(partition).collect())
        };
        let request = OffsetDeleteRequest::default()
            .with_group_id(GroupId(text(group)))
            .with_topics(asked.iter().map(topic).collect());
        let answer: OffsetDeleteResponse = session.call(OFFSET_DELETE, 0, &request).await;
        let told = answer.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter();
            let partitions = partitions.map(|told| (told.partition_index, told.error_code));
            (topic.name.to_string(), partitions.collect())
        });
        assert_eq!((answer.error_code, told.collect::<Named>()), (code, expected), "{asked:?}");
    }
    session.broker.stop().await;
}

async fn commit_offset(session: &mut Session, group: &str) {
    use kafka_protocol::messages::offset_commit_request::{
        OffsetCommitRequestPartition, OffsetCommitRequestTopic,
    };
    const OFFSET_COMMIT: i16 = 8;
    let partition = OffsetCommitRequestPartition::default().with_committed_offset(1);
    let topic = OffsetCommitRequestTopic::default()
        .with_name(topic_name("t"))
        .with_partitions(vec![partition]);
    let request = OffsetCommitRequest::default()
        .with_group_id(GroupId(text(group)))
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![topic]);
    let answer: OffsetCommitResponse = session.call(OFFSET_COMMIT, 8, &request).await;
    assert_eq!(answer.topics[0].partitions[0].error_code, NONE);
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_without_partitions_are_named_unless_partitions_are_verified_or_missing() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let producer = Producer::begin(&mut session, "x", 60_000).await;
    let missing = (0, UNKNOWN_TOPIC_OR_PARTITION);
    let cases: [(&[(&str, &[i32])], Named, Named); 5] = [
        (&[("t", &[])], named(&[("t", &[])]), vec![]),
        (&[("t", &[]), ("u", &[])], named(&[("t", &[]), ("u", &[])]), vec![]),
        (&[("t", &[]), ("u", &[0])], named(&[("u", &[missing])]), named(&[("u", &[missing])])),
        (
            &[("t", &[0]), ("u", &[])],
            named(&[("t", &[(0, NONE)]), ("u", &[])]),
            named(&[("t", &[(0, NONE)])]),
        ),
        (
            &[("t", &[0]), ("u", &[0])],
            named(&[("t", &[(0, OPERATION_NOT_ATTEMPTED)]), ("u", &[missing])]),
            named(&[("t", &[(0, OPERATION_NOT_ATTEMPTED)]), ("u", &[missing])]),
        ),
    ];
    for (asked, added, verified) in cases {
        for (verify_only, expected) in [(false, added), (true, verified)] {
            let told = add(&mut session, &producer, asked, verify_only).await;
            assert_eq!(told, expected, "{asked:?} {verify_only}");
        }
    }
    session.broker.stop().await;
}

async fn add(
    session: &mut Session,
    producer: &Producer,
    asked: &[(&str, &[i32])],
    verify_only: bool,
) -> Named {
    let topic = |(name, indices): &(&str, &[i32])| {
        AddPartitionsToTxnTopic::default()
            .with_name(topic_name(name))
            .with_partitions(indices.to_vec())
    };
    let transaction = AddPartitionsToTxnTransaction::default()
        .with_transactional_id(producer.transactional_id.clone())
        .with_producer_id(producer.id.into())
        .with_producer_epoch(producer.epoch)
        .with_verify_only(verify_only)
        .with_topics(asked.iter().map(topic).collect());
    let request = AddPartitionsToTxnRequest::default().with_transactions(vec![transaction]);
    let answer: AddPartitionsToTxnResponse = session.call(ADD_PARTITIONS_TO_TXN, 4, &request).await;
    let topics = answer.results_by_transaction[0].topic_results.iter().map(|topic| {
        let partitions = topic.results_by_partition.iter();
        let told = partitions.map(|told| (told.partition_index, told.partition_error_code));
        (topic.name.to_string(), told.collect())
    });
    topics.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn markers_of_a_producer_that_is_not_known_have_epochs_from_the_first_on() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    session.create("__consumer_offsets", 1, &[]).await;
    // Id, its epoch, that of the coordinator.
    let cases = [
        (11, -2, 0, INVALID_PRODUCER_EPOCH),
        (12, i16::MIN, 0, INVALID_PRODUCER_EPOCH),
        (13, 0, -2, TRANSACTION_COORDINATOR_FENCED),
        (14, -1, 0, UNKNOWN_SERVER_ERROR),
        (-1, 0, 0, UNKNOWN_SERVER_ERROR),
        (15, 0, -1, NONE),
    ];
    for topic in ["t", "__consumer_offsets"] {
        for (id, epoch, coordinator_epoch, code) in cases {
            let written = WritableTxnMarkerTopic::default()
                .with_name(topic_name(topic))
                .with_partition_indexes(vec![0]);
            let marker = WritableTxnMarker::default()
                .with_producer_id(id.into())
                .with_producer_epoch(epoch)
                .with_transaction_result(true)
                .with_coordinator_epoch(coordinator_epoch)
                .with_topics(vec![written]);
            let request = WriteTxnMarkersRequest::default().with_markers(vec![marker]);
            let answer: WriteTxnMarkersResponse =
                session.call(WRITE_TXN_MARKERS, 1, &request).await;
            let told = answer.markers[0].topics[0].partitions[0].error_code;
            assert_eq!(told, code, "{topic} {id} {epoch} {coordinator_epoch}");
        }
    }
    session.broker.stop().await;
}
