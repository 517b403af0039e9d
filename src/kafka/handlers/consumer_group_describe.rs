//! ConsumerGroupDescribe (69), versions 0-1. KIP-848, KIP-1099.
//!
//! Answers stand in the order of the request; Kafka sorts them by the partitions that keep them.

use std::sync::Arc;

use kafka_protocol::messages::consumer_group_describe_response::DescribedGroup;
use kafka_protocol::messages::{ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse};

use crate::broker::Broker;
use crate::broker::cluster::GROUP_OPERATIONS;
use crate::coordinator::groups::GroupCommand;
use crate::kafka::coordinators::Asked;
use crate::kafka::groups::{self};
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators};

/// Answers a ConsumerGroupDescribe request.
pub fn handle(request: Request) -> Outcome {
    let body: ConsumerGroupDescribeRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, .. } = request;
    let bytes = groups::state_bytes(&broker, &body.group_ids);
    let answering = Arc::clone(&broker);
    coordinators::later_long(&broker, version, bytes, move || {
        let asked: Vec<_> = body.group_ids.iter().map(|group| ask(&answering, group)).collect();
        async move {
            let mut described = Vec::with_capacity(asked.len());
            for (group, asked) in body.group_ids.into_iter().zip(asked) {
                let answer = asked.await.unwrap_or_else(failed).with_group_id(group);
                described.push(shaped(answer, body.include_authorized_operations));
            }
            ConsumerGroupDescribeResponse::default().with_groups(described)
        }
    })
}

fn ask(broker: &Arc<Broker>, group: &str) -> Asked<DescribedGroup> {
    if !broker.serves_consumer_protocol() {
        return Box::pin(async { Err(ErrorCode::UnsupportedVersion) });
    }
    if group.is_empty() {
        return Box::pin(async { Err(ErrorCode::InvalidGroupId) });
    }
    groups::ask(broker, group, GroupCommand::DescribeConsumer(group.into()))
}

fn failed(code: ErrorCode) -> DescribedGroup {
    DescribedGroup::default().with_error_code(code.number())
}

fn shaped(group: DescribedGroup, with_operations: bool) -> DescribedGroup {
    if with_operations && group.error_code == 0 {
        return group.with_authorized_operations(GROUP_OPERATIONS);
    }
    group
}
