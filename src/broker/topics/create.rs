//! CreateTopics: checks of one topic after the other, then one append for all that passed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::internal::CLUSTER_METADATA;
use super::placement::{self, Assignment, InvalidAssignment};
use super::{BATCH_RECORDS_MAX, Mode};
use crate::broker::Broker;
use crate::broker::configs::BrokerConfigs;
use crate::config::{BrokerSettings, InvalidOverride, validate_topic_overrides};
use crate::metadata::{Image, MetadataError, NewTopic};
use crate::types::{BrokerId, InvalidTopicName, TopicId, TopicName};

/// Topics to create.
#[derive(Clone, Debug)]
pub struct CreateTopics {
    /// In the order of the request.
    pub topics: Vec<TopicSpec>,
    /// Whether they are created or only checked.
    pub mode: Mode,
}

/// One topic as the client describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSpec {
    /// Its name, not checked yet.
    pub name: String,
    /// Number of partitions; -1 for the broker's default.
    pub partitions: i32,
    /// Number of replicas; -1 for the broker's default.
    pub replication_factor: i16,
    /// Replicas of each partition; if there are any, both numbers must be -1.
    pub assignments: Vec<Assignment>,
    /// Overrides; the last one of a key counts.
    pub configs: Vec<(String, Option<String>)>,
}

impl TopicSpec {
    /// A topic with the broker's defaults.
    pub fn with_defaults(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            partitions: -1,
            replication_factor: -1,
            assignments: Vec::new(),
            configs: Vec::new(),
        }
    }
}

/// A topic that was created, or would have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedTopic {
    /// Its id; a random one if nothing was created.
    pub id: TopicId,
    /// Number of partitions.
    pub partitions: i32,
    /// Number of replicas of each.
    pub replication_factor: i16,
    /// What is set on it; the rest of its configs is the broker's.
    pub overrides: BTreeMap<String, String>,
}

/// What became of one topic.
#[derive(Debug)]
pub struct CreateTopicOutcome {
    /// As in the request.
    pub name: String,
    /// Created, or why not.
    pub result: Result<CreatedTopic, CreateTopicError>,
}

/// Why a topic is not created; the texts are Kafka's.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CreateTopicError {
    /// INVALID_REQUEST: the request names it twice.
    #[error("Duplicate topic name.")]
    Duplicate,
    /// INVALID_REQUEST: the name of the metadata log.
    #[error("Creation of internal topic {CLUSTER_METADATA} is prohibited.")]
    Prohibited,
    /// INVALID_TOPIC_EXCEPTION.
    #[error("Topic name is invalid: {0}")]
    InvalidName(#[from] InvalidTopicName),
    /// INVALID_TOPIC_EXCEPTION: the metric names of both would be equal.
    #[error("Topic '{name}' collides with existing topic: {existing}")]
    Collides {
        /// The new name.
        name: TopicName,
        /// The one that is there.
        existing: TopicName,
    },
    /// TOPIC_ALREADY_EXISTS.
    #[error("Topic '{0}' already exists.")]
    Exists(String),
    /// INVALID_CONFIG.
    #[error("Null value not supported for topic configs: {0}")]
    NullConfig(String),
    /// INVALID_CONFIG.
    #[error(transparent)]
    Config(#[from] InvalidOverride),
    /// INVALID_PARTITIONS.
    #[error("Number of partitions was set to an invalid non-positive value.")]
    Partitions,
    /// INVALID_REPLICATION_FACTOR.
    #[error("Replication factor must be larger than 0, or -1 to use the default value.")]
    ReplicationFactor,
    /// INVALID_REPLICATION_FACTOR.
    #[error(
        "Unable to replicate the partition {0} time(s): The target replication factor of {0} cannot be reached because only \
         1 broker(s) are registered or some brokers have all their log directories cordoned."
    )]
    TooFewBrokers(i16),
    /// INVALID_REQUEST.
    #[error("A manual partition assignment was specified, but numPartitions was not set to -1.")]
    AssignmentAndPartitions,
    /// INVALID_REQUEST.
    #[error(
        "A manual partition assignment was specified, but replication factor was not set to -1."
    )]
    AssignmentAndReplicationFactor,
    /// INVALID_REPLICA_ASSIGNMENT.
    #[error(transparent)]
    Assignment(#[from] InvalidAssignment),
    /// POLICY_VIOLATION: more than [`BATCH_RECORDS_MAX`] partitions in the request.
    #[error("Excessively large number of partitions per request.")]
    TooManyPartitions,
    /// POLICY_VIOLATION: more than [`BATCH_RECORDS_MAX`] records in the request.
    #[error("Unable to perform excessively large batch operation.")]
    TooManyRecords,
    /// KAFKA_STORAGE_ERROR.
    #[error("The metadata log cannot be written: {0}")]
    Storage(String),
}

