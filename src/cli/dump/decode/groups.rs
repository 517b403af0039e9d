//! `__consumer_offsets` and `__share_group_state` (Kafka's `group-coordinator` and `share-coordinator` messages).

use super::schema::{Field, Kind, field};
use super::{Decoded, RecordType, decoded_with};
use crate::coordinator::machine::InvalidRecord;
use crate::coordinator::records;

const fn group_type(number: i16, key: &'static [Field], value: &'static [Field]) -> RecordType {
    RecordType { number, key, value, newest: 0, first_flexible: 0 }
}

const TYPES: &[RecordType] = &[
    RecordType { newest: 4, first_flexible: 4, ..group_type(0, COMMIT_KEY, COMMIT) },
    RecordType { newest: 4, first_flexible: 4, ..group_type(1, COMMIT_KEY, COMMIT) },
    RecordType { newest: 4, first_flexible: 4, ..group_type(2, CLASSIC_KEY, CLASSIC) },
    group_type(3, GROUP_KEY, EPOCH_AND_HASH),
    group_type(4, GROUP_KEY, PARTITION_METADATA),
    group_type(5, MEMBER_KEY, MEMBER),
    group_type(6, GROUP_KEY, TARGET),
    group_type(7, MEMBER_KEY, TARGET_MEMBER),
    group_type(8, MEMBER_KEY, CURRENT),
    group_type(10, MEMBER_KEY, SHARE_MEMBER),
    group_type(11, GROUP_KEY, SHARE_GROUP),
    group_type(12, GROUP_KEY, TARGET),
    group_type(13, MEMBER_KEY, TARGET_MEMBER),
    group_type(14, MEMBER_KEY, SHARE_CURRENT),
    group_type(15, GROUP_KEY, SHARE_STATE_PARTITIONS),
    group_type(16, EXPRESSION_KEY, EXPRESSION),
];

const COMMIT_KEY: &[Field] =
    &[field("group", Kind::Text), field("topic", Kind::Text), field("partition", Kind::I32)];

const COMMIT: &[Field] = &[
    field("offset", Kind::I64),
    field("leaderEpoch", Kind::I32).since(3),
    field("metadata", Kind::Text),
    field("commitTimestamp", Kind::I64),
    field("expireTimestamp", Kind::I64).since(1).until(1),
    field("topicId", Kind::Uuid).since(4).tagged(0),
];

const CLASSIC_KEY: &[Field] = &[field("group", Kind::Text)];

const CLASSIC: &[Field] = &[
    field("protocolType", Kind::Text),
    field("generation", Kind::I32),
    field("protocol", Kind::NullableText),
    field("leader", Kind::NullableText),
    field("currentStateTimestamp", Kind::I64).since(2),
    field("members", Kind::Array(&Kind::Struct(CLASSIC_MEMBER))),
];

const CLASSIC_MEMBER: &[Field] = &[
    field("memberId", Kind::Text),
    field("groupInstanceId", Kind::NullableText).since(3),
    field("clientId", Kind::Text),
    field("clientHost", Kind::Text),
    field("rebalanceTimeout", Kind::I32).since(1),
    field("sessionTimeout", Kind::I32),
    field("subscription", Kind::Message(SUBSCRIPTION)),
    field("assignment", Kind::Message(ASSIGNMENT)),
];

const SUBSCRIPTION: &[Field] = &[
    field("topics", Kind::Array(&Kind::Text)),
    field("userData", Kind::NullableBytes),
    field("ownedPartitions", Kind::Array(&Kind::Struct(TOPIC_PARTITIONS))).since(1),
    field("generationId", Kind::I32).since(2),
    field("rackId", Kind::NullableText).since(3),
];

const ASSIGNMENT: &[Field] = &[
    field("assignedPartitions", Kind::Array(&Kind::Struct(TOPIC_PARTITIONS))),
    field("userData", Kind::NullableBytes),
];

const TOPIC_PARTITIONS: &[Field] =
    &[field("topic", Kind::Text), field("partitions", Kind::Array(&Kind::I32))];

const GROUP_KEY: &[Field] = &[field("groupId", Kind::Text)];

const MEMBER_KEY: &[Field] = &[field("groupId", Kind::Text), field("memberId", Kind::Text)];

const EPOCH_AND_HASH: &[Field] =
    &[field("epoch", Kind::I32), field("metadataHash", Kind::I64).tagged(0)];

const PARTITION_METADATA: &[Field] = &[field("topics", Kind::Array(&Kind::Struct(TOPIC_METADATA)))];

const TOPIC_METADATA: &[Field] = &[
    field("topicId", Kind::Uuid),
    field("topicName", Kind::Text),
    field("numPartitions", Kind::I32),
    field("partitionMetadata", Kind::Array(&Kind::Struct(RACKS))),
];

const RACKS: &[Field] = &[field("partition", Kind::I32), field("racks", Kind::Array(&Kind::Text))];

const MEMBER: &[Field] = &[
    field("instanceId", Kind::NullableText),
    field("rackId", Kind::NullableText),
    field("clientId", Kind::Text),
    field("clientHost", Kind::Text),
    field("subscribedTopicNames", Kind::Array(&Kind::Text)),
    field("subscribedTopicRegex", Kind::NullableText),
    field("rebalanceTimeoutMs", Kind::I32),
    field("serverAssignor", Kind::NullableText),
    field("classicMemberMetadata", Kind::NullableStruct(CLASSIC_METADATA)).tagged(0),
];

