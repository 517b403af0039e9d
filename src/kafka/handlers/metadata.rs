//! Metadata (3), versions 0-13. KIP-4, KIP-53, KIP-78, KIP-112, KIP-320, KIP-430, KIP-482, KIP-516, KIP-700, KIP-1102.
//!
//! Deviations: a topic that is made because the client asks for it is answered with its leader at once, where Kafka answers
//! UNKNOWN_TOPIC_OR_PARTITION until it is there; a topic that cannot be made is answered with the reason. Answers stand in the
//! order of the request; Kafka puts topics that are not there last.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{MetadataRequest, MetadataResponse};

use super::create_topics;
use crate::broker::cluster::{
    CLUSTER_OPERATIONS, LeaderState, OPERATIONS_NOT_ASKED, TOPIC_OPERATIONS,
};
use crate::broker::topics::{NotCreated, is_internal};
use crate::kafka::codec::LongList;
use crate::kafka::{Disconnect, ErrorCode, Outcome, Request, Response, blocking, codec};
use crate::metadata::{Image, PartitionState, Topic};
use crate::types::{TopicId, TopicName};

/// Topics and partitions that are answered on the async thread. One takes about 0.3 microseconds, so this stays below a tenth of
/// a millisecond; longer answers are made on the blocking pool, in memory out of the byte budget.
const INLINE_MAX: usize = 300;

/// What a topic or a partition takes in an answer, about: names are longer, most partitions shorter.
const ELEMENT_BYTES: usize = 64;

/// First version in which a topic may have an id in the place of its name.
const NULL_NAMES_FROM: i16 = 10;

/// First version with compact lengths and tags.
const FLEXIBLE_FROM: i16 = 9;

/// Answers a Metadata request.
pub fn handle(request: Request) -> Outcome {
    let body: MetadataRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    let has_null = || body.topics.iter().flatten().any(|topic| topic.name.is_none());
    if version < NULL_NAMES_FROM && has_null() || version == 0 && body.topics.is_none() {
        return Outcome::Close(Disconnect("null where the version has none".to_owned()));
    }
    let asked = match Asked::of(&body, version) {
        Ok(asked) => asked,
        Err(NotAllowed) => return codec::reply(&refused(&body, version), version),
    };
    let image = request.broker.metadata.image();
    let size = asked.size(&image);
    if creates(&request, &body, &image, &asked) {
        let broker = Arc::clone(&request.broker);
        let partitions = usize::try_from(broker.in_force.get().num_partitions).unwrap_or(0);
        let made = size.saturating_mul(1 + partitions);
        return blocking::serial(broker, made.saturating_mul(ELEMENT_BYTES), move |broker| {
            let names = named(&body);
            let failed = broker.auto_create(names.iter().map(String::as_str));
            respond(&request, &body, &broker.metadata.image(), failed)
        });
    }
    if size <= INLINE_MAX {
        return respond(&request, &body, &image, Vec::new()).into();
    }
    let broker = Arc::clone(&request.broker);
    blocking::later(broker, size * ELEMENT_BYTES, move |_| {
        respond(&request, &body, &image, Vec::new())
    })
}

/// What a request asks about.
enum Asked<'a> {
    Everything,
    Names(Vec<&'a str>),
    Ids(Vec<TopicId>),
}

/// A request by id in a version that has no such thing.
struct NotAllowed;

impl<'a> Asked<'a> {
    fn of(body: &'a MetadataRequest, version: i16) -> Result<Self, NotAllowed> {
        let Some(topics) = &body.topics else { return Ok(Self::Everything) };
        if topics.is_empty() && version == 0 {
            return Ok(Self::Everything);
        }
        let by_id = topics.iter().any(|topic| !topic.topic_id.is_nil() || topic.name.is_none());
        if by_id && version < 12 {
            return Err(NotAllowed);
        }
        if by_id {
            // One id makes it a request by id, in which names do not count.
            let ids =
                topics.iter().filter(|topic| !topic.topic_id.is_nil() || topic.name.is_none());
            return Ok(Self::Ids(unique(ids.map(|topic| codec::id_from_wire(topic.topic_id)))));
        }
        Ok(Self::Names(unique(topics.iter().map(name))))
    }

    /// Topics and partitions that the answer will hold.
    fn size(&self, image: &Image) -> usize {
        let count =
            |topic: Option<&Arc<Topic>>| topic.map_or(1, |topic| 1 + topic.partitions.len());
        match self {
            Self::Everything => image.partition_count + image.topics.len(),
            Self::Names(names) => names.iter().map(|name| count(image.topic(name))).sum(),
            Self::Ids(ids) => ids.iter().map(|id| count(image.topic_by_id(*id))).sum(),
        }
    }
}

