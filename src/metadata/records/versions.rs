//! Which version of a record may be written at which level of `metadata.version` (Kafka's `MetadataVersion`).

use super::{BrokerRegistrationChange, MetadataRecord, Versioned};

/// 3.3-IV3: the oldest level that Kafka 4 accepts.
pub const OLDEST_LEVEL: i16 = 7;

/// 4.0-IV3: what Kafka 4.0 formats a directory with, so that every 4.x can take it over.
pub const FORMAT_LEVEL: i16 = 25;

/// The newest levels of features that this release knows: those of Kafka 4.4, `kraft.version` aside.
const NEWEST_LEVELS: [(&str, i16); 6] = [
    ("metadata.version", 33), // 4.4-IV2
    ("group.version", 1),
    ("transaction.version", 2),
    ("eligible.leader.replicas.version", 1),
    ("share.version", 2),
    ("streams.version", 1),
];

const ZK_MIGRATION: i16 = 8; // 3.4-IV0
const TRANSACTIONS: i16 = 13; // 3.6-IV1
const DIRECTORIES: i16 = 17; // 3.7-IV2
const ELR: i16 = 23; // 4.0-IV1
const CORDONED: i16 = 30; // 4.3-IV0

/// The newest level of a feature that this release knows; `None` for a feature that it does not know.
pub fn newest_level_of(feature: &str) -> Option<i16> {
    NEWEST_LEVELS.iter().find(|(name, _)| *name == feature).map(|(_, level)| *level)
}

/// Changes of several batches may be wrapped in Begin and EndTransaction.
pub fn transactions_supported(level: i16) -> bool {
    level >= TRANSACTIONS
}

/// Partitions name the directories of their replicas.
pub fn directories_supported(level: i16) -> bool {
    level >= DIRECTORIES
}

impl MetadataRecord {
    /// The record in the version that Kafka writes at `level`.
    pub fn at_level(self, level: i16) -> Versioned {
        let version = match &self {
            Self::RegisterBroker(_) => match level {
                CORDONED.. => 4,
                DIRECTORIES.. => 3,
                ZK_MIGRATION.. => 2,
                _ => 1,
            },
            Self::Partition(_) | Self::PartitionChange(_) => match level {
                ELR.. => 2,
                DIRECTORIES.. => 1,
                _ => 0,
            },
            Self::BrokerRegistrationChange(change) => change.least_version(),
            _ => 0,
        };
        Versioned { version, record: self }
    }
}

impl BrokerRegistrationChange {
    /// Kafka picks the lowest version that can hold the fields set.
    fn least_version(&self) -> u32 {
        if self.cordoned_log_dirs.is_some() {
            3
        } else if !self.log_dirs.is_empty() {
            2
        } else {
            u32::from(self.in_controlled_shutdown)
        }
    }
}
