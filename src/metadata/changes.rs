//! From a wish to the records that fulfil it.
//!
//! A [`Planner`] holds the state that the changes of one group lead to, so that each is checked against those before it.
//! Pure but for the random ids of new topics; nothing takes effect until the store has written the records.

use std::sync::Arc;

use super::apply::ImageBuilder;
use super::directory_choice::{DirectoryChoice, LogDirectories};
use super::records::{
    ConfigRecord, MetadataRecord, PartitionChange, PartitionRecord, ProducerIds, TopicRecord,
    directories_supported,
};
use super::store::{
    ConfigChange, DirectoryAssignment, MetadataError, NewTopic, ProducerIdBlock, TopicRef,
};
use super::{ConfigResource, Image};
use crate::env::Random;
use crate::types::{BrokerId, DirectoryId, LeaderEpoch, PartitionIndex, ProducerId, TopicId, Uuid};

/// Ids that a node takes at a time, as in Kafka.
pub const PRODUCER_ID_BLOCK: i64 = 1000;

/// Kafka's `DirectoryId.UNASSIGNED`: the broker of that replica will choose.
pub const UNASSIGNED: DirectoryId =
    Uuid::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

/// What new records say about this node.
#[derive(Clone, Copy, Debug)]
pub struct LocalBroker {
    /// `node.id`.
    pub id: BrokerId,
    /// Epoch of its registration.
    pub epoch: i64,
}

/// Plans the changes of one group.
#[derive(Debug)]
pub struct Planner {
    builder: ImageBuilder,
    random: Arc<dyn Random>,
    local: LocalBroker,
    directories: DirectoryChoice,
    records: Vec<MetadataRecord>,
}

impl Planner {
    /// Starts from the newest image; new partitions go to `directories`.
    pub fn new(
        image: Image,
        random: Arc<dyn Random>,
        local: LocalBroker,
        directories: LogDirectories,
    ) -> Self {
        let directories = DirectoryChoice::new(local.id, &image, directories);
        Self { builder: ImageBuilder::new(image), random, local, directories, records: Vec::new() }
    }

    /// The records of the change just planned.
    pub fn take_records(&mut self) -> Vec<MetadataRecord> {
        std::mem::take(&mut self.records)
    }

    /// The state that all changes lead to.
    pub fn into_builder(self) -> ImageBuilder {
        self.builder
    }

    /// Creates a topic: topic, then configs, then partitions, as Kafka writes them.
    pub fn create_topic(&mut self, topic: NewTopic) -> Result<TopicId, MetadataError> {
        if self.builder.topic_id(&topic.name).is_some() {
            return Err(MetadataError::TopicExists(topic.name));
        }
        let topic_id = self.random.uuid();
        let name = topic.name.to_string();
        self.emit(MetadataRecord::Topic(TopicRecord { name: name.clone(), topic_id }));
        let (resource_type, resource_name) = ConfigResource::Topic(topic.name).to_type_and_name();
        for (key, value) in topic.configs {
            self.emit(MetadataRecord::Config(ConfigRecord {
                resource_type,
                resource_name: resource_name.clone(),
                name: key,
                value: Some(value),
            }));
        }
        self.add_partitions(topic_id, 0, topic.partitions);
        Ok(topic_id)
    }

    /// Deletes a topic.
    pub fn delete_topic(&mut self, topic: &TopicRef) -> Result<TopicId, MetadataError> {
        let found = match topic {
            TopicRef::Name(name) => self.builder.topic_id(name),
            TopicRef::Id(id) => self.builder.partition_count(*id).map(|_| *id),
        };
        let id = found.ok_or(MetadataError::UnknownTopic)?;
        self.emit(MetadataRecord::RemoveTopic(id));
        Ok(id)
    }

