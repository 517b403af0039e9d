//! Kafka's metadata records (`metadata/src/main/resources/common/metadata/*.json`).
//!
//! A record's value in the metadata log is a frame: unsigned varint 1, unsigned varint type, unsigned varint version, then
//! the body in the flexible encoding of [`wire`]. Records that the image understands have a struct; the others (ACLs,
//! credentials, quotas, tokens, controllers) are kept as the bytes they are, under the key that a later one replaces them
//! by, so that a snapshot loses nothing.

mod brokers;
mod opaque;
mod topics;
mod versions;
pub mod wire;

pub use brokers::{
    BrokerRegistrationChange, Endpoint, FencedChange, RegisterBroker, SupportedFeature,
    UnregisterBroker,
};
pub use opaque::{OpaqueChange, OpaqueKey};
pub use topics::{PartitionChange, PartitionRecord, TopicRecord};
pub use versions::{
    FORMAT_LEVEL, OLDEST_LEVEL, directories_supported, newest_level_of, transactions_supported,
};

use self::wire::{Reader, WireError, Writer};
use crate::types::{BrokerId, ProducerId, TopicId};

const FRAME_VERSION: u32 = 1;

/// One change of the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataRecord {
    /// Type 0.
    RegisterBroker(RegisterBroker),
    /// Type 1.
    UnregisterBroker(UnregisterBroker),
    /// Type 2.
    Topic(TopicRecord),
    /// Type 3.
    Partition(PartitionRecord),
    /// Type 4.
    Config(ConfigRecord),
    /// Type 5.
    PartitionChange(PartitionChange),
    /// Types 7 and 8, written before Kafka 3.3; read as their successor.
    Fence(FencedChange),
    /// Type 9.
    RemoveTopic(TopicId),
    /// Type 12.
    FeatureLevel(FeatureLevel),
    /// Type 15.
    ProducerIds(ProducerIds),
    /// Type 17.
    BrokerRegistrationChange(BrokerRegistrationChange),
    /// Type 20.
    NoOp,
    /// Type 23: what follows takes effect at its end.
    BeginTransaction {
        /// For people.
        name: Option<String>,
    },
    /// Type 24.
    EndTransaction,
    /// Type 25: what was begun never happened.
    AbortTransaction {
        /// For people.
        reason: Option<String>,
    },
    /// Type 28; the empty name means all topics.
    ClearElr {
        /// Name of the topic.
        topic: String,
    },
    /// Everything else: kept, not understood.
    Opaque(OpaqueChange),
}

/// Sets or, without a value, deletes a config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigRecord {
    /// 2 topic, 4 broker, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// Its name, empty for the default of all brokers.
    pub resource_name: String,
    /// Key.
    pub name: String,
    /// New value.
    pub value: Option<String>,
}

/// Finalizes a feature; level 0 takes it away.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's schema")]
pub struct FeatureLevel {
    pub name: String,
    pub level: i16,
}

/// Marks producer ids below `next_producer_id` as taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's schema")]
pub struct ProducerIds {
    pub broker_id: BrokerId,
    pub broker_epoch: i64,
    pub next_producer_id: ProducerId,
}

/// A record with the version of its schema that it was or is to be written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned {
    /// Version of the body.
    pub version: u32,
    /// The record.
    pub record: MetadataRecord,
}

/// A value is no metadata record that this release knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The frame is of another version than 1.
    #[error("frame version {0} is unknown")]
    Frame(u32),
    /// A type or version of a later Kafka.
    #[error("record type {kind} version {version} is unknown, a newer Kafka wrote it")]
    Unknown {
        /// Its number.
        kind: u32,
        /// Version of its schema.
        version: u32,
    },
    /// The body does not follow the schema.
    #[error("a record of type {kind} version {version} is malformed: {source}")]
    Malformed {
        /// Its number.
        kind: u32,
        /// Version of its schema.
        version: u32,
        /// How.
        source: WireError,
    },
    /// Bytes behind the body.
    #[error("{0} bytes follow a record")]
    Trailing(usize),
}

