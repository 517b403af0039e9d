//! OffsetDelete (47), version 0. KIP-496.
//!
//! Answers stand in the order of the request; Kafka puts what does not exist first.

use kafka_protocol::messages::offset_delete_response::{
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use kafka_protocol::messages::{OffsetDeleteRequest, OffsetDeleteResponse};

use super::asked_topics::AskedTopic;
use crate::coordinator::groups::GroupCommand;
use crate::kafka::codec::TopicKey;
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators, groups};
use crate::metadata::Image;

/// Answers an OffsetDelete request.
pub fn handle(request: Request) -> Outcome {
    let mut body: OffsetDeleteRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    if body.group_id.is_empty() {
        return codec::reply(&failed(ErrorCode::InvalidGroupId.number()), version);
    }
    let asked = take_out_unknown(&mut body, &request.broker.metadata.image());
    let group = body.group_id.clone();
    let command = GroupCommand::DeleteOffsets(body);
    let deleted = groups::ask(&request.broker, &group, command);
    coordinators::later(version, async move {
        match deleted.await {
            Ok(deleted) => merged(&asked, &deleted),
            Err(code) => failed(code.number()),
        }
    })
}

/// An error of the whole request tells nothing of its topics.
fn failed(code: i16) -> OffsetDeleteResponse {
    OffsetDeleteResponse::default().with_error_code(code)
}

/// What the request asked for. What exists of it stays in the request.
fn take_out_unknown(body: &mut OffsetDeleteRequest, image: &Image) -> Vec<AskedTopic> {
    let mut all = Vec::with_capacity(body.topics.len());
    body.topics.retain_mut(|topic| {
        let indices = topic.partitions.iter().map(|partition| partition.partition_index);
        let asked = AskedTopic::of(image, TopicKey::Name(&topic.name), indices);
        asked.retain_existing(&mut topic.partitions);
        if asked.is_answered() {
            all.push(asked);
        }
        !topic.partitions.is_empty()
    });
    all
}

/// The coordinator answers what it was asked, in that order.
fn merged(asked: &[AskedTopic], deleted: &OffsetDeleteResponse) -> OffsetDeleteResponse {
    if deleted.error_code != 0 {
        return failed(deleted.error_code);
    }
    let mut codes = deleted.topics.iter().flat_map(|topic| &topic.partitions);
    let mut next = || {
        let code = codes.next().map(|partition| partition.error_code);
        code.unwrap_or(ErrorCode::UnknownServerError.number())
    };
    let partition = |(index, code)| {
        OffsetDeleteResponsePartition::default().with_partition_index(index).with_error_code(code)
    };
    let topics = asked.iter().map(|topic| {
        OffsetDeleteResponseTopic::default()
            .with_name(topic.name.clone())
            .with_partitions(topic.codes(&mut next).map(partition).collect())
    });
    OffsetDeleteResponse::default().with_topics(topics.collect())
}
