//! DeleteGroups (42), versions 0-2. KIP-229, KIP-482.

use std::collections::HashSet;

use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::{DeleteGroupsRequest, DeleteGroupsResponse, GroupId};

use crate::coordinator::groups::GroupCommand;
use crate::kafka::coordinators::Asked;
use crate::kafka::groups::{self};
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators};

/// Answers a DeleteGroups request.
pub fn handle(request: Request) -> Outcome {
    let body: DeleteGroupsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let doomed = unique(body.groups_names);
    let mut asked: Vec<Asked<DeletableGroupResult>> = Vec::with_capacity(doomed.len());
    for group in &doomed {
        let command = GroupCommand::DeleteGroup((&***group).into());
        asked.push(groups::ask(&request.broker, group, command));
    }
    coordinators::later(request.version, async move {
        let mut results = Vec::with_capacity(asked.len());
        for (group, asked) in doomed.into_iter().zip(asked) {
            results.push(asked.await.unwrap_or_else(failed).with_group_id(group));
        }
        DeleteGroupsResponse::default().with_results(results)
    })
}

/// A group that is named twice is deleted and answered once.
fn unique(groups: Vec<GroupId>) -> Vec<GroupId> {
    let mut seen = HashSet::new();
    groups.into_iter().filter(|group| seen.insert(group.clone())).collect()
}

fn failed(code: ErrorCode) -> DeletableGroupResult {
    DeletableGroupResult::default().with_error_code(code.number())
}
