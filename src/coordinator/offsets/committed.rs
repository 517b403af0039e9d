//! The committed offsets of a shard: what its records of types 0 and 1 add up to.
//!
//! An offset costs 32 bytes, and a box where it has metadata or an expiry of its own; a topic of a group another 64 or so, names
//! of topics being shared between groups. Measured, names and allocator included: 37 bytes an offset in one large group, 60 to
//! 70 in groups of ten partitions, 245 alone in its group; metadata adds 80. Everything is kept sorted, so that answers come
//! in a fixed order.

use std::collections::HashMap;

use super::pending::PendingOffsets;
use crate::coordinator::GroupId;
use crate::coordinator::machine::Outcome;
use crate::coordinator::records::{GroupRecord, OffsetCommitValue};
use crate::types::{
    LeaderEpoch, Offset, PartitionIndex, ProducerId, Timestamp, TopicId, TopicName,
};

/// Committed offsets of a shard, by group, topic and partition; those of open transactions beside them.
#[derive(Debug, Default)]
pub struct CommittedOffsets {
    groups: HashMap<GroupId, GroupOffsets>,
    topics: TopicUses,
    pending: PendingOffsets,
}

/// A committed offset and where it belongs; fields are named as in Kafka's OffsetCommitValue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommittedOffset<'a> {
    pub topic: &'a TopicName,
    /// Zero if the record did not say.
    pub topic_id: TopicId,
    pub partition: PartitionIndex,
    pub offset: Offset,
    pub leader_epoch: LeaderEpoch,
    pub metadata: &'a str,
    pub commit_timestamp: Timestamp,
    pub expire_timestamp: Option<Timestamp>,
}

/// How many groups have offsets of a topic. A topic that was created again is another one.
#[derive(Debug, Default)]
struct TopicUses {
    counts: HashMap<(TopicName, TopicId), usize>,
    /// About how much memory all groups take.
    bytes: usize,
}

/// A group with offsets; its name is extra.
const GROUP_BYTES: usize = 90;
/// A topic of a group.
const TOPIC_BYTES: usize = 72;
/// A topic of the shard; its name is extra.
const USE_BYTES: usize = 72;
/// An offset, and what it takes beside if it has fields that are rare; metadata is extra.
const OFFSET_BYTES: usize = size_of::<PartitionOffset>() + 5;
const RARE_BYTES: usize = size_of::<RareFields>() + 16;

/// Offsets of a group by name and id of the topic. A partition is under one id at a time.
#[derive(Debug, Default)]
struct GroupOffsets {
    topics: Vec<TopicOffsets>,
}

#[derive(Debug)]
struct TopicOffsets {
    topic: TopicName,
    id: TopicId,
    /// By partition.
    partitions: Vec<PartitionOffset>,
}

#[derive(Debug)]
struct PartitionOffset {
    partition: PartitionIndex,
    leader_epoch: LeaderEpoch,
    offset: Offset,
    commit_timestamp: Timestamp,
    rare: Option<Box<RareFields>>,
}

// There may be millions.
const _: () = assert!(size_of::<PartitionOffset>() == 32);

#[derive(Debug)]
struct RareFields {
    metadata: Box<str>,
    expire_timestamp: Option<Timestamp>,
}

impl CommittedOffsets {
    /// A committed offset, or the end of one.
    pub(in crate::coordinator) fn apply(
        &mut self,
        group: &GroupId,
        topic: &TopicName,
        partition: PartitionIndex,
        value: Option<&OffsetCommitValue>,
    ) {
        match value {
            Some(value) => {
                self.pending.supersede(group, topic, partition);
                self.put(group, topic, partition, value);
            }
            None => {
                self.pending.remove(group, topic, partition);
                self.remove(group, topic, partition);
            }
        }
    }

    /// A record of an open transaction.
    pub(in crate::coordinator) fn apply_pending(
        &mut self,
        producer: ProducerId,
        record: &GroupRecord,
    ) {
        // Nothing else is written in a transaction.
        let GroupRecord::OffsetCommit { group, topic, partition, value } = record else { return };
        match value {
            Some(value) => self.pending.add(producer, group, topic, *partition, value),
            None => self.apply(group, topic, *partition, None),
        }
    }