impl From<MetadataError> for CreateTopicError {
    fn from(error: MetadataError) -> Self {
        match error {
            MetadataError::TopicExists(name) => Self::Exists(name.to_string()),
            MetadataError::UnknownTopic
            | MetadataError::PartitionCountChanged(_)
            | MetadataError::Journal(_)
            | MetadataError::NoProducerIds => Self::Storage(error.to_string()),
        }
    }
}

impl Broker {
    /// Creates topics in one append to the metadata log. One outcome per name, in the order in which the request names them
    /// first. Blocks.
    pub fn create_topics(&self, request: CreateTopics) -> Vec<CreateTopicOutcome> {
        let _changes = self.changes.lock();
        let image = self.metadata.image();
        let rules = CreationRules::of(&self.settings, &image);
        let planned = plan(&rules, request.topics);
        let created = match request.mode {
            Mode::Apply => self.carry_out(planned),
            Mode::ValidateOnly => self.only_tell(planned),
        };
        let tell = |(name, result): (String, Result<Laid, CreateTopicError>)| CreateTopicOutcome {
            name,
            result: result.map(Laid::tell),
        };
        created.into_iter().map(tell).collect()
    }

    pub(super) fn carry_out(
        &self,
        planned: Vec<Planned>,
    ) -> Vec<(String, Result<Laid, CreateTopicError>)> {
        let new: Vec<NewTopic> = planned
            .iter()
            .filter_map(|p| p.result.as_ref().ok().map(PlannedTopic::to_new))
            .collect();
        let ids = if new.is_empty() { Vec::new() } else { self.metadata.create_topics(new) };
        let mut ids = ids.into_iter();
        let mut settle = |topic: PlannedTopic| -> Result<Laid, CreateTopicError> {
            let id = ids.next().expect("the store answers one result per topic")?;
            Ok(Laid { id, topic })
        };
        planned.into_iter().map(|p| (p.name, p.result.and_then(&mut settle))).collect()
    }

    fn only_tell(&self, planned: Vec<Planned>) -> Vec<(String, Result<Laid, CreateTopicError>)> {
        let tell = |topic| Laid { id: self.env.random.uuid(), topic };
        planned.into_iter().map(|p| (p.name, p.result.map(tell))).collect()
    }
}

/// What a plan goes by.
#[derive(Debug)]
pub(super) struct CreationRules<'a> {
    node: BrokerId,
    partitions: i32,
    replication_factor: i16,
    image: &'a Image,
    configs: BrokerConfigs,
}

impl<'a> CreationRules<'a> {
    /// Those of a broker with these settings at this image.
    pub(super) fn of(settings: &Arc<BrokerSettings>, image: &'a Image) -> Self {
        Self {
            node: settings.node_id,
            partitions: settings.num_partitions,
            replication_factor: settings.default_replication_factor,
            image,
            configs: BrokerConfigs::at(settings, image),
        }
    }
}

/// A topic and whether it can be created.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) name: String,
    pub(super) result: Result<PlannedTopic, CreateTopicError>,
}

/// A topic that passed every check.
#[derive(Debug)]
pub(super) struct PlannedTopic {
    name: TopicName,
    partitions: Vec<Vec<BrokerId>>,
    replication_factor: i16,
    configs: BTreeMap<String, String>,
}

/// A topic with the id that it got.
pub(super) struct Laid {
    id: TopicId,
    topic: PlannedTopic,
}

impl Laid {
    fn tell(self) -> CreatedTopic {
        CreatedTopic {
            id: self.id,
            partitions: i32::try_from(self.topic.partitions.len()).unwrap_or(i32::MAX),
            replication_factor: self.topic.replication_factor,
            overrides: self.topic.configs,
        }
    }
}

impl PlannedTopic {
    fn to_new(&self) -> NewTopic {
        NewTopic {
            name: self.name.clone(),
            partitions: self.partitions.clone(),
            configs: self.configs.clone().into_iter().collect(),
        }
    }

    /// Records that it takes in the metadata log.
    fn records(&self) -> usize {
        1 + self.partitions.len() + self.configs.len()
    }
}

/// Checks all topics of a request. Pure.
pub(super) fn plan(rules: &CreationRules<'_>, specs: Vec<TopicSpec>) -> Vec<Planned> {
    let (unique, repeated) = without_repetitions(specs);
    let asked: usize = unique.iter().map(|spec| partitions_asked(rules, spec)).sum();
    let collisions = Collisions::default();
    let check = |spec: TopicSpec| {
        let result = if repeated.contains(&spec.name) {
            Err(CreateTopicError::Duplicate)
        } else if spec.name == CLUSTER_METADATA {
            Err(CreateTopicError::Prohibited)
        } else if asked > BATCH_RECORDS_MAX {
            Err(CreateTopicError::TooManyPartitions)
        } else {
            plan_one(rules, &collisions, &spec)
        };
        Planned { name: spec.name, result }
    };
    within_batch(unique.into_iter().map(check).collect())
}

