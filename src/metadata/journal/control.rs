//! Control records of the metadata log and its snapshots.
//!
//! The key of a control record is version i16 (0) and type i16. Its value is a flexible message that begins with its own
//! version (`LeaderChangeMessage`, `SnapshotHeaderRecord`, `SnapshotFooterRecord`, `KRaftVersionRecord`, `VotersRecord`).

use crate::metadata::records::wire::{Reader, WireError, Writer};
use crate::types::{BrokerId, DirectoryId, Timestamp};

/// A record of a control batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlRecord {
    /// Type 2: a leader was elected.
    LeaderChange {
        /// Who.
        leader: BrokerId,
        /// Who could vote.
        voters: Vec<BrokerId>,
    },
    /// Type 3: first record of a snapshot.
    SnapshotHeader {
        /// Of the last batch in it.
        last_contained_log_timestamp: Timestamp,
    },
    /// Type 4: last record of a snapshot.
    SnapshotFooter,
    /// Type 5.
    KraftVersion(i16),
    /// Type 6.
    Voters(Vec<Voter>),
    /// Any other type: readers go on.
    Unknown(i16),
}

/// A member of a dynamic quorum (KIP-853).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voter {
    /// Node.
    pub id: BrokerId,
    /// Directory of its metadata log.
    pub directory_id: DirectoryId,
    /// Controller listeners: name, host, port.
    pub endpoints: Vec<(String, String, u16)>,
    /// Lowest and highest `kraft.version` that it understands.
    pub kraft_versions: (i16, i16),
}

const LEADER_CHANGE: i16 = 2;
const SNAPSHOT_HEADER: i16 = 3;
const SNAPSHOT_FOOTER: i16 = 4;
const KRAFT_VERSION: i16 = 5;
const KRAFT_VOTERS: i16 = 6;

impl ControlRecord {
    /// Reads a record of a control batch.
    pub fn decode(key: &[u8], value: &[u8]) -> Result<Self, WireError> {
        let mut key = Reader::new(key);
        key.i16()?;
        let mut r = Reader::new(value);
        let kind = key.i16()?;
        if !(LEADER_CHANGE..=KRAFT_VOTERS).contains(&kind) {
            return Ok(Self::Unknown(kind));
        }
        let version = r.i16()?;
        let record = match kind {
            LEADER_CHANGE => Self::leader_change(&mut r, version)?,
            SNAPSHOT_HEADER => {
                Self::SnapshotHeader { last_contained_log_timestamp: Timestamp::new(r.i64()?) }
            }
            SNAPSHOT_FOOTER => Self::SnapshotFooter,
            KRAFT_VERSION => Self::KraftVersion(r.i16()?),
            _ => Self::Voters(r.array_of(Voter::decode)?),
        };
        r.no_tags()?;
        Ok(record)
    }

    /// Key and value of the record.
    pub fn encode(&self) -> (Vec<u8>, Vec<u8>) {
        let mut key = Writer::default();
        key.i16(0);
        key.i16(self.kind());
        let mut w = Writer::default();
        w.i16(0);
        match self {
            Self::LeaderChange { leader, voters } => {
                w.i32(leader.get());
                // Voters and those who granted their vote: for an only voter the same.
                for voters in [voters, voters] {
                    w.array_of(voters, |w, id| {
                        w.i32(id.get());
                        w.no_tags();
                    });
                }
            }
            Self::SnapshotHeader { last_contained_log_timestamp } => {
                w.i64(last_contained_log_timestamp.get());
            }
            Self::KraftVersion(version) => w.i16(*version),
            Self::Voters(voters) => w.array_of(voters, |w, voter| voter.encode(w)),
            Self::SnapshotFooter | Self::Unknown(_) => {}
        }
        w.no_tags();
        (key.into_bytes(), w.into_bytes())
    }

    fn kind(&self) -> i16 {
        match self {
            Self::LeaderChange { .. } => LEADER_CHANGE,
            Self::SnapshotHeader { .. } => SNAPSHOT_HEADER,
            Self::SnapshotFooter => SNAPSHOT_FOOTER,
            Self::KraftVersion(_) => KRAFT_VERSION,
            Self::Voters(_) => KRAFT_VOTERS,
            Self::Unknown(kind) => *kind,
        }
    }

    fn leader_change(r: &mut Reader<'_>, version: i16) -> Result<Self, WireError> {
        let leader = BrokerId::new(r.i32()?);
        let voter = |r: &mut Reader<'_>| {
            let id = BrokerId::new(r.i32()?);
            if version >= 1 {
                r.uuid()?;
            }
            r.no_tags()?;
            Ok(id)
        };
        let voters = r.array_of(voter)?;
        r.array_of(voter)?;
        Ok(Self::LeaderChange { leader, voters })
    }
}

impl Voter {
    fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let id = BrokerId::new(r.i32()?);
        let directory_id = r.uuid()?;
        let endpoints = r.array_of(|r| {
            let endpoint = (r.string()?, r.string()?, r.u16()?);
            r.no_tags()?;
            Ok(endpoint)
        })?;
        let kraft_versions = (r.i16()?, r.i16()?);
        r.no_tags()?;
        r.no_tags()?;
        Ok(Self { id, directory_id, endpoints, kraft_versions })
    }

    fn encode(&self, w: &mut Writer) {
        w.i32(self.id.get());
        w.uuid(self.directory_id);
        w.array_of(&self.endpoints, |w, (name, host, port)| {
            w.string(name);
            w.string(host);
            w.u16(*port);
            w.no_tags();
        });
        w.i16(self.kraft_versions.0);
        w.i16(self.kraft_versions.1);
        w.no_tags();
        w.no_tags();
    }
}
