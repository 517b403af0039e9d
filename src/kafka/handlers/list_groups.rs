//! ListGroups (16), versions 0-5. KIP-482, KIP-518, KIP-848.

use std::sync::Arc;

use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::{ListGroupsRequest, ListGroupsResponse};
use kafka_protocol::protocol::StrBytes;

use crate::coordinator::groups::GroupCommand;
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators, groups};

/// Answers a ListGroups request.
pub fn handle(request: Request) -> Outcome {
    let body: ListGroupsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let (states, types) = (lower_case(&body.states_filter), lower_case(&body.types_filter));
    let Request { version, broker, .. } = request;
    let (answering, bytes) = (Arc::clone(&broker), broker.coordinator_memory.bytes());
    coordinators::later_long(&broker, version, bytes, move || {
        let listed = groups::ask_each(&answering, || GroupCommand::List {
            states: states.clone(),
            types: types.clone(),
        });
        async move { response(listed.await) }
    })
}

/// Names of states and types are compared without regard to case.
fn lower_case(names: &[StrBytes]) -> Vec<String> {
    names.iter().map(|name| name.to_lowercase()).collect()
}

/// A shard that this node has lost has no groups here; any other failure is that of the whole request.
fn response(shards: Vec<Result<Vec<ListedGroup>, ErrorCode>>) -> ListGroupsResponse {
    let mut groups = Vec::new();
    for shard in shards {
        match shard {
            Ok(listed) => groups.extend(listed),
            Err(ErrorCode::NotCoordinator) => {}
            Err(code) => return ListGroupsResponse::default().with_error_code(code.number()),
        }
    }
    ListGroupsResponse::default().with_groups(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_that_cannot_answer_fails_the_request_and_a_lost_one_is_left_out() {
        let group = || Ok(vec![ListedGroup::default()]);
        let lost = response(vec![group(), Err(ErrorCode::NotCoordinator), group()]);
        assert_eq!((lost.error_code, lost.groups.len()), (0, 2));
        let code = ErrorCode::CoordinatorNotAvailable;
        let failed = response(vec![group(), Err(code), group()]);
        assert_eq!((failed.error_code, failed.groups.len()), (code.number(), 0));
    }
}
