//! Which commands make a shard larger. They are refused while there is no memory for that; what is known goes on.

use super::{GroupCommand, Groups, GroupsHard, HardGroup};
use crate::coordinator::{GroupId, classic, consumer, offsets};

/// An entry of the map of groups.
const ENTRY_BYTES: usize = 48;

pub(super) fn grows(shard: &Groups, hard: &GroupsHard, command: &GroupCommand) -> bool {
    use GroupCommand as Ask;
    match command {
        Ask::Join(call) => match hard.groups.get(call.request.group_id.as_str()) {
            Some(HardGroup::Consumer(group)) => consumer::join_grows(group, &call.request),
            _ => classic::join_grows(
                shard.classic.get(call.request.group_id.as_str()),
                &call.request,
            ),
        },
        Ask::Sync(call) => {
            classic::sync_grows(shard.classic.get(call.request.group_id.as_str()), &call.request)
        }
        Ask::ConsumerHeartbeat(call) => match hard.groups.get(call.request.group_id.as_str()) {
            Some(HardGroup::Consumer(group)) => {
                consumer::heartbeat_grows(Some(group), &call.request)
            }
            _ => consumer::heartbeat_grows(None, &call.request),
        },
        Ask::CommitOffsets(call) => offsets::commit_grows(&hard.offsets, &call.request),
        Ask::CommitInTransaction(call) => {
            offsets::transactional_commit_grows(&hard.offsets, &call.request)
        }
        Ask::TransactionVerified { .. }
        | Ask::EndTransaction(_)
        | Ask::Heartbeat(_)
        | Ask::Leave(_)
        | Ask::FetchOffsets { .. }
        | Ask::DeleteOffsets(_)
        | Ask::DeleteGroup(_)
        | Ask::DescribeClassic { .. }
        | Ask::DescribeConsumer(_)
        | Ask::List { .. }
        | Ask::Overview => false,
    }
}

/// What the name of a group takes, with its place in the map.
pub(super) fn name_bytes(id: &GroupId) -> usize {
    ENTRY_BYTES + id.as_str().len()
}
