//! What must hold at every moment, and in the end.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::client::{Client, fetch_offsets};
use super::{GROUP, PARTITIONS};
use crate::coordinator::groups::{GroupCommand, GroupReply};
use crate::coordinator::stepper::Stepper;
use crate::types::TopicId;

pub(super) struct Oracle {
    pub(super) topic_id: TopicId,
    committed: BTreeMap<i32, i64>,
}

impl Oracle {
    pub(super) fn new(topic_id: TopicId) -> Self {
        Self { topic_id, committed: BTreeMap::new() }
    }

    /// After each step.
    pub(super) fn check<'a>(
        &mut self,
        stepper: &mut Stepper,
        clients: impl Iterator<Item = &'a dyn Client>,
    ) {
        self.check_offsets(stepper);
        check_owners(stepper, clients);
    }

    /// No committed offset goes back.
    fn check_offsets(&mut self, stepper: &mut Stepper) {
        let ask = fetch_offsets((0..PARTITIONS).collect(), None);
        let GroupReply::FetchOffsets(group) = stepper.ask(ask()) else { panic!("an answer") };
        for partition in group.topics.iter().flat_map(|topic| &topic.partitions) {
            let known = self.committed.entry(partition.partition_index).or_insert(-1);
            let committed = partition.committed_offset;
            assert!(
                committed >= *known,
                "partition {}: committed {known}, and now {committed}",
                partition.partition_index
            );
            *known = committed;
        }
    }

    /// When nothing has failed for long: every partition has one owner.
    pub(super) fn check_settled(&self, owned: &[BTreeSet<i32>]) {
        let all: Vec<i32> = owned.iter().flatten().copied().collect();
        let once: BTreeSet<i32> = all.iter().copied().collect();
        assert_eq!(all.len(), once.len(), "a partition has two owners: {owned:?}");
        let every: BTreeSet<i32> = (0..PARTITIONS).collect();
        assert_eq!(once, every, "a partition has no owner: {owned:?}");
        let advanced = self.committed.values().filter(|offset| **offset > 0).count();
        assert_eq!(advanced, every.len(), "nothing was committed: {:?}", self.committed);
    }
}

/// No partition belongs to two members of the new protocol: neither as the coordinator tells it, nor as those believe who are
/// members.
fn check_owners<'a>(stepper: &mut Stepper, clients: impl Iterator<Item = &'a dyn Client>) {
    let described = stepper.ask(GroupCommand::DescribeConsumer(GROUP.into()));
    let GroupReply::DescribeConsumer(group) = described else { panic!("an answer") };
    if group.error_code != 0 {
        return;
    }
    let mut owners = HashMap::new();
    let mut members = BTreeSet::new();
    for member in &group.members {
        members.insert(member.member_id.to_string());
        for topic in &member.assignment.topic_partitions {
            for partition in &topic.partitions {
                let other = owners.insert(*partition, &member.member_id);
                assert!(
                    other.is_none(),
                    "{partition} is assigned to {other:?} and {:?}",
                    member.member_id
                );
            }
        }
    }
    let mut believers = HashMap::new();
    for client in clients {
        let Some((id, epoch)) = client.identity() else { continue };
        if epoch == 0 || !members.contains(&id) {
            continue;
        }
        for partition in client.owned() {
            let other = believers.insert(partition, id.clone());
            assert!(other.is_none(), "{partition} is believed to be of {other:?} and {id}");
        }
    }
}
