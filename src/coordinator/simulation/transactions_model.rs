//! What the simulation of transactions believes: a coordinator that ends what it has begun, and what the log says must be seen.

use std::collections::{BTreeMap, HashMap, HashSet};

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::{
    GroupId, OffsetCommitRequest, OffsetDeleteRequest, TopicName, TxnOffsetCommitRequest,
};

use super::TOPIC;
use super::client::{call, text};
use super::transactions::{GROUPS, PARTITIONS};
use crate::coordinator::groups::{GroupCommand, GroupReply, Groups, VerifyTransaction};
use crate::coordinator::machine::{Machine, Outcome, Write};
use crate::coordinator::records::GroupRecord;
use crate::coordinator::stepper::Stepper;
use crate::coordinator::transactions::TransactionError;
use crate::types::{Marker, ProducerEpoch, ProducerId, ProducerIdAndEpoch, TransactionVersion};

/// The coordinator of transactions. It keeps everything, and learns at once what clients tell it.
#[derive(Default)]
pub(super) struct Coordinator {
    names: BTreeMap<usize, Name>,
}

struct Name {
    producer: ProducerIdAndEpoch,
    state: State,
}

#[derive(PartialEq, Eq)]
enum State {
    Empty,
    /// With offsets in the shard.
    Ongoing,
    Ending(Marker),
}

impl Coordinator {
    /// A producer begins or returns: who it is, once nothing of its former life is open.
    pub(super) fn init(
        &mut self,
        name: usize,
        version: TransactionVersion,
    ) -> (Option<ProducerIdAndEpoch>, Option<Marker>) {
        let id = ProducerId::new(1_000 + i64::try_from(name).expect("small"));
        let known = self.names.entry(name).or_insert_with(|| Name {
            producer: ProducerIdAndEpoch { id, epoch: ProducerEpoch::NONE },
            state: State::Empty,
        });
        match known.state {
            State::Ending(_) => (None, None),
            State::Empty => {
                known.producer = raised(known.producer);
                (Some(known.producer), None)
            }
            State::Ongoing => {
                known.producer = raised(known.producer);
                (None, Some(known.end(known.producer, Outcome::Abort, version)))
            }
        }
    }

    /// In version 1 a producer says first that it will commit offsets. False if it has to wait.
    pub(super) fn begin(
        &mut self,
        name: usize,
        producer: ProducerIdAndEpoch,
        version: TransactionVersion,
    ) -> bool {
        let known = self.named(name);
        assert_eq!(known.producer, producer);
        if version == TransactionVersion::V1 && known.state == State::Empty {
            known.state = State::Ongoing;
        }
        !matches!(known.state, State::Ending(_))
    }

    /// A shard asks whether it is part of the transaction.
    pub(super) fn join(&mut self, asked: &VerifyTransaction) -> Result<(), TransactionError> {
        let mut known = self.names.values_mut();
        let known = known.find(|known| known.producer.id == asked.producer.id);
        let known = known.ok_or(TransactionError::InvalidProducerIdMapping)?;
        if known.producer != asked.producer {
            return Err(TransactionError::ProducerFenced);
        }
        match (&known.state, asked.version) {
            (State::Ending(_), _) => Err(TransactionError::ConcurrentTransactions),
            (State::Ongoing, _) => Ok(()),
            (State::Empty, TransactionVersion::V1) => Err(TransactionError::Abortable),
            (State::Empty, TransactionVersion::V2) => {
                known.state = State::Ongoing;
                Ok(())
            }
        }
    }

    /// A producer ends its transaction. No marker is needed if the shard is not part of it.
    pub(super) fn end(
        &mut self,
        name: usize,
        version: TransactionVersion,
        outcome: Outcome,
    ) -> Option<Marker> {
        let known = self.named(name);
        let of = known.producer;
        if version == TransactionVersion::V2 {
            known.producer = raised(of);
        }
        let producer = known.producer;
        (known.state == State::Ongoing).then(|| known.end(producer, outcome, version))
    }

    /// Who a producer is when its transaction has ended.
    pub(super) fn ended(&mut self, name: usize) -> Option<ProducerIdAndEpoch> {
        let known = self.named(name);
        (known.state == State::Empty).then_some(known.producer)
    }

