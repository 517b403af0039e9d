//! Records of the metadata log and its snapshots (Kafka's `metadata` messages), and control records of every log.

use serde_json::{Value, json};

use super::Decoded;
use super::schema::{self, Field, Kind, Secrets, field};
use crate::metadata::records::Versioned;
use crate::metadata::records::wire::{Reader, WireError};

/// Number, name and fields of each type.
const TYPES: &[(u32, &str, &[Field])] = &[
    (0, "REGISTER_BROKER_RECORD", REGISTER_BROKER),
    (1, "UNREGISTER_BROKER_RECORD", BROKER),
    (2, "TOPIC_RECORD", &[field("name", Kind::Text), field("topicId", Kind::Uuid)]),
    (3, "PARTITION_RECORD", PARTITION),
    (4, "CONFIG_RECORD", CONFIG),
    (5, "PARTITION_CHANGE_RECORD", PARTITION_CHANGE),
    (7, "FENCE_BROKER_RECORD", FENCE),
    (8, "UNFENCE_BROKER_RECORD", FENCE),
    (9, "REMOVE_TOPIC_RECORD", &[field("topicId", Kind::Uuid)]),
    (10, "DELEGATION_TOKEN_RECORD", TOKEN),
    (11, "USER_SCRAM_CREDENTIAL_RECORD", SCRAM),
    (12, "FEATURE_LEVEL_RECORD", &[field("name", Kind::Text), field("featureLevel", Kind::I16)]),
    (14, "CLIENT_QUOTA_RECORD", QUOTA),
    (15, "PRODUCER_IDS_RECORD", PRODUCER_IDS),
    (17, "BROKER_REGISTRATION_CHANGE_RECORD", REGISTRATION_CHANGE),
    (18, "ACCESS_CONTROL_ENTRY_RECORD", ACL),
    (19, "REMOVE_ACCESS_CONTROL_ENTRY_RECORD", &[field("id", Kind::Uuid)]),
    (20, "NO_OP_RECORD", &[]),
    (21, "ZK_MIGRATION_STATE_RECORD", &[field("zkMigrationState", Kind::I8)]),
    (
        22,
        "REMOVE_USER_SCRAM_CREDENTIAL_RECORD",
        &[field("name", Kind::Text), field("mechanism", Kind::I8)],
    ),
    (23, "BEGIN_TRANSACTION_RECORD", &[field("name", Kind::NullableText).tagged(0)]),
    (24, "END_TRANSACTION_RECORD", &[]),
    (25, "ABORT_TRANSACTION_RECORD", &[field("reason", Kind::NullableText).tagged(0)]),
    (26, "REMOVE_DELEGATION_TOKEN_RECORD", &[field("tokenId", Kind::Text)]),
    (27, "REGISTER_CONTROLLER_RECORD", REGISTER_CONTROLLER),
    (28, "CLEAR_ELR_RECORD", &[field("topicName", Kind::Text)]),
    (29, "UNREGISTER_CONTROLLER_RECORD", &[field("controllerId", Kind::I32)]),
];

const REGISTER_BROKER: &[Field] = &[
    field("brokerId", Kind::I32),
    field("isMigratingZkBroker", Kind::Bool).since(2),
    field("incarnationId", Kind::Uuid),
    field("brokerEpoch", Kind::I64),
    field("endPoints", Kind::Array(&Kind::Struct(ENDPOINT))),
    field("features", Kind::Array(&Kind::Struct(FEATURE))),
    field("rack", Kind::NullableText),
    field("fenced", Kind::Bool),
    field("inControlledShutdown", Kind::Bool).since(1),
    field("logDirs", Kind::Array(&Kind::Uuid)).since(3).tagged(0),
    field("cordonedLogDirs", Kind::NullableArray(&Kind::Uuid)).since(4).tagged(1),
];

const ENDPOINT: &[Field] = &[
    field("name", Kind::Text),
    field("host", Kind::Text),
    field("port", Kind::U16),
    field("securityProtocol", Kind::I16),
];

const FEATURE: &[Field] = &[
    field("name", Kind::Text),
    field("minSupportedVersion", Kind::I16),
    field("maxSupportedVersion", Kind::I16),
];

