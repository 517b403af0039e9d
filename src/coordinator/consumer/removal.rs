//! The end of a group in the log.

use super::consumer_group;
use crate::coordinator::groups::GroupTurn;
use crate::coordinator::records::GroupRecord;
use crate::coordinator::{GroupId, MemberId};

/// Tombstones for everything that is known of a group, in Kafka's order.
pub(super) fn write(turn: &mut GroupTurn<'_>, id: &GroupId) {
    let Some(group) = consumer_group(turn.hard(), id.as_str()) else { return };
    let members: Vec<MemberId> = group.members().map(|(id, _)| id.clone()).collect();
    let patterns: Vec<String> = group.resolved.keys().cloned().collect();
    let group = || id.clone();
    for member in &members {
        let member = member.clone();
        turn.write(GroupRecord::CurrentAssignment { group: group(), member, value: None });
    }
    for member in &members {
        let member = member.clone();
        turn.write(GroupRecord::TargetMember { group: group(), member, value: None });
    }
    turn.write(GroupRecord::TargetAssignment { group: group(), value: None });
    for member in members {
        turn.write(GroupRecord::ConsumerMember { group: group(), member, value: None });
    }
    for expression in patterns {
        turn.write(GroupRecord::RegularExpression { group: group(), expression, value: None });
    }
    turn.write(GroupRecord::ConsumerGroupPartitions { group: group(), is_tombstone: true });
    turn.write(GroupRecord::ConsumerGroup { group: group(), value: None });
}