impl Versioned {
    /// Reads the value of a record of the metadata log. Never panics; allocates no more than a small multiple of `value`.
    pub fn decode(value: &[u8]) -> Result<Self, RecordError> {
        let mut reader = Reader::new(value);
        let mut header = || reader.unsigned_varint();
        let malformed =
            |kind, version| move |source| RecordError::Malformed { kind, version, source };
        let frame = header().map_err(malformed(0, 0))?;
        if frame != FRAME_VERSION {
            return Err(RecordError::Frame(frame));
        }
        let kind = header().map_err(malformed(0, 0))?;
        let version = header().map_err(malformed(kind, 0))?;
        if version > newest_version(kind).ok_or(RecordError::Unknown { kind, version })? {
            return Err(RecordError::Unknown { kind, version });
        }
        let record =
            decode_body(kind, version, value, &mut reader).map_err(malformed(kind, version))?;
        match reader.rest().len() {
            0 => Ok(Self { version, record }),
            trailing => Err(RecordError::Trailing(trailing)),
        }
    }

    /// The value of a record of the metadata log.
    pub fn encode(&self) -> Vec<u8> {
        if let MetadataRecord::Opaque(opaque) = &self.record {
            return opaque.value.to_vec();
        }
        let mut writer = Writer::default();
        writer.unsigned_varint(FRAME_VERSION);
        writer.unsigned_varint(kind_of(&self.record));
        writer.unsigned_varint(self.version);
        encode_body(&self.record, self.version, &mut writer);
        writer.into_bytes()
    }
}

/// Newest version of each schema as of Kafka 4.4.
fn newest_version(kind: u32) -> Option<u32> {
    match kind {
        0 => Some(4),
        3 | 5 => Some(2),
        17 => Some(3),
        1 | 2 | 4 | 7..=12 | 14 | 15 | 18..=29 => Some(0),
        _ => None,
    }
}

fn kind_of(record: &MetadataRecord) -> u32 {
    match record {
        MetadataRecord::RegisterBroker(_) => 0,
        MetadataRecord::UnregisterBroker(_) => 1,
        MetadataRecord::Topic(_) => 2,
        MetadataRecord::Partition(_) => 3,
        MetadataRecord::Config(_) => 4,
        MetadataRecord::PartitionChange(_) => 5,
        MetadataRecord::Fence(change) if change.fenced => 7,
        MetadataRecord::Fence(_) => 8,
        MetadataRecord::RemoveTopic(_) => 9,
        MetadataRecord::FeatureLevel(_) => 12,
        MetadataRecord::ProducerIds(_) => 15,
        MetadataRecord::BrokerRegistrationChange(_) => 17,
        MetadataRecord::NoOp => 20,
        MetadataRecord::BeginTransaction { .. } => 23,
        MetadataRecord::EndTransaction => 24,
        MetadataRecord::AbortTransaction { .. } => 25,
        MetadataRecord::ClearElr { .. } => 28,
        MetadataRecord::Opaque(opaque) => opaque.kind,
    }
}

fn decode_body(
    kind: u32,
    version: u32,
    value: &[u8],
    r: &mut Reader<'_>,
) -> Result<MetadataRecord, WireError> {
    Ok(match kind {
        0 => MetadataRecord::RegisterBroker(RegisterBroker::decode(r, version)?),
        1 => MetadataRecord::UnregisterBroker(UnregisterBroker::decode(r)?),
        2 => MetadataRecord::Topic(TopicRecord::decode(r)?),
        3 => MetadataRecord::Partition(PartitionRecord::decode(r, version)?),
        4 => MetadataRecord::Config(ConfigRecord::decode(r)?),
        5 => MetadataRecord::PartitionChange(PartitionChange::decode(r)?),
        7 | 8 => MetadataRecord::Fence(FencedChange::decode(r, kind == 7)?),
        9 => MetadataRecord::RemoveTopic(alone(r, Reader::uuid)?),
        12 => MetadataRecord::FeatureLevel(FeatureLevel::decode(r)?),
        15 => MetadataRecord::ProducerIds(ProducerIds::decode(r)?),
        17 => MetadataRecord::BrokerRegistrationChange(BrokerRegistrationChange::decode(r)?),
        20 => alone(r, |_| Ok(MetadataRecord::NoOp))?,
        23 => MetadataRecord::BeginTransaction { name: tagged_text(r)? },
        24 => alone(r, |_| Ok(MetadataRecord::EndTransaction))?,
        25 => MetadataRecord::AbortTransaction { reason: tagged_text(r)? },
        28 => MetadataRecord::ClearElr { topic: alone(r, Reader::string)? },
        _ => MetadataRecord::Opaque(OpaqueChange::decode(kind, value, r)?),
    })
}

