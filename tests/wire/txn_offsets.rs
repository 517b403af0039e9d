//! TxnOffsetCommit of version 6, which names topics by id: the generated codec does not know it.

use bytes::Bytes;
use highwater::kafka::codec::txn_offsets::{self, TOPIC_IDS_FROM, TxnOffsetCommit};
use highwater::kafka::wire::{Malformed, Reader, Writer};
use highwater::types::Uuid;
use kafka_protocol::messages::txn_offset_commit_request::TxnOffsetCommitRequestTopic;
use kafka_protocol::protocol::StrBytes;

use crate::messages::Decoded;
use crate::topic_ids::recode;

const TXN_OFFSET_COMMIT: i16 = 28;

/// What became of the partitions of topics.
pub(crate) type Codes = Vec<(Uuid, Vec<(i32, i16)>)>;

/// Decodes the body of a request that only the product's own reader knows; `None` for any other.
pub(crate) fn request(key: i16, version: i16, body: &Bytes) -> Option<Result<Decoded, String>> {
    let is_own = key == TXN_OFFSET_COMMIT && version >= TOPIC_IDS_FROM;
    is_own.then(|| recode(body, |body| txn_offsets::request(body, TOPIC_IDS_FROM), encode))
}

/// Decodes the body of an answer that the generated codec does not know; `None` for any other.
pub(crate) fn response(key: i16, version: i16, body: &Bytes) -> Option<Result<Decoded, String>> {
    let is_own = key == TXN_OFFSET_COMMIT && version >= TOPIC_IDS_FROM;
    is_own.then(|| recode(body, |body| codes(&body), encode_codes))
}

/// Encodes a request (Kafka's `TxnOffsetCommitRequest.json`).
pub(crate) fn encode(commit: &TxnOffsetCommit) -> Bytes {
    let TxnOffsetCommit { request, topic_ids } = commit;
    let text = |text: &Option<StrBytes>| text.as_ref().map(|text| text.to_string());
    let mut out = Writer::new(64, true);
    out.text(Some(&request.transactional_id));
    out.text(Some(&request.group_id));
    out.int64(request.producer_id.0);
    out.int16(request.producer_epoch);
    out.int32(request.generation_id);
    out.text(Some(&request.member_id));
    out.text(text(&request.group_instance_id).as_deref());
    out.len(Some(topic_ids.len()));
    topic_ids
        .iter()
        .zip(&request.topics)
        .for_each(|(id, topic)| encode_topic(&mut out, *id, topic));
    out.tag_count(0);
    out.into_inner().freeze()
}

fn encode_topic(out: &mut Writer, id: Uuid, topic: &TxnOffsetCommitRequestTopic) {
    out.uuid(id);
    out.len(Some(topic.partitions.len()));
    for partition in &topic.partitions {
        out.int32(partition.partition_index);
        out.int64(partition.committed_offset);
        out.int32(partition.committed_leader_epoch);
        out.text(partition.committed_metadata.as_ref().map(|text| text.as_str()));
        out.tag_count(0);
    }
    out.tag_count(0);
}

/// Decodes an answer (Kafka's `TxnOffsetCommitResponse.json`), which must not be throttled.
pub(crate) fn codes(body: &Bytes) -> Result<Codes, Malformed> {
    let reader = &mut Reader::new(body, true);
    assert_eq!(reader.int32()?, 0, "throttled");
    let mut topics = Vec::new();
    for _ in 0..reader.elements(1)? {
        let id = reader.uuid()?;
        let mut partitions = Vec::new();
        for _ in 0..reader.elements(1)? {
            partitions.push((reader.int32()?, reader.int16()?));
            reader.skip_tags()?;
        }
        reader.skip_tags()?;
        topics.push((id, partitions));
    }
    reader.skip_tags()?;
    Ok(topics)
}

fn encode_codes(codes: &Codes) -> Bytes {
    let mut out = Writer::new(64, true);
    out.int32(0);
    out.len(Some(codes.len()));
    for (id, partitions) in codes {
        out.uuid(*id);
        out.len(Some(partitions.len()));
        for (index, code) in partitions {
            out.int32(*index);
            out.int16(*code);
            out.tag_count(0);
        }
        out.tag_count(0);
    }
    out.tag_count(0);
    out.into_inner().freeze()
}
