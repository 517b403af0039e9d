//! Requests of members of groups, as far as tests say the same in them.

use std::sync::Arc;

use bytes::Bytes;
use highwater::coordinator::groups::{Call, Client};
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::{JoinGroupRequest, OffsetCommitRequest};
use kafka_protocol::protocol::StrBytes;

pub fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// A request as it comes from a client.
pub fn call<R>(version: i16, request: R) -> Call<R> {
    let client = Client { id: Arc::from("client-1"), host: Arc::from("/127.0.0.1") };
    Call { version, client, request }
}

/// A first JoinGroup, whose metadata has `said` bytes.
pub fn join_request(group: &str, said: usize) -> JoinGroupRequest {
    let protocol = JoinGroupRequestProtocol::default()
        .with_name(text("range"))
        .with_metadata(Bytes::from(vec![7; said]));
    JoinGroupRequest::default()
        .with_group_id(text(group).into())
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol])
}

/// Offsets of one topic, as a consumer without a membership commits them.
pub fn commit_request(
    group: &str,
    topic: &str,
    offsets: Vec<OffsetCommitRequestPartition>,
) -> OffsetCommitRequest {
    let topic =
        OffsetCommitRequestTopic::default().with_name(text(topic).into()).with_partitions(offsets);
    OffsetCommitRequest::default()
        .with_group_id(text(group).into())
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![topic])
}

pub fn offset_of(partition: i32, offset: i64) -> OffsetCommitRequestPartition {
    OffsetCommitRequestPartition::default()
        .with_partition_index(partition)
        .with_committed_offset(offset)
}

/// Offset 7 in each of the first partitions, with this metadata.
pub fn offsets_with(partitions: i32, metadata: &str) -> Vec<OffsetCommitRequestPartition> {
    let offset = |index| offset_of(index, 7).with_committed_metadata(Some(text(metadata)));
    (0..partitions).map(offset).collect()
}