    /// True while the marker has to be written.
    pub(super) fn is_ending(&self, marker: &Marker) -> bool {
        self.names.values().any(|known| known.state == State::Ending(*marker))
    }

    /// The marker is written.
    pub(super) fn marked(&mut self, marker: &Marker) {
        let ending = State::Ending(*marker);
        let known = self.names.values_mut().find(|known| known.state == ending);
        known.into_iter().for_each(|known| known.state = State::Empty);
    }

    fn named(&mut self, name: usize) -> &mut Name {
        self.names.get_mut(&name).expect("it was given an identity")
    }
}

impl Name {
    fn end(
        &mut self,
        producer: ProducerIdAndEpoch,
        outcome: Outcome,
        version: TransactionVersion,
    ) -> Marker {
        let marker = Marker { producer, outcome, coordinator_epoch: 0, version };
        self.state = State::Ending(marker);
        marker
    }
}

fn raised(producer: ProducerIdAndEpoch) -> ProducerIdAndEpoch {
    let epoch = ProducerEpoch::new(producer.epoch.get() + 1);
    ProducerIdAndEpoch { epoch, ..producer }
}

/// A group and a partition.
type Place = (String, i32);

/// A transaction: its producer, and the how many of it.
type Transaction = (ProducerId, u64);

/// What must be seen.
#[derive(Default)]
pub(super) struct Truth {
    /// Entries of the log that were taken in.
    seen: usize,
    position: u64,
    /// Position and offset of what counts.
    visible: BTreeMap<Place, (u64, i64)>,
    pending: HashMap<ProducerId, BTreeMap<Place, (u64, i64)>>,
    written: HashSet<(Place, i64)>,
    /// No two are the same; those of transactions are known to be.
    next_offset: i64,
    transactions: HashMap<i64, Transaction>,
    current: HashMap<ProducerId, u64>,
    outcomes: HashMap<Transaction, Outcome>,
}

impl Truth {
    /// An offset for the open transaction of a producer.
    pub(super) fn next_offset(&mut self, producer: ProducerIdAndEpoch) -> i64 {
        self.next_offset += 1;
        let transaction = (producer.id, *self.current.entry(producer.id).or_default());
        self.transactions.insert(self.next_offset, transaction);
        self.next_offset
    }

    /// A transaction will end like this.
    pub(super) fn decided(&mut self, producer: ProducerId, outcome: Outcome) {
        let current = self.current.entry(producer).or_default();
        self.outcomes.insert((producer, *current), outcome);
        *current += 1;
    }

    /// Whoever was told so relies on it.
    pub(super) fn acknowledged(&self, request: &TxnOffsetCommitRequest) {
        for partition in &request.topics[0].partitions {
            let place = (request.group_id.to_string(), partition.partition_index);
            let written = (place, partition.committed_offset);
            assert!(self.written.contains(&written), "acknowledged, not written: {written:?}");
        }
    }

    pub(super) fn ended(&self, outcome: Outcome) -> usize {
        self.outcomes.values().filter(|known| **known == outcome).count()
    }

    pub(super) fn assert_nothing_hangs(&self) {
        assert!(self.pending.is_empty(), "transactions hang: {:?}", self.pending);
    }

    /// The cleaner has been there.
    pub(super) fn clean(&mut self, stepper: &mut Stepper) {
        stepper.log.clean();
        self.seen = stepper.log.len();
    }

    /// Takes in what was written, and looks at what is shown.
    pub(super) fn observe(&mut self, stepper: &mut Stepper) {
        for entry in &stepper.log.entries()[self.seen..] {
            self.position += 1;
            match entry {
                Write::Record(record) => self.take(&record.key, record.value.as_deref(), None),
                Write::Pending(by, record) => {
                    self.take(&record.key, record.value.as_deref(), Some(by.id));
                }
                Write::Marker(marker) => self.end(marker),
            }
        }
        self.seen = stepper.log.len();
        for group in GROUPS {
            self.compare(stepper, group);
        }
    }

