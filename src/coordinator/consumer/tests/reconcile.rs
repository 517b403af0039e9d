//! Each step of a member towards its target (the cases of Kafka's `CurrentAssignmentBuilder`).

use super::super::member::{Current, Member, MemberState};
use super::super::partitions::{Held, Holding, Owners, TopicIdPartition};
use super::super::reconcile::{Surroundings, step};
use crate::types::{TopicId, Uuid};

const TOPIC: TopicId = Uuid::from_bytes([1; 16]);
const OTHER: TopicId = Uuid::from_bytes([2; 16]);

use MemberState::{Stable, Unknown, UnreleasedPartitions, UnrevokedPartitions};

/// A member in epoch 10 on its way to epoch 11, with numbers for the partitions of one topic.
#[derive(Clone)]
struct Case {
    state: MemberState,
    assigned: Vec<i32>,
    pending: Vec<i32>,
    target: Vec<i32>,
    /// What other members hold.
    held: Vec<i32>,
    owned: Option<Vec<i32>>,
    target_epoch: i32,
    subscribed: Vec<TopicId>,
    subscription_changed: bool,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            state: Stable,
            assigned: vec![1, 2, 3],
            pending: vec![],
            target: vec![1, 2, 3],
            held: vec![],
            owned: None,
            target_epoch: 11,
            subscribed: vec![TOPIC],
            subscription_changed: false,
        }
    }
}

fn at(partition: i32) -> TopicIdPartition {
    TopicIdPartition::new(TOPIC, partition)
}

fn holding(partitions: &[i32]) -> Holding {
    partitions.iter().map(|partition| Held { at: at(*partition), since_epoch: 10 }).collect()
}

fn numbers(holding: &Holding) -> Vec<i32> {
    holding.iter().map(|held| held.at.partition.get()).collect()
}

impl Case {
    fn step(&self) -> Current {
        let current = Current {
            epoch: 10,
            previous_epoch: 9,
            state: self.state,
            assigned: holding(&self.assigned),
            pending_revocation: holding(&self.pending),
        };
        let mut owners = Owners::default();
        owners.add(&current.assigned);
        owners.add(&current.pending_revocation);
        owners.add(&holding(&self.held));
        let target: Vec<_> = self.target.iter().map(|partition| at(*partition)).collect();
        let around = Surroundings {
            subscribed: self.subscribed.clone(),
            target_epoch: self.target_epoch,
            target: &target,
            owners: &owners,
            reported: self.owned.as_ref().map(|owned| owned.iter().map(|it| at(*it)).collect()),
            subscription_changed: self.subscription_changed,
        };
        step(&Member { current, ..Member::new() }, &around)
    }

    /// State, epoch, assigned, pending revocation.
    fn shown(&self) -> (MemberState, i32, Vec<i32>, Vec<i32>) {
        let next = self.step();
        (next.state, next.epoch, numbers(&next.assigned), numbers(&next.pending_revocation))
    }
}

#[test]
fn a_stable_member_follows_the_target() {
    let same = Case::default();
    assert_eq!(same.shown(), (Stable, 11, vec![1, 2, 3], vec![]));
    assert_eq!(same.step().previous_epoch, 10);
    let more = Case { target: vec![1, 2, 3, 4], ..Case::default() };
    assert_eq!(more.shown(), (Stable, 11, vec![1, 2, 3, 4], vec![]));
    let held = Case { target: vec![1, 2, 3, 4, 5], held: vec![4], ..Case::default() };
    assert_eq!(held.shown(), (UnreleasedPartitions, 11, vec![1, 2, 3, 5], vec![]));
    let fewer = Case { target: vec![2, 3, 4], ..Case::default() };
    assert_eq!(fewer.shown(), (UnrevokedPartitions, 10, vec![2, 3], vec![1]));
    assert_eq!(fewer.step().previous_epoch, 10);
    let no_longer_owned = Case { target: vec![2, 3, 4], owned: Some(vec![2]), ..Case::default() };
    assert_eq!(no_longer_owned.shown(), (Stable, 11, vec![2, 3, 4], vec![]));
    let nothing_new = Case { target_epoch: 10, target: vec![7], ..Case::default() };
    assert_eq!(nothing_new.shown(), (Stable, 10, vec![1, 2, 3], vec![]));
}