    /// A transaction has ended: its offsets count from now on, or never did.
    pub(in crate::coordinator) fn apply_ended(&mut self, producer: ProducerId, outcome: Outcome) {
        for (group, topic, partition, value) in self.pending.end(producer, outcome) {
            self.put(&group, &topic, partition, &value);
        }
    }

    /// What was committed last, transactions that are open left out.
    pub fn get(
        &self,
        group: &str,
        topic: &str,
        partition: PartitionIndex,
    ) -> Option<CommittedOffset<'_>> {
        self.groups.get(group)?.get(topic, partition)
    }

    /// Offsets of a group, by topic and partition.
    pub fn of_group(&self, group: &str) -> impl Iterator<Item = CommittedOffset<'_>> {
        let topics = self.groups.get(group).map_or(&[][..], |offsets| &offsets.topics);
        topics.iter().flat_map(|topic| topic.partitions.iter().map(|at| at.with(topic)))
    }

    /// Groups that have offsets, committed or in open transactions; a group may come twice.
    pub fn groups(&self) -> impl Iterator<Item = &GroupId> {
        self.groups.keys().chain(self.pending.groups())
    }

    /// True if the group has offsets, committed or in open transactions.
    pub fn has_group(&self, group: &str) -> bool {
        self.groups.contains_key(group) || self.pending.has_group(group)
    }

    /// About how many bytes all of them take.
    pub(in crate::coordinator) fn footprint_bytes(&self) -> usize {
        self.topics.bytes + self.pending.footprint_bytes()
    }

    /// What open transactions would commit.
    pub(super) fn pending(&self) -> &PendingOffsets {
        &self.pending
    }

    /// Every topic with committed offsets, and its id as the records say.
    pub(super) fn topics(&self) -> impl Iterator<Item = &(TopicName, TopicId)> {
        self.topics.counts.keys()
    }

    /// The groups and partitions with committed offsets of a topic, as its records name it.
    pub(super) fn of_topic(
        &self,
        topic: &TopicName,
        id: TopicId,
    ) -> impl Iterator<Item = (&GroupId, PartitionIndex)> {
        self.groups.iter().flat_map(move |(group, offsets)| {
            let at = offsets.find(topic, id).ok();
            let partitions = at.map_or(&[][..], |at| &offsets.topics[at].partitions);
            partitions.iter().map(move |offset| (group, offset.partition))
        })
    }

    fn put(
        &mut self,
        group: &GroupId,
        topic: &TopicName,
        partition: PartitionIndex,
        value: &OffsetCommitValue,
    ) {
        // Looked up first: almost always the group is known, and its name need not be shared.
        if !self.groups.contains_key(group) {
            self.topics.bytes += GROUP_BYTES + group.as_str().len();
            self.groups.insert(group.clone(), GroupOffsets::default());
        }
        let offsets = self.groups.get_mut(group).expect("inserted above");
        offsets.remove_but(topic, partition, Some(value.topic_id), &mut self.topics);
        offsets.put(
            topic,
            PartitionOffset::new(partition, value),
            value.topic_id,
            &mut self.topics,
        );
    }

    fn remove(&mut self, group: &GroupId, topic: &TopicName, partition: PartitionIndex) {
        let Some(offsets) = self.groups.get_mut(group) else { return };
        offsets.remove_but(topic, partition, None, &mut self.topics);
        if offsets.topics.is_empty() {
            self.topics.bytes -= GROUP_BYTES + group.as_str().len();
            self.groups.remove(group);
        }
    }
}

impl GroupOffsets {
    fn find(&self, topic: &TopicName, id: TopicId) -> Result<usize, usize> {
        self.topics.binary_search_by(|known| (&known.topic, known.id).cmp(&(topic, id)))
    }

