//! What a simulated client is, and the requests that both kinds send.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::offset_fetch_response::OffsetFetchResponseGroup;
use kafka_protocol::messages::{GroupId, OffsetCommitRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::{GROUP, TOPIC};
use crate::coordinator::groups::{Call, Client as Caller, GroupCommand, GroupReply};

/// Makes a request, as often as it is sent.
pub(super) type Request = Rc<dyn Fn() -> GroupCommand>;

/// A client program with one request at a time.
pub(super) trait Client {
    /// The next request, if it has any.
    fn next(&mut self, now_ms: u64) -> Option<Request>;
    /// The answer to it.
    fn answered(&mut self, now_ms: u64, reply: GroupReply);
    /// No answer came.
    fn gave_up(&mut self);
    /// True if the request that was just made may reach the coordinator twice: a client that commits sends its next commit
    /// only behind the last one, on one connection, so a commit is never overtaken by itself.
    fn may_repeat(&self) -> bool;
    /// Partitions that it believes to be its own.
    fn owned(&self) -> BTreeSet<i32>;
    /// Its member id, and the epoch it has in the new protocol.
    fn identity(&self) -> Option<(String, i32)>;
}

/// Where a client stands in the partitions that it consumes.
#[derive(Debug, Default)]
pub(super) struct Positions(BTreeMap<i32, i64>);

impl Positions {
    /// Consumes a little of everything.
    pub(super) fn consume(&mut self) {
        for (partition, position) in &mut self.0 {
            *position += 1 + i64::from(*partition);
        }
    }

    /// Keeps only these partitions.
    pub(super) fn retain(&mut self, owned: &BTreeSet<i32>) {
        self.0.retain(|partition, _| owned.contains(partition));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Those of `owned` whose position is not known yet.
    pub(super) fn missing(&self, owned: &BTreeSet<i32>) -> Vec<i32> {
        owned.iter().copied().filter(|partition| !self.0.contains_key(partition)).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Begins where the group has committed.
    pub(super) fn begin(&mut self, group: &OffsetFetchResponseGroup, owned: &BTreeSet<i32>) {
        for partition in group.topics.iter().flat_map(|topic| &topic.partitions) {
            if owned.contains(&partition.partition_index) {
                let begin = partition.committed_offset.max(0);
                self.0.entry(partition.partition_index).or_insert(begin);
            }
        }
    }

    pub(super) fn commit(&self, member: &Membership) -> Request {
        let (offsets, member) = (self.0.clone(), member.clone());
        Rc::new(move || {
            let partition = |(partition, offset): (&i32, &i64)| {
                OffsetCommitRequestPartition::default()
                    .with_partition_index(*partition)
                    .with_committed_offset(*offset)
                    .with_committed_metadata(Some(StrBytes::default()))
            };
            let topic = OffsetCommitRequestTopic::default()
                .with_name(TopicName(StrBytes::from_static_str(TOPIC)))
                .with_partitions(offsets.iter().map(partition).collect());
            GroupCommand::CommitOffsets(call(
                9,
                OffsetCommitRequest::default()
                    .with_group_id(group())
                    .with_generation_id_or_member_epoch(member.epoch)
                    .with_member_id(text(&member.id))
                    .with_group_instance_id(member.instance.as_deref().map(text))
                    .with_topics(vec![topic]),
            ))
        })
    }
}

/// How a client presents itself.
#[derive(Clone, Debug)]
pub(super) struct Membership {
    pub(super) id: String,
    pub(super) instance: Option<String>,
    /// Generation or member epoch.
    pub(super) epoch: i32,
}

pub(super) fn fetch_offsets(partitions: Vec<i32>, member: Option<Membership>) -> Request {
    Rc::new(move || {
        let topic = OffsetFetchRequestTopics::default()
            .with_name(TopicName(StrBytes::from_static_str(TOPIC)))
            .with_partition_indexes(partitions.clone());
        let mut asked = OffsetFetchRequestGroup::default()
            .with_group_id(group())
            .with_member_epoch(-1)
            .with_topics(Some(vec![topic]));
        if let Some(member) = &member {
            asked.member_id = Some(text(&member.id));
            asked.member_epoch = member.epoch;
        }
        GroupCommand::FetchOffsets { version: 9, group: asked, require_stable: false }
    })
}

pub(super) fn call<R>(version: i16, request: R) -> Call<R> {
    Call { version, client: Caller { id: "client".into(), host: "/127.0.0.1".into() }, request }
}

pub(super) fn group() -> GroupId {
    GroupId(StrBytes::from_static_str(GROUP))
}

pub(super) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}
