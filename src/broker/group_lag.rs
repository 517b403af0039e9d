//! How far groups are behind, in records and in time.
//!
//! Committed offsets come from the shards, ends from the partitions. A log that nobody has used since the start stays closed: its
//! end is what the clean stop wrote down, and what waits in it has no known age. Everything that may look into files runs on
//! the blocking pool.

use std::sync::Arc;

use super::Broker;
use super::registry::Lookup;
use super::step::{BoxFuture, off_thread};
use crate::coordinator::GroupId;
use crate::coordinator::groups::{GroupCommand, GroupOverview, GroupReply};
use crate::metadata::Image;
use crate::types::{Offset, Timestamp, TopicPartition};

/// Records whose time is looked up for one answer. Partitions beyond it have a lag without an age.
const LOOK_UPS_MAX: usize = 4_096;

/// All groups at one moment, as far as their shards have answered.
#[derive(Debug, Default)]
pub struct GroupLags {
    /// By name.
    pub groups: Vec<GroupLag>,
    /// Shards that answered.
    pub shards_active: usize,
    /// Shards whose log cannot be used.
    pub shards_failed: usize,
}

/// A group with its offsets.
#[derive(Debug)]
pub struct GroupLag {
    /// Its name.
    pub group: GroupId,
    /// `classic` or `consumer`.
    pub group_type: &'static str,
    /// State as ListGroups names it.
    pub state: &'static str,
    /// Members.
    pub members: usize,
    /// What it has committed, by topic and partition.
    pub partitions: Vec<PartitionLag>,
}

/// A committed offset beside the partition that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionLag {
    /// Which one.
    pub partition: TopicPartition,
    /// The next offset that the group reads.
    pub committed: Offset,
    /// Records that it has still to read; `None` if the partition does not exist or its end is not known.
    pub lag: Option<i64>,
    /// When the first of these was written, as it says itself; `None` without one, or if that is not known.
    pub waiting_since: Option<Timestamp>,
}

impl Broker {
    /// Asks every shard for its groups and looks at the partitions that they have read.
    pub fn group_lags(self: &Arc<Self>) -> BoxFuture<GroupLags> {
        let answers = self.group_call_each(|| GroupCommand::Overview);
        let broker = Arc::clone(self);
        Box::pin(async move {
            let mut lags = GroupLags::default();
            let mut overviews = Vec::new();
            for answer in answers.await {
                if let Ok(GroupReply::Overview(groups)) = answer {
                    lags.shards_active += 1;
                    overviews.extend(groups);
                } else {
                    lags.shards_failed += 1;
                }
            }
            lags.groups = off_thread(move || look_at(&broker, overviews)).await;
            lags
        })
    }
}

fn look_at(broker: &Arc<Broker>, mut overviews: Vec<GroupOverview>) -> Vec<GroupLag> {
    overviews.sort_by(|a, b| a.group.cmp(&b.group));
    let mut look = Look { broker, image: broker.metadata.image(), look_ups: 0 };
    overviews.into_iter().map(|overview| look.group(overview)).collect()
}

/// One round over all groups.
struct Look<'a> {
    broker: &'a Arc<Broker>,
    image: Arc<Image>,
    look_ups: usize,
}

impl Look<'_> {
    fn group(&mut self, overview: GroupOverview) -> GroupLag {
        let GroupOverview { group, group_type, state, members, mut offsets } = overview;
        offsets.sort();
        let partitions =
            offsets.into_iter().map(|(name, committed)| self.partition(name, committed));
        let partitions = partitions.collect();
        GroupLag { group, group_type, state, members, partitions }
    }

    fn partition(&mut self, partition: TopicPartition, committed: Offset) -> PartitionLag {
        let (lag, waiting_since) = match self.find(&partition) {
            Lookup::Open(open) if !open.is_retired() => {
                let ends = open.ends();
                let lag = lag(committed, ends.high_watermark);
                (Some(lag), if lag > 0 { self.time_of(&open, committed) } else { None })
            }
            Lookup::Closed(closed) => (closed.end_at_stop().map(|end| lag(committed, end)), None),
            Lookup::Open(_) | Lookup::Unknown => (None, None),
        };
        PartitionLag { partition, committed, lag, waiting_since }
    }

    fn find(&self, partition: &TopicPartition) -> Lookup {
        let topic = self.image.topic(partition.topic.as_str());
        let find = |topic| self.broker.partitions.find(topic, partition.partition);
        topic.map_or(Lookup::Unknown, |topic| find(topic))
    }

    fn time_of(&mut self, partition: &super::Partition, offset: Offset) -> Option<Timestamp> {
        if self.look_ups == LOOK_UPS_MAX || partition.directory().is_offline() {
            return None;
        }
        self.look_ups += 1;
        let found = partition.ends().view.time_of(offset);
        // A segment that retention deletes meanwhile is no fault, and a broken disk is found by those who need the data.
        found.inspect_err(|error| {
            tracing::debug!(partition = %partition.name(), %error, "the age of a record cannot be told");
        })
        .unwrap_or_default()
    }
}

/// A topic that was deleted and made again may end before what was committed for the old one.
fn lag(committed: Offset, end: Offset) -> i64 {
    end.get().saturating_sub(committed.get()).max(0)
}
