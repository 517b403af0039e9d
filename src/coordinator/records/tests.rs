//! Against records that Apache Kafka wrote, and what it says they are.

use std::io::Read;

use serde_json::{Value, json};

use super::*;
use crate::types::{Timestamp, TopicId};

const RECORDS: &[u8] = include_bytes!("../../../tests/golden/groups/records.jsonl.gz");

struct Golden {
    line: Value,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

impl Golden {
    fn all() -> Vec<Self> {
        let mut text = String::new();
        flate2::read::GzDecoder::new(RECORDS).read_to_string(&mut text).expect("gzip of text");
        let records: Vec<Self> = text.lines().map(Self::parse).collect();
        assert!(records.len() > 250, "{}", records.len());
        records
    }

    fn parse(line: &str) -> Self {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let key = hex(line["key"].as_str().expect("a key"));
        let value = line["value"].as_str().map(hex);
        Self { line, key, value }
    }

    fn kind(&self) -> i64 {
        self.line["type"].as_i64().expect("a type")
    }

    fn version(&self) -> Option<i64> {
        self.line["version"].as_i64()
    }

    fn decode(&self) -> Option<GroupRecord> {
        decode(&self.key, self.value.as_deref()).unwrap_or_else(|e| panic!("{e}: {}", self.line))
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex");
    (0..text.len()).step_by(2).map(digits).collect()
}

#[test]
fn what_kafka_wrote_is_read_as_kafka_reads_it() {
    for golden in Golden::all() {
        let Some(record) = golden.decode() else {
            assert!(golden.kind() > 8 && golden.kind() != 16, "{}", golden.line);
            continue;
        };
        let (key, value) = as_kafka_prints(&record);
        assert_eq!(key, golden.line["keyData"], "{}", golden.line);
        // What a value of type 4 says is not kept.
        let expected = golden.line.get("data").filter(|_| golden.kind() != 4);
        let same = agree(&value, expected.unwrap_or(&Value::Null));
        assert!(same, "{value} {}", golden.line);
    }
}

#[test]
fn what_is_written_is_kafkas_to_the_byte() {
    let mut compared = 0;
    for golden in Golden::all() {
        let Some(record) = golden.decode() else { continue };
        let newest = match golden.kind() {
            1 => [None, Some(1), Some(4)].contains(&golden.version()),
            2 => [None, Some(3)].contains(&golden.version()),
            // The values of type 4 are forgotten.
            4 => golden.version().is_none(),
            0 => false,
            _ => true,
        };
        // An offset of version 1 that never expires is written as one of version 4.
        if newest && golden.line["data"]["expireTimestamp"] != json!(-1) {
            let expected = KeyValue { key: golden.key.clone(), value: golden.value.clone() };
            assert_eq!(encode(&record), expected, "{}", golden.line);
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn every_version_ends_up_in_the_written_one_without_loss() {
    for golden in Golden::all() {
        let Some(record) = golden.decode() else { continue };
        if golden.kind() == 4 {
            continue;
        }
        let KeyValue { key, value } = encode(&record);
        assert_eq!(decode(&key, value.as_deref()), Ok(Some(record)), "{}", golden.line);
    }
}

#[test]
fn a_record_cut_short_is_refused() {
    for golden in Golden::all() {
        if golden.decode().is_none() {
            continue;
        }
        for len in 0..golden.key.len() {
            assert!(decode(&golden.key[..len], golden.value.as_deref()).is_err());
        }
        let Some(value) = golden.value.as_deref().filter(|_| golden.kind() != 4) else { continue };
        for len in 0..value.len() {
            assert!(decode(&golden.key, Some(&value[..len])).is_err(), "{} {len}", golden.line);
        }
    }
}

#[test]
fn a_version_of_a_newer_kafka_is_refused_by_its_number() {
    let key = key_of(2, &"group".into(), None).into_bytes();
    let error = decode(&key, Some(&[0, 5])).expect_err("unknown");
    assert!(error.to_string().contains("version 5"), "{error}");
    assert!(decode(&key, Some(&[0xff, 0xff])).is_err());
}

#[test]
fn names_that_no_topic_can_have_are_left_out() {
    let record = GroupRecord::OffsetCommit {
        group: "group".into(),
        topic: TopicName::new("topic").expect("legal"),
        partition: PartitionIndex::new(0),
        value: None,
    };
    let mut key = encode(&record).key;
    let name_at = key.iter().position(|byte| *byte == b't').expect("the name");
    key[name_at] = b'/';
    assert_eq!(decode(&key, None), Ok(None));
}

#[test]
fn the_empty_list_of_partitions_of_kafka_4_0_is_written() {
    let group = GroupId::new("group");
    let bytes = encode(&GroupRecord::ConsumerGroupPartitions { group, is_tombstone: false });
    assert_eq!(bytes.value, Some(vec![0, 0, 1, 0]));
}

/// Every field that Kafka prints is the same here, and what an older version lacks has its default.
fn agree(ours: &Value, kafkas: &Value) -> bool {
    match (ours, kafkas) {
        (Value::Object(ours), Value::Object(kafkas)) => {
            let default = [json!(-1), json!(0), json!([]), json!(TopicId::ZERO.to_string())];
            kafkas.iter().all(|(name, value)| ours.get(name).is_some_and(|own| agree(own, value)))
                && ours.iter().all(|(name, own)| {
                    kafkas.contains_key(name)
                        || own.is_null()
                        || default.contains(own)
                        || name == "rebalanceTimeout" && *own == ours["sessionTimeout"]
                })
        }
        (Value::Array(ours), Value::Array(kafkas)) => {
            ours.len() == kafkas.len() && ours.iter().zip(kafkas).all(|(a, b)| agree(a, b))
        }
        _ => ours == kafkas,
    }
}

/// Key and value in the form of Kafka's dump tool.
fn as_kafka_prints(record: &GroupRecord) -> (Value, Value) {
    use GroupRecord as R;
    let member_key = |group: &GroupId, member: &MemberId| json!({"groupId": group.as_str(), "memberId": member.as_str()});
    let group_key = |group: &GroupId| json!({"groupId": group.as_str()});
    match record {
        R::OffsetCommit { group, topic, partition, value } => (
            json!({"group": group.as_str(), "topic": topic.as_str(), "partition": partition.get()}),
            value.as_ref().map_or(Value::Null, offset),
        ),
        R::ClassicGroup { group, value } => {
            (json!({"group": group.as_str()}), value.as_ref().map_or(Value::Null, classic_group))
        }
        R::ConsumerGroup { group, value } => {
            let value = value
                .as_ref()
                .map(|value| json!({"epoch": value.epoch, "metadataHash": value.metadata_hash}));
            (group_key(group), json!(value))
        }
        R::ConsumerGroupPartitions { group, .. } => (group_key(group), Value::Null),
        R::ConsumerMember { group, member, value } => {
            (member_key(group, member), value.as_ref().map_or(Value::Null, consumer_member))
        }
        R::TargetAssignment { group, value } => {
            let value = value.as_ref().map(|value| {
                json!({
                    "assignmentEpoch": value.assignment_epoch,
                    "assignmentTimestamp": value.assignment_timestamp.get(),
                })
            });
            (group_key(group), json!(value))
        }
        R::TargetMember { group, member, value } => {
            let value = value
                .as_ref()
                .map(|value| json!({"topicPartitions": assigned(&value.topic_partitions)}));
            (member_key(group, member), json!(value))
        }
        R::CurrentAssignment { group, member, value } => {
            (member_key(group, member), value.as_ref().map_or(Value::Null, current_assignment))
        }
        R::RegularExpression { group, expression, value } => (
            json!({"groupId": group.as_str(), "regularExpression": expression}),
            value.as_ref().map_or(Value::Null, regular_expression),
        ),
    }
}

fn offset(value: &OffsetCommitValue) -> Value {
    json!({
        "offset": value.offset.get(),
        "leaderEpoch": value.leader_epoch.get(),
        "metadata": value.metadata,
        "commitTimestamp": value.commit_timestamp.get(),
        "expireTimestamp": value.expire_timestamp.unwrap_or(Timestamp::NONE).get(),
        "topicId": value.topic_id.to_string(),
    })
}

fn classic_group(value: &ClassicGroupValue) -> Value {
    let member = |member: &ClassicGroupMember| {
        json!({
            "memberId": member.member_id.as_str(),
            "groupInstanceId": member.group_instance_id.as_ref().map(|id| id.as_str()),
            "clientId": member.client_id,
            "clientHost": member.client_host,
            "rebalanceTimeout": member.rebalance_timeout_ms,
            "sessionTimeout": member.session_timeout_ms,
            "subscription": base64(&member.subscription),
            "assignment": base64(&member.assignment),
        })
    };
    json!({
        "protocolType": value.protocol_type,
        "generation": value.generation,
        "protocol": value.protocol,
        "leader": value.leader.as_ref().map(|id| id.as_str()),
        "currentStateTimestamp": value.current_state_timestamp.get(),
        "members": value.members.iter().map(member).collect::<Vec<_>>(),
    })
}

fn consumer_member(value: &ConsumerMemberValue) -> Value {
    let protocol =
        |(name, metadata): &(String, _)| json!({"name": name, "metadata": base64(metadata)});
    let classic = value.classic.as_ref().map(|classic| {
        json!({
            "sessionTimeoutMs": classic.session_timeout_ms,
            "supportedProtocols": classic.supported_protocols.iter().map(protocol).collect::<Vec<_>>(),
        })
    });
    json!({
        "instanceId": value.instance_id.as_ref().map(|id| id.as_str()),
        "rackId": value.rack_id,
        "clientId": value.client_id,
        "clientHost": value.client_host,
        "subscribedTopicNames": names(&value.subscribed_topic_names),
        "subscribedTopicRegex": value.subscribed_topic_regex,
        "rebalanceTimeoutMs": value.rebalance_timeout_ms,
        "serverAssignor": value.server_assignor,
        "classicMemberMetadata": classic.filter(|_| value.classic != Some(ClassicMemberMetadata::default())),
    })
}

fn current_assignment(value: &CurrentAssignmentValue) -> Value {
    json!({
        "memberEpoch": value.member_epoch,
        "previousMemberEpoch": value.previous_member_epoch,
        "state": value.state,
        "assignedPartitions": assigned(&value.assigned_partitions),
        "partitionsPendingRevocation": assigned(&value.partitions_pending_revocation),
    })
}

fn assigned(topics: &[AssignedTopic]) -> Value {
    let topic = |topic: &AssignedTopic| {
        json!({
            "topicId": topic.topic_id.to_string(),
            "partitions": topic.partitions.iter().map(|p| p.get()).collect::<Vec<_>>(),
            "assignmentEpochs": topic.assignment_epochs,
        })
    };
    topics.iter().map(topic).collect()
}

fn regular_expression(value: &RegularExpressionValue) -> Value {
    json!({
        "topics": names(&value.topics),
        "version": value.version,
        "timestamp": value.timestamp.get(),
    })
}

fn names(topics: &[TopicName]) -> Vec<&str> {
    topics.iter().map(TopicName::as_str).collect()
}

fn base64(bytes: &bytes::Bytes) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