fn name(topic: &MetadataRequestTopic) -> &str {
    topic.name.as_ref().map_or("", |name| name.as_str())
}

fn unique<T: Copy + Eq + std::hash::Hash>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    all.filter(|one| seen.insert(*one)).collect()
}

/// True if topics come into being by this request.
fn creates(request: &Request, body: &MetadataRequest, image: &Image, asked: &Asked<'_>) -> bool {
    // Before version 4 there was no way to say no; the decoder fills in "yes".
    body.allow_auto_topic_creation
        && match asked {
            Asked::Names(names) => request.broker.would_auto_create(image, names.iter().copied()),
            Asked::Everything | Asked::Ids(_) => false,
        }
}

fn named(body: &MetadataRequest) -> Vec<String> {
    body.topics.iter().flatten().map(|topic| name(topic).to_owned()).collect()
}

/// Kafka's answer to a request by id before version 12: the error in every topic and nothing else.
fn refused(body: &MetadataRequest, version: i16) -> MetadataResponse {
    let topics = body.topics.iter().flatten().map(|topic| {
        let refused = MetadataResponseTopic::default()
            .with_error_code(ErrorCode::InvalidRequest.number())
            .with_name(Some(codec::topic_name(name(topic))));
        if version >= 10 { refused.with_topic_id(topic.topic_id) } else { refused }
    });
    MetadataResponse::default()
        .with_controller_id(kafka_protocol::messages::BrokerId(-1))
        .with_cluster_id(None)
        .with_topics(topics.collect())
}

fn respond(
    request: &Request,
    body: &MetadataRequest,
    image: &Image,
    failed: Vec<NotCreated>,
) -> Result<Response, Disconnect> {
    let failed = failed.into_iter().map(|f| (f.name, create_topics::code(&f.error))).collect();
    let answer = Answer {
        request,
        image,
        failed,
        topic_operations: if body.include_topic_authorized_operations {
            TOPIC_OPERATIONS
        } else {
            OPERATIONS_NOT_ASKED
        },
    };
    let cluster_operations = if body.include_cluster_authorized_operations {
        CLUSTER_OPERATIONS
    } else {
        OPERATIONS_NOT_ASKED
    };
    let around = MetadataResponse::default()
        .with_brokers(vec![answer.broker()])
        .with_cluster_id((request.version >= 2).then(|| codec::text(&image.cluster_id)))
        .with_controller_id(codec::broker(request.broker.settings.node_id))
        .with_cluster_authorized_operations(cluster_operations);
    answer.encode(&around, body)
}

/// Bytes behind the topics: authorized operations, error code, tags.
fn behind_topics(version: i16) -> usize {
    match version {
        ..=7 => 0,
        8 => 4,
        9..=10 => 4 + 1,
        11..=12 => 1,
        13.. => 2 + 1,
    }
}

/// What the parts of an answer need.
struct Answer<'a> {
    request: &'a Request,
    image: &'a Image,
    /// Topics that could not be made.
    failed: HashMap<String, ErrorCode>,
    topic_operations: i32,
}

