//! From one image to the next: [`ImageBuilder::apply`] is the one function that gives a metadata record its meaning, used
//! by live changes and by replay alike.
//!
//! A builder belongs to one thread. Topics that change are drafts beside the image until [`ImageBuilder::finish`] puts them
//! into its maps, so a batch that creates a topic of many partitions copies nothing twice.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::image::{ConfigResource, Image, PartitionState, Topic};
use super::journal::ControlRecord;
use super::records::{
    BrokerRegistrationChange, ConfigRecord, FeatureLevel, MetadataRecord, OpaqueChange, OpaqueKey,
    PartitionChange, PartitionRecord, RegisterBroker, TopicRecord,
};
use crate::types::{
    BrokerId, DirectoryId, LeaderEpoch, Offset, PartitionIndex, TopicId, TopicName,
};

/// A record that makes no sense in the state it meets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// A topic name that no Kafka allows.
    #[error("a record creates the topic '{0}', which is no legal name")]
    TopicName(String),
    /// A name or id that is taken.
    #[error("a record creates the topic {0}, which there is already")]
    TopicExists(String),
    /// A topic that is not there.
    #[error("a record changes the topic {0}, which does not exist")]
    NoTopic(TopicId),
    /// A partition that is not there, or whose predecessors are not.
    #[error("a record concerns partition {1} of topic {0}, which does not exist or leaves a gap")]
    NoPartition(TopicId, PartitionIndex),
    /// A broker that is not registered.
    #[error("a record changes the registration of broker {0}, which is not registered")]
    NoBroker(BrokerId),
}

/// An image being changed.
#[derive(Clone, Debug)]
pub struct ImageBuilder {
    image: Image,
    /// Topics that changed; `None` for removed ones.
    drafts: HashMap<TopicId, Option<Draft>>,
    /// Ids of the drafts by name, removed ones excepted.
    draft_names: HashMap<TopicName, TopicId>,
}

#[derive(Clone, Debug)]
struct Draft {
    name: TopicName,
    /// A map and not a list, because a snapshot may name them in any order and a damaged one any number.
    partitions: BTreeMap<i32, PartitionState>,
}

impl ImageBuilder {
    /// Starts from `image`.
    pub fn new(image: Image) -> Self {
        Self { image, drafts: HashMap::new(), draft_names: HashMap::new() }
    }

    /// Gives `record` its meaning. After an error the builder is of no further use.
    pub fn apply(&mut self, record: &MetadataRecord) -> Result<(), ApplyError> {
        match record {
            MetadataRecord::RegisterBroker(record) => self.register(record),
            MetadataRecord::UnregisterBroker(record) => {
                Arc::make_mut(&mut self.image.brokers).remove(&record.broker_id);
            }
            MetadataRecord::Topic(record) => self.create_topic(record)?,
            MetadataRecord::Partition(record) => self.put_partition(record)?,
            MetadataRecord::Config(record) => self.set_config(record),
            MetadataRecord::PartitionChange(record) => self.change_partition(record)?,
            MetadataRecord::Fence(record) => {
                self.change_broker(record.broker_id, |broker| broker.fenced = record.fenced)?;
            }
            MetadataRecord::RemoveTopic(id) => self.remove_topic(*id)?,
            MetadataRecord::FeatureLevel(record) => self.set_feature(record),
            MetadataRecord::ProducerIds(record) => {
                self.image.next_producer_id = record.next_producer_id;
            }
            MetadataRecord::BrokerRegistrationChange(record) => self.change_registration(record)?,
            MetadataRecord::ClearElr { topic } => self.clear_elr(topic),
            MetadataRecord::Opaque(record) => self.keep(record),
            // Transactions are the business of whoever reads the log; see `Replay`.
            MetadataRecord::NoOp
            | MetadataRecord::BeginTransaction { .. }
            | MetadataRecord::EndTransaction
            | MetadataRecord::AbortTransaction { .. } => {}
        }
        Ok(())
    }

    /// The changed image, which covers the log up to `end_offset`.
    pub fn finish(mut self, end_offset: Offset) -> Result<Image, ApplyError> {
        self.image.end_offset = end_offset;
        if self.drafts.is_empty() {
            return Ok(self.image);
        }
        let by_name = Arc::make_mut(&mut self.image.topics);
        let by_id = Arc::make_mut(&mut self.image.topics_by_id);
        // Removed names first: a topic created again under one of them must win.
        for id in self.drafts.keys() {
            if let Some(old) = by_id.remove(id) {
                self.image.partition_count -= old.partitions.len();
                by_name.remove(&old.name);
            }
        }
        for (id, draft) in self.drafts {
            let Some(draft) = draft else { continue };
            let topic = Arc::new(draft.finish(id)?);
            self.image.partition_count += topic.partitions.len();
            by_name.insert(topic.name.clone(), Arc::clone(&topic));
            by_id.insert(id, topic);
        }
        Ok(self.image)
    }