const CLASSIC_METADATA: &[Field] = &[
    field("sessionTimeoutMs", Kind::I32),
    field("supportedProtocols", Kind::Array(&Kind::Struct(PROTOCOL))),
];

const PROTOCOL: &[Field] = &[field("name", Kind::Text), field("metadata", Kind::Bytes)];

const TARGET: &[Field] =
    &[field("assignmentEpoch", Kind::I32), field("assignmentTimestamp", Kind::I64).tagged(0)];

const TARGET_MEMBER: &[Field] =
    &[field("topicPartitions", Kind::Array(&Kind::Struct(ID_PARTITIONS)))];

const ID_PARTITIONS: &[Field] =
    &[field("topicId", Kind::Uuid), field("partitions", Kind::Array(&Kind::I32))];

const ASSIGNED: &[Field] = &[
    field("topicId", Kind::Uuid),
    field("partitions", Kind::Array(&Kind::I32)),
    field("assignmentEpochs", Kind::NullableArray(&Kind::I32)).tagged(0),
];

const CURRENT: &[Field] = &[
    field("memberEpoch", Kind::I32),
    field("previousMemberEpoch", Kind::I32),
    field("state", Kind::I8),
    field("assignedPartitions", Kind::Array(&Kind::Struct(ASSIGNED))),
    field("partitionsPendingRevocation", Kind::Array(&Kind::Struct(ASSIGNED))),
];

const EXPRESSION_KEY: &[Field] =
    &[field("groupId", Kind::Text), field("regularExpression", Kind::Text)];

const EXPRESSION: &[Field] = &[
    field("topics", Kind::Array(&Kind::Text)),
    field("version", Kind::I64),
    field("timestamp", Kind::I64),
];

const SHARE_GROUP: &[Field] = &[field("epoch", Kind::I32), field("metadataHash", Kind::I64)];

const SHARE_MEMBER: &[Field] = &[
    field("rackId", Kind::NullableText),
    field("clientId", Kind::Text),
    field("clientHost", Kind::Text),
    field("subscribedTopicNames", Kind::Array(&Kind::Text)),
];

const SHARE_CURRENT: &[Field] = &[
    field("memberEpoch", Kind::I32),
    field("previousMemberEpoch", Kind::I32),
    field("state", Kind::I8),
    field("assignedPartitions", Kind::Array(&Kind::Struct(ID_PARTITIONS))),
];

const SHARE_STATE_PARTITIONS: &[Field] = &[
    field("initializingTopics", Kind::Array(&Kind::Struct(SHARE_TOPIC))),
    field("initializedTopics", Kind::Array(&Kind::Struct(SHARE_TOPIC))),
    field("deletingTopics", Kind::Array(&Kind::Struct(DELETING_TOPIC))),
];

const SHARE_TOPIC: &[Field] = &[
    field("topicId", Kind::Uuid),
    field("topicName", Kind::Text),
    field("partitions", Kind::Array(&Kind::I32)),
];

const DELETING_TOPIC: &[Field] = &[field("topicId", Kind::Uuid), field("topicName", Kind::Text)];

const SHARE_STATE_TYPES: &[RecordType] =
    &[group_type(0, SHARE_STATE_KEY, SHARE_SNAPSHOT), group_type(1, SHARE_STATE_KEY, SHARE_UPDATE)];

const SHARE_STATE_KEY: &[Field] =
    &[field("groupId", Kind::Text), field("topicId", Kind::Uuid), field("partition", Kind::I32)];

const SHARE_SNAPSHOT: &[Field] = &[
    field("snapshotEpoch", Kind::I32),
    field("stateEpoch", Kind::I32),
    field("leaderEpoch", Kind::I32),
    field("startOffset", Kind::I64),
    field("createTimestamp", Kind::I64),
    field("writeTimestamp", Kind::I64),
    field("stateBatches", Kind::Array(&Kind::Struct(STATE_BATCH))),
    field("deliveryCompleteCount", Kind::I32).tagged(0),
];

const SHARE_UPDATE: &[Field] = &[
    field("snapshotEpoch", Kind::I32),
    field("leaderEpoch", Kind::I32),
    field("startOffset", Kind::I64),
    field("stateBatches", Kind::Array(&Kind::Struct(STATE_BATCH))),
    field("deliveryCompleteCount", Kind::I32).tagged(0),
];

const STATE_BATCH: &[Field] = &[
    field("firstOffset", Kind::I64),
    field("lastOffset", Kind::I64),
    field("deliveryState", Kind::I8),
    field("deliveryCount", Kind::I16),
];

pub(super) fn decode(key: Option<&[u8]>, value: Option<&[u8]>) -> Decoded {
    decoded_with(TYPES, key, value, |key, value| records::decode(key, value).map(drop))
}

/// The engine does not read these.
pub(super) fn decode_share_state(key: Option<&[u8]>, value: Option<&[u8]>) -> Decoded {
    decoded_with(SHARE_STATE_TYPES, key, value, |_, _| Ok::<(), InvalidRecord>(()))
}
