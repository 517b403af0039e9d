//! Brokers: `RegisterBrokerRecord` and what changes a registration.

use super::wire::{Reader, TagUse, Tags, WireError, Writer};
use crate::types::{BrokerId, DirectoryId, Uuid};

/// A broker registers; its epoch is the offset of this record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's schema")]
pub struct RegisterBroker {
    pub broker_id: BrokerId,
    pub is_migrating_zk_broker: bool,
    pub incarnation_id: Uuid,
    pub broker_epoch: i64,
    pub endpoints: Vec<Endpoint>,
    pub features: Vec<SupportedFeature>,
    pub rack: Option<String>,
    pub fenced: bool,
    pub in_controlled_shutdown: bool,
    pub log_dirs: Vec<DirectoryId>,
    pub cordoned_log_dirs: Option<Vec<DirectoryId>>,
}

/// An address that clients may be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Name of the listener.
    pub name: String,
    /// Advertised host.
    pub host: String,
    /// Advertised port.
    pub port: u16,
    /// 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    pub security_protocol: i16,
}

/// Levels of a feature that a broker can serve.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's schema")]
pub struct SupportedFeature {
    pub name: String,
    pub min: i16,
    pub max: i16,
}

/// A broker leaves for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's schema")]
pub struct UnregisterBroker {
    pub broker_id: BrokerId,
    pub broker_epoch: i64,
}

/// `FenceBrokerRecord` and `UnfenceBrokerRecord`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's schema")]
pub struct FencedChange {
    pub broker_id: BrokerId,
    pub broker_epoch: i64,
    pub fenced: bool,
}

/// Some fields of a registration change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's schema")]
pub struct BrokerRegistrationChange {
    pub broker_id: BrokerId,
    pub broker_epoch: i64,
    pub fenced: Option<bool>,
    /// Kafka never takes it back but by a new registration.
    pub in_controlled_shutdown: bool,
    pub log_dirs: Vec<DirectoryId>,
    pub cordoned_log_dirs: Option<Vec<DirectoryId>>,
}

impl RegisterBroker {
    pub(super) fn decode(r: &mut Reader<'_>, version: u32) -> Result<Self, WireError> {
        let mut record = Self {
            broker_id: BrokerId::new(r.i32()?),
            is_migrating_zk_broker: version >= 2 && r.bool()?,
            incarnation_id: r.uuid()?,
            broker_epoch: r.i64()?,
            endpoints: r.array_of(Endpoint::decode)?,
            features: r.array_of(SupportedFeature::decode)?,
            rack: r.nullable_string()?,
            fenced: r.bool()?,
            in_controlled_shutdown: version >= 1 && r.bool()?,
            log_dirs: Vec::new(),
            cordoned_log_dirs: None,
        };
        r.tags(|tag, r| {
            match tag {
                0 => record.log_dirs = r.array_of(Reader::uuid)?,
                1 => record.cordoned_log_dirs = r.nullable_array_of(Reader::uuid)?,
                _ => return Ok(TagUse::Unknown),
            }
            Ok(TagUse::Read)
        })?;
        Ok(record)
    }

    pub(super) fn encode(&self, w: &mut Writer, version: u32) {
        w.i32(self.broker_id.get());
        if version >= 2 {
            w.bool(self.is_migrating_zk_broker);
        }
        w.uuid(self.incarnation_id);
        w.i64(self.broker_epoch);
        w.array_of(&self.endpoints, |w, endpoint| endpoint.encode(w));
        w.array_of(&self.features, |w, feature| feature.encode(w));
        w.nullable_string(self.rack.as_deref());
        w.bool(self.fenced);
        if version >= 1 {
            w.bool(self.in_controlled_shutdown);
        }
        let mut tags = Tags::default();
        if version >= 3 && !self.log_dirs.is_empty() {
            tags.put(0, |w| put_directories(w, &self.log_dirs));
        }
        if version >= 4 {
            tags.put_some(1, self.cordoned_log_dirs.as_deref(), put_directories);
        }
        w.tags(tags);
    }
}

impl Endpoint {
    fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let endpoint = Self {
            name: r.string()?,
            host: r.string()?,
            port: r.u16()?,
            security_protocol: r.i16()?,
        };
        r.no_tags()?;
        Ok(endpoint)
    }

    fn encode(&self, w: &mut Writer) {
        w.string(&self.name);
        w.string(&self.host);
        w.u16(self.port);
        w.i16(self.security_protocol);
        w.no_tags();
    }
}

impl SupportedFeature {
    fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let feature = Self { name: r.string()?, min: r.i16()?, max: r.i16()? };
        r.no_tags()?;
        Ok(feature)
    }

    fn encode(&self, w: &mut Writer) {
        w.string(&self.name);
        w.i16(self.min);
        w.i16(self.max);
        w.no_tags();
    }
}

impl UnregisterBroker {
    pub(super) fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let record = Self { broker_id: BrokerId::new(r.i32()?), broker_epoch: r.i64()? };
        r.no_tags()?;
        Ok(record)
    }

    pub(super) fn encode(self, w: &mut Writer) {
        w.i32(self.broker_id.get());
        w.i64(self.broker_epoch);
        w.no_tags();
    }
}

impl FencedChange {
    pub(super) fn decode(r: &mut Reader<'_>, fenced: bool) -> Result<Self, WireError> {
        let broker_id = BrokerId::new(r.i32()?);
        let record = Self { broker_id, broker_epoch: r.i64()?, fenced };
        r.no_tags()?;
        Ok(record)
    }

    pub(super) fn encode(self, w: &mut Writer) {
        w.i32(self.broker_id.get());
        w.i64(self.broker_epoch);
        w.no_tags();
    }
}

impl BrokerRegistrationChange {
    pub(super) fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut record =
            Self { broker_id: BrokerId::new(r.i32()?), broker_epoch: r.i64()?, ..Self::default() };
        r.tags(|tag, r| {
            match tag {
                // −1 unfences, 1 fences, 0 changes nothing.
                0 => record.fenced = Some(r.i8()?).filter(|&f| f != 0).map(|f| f > 0),
                1 => record.in_controlled_shutdown = r.i8()? > 0,
                2 => record.log_dirs = r.array_of(Reader::uuid)?,
                3 => record.cordoned_log_dirs = r.nullable_array_of(Reader::uuid)?,
                _ => return Ok(TagUse::Unknown),
            }
            Ok(TagUse::Read)
        })?;
        Ok(record)
    }

    pub(super) fn encode(&self, w: &mut Writer, version: u32) {
        w.i32(self.broker_id.get());
        w.i64(self.broker_epoch);
        let mut tags = Tags::default();
        tags.put_some(0, self.fenced, |w, fenced| w.i8(if fenced { 1 } else { -1 }));
        if version >= 1 && self.in_controlled_shutdown {
            tags.put(1, |w| w.i8(1));
        }
        if version >= 2 && !self.log_dirs.is_empty() {
            tags.put(2, |w| put_directories(w, &self.log_dirs));
        }
        if version >= 3 {
            tags.put_some(3, self.cordoned_log_dirs.as_deref(), put_directories);
        }
        w.tags(tags);
    }
}

fn put_directories(w: &mut Writer, ids: &[DirectoryId]) {
    w.array_of(ids, |w, id| w.uuid(*id));
}
