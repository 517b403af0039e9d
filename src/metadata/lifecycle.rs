//! What the store writes when it starts and when it stops cleanly, as an elected Kafka controller and its broker would.
//!
//! Pure functions from the image found to the records to write (`log-engine` reference 1.10).

use super::METADATA_VERSION;
use super::image::{Image, PartitionState, QuorumState, Topic, is_placeholder};
use super::journal::{ControlRecord, Voter};
use super::records::{
    BrokerRegistrationChange, Endpoint, FORMAT_LEVEL, FeatureLevel, MetadataRecord, OLDEST_LEVEL,
    PartitionChange, RegisterBroker, SupportedFeature, directories_supported,
    transactions_supported,
};
use crate::types::{BrokerId, DirectoryId, PartitionIndex, Uuid};

/// Features that Kafka 4.0 finalizes in a new cluster, beside `metadata.version`.
const FORMAT_FEATURES: [(&str, i16); 2] = [("group.version", 1), ("transaction.version", 2)];

const ELR_FEATURE: &str = "eligible.leader.replicas.version";

const NO_LEADER: BrokerId = BrokerId::new(-1);

/// Who formatted a directory whose metadata log is still empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formatted {
    /// Kafka 4.0 to 4.3, by their `bootstrap.checkpoint`.
    ByKafka,
    /// Nobody else.
    ByUs,
}

/// This node, as it registers.
#[derive(Clone, Debug)]
pub struct Node {
    /// `node.id`.
    pub id: BrokerId,
    /// `directory.id` of the directory with the metadata, which the quorum knows.
    pub metadata_directory: DirectoryId,
    /// Those of all log directories that work.
    pub log_directories: Vec<DirectoryId>,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// Advertised addresses.
    pub endpoints: Vec<Endpoint>,
}

impl Node {
    /// First record of every epoch.
    pub fn election(&self) -> Vec<ControlRecord> {
        vec![ControlRecord::LeaderChange { leader: self.id, voters: vec![self.id] }]
    }

    /// What the first batch of a new log says about the quorum: as it was formatted, else this node alone. Nothing for the
    /// static quorum of a directory that Kafka formatted without voters.
    pub fn new_quorum(&self, found: &QuorumState, formatted: Formatted) -> Vec<ControlRecord> {
        let voters = match (found.kraft_version, formatted) {
            (0, Formatted::ByKafka) => return Vec::new(),
            (0, Formatted::ByUs) => vec![self.only_voter()],
            _ => found.voters.clone(),
        };
        vec![ControlRecord::KraftVersion(1), ControlRecord::Voters(voters)]
    }

    /// The quorum of a directory that we format: this node alone.
    fn only_voter(&self) -> Voter {
        Voter {
            id: self.id,
            directory_id: self.metadata_directory,
            // Nothing listens there; a Kafka that takes over puts its own address in its place.
            endpoints: vec![("CONTROLLER".to_owned(), "127.0.0.1".to_owned(), 9093)],
            kraft_versions: (0, 1),
        }
    }

    /// The registration; its epoch is the offset that it will be written at.
    pub fn registration(&self, image: &Image, incarnation: Uuid, epoch: i64) -> MetadataRecord {
        let level = image.metadata_version();
        let supported = directories_supported(level);
        let log_dirs = if supported { self.log_directories.clone() } else { Vec::new() };
        MetadataRecord::RegisterBroker(RegisterBroker {
            broker_id: self.id,
            is_migrating_zk_broker: false,
            incarnation_id: incarnation,
            broker_epoch: epoch,
            endpoints: self.endpoints.clone(),
            features: supported_features(image),
            rack: self.rack.clone(),
            fenced: true,
            in_controlled_shutdown: false,
            log_dirs,
            cordoned_log_dirs: None,
        })
    }

    /// The registration takes part, and every partition that this node may lead gets it as its leader in a new epoch.
    pub fn take_lead(&self, image: &Image, epoch: i64) -> Vec<MetadataRecord> {
        let mut records: Vec<_> = partitions(image)
            .filter_map(|(topic, index, state)| self.elect(image, topic, index, state))
            .map(MetadataRecord::PartitionChange)
            .collect();
        records.push(self.change(epoch, |change| change.fenced = Some(false)));
        records
    }

    /// What a clean stop writes: no partition keeps this node as its leader, and the registration is fenced.
    pub fn give_up_lead(&self, image: &Image, epoch: i64) -> Vec<MetadataRecord> {
        let mut records = vec![self.change(epoch, |change| change.in_controlled_shutdown = true)];
        let elr = image.features.get(ELR_FEATURE).is_some_and(|&level| level >= 1);
        let led = partitions(image).filter(|(_, _, state)| state.leader == self.id);
        records.extend(led.map(|(topic, partition, _)| {
            let mut change = PartitionChange {
                partition,
                topic_id: topic.id,
                leader: Some(NO_LEADER),
                ..PartitionChange::default()
            };
            if elr {
                change.isr = Some(Vec::new());
                change.eligible_leader_replicas = Some(vec![self.id]);
                change.last_known_elr = Some(vec![self.id]);
            }
            MetadataRecord::PartitionChange(change)
        }));
        records.push(self.change(epoch, |change| change.fenced = Some(true)));
        records
    }

