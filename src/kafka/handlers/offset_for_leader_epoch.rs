//! OffsetForLeaderEpoch (23), versions 2-4. KIP-101, KIP-279, KIP-320, KIP-482.

use kafka_protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderTopic;
use kafka_protocol::messages::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderTopicResult,
};
use kafka_protocol::messages::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};

use crate::broker::{FetchError, ListedOffset, ListedOffsets, OffsetQuery, OffsetQuestion};
use crate::kafka::{Outcome, Request, codec, read_errors};
use crate::log::Isolation;
use crate::types::{LeaderEpoch, PartitionIndex};

/// Answers an OffsetForLeaderEpoch request.
pub fn handle(request: Request) -> Outcome {
    let body: OffsetForLeaderEpochRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, .. } = request;
    let mut questions = Vec::new();
    for topic in &body.topics {
        questions.extend(topic.partitions.iter().map(|partition| OffsetQuestion {
            partition: broker.find_by_name(&topic.topic, PartitionIndex::new(partition.partition)),
            current_leader_epoch: LeaderEpoch::new(partition.current_leader_epoch),
            query: OffsetQuery::EndOfEpoch(LeaderEpoch::new(partition.leader_epoch)),
        }));
    }
    let topics = body.topics;
    let ask = move || broker.list_offsets(questions, Isolation::ReadUncommitted);
    Outcome::in_turn(ask, move |offsets| codec::encode(&response(topics, &offsets), version))
}

fn response(
    topics: Vec<OffsetForLeaderTopic>,
    offsets: &ListedOffsets,
) -> OffsetForLeaderEpochResponse {
    let mut offsets = offsets.iter();
    let topics = topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().zip(offsets.by_ref());
        let partitions = partitions.map(|(asked, listed)| partition(asked.partition, listed));
        OffsetForLeaderTopicResult::default()
            .with_partitions(partitions.collect())
            .with_topic(topic.topic)
    });
    OffsetForLeaderEpochResponse::default().with_topics(topics.collect())
}

/// An unknown epoch is no error: both fields are −1, which are the defaults.
fn partition(index: i32, listed: &Result<ListedOffset, FetchError>) -> EpochEndOffset {
    let end = EpochEndOffset::default().with_partition(index);
    match listed {
        Ok(listed) => {
            end.with_leader_epoch(listed.leader_epoch.get()).with_end_offset(listed.offset.get())
        }
        Err(error) => end.with_error_code(read_errors::code(*error).number()),
    }
}
