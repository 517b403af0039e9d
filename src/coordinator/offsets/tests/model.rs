//! Random commits, deletions, restarts and passing time, held against a map.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const TOPICS: [&str; 3] = ["a", "b", "c"];
const GROUPS: [&str; 3] = ["x", "y", "z"];
const RETENTION_MS: u64 = 24 * HOUR_MS;

#[derive(Clone, Debug)]
enum Step {
    Commit { group: usize, topic: usize, partition: i32, offset: i64 },
    DeleteOffset { group: usize, topic: usize, partition: i32 },
    DeleteGroup { group: usize },
    CreateTopic { topic: usize },
    DeleteTopic { topic: usize },
    Restart,
    Wait { ms: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let (group, topic, partition) = (0..GROUPS.len(), 0..TOPICS.len(), 0..3_i32);
    let place = (group.clone(), topic.clone(), partition);
    prop_oneof![
        8 => (place.clone(), 0..1_000_i64).prop_map(|((group, topic, partition), offset)| {
            Step::Commit { group, topic, partition, offset }
        }),
        2 => place.prop_map(|(group, topic, partition)| {
            Step::DeleteOffset { group, topic, partition }
        }),
        1 => group.prop_map(|group| Step::DeleteGroup { group }),
        3 => topic.clone().prop_map(|topic| Step::CreateTopic { topic }),
        1 => topic.prop_map(|topic| Step::DeleteTopic { topic }),
        1 => Just(Step::Restart),
        2 => (0..RETENTION_MS).prop_map(|ms| Step::Wait { ms }),
    ]
}

/// What ought to be there.
#[derive(Default)]
struct Model {
    now_ms: u64,
    next_look_ms: u64,
    topics: BTreeSet<usize>,
    /// Offset and time of commit by group, topic and partition.
    offsets: BTreeMap<(usize, usize, i32), (i64, u64)>,
}

impl Model {
    fn wait(&mut self, ms: u64) {
        self.now_ms += ms;
        while self.next_look_ms <= self.now_ms {
            let look = self.next_look_ms;
            self.offsets.retain(|_, (_, committed)| look - *committed < RETENTION_MS);
            self.next_look_ms += HOUR_MS;
        }
    }
}

fn take(stepper: &mut Stepper, model: &mut Model, step: &Step) {
    match *step {
        Step::Commit { group, topic, partition, offset } if model.topics.contains(&topic) => {
            commit_simple(stepper, GROUPS[group], TOPICS[topic], partition, offset);
            model.offsets.insert((group, topic, partition), (offset, model.now_ms));
        }
        // Such a request does not reach the shard.
        Step::Commit { .. } => {}
        Step::DeleteOffset { group, topic, partition } => {
            let known = model.offsets.keys().any(|(known, _, _)| *known == group);
            let (code, _) = delete(stepper, GROUPS[group], TOPICS[topic], &[partition]);
            assert_eq!(code, if known { 0 } else { 69 });
            model.offsets.remove(&(group, topic, partition));
        }
        Step::DeleteGroup { group } => {
            delete_group(stepper, GROUPS[group]);
            model.offsets.retain(|(known, _, _), _| *known != group);
        }
        Step::CreateTopic { topic } => {
            stepper.topic(TOPICS[topic], 3);
            model.topics.insert(topic);
        }
        Step::DeleteTopic { topic } if model.topics.remove(&topic) => {
            stepper.delete_topic(TOPICS[topic]);
            model.offsets.retain(|(_, known, _), _| *known != topic);
        }
        Step::DeleteTopic { .. } => {}
        Step::Restart => {
            stepper.restart();
            model.next_look_ms = model.now_ms + HOUR_MS;
        }
        Step::Wait { ms } => {
            stepper.advance_ms(ms);
            model.wait(ms);
        }
    }
}

fn compare(stepper: &mut Stepper, model: &Model) {
    for (group, name) in GROUPS.iter().enumerate() {
        let offsets = model.offsets.iter().filter(|((known, _, _), _)| *known == group);
        let expected: Vec<_> = offsets
            .map(|((_, topic, partition), (offset, _))| {
                (TOPICS[*topic].to_owned(), *partition, *offset)
            })
            .collect();
        assert_eq!(fetch_all(stepper, name), expected, "{name}");
    }
    let groups: BTreeSet<usize> = model.offsets.keys().map(|(group, _, _)| *group).collect();
    assert_eq!(list(stepper, &[], &[]).len(), groups.len());
    assert_eq!(stepper.log.compacted().len(), model.offsets.len());
}

proptest! {
    #[test]
    fn a_shard_holds_what_was_committed_last_and_not_deleted(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut stepper = stepper();
        let mut model = Model { next_look_ms: HOUR_MS, ..Model::default() };
        for step in &steps {
            take(&mut stepper, &mut model, step);
            compare(&mut stepper, &model);
        }
    }
}