fn encode_body(record: &MetadataRecord, version: u32, w: &mut Writer) {
    match record {
        MetadataRecord::RegisterBroker(record) => record.encode(w, version),
        MetadataRecord::UnregisterBroker(record) => record.encode(w),
        MetadataRecord::Topic(record) => record.encode(w),
        MetadataRecord::Partition(record) => record.encode(w, version),
        MetadataRecord::Config(record) => record.encode(w),
        MetadataRecord::PartitionChange(record) => record.encode(w, version),
        MetadataRecord::Fence(record) => record.encode(w),
        MetadataRecord::RemoveTopic(id) => {
            w.uuid(*id);
            w.no_tags();
        }
        MetadataRecord::FeatureLevel(record) => record.encode(w),
        MetadataRecord::ProducerIds(record) => record.encode(w),
        MetadataRecord::BrokerRegistrationChange(record) => record.encode(w, version),
        MetadataRecord::NoOp | MetadataRecord::EndTransaction => w.no_tags(),
        MetadataRecord::BeginTransaction { name: text }
        | MetadataRecord::AbortTransaction { reason: text } => {
            let mut tags = wire::Tags::default();
            tags.put_some(0, text.as_deref(), |w, text| w.string(text));
            w.tags(tags);
        }
        MetadataRecord::ClearElr { topic } => {
            w.string(topic);
            w.no_tags();
        }
        // `Versioned::encode` copies those whole.
        MetadataRecord::Opaque(_) => {}
    }
}

/// A body of one field.
fn alone<'a, T>(
    r: &mut Reader<'a>,
    field: impl FnOnce(&mut Reader<'a>) -> Result<T, WireError>,
) -> Result<T, WireError> {
    let value = field(r)?;
    r.no_tags()?;
    Ok(value)
}

/// A body of one tagged nullable string.
fn tagged_text(r: &mut Reader<'_>) -> Result<Option<String>, WireError> {
    let mut text = None;
    r.tags(|tag, r| {
        if tag != 0 {
            return Ok(wire::TagUse::Unknown);
        }
        text = r.nullable_string()?;
        Ok(wire::TagUse::Read)
    })?;
    Ok(text)
}

impl ConfigRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let record = Self {
            resource_type: r.i8()?,
            resource_name: r.string()?,
            name: r.string()?,
            value: r.nullable_string()?,
        };
        r.no_tags()?;
        Ok(record)
    }

    fn encode(&self, w: &mut Writer) {
        w.i8(self.resource_type);
        w.string(&self.resource_name);
        w.string(&self.name);
        w.nullable_string(self.value.as_deref());
        w.no_tags();
    }
}

impl FeatureLevel {
    fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let record = Self { name: r.string()?, level: r.i16()? };
        r.no_tags()?;
        Ok(record)
    }

    fn encode(&self, w: &mut Writer) {
        w.string(&self.name);
        w.i16(self.level);
        w.no_tags();
    }
}

impl ProducerIds {
    fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let record = Self {
            broker_id: BrokerId::new(r.i32()?),
            broker_epoch: r.i64()?,
            next_producer_id: ProducerId::new(r.i64()?),
        };
        r.no_tags()?;
        Ok(record)
    }

    fn encode(&self, w: &mut Writer) {
        w.i32(self.broker_id.get());
        w.i64(self.broker_epoch);
        w.i64(self.next_producer_id.get());
        w.no_tags();
    }
}

#[cfg(test)]
mod tests;