const BROKER: &[Field] = &[field("brokerId", Kind::I32), field("brokerEpoch", Kind::I64)];

const FENCE: &[Field] = &[field("id", Kind::I32), field("epoch", Kind::I64)];

const NODES: Kind = Kind::Array(&Kind::I32);

const NODES_OR_NULL: Kind = Kind::NullableArray(&Kind::I32);

const PARTITION: &[Field] = &[
    field("partitionId", Kind::I32),
    field("topicId", Kind::Uuid),
    field("replicas", NODES),
    field("isr", NODES),
    field("removingReplicas", NODES),
    field("addingReplicas", NODES),
    field("leader", Kind::I32),
    field("leaderEpoch", Kind::I32),
    field("partitionEpoch", Kind::I32),
    field("directories", Kind::Array(&Kind::Uuid)).since(1),
    field("leaderRecoveryState", Kind::I8).tagged(0),
    field("eligibleLeaderReplicas", NODES_OR_NULL).since(2).tagged(1),
    field("lastKnownElr", NODES_OR_NULL).since(2).tagged(2),
];

const CONFIG: &[Field] = &[
    field("resourceType", Kind::I8),
    field("resourceName", Kind::Text),
    field("name", Kind::Text),
    field("value", Kind::NullableText),
];

const PARTITION_CHANGE: &[Field] = &[
    field("partitionId", Kind::I32),
    field("topicId", Kind::Uuid),
    field("isr", NODES_OR_NULL).tagged(0),
    field("leader", Kind::I32).tagged(1),
    field("replicas", NODES_OR_NULL).tagged(2),
    field("removingReplicas", NODES_OR_NULL).tagged(3),
    field("addingReplicas", NODES_OR_NULL).tagged(4),
    field("leaderRecoveryState", Kind::I8).tagged(5),
    field("eligibleLeaderReplicas", NODES_OR_NULL).since(2).tagged(6),
    field("lastKnownElr", NODES_OR_NULL).since(2).tagged(7),
    field("directories", Kind::NullableArray(&Kind::Uuid)).since(1).tagged(8),
];

const TOKEN: &[Field] = &[
    field("owner", Kind::Text),
    field("requester", Kind::Text),
    field("renewers", Kind::Array(&Kind::Text)),
    field("issueTimestamp", Kind::I64),
    field("maxTimestamp", Kind::I64),
    field("expirationTimestamp", Kind::I64),
    field("tokenId", Kind::Text),
];

const SCRAM: &[Field] = &[
    field("name", Kind::Text),
    field("mechanism", Kind::I8),
    field("salt", Kind::Secret),
    field("storedKey", Kind::Secret),
    field("serverKey", Kind::Secret),
    field("iterations", Kind::I32),
];

const QUOTA: &[Field] = &[
    field("entity", Kind::Array(&Kind::Struct(QUOTA_ENTITY))),
    field("key", Kind::Text),
    field("value", Kind::F64),
    field("remove", Kind::Bool),
];

const QUOTA_ENTITY: &[Field] =
    &[field("entityType", Kind::Text), field("entityName", Kind::NullableText)];

const PRODUCER_IDS: &[Field] = &[
    field("brokerId", Kind::I32),
    field("brokerEpoch", Kind::I64),
    field("nextProducerId", Kind::I64),
];

const REGISTRATION_CHANGE: &[Field] = &[
    field("brokerId", Kind::I32),
    field("brokerEpoch", Kind::I64),
    field("fenced", Kind::I8).tagged(0),
    field("inControlledShutdown", Kind::I8).since(1).tagged(1),
    field("logDirs", Kind::Array(&Kind::Uuid)).since(2).tagged(2),
    field("cordonedLogDirs", Kind::NullableArray(&Kind::Uuid)).since(3).tagged(3),
];

const ACL: &[Field] = &[
    field("id", Kind::Uuid),
    field("resourceType", Kind::I8),
    field("resourceName", Kind::Text),
    field("patternType", Kind::I8),
    field("principal", Kind::Text),
    field("host", Kind::Text),
    field("operation", Kind::I8),
    field("permissionType", Kind::I8),
];

