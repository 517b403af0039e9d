//! OffsetCommit and OffsetFetch of version 10, which name topics by id: the generated codec does not know their requests.

use bytes::{Bytes, BytesMut};
use highwater::kafka::codec::offsets::{self, TOPIC_IDS_FROM};
use highwater::kafka::wire::Writer;
use highwater::types::Uuid;
use kafka_protocol::messages::offset_commit_request::OffsetCommitRequestTopic;
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetFetchRequest};
use kafka_protocol::protocol::StrBytes;

use crate::messages::Decoded;

const OFFSET_COMMIT: i16 = 8;
const OFFSET_FETCH: i16 = 9;

/// Decodes the body of a request that only the product's own reader knows; `None` for any other.
pub(crate) fn request(key: i16, version: i16, body: &Bytes) -> Option<Result<Decoded, String>> {
    if version < TOPIC_IDS_FROM {
        return None;
    }
    match key {
        OFFSET_COMMIT => Some(recode(body, |body| offsets::commit_request(body, version), commit)),
        OFFSET_FETCH => Some(recode(body, |body| offsets::fetch_request(body, version), fetch)),
        _ => None,
    }
}

/// Reads `body` and writes it again.
pub(crate) fn recode<M: std::fmt::Debug, E: std::fmt::Display>(
    body: &Bytes,
    decode: impl Fn(Bytes) -> Result<M, E>,
    encode: fn(&M) -> Bytes,
) -> Result<Decoded, String> {
    let read = |len: usize| decode(body.slice(..len));
    let message = read(body.len()).map_err(|error| error.to_string())?;
    // The message ends with the byte without which it cannot be read.
    let lens: Vec<usize> = (0..=body.len()).collect();
    let end = lens.partition_point(|&len| read(len).is_err());
    Ok(Decoded { rest: body.len() - end, encoded: encode(&message), text: format!("{message:?}") })
}

/// Encodes an OffsetCommit request of version 10 (Kafka's `OffsetCommitRequest.json`).
pub(crate) fn commit(request: &OffsetCommitRequest) -> Bytes {
    let mut out = Writer::new(64, true);
    out.text(Some(&request.group_id));
    out.int32(request.generation_id_or_member_epoch);
    out.text(Some(&request.member_id));
    out.text(text(&request.group_instance_id));
    out.len(Some(request.topics.len()));
    request.topics.iter().for_each(|topic| commit_topic(&mut out, topic));
    out.tag_count(0);
    out.into_inner().freeze()
}

fn commit_topic(out: &mut Writer, topic: &OffsetCommitRequestTopic) {
    out.uuid(Uuid::from_bytes(topic.topic_id.into_bytes()));
    out.len(Some(topic.partitions.len()));
    for partition in &topic.partitions {
        out.int32(partition.partition_index);
        out.int64(partition.committed_offset);
        out.int32(partition.committed_leader_epoch);
        out.text(text(&partition.committed_metadata));
        out.tag_count(0);
    }
    out.tag_count(0);
}

/// Encodes an OffsetFetch request of version 10 (Kafka's `OffsetFetchRequest.json`).
pub(crate) fn fetch(request: &OffsetFetchRequest) -> Bytes {
    let mut out = Writer::new(64, true);
    out.len(Some(request.groups.len()));
    request.groups.iter().for_each(|group| fetch_group(&mut out, group));
    let mut rest = BytesMut::from(&[u8::from(request.require_stable), 0][..]);
    let mut body = out.into_inner();
    body.unsplit(rest.split());
    body.freeze()
}

fn fetch_group(out: &mut Writer, group: &OffsetFetchRequestGroup) {
    out.text(Some(&group.group_id));
    out.text(text(&group.member_id));
    out.int32(group.member_epoch);
    out.len(group.topics.as_ref().map(Vec::len));
    group.topics.iter().flatten().for_each(|topic| fetch_topic(out, topic));
    out.tag_count(0);
}

fn fetch_topic(out: &mut Writer, topic: &OffsetFetchRequestTopics) {
    out.uuid(Uuid::from_bytes(topic.topic_id.into_bytes()));
    out.len(Some(topic.partition_indexes.len()));
    topic.partition_indexes.iter().for_each(|index| out.int32(*index));
    out.tag_count(0);
}

fn text(text: &Option<StrBytes>) -> Option<&str> {
    text.as_ref().map(|text| text.as_str())
}
