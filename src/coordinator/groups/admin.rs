//! Describing, listing and deleting groups, whatever their protocol.

use super::{GroupTurn, Groups};
use crate::coordinator::GroupId;
use crate::coordinator::machine::Token;

/// DeleteGroups: offsets and the group itself, unless it has members.
pub(super) fn delete(shard: &mut Groups, turn: &mut GroupTurn<'_>, group: &GroupId, token: Token) {
    let _ = (shard, turn, group, token);
    unimplemented!("offsets")
}

/// DescribeGroups: also an unknown group has an answer, which depends on the version.
pub(super) fn describe_classic(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    version: i16,
    group: &GroupId,
    token: Token,
) {
    let _ = (shard, turn, version, group, token);
    unimplemented!("offsets")
}

/// ConsumerGroupDescribe.
pub(super) fn describe_consumer(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    token: Token,
) {
    let _ = (shard, turn, group, token);
    unimplemented!("offsets")
}

/// ListGroups.
pub(super) fn list(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    states: &[String],
    types: &[String],
    token: Token,
) {
    let _ = (shard, turn, states, types, token);
    unimplemented!("offsets")
}

/// Everything that metrics show.
pub(super) fn overview(shard: &mut Groups, turn: &mut GroupTurn<'_>, token: Token) {
    let _ = (shard, turn, token);
    unimplemented!("offsets")
}
