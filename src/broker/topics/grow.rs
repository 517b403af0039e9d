//! CreatePartitions: more partitions for topics that are there. They never get fewer.

use std::collections::HashSet;

use super::placement::{self, InvalidAssignment};
use super::{BATCH_RECORDS_MAX, Mode};
use crate::broker::Broker;
use crate::metadata::{Image, MetadataError, Topic};
use crate::types::{BrokerId, PartitionIndex, TopicId};

/// Topics to grow.
#[derive(Clone, Debug)]
pub struct CreatePartitions {
    /// In the order of the request.
    pub topics: Vec<TopicGrowth>,
    /// Whether they grow or are only checked.
    pub mode: Mode,
}

/// One topic and the size that it shall have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicGrowth {
    /// Its name.
    pub name: String,
    /// Number of partitions after growing.
    pub count: i32,
    /// Replicas of each new partition, in order; `None` leaves them to the broker.
    pub assignments: Option<Vec<Vec<BrokerId>>>,
}

/// What became of one topic.
#[derive(Debug)]
pub struct GrowTopicOutcome {
    /// As in the request.
    pub name: String,
    /// Grown, or why not.
    pub result: Result<(), GrowTopicError>,
}

/// Why a topic does not grow; the texts are Kafka's.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GrowTopicError {
    /// INVALID_REQUEST.
    #[error("Duplicate topic name.")]
    Duplicate,
    /// UNKNOWN_TOPIC_OR_PARTITION; Kafka sends no text.
    #[error("there is no such topic")]
    UnknownTopic,
    /// INVALID_PARTITIONS.
    #[error("Topic already has {0} partition(s).")]
    SameCount(usize),
    /// INVALID_PARTITIONS.
    #[error(
        "The topic {name} currently has {present} partition(s); {count} would not be an increase."
    )]
    FewerPartitions {
        /// The topic.
        name: String,
        /// Partitions that it has.
        present: usize,
        /// Partitions asked for.
        count: i32,
    },
    /// INVALID_REPLICA_ASSIGNMENT.
    #[error(
        "Attempted to add {additional} additional partition(s), but only {assignments} assignment(s) were specified."
    )]
    AssignmentCount {
        /// Partitions to add.
        additional: usize,
        /// Assignments given.
        assignments: usize,
    },
    /// INVALID_REPLICA_ASSIGNMENT.
    #[error(transparent)]
    Assignment(#[from] InvalidAssignment),
    /// POLICY_VIOLATION: more than [`BATCH_RECORDS_MAX`] new partitions in the request.
    #[error("Excessively large number of additional partitions per request.")]
    TooManyPartitions,
    /// KAFKA_STORAGE_ERROR.
    #[error("The metadata log cannot be written: {0}")]
    Storage(String),
}

impl From<MetadataError> for GrowTopicError {
    fn from(error: MetadataError) -> Self {
        match error {
            MetadataError::UnknownTopic => Self::UnknownTopic,
            MetadataError::TopicExists(_)
            | MetadataError::PartitionCountChanged(_)
            | MetadataError::Journal(_)
            | MetadataError::NoProducerIds => Self::Storage(error.to_string()),
        }
    }
}

impl Broker {
    /// Adds partitions to topics. One outcome per name, in the order in which the request names them first. Blocks.
    pub fn create_partitions(&self, request: CreatePartitions) -> Vec<GrowTopicOutcome> {
        let _changes = self.changes.lock();
        let planned = plan(&self.metadata.image(), self.settings.node_id, request.topics);
        let settle = |(name, result): (String, Result<Growth, GrowTopicError>)| {
            let result = result.and_then(|growth| match request.mode {
                Mode::ValidateOnly => Ok(()),
                Mode::Apply => self.grow(growth),
            });
            GrowTopicOutcome { name, result }
        };
        planned.into_iter().map(settle).collect()
    }

    fn grow(&self, growth: Growth) -> Result<(), GrowTopicError> {
        Ok(self.metadata.create_partitions(growth.topic, growth.present, growth.added)?)
    }
}

/// Partitions to add to a topic.
#[derive(Debug)]
pub(super) struct Growth {
    topic: TopicId,
    present: PartitionIndex,
    added: Vec<Vec<BrokerId>>,
}

/// Checks all topics of a request. Pure.
pub(super) fn plan(
    image: &Image,
    node: BrokerId,
    topics: Vec<TopicGrowth>,
) -> Vec<(String, Result<Growth, GrowTopicError>)> {
    let mut seen = HashSet::new();
    let repeated: HashSet<String> =
        topics.iter().filter(|t| !seen.insert(&t.name)).map(|t| t.name.clone()).collect();
    let mut told = HashSet::new();
    let unique: Vec<TopicGrowth> =
        topics.into_iter().filter(|topic| told.insert(topic.name.clone())).collect();
    let too_many =
        unique.iter().map(|topic| additional(image, topic)).sum::<usize>() > BATCH_RECORDS_MAX;
    let check = |topic: TopicGrowth| {
        let result = if repeated.contains(&topic.name) {
            Err(GrowTopicError::Duplicate)
        } else if too_many {
            Err(GrowTopicError::TooManyPartitions)
        } else {
            plan_one(image, node, &topic)
        };
        (topic.name, result)
    };
    unique.into_iter().map(check).collect()
}

/// Partitions that a topic would get; none for one that is not there.
fn additional(image: &Image, growth: &TopicGrowth) -> usize {
    let Some(topic) = image.topic(&growth.name) else { return 0 };
    usize::try_from(growth.count).unwrap_or(0).saturating_sub(topic.partitions.len())
}

fn plan_one(image: &Image, node: BrokerId, growth: &TopicGrowth) -> Result<Growth, GrowTopicError> {
    let topic = image.topic(&growth.name).ok_or(GrowTopicError::UnknownTopic)?;
    let additional = checked_increase(topic, growth)?;
    let added = match &growth.assignments {
        None => vec![vec![node]; additional],
        Some(assignments) => checked_assignments(node, topic, additional, assignments)?,
    };
    let present = i32::try_from(topic.partitions.len()).expect("partitions are numbered with i32");
    Ok(Growth { topic: topic.id, present: PartitionIndex::new(present), added })
}

fn checked_increase(topic: &Topic, growth: &TopicGrowth) -> Result<usize, GrowTopicError> {
    let present = topic.partitions.len();
    match usize::try_from(growth.count) {
        Ok(count) if count == present => Err(GrowTopicError::SameCount(present)),
        Ok(count) if count > present => Ok(count - present),
        Ok(_) | Err(_) => Err(GrowTopicError::FewerPartitions {
            name: growth.name.clone(),
            present,
            count: growth.count,
        }),
    }
}

fn checked_assignments(
    node: BrokerId,
    topic: &Topic,
    additional: usize,
    assignments: &[Vec<BrokerId>],
) -> Result<Vec<Vec<BrokerId>>, GrowTopicError> {
    if assignments.len() != additional {
        let assignments = assignments.len();
        return Err(GrowTopicError::AssignmentCount { additional, assignments });
    }
    let replicas = topic.partitions.first().map(|partition| partition.replicas.len());
    for assignment in assignments {
        placement::check_replicas(node, assignment, replicas)?;
    }
    Ok(assignments.to_vec())
}
