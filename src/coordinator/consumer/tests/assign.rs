//! The assignors: documented results, and what must hold of any result.

use proptest::prelude::*;

use super::super::assign::{AssignedTopic, Assignor, Problem, Subscriber, Subscriptions, assign};
use super::super::partitions::{Target, TopicIdPartition};
use crate::types::{TopicId, Uuid};

fn topic_id(index: usize) -> TopicId {
    Uuid::from_bytes((index as u128 + 1).to_be_bytes())
}

/// Members with what they should have had so far.
#[derive(Debug)]
struct Case {
    topics: Vec<u32>,
    instances: Vec<Option<&'static str>>,
    before: Vec<Target>,
    subscriptions: Subscriptions,
}

impl Case {
    fn new(topics: &[u32], members: usize) -> Self {
        Self {
            topics: topics.to_vec(),
            instances: vec![None; members],
            before: vec![Target::new(); members],
            subscriptions: Subscriptions::Same,
        }
    }

    fn assign(&self, assignor: Assignor) -> Vec<Target> {
        let topic = |(index, partitions): (usize, &u32)| AssignedTopic {
            id: topic_id(index),
            partitions: *partitions,
        };
        let members = self.instances.iter().zip(&self.before);
        assign(
            assignor,
            &Problem {
                topics: self.topics.iter().enumerate().map(topic).collect(),
                members: members
                    .map(|(instance, target)| Subscriber { instance: *instance, target })
                    .collect(),
                subscriptions: match &self.subscriptions {
                    Subscriptions::Same => Subscriptions::Same,
                    Subscriptions::Each(each) => Subscriptions::Each(each.clone()),
                },
            },
        )
    }
}

/// `0:1` is partition 1 of topic 0.
fn show(target: &Target) -> String {
    let show = |at: &TopicIdPartition| {
        let topic = u128::from_be_bytes(at.topic.to_bytes()) - 1;
        format!("{topic}:{}", at.partition)
    };
    target.iter().map(show).collect::<Vec<_>>().join(" ")
}

fn shown(targets: &[Target]) -> Vec<String> {
    targets.iter().map(show).collect()
}

#[test]
fn range_gives_the_same_partitions_of_topics_that_are_alike() {
    // The example in the documentation of Kafka's RangeAssignor.
    let targets = Case::new(&[3, 3], 2).assign(Assignor::Range);
    assert_eq!(shown(&targets), ["0:0 0:1 1:0 1:1", "0:2 1:2"]);
}

#[test]
fn range_puts_static_members_first_in_the_order_of_their_instances() {
    let mut case = Case::new(&[3, 3], 3);
    case.instances = vec![None, Some("i2"), Some("i1")];
    assert_eq!(shown(&case.assign(Assignor::Range)), ["0:2 1:2", "0:1 1:1", "0:0 1:0"]);
    // New ids, other order: the instances keep what they had.
    case.instances = vec![Some("i1"), None, Some("i2")];
    assert_eq!(shown(&case.assign(Assignor::Range)), ["0:0 1:0", "0:2 1:2", "0:1 1:1"]);
}

#[test]
fn range_divides_a_topic_among_those_who_subscribe_to_it() {
    let mut case = Case::new(&[4, 2, 3], 3);
    case.subscriptions = Subscriptions::Each(vec![vec![0, 1], vec![2], vec![0, 2]]);
    let targets = case.assign(Assignor::Range);
    assert_eq!(shown(&targets), ["0:0 0:1 1:0 1:1", "2:0 2:1", "0:2 0:3 2:2"]);
}

#[test]
fn more_members_than_partitions_leave_some_without() {
    for assignor in [Assignor::Range, Assignor::Uniform] {
        let targets = Case::new(&[2], 4).assign(assignor);
        assert_eq!(shown(&targets), ["0:0", "0:1", "", ""]);
    }
}

#[test]
fn uniform_moves_only_what_a_new_member_must_get() {
    let mut case = Case::new(&[6], 2);
    case.before = case.assign(Assignor::Uniform);
    assert_eq!(shown(&case.before), ["0:0 0:1 0:2", "0:3 0:4 0:5"]);
    case.before.push(Target::new());
    case.instances.push(None);
    assert_eq!(shown(&case.assign(Assignor::Uniform)), ["0:0 0:1", "0:3 0:4", "0:2 0:5"]);
}

#[test]
fn uniform_leaves_the_odd_partition_where_it_is() {
    let mut case = Case::new(&[3], 2);
    case.before = vec![vec![TopicIdPartition::new(topic_id(0), 0)], Target::new()];
    case.before[1].push(TopicIdPartition::new(topic_id(0), 1));
    case.before[1].push(TopicIdPartition::new(topic_id(0), 2));
    assert_eq!(case.assign(Assignor::Uniform), case.before);
}

#[test]
fn uneven_subscriptions_are_levelled_over_several_topics() {
    // Kafka's example: with topics of 15 partitions, members 1 and 2 on the first, 2 and 3 on the second.
    let mut case = Case::new(&[15, 15], 3);
    case.subscriptions = Subscriptions::Each(vec![vec![0], vec![0, 1], vec![1]]);
    let loads: Vec<_> = case.assign(Assignor::Uniform).iter().map(Vec::len).collect();
    assert_eq!(loads.iter().sum::<usize>(), 30);
    assert!(loads.iter().all(|load| (9..=11).contains(load)), "{loads:?}");
}

