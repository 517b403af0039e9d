//! TxnOffsetCommit (28), versions 0-6. KIP-98, KIP-320, KIP-447, KIP-482, KIP-848, KIP-890.
//!
//! From version 5 on the commit itself makes the group part of the transaction; version 6 names topics by id. Answers stand in
//! the order of the request; Kafka puts what does not exist first.

use kafka_protocol::messages::TxnOffsetCommitResponse;

use super::asked_topics::AskedTopic;
use crate::coordinator::groups::GroupCommand;
use crate::kafka::codec::TopicKey;
use crate::kafka::codec::txn_offsets::{self, Committed, CommittedTopic, TxnOffsetCommit};
use crate::kafka::{ErrorCode, Outcome, Request, groups};
use crate::metadata::Image;

/// Answers a TxnOffsetCommit request.
pub fn handle(request: Request) -> Outcome {
    let version = request.version;
    let mut commit = match txn_offsets::request(request.body.clone(), version) {
        Ok(commit) => commit,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let asked = take_out_unknown(&mut commit, &request.broker.metadata.image());
    let group = commit.request.group_id.clone();
    if commit.request.topics.is_empty() {
        // Neither the group nor the producer is looked at.
        return txn_offsets::encode(&response(&asked, || 0), version).into();
    }
    if group.is_empty() {
        let code = || ErrorCode::InvalidGroupId.number();
        return txn_offsets::encode(&response(&asked, code), version).into();
    }
    let command = GroupCommand::CommitInTransaction(groups::call(&request, commit.request));
    let committed = groups::ask(&request.broker, &group, command);
    Outcome::Later(Box::pin(async move {
        let answer = match committed.await {
            Ok(committed) => merged(&asked, &committed),
            Err(code) => response(&asked, || code.number()),
        };
        txn_offsets::encode(&answer, version)
    }))
}

/// What the request asked for. What exists of it stays in the request, named by name.
fn take_out_unknown(commit: &mut TxnOffsetCommit, image: &Image) -> Vec<AskedTopic> {
    let mut all = Vec::with_capacity(commit.request.topics.len());
    let mut ids = commit.topic_ids.iter();
    commit.request.topics.retain_mut(|topic| {
        let key = match ids.next() {
            Some(id) => TopicKey::Id(*id),
            None => TopicKey::Name(&topic.name),
        };
        let indices = topic.partitions.iter().map(|partition| partition.partition_index);
        let asked = AskedTopic::of(image, key, indices);
        asked.retain_existing(&mut topic.partitions);
        topic.name = asked.name.clone();
        if asked.is_answered() {
            all.push(asked);
        }
        !topic.partitions.is_empty()
    });
    all
}

/// The coordinator answers what it was asked, in that order.
fn merged(asked: &[AskedTopic], committed: &TxnOffsetCommitResponse) -> Committed {
    let mut codes = committed.topics.iter().flat_map(|topic| &topic.partitions);
    let mut next = || codes.next().map(|partition| partition.error_code);
    response(asked, || next().unwrap_or(ErrorCode::UnknownServerError.number()))
}

fn response(asked: &[AskedTopic], mut code: impl FnMut() -> i16) -> Committed {
    let topics = asked.iter().map(|topic| CommittedTopic {
        name: topic.name.clone(),
        id: topic.id,
        partitions: topic.codes(&mut code).collect(),
    });
    Committed { topics: topics.collect() }
}
