//! DescribeLogDirs (35), versions 1-5. KIP-113, KIP-482, KIP-784, KIP-827, KIP-1066.
//!
//! Version 5 says which directories take no new partitions. None do here: `cordoned.log.dirs` is not served.
//!
//! A partition that nothing was written to has no directory yet; it is shown, empty, in the directory that the metadata names.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use kafka_protocol::messages::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use kafka_protocol::messages::{DescribeLogDirsRequest, DescribeLogDirsResponse};

use crate::broker::{Broker, DirectoryUsage, PartitionUsage};
use crate::kafka::codec::lift::{self, Raised};
use crate::kafka::codec::{self, LongList};
use crate::kafka::wire::Writer;
use crate::kafka::{Disconnect, ErrorCode, Outcome, Request, Response, blocking, guard};
use crate::metadata::{Image, PartitionState};
use crate::types::{BrokerId, TopicPartition};

/// What a partition takes while an answer is made, encoded and not.
const PARTITION_BYTES: usize = 320;

/// First version with compact lengths and tags.
const FLEXIBLE_FROM: i16 = 2;

/// `IsCordoned`.
const NOT_CORDONED: u8 = 0;

/// Kafka's `INVALID_OFFSET_LAG`.
const UNKNOWN_LAG: i64 = -1;

/// Answers a DescribeLogDirs request.
pub fn handle(request: Request) -> Outcome {
    let body: DescribeLogDirsRequest = match lift::request(&request, guard::DESCRIBE_LOG_DIRS) {
        Ok((body, _)) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let (version, broker) = (request.version, Arc::clone(&request.broker));
    let bytes = broker.metadata.image().partition_count * PARTITION_BYTES;
    blocking::later(broker, bytes, move |broker| respond(broker, &body, version))
}

fn respond(
    broker: &Broker,
    body: &DescribeLogDirsRequest,
    version: i16,
) -> Result<Response, Disconnect> {
    let image = broker.metadata.image();
    let asked = Asked::of(body);
    let mut directories = broker.directory_usage();
    add_unwritten(&mut directories, &image, broker.settings.node_id, &asked);
    let usable = directories.iter().map(|usage| result(usage, &asked, version));
    let failed = broker.partitions.placement().failed().iter().map(|failed| offline(&failed.path));
    let results: Vec<DescribeLogDirsResult> = usable.chain(failed).collect();
    encode(results, version)
}

fn encode(results: Vec<DescribeLogDirsResult>, version: i16) -> Result<Response, Disconnect> {
    let behind = usize::from(version >= FLEXIBLE_FROM);
    let list = LongList { version, flexible_from: FLEXIBLE_FROM, behind };
    let results = results.into_iter().map(|message| Raised {
        message,
        new_fields: |writer: &mut Writer| writer.raw(&[NOT_CORDONED]),
    });
    codec::encode_around(&DescribeLogDirsResponse::default(), list, 0, results)
}

/// The partitions that are asked for.
enum Asked<'a> {
    All,
    Some(HashSet<(&'a str, i32)>),
}

impl<'a> Asked<'a> {
    fn of(body: &'a DescribeLogDirsRequest) -> Self {
        let Some(topics) = &body.topics else { return Self::All };
        let named = topics
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|&index| (topic.topic.as_str(), index)));
        Self::Some(named.collect())
    }

    fn contains(&self, partition: &TopicPartition) -> bool {
        match self {
            Self::All => true,
            Self::Some(asked) => {
                asked.contains(&(partition.topic.as_str(), partition.partition.get()))
            }
        }
    }
}

/// Adds the partitions of the image that no directory holds.
fn add_unwritten(
    directories: &mut [DirectoryUsage],
    image: &Image,
    node: BrokerId,
    asked: &Asked<'_>,
) {
    if directories.is_empty() {
        return;
    }
    let held: HashSet<TopicPartition> = directories
        .iter()
        .flat_map(|d| d.partitions.iter().map(|partition| partition.name.clone()))
        .collect();
    for topic in image.topics.values() {
        for (state, index) in topic.partitions.iter().zip(0..) {
            let partition = crate::types::PartitionIndex::new(index);
            let name = TopicPartition { topic: topic.name.clone(), partition };
            if asked.contains(&name)
                && !held.contains(&name)
                && let Some(at) = home_of(directories, state, node)
            {
                let partition =
                    PartitionUsage { name, bytes: 0, copy_lag: Some(0), is_future: false };
                directories[at].partitions.push(partition);
            }
        }
    }
}

/// The directory that the metadata names, or the first one if it names none.
fn home_of(
    directories: &[DirectoryUsage],
    state: &PartitionState,
    node: BrokerId,
) -> Option<usize> {
    match state.directory_of(node) {
        Some(id) => directories.iter().position(|usage| usage.id == id),
        None => Some(0),
    }
}

fn result(usage: &DirectoryUsage, asked: &Asked<'_>, version: i16) -> DescribeLogDirsResult {
    if usage.offline {
        return offline(&usage.path);
    }
    let result = DescribeLogDirsResult::default()
        .with_log_dir(codec::text(&usage.path.to_string_lossy()))
        .with_topics(topics(usage, asked));
    match usage.space {
        Some(space) if version >= 4 => result
            .with_total_bytes(signed(space.total_bytes))
            .with_usable_bytes(signed(space.usable_bytes)),
        _ => result,
    }
}

/// A directory that failed, now or at the start; tools compare its absolute path.
fn offline(path: &Path) -> DescribeLogDirsResult {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    DescribeLogDirsResult::default()
        .with_log_dir(codec::text(&path.to_string_lossy()))
        .with_error_code(ErrorCode::KafkaStorageError.number())
}

fn topics(usage: &DirectoryUsage, asked: &Asked<'_>) -> Vec<DescribeLogDirsTopic> {
    let mut by_topic: BTreeMap<&str, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
    for found in usage.partitions.iter().filter(|found| asked.contains(&found.name)) {
        let partition = DescribeLogDirsPartition::default()
            .with_partition_index(found.name.partition.get())
            .with_partition_size(signed(found.bytes))
            .with_offset_lag(found.copy_lag.unwrap_or(UNKNOWN_LAG))
            .with_is_future_key(found.is_future);
        by_topic.entry(found.name.topic.as_str()).or_default().push(partition);
    }
    let topic = |(name, partitions): (&str, Vec<DescribeLogDirsPartition>)| {
        DescribeLogDirsTopic::default()
            .with_name(codec::topic_name(name))
            .with_partitions(partitions)
    };
    by_topic.into_iter().map(topic).collect()
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
