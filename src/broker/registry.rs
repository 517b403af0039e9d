//! All partitions of this node: found by topic, opened on first use, brought in line with the metadata image.
//!
//! The image says what exists; the registry holds what has been touched in this life. Creating a topic therefore needs nothing
//! here, deleting one closes its logs and sets their directories aside.

mod closed_cleaning;
mod closed_retention;
mod open;
mod placement;
mod remove;
mod unwritten;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

pub use self::open::{OpenPartitionError, open_together};
pub use self::placement::{FailedDirectory, Placement};
pub use self::unwritten::Readable;
use super::agenda::Agenda;
use super::data_directory::DataDirectory;
use super::in_force::SettingsInForce;
use super::partition::Partition;
use super::topic_partitions::{Slot, TopicPartitions, TopicPolicy};
use crate::config::{BrokerSettings, CleanerSettings, TopicSettings};
use crate::env::ByteBudget;
use crate::log::TailPool;
use crate::metadata::{ConfigResource, Image, MetadataStore, Topic};
use crate::types::{LeaderEpoch, PartitionIndex, Timestamp, TopicId, TopicPartition};

/// All partitions of this node.
#[derive(Debug)]
pub struct PartitionRegistry {
    topics: RwLock<HashMap<TopicId, Arc<TopicPartitions>>>,
    metadata: Arc<MetadataStore>,
    placement: Placement,
    agenda: Arc<Agenda>,
    tail_pool: Arc<TailPool>,
    settings: Arc<BrokerSettings>,
    in_force: Arc<SettingsInForce>,
    budget: Arc<ByteBudget>,
    /// When to look next at logs that are not open, for retention. Emptied when settings may have changed.
    retention_looks: Mutex<HashMap<TopicPartition, Timestamp>>,
    /// Logs that are not open and that the cleaner needs not look at. Emptied when settings may have changed.
    cleaning_looks: Mutex<BTreeSet<TopicPartition>>,
}

/// What a registry needs.
#[derive(Debug)]
pub struct NewRegistry {
    /// Says what exists.
    pub metadata: Arc<MetadataStore>,
    /// The log directories and what was found in them.
    pub placement: Placement,
    /// Where later removals are planned.
    pub agenda: Arc<Agenda>,
    /// Memory for the newest bytes of all logs.
    pub tail_pool: Arc<TailPool>,
    /// What the broker was started with.
    pub settings: Arc<BrokerSettings>,
    /// The same with what was changed since.
    pub in_force: Arc<SettingsInForce>,
    /// The one budget of bytes.
    pub budget: Arc<ByteBudget>,
}

/// A partition that the image knows.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// Ready for use.
    Open(Arc<Partition>),
    /// Its log must be opened first, with [`ClosedPartition::open`] on a blocking thread.
    Closed(ClosedPartition),
    /// The topic has no such partition.
    Unknown,
}

/// A partition whose log is not open.
#[derive(Clone, Debug)]
pub struct ClosedPartition {
    registry: Arc<PartitionRegistry>,
    topic: Arc<TopicPartitions>,
    slot: Arc<Slot>,
    leader_epoch: LeaderEpoch,
}

impl PartitionRegistry {
    /// A registry over log directories whose content `placement` knows.
    pub fn new(args: NewRegistry) -> Arc<Self> {
        Arc::new(Self {
            topics: RwLock::default(),
            metadata: args.metadata,
            placement: args.placement,
            agenda: args.agenda,
            tail_pool: args.tail_pool,
            settings: args.settings,
            in_force: args.in_force,
            budget: args.budget,
            retention_looks: Mutex::default(),
            cleaning_looks: Mutex::default(),
        })
    }

    /// The log directories.
    pub fn directories(&self) -> &[Arc<DataDirectory>] {
        self.placement.directories()
    }

    /// Where partitions lie.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Bytes of the budget that the tails of all logs hold.
    pub fn tail_bytes(&self) -> usize {
        self.tail_pool.held_bytes()
    }

    /// Finds a partition of a topic that the caller found in an image.
    pub fn find(self: &Arc<Self>, topic: &Topic, index: PartitionIndex) -> Lookup {
        let Some(state) = topic.partition(index) else { return Lookup::Unknown };
        let Some(partitions) = self.partitions_of(topic) else { return Lookup::Unknown };
        if let Some(partition) = partitions.open_partition(index) {
            return Lookup::Open(partition);
        }
        if partitions.slot(index).is_none() {
            self.grow(&partitions, topic);
        }
        match partitions.slot(index) {
            Some(slot) => Lookup::Closed(ClosedPartition {
                registry: Arc::clone(self),
                topic: partitions,
                slot,
                leader_epoch: state.leader_epoch,
            }),
            None => Lookup::Unknown,
        }
    }

