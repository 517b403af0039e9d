//! DescribeTopicPartitions (75), version 0. KIP-966.
//!
//! Topics come in the order of their names, however they are asked for; the cursor names the first partition of the next page.

use std::collections::BTreeSet;

use kafka_protocol::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use kafka_protocol::messages::{DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse};

use crate::broker::Broker;
use crate::broker::cluster::{LeaderState, TOPIC_OPERATIONS};
use crate::broker::topics::is_internal;
use crate::kafka::{ErrorCode, Outcome, Request, blocking, codec};
use crate::metadata::{Image, PartitionState, Topic};
use crate::types::TopicName;

/// Topics or partitions that are gone through on the async thread; more go to the blocking pool.
const INLINE_MAX: usize = 300;

/// What a topic or a partition takes while an answer is made, encoded and not.
const ELEMENT_BYTES: usize = 640;

/// Answers a DescribeTopicPartitions request.
pub fn handle(request: Request) -> Outcome {
    let body: DescribeTopicPartitionsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let page = Page {
        image: request.broker.metadata.image(),
        broker: std::sync::Arc::clone(&request.broker),
        partitions_max: partitions_max(&request, &body),
    };
    let topics = if body.topics.is_empty() { page.image.topics.len() } else { body.topics.len() };
    let partitions = page.partitions_max.min(page.image.partition_count);
    if topics.max(partitions) <= INLINE_MAX {
        return codec::reply(&respond(&page, &body), request.version);
    }
    let bytes = (body.topics.len() + partitions) * ELEMENT_BYTES;
    blocking::later_reply(request.broker, request.version, bytes, move |_| respond(&page, &body))
}

fn partitions_max(request: &Request, body: &DescribeTopicPartitionsRequest) -> usize {
    let asked = usize::try_from(body.response_partition_limit).unwrap_or(0);
    asked.min(request.broker.settings.max_request_partition_size_limit).max(1)
}

fn respond(page: &Page, body: &DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse {
    match start_of(body) {
        Ok(start) => page.from(&start, body),
        Err(OutOfPlace) => refused(body),
    }
}

/// Where a page begins.
struct Start<'a> {
    topic: &'a str,
    partition: usize,
}

/// A cursor that names a topic which is not asked for, or no partition.
struct OutOfPlace;

fn start_of(body: &DescribeTopicPartitionsRequest) -> Result<Start<'_>, OutOfPlace> {
    let Some(cursor) = &body.cursor else { return Ok(Start { topic: "", partition: 0 }) };
    let topic = cursor.topic_name.as_str();
    let asked = body.topics.is_empty() || body.topics.iter().any(|t| t.name.as_str() == topic);
    match usize::try_from(cursor.partition_index) {
        Ok(partition) if asked => Ok(Start { topic, partition }),
        Ok(_) | Err(_) => Err(OutOfPlace),
    }
}

fn refused(body: &DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse {
    let topic = |topic: &kafka_protocol::messages::TopicName| {
        DescribeTopicPartitionsResponseTopic::default()
            .with_error_code(ErrorCode::InvalidRequest.number())
            .with_name(Some(topic.clone()))
    };
    let topics = body.topics.iter().map(|asked| topic(&asked.name)).collect();
    DescribeTopicPartitionsResponse::default().with_topics(topics)
}

/// What a page is made from.
struct Page {
    image: std::sync::Arc<Image>,
    broker: std::sync::Arc<Broker>,
    partitions_max: usize,
}

impl Page {
    fn from(
        &self,
        start: &Start<'_>,
        body: &DescribeTopicPartitionsRequest,
    ) -> DescribeTopicPartitionsResponse {
        let mut room = self.partitions_max;
        let mut topics = Vec::new();
        for name in self.names(start, body) {
            if room == 0 {
                return finished(topics, Some(cursor(name, 0)));
            }
            let first = if name == start.topic { start.partition } else { 0 };
            let Some(topic) = self.image.topic(name) else {
                topics.push(unknown(name));
                continue;
            };
            let told = self.topic(topic, first, room);
            let next = first + told.partitions.len();
            room -= told.partitions.len();
            topics.push(told);
            if next < topic.partitions.len() {
                return finished(topics, Some(cursor(name, next)));
            }
        }
        finished(topics, None)
    }

    /// The topics from the start on, by name.
    fn names<'a>(
        &'a self,
        start: &Start<'_>,
        body: &'a DescribeTopicPartitionsRequest,
    ) -> BTreeSet<&'a str> {
        let reached = |name: &&str| *name >= start.topic;
        if body.topics.is_empty() {
            return self.image.topics.keys().map(TopicName::as_str).filter(reached).collect();
        }
        body.topics.iter().map(|topic| topic.name.as_str()).filter(reached).collect()
    }

    fn topic(
        &self,
        topic: &Topic,
        first: usize,
        room: usize,
    ) -> DescribeTopicPartitionsResponseTopic {
        let partitions = topic.partitions.iter().zip(0..).skip(first).take(room);
        DescribeTopicPartitionsResponseTopic::default()
            .with_name(Some(codec::topic_name(topic.name.as_str())))
            .with_topic_id(codec::id_to_wire(topic.id))
            .with_is_internal(is_internal(topic.name.as_str()))
            .with_partitions(
                partitions.map(|(state, index)| self.partition(index, state)).collect(),
            )
            .with_topic_authorized_operations(TOPIC_OPERATIONS)
    }

    fn partition(
        &self,
        index: i32,
        state: &PartitionState,
    ) -> DescribeTopicPartitionsResponsePartition {
        let leadership = self.broker.leadership(state);
        let error = match leadership.state {
            LeaderState::Led => ErrorCode::None,
            LeaderState::NoLeader => ErrorCode::LeaderNotAvailable,
        };
        DescribeTopicPartitionsResponsePartition::default()
            .with_error_code(error.number())
            .with_partition_index(index)
            .with_leader_id(codec::broker(leadership.leader))
            .with_leader_epoch(state.leader_epoch.get())
            .with_replica_nodes(codec::brokers(&state.replicas))
            .with_isr_nodes(codec::brokers(&state.isr))
            .with_eligible_leader_replicas(Some(codec::brokers(&state.eligible_leader_replicas)))
            .with_last_known_elr(Some(codec::brokers(&state.last_known_elr)))
            .with_offline_replicas(codec::brokers(&leadership.offline_replicas))
    }
}

fn unknown(name: &str) -> DescribeTopicPartitionsResponseTopic {
    let error = match TopicName::new(name) {
        Ok(_) => ErrorCode::UnknownTopicOrPartition,
        Err(_) => ErrorCode::InvalidTopicException,
    };
    DescribeTopicPartitionsResponseTopic::default()
        .with_error_code(error.number())
        .with_name(Some(codec::topic_name(name)))
        .with_is_internal(is_internal(name))
        .with_topic_authorized_operations(TOPIC_OPERATIONS)
}

fn cursor(name: &str, partition: usize) -> Cursor {
    Cursor::default()
        .with_topic_name(codec::topic_name(name))
        .with_partition_index(i32::try_from(partition).unwrap_or(i32::MAX))
}

fn finished(
    topics: Vec<DescribeTopicPartitionsResponseTopic>,
    next: Option<Cursor>,
) -> DescribeTopicPartitionsResponse {
    DescribeTopicPartitionsResponse::default().with_topics(topics).with_next_cursor(next)
}
