//! The records of `__consumer_offsets` (Kafka's `group-coordinator/src/main/resources/common/message`).
//!
//! A key is an `i16` record type and the fields of that type, strings with an `i16` length; a value is an `i16` version and
//! the fields of that version, in the encoding of [`crate::metadata::records::wire`]. A null value is a tombstone. Types that are not listed here (share and streams groups) are
//! skipped when they are read, and stay in the log.

mod classic_group;
mod consumer_group;
mod offset_commit;
#[cfg(test)]
mod tests;

pub use classic_group::{ClassicGroupMember, ClassicGroupValue};
pub use consumer_group::{
    AssignedTopic, ClassicMemberMetadata, ConsumerGroupValue, ConsumerMemberValue,
    CurrentAssignmentValue, RegularExpressionValue, TargetAssignmentValue, TargetMemberValue,
};
pub use offset_commit::OffsetCommitValue;

use super::machine::{InvalidRecord, KeyValue};
use super::{GroupId, MemberId};
use crate::metadata::records::wire::{Reader, WireError, Writer};
use crate::types::{PartitionIndex, TopicName};

/// One record; `value` is `None` in a tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's message definitions")]
pub enum GroupRecord {
    /// Types 0 and 1: a committed offset.
    OffsetCommit {
        group: GroupId,
        topic: TopicName,
        partition: PartitionIndex,
        value: Option<OffsetCommitValue>,
    },
    /// Type 2: a group of the classic protocol, with its members and their assignments.
    ClassicGroup { group: GroupId, value: Option<ClassicGroupValue> },
    /// Type 3: the epoch of a group of the new protocol.
    ConsumerGroup { group: GroupId, value: Option<ConsumerGroupValue> },
    /// Type 4: what Kafka before 4.1 knew of the partitions of subscribed topics. Read and forgotten, written as a
    /// tombstone where an older Kafka left one.
    ConsumerGroupPartitions { group: GroupId, is_tombstone: bool },
    /// Type 5: a member and what it subscribes to.
    ConsumerMember { group: GroupId, member: MemberId, value: Option<ConsumerMemberValue> },
    /// Type 6: the epoch of the target assignment.
    TargetAssignment { group: GroupId, value: Option<TargetAssignmentValue> },
    /// Type 7: a member's part of the target assignment.
    TargetMember { group: GroupId, member: MemberId, value: Option<TargetMemberValue> },
    /// Type 8: what a member has and what it still has to let go.
    CurrentAssignment { group: GroupId, member: MemberId, value: Option<CurrentAssignmentValue> },
    /// Type 16: the topics that a regular expression matched.
    RegularExpression { group: GroupId, expression: String, value: Option<RegularExpressionValue> },
}

/// The value of one type of record.
trait RecordValue: Sized {
    /// The newest version that is read.
    const NEWEST: i16 = 0;
    /// The first version in the flexible encoding.
    const FIRST_FLEXIBLE: i16 = 0;

    /// The version that it is written in.
    fn version(&self) -> i16 {
        0
    }

    /// Its fields.
    fn encode(&self, version: i16, w: &mut Writer);

