//! Deletions of more offsets than one turn writes: of topics that are gone, and of groups.
//!
//! A turn is one batch in the log and holds up every other command of the shard, so it deletes [`RECORDS_PER_TURN`] offsets
//! at most and a timer brings the next one. Until then offsets of a topic that is gone may still be told to those who ask for all
//! offsets of their group, as with Kafka. A group is deleted behind its offsets, and answered then; a member that joins in
//! between keeps it, without the offsets that are gone by then.

use std::collections::{BTreeSet, VecDeque};

use super::delete::tombstone;
use crate::coordinator::GroupId;
use crate::coordinator::groups::{GroupTimer, GroupTurn, Groups, delete_group};
use crate::coordinator::machine::Token;
use crate::types::{PartitionIndex, TopicId, TopicName};

/// Offsets that one turn deletes.
pub(super) const RECORDS_PER_TURN: usize = 1_000;

/// Between two turns, so that commands come in between.
const TURN_GAP_MS: i64 = 1;

/// What is still to be deleted. Lost with the process: a restart finds topics that are gone by itself, and whoever asked
/// for a group asks again.
#[derive(Debug, Default)]
pub struct Deletions {
    topics: BTreeSet<(TopicName, TopicId)>,
    groups: VecDeque<(GroupId, Token)>,
}

/// How far a deletion has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coordinator) enum Progress {
    /// What is left fits into a turn.
    Last,
    /// More than that.
    More,
}

/// Topics of these names and ids are gone: deletes their offsets, in this turn and as many more as it takes.
pub(super) fn add_topics(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    gone: impl IntoIterator<Item = (TopicName, TopicId)>,
) {
    shard.deletions.topics.extend(gone);
    delete_topics(shard, turn);
}

/// A group whose offsets are more than fit into one turn is deleted in the turns that follow; its caller waits.
pub(in crate::coordinator) fn add_group(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    token: Token,
) {
    shard.deletions.groups.push_back((group.clone(), token));
    turn.set_timer(GroupTimer::Deletions, TURN_GAP_MS);
}

/// The next turn.
pub(in crate::coordinator) fn go_on(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    delete_topics(shard, turn);
    if let Some((group, token)) = shard.deletions.groups.pop_front() {
        delete_group(shard, turn, &group, token);
    }
    if !shard.deletions.groups.is_empty() {
        turn.set_timer(GroupTimer::Deletions, TURN_GAP_MS);
    }
}

fn delete_topics(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    let mut room = RECORDS_PER_TURN;
    while let Some((topic, id)) = shard.deletions.topics.first() {
        let doomed = of_topic(turn, topic, *id, room);
        for (group, partition) in &doomed {
            turn.write(tombstone(group, topic, *partition));
        }
        shard.metrics.group_offset_deletions.add(doomed.len() as u64);
        if doomed.len() == room {
            // There may be more.
            return turn.set_timer(GroupTimer::Deletions, TURN_GAP_MS);
        }
        room -= doomed.len();
        shard.deletions.topics.pop_first();
    }
}

/// Offsets of a topic, those of open transactions too; no more than `most`.
fn of_topic(
    turn: &GroupTurn<'_>,
    topic: &TopicName,
    id: TopicId,
    most: usize,
) -> BTreeSet<(GroupId, PartitionIndex)> {
    let offsets = &turn.hard().offsets;
    let committed = offsets.of_topic(topic, id).map(|(group, at)| (group.clone(), at));
    let pending = offsets.pending().all().filter(|(_, name, of, _)| (*name, *of) == (topic, id));
    let pending = pending.map(|(group, _, _, at)| (group.clone(), at));
    let mut doomed = BTreeSet::new();
    for offset in committed.chain(pending) {
        if doomed.len() == most {
            break;
        }
        doomed.insert(offset);
    }
    doomed
}

/// Deletes offsets of a group, as many as fit into a turn, if there are more.
pub(in crate::coordinator) fn delete_some(
    shard: &Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
) -> Progress {
    let offsets = &turn.hard().offsets;
    let pending = offsets.pending().of_group(group.as_str());
    if offsets.of_group(group.as_str()).count() + pending.count() <= RECORDS_PER_TURN {
        return Progress::Last;
    }
    let committed = offsets.of_group(group.as_str()).map(|at| (at.topic.clone(), at.partition));
    let pending = offsets.pending().of_group(group.as_str());
    let pending = pending.map(|(topic, partition)| (topic.clone(), partition));
    let doomed: Vec<_> = committed.chain(pending).take(RECORDS_PER_TURN).collect();
    shard.metrics.group_offset_deletions.add(doomed.len() as u64);
    for (topic, partition) in doomed {
        turn.write(tombstone(group, &topic, partition));
    }
    Progress::More
}
