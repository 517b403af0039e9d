//! Log directories of a broker: describe them, move partitions between them.

use kafka_protocol::messages::alter_replica_log_dirs_request::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic,
};
use kafka_protocol::messages::describe_log_dirs_response::DescribeLogDirsResult;
use kafka_protocol::messages::{AlterReplicaLogDirsRequest, DescribeLogDirsRequest};

use super::admin::topic_name;
use super::{Client, ClientError};
use crate::kafka::{ErrorCode, codec};

const DESCRIBE_VERSION: i16 = 4;
const ALTER_VERSION: i16 = 2;

/// One log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDirDescription {
    /// Its absolute path.
    pub path: String,
    /// It failed: nothing else is known of it.
    pub offline: bool,
    /// Size of its volume in bytes, if told.
    pub total_bytes: Option<i64>,
    /// What may still be written to it, if told.
    pub usable_bytes: Option<i64>,
    /// What it holds.
    pub partitions: Vec<PlacedPartition>,
}

/// One partition in a log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedPartition {
    /// Its topic.
    pub topic: String,
    /// Its number.
    pub index: i32,
    /// Bytes of its segments.
    pub bytes: i64,
    /// Offsets that a copy lacks.
    pub lag: i64,
    /// A copy on its way here.
    pub is_future: bool,
}

impl Client {
    /// Describes all log directories of the broker.
    pub async fn describe_log_dirs(&mut self) -> Result<Vec<LogDirDescription>, ClientError> {
        let request = DescribeLogDirsRequest::default().with_topics(None);
        let answer = self.link.call(&request, DESCRIBE_VERSION).await?;
        ClientError::check(answer.error_code, None, || "the log directories".to_owned())?;
        Ok(answer.results.iter().map(directory).collect())
    }

    /// Begins to move partitions of a topic into a log directory. Fails with the first that is refused; the others move.
    pub async fn move_partitions(
        &mut self,
        topic: &str,
        partitions: &[i32],
        path: &str,
    ) -> Result<(), ClientError> {
        let moved = AlterReplicaLogDirTopic::default()
            .with_name(topic_name(topic))
            .with_partitions(partitions.to_vec());
        let dir =
            AlterReplicaLogDir::default().with_path(codec::text(path)).with_topics(vec![moved]);
        let request = AlterReplicaLogDirsRequest::default().with_dirs(vec![dir]);
        let answer = self.link.call(&request, ALTER_VERSION).await?;
        for result in answer.results.iter().flat_map(|topic| &topic.partitions) {
            let what = || format!("partition {topic}-{}", result.partition_index);
            ClientError::check(result.error_code, None, what)?;
        }
        Ok(())
    }
}

fn directory(result: &DescribeLogDirsResult) -> LogDirDescription {
    let known = |bytes: i64| (bytes >= 0).then_some(bytes);
    let mut partitions: Vec<_> = result
        .topics
        .iter()
        .flat_map(|topic| {
            topic.partitions.iter().map(|partition| PlacedPartition {
                topic: topic.name.to_string(),
                index: partition.partition_index,
                bytes: partition.partition_size,
                lag: partition.offset_lag,
                is_future: partition.is_future_key,
            })
        })
        .collect();
    partitions.sort_by(|a, b| (&a.topic, a.index).cmp(&(&b.topic, b.index)));
    LogDirDescription {
        path: result.log_dir.to_string(),
        offline: result.error_code != ErrorCode::None.number(),
        total_bytes: known(result.total_bytes),
        usable_bytes: known(result.usable_bytes),
        partitions,
    }
}