    /// Id of the topic of that name, changes so far included.
    pub fn topic_id(&self, name: &TopicName) -> Option<TopicId> {
        if let Some(id) = self.draft_names.get(name) {
            return Some(*id);
        }
        let topic = self.image.topics.get(name)?;
        // A draft that no name leads to is a removed topic.
        (!self.drafts.contains_key(&topic.id)).then_some(topic.id)
    }

    /// Name of a topic, changes so far included.
    pub fn topic_name(&self, id: TopicId) -> Option<TopicName> {
        match self.drafts.get(&id) {
            Some(draft) => draft.as_ref().map(|draft| draft.name.clone()),
            None => self.image.topics_by_id.get(&id).map(|topic| topic.name.clone()),
        }
    }

    /// Partitions of a topic, changes so far included.
    pub fn partition_count(&self, id: TopicId) -> Option<usize> {
        match self.drafts.get(&id) {
            Some(draft) => draft.as_ref().map(|draft| draft.partitions.len()),
            None => self.image.topics_by_id.get(&id).map(|topic| topic.partitions.len()),
        }
    }

    /// A partition, changes so far included.
    pub fn partition(&self, id: TopicId, index: PartitionIndex) -> Option<&PartitionState> {
        match self.drafts.get(&id) {
            Some(draft) => draft.as_ref()?.partitions.get(&index.get()),
            None => self.image.topics_by_id.get(&id)?.partition(index),
        }
    }

    /// Everything but topics, changes so far included.
    pub fn image_but_topics(&self) -> &Image {
        &self.image
    }

    /// Gives a control record its meaning: what the log says about its own quorum.
    pub fn apply_control(&mut self, record: ControlRecord) {
        let quorum = Arc::make_mut(&mut self.image.quorum);
        match record {
            ControlRecord::KraftVersion(version) => quorum.kraft_version = version,
            ControlRecord::Voters(voters) => quorum.voters = voters,
            // The log of a static quorum names its voters only here.
            ControlRecord::LeaderChange { voters, .. } => quorum.electors = voters,
            ControlRecord::SnapshotHeader { .. }
            | ControlRecord::SnapshotFooter
            | ControlRecord::Unknown(_) => {}
        }
    }

    fn draft(&mut self, id: TopicId) -> Result<&mut Draft, ApplyError> {
        if !self.drafts.contains_key(&id) {
            let topic = self.image.topics_by_id.get(&id).ok_or(ApplyError::NoTopic(id))?;
            self.draft_names.insert(topic.name.clone(), id);
            self.drafts.insert(id, Some(Draft::of(topic)));
        }
        self.drafts.get_mut(&id).and_then(Option::as_mut).ok_or(ApplyError::NoTopic(id))
    }

    fn create_topic(&mut self, record: &TopicRecord) -> Result<(), ApplyError> {
        let name =
            TopicName::new(&record.name).map_err(|_| ApplyError::TopicName(record.name.clone()))?;
        let id = record.topic_id;
        let known = self.drafts.contains_key(&id) || self.image.topics_by_id.contains_key(&id);
        if known || self.topic_id(&name).is_some() {
            return Err(ApplyError::TopicExists(record.name.clone()));
        }
        self.draft_names.insert(name.clone(), id);
        self.drafts.insert(id, Some(Draft { name, partitions: BTreeMap::new() }));
        Ok(())
    }

    fn remove_topic(&mut self, id: TopicId) -> Result<(), ApplyError> {
        let name = self.draft(id)?.name.clone();
        self.draft_names.remove(&name);
        self.drafts.insert(id, None);
        let resource = ConfigResource::Topic(name);
        if self.image.configs.contains_key(&resource) {
            Arc::make_mut(&mut self.image.configs).remove(&resource);
        }
        Ok(())
    }

    fn put_partition(&mut self, record: &PartitionRecord) -> Result<(), ApplyError> {
        let state = PartitionState::of(record);
        self.draft(record.topic_id)?.partitions.insert(record.partition.get(), state);
        Ok(())
    }

    fn change_partition(&mut self, record: &PartitionChange) -> Result<(), ApplyError> {
        let index = record.partition;
        let partition = self.draft(record.topic_id)?.partitions.get_mut(&index.get());
        partition.ok_or(ApplyError::NoPartition(record.topic_id, index))?.merge(record);
        Ok(())
    }

