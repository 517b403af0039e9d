//! Types 3 to 8 and 16: a group of the new protocol (KIP-848). All values are of version 0, which is flexible; what later
//! releases added are tagged fields.
//!
//! Kafka's definitions of types 5 and 8 give `null` as the default of a tagged field, but its generated code takes the empty
//! value for it: that one is left out, and null is written down.

use bytes::Bytes;

use super::RecordValue;
use crate::coordinator::InstanceId;
use crate::metadata::records::wire::{Reader, TagUse, Tags, WireError, Writer};
use crate::types::{PartitionIndex, Timestamp, TopicId, TopicName};

/// Type 3.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's ConsumerGroupMetadataValue")]
pub struct ConsumerGroupValue {
    pub epoch: i32,
    /// Tag 0: hash over the subscribed topics; 0 where Kafka before 4.1 wrote the record.
    pub metadata_hash: i64,
}

/// Type 5.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's ConsumerGroupMemberMetadataValue")]
pub struct ConsumerMemberValue {
    pub instance_id: Option<InstanceId>,
    pub rack_id: Option<String>,
    pub client_id: String,
    pub client_host: String,
    pub subscribed_topic_names: Vec<TopicName>,
    pub subscribed_topic_regex: Option<String>,
    pub rebalance_timeout_ms: i32,
    pub server_assignor: Option<String>,
    /// Of a member that speaks the classic protocol. Tag 0.
    pub classic: Option<ClassicMemberMetadata>,
}

/// What a member of the classic protocol brought along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's ConsumerGroupMemberMetadataValue")]
pub struct ClassicMemberMetadata {
    pub session_timeout_ms: i32,
    /// Name and subscription of each protocol, in the member's order of preference.
    pub supported_protocols: Vec<(String, Bytes)>,
}

/// Type 6.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "fields are named as in Kafka's ConsumerGroupTargetAssignmentMetadataValue"
)]
pub struct TargetAssignmentValue {
    pub assignment_epoch: i32,
    /// Tag 0: when it was made; 0 if nobody knows, and where Kafka before 4.3 wrote the record.
    pub assignment_timestamp: Timestamp,
}

/// Type 7.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "fields are named as in Kafka's ConsumerGroupTargetAssignmentMemberValue"
)]
pub struct TargetMemberValue {
    pub topic_partitions: Vec<AssignedTopic>,
}

/// Type 8.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "fields are named as in Kafka's ConsumerGroupCurrentMemberAssignmentValue"
)]
pub struct CurrentAssignmentValue {
    pub member_epoch: i32,
    pub previous_member_epoch: i32,
    /// Kafka's `MemberState`: 0 stable, 1 unrevoked partitions, 2 unreleased partitions, 127 unknown.
    pub state: i8,
    pub assigned_partitions: Vec<AssignedTopic>,
    pub partitions_pending_revocation: Vec<AssignedTopic>,
}

/// Partitions of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignedTopic {
    /// Which topic.
    pub topic_id: TopicId,
    /// In rising order.
    pub partitions: Vec<PartitionIndex>,
    /// Tag 0 of the current assignment since Kafka 4.4: the epoch at which each partition was assigned. Empty if absent.
    pub assignment_epochs: Vec<i32>,
}

/// Type 16.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "fields are named as in Kafka's ConsumerGroupRegularExpressionValue"
)]
pub struct RegularExpressionValue {
    pub topics: Vec<TopicName>,
    /// Offset of the metadata that the topics were matched against.
    pub version: i64,
    pub timestamp: Timestamp,
}

/// What a tagged nullable struct begins with where it is not null.
const PRESENT: u32 = 1;

impl RecordValue for ConsumerGroupValue {
    fn encode(&self, _version: i16, w: &mut Writer) {
        w.i32(self.epoch);
        let mut tags = Tags::default();
        tags.put_some(0, non_zero(self.metadata_hash), Writer::i64);
        w.tags(tags);
    }

    fn decode(_version: i16, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut value = Self { epoch: r.i32()?, metadata_hash: 0 };
        r.tags(|tag, r| read_tag_0(tag, || r.i64().map(|hash| value.metadata_hash = hash)))?;
        Ok(value)
    }
}

impl RecordValue for ConsumerMemberValue {
    fn encode(&self, _version: i16, w: &mut Writer) {
        w.nullable_string(self.instance_id.as_ref().map(InstanceId::as_str));
        w.nullable_string(self.rack_id.as_deref());
        w.string(&self.client_id);
        w.string(&self.client_host);
        w.array_of(&self.subscribed_topic_names, |w, name| w.string(name.as_str()));
        w.nullable_string(self.subscribed_topic_regex.as_deref());
        w.i32(self.rebalance_timeout_ms);
        w.nullable_string(self.server_assignor.as_deref());
        let mut tags = Tags::default();
        match &self.classic {
            None => tags.put(0, |w| w.unsigned_varint(0)),
            Some(classic) if *classic == ClassicMemberMetadata::default() => {}
            Some(classic) => tags.put(0, |w| {
                w.unsigned_varint(PRESENT);
                classic.encode(w);
            }),
        }
        w.tags(tags);
    }