    fn change(
        &self,
        epoch: i64,
        set: impl FnOnce(&mut BrokerRegistrationChange),
    ) -> MetadataRecord {
        let mut change = BrokerRegistrationChange {
            broker_id: self.id,
            broker_epoch: epoch,
            ..BrokerRegistrationChange::default()
        };
        set(&mut change);
        MetadataRecord::BrokerRegistrationChange(change)
    }

    /// `None` for a partition without a replica here, or whose replica here may lack acknowledged records.
    fn elect(
        &self,
        image: &Image,
        topic: &Topic,
        partition: PartitionIndex,
        state: &PartitionState,
    ) -> Option<PartitionChange> {
        let replica = state.replicas.iter().position(|id| *id == self.id)?;
        let complete = state.isr.contains(&self.id)
            || state.eligible_leader_replicas.contains(&self.id)
            || state.last_known_elr.contains(&self.id)
            || state.replicas.len() == 1;
        if !complete {
            tracing::warn!(
                topic = %topic.name,
                %partition,
                "no leader: the replica of this node was not in sync when it stopped"
            );
            return None;
        }
        let drain = |ids: &Vec<BrokerId>| (!ids.is_empty()).then(Vec::new);
        let only_us = vec![self.id];
        Some(PartitionChange {
            partition,
            topic_id: topic.id,
            leader: Some(self.id),
            isr: (state.isr != only_us).then_some(only_us),
            leader_recovery_state: (state.leader_recovery_state != 0).then_some(0),
            eligible_leader_replicas: drain(&state.eligible_leader_replicas),
            last_known_elr: drain(&state.last_known_elr),
            directories: self.assign(image, state, replica),
            ..PartitionChange::default()
        })
    }

    /// Names the directory where the log has only one of Kafka's placeholders (migrating, unassigned, lost) and there is only
    /// one; of several, the broker names the one where it finds the partition or puts it.
    fn assign(
        &self,
        image: &Image,
        state: &PartitionState,
        replica: usize,
    ) -> Option<Vec<DirectoryId>> {
        let assigned = state.directories.get(replica).is_some_and(|id| !is_placeholder(*id));
        let level = image.metadata_version();
        let [only] = self.log_directories[..] else { return None };
        if assigned || !directories_supported(level) {
            return None;
        }
        let mut directories = state.directories.clone();
        directories.resize(state.replicas.len(), DirectoryId::ZERO);
        directories[replica] = only;
        Some(directories)
    }
}

/// The bootstrap records of a new log: the levels found in a formatted directory, else those of Kafka 4.0.
pub fn bootstrap(image: &Image) -> Vec<MetadataRecord> {
    let found: Vec<(&str, i16)> =
        image.features.iter().map(|(name, level)| (name.as_str(), *level)).collect();
    let levels = if found.is_empty() { FORMAT_FEATURES.to_vec() } else { found };
    let version = match image.metadata_version() {
        0 => FORMAT_LEVEL,
        level => level,
    };
    let others = levels.into_iter().filter(|(name, _)| *name != METADATA_VERSION);
    let features = std::iter::once((METADATA_VERSION, version)).chain(others);
    let mut records: Vec<_> = features
        .map(|(name, level)| {
            MetadataRecord::FeatureLevel(FeatureLevel { name: name.to_owned(), level })
        })
        .collect();
    if transactions_supported(version) {
        let name = Some("Bootstrap records".to_owned());
        records.insert(0, MetadataRecord::BeginTransaction { name });
        records.push(MetadataRecord::EndTransaction);
    }
    records
}

/// Whatever is finalized, this node must serve.
fn supported_features(image: &Image) -> Vec<SupportedFeature> {
    let feature = |(name, level): (&String, &i16)| {
        let min = if name == METADATA_VERSION { OLDEST_LEVEL } else { 0 };
        SupportedFeature { name: name.clone(), min, max: *level }
    };
    image.features.iter().map(feature).collect()
}

/// All partitions, by topic name, so that the same image always gives the same records.
fn partitions(image: &Image) -> impl Iterator<Item = (&Topic, PartitionIndex, &PartitionState)> {
    let mut topics: Vec<&Topic> = image.topics.values().map(AsRef::as_ref).collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    topics.into_iter().flat_map(|topic| {
        let indexed = (0..).map(PartitionIndex::new).zip(&topic.partitions);
        indexed.map(move |(index, state)| (topic, index, state))
    })
}