#[test]
fn new_partitions_are_held_since_the_epoch_of_the_target() {
    let next = Case { target: vec![2, 3, 4], owned: Some(vec![]), ..Case::default() }.step();
    let since: Vec<_> = next.assigned.iter().map(|held| held.since_epoch).collect();
    assert_eq!(since, [10, 10, 11]);
}

#[test]
fn a_member_that_must_let_go_stays_until_it_has() {
    let waiting = Case {
        state: UnrevokedPartitions,
        assigned: vec![2, 3],
        pending: vec![1],
        target: vec![2, 3, 4],
        ..Case::default()
    };
    for owned in [None, Some(vec![1, 2, 3]), Some(vec![1])] {
        let case = Case { owned: owned.clone(), ..waiting.clone() };
        assert_eq!(case.shown(), (UnrevokedPartitions, 10, vec![2, 3], vec![1]), "{owned:?}");
        assert_eq!(case.step().previous_epoch, 9, "as it was");
    }
    let done = Case { owned: Some(vec![2, 3]), ..waiting.clone() };
    assert_eq!(done.shown(), (Stable, 11, vec![2, 3, 4], vec![]));
    let another_target = Case { target: vec![3], owned: Some(vec![2, 3]), ..waiting.clone() };
    assert_eq!(another_target.shown(), (UnrevokedPartitions, 10, vec![3], vec![2]));
    // What it was to let go of is its own again.
    let back = Case { target: vec![1, 2, 3], owned: Some(vec![2, 3]), ..waiting.clone() };
    assert_eq!(back.shown(), (Stable, 11, vec![1, 2, 3], vec![]));
}

#[test]
fn a_member_that_waits_for_others_takes_what_becomes_free() {
    let waiting = Case {
        state: UnreleasedPartitions,
        assigned: vec![2, 3],
        target: vec![2, 3, 4, 5],
        target_epoch: 10,
        ..Case::default()
    };
    let both_held = Case { held: vec![4, 5], ..waiting.clone() };
    assert_eq!(both_held.shown(), (UnreleasedPartitions, 10, vec![2, 3], vec![]));
    let one_free = Case { held: vec![5], ..waiting.clone() };
    assert_eq!(one_free.shown(), (UnreleasedPartitions, 10, vec![2, 3, 4], vec![]));
    assert_eq!(waiting.shown(), (Stable, 10, vec![2, 3, 4, 5], vec![]));
    let next_target = Case { target: vec![3], target_epoch: 11, ..waiting.clone() };
    assert_eq!(next_target.shown(), (UnrevokedPartitions, 10, vec![3], vec![2]));
}

#[test]
fn topics_that_are_no_longer_subscribed_to_are_let_go_of_in_any_state() {
    let elsewhere = Case { subscribed: vec![OTHER], target_epoch: 10, ..Case::default() };
    assert_eq!(elsewhere.shown(), (Stable, 10, vec![1, 2, 3], vec![]), "not asked to look");
    let asked = Case { subscription_changed: true, ..elsewhere.clone() };
    assert_eq!(asked.shown(), (UnrevokedPartitions, 10, vec![], vec![1, 2, 3]));
    let gone = Case { owned: Some(vec![]), ..asked.clone() };
    assert_eq!(gone.shown(), (Stable, 10, vec![], vec![]));
    let more = Case {
        state: UnrevokedPartitions,
        assigned: vec![2, 3],
        pending: vec![1],
        ..asked.clone()
    };
    assert_eq!(more.shown(), (UnrevokedPartitions, 10, vec![], vec![1, 2, 3]));
    let target = Case { target_epoch: 11, subscribed: vec![OTHER], ..Case::default() };
    assert_eq!(target.shown(), (UnrevokedPartitions, 10, vec![], vec![1, 2, 3]));
}

#[test]
fn a_member_in_a_state_of_a_later_version_begins_anew() {
    let unknown =
        Case { state: Unknown, owned: Some(vec![]), target: vec![3, 4], ..Case::default() };
    assert_eq!(unknown.shown(), (Stable, 11, vec![3, 4], vec![]));
}