/// The first topic of each name, and the names that come more than once.
fn without_repetitions(specs: Vec<TopicSpec>) -> (Vec<TopicSpec>, HashSet<String>) {
    let mut seen = HashSet::new();
    let mut repeated = HashSet::new();
    let mut unique = Vec::with_capacity(specs.len());
    for spec in specs {
        if seen.insert(spec.name.clone()) {
            unique.push(spec);
        } else {
            repeated.insert(spec.name);
        }
    }
    (unique, repeated)
}

fn partitions_asked(rules: &CreationRules<'_>, spec: &TopicSpec) -> usize {
    if !spec.assignments.is_empty() {
        return spec.assignments.len();
    }
    let count = if spec.partitions == -1 { rules.partitions } else { spec.partitions };
    usize::try_from(count).unwrap_or(0)
}

/// Refuses all of a request whose topics together are too many records.
fn within_batch(mut planned: Vec<Planned>) -> Vec<Planned> {
    let records: usize =
        planned.iter().filter_map(|p| p.result.as_ref().ok()).map(PlannedTopic::records).sum();
    if records > BATCH_RECORDS_MAX {
        for topic in planned.iter_mut().filter(|p| p.result.is_ok()) {
            topic.result = Err(CreateTopicError::TooManyRecords);
        }
    }
    planned
}

fn plan_one(
    rules: &CreationRules<'_>,
    collisions: &Collisions,
    spec: &TopicSpec,
) -> Result<PlannedTopic, CreateTopicError> {
    let name = TopicName::new(&spec.name)?;
    if let Some(existing) = collisions.find(rules.image, &name) {
        return Err(CreateTopicError::Collides { name, existing });
    }
    if rules.image.topic(name.as_str()).is_some() {
        return Err(CreateTopicError::Exists(spec.name.clone()));
    }
    let configs = overrides(&spec.configs)?;
    validate_topic_overrides(rules.configs.layers(), &configs)?;
    let (partitions, replication_factor) = place(rules, spec)?;
    Ok(PlannedTopic { name, partitions, replication_factor, configs })
}

/// The overrides of a topic; null is no value for one.
fn overrides(
    configs: &[(String, Option<String>)],
) -> Result<BTreeMap<String, String>, CreateTopicError> {
    let nulls: Vec<&str> =
        configs.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| key.as_str()).collect();
    if !nulls.is_empty() {
        return Err(CreateTopicError::NullConfig(nulls.join(",")));
    }
    let given = configs.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
    Ok(given.collect())
}

/// The replicas of each partition and their number.
fn place(
    rules: &CreationRules<'_>,
    spec: &TopicSpec,
) -> Result<(Vec<Vec<BrokerId>>, i16), CreateTopicError> {
    if !spec.assignments.is_empty() {
        return place_as_told(rules, spec);
    }
    if spec.replication_factor < -1 || spec.replication_factor == 0 {
        return Err(CreateTopicError::ReplicationFactor);
    }
    if spec.partitions < -1 || spec.partitions == 0 {
        return Err(CreateTopicError::Partitions);
    }
    let partitions = if spec.partitions == -1 { rules.partitions } else { spec.partitions };
    let replicas = if spec.replication_factor == -1 {
        rules.replication_factor
    } else {
        spec.replication_factor
    };
    if replicas != 1 {
        return Err(CreateTopicError::TooFewBrokers(replicas));
    }
    let count = usize::try_from(partitions).map_err(|_| CreateTopicError::Partitions)?;
    Ok((vec![vec![rules.node]; count], 1))
}

fn place_as_told(
    rules: &CreationRules<'_>,
    spec: &TopicSpec,
) -> Result<(Vec<Vec<BrokerId>>, i16), CreateTopicError> {
    if spec.replication_factor != -1 {
        return Err(CreateTopicError::AssignmentAndReplicationFactor);
    }
    if spec.partitions != -1 {
        return Err(CreateTopicError::AssignmentAndPartitions);
    }
    let placed = placement::by_index(rules.node, &spec.assignments)?;
    let replicas = placed.first().map_or(1, Vec::len);
    Ok((placed, i16::try_from(replicas).unwrap_or(i16::MAX)))
}

/// Finds topics whose names differ in `.` and `_` only: their metrics would have one name in Kafka.
#[derive(Debug, Default)]
struct Collisions(std::cell::OnceCell<HashMap<String, TopicName>>);

impl Collisions {
    /// A topic of the image that `name` collides with. The index over the image is built when the first name needs it.
    fn find(&self, image: &Image, name: &TopicName) -> Option<TopicName> {
        if !may_collide(name) || image.topic(name.as_str()).is_some() {
            return None;
        }
        let of_image = || {
            let names = image.topics.keys().filter(|name| may_collide(name));
            names.map(|name| (merged(name), name.clone())).collect()
        };
        self.0.get_or_init(of_image).get(&merged(name)).cloned()
    }
}

fn may_collide(name: &TopicName) -> bool {
    name.as_str().contains(['.', '_'])
}

fn merged(name: &TopicName) -> String {
    name.as_str().replace('.', "_")
}
