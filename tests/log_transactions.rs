//! Who may write in a transaction, and what its end does to a log.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use highwater::config::TopicSettings;
use highwater::log::{Admission, AppendError, Appended, JoinGuard, Log};
use highwater::types::{
    LeaderEpoch, Marker, Offset, Outcome, ProducerIdAndEpoch, TransactionVersion,
};
use support::batches::{Sender, admitted, batch, identity};
use support::logs::{NOW, append_marker, env, open, open_args};
use tempfile::TempDir;

use TransactionVersion::{V1, V2};

const EPOCH: LeaderEpoch = LeaderEpoch::new(3);
const OPEN: Admission = Admission::Open;

struct World {
    log: Log,
    _directory: TempDir,
}

impl World {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let args = open_args(&env(), &directory.path().join("t-0"), TopicSettings::default());
        Self { log: open(&args), _directory: directory }
    }

    /// Producer 7 asks to be let in.
    fn begin(
        &mut self,
        epoch: i16,
        sequence: i32,
        version: TransactionVersion,
    ) -> Option<JoinGuard> {
        self.log.begin_join(producer(epoch), sequence, version, NOW)
    }

    fn send(
        &mut self,
        (epoch, sequence): (i16, i32),
        transactional: bool,
        admission: Admission,
    ) -> Result<Appended, AppendError> {
        let sender = Sender { id: 7, epoch, sequence, transactional };
        let bytes = batch(&[(b"a", NOW.get()), (b"b", NOW.get())], Some(sender));
        self.log.append(&admitted(&bytes, admission), EPOCH, NOW)
    }

    /// Begins a transaction with two records.
    fn join(&mut self, epoch: i16, sequence: i32, version: TransactionVersion) {
        let guard = self.begin(epoch, sequence, version).expect("it is not open");
        self.send((epoch, sequence), true, Admission::Joined(guard)).unwrap();
    }

    fn end(&mut self, marker: Marker) -> Result<Appended, AppendError> {
        append_marker(&mut self.log, &marker, EPOCH)
    }

    fn first_unstable(&self) -> Option<i64> {
        self.log.view().first_open.map(Offset::get)
    }
}

fn producer(epoch: i16) -> ProducerIdAndEpoch {
    identity(7, epoch)
}

fn abort(epoch: i16, coordinator_epoch: i32, version: TransactionVersion) -> Marker {
    Marker { producer: producer(epoch), outcome: Outcome::Abort, coordinator_epoch, version }
}

macro_rules! refused {
    ($result:expr, $variant:ident) => {
        let result = $result;
        assert!(matches!(result, Err(AppendError::$variant(_))), "{result:?}");
    };
}

#[test]
fn a_transaction_opens_where_the_coordinator_was_asked_and_goes_on_without() {
    let mut world = World::new();
    refused!(world.send((0, 0), true, OPEN), InvalidTransactionState);
    let guard = world.begin(0, 0, V1).unwrap();
    refused!(world.send((0, 0), true, OPEN), InvalidTransactionState);
    world.send((0, 0), true, Admission::Joined(guard)).unwrap();
    assert_eq!(world.begin(0, 2, V1), None, "it is open");
    world.send((0, 2), true, OPEN).unwrap();
    assert_eq!(world.first_unstable(), Some(0));
}

#[test]
fn a_marker_that_overtakes_the_answer_keeps_the_batch_out() {
    let mut world = World::new();
    let late = world.begin(0, 0, V1).unwrap();
    world.end(abort(0, 1, V1)).unwrap();
    refused!(world.send((0, 0), true, Admission::Joined(late)), InvalidTransactionState);
    let next = world.begin(0, 0, V1).unwrap();
    refused!(world.send((0, 0), true, Admission::Joined(late)), InvalidTransactionState);
    world.send((0, 0), true, Admission::Joined(next)).unwrap();
    world.end(abort(0, 1, V1)).unwrap();
    refused!(world.send((0, 2), true, OPEN), InvalidTransactionState);
    assert_eq!(world.first_unstable(), None);
}

#[test]
fn where_nobody_verifies_a_transaction_opens_by_itself() {
    let mut world = World::new();
    world.send((0, 0), true, Admission::Unverified).unwrap();
    assert_eq!(world.first_unstable(), Some(0));
}

#[test]
fn a_producer_that_was_fenced_hears_of_its_epoch() {
    let mut world = World::new();
    world.join(5, 0, V1);
    world.end(abort(6, 1, V1)).unwrap();
    refused!(world.send((5, 2), true, OPEN), InvalidProducerEpoch);
    let guard = world.begin(5, 2, V1).unwrap();
    refused!(world.send((5, 2), true, Admission::Joined(guard)), InvalidProducerEpoch);
    refused!(world.send((5, 2), false, OPEN), InvalidProducerEpoch);
}

#[test]
fn an_open_transaction_takes_neither_plain_batches_nor_those_of_another_epoch() {
    let mut world = World::new();
    world.join(5, 0, V1);
    refused!(world.send((5, 2), false, OPEN), InvalidTransactionState);
    refused!(world.send((6, 0), true, OPEN), InvalidTransactionState);
    assert!(world.begin(6, 0, V1).is_some(), "the coordinator decides about a newer epoch");
}

#[test]
fn a_resent_batch_needs_no_transaction() {
    let mut world = World::new();
    world.join(0, 0, V1);
    world.end(abort(0, 1, V1)).unwrap();
    assert!(world.send((0, 0), true, OPEN).unwrap().duplicate);
}