    fn decode(_version: i16, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut value = Self {
            instance_id: r.nullable_text()?.map(InstanceId::new),
            rack_id: r.nullable_string()?,
            client_id: r.string()?,
            client_host: r.string()?,
            subscribed_topic_names: topic_names(r)?,
            subscribed_topic_regex: r.nullable_string()?,
            rebalance_timeout_ms: r.i32()?,
            server_assignor: r.nullable_string()?,
            classic: Some(ClassicMemberMetadata::default()),
        };
        r.tags(|tag, r| {
            read_tag_0(tag, || {
                value.classic = match r.unsigned_varint()? {
                    0 => None,
                    _ => Some(ClassicMemberMetadata::decode(r)?),
                };
                Ok(())
            })
        })?;
        Ok(value)
    }
}

impl ClassicMemberMetadata {
    fn encode(&self, w: &mut Writer) {
        w.i32(self.session_timeout_ms);
        w.array_of(&self.supported_protocols, |w, (name, metadata)| {
            w.string(name);
            w.bytes(metadata);
            w.no_tags();
        });
        w.no_tags();
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let session_timeout_ms = r.i32()?;
        let supported_protocols = r.array_of(|r| {
            let protocol = (r.string()?, Bytes::copy_from_slice(r.bytes()?));
            r.no_tags()?;
            Ok(protocol)
        })?;
        r.no_tags()?;
        Ok(Self { session_timeout_ms, supported_protocols })
    }
}

impl RecordValue for TargetAssignmentValue {
    fn encode(&self, _version: i16, w: &mut Writer) {
        w.i32(self.assignment_epoch);
        let mut tags = Tags::default();
        tags.put_some(0, non_zero(self.assignment_timestamp.get()), Writer::i64);
        w.tags(tags);
    }

    fn decode(_version: i16, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let assignment_epoch = r.i32()?;
        let mut timestamp = 0;
        r.tags(|tag, r| read_tag_0(tag, || r.i64().map(|made| timestamp = made)))?;
        Ok(Self { assignment_epoch, assignment_timestamp: Timestamp::new(timestamp) })
    }
}

impl RecordValue for TargetMemberValue {
    fn encode(&self, _version: i16, w: &mut Writer) {
        w.array_of(&self.topic_partitions, |w, topic| {
            topic.encode_partitions(w);
            w.no_tags();
        });
        w.no_tags();
    }

    fn decode(_version: i16, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let topic_partitions = r.array_of(|r| {
            let topic = AssignedTopic::decode_partitions(r)?;
            r.no_tags()?;
            Ok(topic)
        })?;
        r.no_tags()?;
        Ok(Self { topic_partitions })
    }
}

impl RecordValue for CurrentAssignmentValue {
    fn encode(&self, _version: i16, w: &mut Writer) {
        w.i32(self.member_epoch);
        w.i32(self.previous_member_epoch);
        w.i8(self.state);
        w.array_of(&self.assigned_partitions, AssignedTopic::encode_with_epochs);
        w.array_of(&self.partitions_pending_revocation, AssignedTopic::encode_with_epochs);
        w.no_tags();
    }

    fn decode(_version: i16, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let value = Self {
            member_epoch: r.i32()?,
            previous_member_epoch: r.i32()?,
            state: r.i8()?,
            assigned_partitions: r.array_of(AssignedTopic::decode_with_epochs)?,
            partitions_pending_revocation: r.array_of(AssignedTopic::decode_with_epochs)?,
        };
        r.no_tags()?;
        Ok(value)
    }
}

impl AssignedTopic {
    fn encode_partitions(&self, w: &mut Writer) {
        w.uuid(self.topic_id);
        w.array_of(&self.partitions, |w, partition| w.i32(partition.get()));
    }

    fn decode_partitions(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            topic_id: r.uuid()?,
            partitions: r.array_of(|r| r.i32().map(PartitionIndex::new))?,
            assignment_epochs: Vec::new(),
        })
    }

    fn encode_with_epochs(w: &mut Writer, topic: &Self) {
        topic.encode_partitions(w);
        let mut tags = Tags::default();
        let epochs = Some(&topic.assignment_epochs).filter(|epochs| !epochs.is_empty());
        tags.put_some(0, epochs, |w, epochs| w.array_of(epochs, |w, epoch| w.i32(*epoch)));
        w.tags(tags);
    }

    fn decode_with_epochs(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut topic = Self::decode_partitions(r)?;
        r.tags(|tag, r| {
            read_tag_0(tag, || {
                topic.assignment_epochs = r.nullable_array_of(Reader::i32)?.unwrap_or_default();
                Ok(())
            })
        })?;
        Ok(topic)
    }
}

impl RecordValue for RegularExpressionValue {
    fn encode(&self, _version: i16, w: &mut Writer) {
        w.array_of(&self.topics, |w, name| w.string(name.as_str()));
        w.i64(self.version);
        w.i64(self.timestamp.get());
        w.no_tags();
    }

    fn decode(_version: i16, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let value = Self {
            topics: topic_names(r)?,
            version: r.i64()?,
            timestamp: Timestamp::new(r.i64()?),
        };
        r.no_tags()?;
        Ok(value)
    }
}

fn non_zero(value: i64) -> Option<i64> {
    Some(value).filter(|value| *value != 0)
}

fn read_tag_0(tag: u32, read: impl FnOnce() -> Result<(), WireError>) -> Result<TagUse, WireError> {
    match tag {
        0 => read().map(|()| TagUse::Read),
        _ => Ok(TagUse::Unknown),
    }
}

/// Names of topics. Kafka takes any text for one; those that no topic can have are left out.
fn topic_names(r: &mut Reader<'_>) -> Result<Vec<TopicName>, WireError> {
    let names = r.array_of(|r| r.text().map(|name| TopicName::new(name).ok()))?;
    Ok(names.into_iter().flatten().collect())
}
