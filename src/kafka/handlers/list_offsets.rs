//! ListOffsets (2), versions 1-11. KIP-79, KIP-98, KIP-207, KIP-320, KIP-405, KIP-482, KIP-734, KIP-1005, KIP-1023, KIP-1075.
//!
//! There is one tier: the earliest local offset is the earliest, there is none in another tier and none that waits to be moved to
//! it. `timeout_ms` of version 10 concerns that tier alone.

use std::collections::HashSet;

use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse, TopicName};

use crate::broker::{Broker, FetchError, ListedOffset, ListedOffsets, OffsetQuery, OffsetQuestion};
use crate::kafka::codec::lift;
use crate::kafka::{ErrorCode, Outcome, Request, guard, read_errors};
use crate::log::Isolation;
use crate::types::{LeaderEpoch, PartitionIndex, Timestamp};

/// First version whose answers tell an epoch.
const LEADER_EPOCH_FROM: i16 = 4;

/// Answers a ListOffsets request.
pub fn handle(request: Request) -> Outcome {
    let body: ListOffsetsRequest = match lift::request(&request, guard::LIST_OFFSETS) {
        Ok((body, _)) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, .. } = request;
    let mut topics = body.topics;
    let isolation = isolation(body.isolation_level);
    let (questions, refusals) = match isolation {
        Some(_) => {
            let twice = take_out_repetition(&mut topics);
            // Kafka's answer does not name what nothing was asked about.
            topics.retain(|topic| !topic.partitions.is_empty());
            questions(&broker, &topics, &twice, version)
        }
        None => (Vec::new(), vec![Some(ErrorCode::UnknownServerError); partition_count(&topics)]),
    };
    let isolation = isolation.unwrap_or(Isolation::ReadUncommitted);
    let ask = move || broker.list_offsets(questions, isolation);
    Outcome::in_turn(ask, move |offsets| {
        lift::encode(&Answers { version, offsets, refusals }.response(topics), version)
    })
}

/// `None` for a level that there is not, upon which Kafka fails.
fn isolation(level: i8) -> Option<Isolation> {
    match level {
        0 => Some(Isolation::ReadUncommitted),
        1 => Some(Isolation::ReadCommitted),
        _ => None,
    }
}

fn partition_count(topics: &[ListOffsetsTopic]) -> usize {
    topics.iter().map(|topic| topic.partitions.len()).sum()
}

/// One question for each partition that is asked properly; for the others, at their place, why not.
fn questions(
    broker: &Broker,
    topics: &[ListOffsetsTopic],
    twice: &HashSet<(TopicName, i32)>,
    version: i16,
) -> (Vec<OffsetQuestion>, Vec<Option<ErrorCode>>) {
    let (mut questions, mut refusals) = (Vec::new(), Vec::new());
    for topic in topics {
        for asked in &topic.partitions {
            let repeated = twice.contains(&(topic.name.clone(), asked.partition_index));
            match query(asked.timestamp, version) {
                _ if repeated => refusals.push(Some(ErrorCode::InvalidRequest)),
                None => refusals.push(Some(ErrorCode::UnsupportedVersion)),
                Some(query) => {
                    refusals.push(None);
                    questions.push(question(broker, topic, asked, query));
                }
            }
        }
    }
    (questions, refusals)
}

fn question(
    broker: &Broker,
    topic: &ListOffsetsTopic,
    asked: &ListOffsetsPartition,
    query: OffsetQuery,
) -> OffsetQuestion {
    let index = PartitionIndex::new(asked.partition_index);
    OffsetQuestion {
        partition: broker.find_by_name(&topic.name, index),
        current_leader_epoch: LeaderEpoch::new(asked.current_leader_epoch),
        query,
    }
}

/// Partitions that a request names more than once. They are answered once.
fn take_out_repetition(topics: &mut [ListOffsetsTopic]) -> HashSet<(TopicName, i32)> {
    let (mut seen, mut twice) = (HashSet::new(), HashSet::new());
    for ListOffsetsTopic { name, partitions, .. } in topics {
        partitions.retain(|asked| {
            let is_first = seen.insert((name.clone(), asked.partition_index));
            if !is_first {
                twice.insert((name.clone(), asked.partition_index));
            }
            is_first
        });
    }
    twice
}

/// What a timestamp asks for; `None` for a special one that `version` does not have.
fn query(timestamp: i64, version: i16) -> Option<OffsetQuery> {
    match timestamp {
        0.. => Some(OffsetQuery::At(Timestamp::new(timestamp))),
        -1 => Some(OffsetQuery::Latest),
        -2 => Some(OffsetQuery::Earliest),
        -3 if version >= 7 => Some(OffsetQuery::MaxTimestamp),
        -4 if version >= 8 => Some(OffsetQuery::Earliest),
        -5 if version >= 9 => Some(OffsetQuery::Tiered),
        -6 if version >= 11 => Some(OffsetQuery::Tiered),
        _ => None,
    }
}

struct Answers {
    version: i16,
    offsets: ListedOffsets,
    refusals: Vec<Option<ErrorCode>>,
}

impl Answers {
    fn response(&self, topics: Vec<ListOffsetsTopic>) -> ListOffsetsResponse {
        let (mut refusals, mut offsets) = (self.refusals.iter(), self.offsets.iter());
        let mut partition = |asked: &ListOffsetsPartition| {
            let answer = match refusals.next().copied().flatten() {
                Some(error) => Err(error),
                None => offsets.next().map_or(Err(ErrorCode::UnknownServerError), |listed| {
                    listed.map_err(|error: FetchError| read_errors::code(error))
                }),
            };
            self.partition(asked.partition_index, answer)
        };
        let topics = topics.into_iter().map(|topic| {
            let partitions = topic.partitions.iter().map(&mut partition).collect();
            ListOffsetsTopicResponse::default().with_partitions(partitions).with_name(topic.name)
        });
        ListOffsetsResponse::default().with_topics(topics.collect())
    }

    fn partition(
        &self,
        index: i32,
        answer: Result<ListedOffset, ErrorCode>,
    ) -> ListOffsetsPartitionResponse {
        let partition = ListOffsetsPartitionResponse::default().with_partition_index(index);
        // Offset, timestamp and epoch of a failure are −1, which are the defaults.
        let listed = match answer {
            Ok(listed) => listed,
            Err(error) => return partition.with_error_code(error.number()),
        };
        let partition =
            partition.with_offset(listed.offset.get()).with_timestamp(listed.timestamp.get());
        if self.version >= LEADER_EPOCH_FROM {
            partition.with_leader_epoch(listed.leader_epoch.get())
        } else {
            partition
        }
    }
}
