//! Snapshots of the metadata log, and `bootstrap.checkpoint`, which has the same layout.
//!
//! Batches with offsets from 0 and the epoch of the snapshot: first a control batch with the snapshot header (and version
//! and voters of a dynamic quorum), then data batches, last a control batch with the snapshot footer. A file without its
//! footer is not complete. Kafka: `RecordsSnapshotWriter`, `MetadataImage.write`.

use super::batches::{self, BatchWriter};
use super::control::ControlRecord;
use crate::log::scan::{ScanEnd, StoredBatch, scan};
use crate::metadata::apply::Replay;
use crate::metadata::image::{Image, METADATA_VERSION, PartitionState, Topic};
use crate::metadata::records::{
    ConfigRecord, FeatureLevel, MetadataRecord, OpaqueKey, PartitionRecord, ProducerIds,
    TopicRecord, Versioned,
};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerId, Timestamp};

/// The snapshot of an image whose last record was written in `epoch` at `last_timestamp`.
pub fn encode(
    image: &Image,
    epoch: LeaderEpoch,
    last_timestamp: Timestamp,
    now: Timestamp,
) -> Vec<u8> {
    let mut writer = BatchWriter::new(Offset::ZERO, epoch, now);
    let mut head =
        vec![ControlRecord::SnapshotHeader { last_contained_log_timestamp: last_timestamp }];
    if image.quorum.kraft_version > 0 {
        head.push(ControlRecord::KraftVersion(image.quorum.kraft_version));
        head.push(ControlRecord::Voters(image.quorum.voters.clone()));
    }
    writer.control(&head);
    let values: Vec<Vec<u8>> = records_of(image).iter().map(Versioned::encode).collect();
    writer.data(&values);
    writer.control(&[ControlRecord::SnapshotFooter]);
    writer.into_bytes()
}

/// Replays a snapshot; the text says what is wrong with it.
pub fn replay(bytes: &[u8], replay: &mut Replay) -> Result<(), String> {
    let mut expected = Offset::ZERO;
    let mut complete = false;
    let mut batches = scan(bytes);
    for (position, batch) in batches.by_ref() {
        let header = batch.header().ok_or_else(|| format!("no batch at byte {position}"))?;
        batch.verify().map_err(|e| format!("at byte {position}: {e}"))?;
        if complete || header.base_offset != expected {
            return Err(format!("the batch at byte {position} does not belong there"));
        }
        complete = replay_batch(&batch, replay)?;
        expected = header.last_offset().plus(1);
    }
    match batches.ending() {
        Some(ScanEnd::Exhausted) if complete => Ok(()),
        _ => Err(format!("it is not complete: it ends at byte {}", batches.position())),
    }
}

/// Replays one batch of log or snapshot; true for the footer of a snapshot.
pub fn replay_batch(batch: &StoredBatch<'_>, replay: &mut Replay) -> Result<bool, String> {
    let is_control = batch.header().is_some_and(|header| header.is_control());
    let mut footer = false;
    for record in batches::records(batch).map_err(|e| e.to_string())? {
        let value = record.value.unwrap_or_default();
        if is_control {
            let record = ControlRecord::decode(record.key.unwrap_or_default(), value)
                .map_err(|e| format!("a control record is malformed: {e}"))?;
            footer |= record == ControlRecord::SnapshotFooter;
            replay.control(record);
        } else {
            let record = Versioned::decode(value).map_err(|e| e.to_string())?.record;
            replay.record(record).map_err(|e| e.to_string())?;
        }
    }
    Ok(footer)
}

/// The records that add up to `image`, in Kafka's order.
pub fn records_of(image: &Image) -> Vec<Versioned> {
    let mut out = Vec::new();
    let level = image.metadata_version();
    let mut put = |record: MetadataRecord| out.push(record.at_level(level));
    features(image, &mut put);
    for broker in image.brokers.values() {
        put(MetadataRecord::RegisterBroker(broker.as_ref().clone()));
    }
    kept(image, &mut put, |key| matches!(key, OpaqueKey::Controller(_)));
    topics(image, &mut put);
    configs(image, &mut put);
    kept(image, &mut put, |key| matches!(key, OpaqueKey::Quota(..)));
    if image.next_producer_id > ProducerId::new(0) {
        put(MetadataRecord::ProducerIds(ProducerIds {
            broker_id: BrokerId::new(-1),
            broker_epoch: -1,
            next_producer_id: image.next_producer_id,
        }));
    }
    kept(image, &mut put, |key| {
        matches!(key, OpaqueKey::Acl(_) | OpaqueKey::Scram(..) | OpaqueKey::Token(_))
    });
    out
}

/// `metadata.version` first: it says how the rest is to be read.
fn features(image: &Image, put: &mut impl FnMut(MetadataRecord)) {
    let record =
        |(name, level): (&String, &i16)| FeatureLevel { name: name.clone(), level: *level };
    let (version, others): (Vec<_>, Vec<_>) =
        image.features.iter().map(record).partition(|feature| feature.name == METADATA_VERSION);
    for feature in version.into_iter().chain(others) {
        put(MetadataRecord::FeatureLevel(feature));
    }
}

fn topics(image: &Image, put: &mut impl FnMut(MetadataRecord)) {
    let mut topics: Vec<_> = image.topics.values().collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    for topic in topics {
        put(MetadataRecord::Topic(TopicRecord {
            name: topic.name.to_string(),
            topic_id: topic.id,
        }));
        for (index, state) in (0..).map(PartitionIndex::new).zip(&topic.partitions) {
            put(MetadataRecord::Partition(state.to_record(topic, index)));
        }
    }
}

fn configs(image: &Image, put: &mut impl FnMut(MetadataRecord)) {
    let mut resources: Vec<_> = image.configs.iter().collect();
    resources.sort();
    for (resource, overrides) in resources {
        let (resource_type, resource_name) = resource.to_type_and_name();
        for (name, value) in overrides.iter() {
            put(MetadataRecord::Config(ConfigRecord {
                resource_type,
                resource_name: resource_name.clone(),
                name: name.clone(),
                value: Some(value.clone()),
            }));
        }
    }
}

fn kept(image: &Image, put: &mut impl FnMut(MetadataRecord), which: impl Fn(&OpaqueKey) -> bool) {
    for (_, value) in image.opaque.iter().filter(|(key, _)| which(key)) {
        // The image keeps only values that were decoded once.
        if let Ok(record) = Versioned::decode(value) {
            put(record.record);
        }
    }
}

impl PartitionState {
    fn to_record(&self, topic: &Topic, partition: PartitionIndex) -> PartitionRecord {
        let some = |ids: &Vec<BrokerId>| (!ids.is_empty()).then(|| ids.clone());
        PartitionRecord {
            partition,
            topic_id: topic.id,
            replicas: self.replicas.clone(),
            isr: self.isr.clone(),
            removing_replicas: self.removing_replicas.clone(),
            adding_replicas: self.adding_replicas.clone(),
            leader: self.leader,
            leader_recovery_state: self.leader_recovery_state,
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            directories: self.directories.clone(),
            eligible_leader_replicas: some(&self.eligible_leader_replicas),
            last_known_elr: some(&self.last_known_elr),
        }
    }
}
