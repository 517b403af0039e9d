//! OffsetFetch (9), versions 1-10. KIP-88, KIP-320, KIP-447, KIP-482, KIP-709, KIP-848.
//!
//! Answers stand in the order of the request, but for topic ids that do not exist, which come last as with Kafka.

use std::sync::Arc;

use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use kafka_protocol::messages::{GroupId, OffsetFetchRequest, OffsetFetchResponse};

use crate::broker::Broker;
use crate::coordinator::groups::GroupCommand;
use crate::kafka::codec::offsets::{self, TOPIC_IDS_FROM};
use crate::kafka::coordinators::Asked;
use crate::kafka::groups::{self};
use crate::kafka::{Disconnect, ErrorCode, Outcome, Request, codec, coordinators};
use crate::metadata::Image;

/// First version with an error of the group, and with null for all its topics.
const GROUP_ERROR_FROM: i16 = 2;
/// First version that asks for several groups.
const SEVERAL_FROM: i16 = 8;

/// Answers an OffsetFetch request.
pub fn handle(request: Request) -> Outcome {
    let version = request.version;
    let body = match offsets::fetch_request(request.body.clone(), version) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let require_stable = body.require_stable;
    let groups = match groups_of(body, version) {
        Ok(groups) => groups,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let bytes = groups.iter().map(|group| known_bytes(&request, group));
    let bytes = bytes.fold(0, usize::saturating_add);
    let broker = Arc::clone(&request.broker);
    coordinators::later_long(&broker, version, bytes, move || {
        let image = request.broker.metadata.image();
        let ask = |group| AskedGroup::ask(&request, &image, group, require_stable);
        let asked: Vec<_> = groups.into_iter().map(ask).collect();
        async move {
            let mut answered = Vec::with_capacity(asked.len());
            for group in asked {
                answered.push(group.answer(&request.broker, version).await);
            }
            response(answered, version)
        }
    })
}

/// About how much memory the state takes that is asked for: no more than the shard has, and a row for each partition that is named.
fn known_bytes(request: &Request, group: &OffsetFetchRequestGroup) -> usize {
    const ROW_BYTES: usize = 128;
    /// Metadata of the usual longest length (`offset.metadata.max.bytes`).
    const METADATA_BYTES: usize = 4096;
    let all = request.broker.group_state_bytes(&group.group_id);
    let Some(topics) = &group.topics else { return all };
    let rows: usize = topics.iter().map(|topic| topic.partition_indexes.len()).sum();
    rows.saturating_mul(ROW_BYTES) + rows.saturating_mul(METADATA_BYTES).min(all)
}

/// The groups that are asked about: one, at the top level, before version 8.
fn groups_of(
    body: OffsetFetchRequest,
    version: i16,
) -> Result<Vec<OffsetFetchRequestGroup>, Disconnect> {
    if version >= SEVERAL_FROM {
        return Ok(body.groups);
    }
    if body.topics.is_none() && version < GROUP_ERROR_FROM {
        return Err(Disconnect(format!("malformed body: null topics in version {version}")));
    }
    let topics = body.topics.map(|topics| {
        let topic =
            |topic: kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic| {
                OffsetFetchRequestTopics::default()
                    .with_name(topic.name)
                    .with_partition_indexes(topic.partition_indexes)
            };
        topics.into_iter().map(topic).collect()
    });
    Ok(vec![OffsetFetchRequestGroup::default().with_group_id(body.group_id).with_topics(topics)])
}

/// A group whose shard has been asked.
struct AskedGroup {
    id: GroupId,
    /// As in the request, with the names of the ids that there are; `None` for all topics.
    topics: Option<Vec<OffsetFetchRequestTopics>>,
    answer: Asked<OffsetFetchResponseGroup>,
}

impl AskedGroup {
    fn ask(
        request: &Request,
        image: &Image,
        mut group: OffsetFetchRequestGroup,
        require_stable: bool,
    ) -> Self {
        let version = request.version;
        let by_id = version >= TOPIC_IDS_FROM;
        if by_id {
            group.topics.iter_mut().flatten().for_each(|topic| set_name(topic, image));
        }
        let (id, topics) = (group.group_id.clone(), group.topics.clone());
        if by_id && let Some(topics) = &mut group.topics {
            topics.retain(|topic| !topic.name.is_empty());
        }
        let command = GroupCommand::FetchOffsets { version, group, require_stable };
        let answer = groups::ask(&request.broker, &id, command);
        Self { id, topics, answer }
    }

    async fn answer(self, broker: &Broker, version: i16) -> OffsetFetchResponseGroup {
        let answer = match self.answer.await {
            Ok(answer) => answer.with_group_id(self.id),
            Err(code) => {
                let group = OffsetFetchResponseGroup::default().with_group_id(self.id);
                group.with_error_code(retriable(code).number())
            }
        };
        match self.topics {
            Some(topics) if answer.error_code != 0 && version < GROUP_ERROR_FROM => {
                error_in_partitions(answer, &topics)
            }
            Some(topics) if answer.error_code == 0 && version >= TOPIC_IDS_FROM => {
                with_unknown_ids(answer, &topics)
            }
            None if version >= TOPIC_IDS_FROM => with_ids(answer, &broker.metadata.image()),
            _ => answer,
        }
    }
}

/// Consumers before Kafka 3.9 give up at COORDINATOR_NOT_AVAILABLE; NOT_COORDINATOR makes them look for the coordinator again
/// (Kafka's `handleOffsetFetchException`).
fn retriable(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::CoordinatorNotAvailable => ErrorCode::NotCoordinator,
        code => code,
    }
}

