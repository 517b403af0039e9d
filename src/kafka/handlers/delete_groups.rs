//! DeleteGroups (42), versions 0-3. KIP-229, KIP-482. Version 3 has a message for each group, which nothing here gives a reason for.

use std::collections::HashSet;

use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::{DeleteGroupsRequest, GroupId};

use crate::coordinator::groups::GroupCommand;
use crate::kafka::codec::lift::Raised;
use crate::kafka::codec::{self, lift};
use crate::kafka::coordinators::Asked;
use crate::kafka::groups::{self};
use crate::kafka::wire::Writer;
use crate::kafka::{Disconnect, ErrorCode, Outcome, Request, Response, guard};

/// First version with compact lengths and tags.
const FLEXIBLE_FROM: i16 = 2;

/// Answers a DeleteGroups request.
pub fn handle(request: Request) -> Outcome {
    let body: DeleteGroupsRequest = match lift::request(&request, guard::DELETE_GROUPS) {
        Ok((body, _)) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let doomed = unique(body.groups_names);
    let mut asked: Vec<Asked<DeletableGroupResult>> = Vec::with_capacity(doomed.len());
    for group in &doomed {
        let command = GroupCommand::DeleteGroup((&***group).into());
        asked.push(groups::ask(&request.broker, group, command));
    }
    Outcome::Later(Box::pin(async move {
        let mut results = Vec::with_capacity(asked.len());
        for (group, asked) in doomed.into_iter().zip(asked) {
            results.push(asked.await.unwrap_or_else(failed).with_group_id(group));
        }
        respond(results, request.version)
    }))
}

fn respond(results: Vec<DeletableGroupResult>, version: i16) -> Result<Response, Disconnect> {
    let mut results = results.into_iter();
    codec::encode_list(version, FLEXIBLE_FROM, results.len(), |_, _| {
        let message = results.next().expect("as many as there are");
        Raised { message, new_fields: |writer: &mut Writer| writer.text(None) }
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