/// A problem whose members have had any partitions before, among them some that are gone or that others had as well.
fn cases() -> impl Strategy<Value = Case> {
    let topics = prop::collection::vec(0_u32..12, 1..6);
    (topics, 1_usize..9).prop_flat_map(|(topics, members)| {
        let at = (0..topics.len() + 1, 0_i32..14);
        let held = prop::collection::vec(at, 0..20);
        let before = prop::collection::vec(held, members);
        let of_member = prop::collection::btree_set(0..topics.len(), 0..=topics.len());
        let each = prop::option::of(prop::collection::vec(of_member, members));
        (Just(topics), before, each).prop_map(|(topics, before, each)| {
            let target = |held: Vec<(usize, i32)>| {
                let mut target: Target = held
                    .into_iter()
                    .map(|(topic, partition)| TopicIdPartition::new(topic_id(topic), partition))
                    .collect();
                target.sort_unstable();
                target.dedup();
                target
            };
            let mut case = Case::new(&topics, before.len());
            case.before = before.into_iter().map(target).collect();
            case.subscriptions = each.map_or(Subscriptions::Same, |each| {
                Subscriptions::Each(each.into_iter().map(|set| set.into_iter().collect()).collect())
            });
            case
        })
    })
}

fn subscribes(case: &Case, member: usize, topic: usize) -> bool {
    match &case.subscriptions {
        Subscriptions::Same => true,
        Subscriptions::Each(each) => each[member].contains(&topic),
    }
}

proptest! {
    #[test]
    fn every_wanted_partition_has_one_owner_that_subscribes_to_it(case in cases()) {
        for assignor in [Assignor::Uniform, Assignor::Range] {
            let targets = case.assign(assignor);
            let mut all: Vec<_> = targets.iter().flatten().copied().collect();
            all.sort_unstable();
            let mut wanted = Target::new();
            for (topic, partitions) in case.topics.iter().enumerate() {
                if (0..targets.len()).any(|member| subscribes(&case, member, topic)) {
                    let partitions = 0..i32::try_from(*partitions).expect("small");
                    wanted.extend(partitions.map(|at| TopicIdPartition::new(topic_id(topic), at)));
                }
            }
            prop_assert_eq!(all, wanted, "{:?}", assignor);
            for (member, target) in targets.iter().enumerate() {
                prop_assert!(target.is_sorted());
                for at in target {
                    let topic = u128::from_be_bytes(at.topic.to_bytes()) as usize - 1;
                    prop_assert!(subscribes(&case, member, topic));
                }
            }
        }
    }

    #[test]
    fn uniform_is_even_and_moves_no_more_than_it_must(mut case in cases()) {
        case.subscriptions = Subscriptions::Same;
        let targets = case.assign(Assignor::Uniform);
        let loads: Vec<_> = targets.iter().map(Vec::len).collect();
        let (min, max) = (loads.iter().min().expect("some"), loads.iter().max().expect("some"));
        prop_assert!(max - min <= 1, "{:?}", loads);

        // What members could keep at best: everything that exists and nobody before them had, up to the lower number each,
        // and one more for as many as there are partitions left over.
        let mut taken = std::collections::HashSet::new();
        let mut had = Vec::new();
        for target in &case.before {
            let exists = |at: &&TopicIdPartition| {
                let topic = u128::from_be_bytes(at.topic.to_bytes()) as usize - 1;
                let partitions = case.topics.get(topic).copied().unwrap_or(0);
                at.partition.get() < i32::try_from(partitions).expect("small")
            };
            had.push(target.iter().filter(exists).filter(|at| taken.insert(**at)).count());
        }
        let partitions: usize = case.topics.iter().map(|count| *count as usize).sum();
        let (lower, extra) = (partitions / had.len(), partitions % had.len());
        let more = had.iter().filter(|count| **count > lower).count().min(extra);
        let best: usize = had.iter().map(|count| (*count).min(lower)).sum::<usize>() + more;
        let kept: usize = targets
            .iter()
            .zip(&case.before)
            .map(|(after, before)| after.iter().filter(|at| before.contains(at)).count())
            .sum();
        prop_assert!(kept >= best, "kept {} of {}", kept, best);
    }

    #[test]
    fn a_target_that_was_just_made_is_made_again(mut case in cases()) {
        for assignor in [Assignor::Uniform, Assignor::Range] {
            case.before = case.assign(assignor);
            prop_assert_eq!(&case.assign(assignor), &case.before);
        }
    }

    #[test]
    fn no_single_move_makes_an_uneven_assignment_more_even(case in cases()) {
        let targets = case.assign(Assignor::Uniform);
        for (giver, target) in targets.iter().enumerate() {
            for at in target {
                let topic = u128::from_be_bytes(at.topic.to_bytes()) as usize - 1;
                for (taker, other) in targets.iter().enumerate() {
                    let can = giver != taker && subscribes(&case, taker, topic);
                    prop_assert!(!can || target.len() <= other.len() + 1, "{:?}", shown(&targets));
                }
            }
        }
    }
}

#[test]
fn a_thousand_members_and_ten_thousand_partitions_are_assigned_in_no_time() {
    let mut case = Case::new(&[10_000], 1_000);
    for _ in 0..20 {
        case.before = case.assign(Assignor::Uniform);
        case.before.rotate_left(1);
        case.before[0].clear();
    }
    assert!(case.assign(Assignor::Uniform).iter().all(|target| target.len() == 10));
}
