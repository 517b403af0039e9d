//! Offsets of transactions that are open.
//!
//! A partition may have several, of different producers, in the order of the log. The newest commit counts, whatever its kind
//! and whenever its transaction ends: one that something newer has replaced stays until its transaction ends, because it still
//! makes the partition unstable, but is dropped then.

use std::collections::HashMap;

use crate::coordinator::GroupId;
use crate::coordinator::machine::Outcome;
use crate::coordinator::records::OffsetCommitValue;
use crate::types::{PartitionIndex, ProducerId, TopicId, TopicName};

/// What open transactions would commit.
#[derive(Debug, Default)]
pub(super) struct PendingOffsets {
    groups: HashMap<GroupId, Topics>,
    /// Where each open transaction has offsets. What a tombstone has taken away since is still listed.
    open: HashMap<ProducerId, Vec<(GroupId, TopicName, PartitionIndex)>>,
    /// About how much memory they take.
    bytes: usize,
}

/// An offset with its places in the maps; metadata is extra.
const OFFSET_BYTES: usize = 400;

type Topics = HashMap<TopicName, HashMap<PartitionIndex, Vec<PendingOffset>>>;

#[derive(Debug)]
struct PendingOffset {
    producer: ProducerId,
    value: OffsetCommitValue,
    superseded: bool,
}

/// An offset that counts from now on.
type Settled = (GroupId, TopicName, PartitionIndex, OffsetCommitValue);

impl PendingOffsets {
    /// A transaction commits an offset.
    pub(super) fn add(
        &mut self,
        producer: ProducerId,
        group: &GroupId,
        topic: &TopicName,
        partition: PartitionIndex,
        value: &OffsetCommitValue,
    ) {
        let topics = self.groups.entry(group.clone()).or_default();
        let partitions = topics.entry(topic.clone()).or_default();
        let offsets = partitions.entry(partition).or_default();
        let known = offsets.iter().position(|offset| offset.producer == producer);
        if let Some(at) = known {
            self.bytes -= offsets.remove(at).bytes();
        } else {
            let place = (group.clone(), topic.clone(), partition);
            self.open.entry(producer).or_default().push(place);
        }
        let offset = PendingOffset { producer, value: value.clone(), superseded: false };
        self.bytes += offset.bytes();
        offsets.push(offset);
    }

    /// Something newer was committed for a partition.
    pub(super) fn supersede(
        &mut self,
        group: &GroupId,
        topic: &TopicName,
        partition: PartitionIndex,
    ) {
        let offsets = self.groups.get_mut(group).and_then(|topics| topics.get_mut(topic));
        let offsets = offsets.and_then(|partitions| partitions.get_mut(&partition));
        offsets.into_iter().flatten().for_each(|offset| offset.superseded = true);
    }

    /// Forgets the offsets of a partition.
    pub(super) fn remove(&mut self, group: &GroupId, topic: &TopicName, partition: PartitionIndex) {
        self.retain(group, topic, partition, |_| false);
    }

    /// Ends a transaction. What is given back counts from now on.
    pub(super) fn end(&mut self, producer: ProducerId, outcome: Outcome) -> Vec<Settled> {
        let places = self.open.remove(&producer).unwrap_or_default();
        let mut settled = Vec::new();
        for (group, topic, partition) in places {
            let own = self.take(producer, &group, &topic, partition, outcome);
            if let Some(own) = own.filter(|_| outcome == Outcome::Commit) {
                settled.push((group, topic, partition, own));
            }
        }
        settled
    }

    /// About how many bytes they take.
    pub(super) fn footprint_bytes(&self) -> usize {
        self.bytes
    }

    /// True if a transaction that is open has an offset of the partition.
    pub(super) fn is_unstable(&self, group: &str, topic: &str, partition: PartitionIndex) -> bool {
        self.groups
            .get(group)
            .and_then(|topics| topics.get(topic))
            .is_some_and(|partitions| partitions.contains_key(&partition))
    }

    /// Groups with offsets in open transactions.
    pub(super) fn groups(&self) -> impl Iterator<Item = &GroupId> {
        self.groups.keys()
    }

    /// True if a transaction that is open has offsets of the group.
    pub(super) fn has_group(&self, group: &str) -> bool {
        self.groups.contains_key(group)
    }

    /// Partitions of a group with offsets in open transactions.
    pub(super) fn of_group(
        &self,
        group: &str,
    ) -> impl Iterator<Item = (&TopicName, PartitionIndex)> {
        let topics = self.groups.get(group).into_iter().flatten();
        topics.flat_map(|(topic, partitions)| partitions.keys().map(move |at| (topic, *at)))
    }

    /// Every offset in an open transaction, with the id of its topic as its record says.
    pub(super) fn all(
        &self,
    ) -> impl Iterator<Item = (&GroupId, &TopicName, TopicId, PartitionIndex)> {
        self.groups.iter().flat_map(|(group, topics)| {
            topics.iter().flat_map(move |(topic, partitions)| {
                partitions.iter().flat_map(move |(partition, offsets)| {
                    offsets.iter().map(move |at| (group, topic, at.value.topic_id, *partition))
                })
            })
        })
    }

    /// Takes out a producer's offset of a partition; nothing if it was superseded. What is committed supersedes what is
    /// older.
    fn take(
        &mut self,
        producer: ProducerId,
        group: &GroupId,
        topic: &TopicName,
        partition: PartitionIndex,
        outcome: Outcome,
    ) -> Option<OffsetCommitValue> {
        let offsets = self.groups.get_mut(group)?.get_mut(topic)?.get_mut(&partition)?;
        let at = offsets.iter().position(|offset| offset.producer == producer)?;
        let own = offsets.remove(at);
        self.bytes -= own.bytes();
        if outcome == Outcome::Commit {
            offsets[..at].iter_mut().for_each(|older| older.superseded = true);
        }
        self.retain(group, topic, partition, |_| true);
        (!own.superseded).then_some(own.value)
    }

    /// Keeps some offsets of a partition, and nothing empty.
    fn retain(
        &mut self,
        group: &GroupId,
        topic: &TopicName,
        partition: PartitionIndex,
        mut keep: impl FnMut(&PendingOffset) -> bool,
    ) {
        let Some(topics) = self.groups.get_mut(group) else { return };
        let Some(partitions) = topics.get_mut(topic) else { return };
        let Some(offsets) = partitions.get_mut(&partition) else { return };
        offsets.retain(|offset| {
            let stays = keep(offset);
            self.bytes -= if stays { 0 } else { offset.bytes() };
            stays
        });
        if offsets.is_empty() {
            partitions.remove(&partition);
        }
        if partitions.is_empty() {
            topics.remove(topic);
        }
        if topics.is_empty() {
            self.groups.remove(group);
        }
    }
}

impl PendingOffset {
    fn bytes(&self) -> usize {
        OFFSET_BYTES + self.value.metadata.len()
    }
}
