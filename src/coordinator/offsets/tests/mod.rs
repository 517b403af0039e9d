//! Committed offsets in a shard under a manual clock.

mod admin;
mod commit;
mod counts;
mod expiry;
mod model;
mod pending;
mod transactional;

use std::sync::Arc;

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions,
};
use kafka_protocol::messages::{JoinGroupRequest, OffsetCommitRequest, OffsetDeleteRequest};
use kafka_protocol::protocol::StrBytes;

use crate::coordinator::groups::{Call, Client, GroupCommand, GroupReply, GroupSettings};
use crate::coordinator::stepper::Stepper;

const HOUR_MS: u64 = 3_600_000;

fn stepper() -> Stepper {
    Stepper::new(GroupSettings {
        offsets_retention_ms: 24 * HOUR_MS as i64,
        offsets_retention_check_interval_ms: HOUR_MS as i64,
        ..GroupSettings::default()
    })
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn call<R>(version: i16, request: R) -> Call<R> {
    let client = Client { id: Arc::from("client"), host: Arc::from("/127.0.0.1") };
    Call { version, client, request }
}

/// One partition of a commit.
fn at(partition: i32, offset: i64) -> OffsetCommitRequestPartition {
    OffsetCommitRequestPartition::default()
        .with_partition_index(partition)
        .with_committed_offset(offset)
        .with_committed_leader_epoch(-1)
        .with_committed_metadata(Some(text("")))
}

/// A commit of a consumer that is in no group.
fn simple(
    stepper: &Stepper,
    group: &str,
    topic: &str,
    partitions: Vec<OffsetCommitRequestPartition>,
) -> OffsetCommitRequest {
    let id = stepper.image.topic(topic).map(|topic| topic.id).unwrap_or_default();
    let topic = OffsetCommitRequestTopic::default()
        .with_name(text(topic).into())
        .with_topic_id(uuid::Uuid::from_bytes(id.to_bytes()))
        .with_partitions(partitions);
    OffsetCommitRequest::default()
        .with_group_id(text(group).into())
        .with_generation_id_or_member_epoch(-1)
        .with_retention_time_ms(-1)
        .with_topics(vec![topic])
}

/// The error codes of the partitions.
fn commit(stepper: &mut Stepper, version: i16, request: OffsetCommitRequest) -> Vec<i16> {
    match stepper.ask(GroupCommand::CommitOffsets(call(version, request))) {
        GroupReply::CommitOffsets(response) => {
            let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
            partitions.map(|partition| partition.error_code).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn commit_simple(stepper: &mut Stepper, group: &str, topic: &str, partition: i32, offset: i64) {
    let request = simple(stepper, group, topic, vec![at(partition, offset)]);
    assert_eq!(commit(stepper, 9, request), [0]);
}

fn fetch_with(
    stepper: &mut Stepper,
    version: i16,
    group: OffsetFetchRequestGroup,
    require_stable: bool,
) -> OffsetFetchResponseGroup {
    match stepper.ask(GroupCommand::FetchOffsets { version, group, require_stable }) {
        GroupReply::FetchOffsets(response) => response,
        other => panic!("{other:?}"),
    }
}

/// What a partition of a group is answered.
fn fetch(
    stepper: &mut Stepper,
    group: &str,
    topic: &str,
    partition: i32,
) -> OffsetFetchResponsePartitions {
    let asked = OffsetFetchRequestTopics::default()
        .with_name(text(topic).into())
        .with_partition_indexes(vec![partition]);
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(text(group).into())
        .with_member_epoch(-1)
        .with_topics(Some(vec![asked]));
    let mut answer = fetch_with(stepper, 9, group, true);
    assert_eq!(answer.error_code, 0);
    answer.topics.remove(0).partitions.remove(0)
}

fn offset(stepper: &mut Stepper, group: &str, topic: &str, partition: i32) -> i64 {
    fetch(stepper, group, topic, partition).committed_offset
}

/// Every offset of a group.
fn fetch_all(stepper: &mut Stepper, group: &str) -> Vec<(String, i32, i64)> {
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(text(group).into())
        .with_member_epoch(-1)
        .with_topics(None);
    let answer = fetch_with(stepper, 9, group, false);
    let mut all = Vec::new();
    for topic in answer.topics {
        let name = topic.name.to_string();
        let partitions = topic.partitions.iter();
        all.extend(partitions.map(|p| (name.clone(), p.partition_index, p.committed_offset)));
    }
    all
}

/// The top-level code, and those of the partitions.
fn delete(stepper: &mut Stepper, group: &str, topic: &str, partitions: &[i32]) -> (i16, Vec<i16>) {
    let partition =
        |index: &i32| OffsetDeleteRequestPartition::default().with_partition_index(*index);
    let topic = OffsetDeleteRequestTopic::default()
        .with_name(text(topic).into())
        .with_partitions(partitions.iter().map(partition).collect());
    let request =
        OffsetDeleteRequest::default().with_group_id(text(group).into()).with_topics(vec![topic]);
    match stepper.ask(GroupCommand::DeleteOffsets(request)) {
        GroupReply::DeleteOffsets(response) => {
            let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
            (response.error_code, partitions.map(|partition| partition.error_code).collect())
        }
        other => panic!("{other:?}"),
    }
}

fn delete_group(stepper: &mut Stepper, group: &str) -> i16 {
    match stepper.ask(GroupCommand::DeleteGroup(group.into())) {
        GroupReply::DeleteGroup(result) => result.error_code,
        other => panic!("{other:?}"),
    }
}

/// Id, state and type of every group, by id.
fn list(stepper: &mut Stepper, states: &[&str], types: &[&str]) -> Vec<(String, String, String)> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let command = GroupCommand::List { states: owned(states), types: owned(types) };
    let GroupReply::List(groups) = stepper.ask(command) else { panic!("another reply") };
    let mut groups: Vec<_> = groups
        .iter()
        .map(|g| (g.group_id.to_string(), g.group_state.to_string(), g.group_type.to_string()))
        .collect();
    groups.sort();
    groups
}

/// A consumer that is alone in its group of the classic protocol. Its generation is 1.
struct Member {
    group: &'static str,
    id: String,
}

impl Member {
    /// Joins and takes its assignment.
    fn join(stepper: &mut Stepper, group: &'static str, topics: &[&str]) -> Self {
        let request = JoinGroupRequest::default()
            .with_group_id(text(group).into())
            .with_session_timeout_ms(30_000)
            .with_rebalance_timeout_ms(60_000)
            .with_protocol_type(text("consumer"))
            .with_protocols(vec![protocol(topics)]);
        // Before version 4 a member is admitted without an id of its own.
        let reply = stepper.ask(GroupCommand::Join(call(3, request)));
        let GroupReply::Join(joined) = reply else { panic!("{reply:?}") };
        assert_eq!((joined.error_code, joined.generation_id), (0, 1));
        let member = Self { group, id: joined.member_id.to_string() };
        member.sync(stepper);
        member
    }

    fn sync(&self, stepper: &mut Stepper) {
        let assignment =
            kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment::default()
                .with_member_id(text(&self.id));
        let request = kafka_protocol::messages::SyncGroupRequest::default()
            .with_group_id(text(self.group).into())
            .with_generation_id(1)
            .with_member_id(text(&self.id))
            .with_assignments(vec![assignment]);
        let reply = stepper.ask(GroupCommand::Sync(call(3, request)));
        let GroupReply::Sync(synced) = reply else { panic!("{reply:?}") };
        assert_eq!(synced.error_code, 0);
    }

    fn leave(&self, stepper: &mut Stepper) {
        let request = kafka_protocol::messages::LeaveGroupRequest::default()
            .with_group_id(text(self.group).into())
            .with_member_id(text(&self.id));
        let reply = stepper.ask(GroupCommand::Leave(call(2, request)));
        let GroupReply::Leave(left) = reply else { panic!("{reply:?}") };
        assert_eq!(left.error_code, 0);
    }

    /// What it sends to commit an offset.
    fn request(
        &self,
        stepper: &Stepper,
        generation: i32,
        topic: &str,
        offset: i64,
    ) -> OffsetCommitRequest {
        simple(stepper, self.group, topic, vec![at(0, offset)])
            .with_generation_id_or_member_epoch(generation)
            .with_member_id(text(&self.id))
    }
}

/// A subscription as consumers send it: version 0, topics, no user data.
fn protocol(
    topics: &[&str],
) -> kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol {
    let mut metadata = vec![0, 0];
    metadata.extend((topics.len() as i32).to_be_bytes());
    for topic in topics {
        metadata.extend((topic.len() as i16).to_be_bytes());
        metadata.extend(topic.as_bytes());
    }
    metadata.extend((-1_i32).to_be_bytes());
    kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol::default()
        .with_name(text("range"))
        .with_metadata(metadata.into())
}