fn set_name(topic: &mut OffsetFetchRequestTopics, image: &Image) {
    if let Some(known) = image.topic_by_id(codec::id_from_wire(topic.topic_id)) {
        topic.name = codec::topic_name(known.name.as_str());
    }
}

/// Every partition of `topics` with the error of the group.
fn error_in_partitions(
    group: OffsetFetchResponseGroup,
    topics: &[OffsetFetchRequestTopics],
) -> OffsetFetchResponseGroup {
    let code = group.error_code;
    let failed = topics.iter().map(|topic| failed(topic, code)).collect();
    group.with_error_code(0).with_topics(failed)
}

fn failed(topic: &OffsetFetchRequestTopics, code: i16) -> OffsetFetchResponseTopics {
    let partition = |&index: &i32| {
        OffsetFetchResponsePartitions::default()
            .with_partition_index(index)
            .with_committed_offset(-1)
            .with_error_code(code)
    };
    OffsetFetchResponseTopics::default()
        .with_name(topic.name.clone())
        .with_topic_id(topic.topic_id)
        .with_partitions(topic.partition_indexes.iter().map(partition).collect())
}

/// The shard's answer, which is in the order of the question, and behind it UNKNOWN_TOPIC_ID where the request names no topic.
fn with_unknown_ids(
    mut group: OffsetFetchResponseGroup,
    topics: &[OffsetFetchRequestTopics],
) -> OffsetFetchResponseGroup {
    let (known, unknown): (Vec<_>, Vec<_>) = topics.iter().partition(|t| !t.name.is_empty());
    for (answer, asked) in group.topics.iter_mut().zip(known) {
        answer.topic_id = asked.topic_id;
    }
    let code = ErrorCode::UnknownTopicId.number();
    group.topics.extend(unknown.into_iter().map(|topic| failed(topic, code)));
    group
}

/// The shard's answer about all topics, without those that have no id because they are gone.
fn with_ids(mut group: OffsetFetchResponseGroup, image: &Image) -> OffsetFetchResponseGroup {
    group.topics.retain_mut(|topic| {
        if let Some(known) = image.topic(&topic.name).filter(|_| topic.topic_id.is_nil()) {
            topic.topic_id = codec::id_to_wire(known.id);
        }
        !topic.topic_id.is_nil()
    });
    group
}

fn response(mut groups: Vec<OffsetFetchResponseGroup>, version: i16) -> OffsetFetchResponse {
    if version >= SEVERAL_FROM {
        return OffsetFetchResponse::default().with_groups(groups);
    }
    let group = groups.pop().expect("versions before 8 ask about one group");
    OffsetFetchResponse::default()
        .with_error_code(group.error_code)
        .with_topics(group.topics.into_iter().map(topic_of_one_group).collect())
}

fn topic_of_one_group(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic {
    let partition = |partition: OffsetFetchResponsePartitions| {
        OffsetFetchResponsePartition::default()
            .with_partition_index(partition.partition_index)
            .with_committed_offset(partition.committed_offset)
            .with_committed_leader_epoch(partition.committed_leader_epoch)
            .with_metadata(partition.metadata)
            .with_error_code(partition.error_code)
    };
    OffsetFetchResponseTopic::default()
        .with_name(topic.name)
        .with_partitions(topic.partitions.into_iter().map(partition).collect())
}