impl Answer<'_> {
    fn broker(&self) -> MetadataResponseBroker {
        let broker = &self.request.broker;
        let endpoint = broker.endpoint(self.request.peer.listener);
        let rack = broker.settings.broker_rack.as_deref().filter(|_| self.request.version >= 1);
        MetadataResponseBroker::default()
            .with_node_id(codec::broker(broker.settings.node_id))
            .with_host(codec::text(endpoint.host))
            .with_port(i32::from(endpoint.port))
            .with_rack(codec::optional_text(rack))
    }

    /// Topic by topic, so that memory holds the answer once and in its encoded form.
    fn encode(
        &self,
        around: &MetadataResponse,
        body: &MetadataRequest,
    ) -> Result<Response, Disconnect> {
        let version = self.request.version;
        let list =
            LongList { version, flexible_from: FLEXIBLE_FROM, behind: behind_topics(version) };
        // Answered before, if it is not allowed.
        let asked = Asked::of(body, version).unwrap_or(Asked::Names(Vec::new()));
        let capacity = asked.size(self.image) * ELEMENT_BYTES;
        match asked {
            Asked::Everything => {
                let mut all: Vec<&Arc<Topic>> = self.image.topics.values().collect();
                all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
                let topics = all.into_iter().map(|topic| self.topic(topic));
                codec::encode_around(around, list, capacity, topics)
            }
            Asked::Names(names) => {
                let topics = names.into_iter().map(|name| self.by_name(name));
                codec::encode_around(around, list, capacity, topics)
            }
            Asked::Ids(ids) => {
                let topics = ids.into_iter().map(|id| self.by_id(id));
                codec::encode_around(around, list, capacity, topics)
            }
        }
    }

    fn by_name(&self, name: &str) -> MetadataResponseTopic {
        if let Some(topic) = self.image.topic(name) {
            return self.topic(topic);
        }
        let error = match self.failed.get(name) {
            Some(&error) => error,
            None if TopicName::new(name).is_err() => ErrorCode::InvalidTopicException,
            None => ErrorCode::UnknownTopicOrPartition,
        };
        self.without_partitions(Some(name), error)
            .with_topic_authorized_operations(self.topic_operations)
    }

    fn by_id(&self, id: TopicId) -> MetadataResponseTopic {
        match self.image.topic_by_id(id) {
            Some(topic) => self.topic(topic),
            None => self
                .without_partitions(None, ErrorCode::UnknownTopicId)
                .with_topic_id(codec::id_to_wire(id)),
        }
    }

    fn without_partitions(&self, name: Option<&str>, error: ErrorCode) -> MetadataResponseTopic {
        MetadataResponseTopic::default()
            .with_error_code(error.number())
            .with_name(name.map(codec::topic_name))
            .with_is_internal(self.request.version >= 1 && name.is_some_and(is_internal))
    }

    fn topic(&self, topic: &Topic) -> MetadataResponseTopic {
        let version = self.request.version;
        let partitions = topic.partitions.iter().zip(0..);
        let told = MetadataResponseTopic::default()
            .with_name(Some(codec::topic_name(topic.name.as_str())))
            .with_is_internal(version >= 1 && is_internal(topic.name.as_str()))
            .with_partitions(
                partitions.map(|(state, index)| self.partition(index, state)).collect(),
            )
            .with_topic_authorized_operations(self.topic_operations);
        if version >= 10 { told.with_topic_id(codec::id_to_wire(topic.id)) } else { told }
    }

    fn partition(&self, index: i32, state: &PartitionState) -> MetadataResponsePartition {
        let version = self.request.version;
        let leadership = self.request.broker.leadership(state);
        let error = match leadership.state {
            LeaderState::Led => ErrorCode::None,
            LeaderState::NoLeader => ErrorCode::LeaderNotAvailable,
        };
        let told = MetadataResponsePartition::default()
            .with_error_code(error.number())
            .with_partition_index(index)
            .with_leader_id(codec::broker(leadership.leader))
            .with_replica_nodes(codec::brokers(&state.replicas))
            .with_isr_nodes(codec::brokers(&state.isr));
        let told =
            if version >= 7 { told.with_leader_epoch(state.leader_epoch.get()) } else { told };
        if version < 5 {
            return told;
        }
        told.with_offline_replicas(codec::brokers(&leadership.offline_replicas))
    }
}

#[cfg(test)]
mod tests {
    use kafka_protocol::protocol::Encodable;

    use super::*;

    #[test]
    fn topic_by_topic_is_the_same_as_the_whole_message_in_every_version() {
        for version in 0..=13 {
            let topic = |name: &str| {
                let partitions = vec![MetadataResponsePartition::default().with_partition_index(7)];
                MetadataResponseTopic::default()
                    .with_name(Some(codec::topic_name(name)))
                    .with_partitions(partitions)
            };
            let broker = MetadataResponseBroker::default().with_host(codec::text("host"));
            let around = MetadataResponse::default()
                .with_brokers(vec![broker])
                .with_cluster_id((version >= 2).then(|| codec::text("cluster")));
            let list =
                LongList { version, flexible_from: FLEXIBLE_FROM, behind: behind_topics(version) };
            let topics = vec![topic("a"), topic("b")];
            let streamed = codec::encode_around(&around, list, 0, topics.clone().into_iter());
            let mut whole = bytes::BytesMut::new();
            around.with_topics(topics).encode(&mut whole, version).expect("encodable");
            let parts = streamed.expect("encodable").parts;
            let [crate::kafka::handler::ResponsePart::Inline(bytes)] = &parts[..] else {
                panic!("{parts:?}");
            };
            assert_eq!(bytes[..], whole[..], "version {version}");
        }
    }
}
