//! DescribeGroups (15), versions 0-6. KIP-345, KIP-430, KIP-482, KIP-1043.
//!
//! Answers stand in the order of the request; Kafka sorts them by the partitions that keep them.

use std::sync::Arc;

use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::{DescribeGroupsRequest, DescribeGroupsResponse};

use crate::broker::cluster::GROUP_OPERATIONS;
use crate::coordinator::groups::GroupCommand;
use crate::kafka::coordinators::Asked;
use crate::kafka::groups::{self};
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators};

/// First version that says in words why a group cannot be described.
const MESSAGE_FROM: i16 = 6;

/// Answers a DescribeGroups request.
pub fn handle(request: Request) -> Outcome {
    let body: DescribeGroupsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, .. } = request;
    let bytes = groups::state_bytes(&broker, &body.groups);
    let answering = Arc::clone(&broker);
    coordinators::later_long(&broker, version, bytes, move || {
        let mut asked: Vec<Asked<DescribedGroup>> = Vec::with_capacity(body.groups.len());
        for group in &body.groups {
            let command = GroupCommand::DescribeClassic { version, group: (&***group).into() };
            asked.push(groups::ask(&answering, group, command));
        }
        async move {
            let mut described = Vec::with_capacity(asked.len());
            for (group, asked) in body.groups.into_iter().zip(asked) {
                let answer = asked.await.unwrap_or_else(failed).with_group_id(group);
                described.push(shaped(answer, body.include_authorized_operations, version));
            }
            DescribeGroupsResponse::default().with_groups(described)
        }
    })
}

fn failed(code: ErrorCode) -> DescribedGroup {
    DescribedGroup::default().with_error_code(code.number())
}

fn shaped(mut group: DescribedGroup, with_operations: bool, version: i16) -> DescribedGroup {
    if version < MESSAGE_FROM {
        group.error_message = None;
    }
    if with_operations && group.error_code == 0 {
        group.authorized_operations = GROUP_OPERATIONS;
    }
    group
}