    fn clear_elr(&mut self, topic: &str) {
        let all = topic.is_empty();
        let named = |t: &&Arc<Topic>| all || t.name.as_str() == topic;
        let ids: Vec<TopicId> = self.image.topics.values().filter(named).map(|t| t.id).collect();
        for id in ids {
            // A topic that this batch has removed has nothing to clear.
            let _ = self.draft(id);
        }
        let drafts = self.drafts.values_mut().flatten();
        for draft in drafts.filter(|draft| all || draft.name.as_str() == topic) {
            for partition in draft.partitions.values_mut() {
                partition.eligible_leader_replicas.clear();
                partition.last_known_elr.clear();
            }
        }
    }

    fn set_config(&mut self, record: &ConfigRecord) {
        let resource = ConfigResource::of(record.resource_type, &record.resource_name);
        let configs = Arc::make_mut(&mut self.image.configs);
        match &record.value {
            Some(value) => {
                let overrides = Arc::make_mut(configs.entry(resource).or_default());
                overrides.insert(record.name.clone(), value.clone());
            }
            None => {
                if let Some(overrides) = configs.get_mut(&resource) {
                    Arc::make_mut(overrides).remove(&record.name);
                    if overrides.is_empty() {
                        configs.remove(&resource);
                    }
                }
            }
        }
    }

    fn set_feature(&mut self, record: &FeatureLevel) {
        let features = Arc::make_mut(&mut self.image.features);
        match record.level {
            0 => features.remove(&record.name),
            level => features.insert(record.name.clone(), level),
        };
    }

    fn register(&mut self, record: &RegisterBroker) {
        let brokers = Arc::make_mut(&mut self.image.brokers);
        brokers.insert(record.broker_id, Arc::new(record.clone()));
    }

    fn change_registration(&mut self, record: &BrokerRegistrationChange) -> Result<(), ApplyError> {
        self.change_broker(record.broker_id, |broker| {
            broker.fenced = record.fenced.unwrap_or(broker.fenced);
            broker.in_controlled_shutdown |= record.in_controlled_shutdown;
            if !record.log_dirs.is_empty() {
                broker.log_dirs.clone_from(&record.log_dirs);
            }
            if record.cordoned_log_dirs.is_some() {
                broker.cordoned_log_dirs.clone_from(&record.cordoned_log_dirs);
            }
        })
    }

    fn change_broker(
        &mut self,
        id: BrokerId,
        change: impl FnOnce(&mut RegisterBroker),
    ) -> Result<(), ApplyError> {
        let brokers = Arc::make_mut(&mut self.image.brokers);
        let broker = brokers.get_mut(&id).ok_or(ApplyError::NoBroker(id))?;
        change(Arc::make_mut(broker));
        Ok(())
    }

    fn keep(&mut self, record: &OpaqueChange) {
        let Some(key) = &record.key else { return };
        let kept = Arc::make_mut(&mut self.image.opaque);
        if record.removes {
            kept.remove(key);
        } else {
            kept.insert(key.clone(), Arc::clone(&record.value));
        }
    }
}

impl Draft {
    fn of(topic: &Topic) -> Self {
        let partitions = (0..).zip(topic.partitions.iter().cloned()).collect();
        Self { name: topic.name.clone(), partitions }
    }

    fn finish(self, id: TopicId) -> Result<Topic, ApplyError> {
        for (expected, found) in (0..).zip(self.partitions.keys()) {
            if expected != *found {
                return Err(ApplyError::NoPartition(id, PartitionIndex::new(*found)));
            }
        }
        Ok(Topic { id, name: self.name, partitions: self.partitions.into_values().collect() })
    }
}

impl PartitionState {
    fn of(record: &PartitionRecord) -> Self {
        let mut directories = record.directories.clone();
        // Records before version 1 name no directories; all zero is Kafka's `DirectoryId.MIGRATING`.
        directories.resize(record.replicas.len(), DirectoryId::ZERO);
        Self {
            replicas: record.replicas.clone(),
            isr: record.isr.clone(),
            removing_replicas: record.removing_replicas.clone(),
            adding_replicas: record.adding_replicas.clone(),
            leader: record.leader,
            leader_recovery_state: record.leader_recovery_state,
            leader_epoch: record.leader_epoch,
            partition_epoch: record.partition_epoch,
            directories,
            eligible_leader_replicas: record.eligible_leader_replicas.clone().unwrap_or_default(),
            last_known_elr: record.last_known_elr.clone().unwrap_or_default(),
        }
    }