const REGISTER_CONTROLLER: &[Field] = &[
    field("controllerId", Kind::I32),
    field("incarnationId", Kind::Uuid),
    field("zkMigrationReady", Kind::Bool),
    field("endPoints", Kind::Array(&Kind::Struct(ENDPOINT))),
    field("features", Kind::Array(&Kind::Struct(FEATURE))),
];

/// Number, name and fields of each control record whose value is a message with its version in front.
const CONTROL_TYPES: &[(i16, &str, &[Field])] = &[
    (0, "ABORT", &[field("coordinatorEpoch", Kind::I32)]),
    (1, "COMMIT", &[field("coordinatorEpoch", Kind::I32)]),
    (2, "LEADER_CHANGE", LEADER_CHANGE),
    (3, "SNAPSHOT_HEADER", &[field("lastContainedLogTimestamp", Kind::I64)]),
    (4, "SNAPSHOT_FOOTER", &[]),
    (5, "KRAFT_VERSION", &[field("kRaftVersion", Kind::I16)]),
    (6, "KRAFT_VOTERS", &[field("voters", Kind::Array(&Kind::Struct(QUORUM_VOTER)))]),
];

const LEADER_CHANGE: &[Field] = &[
    field("leaderId", Kind::I32),
    field("voters", Kind::Array(&Kind::Struct(VOTER))),
    field("grantingVoters", Kind::Array(&Kind::Struct(VOTER))),
];

const VOTER: &[Field] =
    &[field("voterId", Kind::I32), field("voterDirectoryId", Kind::Uuid).since(1)];

const QUORUM_VOTER: &[Field] = &[
    field("voterId", Kind::I32),
    field("voterDirectoryId", Kind::Uuid),
    field("endpoints", Kind::Array(&Kind::Struct(VOTER_ENDPOINT))),
    field("kRaftVersionFeature", Kind::Struct(VERSIONS)),
];

const VOTER_ENDPOINT: &[Field] =
    &[field("name", Kind::Text), field("host", Kind::Text), field("port", Kind::U16)];

const VERSIONS: &[Field] =
    &[field("minSupportedVersion", Kind::I16), field("maxSupportedVersion", Kind::I16)];

/// The last type whose value has no tagged fields: a transaction's marker.
const LAST_MARKER: i16 = 1;

pub(super) fn decode(value: Option<&[u8]>, secrets: Secrets) -> Decoded {
    let Some(value) = value else {
        let damage = Some("a record without a value".to_owned());
        return Decoded { key: None, value: None, damage };
    };
    let damage = Versioned::decode(value).err().map(|error| error.to_string());
    match read(value, secrets) {
        Ok(shown) => Decoded { key: None, value: shown, damage },
        Err(error) => {
            Decoded { key: None, value: None, damage: damage.or(Some(error.to_string())) }
        }
    }
}

fn read(value: &[u8], secrets: Secrets) -> Result<Option<Value>, WireError> {
    let mut r = Reader::new(value);
    let (_frame, number, version) =
        (r.unsigned_varint()?, r.unsigned_varint()?, r.unsigned_varint()?);
    let Some((_, name, fields)) = TYPES.iter().find(|(known, ..)| *known == number) else {
        return Ok(None);
    };
    let version = i16::try_from(version).unwrap_or(i16::MAX);
    let data = schema::read(fields, version, &mut r, secrets)?;
    Ok(Some(json!({ "type": name, "version": version, "data": data })))
}

pub(super) fn decode_control(key: &[u8], value: &[u8]) -> Option<(&'static str, Value)> {
    let mut key = Reader::inflexible(key);
    key.i16().ok()?;
    let number = key.i16().ok()?;
    let (_, name, fields) = CONTROL_TYPES.iter().find(|(known, ..)| *known == number)?;
    let is_marker = number <= LAST_MARKER;
    let mut r = if is_marker { Reader::inflexible(value) } else { Reader::new(value) };
    let version = r.i16().ok()?;
    let mut shown = schema::read(fields, version, &mut r, Secrets::Hidden).ok()?;
    if let Value::Object(shown) = &mut shown {
        shown.insert("version".to_owned(), version.into());
    }
    Some((name, shown))
}
