//! The state machine of a shard of `__consumer_offsets`: groups of both protocols and committed offsets.
//!
//! This module only sends a command to the part that it is for. `classic` and `consumer` hold the rules of their protocol,
//! `offsets` those of committed offsets.

mod admin;
mod commands;
mod growth;
mod kind;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

pub(super) use admin::{delete as delete_group, names};
pub use commands::{
    Call, Client, GroupCommand, GroupErrand, GroupOverview, GroupReply, MarkerError,
    VerifyTransaction,
};
pub(super) use kind::GroupKind;
pub use settings::{GroupSettings, Migration};

use super::classic::{ClassicGroup, ClassicTimer};
use super::consumer::{ConsumerGroup, ConsumerSessions, ConsumerTimer, SeenTopics};
use super::machine::{Entry, InvalidRecord, KeyValue, LogProducer, Machine, Token, Turn};
use super::offsets::{CommittedOffsets, Deletions, ExpiryRound, KnownProducers, Verifications};
use super::records::{self, ClassicGroupValue, GroupRecord};
use super::{Footprint, GroupId, classic, consumer, offsets};
use crate::observe::Metrics;

/// A turn on a shard of groups.
pub type GroupTurn<'a> = Turn<'a, Groups>;

/// Soft state of a shard, and its settings.
#[derive(Debug)]
pub struct Groups {
    /// The broker's settings.
    pub settings: Arc<GroupSettings>,
    /// Where rebalances and what becomes of offsets are counted.
    pub metrics: Arc<Metrics>,
    /// Groups of the classic protocol as they live: members that join, wait, are being assigned. There is one for each
    /// [`HardGroup::Classic`], and one for each that has not finished its first rebalance.
    pub classic: HashMap<GroupId, ClassicGroup>,
    /// What groups of the new protocol need beside their records.
    pub consumer: HashMap<GroupId, ConsumerSessions>,
    /// The topics that groups of the new protocol have last been compared with.
    pub consumer_topics: SeenTopics,
    /// How far the look for offsets that have expired has come.
    pub expiry: ExpiryRound,
    /// What takes more than one turn to delete.
    pub deletions: Deletions,
    /// About how much memory `classic` takes.
    pub footprint: Footprint,
    /// Producers that the shard's log would refuse, or whose transactions are open in it.
    pub producers: KnownProducers,
    /// Commits in transactions that nobody has vouched for yet.
    pub verifications: Verifications,
}

/// What the records of a shard add up to.
#[derive(Debug, Default)]
pub struct GroupsHard {
    /// Groups. Changed by `GroupsHard::put` and its like only.
    pub groups: HashMap<GroupId, HardGroup>,
    /// Committed offsets; a group may have some without being in `groups`.
    pub offsets: CommittedOffsets,
    /// About how much memory `groups` takes.
    groups_bytes: usize,
}

/// A group as its records say.
#[derive(Debug)]
pub enum HardGroup {
    /// As after its last rebalance.
    Classic(ClassicGroupValue),
    /// Of the new protocol.
    Consumer(Box<ConsumerGroup>),
}

impl GroupsHard {
    /// Adds a group, or puts it in the place of another.
    pub(super) fn put(&mut self, id: &GroupId, group: HardGroup) {
        self.groups_bytes += group.bytes();
        match self.groups.insert(id.clone(), group) {
            Some(old) => self.groups_bytes -= old.bytes(),
            None => self.groups_bytes += growth::name_bytes(id),
        }
    }

    /// Removes a group.
    pub(super) fn remove(&mut self, id: &GroupId) {
        if let Some(old) = self.groups.remove(id) {
            self.groups_bytes -= old.bytes() + growth::name_bytes(id);
        }
    }

    /// Changes a group of the new protocol, if there is one of the name.
    pub(super) fn change(&mut self, id: &GroupId, change: impl FnOnce(&mut ConsumerGroup)) {
        if let Some(HardGroup::Consumer(group)) = self.groups.get_mut(id) {
            self.groups_bytes -= group.footprint_bytes();
            change(group);
            self.groups_bytes += group.footprint_bytes();
        }
    }
}

impl HardGroup {
    fn bytes(&self) -> usize {
        match self {
            Self::Classic(value) => classic::record_bytes(value),
            Self::Consumer(group) => group.footprint_bytes(),
        }
    }
}

/// Timers of a shard of groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GroupTimer {
    /// Of a group of the classic protocol.
    Classic(GroupId, ClassicTimer),
    /// Of a group of the new protocol.
    Consumer(GroupId, ConsumerTimer),
    /// The next look for offsets that have expired.
    OffsetExpiry,
    /// The next part of a deletion.
    Deletions,
    /// The next look for producers that are silent.
    ProducerExpiry,
}

impl Groups {
    /// A shard that knows nothing yet.
    pub fn new(settings: Arc<GroupSettings>, metrics: Arc<Metrics>) -> Self {
        Self {
            settings,
            metrics,
            classic: HashMap::new(),
            consumer: HashMap::new(),
            consumer_topics: SeenTopics::default(),
            expiry: ExpiryRound::default(),
            deletions: Deletions::default(),
            footprint: Footprint::default(),
            producers: KnownProducers::default(),
            verifications: Verifications::default(),
        }
    }
}

