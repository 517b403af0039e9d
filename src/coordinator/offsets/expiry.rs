//! Offsets that nobody needs any more, and groups that have nothing left (KIP-211, Kafka's `OffsetExpirationCondition`).
//!
//! Every `offsets.retention.check.interval.ms` all groups are looked through, some in each turn, so that no command waits for
//! all of them.

use super::delete::tombstone;
use super::deletions::RECORDS_PER_TURN;
use super::{CommittedOffset, delete, producers};
use crate::coordinator::classic::OffsetExpiry;
use crate::coordinator::groups::{GroupKind, GroupTimer, GroupTurn, Groups, names};
use crate::coordinator::{GroupId, classic};
use crate::types::{PartitionIndex, Timestamp, TopicName};

/// Groups and offsets that one turn looks at; a group with more offsets is looked at whole.
const LOOKS_PER_TURN: usize = 1_000;

/// Between two turns of a round, so that commands come in between.
const TURN_GAP_MS: i64 = 1;

/// Groups that are still to be looked at in this round.
#[derive(Debug, Default)]
pub struct ExpiryRound {
    groups: Vec<GroupId>,
}

/// The shard was just read: drops what belongs to topics that went away meanwhile, and sets the timers of expiry.
pub(in crate::coordinator) fn loaded(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    delete::drop_deleted_topics(shard, turn);
    turn.set_timer(GroupTimer::OffsetExpiry, shard.settings.offsets_retention_check_interval_ms);
    producers::watch(shard, turn);
}

/// Drops offsets whose time has come, and groups that have nothing left.
pub(in crate::coordinator) fn expire(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    let mut groups = std::mem::take(&mut shard.expiry.groups);
    if groups.is_empty() {
        groups = names(shard, turn.hard()).cloned().collect();
    }
    let mut looks = 0;
    while looks < LOOKS_PER_TURN
        && let Some(group) = groups.pop()
    {
        looks += 1 + expire_group(shard, turn, &group);
    }
    let delay_ms = match groups.is_empty() {
        true => shard.settings.offsets_retention_check_interval_ms,
        false => TURN_GAP_MS,
    };
    shard.expiry.groups = groups;
    turn.set_timer(GroupTimer::OffsetExpiry, delay_ms);
}

/// The number of offsets that were looked at.
fn expire_group(shard: &mut Groups, turn: &mut GroupTurn<'_>, group: &GroupId) -> usize {
    let Some(kind) = GroupKind::of(shard, turn.hard(), group.as_str()) else { return 0 };
    let count = turn.hard().offsets.of_group(group.as_str()).count();
    let mut doomed = expired(shard, turn, kind, group);
    // The rest of a large group goes with the next round.
    doomed.truncate(RECORDS_PER_TURN);
    for (topic, partition) in doomed {
        turn.write(tombstone(group, &topic, partition));
        shard.metrics.group_offset_expirations.increment();
    }
    if !turn.hard().offsets.has_group(group.as_str()) {
        // One with members stays, which is no error here.
        let _ = kind.delete(shard, turn, group);
    }
    count
}

fn expired(
    shard: &Groups,
    turn: &GroupTurn<'_>,
    kind: GroupKind,
    group: &GroupId,
) -> Vec<(TopicName, PartitionIndex)> {
    let hard = turn.hard();
    let expiry = match kind {
        GroupKind::Classic => classic::offset_expiry(shard, group),
        GroupKind::Consumer | GroupKind::Simple => OffsetExpiry::Committed,
    };
    let mut is_subscribed = by_topic(|topic| kind.is_subscribed(shard, hard, group, topic));
    let doomed = hard.offsets.of_group(group.as_str()).filter(|committed| {
        let (topic, partition) = (committed.topic.as_str(), committed.partition);
        is_expired(committed, expiry, turn.now.wall, shard.settings.offsets_retention_ms)
            && !is_subscribed(committed.topic)
            && !hard.offsets.pending().is_unstable(group.as_str(), topic, partition)
    });
    doomed.map(|committed| (committed.topic.clone(), committed.partition)).collect()
}

fn is_expired(
    committed: &CommittedOffset<'_>,
    expiry: OffsetExpiry,
    now: Timestamp,
    retention_ms: i64,
) -> bool {
    let since = match expiry {
        OffsetExpiry::Never => return false,
        OffsetExpiry::Committed => committed.commit_timestamp,
        OffsetExpiry::Since(since) => since,
    };
    match committed.expire_timestamp {
        Some(expires) => now >= expires,
        None => now.get().saturating_sub(since.get()) >= retention_ms,
    }
}

/// Asks once for offsets of the same topic in a row.
fn by_topic<'a>(ask: impl Fn(&TopicName) -> bool) -> impl FnMut(&'a TopicName) -> bool {
    let mut last: Option<(&TopicName, bool)> = None;
    move |topic| match last {
        Some((known, answer)) if known == topic => answer,
        _ => {
            let answer = ask(topic);
            last = Some((topic, answer));
            answer
        }
    }
}
