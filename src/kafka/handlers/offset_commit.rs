//! OffsetCommit (8), versions 2-10. KIP-211, KIP-320, KIP-345, KIP-482, KIP-848.
//!
//! Answers stand in the order of the request; Kafka puts what does not exist first.

use kafka_protocol::messages::offset_commit_request::OffsetCommitRequestTopic;
use kafka_protocol::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetCommitResponse};

use super::asked_topics::AskedTopic;
use crate::coordinator::groups::GroupCommand;
use crate::kafka::codec::TopicKey;
use crate::kafka::codec::offsets::{self, TOPIC_IDS_FROM};
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators, groups};
use crate::metadata::Image;

/// Answers an OffsetCommit request.
pub fn handle(request: Request) -> Outcome {
    let version = request.version;
    let mut body = match offsets::commit_request(request.body.clone(), version) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let asked = take_out_unknown(&mut body, &request.broker.metadata.image(), version);
    if body.topics.is_empty() {
        // Not even the group is looked at.
        return codec::reply(&response(&asked, || 0), version);
    }
    let group = body.group_id.clone();
    let command = GroupCommand::CommitOffsets(groups::call(&request, body));
    let committed = groups::ask(&request.broker, &group, command);
    coordinators::later(version, async move {
        match committed.await {
            Ok(committed) => merged(&asked, &committed),
            Err(code) => response(&asked, || code.number()),
        }
    })
}

/// What the request asked for. What exists of it stays in the request, named by name and by id.
fn take_out_unknown(
    body: &mut OffsetCommitRequest,
    image: &Image,
    version: i16,
) -> Vec<AskedTopic> {
    let mut all = Vec::with_capacity(body.topics.len());
    body.topics.retain_mut(|topic| {
        let indices = topic.partitions.iter().map(|partition| partition.partition_index);
        let asked = AskedTopic::of(image, key(topic, version), indices);
        asked.retain_existing(&mut topic.partitions);
        topic.name = asked.name.clone();
        topic.topic_id = asked.id;
        if asked.is_answered() {
            all.push(asked);
        }
        !topic.partitions.is_empty()
    });
    all
}

fn key(topic: &OffsetCommitRequestTopic, version: i16) -> TopicKey<'_> {
    if version >= TOPIC_IDS_FROM {
        TopicKey::Id(codec::id_from_wire(topic.topic_id))
    } else {
        TopicKey::Name(&topic.name)
    }
}

/// The coordinator answers what it was asked, in that order.
fn merged(asked: &[AskedTopic], committed: &OffsetCommitResponse) -> OffsetCommitResponse {
    let mut codes = committed.topics.iter().flat_map(|topic| &topic.partitions);
    let mut next = || codes.next().map(|partition| partition.error_code);
    response(asked, || next().unwrap_or(ErrorCode::UnknownServerError.number()))
}

fn response(asked: &[AskedTopic], mut code: impl FnMut() -> i16) -> OffsetCommitResponse {
    let partition = |(index, code)| {
        OffsetCommitResponsePartition::default().with_partition_index(index).with_error_code(code)
    };
    let topics = asked.iter().map(|topic| {
        OffsetCommitResponseTopic::default()
            .with_name(topic.name.clone())
            .with_topic_id(topic.id)
            .with_partitions(topic.codes(&mut code).map(partition).collect())
    });
    OffsetCommitResponse::default().with_topics(topics.collect())
}