#[test]
fn sequences_of_version_2_begin_anew_with_each_transaction() {
    let mut world = World::new();
    world.join(0, 0, V2);
    world.end(abort(1, 1, V2)).unwrap();
    let guard = world.begin(1, 2, V2).unwrap();
    refused!(world.send((1, 2), true, Admission::Joined(guard)), OutOfOrderSequence);
    let guard = world.begin(1, 0, V2).unwrap();
    world.send((1, 0), true, Admission::Joined(guard)).unwrap();
}

#[test]
fn in_version_1_sequences_go_on_behind_a_marker() {
    let mut world = World::new();
    world.join(0, 0, V1);
    world.end(abort(0, 1, V1)).unwrap();
    let guard = world.begin(0, 9, V1).unwrap();
    refused!(world.send((0, 9), true, Admission::Joined(guard)), OutOfOrderSequence);
    world.join(0, 2, V1);
}

#[test]
fn batches_that_wait_for_the_coordinator_together_come_in_in_their_order() {
    let mut world = World::new();
    let guard = world.begin(0, 2, V1).unwrap();
    assert_eq!(world.begin(0, 0, V1), Some(guard));
    refused!(world.send((0, 2), true, Admission::Joined(guard)), OutOfOrderSequence);
    world.send((0, 0), true, Admission::Joined(guard)).unwrap();
    world.send((0, 2), true, OPEN).unwrap();
}

#[test]
fn a_version_2_transaction_begins_with_sequence_0() {
    let mut world = World::new();
    let guard = world.begin(0, 4, V2).unwrap();
    refused!(world.send((0, 4), true, Admission::Joined(guard)), OutOfOrderSequence);
    let guard = world.begin(0, 4, V1).unwrap();
    refused!(world.send((0, 4), true, Admission::Joined(guard)), OutOfOrderSequence);
    let mut world = World::new();
    world.join(0, 4, V1);
}

#[test]
fn an_older_coordinator_ends_nothing() {
    let mut world = World::new();
    world.end(abort(0, 4, V1)).unwrap();
    world.join(0, 0, V1);
    refused!(world.end(abort(0, 3, V1)), CoordinatorFenced);
    assert_eq!(world.first_unstable(), Some(1));
    world.end(abort(0, 4, V1)).unwrap();
    assert_eq!(world.first_unstable(), None);
}

#[test]
fn markers_of_version_1_have_the_epoch_of_the_records_or_a_higher_one() {
    let mut world = World::new();
    world.join(5, 0, V1);
    refused!(world.end(abort(4, 1, V1)), InvalidProducerEpoch);
    world.end(abort(5, 1, V1)).unwrap();
    world.end(abort(5, 1, V1)).expect("written again after a crash");
    assert_eq!(world.log.view().aborted_between(Offset::ZERO, Offset::new(9)).unwrap().len(), 1);
}

#[test]
fn a_late_marker_of_version_2_does_not_end_the_next_transaction() {
    let mut world = World::new();
    world.join(5, 0, V2);
    refused!(world.end(abort(5, 1, V2)), InvalidProducerEpoch);
    world.end(abort(6, 1, V2)).unwrap();
    world.end(abort(6, 1, V2)).expect("written again after a crash");
    world.join(6, 0, V2);
    refused!(world.end(abort(6, 1, V2)), InvalidProducerEpoch);
    assert_eq!(world.first_unstable(), Some(4));
    world.end(abort(7, 1, V2)).unwrap();
    assert_eq!(world.first_unstable(), None);
}

#[test]
fn the_last_epoch_there_is_can_be_ended() {
    let mut world = World::new();
    world.join(i16::MAX, 0, V2);
    world.end(abort(i16::MAX, 1, V2)).unwrap();
    assert_eq!(world.first_unstable(), None);
}

#[test]
fn a_transaction_holds_back_until_its_marker_is_visible() {
    let mut world = World::new();
    world.join(0, 0, V1);
    world.end(abort(0, 1, V1)).unwrap();
    assert_eq!(world.log.view().first_open, None);
    assert_eq!(world.log.first_unstable(Offset::new(2)), Some(Offset::ZERO));
    assert_eq!(world.log.first_unstable(Offset::new(3)), None);
}

#[test]
fn deleting_its_first_records_does_not_release_an_open_transaction() {
    let mut world = World::new();
    world.join(0, 0, V1);
    world.send((0, 2), true, OPEN).unwrap();
    assert!(world.log.raise_log_start(Offset::new(2)));
    assert_eq!(world.first_unstable(), Some(2));
    assert_eq!(world.log.first_unstable(Offset::new(4)), Some(Offset::new(2)));
    world.end(abort(0, 1, V1)).unwrap();
    assert_eq!(world.first_unstable(), None);
    let aborted = world.log.view().aborted_between(Offset::new(2), Offset::new(5)).unwrap();
    assert_eq!(aborted.len(), 1, "what is left of it is skipped");
}

#[test]
fn aborting_holds_one_file_however_often_it_happens() {
    let mut world = World::new();
    world.log.take_sync_work();
    for number in 0..50 {
        world.join(0, 2 * number, V1);
        world.end(abort(0, 1, V1)).unwrap();
    }
    let work = world.log.take_sync_work().unwrap();
    assert_eq!(work.files.len(), 2, "the log and its transaction index");
    assert!(world.log.take_sync_work().is_none());
    let aborted = world.log.view().aborted_between(Offset::ZERO, Offset::new(200)).unwrap();
    assert_eq!(aborted.len(), 50);
}