    /// True if a partition has a directory already. A partition of a new topic has none before its log is first used.
    pub fn holds(&self, topic: &Topic, index: PartitionIndex) -> bool {
        let open = self.topics.read().get(&topic.id).and_then(|topic| topic.open_partition(index));
        open.is_some() || self.placement.found(&topic.name, index).is_some()
    }

    /// Partitions that had a directory in `directory` at the start and still have it.
    pub fn found_in(&self, directory: &Arc<DataDirectory>) -> BTreeSet<TopicPartition> {
        let found = self.placement.all_found().into_iter();
        found.filter(|(_, place)| Arc::ptr_eq(place, directory)).map(|(name, _)| name).collect()
    }

    /// The partitions of a directory that were found at the start and are not open yet.
    pub fn unopened(self: &Arc<Self>, directory: &Arc<DataDirectory>) -> Vec<ClosedPartition> {
        let image = self.metadata.image();
        let closed = |name: &TopicPartition| match self
            .find(image.topic(name.topic.as_str())?, name.partition)
        {
            Lookup::Closed(closed) => Some(closed),
            Lookup::Open(_) | Lookup::Unknown => None,
        };
        self.found_in(directory).iter().filter_map(closed).collect()
    }

    /// Every topic touched in this life.
    pub fn topics(&self) -> Vec<Arc<TopicPartitions>> {
        self.topics.read().values().cloned().collect()
    }

    /// Every open partition.
    pub fn open_partitions(&self) -> Vec<Arc<Partition>> {
        self.topics().iter().flat_map(|topic| topic.open_partitions()).collect()
    }

    /// Brings settings and epochs in line with the newest image and drops topics that it no longer knows: their logs are
    /// closed and their directories set aside to be removed. Blocks.
    pub fn apply_image(&self) {
        let image = self.metadata.image();
        self.retention_looks.lock().clear();
        self.cleaning_looks.lock().clear();
        for partitions in self.topics() {
            match image.topic_by_id(partitions.id) {
                Some(topic) => self.refresh(&image, topic, &partitions),
                None => self.remove(&partitions),
            }
        }
        for (name, directory) in self.placement.all_found() {
            if image.topic(name.topic.as_str()).is_none() {
                self.placement.forget(&name);
                self.set_aside(
                    &name,
                    &directory,
                    self.settings.topic_defaults.file_delete_delay_ms,
                );
            }
        }
    }

    /// Settings of the cleaner, as they are now.
    pub fn cleaner_settings(&self) -> CleanerSettings {
        self.in_force.get().cleaner
    }

    /// Settings of a topic: its overrides over what is set for the broker.
    fn settings_of(&self, image: &Image, topic: &Topic) -> TopicSettings {
        let broker = image.overrides(&ConfigResource::Broker(self.settings.node_id));
        let cluster = image.overrides(&ConfigResource::ClusterDefault);
        let overrides = image.overrides(&ConfigResource::Topic(topic.name.clone()));
        TopicSettings::resolve(self.settings.layers(&broker, &cluster), &overrides)
    }

    fn partitions_of(&self, topic: &Topic) -> Option<Arc<TopicPartitions>> {
        if let Some(partitions) = self.topics.read().get(&topic.id) {
            return Some(Arc::clone(partitions));
        }
        let mut topics = self.topics.write();
        // The newest image, read under the lock that `apply` takes after a change: a topic that is deleted just now either is
        // not in it any more, or gets its entry before `apply` looks for entries to drop.
        let image = self.metadata.image();
        let topic = image.topic_by_id(topic.id)?;
        let made = topics.entry(topic.id).or_insert_with(|| {
            let policy = TopicPolicy::new(
                self.settings_of(&image, topic),
                self.settings.validation,
                &self.budget,
            );
            let made = TopicPartitions::new(topic.id, topic.name.clone(), policy);
            self.grow(&made, topic);
            made
        });
        Some(Arc::clone(made))
    }

    fn grow(&self, partitions: &TopicPartitions, topic: &Topic) {
        partitions.grow(topic.partitions.len(), |index| self.placement.found(&topic.name, index));
    }

    fn refresh(&self, image: &Image, topic: &Topic, partitions: &TopicPartitions) {
        for partition in partitions.open_partitions() {
            if let Some(state) = topic.partition(partition.index()) {
                partition.set_leader_epoch(state.leader_epoch);
            }
        }
        let settings = self.settings_of(image, topic);
        if settings != *partitions.policy().settings {
            partitions.set_policy(TopicPolicy::new(
                settings,
                self.settings.validation,
                &self.budget,
            ));
        }
    }
}

impl Drop for PartitionRegistry {
    /// A topic holds its open partitions and they hold the topic: someone has to let go.
    fn drop(&mut self) {
        for topic in self.topics() {
            topic.slots().iter().for_each(|slot| slot.set_partition(None));
        }
    }
}