    fn take(&mut self, key: &[u8], value: Option<&[u8]>, by: Option<ProducerId>) {
        let record = Groups::decode(key, value).expect("our own bytes").expect("a known type");
        let GroupRecord::OffsetCommit { group, partition, value, .. } = record else { return };
        let place = (group.as_str().to_owned(), partition.get());
        let Some(value) = value else {
            self.visible.remove(&place);
            for places in self.pending.values_mut() {
                places.remove(&place);
            }
            return;
        };
        let at = (self.position, value.offset.get());
        match by {
            None => drop(self.visible.insert(place, at)),
            Some(by) => {
                self.written.insert((place.clone(), at.1));
                self.pending.entry(by).or_default().insert(place, at);
            }
        }
    }

    fn end(&mut self, marker: &Marker) {
        for (place, at) in self.pending.remove(&marker.producer.id).unwrap_or_default() {
            let decided = self.outcomes.get(&self.transactions[&at.1]);
            assert_eq!(decided, Some(&marker.outcome), "{place:?} {at:?} in another transaction");
            let known = self.visible.get(&place);
            if marker.outcome == Outcome::Commit && known.is_none_or(|known| known.0 < at.0) {
                self.visible.insert(place, at);
            }
        }
    }

    fn compare(&self, stepper: &mut Stepper, group: &str) {
        let shown = fetch(stepper, group, false);
        let must = |place: &Place| self.visible.get(place).map_or(-1, |at| at.1);
        for (at, offset, _) in shown {
            let place = (group.to_owned(), at);
            assert_eq!(offset, must(&place), "{place:?}");
            let transaction = self.transactions.get(&offset);
            let outcome = transaction.map(|transaction| self.outcomes.get(transaction));
            assert!(matches!(outcome, None | Some(Some(Outcome::Commit))), "{place:?} {offset}");
        }
        for (at, offset, code) in fetch(stepper, group, true) {
            let place = (group.to_owned(), at);
            let is_pending = self.pending.values().any(|places| places.contains_key(&place));
            let expected = if is_pending { (-1, 88) } else { (must(&place), 0) };
            assert_eq!((offset, code), expected, "{place:?}");
        }
    }

    /// Somebody commits outside transactions, or deletes offsets.
    pub(super) fn bystander(&mut self, number: u64) -> GroupCommand {
        let group = GroupId(text(GROUPS[usize::try_from(number % 2).expect("small")]));
        let at = i32::try_from(number / 2 % 3).expect("small");
        self.next_offset += 1;
        match number / 6 % 10 {
            0 => GroupCommand::DeleteGroup(group.as_str().into()),
            1 => {
                let partition = OffsetDeleteRequestPartition::default().with_partition_index(at);
                let topic = OffsetDeleteRequestTopic::default()
                    .with_name(TopicName(text(TOPIC)))
                    .with_partitions(vec![partition]);
                let request = OffsetDeleteRequest::default().with_group_id(group);
                GroupCommand::DeleteOffsets(request.with_topics(vec![topic]))
            }
            _ => {
                let partition = OffsetCommitRequestPartition::default()
                    .with_partition_index(at)
                    .with_committed_offset(self.next_offset)
                    .with_committed_metadata(Some(text("")));
                let topic = OffsetCommitRequestTopic::default()
                    .with_name(TopicName(text(TOPIC)))
                    .with_partitions(vec![partition]);
                let request = OffsetCommitRequest::default()
                    .with_group_id(group)
                    .with_generation_id_or_member_epoch(-1)
                    .with_retention_time_ms(-1)
                    .with_topics(vec![topic]);
                GroupCommand::CommitOffsets(call(9, request))
            }
        }
    }
}

/// Partition, offset and code.
fn fetch(stepper: &mut Stepper, group: &str, require_stable: bool) -> Vec<(i32, i64, i16)> {
    use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopics;
    let topic = OffsetFetchRequestTopics::default()
        .with_name(TopicName(text(TOPIC)))
        .with_partition_indexes((0..PARTITIONS).collect());
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(GroupId(text(group)))
        .with_member_epoch(-1)
        .with_topics(Some(vec![topic]));
    let command = GroupCommand::FetchOffsets { version: 9, group, require_stable };
    let GroupReply::FetchOffsets(answer) = stepper.ask(command) else { panic!("an answer") };
    let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
    partitions.map(|at| (at.partition_index, at.committed_offset, at.error_code)).collect()
}