    /// The reverse.
    fn decode(version: i16, r: &mut Reader<'_>) -> Result<Self, WireError>;
}

/// Key and value as Kafka 4.4 writes them.
pub fn encode(record: &GroupRecord) -> KeyValue {
    use GroupRecord as R;
    let (key, value) = match record {
        R::OffsetCommit { group, topic, partition, value } => {
            let mut key = key_of(1, group, Some(topic.as_str()));
            key.i32(partition.get());
            (key, encode_value(value.as_ref()))
        }
        R::ClassicGroup { group, value } => (key_of(2, group, None), encode_value(value.as_ref())),
        R::ConsumerGroup { group, value } => (key_of(3, group, None), encode_value(value.as_ref())),
        R::ConsumerGroupPartitions { group, is_tombstone } => {
            (key_of(4, group, None), (!is_tombstone).then(no_partitions))
        }
        R::ConsumerMember { group, member, value } => {
            (key_of(5, group, Some(member.as_str())), encode_value(value.as_ref()))
        }
        R::TargetAssignment { group, value } => {
            (key_of(6, group, None), encode_value(value.as_ref()))
        }
        R::TargetMember { group, member, value } => {
            (key_of(7, group, Some(member.as_str())), encode_value(value.as_ref()))
        }
        R::CurrentAssignment { group, member, value } => {
            (key_of(8, group, Some(member.as_str())), encode_value(value.as_ref()))
        }
        R::RegularExpression { group, expression, value } => {
            (key_of(16, group, Some(expression)), encode_value(value.as_ref()))
        }
    };
    KeyValue { key: key.into_bytes(), value }
}

/// `None` for a type that is not listed here, and for offsets of a topic that cannot exist.
///
/// Never panics, and allocates no more than a small multiple of the bytes. What follows the last field is ignored, as Kafka
/// does: a log that it can load must load here.
pub fn decode(key: &[u8], value: Option<&[u8]>) -> Result<Option<GroupRecord>, InvalidRecord> {
    let mut key = Reader::inflexible(key);
    let kind = key.i16().map_err(|error| InvalidRecord(format!("the key: {error}")))?;
    decode_type(kind, &mut key, value)
        .map_err(|error| InvalidRecord(format!("a record of type {kind}: {error}")))
}

fn decode_type(
    kind: i16,
    key: &mut Reader<'_>,
    value: Option<&[u8]>,
) -> Result<Option<GroupRecord>, Unreadable> {
    use GroupRecord as R;
    if !matches!(kind, 0..=8 | 16) {
        return Ok(None);
    }
    let group = GroupId::new(key.text()?);
    Ok(Some(match kind {
        0 | 1 => {
            let Ok(topic) = TopicName::new(key.text()?) else { return Ok(None) };
            let partition = PartitionIndex::new(key.i32()?);
            R::OffsetCommit { group, topic, partition, value: decode_value(value)? }
        }
        2 => R::ClassicGroup { group, value: decode_value(value)? },
        3 => R::ConsumerGroup { group, value: decode_value(value)? },
        4 => R::ConsumerGroupPartitions { group, is_tombstone: value.is_none() },
        5 => {
            let member = key.text()?.into();
            R::ConsumerMember { group, member, value: decode_value(value)? }
        }
        6 => R::TargetAssignment { group, value: decode_value(value)? },
        7 => R::TargetMember { group, member: key.text()?.into(), value: decode_value(value)? },
        8 => {
            let member = key.text()?.into();
            R::CurrentAssignment { group, member, value: decode_value(value)? }
        }
        _ => R::RegularExpression { group, expression: key.string()?, value: decode_value(value)? },
    }))
}

#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error(transparent)]
    Malformed(#[from] WireError),
    #[error("version {0} of the value is unknown, a newer Kafka wrote it")]
    Version(i16),
}

fn key_of(kind: i16, group: &GroupId, second: Option<&str>) -> Writer {
    let mut key = Writer::inflexible();
    key.i16(kind);
    key.string(group.as_str());
    if let Some(text) = second {
        key.string(text);
    }
    key
}

fn encode_value<V: RecordValue>(value: Option<&V>) -> Option<Vec<u8>> {
    let value = value?;
    let version = value.version();
    let flexible = version >= V::FIRST_FLEXIBLE;
    let mut writer = if flexible { Writer::default() } else { Writer::inflexible() };
    writer.i16(version);
    value.encode(version, &mut writer);
    Some(writer.into_bytes())
}

fn decode_value<V: RecordValue>(value: Option<&[u8]>) -> Result<Option<V>, Unreadable> {
    let Some(bytes) = value else { return Ok(None) };
    let version = Reader::new(bytes).i16()?;
    if !(0..=V::NEWEST).contains(&version) {
        return Err(Unreadable::Version(version));
    }
    let flexible = version >= V::FIRST_FLEXIBLE;
    // The version was just read.
    let body = &bytes[size_of::<i16>()..];
    let mut reader = if flexible { Reader::new(body) } else { Reader::inflexible(body) };
    Ok(Some(V::decode(version, &mut reader)?))
}

/// A value of type 4 that lists no topic.
fn no_partitions() -> Vec<u8> {
    let mut writer = Writer::default();
    writer.i16(0);
    writer.array_of(&[(); 0], |_, ()| {});
    writer.no_tags();
    writer.into_bytes()
}
