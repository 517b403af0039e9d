//! Topics and partitions: `TopicRecord`, `PartitionRecord`, `PartitionChangeRecord`.

use super::wire::{Reader, TagUse, Tags, WireError, Writer};
use crate::types::{BrokerId, DirectoryId, LeaderEpoch, PartitionIndex, TopicId};

/// From this version on a partition names the directories of its replicas (KIP-858).
const DIRECTORIES_SINCE: u32 = 1;

/// From this version on a partition has eligible leader replicas (KIP-966).
const ELR_SINCE: u32 = 2;

/// A topic comes into being.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's schema")]
pub struct TopicRecord {
    pub name: String,
    pub topic_id: TopicId,
}

/// A partition comes into being, or stands in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's schema")]
pub struct PartitionRecord {
    pub partition: PartitionIndex,
    pub topic_id: TopicId,
    pub replicas: Vec<BrokerId>,
    pub isr: Vec<BrokerId>,
    pub removing_replicas: Vec<BrokerId>,
    pub adding_replicas: Vec<BrokerId>,
    pub leader: BrokerId,
    pub leader_recovery_state: i8,
    pub leader_epoch: LeaderEpoch,
    pub partition_epoch: i32,
    pub directories: Vec<DirectoryId>,
    pub eligible_leader_replicas: Option<Vec<BrokerId>>,
    pub last_known_elr: Option<Vec<BrokerId>>,
}

/// Some fields of a partition change. `None` leaves a field as it is; a leader, also the same one, begins a new epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's schema")]
pub struct PartitionChange {
    pub partition: PartitionIndex,
    pub topic_id: TopicId,
    pub isr: Option<Vec<BrokerId>>,
    /// −1 for no leader.
    pub leader: Option<BrokerId>,
    pub replicas: Option<Vec<BrokerId>>,
    pub removing_replicas: Option<Vec<BrokerId>>,
    pub adding_replicas: Option<Vec<BrokerId>>,
    pub leader_recovery_state: Option<i8>,
    pub eligible_leader_replicas: Option<Vec<BrokerId>>,
    pub last_known_elr: Option<Vec<BrokerId>>,
    pub directories: Option<Vec<DirectoryId>>,
}

impl TopicRecord {
    pub(super) fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let record = Self { name: r.string()?, topic_id: r.uuid()? };
        r.no_tags()?;
        Ok(record)
    }

    pub(super) fn encode(&self, w: &mut Writer) {
        w.string(&self.name);
        w.uuid(self.topic_id);
        w.no_tags();
    }
}

impl PartitionRecord {
    pub(super) fn decode(r: &mut Reader<'_>, version: u32) -> Result<Self, WireError> {
        let mut record = Self {
            partition: PartitionIndex::new(r.i32()?),
            topic_id: r.uuid()?,
            replicas: brokers(r)?,
            isr: brokers(r)?,
            removing_replicas: brokers(r)?,
            adding_replicas: brokers(r)?,
            leader: BrokerId::new(r.i32()?),
            leader_recovery_state: 0,
            leader_epoch: LeaderEpoch::new(r.i32()?),
            partition_epoch: r.i32()?,
            directories: Vec::new(),
            eligible_leader_replicas: None,
            last_known_elr: None,
        };
        if version >= DIRECTORIES_SINCE {
            record.directories = r.array_of(Reader::uuid)?;
        }
        r.tags(|tag, r| {
            match tag {
                0 => record.leader_recovery_state = r.i8()?,
                1 => record.eligible_leader_replicas = nullable_brokers(r)?,
                2 => record.last_known_elr = nullable_brokers(r)?,
                _ => return Ok(TagUse::Unknown),
            }
            Ok(TagUse::Read)
        })?;
        Ok(record)
    }

    pub(super) fn encode(&self, w: &mut Writer, version: u32) {
        w.i32(self.partition.get());
        w.uuid(self.topic_id);
        for replicas in [&self.replicas, &self.isr, &self.removing_replicas, &self.adding_replicas]
        {
            put_brokers(w, replicas);
        }
        w.i32(self.leader.get());
        w.i32(self.leader_epoch.get());
        w.i32(self.partition_epoch);
        if version >= DIRECTORIES_SINCE {
            put_directories(w, &self.directories);
        }
        let mut tags = Tags::default();
        if self.leader_recovery_state != 0 {
            tags.put(0, |w| w.i8(self.leader_recovery_state));
        }
        if version >= ELR_SINCE {
            tags.put_some(1, self.eligible_leader_replicas.as_deref(), put_brokers);
            tags.put_some(2, self.last_known_elr.as_deref(), put_brokers);
        }
        w.tags(tags);
    }
}

impl PartitionChange {
    pub(super) fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut record = Self {
            partition: PartitionIndex::new(r.i32()?),
            topic_id: r.uuid()?,
            ..Self::default()
        };
        r.tags(|tag, r| {
            match tag {
                0 => record.isr = nullable_brokers(r)?,
                1 => {
                    record.leader = Some(BrokerId::new(r.i32()?)).filter(|id| id.get() != NO_CHANGE)
                }
                2 => record.replicas = nullable_brokers(r)?,
                3 => record.removing_replicas = nullable_brokers(r)?,
                4 => record.adding_replicas = nullable_brokers(r)?,
                5 => record.leader_recovery_state = Some(r.i8()?).filter(|&state| state >= 0),
                6 => record.eligible_leader_replicas = nullable_brokers(r)?,
                7 => record.last_known_elr = nullable_brokers(r)?,
                8 => record.directories = r.nullable_array_of(Reader::uuid)?,
                _ => return Ok(TagUse::Unknown),
            }
            Ok(TagUse::Read)
        })?;
        Ok(record)
    }

    pub(super) fn encode(&self, w: &mut Writer, version: u32) {
        w.i32(self.partition.get());
        w.uuid(self.topic_id);
        let mut tags = Tags::default();
        tags.put_some(0, self.isr.as_deref(), put_brokers);
        tags.put_some(1, self.leader, |w, leader| w.i32(leader.get()));
        tags.put_some(2, self.replicas.as_deref(), put_brokers);
        tags.put_some(3, self.removing_replicas.as_deref(), put_brokers);
        tags.put_some(4, self.adding_replicas.as_deref(), put_brokers);
        tags.put_some(5, self.leader_recovery_state, Writer::i8);
        if version >= ELR_SINCE {
            tags.put_some(6, self.eligible_leader_replicas.as_deref(), put_brokers);
            tags.put_some(7, self.last_known_elr.as_deref(), put_brokers);
        }
        if version >= DIRECTORIES_SINCE {
            tags.put_some(8, self.directories.as_deref(), put_directories);
        }
        w.tags(tags);
    }
}

/// Default of the leader field of a change.
const NO_CHANGE: i32 = -2;

fn broker(r: &mut Reader<'_>) -> Result<BrokerId, WireError> {
    r.i32().map(BrokerId::new)
}

fn brokers(r: &mut Reader<'_>) -> Result<Vec<BrokerId>, WireError> {
    r.array_of(broker)
}

fn nullable_brokers(r: &mut Reader<'_>) -> Result<Option<Vec<BrokerId>>, WireError> {
    r.nullable_array_of(broker)
}

fn put_brokers(w: &mut Writer, ids: &[BrokerId]) {
    w.array_of(ids, |w, id| w.i32(id.get()));
}

fn put_directories(w: &mut Writer, ids: &[DirectoryId]) {
    w.array_of(ids, |w, id| w.uuid(*id));
}