fn is_consumer(turn: &GroupTurn<'_>, group: &str) -> bool {
    matches!(turn.hard().groups.get(group), Some(HardGroup::Consumer(_)))
}

impl Machine for Groups {
    type Command = GroupCommand;
    type Reply = GroupReply;
    type Record = GroupRecord;
    type Hard = GroupsHard;
    type Timer = GroupTimer;
    type Errand = GroupErrand;

    fn decide(&mut self, turn: &mut GroupTurn<'_>, command: GroupCommand, token: Token) {
        use GroupCommand as Ask;
        match command {
            Ask::Join(call) if is_consumer(turn, &call.request.group_id) => {
                consumer::classic_join(self, turn, call, token);
            }
            Ask::Join(call) => classic::join(self, turn, call, token),
            Ask::Sync(call) if is_consumer(turn, &call.request.group_id) => {
                consumer::classic_sync(self, turn, call, token);
            }
            Ask::Sync(call) => classic::sync(self, turn, call, token),
            Ask::Heartbeat(call) if is_consumer(turn, &call.request.group_id) => {
                consumer::classic_heartbeat(self, turn, call, token);
            }
            Ask::Heartbeat(call) => classic::heartbeat(self, turn, call, token),
            Ask::Leave(call) if is_consumer(turn, &call.request.group_id) => {
                consumer::classic_leave(self, turn, call, token);
            }
            Ask::Leave(call) => classic::leave(self, turn, call, token),
            Ask::ConsumerHeartbeat(call) => consumer::heartbeat(self, turn, call, token),
            Ask::CommitOffsets(call) => offsets::commit(self, turn, &call, token),
            Ask::CommitInTransaction(call) => {
                offsets::commit_in_transaction(self, turn, call, token);
            }
            Ask::TransactionVerified { errand, producer, verdict } => {
                offsets::verified(self, turn, (producer, errand), verdict);
                turn.answer(token, GroupReply::TransactionVerified);
            }
            Ask::EndTransaction(marker) => {
                let taken = offsets::end(self, turn, marker);
                turn.answer(token, GroupReply::EndTransaction(taken));
            }
            Ask::FetchOffsets { version, group, require_stable } => {
                offsets::fetch(
                    self,
                    turn,
                    &offsets::Fetch { version, group, require_stable },
                    token,
                );
            }
            Ask::DeleteOffsets(request) => offsets::delete(self, turn, &request, token),
            Ask::DeleteGroup(group) => admin::delete(self, turn, &group, token),
            Ask::DescribeClassic { version, group } => {
                admin::describe_classic(self, turn, version, &group, token);
            }
            Ask::DescribeConsumer(group) => admin::describe_consumer(self, turn, &group, token),
            Ask::List { states, types } => admin::list(self, turn, &states, &types, token),
            Ask::Overview => admin::overview(self, turn, token),
        }
    }

    fn expired(&mut self, turn: &mut GroupTurn<'_>, timer: GroupTimer) {
        match timer {
            GroupTimer::Classic(group, timer) => classic::expired(self, turn, &group, timer),
            GroupTimer::Consumer(group, timer) => consumer::expired(self, turn, &group, timer),
            GroupTimer::OffsetExpiry => offsets::expire(self, turn),
            GroupTimer::Deletions => offsets::go_on(self, turn),
            GroupTimer::ProducerExpiry => offsets::expire_producers(self, turn),
        }
    }

    fn restore_producers(&mut self, producers: &[LogProducer]) {
        self.producers.restore(producers);
    }

    fn loaded(&mut self, turn: &mut GroupTurn<'_>) {
        classic::loaded(self, turn);
        consumer::loaded(self, turn);
        offsets::loaded(self, turn);
    }

    fn image_changed(&mut self, turn: &mut GroupTurn<'_>) {
        consumer::image_changed(self, turn);
        offsets::image_changed(self, turn);
    }

    fn apply(hard: &mut GroupsHard, entry: &Entry<GroupRecord>) {
        match entry {
            Entry::Record(GroupRecord::OffsetCommit { group, topic, partition, value }) => {
                hard.offsets.apply(group, topic, *partition, value.as_ref());
            }
            Entry::Record(GroupRecord::ClassicGroup { group, value }) => {
                classic::apply(hard, group, value.as_ref());
            }
            Entry::Record(record) => consumer::apply(hard, record),
            Entry::Pending { producer, record } => hard.offsets.apply_pending(*producer, record),
            Entry::Ended { producer, outcome } => hard.offsets.apply_ended(*producer, *outcome),
        }
    }

    fn encode(record: &GroupRecord) -> KeyValue {
        records::encode(record)
    }

    fn decode(key: &[u8], value: Option<&[u8]>) -> Result<Option<GroupRecord>, InvalidRecord> {
        records::decode(key, value)
    }

    fn state_bytes(&self, hard: &GroupsHard) -> usize {
        let waiting = self.verifications.waiting_bytes();
        let soft = self.footprint.bytes() + self.producers.footprint_bytes() + waiting;
        soft + hard.groups_bytes + hard.offsets.footprint_bytes()
    }

    fn grows(&self, hard: &GroupsHard, command: &GroupCommand) -> bool {
        growth::grows(self, hard, command)
    }
}
