//! ListPartitionReassignments (46), version 0. KIP-455.
//!
//! One node moves nothing; what is listed is what a metadata log taken over from a larger cluster has left unfinished.

use kafka_protocol::messages::list_partition_reassignments_response::{
    OngoingPartitionReassignment, OngoingTopicReassignment,
};
use kafka_protocol::messages::{
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse,
};

use crate::kafka::{Outcome, Request, blocking, codec};
use crate::metadata::{Image, PartitionState, Topic};

/// Partitions that are looked at on the async thread.
const PARTITIONS_INLINE_MAX: usize = 2_000;

/// What a partition that moves takes in the answer. Few do at a time: one in so many is counted on.
const MOVING_BYTES: usize = 256;
const MOVING_SHARE: usize = 16;

/// Answers a ListPartitionReassignments request.
pub fn handle(request: Request) -> Outcome {
    let body: ListPartitionReassignmentsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let image = request.broker.metadata.image();
    if image.partition_count <= PARTITIONS_INLINE_MAX {
        return codec::reply(&respond(&body, &image), request.version);
    }
    let bytes = image.partition_count / MOVING_SHARE * MOVING_BYTES;
    blocking::later_reply(request.broker, request.version, bytes, move |_| respond(&body, &image))
}

fn respond(
    body: &ListPartitionReassignmentsRequest,
    image: &Image,
) -> ListPartitionReassignmentsResponse {
    let topics: Vec<OngoingTopicReassignment> = match &body.topics {
        None => {
            let mut all: Vec<&Topic> = image.topics.values().map(AsRef::as_ref).collect();
            all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            all.into_iter().filter_map(|topic| ongoing(topic, |_| true)).collect()
        }
        Some(asked) => asked
            .iter()
            .filter_map(|asked| {
                let topic = image.topic(asked.name.as_str())?;
                ongoing(topic, |index| asked.partition_indexes.contains(&index))
            })
            .collect(),
    };
    ListPartitionReassignmentsResponse::default().with_error_message(None).with_topics(topics)
}

fn ongoing(topic: &Topic, asked: impl Fn(i32) -> bool) -> Option<OngoingTopicReassignment> {
    let moving =
        topic.partitions.iter().zip(0..).filter(|(state, index)| is_moving(state) && asked(*index));
    let partitions: Vec<_> = moving.map(|(state, index)| partition(index, state)).collect();
    let topic =
        OngoingTopicReassignment::default().with_name(codec::topic_name(topic.name.as_str()));
    (!partitions.is_empty()).then(|| topic.with_partitions(partitions))
}

fn is_moving(state: &PartitionState) -> bool {
    !state.adding_replicas.is_empty() || !state.removing_replicas.is_empty()
}

fn partition(index: i32, state: &PartitionState) -> OngoingPartitionReassignment {
    OngoingPartitionReassignment::default()
        .with_partition_index(index)
        .with_replicas(codec::brokers(&state.replicas))
        .with_adding_replicas(codec::brokers(&state.adding_replicas))
        .with_removing_replicas(codec::brokers(&state.removing_replicas))
}
