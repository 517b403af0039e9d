//! The records of `__consumer_offsets` (Kafka's `group-coordinator/src/main/resources/common/message`).
//!
//! A key is an `i16` record type and the fields of that type, strings with an `i16` length; a value is an `i16` version and
//! the fields of that version. A null value is a tombstone. Types that are not listed here (share and streams groups) are
//! skipped when they are read, and stay in the log.

mod classic_group;
mod consumer_group;
mod offset_commit;

pub use classic_group::{ClassicGroupMember, ClassicGroupValue};
pub use consumer_group::{
    AssignedTopic, ClassicMemberMetadata, ConsumerGroupValue, ConsumerMemberValue,
    CurrentAssignmentValue, RegularExpressionValue, TargetAssignmentValue, TargetMemberValue,
};
pub use offset_commit::OffsetCommitValue;

use super::machine::{InvalidRecord, KeyValue};
use super::{GroupId, MemberId};
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

/// Key and value as Kafka 4.4 writes them.
pub fn encode(_record: &GroupRecord) -> KeyValue {
    unimplemented!("offsets")
}

/// `None` for a type that is not listed here.
pub fn decode(_key: &[u8], _value: Option<&[u8]>) -> Result<Option<GroupRecord>, InvalidRecord> {
    unimplemented!("offsets")
}