    /// Adds partitions behind the `present` ones.
    pub fn create_partitions(
        &mut self,
        topic: TopicId,
        present: PartitionIndex,
        added: Vec<Vec<BrokerId>>,
    ) -> Result<(), MetadataError> {
        let count = self.builder.partition_count(topic).ok_or(MetadataError::UnknownTopic)?;
        if usize::try_from(present.get()) != Ok(count) {
            return Err(MetadataError::PartitionCountChanged(count));
        }
        self.add_partitions(topic, present.get(), added);
        Ok(())
    }

    /// Sets and deletes configs; none of them if one concerns a topic that is not there.
    pub fn change_configs(&mut self, changes: Vec<ConfigChange>) -> Result<(), MetadataError> {
        let missing = |change: &ConfigChange| match &change.resource {
            ConfigResource::Topic(name) => self.builder.topic_id(name).is_none(),
            _ => false,
        };
        if changes.iter().any(missing) {
            return Err(MetadataError::UnknownTopic);
        }
        for change in changes {
            let (resource_type, resource_name) = change.resource.to_type_and_name();
            self.emit(MetadataRecord::Config(ConfigRecord {
                resource_type,
                resource_name,
                name: change.key,
                value: change.value,
            }));
        }
        Ok(())
    }

    /// Says where the logs of this node lie; a partition that is not there, or whose log lies there already, is left out.
    pub fn assign_directories(&mut self, assignments: &[DirectoryAssignment]) {
        if !directories_supported(self.builder.image_but_topics().metadata_version()) {
            return;
        }
        for assignment in assignments {
            let DirectoryAssignment { topic, partition, directory } = *assignment;
            let Some(state) = self.builder.partition(topic, partition) else { continue };
            let replica = state.replicas.iter().position(|id| *id == self.local.id);
            let Some(replica) = replica else { continue };
            let mut directories = state.directories.clone();
            directories.resize(state.replicas.len(), UNASSIGNED);
            if std::mem::replace(&mut directories[replica], directory) == directory {
                continue;
            }
            self.emit(MetadataRecord::PartitionChange(PartitionChange {
                partition,
                topic_id: topic,
                directories: Some(directories),
                ..PartitionChange::default()
            }));
        }
    }

    /// Takes the next block of producer ids.
    pub fn allocate_producer_ids(&mut self) -> Result<ProducerIdBlock, MetadataError> {
        let first = self.builder.image_but_topics().next_producer_id;
        let next = first.get().checked_add(PRODUCER_ID_BLOCK);
        let next = next.ok_or(MetadataError::NoProducerIds)?;
        self.emit(MetadataRecord::ProducerIds(ProducerIds {
            broker_id: self.local.id,
            broker_epoch: self.local.epoch,
            next_producer_id: ProducerId::new(next),
        }));
        Ok(ProducerIdBlock { first, count: PRODUCER_ID_BLOCK })
    }

    fn add_partitions(&mut self, topic_id: TopicId, first: i32, added: Vec<Vec<BrokerId>>) {
        let name = self.builder.topic_name(topic_id);
        for (index, replicas) in (first..).map(PartitionIndex::new).zip(added) {
            let mut directory_of = |replica: &BrokerId| match *replica == self.local.id {
                true => self.directories.choose(name.as_ref(), index),
                false => UNASSIGNED,
            };
            let directories: Vec<_> = replicas.iter().map(&mut directory_of).collect();
            self.emit(MetadataRecord::Partition(PartitionRecord {
                partition: index,
                topic_id,
                isr: replicas.clone(),
                leader: replicas.first().copied().unwrap_or(BrokerId::new(-1)),
                replicas,
                removing_replicas: Vec::new(),
                adding_replicas: Vec::new(),
                leader_recovery_state: 0,
                leader_epoch: LeaderEpoch::new(0),
                partition_epoch: 0,
                directories,
                eligible_leader_replicas: None,
                last_known_elr: None,
            }));
        }
    }

    fn emit(&mut self, record: MetadataRecord) {
        self.builder.apply(&record).expect("a change is checked before its records are made");
        self.records.push(record);
    }
}
