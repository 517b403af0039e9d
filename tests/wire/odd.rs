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

use crate::calls::{FETCH, Session};
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

/// The topics that a request names, each with its partitions.
type Asked<'a> = &'a [(&'a str, &'a [i32])];

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
    let cases: [(&str, Asked<'_>, i16, Named); 4] = [
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
    let cases: [(Asked<'_>, Named, Named); 5] = [
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
    asked: Asked<'_>,
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
            let told = mark(&mut session, topic, (id, epoch, coordinator_epoch)).await;
            assert_eq!(told, code, "{topic} {id} {epoch} {coordinator_epoch}");
        }
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_looks_at_its_session_then_at_what_there_is_and_then_at_the_isolation_level() {
    use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
    const FETCH_SESSION_ID_NOT_FOUND: i16 = 70;
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let cases = [
        ("t", 987, 3, FETCH_SESSION_ID_NOT_FOUND, None),
        ("u", 0, -1, NONE, Some(UNKNOWN_TOPIC_OR_PARTITION)),
        ("t", 0, -1, UNKNOWN_SERVER_ERROR, Some(UNKNOWN_SERVER_ERROR)),
    ];
    for (topic, session_id, session_epoch, code, partition_code) in cases {
        let topic = FetchTopic::default()
            .with_topic(topic_name(topic))
            .with_partitions(vec![FetchPartition::default()]);
        let request = FetchRequest::default()
            .with_isolation_level(17)
            .with_session_id(session_id)
            .with_session_epoch(session_epoch)
            .with_topics(vec![topic]);
        let answer: FetchResponse = session.call(FETCH, 12, &request).await;
        let told = answer.responses.first().map(|topic| topic.partitions[0].error_code);
        assert_eq!((answer.error_code, told), (code, partition_code));
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_negative_leader_epoch_is_none_in_a_fetch() {
    use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    for (current, last_fetched) in [(-2, -1), (i32::MIN, -1), (-1, -2), (-1, i32::MIN)] {
        let partition = FetchPartition::default()
            .with_current_leader_epoch(current)
            .with_last_fetched_epoch(last_fetched);
        let topic =
            FetchTopic::default().with_topic(topic_name("t")).with_partitions(vec![partition]);
        let request = FetchRequest::default().with_session_epoch(-1).with_topics(vec![topic]);
        let answer: FetchResponse = session.call(FETCH, 12, &request).await;
        let told = &answer.responses[0].partitions[0];
        assert_eq!((told.error_code, told.high_watermark), (NONE, 0), "{current} {last_fetched}");
        assert_eq!(told.diverging_epoch.epoch, -1, "{current} {last_fetched}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_an_assignment_every_other_replication_factor_is_one_too_many() {
    use kafka_protocol::messages::create_topics_request::{
        CreatableReplicaAssignment, CreatableTopic,
    };
    const CREATE_TOPICS: i16 = 19;
    let mut session = Session::start().await;
    for replication_factor in [i16::MIN, -2, 0, 1, 3] {
        let assignment = CreatableReplicaAssignment::default().with_broker_ids(vec![0.into()]);
        let topic = CreatableTopic::default()
            .with_name(topic_name("t"))
            .with_num_partitions(-1)
            .with_replication_factor(replication_factor)
            .with_assignments(vec![assignment]);
        let request = CreateTopicsRequest::default().with_topics(vec![topic]);
        let answer: CreateTopicsResponse = session.call(CREATE_TOPICS, 4, &request).await;
        assert_eq!(answer.topics[0].error_code, INVALID_REQUEST, "{replication_factor}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_cannot_be_has_a_name_too_long_then_a_wrong_directory_then_no_topic() {
    use kafka_protocol::messages::alter_replica_log_dirs_request::{
        AlterReplicaLogDir, AlterReplicaLogDirTopic,
    };
    const ALTER_REPLICA_LOG_DIRS: i16 = 34;
    const INVALID_TOPIC_EXCEPTION: i16 = 17;
    const LOG_DIR_NOT_FOUND: i16 = 57;
    let mut data = String::new();
    let mut session = Session::start_with(|settings| {
        data = settings.log_dirs[0].to_str().expect("a path").to_owned();
    })
    .await;
    let long = "l".repeat(252);
    let cases = [
        (long.as_str(), "/nowhere", INVALID_TOPIC_EXCEPTION),
        (&long, &data, INVALID_TOPIC_EXCEPTION),
        ("a/b", "/nowhere", LOG_DIR_NOT_FOUND),
        ("a/b", &data, UNKNOWN_TOPIC_OR_PARTITION),
        ("x", "/nowhere", LOG_DIR_NOT_FOUND),
        ("x", &data, UNKNOWN_TOPIC_OR_PARTITION),
    ];
    for (topic, path, code) in cases {
        let moved = AlterReplicaLogDirTopic::default()
            .with_name(topic_name(topic))
            .with_partitions(vec![0]);
        let dir = AlterReplicaLogDir::default().with_path(text(path)).with_topics(vec![moved]);
        let request = AlterReplicaLogDirsRequest::default().with_dirs(vec![dir]);
        let answer: AlterReplicaLogDirsResponse =
            session.call(ALTER_REPLICA_LOG_DIRS, 2, &request).await;
        assert_eq!(answer.results[0].partitions[0].error_code, code, "{topic} {path}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_is_looked_at_once_its_member_may_go_on() {
    const CONSUMER_GROUP_HEARTBEAT: i16 = 68;
    const UNKNOWN_MEMBER_ID: i16 = 25;
    const FENCED_MEMBER_EPOCH: i16 = 110;
    const INVALID_REGULAR_EXPRESSION: i16 = 128;
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let heartbeat = |group: &str, member: &str, epoch: i32, pattern: Option<&str>| {
        let joins = epoch == 0;
        ConsumerGroupHeartbeatRequest::default()
            .with_group_id(GroupId(text(group)))
            .with_member_id(text(member))
            .with_member_epoch(epoch)
            .with_rebalance_timeout_ms(if joins { 60_000 } else { -1 })
            .with_subscribed_topic_names(joins.then(|| vec![topic_name("t")]))
            .with_subscribed_topic_regex(pattern.map(text))
            .with_topic_partitions(joins.then(Vec::new))
    };
    let cases = [
        ("g", "m", 0, None, NONE),
        ("none", "m", 1, Some("("), GROUP_ID_NOT_FOUND),
        ("g", "m", 9, Some("("), FENCED_MEMBER_EPOCH),
        ("g", "another", 1, Some("("), UNKNOWN_MEMBER_ID),
        ("g", "another", 0, Some("("), INVALID_REGULAR_EXPRESSION),
        ("none", "m", 0, Some("("), INVALID_REGULAR_EXPRESSION),
    ];
    for (group, member, epoch, pattern, code) in cases {
        let request = heartbeat(group, member, epoch, pattern);
        let answer: ConsumerGroupHeartbeatResponse =
            session.call(CONSUMER_GROUP_HEARTBEAT, 1, &request).await;
        assert_eq!(answer.error_code, code, "{group} {member} {epoch}");
    }
    session.broker.stop().await;
}

/// The code of a marker that commits in the first partition of a topic.
async fn mark(
    session: &mut Session,
    topic: &str,
    (id, epoch, coordinator_epoch): (i64, i16, i32),
) -> i16 {
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
    let answer: WriteTxnMarkersResponse = session.call(WRITE_TXN_MARKERS, 1, &request).await;
    answer.markers[0].topics[0].partitions[0].error_code
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marker_has_the_type_of_time_that_its_topic_has() {
    use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
    const ATTRIBUTES_LOW_BYTE: usize = 22;
    let mut session = Session::start().await;
    // Transactional and control; as the third, the broker's time.
    for (topic, timestamp_type, attributes) in
        [("created", "CreateTime", 0x30), ("appended", "LogAppendTime", 0x38)]
    {
        session.create(topic, 1, &[("message.timestamp.type", timestamp_type)]).await;
        assert_eq!(mark(&mut session, topic, (7, 0, 0)).await, NONE);
        let partition = FetchPartition::default().with_partition_max_bytes(1000);
        let asked =
            FetchTopic::default().with_topic(topic_name(topic)).with_partitions(vec![partition]);
        let request = FetchRequest::default().with_session_epoch(-1).with_topics(vec![asked]);
        let answer: FetchResponse = session.call(FETCH, 12, &request).await;
        let records = answer.responses[0].partitions[0].records.as_ref().expect("a marker");
        assert_eq!(records[ATTRIBUTES_LOW_BYTE], attributes, "{topic}");
        let crc = crc32c::crc32c(&records[ATTRIBUTES_LOW_BYTE - 1..]);
        assert_eq!(records[17..21], crc.to_be_bytes(), "{topic}");
    }
    session.broker.stop().await;
}
