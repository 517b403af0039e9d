//! Log directories over the wire: AlterReplicaLogDirs moves partitions, DescribeLogDirs tells where they are.

use std::path::Path;

use highwater::types::{PartitionIndex, TopicName, TopicPartition};
use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::alter_replica_log_dirs_request::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic,
};
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
    AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse, BrokerId, DescribeLogDirsRequest,
    DescribeLogDirsResponse,
};
use kafka_protocol::protocol::StrBytes;

use crate::calls::Session;
use crate::data_directories::DataDirectories;
use crate::operator;
use crate::pipelining::topic_name;
use crate::records::batch;

const ALTER_REPLICA_LOG_DIRS: i16 = 34;
const DESCRIBE_LOG_DIRS: i16 = 35;
const ALTER_PARTITION_REASSIGNMENTS: i16 = 45;

const NONE: i16 = 0;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const INVALID_TOPIC_EXCEPTION: i16 = 17;
const INVALID_REPLICA_ASSIGNMENT: i16 = 39;
const LOG_DIR_NOT_FOUND: i16 = 57;
const NO_REASSIGNMENT_IN_PROGRESS: i16 = 85;

/// A broker with two log directories and topic `t`, whose partition was written to.
async fn started(directories: &DataDirectories) -> Session {
    let paths = directories.paths();
    let mut session = Session::start_with(|settings| {
        settings.metadata_log_dir = paths[0].clone();
        settings.log_dirs = paths;
    })
    .await;
    session.create("t", 1, &[]).await;
    assert_eq!(session.produce("t", 0, batch(&[b"value"])).await.error_code, NONE);
    session
}

fn move_to(path: &str, topic: &str, partitions: &[i32]) -> AlterReplicaLogDir {
    AlterReplicaLogDir::default().with_path(StrBytes::from_string(path.to_owned())).with_topics(
        vec![
            AlterReplicaLogDirTopic::default()
                .with_name(topic_name(topic))
                .with_partitions(partitions.to_vec()),
        ],
    )
}

/// Topic, partition and error code of each answer.
async fn alter(
    session: &mut Session,
    version: i16,
    dirs: Vec<AlterReplicaLogDir>,
) -> Vec<(String, i32, i16)> {
    let request = AlterReplicaLogDirsRequest::default().with_dirs(dirs);
    let answer: AlterReplicaLogDirsResponse =
        session.call(ALTER_REPLICA_LOG_DIRS, version, &request).await;
    let mut codes = Vec::new();
    for topic in &answer.results {
        codes.extend(topic.partitions.iter().map(|partition| {
            (topic.topic_name.to_string(), partition.partition_index, partition.error_code)
        }));
    }
    codes
}

/// Directories that hold partition 0 of `t`, with size, lag and whether it is a copy.
async fn describe(session: &mut Session, version: i16) -> Vec<(String, i64, i64, bool)> {
    let request = DescribeLogDirsRequest::default().with_topics(None);
    let answer: DescribeLogDirsResponse = session.call(DESCRIBE_LOG_DIRS, version, &request).await;
    assert_eq!(answer.results.len(), 2);
    let mut found = Vec::new();
    for directory in &answer.results {
        assert_eq!(directory.error_code, NONE);
        assert_eq!(directory.total_bytes > 0, version >= 4);
        assert_eq!(directory.usable_bytes > 0, version >= 4);
        for topic in directory.topics.iter().filter(|topic| topic.name.as_str() == "t") {
            found.extend(topic.partitions.iter().map(|partition| {
                let path = directory.log_dir.to_string();
                let future = partition.is_future_key;
                (path, partition.partition_size, partition.offset_lag, future)
            }));
        }
    }
    found
}

