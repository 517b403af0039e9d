//! TxnOffsetCommit (28): the generated codec up to version 5, one of our own for version 6, which names topics by id and which the
//! generated one does not know.

use bytes::Bytes;
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use kafka_protocol::messages::{
    ProducerId, TopicName, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};

use super::arrays::{array, nullable_text};
use super::{decode_body, id_from_wire, malformed, text};
use crate::kafka::handler::{Disconnect, Response};
use crate::kafka::wire::{Malformed, Reader, Writer};
use crate::types::TopicId;

/// First version that names topics by id.
pub const TOPIC_IDS_FROM: i16 = 6;

/// A request of any version.
#[derive(Debug)]
pub struct TxnOffsetCommit {
    /// What all versions say. Topics that are named by id have an empty name.
    pub request: TxnOffsetCommitRequest,
    /// Ids of the topics, where they are named by id; empty where they are not.
    pub topic_ids: Vec<TopicId>,
}

/// What became of it.
#[derive(Debug)]
pub struct Committed {
    /// In the order of the answer.
    pub topics: Vec<CommittedTopic>,
}

/// What became of the partitions of a topic.
#[derive(Debug)]
pub struct CommittedTopic {
    /// Its name; not told where topics are named by id.
    pub name: TopicName,
    /// Its id; not told where topics are named by name.
    pub id: uuid::Uuid,
    /// Index and error code of each partition.
    pub partitions: Vec<(i32, i16)>,
}

/// Reads a request.
pub fn request(body: Bytes, version: i16) -> Result<TxnOffsetCommit, Disconnect> {
    if version < TOPIC_IDS_FROM {
        return Ok(TxnOffsetCommit { request: decode_body(body, version)?, topic_ids: Vec::new() });
    }
    by_id(&mut Reader::new(&body, true)).map_err(malformed)
}

/// Writes an answer.
pub fn encode(committed: &Committed, version: i16) -> Result<Response, Disconnect> {
    if version < TOPIC_IDS_FROM {
        return super::encode(&by_name(committed), version);
    }
    let mut out = Writer::new(64, true);
    out.int32(0);
    out.len(Some(committed.topics.len()));
    for topic in &committed.topics {
        out.uuid(id_from_wire(topic.id));
        out.len(Some(topic.partitions.len()));
        for (index, code) in &topic.partitions {
            out.int32(*index);
            out.int16(*code);
            out.tag_count(0);
        }
        out.tag_count(0);
    }
    out.tag_count(0);
    Ok(out.into_inner().into())
}

fn by_name(committed: &Committed) -> TxnOffsetCommitResponse {
    let partition = |(index, code): &(i32, i16)| {
        TxnOffsetCommitResponsePartition::default()
            .with_partition_index(*index)
            .with_error_code(*code)
    };
    let topics = committed.topics.iter().map(|topic| {
        TxnOffsetCommitResponseTopic::default()
            .with_name(topic.name.clone())
            .with_partitions(topic.partitions.iter().map(partition).collect())
    });
    TxnOffsetCommitResponse::default().with_topics(topics.collect())
}

fn by_id(reader: &mut Reader<'_>) -> Result<TxnOffsetCommit, Malformed> {
    let request = TxnOffsetCommitRequest::default()
        .with_transactional_id(text(reader.text()?).into())
        .with_group_id(text(reader.text()?).into())
        .with_producer_id(ProducerId(reader.int64()?))
        .with_producer_epoch(reader.int16()?)
        .with_generation_id(reader.int32()?)
        .with_member_id(text(reader.text()?))
        .with_group_instance_id(nullable_text(reader)?);
    let topics = array(reader, topic)?;
    reader.skip_tags()?;
    let (topic_ids, topics) = topics.into_iter().unzip();
    Ok(TxnOffsetCommit { request: request.with_topics(topics), topic_ids })
}

fn topic(reader: &mut Reader<'_>) -> Result<(TopicId, TxnOffsetCommitRequestTopic), Malformed> {
    let id = reader.uuid()?;
    let topic = TxnOffsetCommitRequestTopic::default().with_partitions(array(reader, partition)?);
    reader.skip_tags()?;
    Ok((id, topic))
}

fn partition(reader: &mut Reader<'_>) -> Result<TxnOffsetCommitRequestPartition, Malformed> {
    let partition = TxnOffsetCommitRequestPartition::default()
        .with_partition_index(reader.int32()?)
        .with_committed_offset(reader.int64()?)
        .with_committed_leader_epoch(reader.int32()?)
        .with_committed_metadata(nullable_text(reader)?);
    reader.skip_tags()?;
    Ok(partition)
}