    /// Kafka's `PartitionRegistration.merge`: any leader begins an epoch, any change raises the partition epoch.
    fn merge(&mut self, change: &PartitionChange) {
        let replace = |field: &mut Vec<BrokerId>, new: &Option<Vec<BrokerId>>| {
            if let Some(new) = new {
                field.clone_from(new);
            }
        };
        replace(&mut self.replicas, &change.replicas);
        replace(&mut self.isr, &change.isr);
        replace(&mut self.removing_replicas, &change.removing_replicas);
        replace(&mut self.adding_replicas, &change.adding_replicas);
        replace(&mut self.eligible_leader_replicas, &change.eligible_leader_replicas);
        replace(&mut self.last_known_elr, &change.last_known_elr);
        if let Some(directories) = &change.directories {
            self.directories.clone_from(directories);
        }
        self.directories.resize(self.replicas.len(), DirectoryId::ZERO);
        if let Some(leader) = change.leader {
            self.leader = leader;
            self.leader_epoch = LeaderEpoch::new(self.leader_epoch.get().saturating_add(1));
        }
        if let Some(state) = change.leader_recovery_state {
            self.leader_recovery_state = state;
        }
        self.partition_epoch = self.partition_epoch.saturating_add(1);
    }
}

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const CLIENT_METRICS: i8 = 16;
const GROUP: i8 = 32;

impl ConfigResource {
    /// From a record's type and name.
    pub fn of(resource_type: i8, name: &str) -> Self {
        let other = || Self::Other { resource_type, name: name.to_owned() };
        match resource_type {
            TOPIC => TopicName::new(name).map_or_else(|_| other(), Self::Topic),
            BROKER if name.is_empty() => Self::ClusterDefault,
            // Only the spelling that is written again the same way.
            BROKER => match name.parse::<i32>() {
                Ok(id) if id.to_string() == name => Self::Broker(BrokerId::new(id)),
                _ => other(),
            },
            CLIENT_METRICS => Self::ClientMetrics(name.to_owned()),
            GROUP => Self::Group(name.to_owned()),
            _ => other(),
        }
    }

    /// A record's type and name.
    pub fn to_type_and_name(&self) -> (i8, String) {
        match self {
            Self::Topic(name) => (TOPIC, name.to_string()),
            Self::Broker(id) => (BROKER, id.to_string()),
            Self::ClusterDefault => (BROKER, String::new()),
            Self::ClientMetrics(name) => (CLIENT_METRICS, name.clone()),
            Self::Group(name) => (GROUP, name.clone()),
            Self::Other { resource_type, name } => (*resource_type, name.clone()),
        }
    }
}

fn removes_credential(record: &MetadataRecord) -> bool {
    let MetadataRecord::Opaque(change) = record else { return false };
    change.removes && matches!(change.key, Some(OpaqueKey::Scram(..)))
}

/// Replays a log: records between the begin and the end of a metadata transaction take effect together, or not at all.
#[derive(Debug)]
pub struct Replay {
    builder: ImageBuilder,
    open: Option<Vec<MetadataRecord>>,
    removed_credential: bool,
}

impl Replay {
    /// Starts from `image`.
    pub fn new(image: Image) -> Self {
        Self { builder: ImageBuilder::new(image), open: None, removed_credential: false }
    }

    /// The next record of the log.
    pub fn record(&mut self, record: MetadataRecord) -> Result<(), ApplyError> {
        self.removed_credential |= removes_credential(&record);
        match record {
            MetadataRecord::BeginTransaction { .. } => self.open = Some(Vec::new()),
            MetadataRecord::AbortTransaction { .. } => self.open = None,
            MetadataRecord::EndTransaction => {
                for record in self.open.take().unwrap_or_default() {
                    self.builder.apply(&record)?;
                }
            }
            record => match &mut self.open {
                Some(pending) => pending.push(record),
                None => self.builder.apply(&record)?,
            },
        }
        Ok(())
    }

    /// The next control record; never part of a transaction.
    pub fn control(&mut self, record: ControlRecord) {
        self.builder.apply_control(record);
    }

    /// A transaction was begun and neither ended nor aborted: whoever writes next must abort it.
    pub fn is_transaction_open(&self) -> bool {
        self.open.is_some()
    }

    /// Some SCRAM credential was removed. A Kafka that replays this may lose others of the same mechanism (`ScramDelta`).
    pub fn removed_credential(&self) -> bool {
        self.removed_credential
    }

    /// The image at the end of the log.
    pub fn finish(self, end_offset: Offset) -> Result<Image, ApplyError> {
        self.builder.finish(end_offset)
    }
}