    fn get(&self, topic: &str, partition: PartitionIndex) -> Option<CommittedOffset<'_>> {
        let from = self.topics.partition_point(|known| known.topic.as_str() < topic);
        let named = self.topics[from..].iter().take_while(|known| known.topic.as_str() == topic);
        named.into_iter().find_map(|known| {
            let at = known.find(partition).ok()?;
            Some(known.partitions[at].with(known))
        })
    }

    fn put(
        &mut self,
        topic: &TopicName,
        offset: PartitionOffset,
        id: TopicId,
        uses: &mut TopicUses,
    ) {
        let at = self.find(topic, id).unwrap_or_else(|at| {
            let topic = uses.start(topic, id);
            // One at a time: most groups have one topic, most topics one partition or a few.
            self.topics.reserve_exact(usize::from(self.topics.is_empty()));
            self.topics.insert(at, TopicOffsets { topic, id, partitions: Vec::new() });
            at
        });
        uses.bytes += offset.bytes();
        let old = self.topics[at].put(offset);
        uses.bytes -= old.map_or(0, |old| old.bytes());
    }

    /// Forgets a partition, but not under the id `kept`.
    fn remove_but(
        &mut self,
        topic: &TopicName,
        partition: PartitionIndex,
        kept: Option<TopicId>,
        uses: &mut TopicUses,
    ) {
        let mut at = self.topics.partition_point(|known| known.topic < *topic);
        while let Some(known) = self.topics.get_mut(at).filter(|known| known.topic == *topic) {
            let removed = if kept == Some(known.id) { None } else { known.remove(partition) };
            uses.bytes -= removed.as_ref().map_or(0, PartitionOffset::bytes);
            if removed.is_some() && known.partitions.is_empty() {
                let TopicOffsets { topic, id, .. } = self.topics.remove(at);
                uses.end(topic, id);
            } else {
                at += 1;
            }
        }
    }
}

impl TopicOffsets {
    fn find(&self, partition: PartitionIndex) -> Result<usize, usize> {
        self.partitions.binary_search_by_key(&partition, |known| known.partition)
    }

    /// What was there before.
    fn put(&mut self, offset: PartitionOffset) -> Option<PartitionOffset> {
        match self.find(offset.partition) {
            Ok(at) => Some(std::mem::replace(&mut self.partitions[at], offset)),
            Err(at) => {
                self.partitions.reserve_exact(usize::from(self.partitions.is_empty()));
                self.partitions.insert(at, offset);
                None
            }
        }
    }

    /// What was there.
    fn remove(&mut self, partition: PartitionIndex) -> Option<PartitionOffset> {
        self.find(partition).ok().map(|at| self.partitions.remove(at))
    }
}

impl PartitionOffset {
    fn new(partition: PartitionIndex, value: &OffsetCommitValue) -> Self {
        let has_rare = !value.metadata.is_empty() || value.expire_timestamp.is_some();
        let rare = || {
            Box::new(RareFields {
                metadata: value.metadata.as_str().into(),
                expire_timestamp: value.expire_timestamp,
            })
        };
        Self {
            partition,
            leader_epoch: value.leader_epoch,
            offset: value.offset,
            commit_timestamp: value.commit_timestamp,
            rare: has_rare.then(rare),
        }
    }

    /// About how much memory it takes.
    fn bytes(&self) -> usize {
        OFFSET_BYTES + self.rare.as_ref().map_or(0, |rare| RARE_BYTES + rare.metadata.len())
    }

    fn with<'a>(&'a self, topic: &'a TopicOffsets) -> CommittedOffset<'a> {
        let rare = self.rare.as_deref();
        CommittedOffset {
            topic: &topic.topic,
            topic_id: topic.id,
            partition: self.partition,
            offset: self.offset,
            leader_epoch: self.leader_epoch,
            metadata: rare.map_or("", |rare| &rare.metadata),
            commit_timestamp: self.commit_timestamp,
            expire_timestamp: rare.and_then(|rare| rare.expire_timestamp),
        }
    }
}

impl TopicUses {
    /// Counts a use of a topic. The name that is given back is the one that all its users share.
    fn start(&mut self, topic: &TopicName, id: TopicId) -> TopicName {
        self.bytes += TOPIC_BYTES;
        let entry = self.counts.entry((topic.clone(), id));
        let shared = entry.key().0.clone();
        let count = entry.or_insert(0);
        if *count == 0 {
            self.bytes += USE_BYTES + shared.as_str().len();
        }
        *count += 1;
        shared
    }

    fn end(&mut self, topic: TopicName, id: TopicId) {
        self.bytes -= TOPIC_BYTES;
        let key = (topic, id);
        let count = self.counts.get_mut(&key).expect("every topic of a group is counted");
        *count -= 1;
        if *count == 0 {
            self.bytes -= USE_BYTES + key.0.as_str().len();
            self.counts.remove(&key);
        }
    }
}
