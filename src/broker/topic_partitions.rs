//! The partitions of one topic: which are open, where the others lie, and the settings that all of them share.
//!
//! A partition costs one slot until it is first used; opening its log happens on the blocking pool, under the slot's own lock, so
//! that two requests do not open it twice. Lookups of open partitions take no lock but a shared one.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use parking_lot::{Mutex, RwLock};

use super::data_directory::DataDirectory;
use super::fetch::FetchInterests;
use super::partition::Partition;
use crate::config::{TopicSettings, Validation};
use crate::env::ByteBudget;
use crate::log::BatchRules;
use crate::types::{PartitionIndex, TopicId, TopicName};

/// The partitions of one topic.
#[derive(Debug)]
pub struct TopicPartitions {
    /// Its id.
    pub id: TopicId,
    /// Its name.
    pub name: TopicName,
    policy: ArcSwap<TopicPolicy>,
    slots: RwLock<Vec<Arc<Slot>>>,
}

/// What the topic's settings mean for appends.
#[derive(Debug)]
pub struct TopicPolicy {
    /// The settings in force.
    pub settings: Arc<TopicSettings>,
    /// What batches must satisfy.
    pub rules: BatchRules,
}

impl TopicPolicy {
    /// From settings of the topic and of the broker.
    pub fn new(settings: TopicSettings, validation: Validation, memory: &Arc<ByteBudget>) -> Self {
        let memory = Some(Arc::clone(memory));
        let rules = BatchRules { validation, memory, ..BatchRules::of(&settings) };
        Self { rules, settings: Arc::new(settings) }
    }
}

/// Place of one partition.
#[derive(Debug)]
pub struct Slot {
    /// Its number.
    pub index: PartitionIndex,
    open: ArcSwapOption<Partition>,
    state: Mutex<SlotState>,
    /// Outlives the opening: who waits for the first record is woken by it.
    fetch_interests: FetchInterests,
}

/// What the slot's lock guards: held while the log is opened.
#[derive(Debug, Default)]
pub struct SlotState {
    /// The log directory that holds the partition's directory, `None` if it has none yet.
    pub directory: Option<Arc<DataDirectory>>,
    /// The topic was deleted: nothing is opened any more.
    pub removed: bool,
    /// It was said that the log cannot be opened.
    pub told_of_failure: bool,
}

impl TopicPartitions {
    /// A topic without open partitions.
    pub fn new(id: TopicId, name: TopicName, policy: TopicPolicy) -> Arc<Self> {
        let slots = RwLock::default();
        Arc::new(Self { id, name, policy: ArcSwap::from_pointee(policy), slots })
    }

    /// The settings in force. The guard is for short use, not for keeping.
    pub fn policy(&self) -> Guard<Arc<TopicPolicy>> {
        self.policy.load()
    }

    /// Puts other settings in force, in the open logs too.
    pub fn set_policy(&self, policy: TopicPolicy) {
        let settings = Arc::clone(&policy.settings);
        self.policy.store(Arc::new(policy));
        for partition in self.open_partitions() {
            partition.lock().log.set_settings(Arc::clone(&settings));
            partition.consider_cleaning();
        }
    }

    /// The slot of a partition, if the topic has that many.
    pub fn slot(&self, index: PartitionIndex) -> Option<Arc<Slot>> {
        let index = usize::try_from(index.get()).ok()?;
        self.slots.read().get(index).cloned()
    }

    /// All slots.
    pub fn slots(&self) -> Vec<Arc<Slot>> {
        self.slots.read().clone()
    }

    /// The partition if it is open.
    pub fn open_partition(&self, index: PartitionIndex) -> Option<Arc<Partition>> {
        let index = usize::try_from(index.get()).ok()?;
        self.slots.read().get(index)?.partition()
    }

    /// All open partitions.
    pub fn open_partitions(&self) -> Vec<Arc<Partition>> {
        self.slots.read().iter().filter_map(|slot| slot.partition()).collect()
    }

    /// Adds slots up to `count`; `place` says where a partition's directory lies already.
    pub fn grow(
        &self,
        count: usize,
        mut place: impl FnMut(PartitionIndex) -> Option<Arc<DataDirectory>>,
    ) {
        let mut slots = self.slots.write();
        for index in slots.len()..count {
            let Ok(index) = i32::try_from(index) else { return };
            let index = PartitionIndex::new(index);
            slots.push(Arc::new(Slot::new(index, place(index))));
        }
    }
}

impl Slot {
    fn new(index: PartitionIndex, directory: Option<Arc<DataDirectory>>) -> Self {
        let state = Mutex::new(SlotState { directory, ..SlotState::default() });
        let fetch_interests = FetchInterests::default();
        Self { index, open: ArcSwapOption::empty(), state, fetch_interests }
    }

    /// The partition if it is open.
    pub fn partition(&self) -> Option<Arc<Partition>> {
        self.open.load_full()
    }

    /// Fetches that wait for data of this partition, open or not.
    pub fn fetch_interests(&self) -> &FetchInterests {
        &self.fetch_interests
    }

    /// The slot's lock; held while its log is opened or removed, so on a blocking thread only.
    pub fn lock(&self) -> parking_lot::MutexGuard<'_, SlotState> {
        self.state.lock()
    }

    /// Shows or hides the open partition. Called with the lock held.
    pub fn set_partition(&self, partition: Option<Arc<Partition>>) {
        self.open.store(partition);
    }
}
