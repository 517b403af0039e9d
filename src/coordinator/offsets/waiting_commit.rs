//! A commit of a transaction that waits for a verdict, in memory of its own.
//!
//! The strings of a request are slices of its frame, and a frame is as large as its connection's read buffer. The connection counts
//! that buffer until the request is answered, but nobody does once the connection is gone; so what waits is copied, and counted
//! as state of its shard.

use kafka_protocol::messages::TxnOffsetCommitRequest;
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::protocol::StrBytes;

use crate::coordinator::groups::Call;
use crate::coordinator::machine::Token;

/// A commit and who waits for its answer.
#[derive(Debug)]
pub(super) struct WaitingCommit {
    pub(super) call: Call<TxnOffsetCommitRequest>,
    pub(super) token: Token,
}

impl WaitingCommit {
    /// Lets go of the frame that the request came in.
    pub(super) fn of(call: Call<TxnOffsetCommitRequest>, token: Token) -> Self {
        let Call { version, client, request } = call;
        Self { call: Call { version, client, request: copy(request) }, token }
    }

    /// Memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let request = &self.call.request;
        let strings = [&request.transactional_id.0, &request.group_id.0, &request.member_id];
        let strings = strings.into_iter().chain(&request.group_instance_id);
        let topics = request.topics.iter().map(topic_bytes);
        size_of::<Self>() + strings.map(|text| text.len()).sum::<usize>() + topics.sum::<usize>()
    }
}

fn topic_bytes(topic: &TxnOffsetCommitRequestTopic) -> usize {
    let metadata = topic.partitions.iter().filter_map(|at| at.committed_metadata.as_ref());
    let strings = topic.name.len() + metadata.map(|text| text.len()).sum::<usize>();
    let partitions = topic.partitions.len() * size_of::<TxnOffsetCommitRequestPartition>();
    size_of::<TxnOffsetCommitRequestTopic>() + partitions + strings
}

/// The same request with strings of its own. What it does not name is of no use to anybody.
fn copy(request: TxnOffsetCommitRequest) -> TxnOffsetCommitRequest {
    TxnOffsetCommitRequest::default()
        .with_transactional_id(own(&request.transactional_id).into())
        .with_group_id(own(&request.group_id).into())
        .with_producer_id(request.producer_id)
        .with_producer_epoch(request.producer_epoch)
        .with_generation_id(request.generation_id)
        .with_member_id(own(&request.member_id))
        .with_group_instance_id(request.group_instance_id.as_ref().map(own))
        .with_topics(request.topics.iter().map(copy_topic).collect())
}

fn copy_topic(topic: &TxnOffsetCommitRequestTopic) -> TxnOffsetCommitRequestTopic {
    let partitions = topic.partitions.iter().map(|at| {
        TxnOffsetCommitRequestPartition::default()
            .with_partition_index(at.partition_index)
            .with_committed_offset(at.committed_offset)
            .with_committed_leader_epoch(at.committed_leader_epoch)
            .with_committed_metadata(at.committed_metadata.as_ref().map(own))
    });
    TxnOffsetCommitRequestTopic::default()
        .with_name(own(&topic.name).into())
        .with_partitions(partitions.collect())
}

fn own(text: &StrBytes) -> StrBytes {
    StrBytes::from_string(text.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use kafka_protocol::protocol::{Decodable, Encodable};

    use super::*;
    use crate::coordinator::groups::Client;

    fn text(text: &str) -> StrBytes {
        StrBytes::from_string(text.to_owned())
    }

    /// Every field that a request can have, as it comes out of a frame.
    fn in_frame() -> (TxnOffsetCommitRequest, Bytes) {
        let partition = TxnOffsetCommitRequestPartition::default()
            .with_partition_index(3)
            .with_committed_offset(4)
            .with_committed_leader_epoch(5)
            .with_committed_metadata(Some(text("metadata")));
        let topic = TxnOffsetCommitRequestTopic::default()
            .with_name(text("topic").into())
            .with_partitions(vec![partition.clone(), partition.with_committed_metadata(None)]);
        let request = TxnOffsetCommitRequest::default()
            .with_transactional_id(text("id").into())
            .with_group_id(text("group").into())
            .with_producer_id(1.into())
            .with_producer_epoch(2)
            .with_generation_id(6)
            .with_member_id(text("member"))
            .with_group_instance_id(Some(text("instance")))
            .with_topics(vec![topic]);
        let mut frame = Vec::new();
        request.encode(&mut frame, 5).expect("version 5 has every field");
        let frame = Bytes::from(frame);
        let request = TxnOffsetCommitRequest::decode(&mut frame.clone(), 5).expect("just encoded");
        (request, frame)
    }

    #[test]
    fn what_waits_says_the_same_without_its_frame() {
        let (request, frame) = in_frame();
        let client = Client { id: Arc::from("client"), host: Arc::from("/127.0.0.1") };
        let call = Call { version: 5, client, request: request.clone() };
        let waiting = WaitingCommit::of(call, Token(1));
        assert_eq!(waiting.call.request, request);
        drop(request);
        assert!(frame.is_unique(), "nothing holds the frame any more");
        let strings = "id".len() + "group".len() + "member".len() + "instance".len();
        let topic = "topic".len() + "metadata".len();
        let structures = size_of::<WaitingCommit>()
            + size_of::<TxnOffsetCommitRequestTopic>()
            + 2 * size_of::<TxnOffsetCommitRequestPartition>();
        assert_eq!(waiting.bytes(), strings + topic + structures);
    }
}