async fn moved(session: &Session) {
    let topic = TopicName::new("t").unwrap();
    let name = TopicPartition { topic, partition: PartitionIndex::new(0) };
    let moves = std::sync::Arc::clone(&session.broker.broker().moves);
    tokio::task::spawn_blocking(move || moves.wait_for(&name)).await.unwrap();
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap().to_string_lossy().into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_is_moved_and_described_where_it_is() {
    let directories = DataDirectories::several(2);
    let mut session = started(&directories).await;
    for version in [1, 2, 1, 2] {
        let before = describe(&mut session, 4).await;
        let (here, size) = (before[0].0.clone(), before[0].1);
        assert!(size > 0);
        let mut paths = directories.paths().into_iter().map(|path| absolute(&path));
        let there = paths.find(|path| *path != here).unwrap();
        let dirs = vec![move_to(&there, "t", &[0])];
        assert_eq!(alter(&mut session, version, dirs).await, [("t".to_owned(), 0, NONE)]);
        moved(&session).await;
        for version in 1..=4 {
            let after = describe(&mut session, version).await;
            assert_eq!(after, [(there.clone(), size, 0, false)], "version {version}");
        }
        // It is there already.
        let dirs = vec![move_to(&there, "t", &[0])];
        assert_eq!(alter(&mut session, version, dirs).await, [("t".to_owned(), 0, NONE)]);
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_moved_is_answered_with_kafkas_codes() {
    let directories = DataDirectories::several(2);
    let mut session = started(&directories).await;
    let there = absolute(&directories.paths()[1]);
    let long = "x".repeat(240);
    let dirs = vec![
        move_to(&there, "t", &[1]),
        move_to(&there, "missing", &[0]),
        move_to("/nowhere", "t", &[0]),
        move_to(&there, &long, &[0]),
    ];
    let codes = alter(&mut session, 2, dirs).await;
    assert_eq!(
        codes,
        [
            ("missing".to_owned(), 0, UNKNOWN_TOPIC_OR_PARTITION),
            ("t".to_owned(), 0, LOG_DIR_NOT_FOUND),
            ("t".to_owned(), 1, UNKNOWN_TOPIC_OR_PARTITION),
            (long, 0, INVALID_TOPIC_EXCEPTION),
        ]
    );
    session.broker.stop().await;
}

/// Kafka answers UNKNOWN_TOPIC_OR_PARTITION, and puts the partition there once it is created.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_is_not_there_yet_goes_where_it_was_sent_beforehand() {
    let directories = DataDirectories::several(2);
    let mut session = started(&directories).await;
    // `t` has one partition, so the next one would go to the other directory.
    let here = describe(&mut session, 4).await[0].0.clone();
    for topic in ["later", "again"] {
        let codes = alter(&mut session, 2, vec![move_to(&here, topic, &[0])]).await;
        assert_eq!(codes, [(topic.to_owned(), 0, UNKNOWN_TOPIC_OR_PARTITION)]);
        session.create(topic, 1, &[]).await;
        let broker = session.broker.broker();
        let image = broker.metadata.image();
        let id = image.topic(topic).unwrap().partitions[0].directories[0];
        let named = broker.partitions.directories().iter().find(|d| d.id() == id).unwrap();
        assert_eq!(absolute(named.path()), here, "{topic}");
    }
    session.broker.stop().await;
}

/// Partition of `t` and replicas asked for, and the answer of Kafka's controller.
const REASSIGNMENTS: [(i32, Option<&[i32]>, i16); 5] = [
    (0, Some(&[1]), NONE),
    (0, Some(&[2]), INVALID_REPLICA_ASSIGNMENT),
    (0, Some(&[]), INVALID_REPLICA_ASSIGNMENT),
    (0, None, NO_REASSIGNMENT_IN_PROGRESS),
    (7, Some(&[1]), UNKNOWN_TOPIC_OR_PARTITION),
];

/// `kafka-reassign-partitions.sh` asks for the replicas there are before it moves partitions between directories.
#[tokio::test(flavor = "multi_thread")]
async fn a_reassignment_to_the_replicas_there_are_is_accepted_and_no_other() {
    let directories = DataDirectories::several(2);
    let mut session = started(&directories).await;
    for version in 0..=1 {
        for (index, replicas, code) in REASSIGNMENTS {
            let replicas = replicas.map(|ids| ids.iter().map(|&id| BrokerId(id)).collect());
            let partition = ReassignablePartition::default()
                .with_partition_index(index)
                .with_replicas(replicas);
            let topic = ReassignableTopic::default()
                .with_name(topic_name("t"))
                .with_partitions(vec![partition]);
            let request = AlterPartitionReassignmentsRequest::default().with_topics(vec![topic]);
            let answer: AlterPartitionReassignmentsResponse =
                session.call(ALTER_PARTITION_REASSIGNMENTS, version, &request).await;
            assert_eq!(answer.error_code, NONE);
            assert_eq!(answer.responses[0].partitions[0].error_code, code, "{index} {code}");
        }
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_lists_describes_and_moves() {
    let directories = DataDirectories::several(2);
    let session = started(&directories).await;
    let listed = operator::run(&session.broker, "dirs list").await.unwrap();
    let rows = operator::fields(&listed);
    assert_eq!(rows.len(), 3, "{listed}");
    let described = operator::run(&session.broker, "dirs describe t").await.unwrap();
    let row = operator::fields(&described).swap_remove(1);
    assert_eq!(row[..2], ["t", "0"]);
    let mut paths = directories.paths().into_iter().map(|path| absolute(&path));
    let there = paths.find(|path| *path != row[row.len() - 1]).unwrap();
    let line = format!("dirs move t --partition 0 --to {there}");
    let said = operator::run(&session.broker, &line).await.unwrap();
    assert!(said.contains("t-0") && said.contains(&there), "{said}");
    moved(&session).await;
    let described = operator::run(&session.broker, "dirs describe").await.unwrap();
    assert!(described.contains(&there), "{described}");
    let refused = operator::run(&session.broker, "dirs move t --to /nowhere").await;
    assert!(refused.unwrap_err().to_string().contains("log directory is not found"));
    session.broker.stop().await;
}
