//! OffsetCommit (8) and OffsetFetch (9): the generated decoder up to version 9, a reader of our own for version 10, which
//! names topics by id and which the generated one does not know.

use bytes::Bytes;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetFetchRequest};

use super::arrays::{array, nullable_array, nullable_text};
use super::{decode_body, id_to_wire, malformed, text};
use crate::kafka::handler::Disconnect;
use crate::kafka::wire::{Malformed, Reader};

/// First version that names topics by id (KIP-848).
pub const TOPIC_IDS_FROM: i16 = 10;

/// Reads an OffsetCommit request.
pub fn commit_request(body: Bytes, version: i16) -> Result<OffsetCommitRequest, Disconnect> {
    if version < TOPIC_IDS_FROM {
        return decode_body(body, version);
    }
    commit_by_id(&mut Reader::new(&body, true)).map_err(malformed)
}

/// Reads an OffsetFetch request.
pub fn fetch_request(body: Bytes, version: i16) -> Result<OffsetFetchRequest, Disconnect> {
    if version < TOPIC_IDS_FROM {
        return decode_body(body, version);
    }
    fetch_by_id(&mut Reader::new(&body, true)).map_err(malformed)
}

fn commit_by_id(reader: &mut Reader<'_>) -> Result<OffsetCommitRequest, Malformed> {
    let request = OffsetCommitRequest::default()
        .with_group_id(text(reader.text()?).into())
        .with_generation_id_or_member_epoch(reader.int32()?)
        .with_member_id(text(reader.text()?))
        .with_group_instance_id(nullable_text(reader)?)
        .with_topics(array(reader, commit_topic)?);
    reader.skip_tags()?;
    Ok(request)
}

fn commit_topic(reader: &mut Reader<'_>) -> Result<OffsetCommitRequestTopic, Malformed> {
    let topic = OffsetCommitRequestTopic::default()
        .with_topic_id(id_to_wire(reader.uuid()?))
        .with_partitions(array(reader, commit_partition)?);
    reader.skip_tags()?;
    Ok(topic)
}

fn commit_partition(reader: &mut Reader<'_>) -> Result<OffsetCommitRequestPartition, Malformed> {
    let partition = OffsetCommitRequestPartition::default()
        .with_partition_index(reader.int32()?)
        .with_committed_offset(reader.int64()?)
        .with_committed_leader_epoch(reader.int32()?)
        .with_committed_metadata(nullable_text(reader)?);
    reader.skip_tags()?;
    Ok(partition)
}

fn fetch_by_id(reader: &mut Reader<'_>) -> Result<OffsetFetchRequest, Malformed> {
    let request = OffsetFetchRequest::default()
        .with_groups(array(reader, fetch_group)?)
        .with_require_stable(reader.byte()? != 0);
    reader.skip_tags()?;
    Ok(request)
}

fn fetch_group(reader: &mut Reader<'_>) -> Result<OffsetFetchRequestGroup, Malformed> {
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(text(reader.text()?).into())
        .with_member_id(nullable_text(reader)?)
        .with_member_epoch(reader.int32()?)
        .with_topics(nullable_array(reader, fetch_topic)?);
    reader.skip_tags()?;
    Ok(group)
}

fn fetch_topic(reader: &mut Reader<'_>) -> Result<OffsetFetchRequestTopics, Malformed> {
    let topic = OffsetFetchRequestTopics::default()
        .with_topic_id(id_to_wire(reader.uuid()?))
        .with_partition_indexes(array(reader, Reader::int32)?);
    reader.skip_tags()?;
    Ok(topic)
}
