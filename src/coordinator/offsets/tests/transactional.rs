//! TxnOffsetCommit and the ends of transactions. Codes are those of Kafka 4.4.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::TxnOffsetCommitRequest;
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};

use super::*;
use crate::coordinator::groups::{GroupErrand, MarkerError, VerifyTransaction};
use crate::coordinator::machine::{Outcome, Token, Write};
use crate::coordinator::offsets::verifications::WAITING_BYTES_MAX;
use crate::coordinator::transactions::TransactionError;
use crate::types::{Marker, ProducerEpoch, ProducerId, ProducerIdAndEpoch, TransactionVersion};

use TransactionVersion::{V1, V2};

/// Before and since version 5 the shard becomes part of a transaction in another way.
const VERSIONS: [(i16, TransactionVersion); 2] = [(4, V1), (5, V2)];

pub(super) fn producer(id: i64, epoch: i16) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch { id: ProducerId::new(id), epoch: ProducerEpoch::new(epoch) }
}

fn in_topic(topic: &str, partition: i32, offset: i64) -> TxnOffsetCommitRequestTopic {
    let partition = TxnOffsetCommitRequestPartition::default()
        .with_partition_index(partition)
        .with_committed_offset(offset)
        .with_committed_leader_epoch(-1)
        .with_committed_metadata(Some(text("")));
    TxnOffsetCommitRequestTopic::default()
        .with_name(text(topic).into())
        .with_partitions(vec![partition])
}

/// One offset of topic `t` from who is no member.
fn request(
    of: ProducerIdAndEpoch,
    group: &str,
    partition: i32,
    offset: i64,
) -> TxnOffsetCommitRequest {
    TxnOffsetCommitRequest::default()
        .with_transactional_id(text(&format!("tx-{}", of.id)).into())
        .with_group_id(text(group).into())
        .with_producer_id(of.id.get().into())
        .with_producer_epoch(of.epoch.get())
        .with_generation_id(-1)
        .with_topics(vec![in_topic("t", partition, offset)])
}

fn send(stepper: &mut Stepper, version: i16, request: TxnOffsetCommitRequest) -> Token {
    stepper.send(GroupCommand::CommitInTransaction(call(version, request)))
}

/// The codes of the partitions, if it was answered.
fn answer(stepper: &mut Stepper, token: Token) -> Option<Vec<i16>> {
    match stepper.take(token)? {
        GroupReply::CommitInTransaction(response) => {
            let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
            Some(partitions.map(|partition| partition.error_code).collect())
        }
        other => panic!("{other:?}"),
    }
}

/// The one errand that was sent out since the last look.
fn asked(stepper: &mut Stepper) -> VerifyTransaction {
    let errands = std::mem::take(&mut stepper.errands);
    let [GroupErrand::VerifyTransaction(asked)] = &errands[..] else { panic!("{errands:?}") };
    asked.clone()
}

fn verdict(
    stepper: &mut Stepper,
    asked: &VerifyTransaction,
    verdict: Result<(), TransactionError>,
) {
    let (errand, producer) = (asked.errand, asked.producer.id);
    let told = GroupCommand::TransactionVerified { errand, producer, verdict };
    assert!(matches!(stepper.ask(told), GroupReply::TransactionVerified));
}

/// A commit that the coordinator of transactions agrees with, if it is asked.
pub(super) fn commit_in(
    stepper: &mut Stepper,
    version: i16,
    request: TxnOffsetCommitRequest,
) -> Vec<i16> {
    let token = send(stepper, version, request);
    if !stepper.errands.is_empty() {
        let asked = asked(stepper);
        verdict(stepper, &asked, Ok(()));
    }
    answer(stepper, token).expect("an answer")
}

fn marker(of: ProducerIdAndEpoch, outcome: Outcome, version: TransactionVersion) -> Marker {
    Marker { producer: of, outcome, coordinator_epoch: 0, version }
}

pub(super) fn end(stepper: &mut Stepper, marker: Marker) -> Result<(), MarkerError> {
    match stepper.ask(GroupCommand::EndTransaction(marker)) {
        GroupReply::EndTransaction(taken) => taken,
        other => panic!("{other:?}"),
    }
}

fn with_topic() -> Stepper {
    let mut stepper = stepper();
    stepper.topic("t", 3);
    stepper
}

#[test]
fn the_first_commit_of_a_transaction_waits_for_its_coordinator() {
    for (version, rules) in VERSIONS {
        let (mut stepper, p) = (with_topic(), producer(7, 3));
        let token = send(&mut stepper, version, request(p, "g", 0, 5));
        assert_eq!(answer(&mut stepper, token), None);
        assert!(stepper.log.is_empty());
        let ask = asked(&mut stepper);
        assert_eq!((ask.producer, ask.version), (p, rules));
        assert_eq!(ask.transactional_id.as_str(), "tx-7");
        verdict(&mut stepper, &ask, Ok(()));
        assert_eq!(answer(&mut stepper, token), Some(vec![0]));
        assert!(matches!(stepper.log.entries(), [Write::Pending(by, _)] if *by == p));
        // From now on the transaction is open here, for every group of the shard.
        let token = send(&mut stepper, version, request(p, "other", 1, 6));
        assert_eq!(answer(&mut stepper, token), Some(vec![0]));
        assert!(stepper.errands.is_empty());
    }
}

#[test]
fn commits_that_wait_share_one_question_and_are_written_in_their_order() {
    let (mut stepper, p) = (with_topic(), producer(7, 0));
    let first = send(&mut stepper, 5, request(p, "g", 0, 5));
    let second = send(&mut stepper, 5, request(p, "g", 0, 6));
    let other = send(&mut stepper, 5, request(p, "other", 0, 7));
    let ask = asked(&mut stepper);
    verdict(&mut stepper, &ask, Ok(()));
    for token in [first, second, other] {
        assert_eq!(answer(&mut stepper, token), Some(vec![0]));
    }
    assert_eq!(end(&mut stepper, marker(producer(7, 1), Outcome::Commit, V2)), Ok(()));
    assert_eq!(offset(&mut stepper, "g", "t", 0), 6);
    assert_eq!(offset(&mut stepper, "other", "t", 0), 7);
}

#[test]
fn commits_that_wait_are_counted_and_bounded() {
    const COORDINATOR_NOT_AVAILABLE: i16 = 15;
    let (mut stepper, p) = (with_topic(), producer(7, 3));
    let large = |partition| {
        let mut request = request(p, "g", partition, 5);
        let metadata = "m".repeat(WAITING_BYTES_MAX / 3);
        request.topics[0].partitions[0].committed_metadata = Some(text(&metadata));
        request
    };
    let before = stepper.state_bytes();
    let waiting = [send(&mut stepper, 5, large(0)), send(&mut stepper, 5, large(1))];
    let ask = asked(&mut stepper);
    assert!(stepper.state_bytes() > before + WAITING_BYTES_MAX / 2);
    let token = send(&mut stepper, 5, large(2));
    assert_eq!(answer(&mut stepper, token), Some(vec![COORDINATOR_NOT_AVAILABLE]));
    let small = send(&mut stepper, 5, request(p, "g", 2, 6));
    assert_eq!(answer(&mut stepper, small), None, "there is room for a small one");
    verdict(&mut stepper, &ask, Err(TransactionError::InvalidProducerIdMapping));
    for token in waiting.into_iter().chain([small]) {
        assert_eq!(answer(&mut stepper, token), Some(vec![49]));
    }
    assert_eq!(stepper.state_bytes(), before);
    let token = send(&mut stepper, 5, large(2));
    assert_eq!(answer(&mut stepper, token), None, "and again for a large one");
}

#[test]
fn who_asks_by_other_rules_or_another_name_is_verified_on_its_own() {
    let (mut stepper, p) = (with_topic(), producer(7, 0));
    send(&mut stepper, 5, request(p, "g", 0, 5));
    send(&mut stepper, 4, request(p, "g", 0, 5));
    let named = request(p, "g", 0, 5).with_transactional_id(text("another").into());
    send(&mut stepper, 4, named);
    send(&mut stepper, 4, request(producer(7, 1), "g", 0, 5));
    assert_eq!(stepper.errands.len(), 4);
}

#[test]
fn a_verdict_is_told_in_the_code_of_the_requests_version() {
    use TransactionError as Why;
    for (why, version, code) in [
        (Why::InvalidRequest, 4, ResponseError::InvalidRequest),
        (Why::InvalidProducerIdMapping, 0, ResponseError::InvalidProducerIdMapping),
        (Why::ProducerFenced, 0, ResponseError::InvalidProducerEpoch),
        (Why::ProducerFenced, 5, ResponseError::InvalidProducerEpoch),
        (Why::ConcurrentTransactions, 3, ResponseError::ConcurrentTransactions),
        (Why::ConcurrentTransactions, 5, ResponseError::ConcurrentTransactions),
        (Why::InvalidState, 5, ResponseError::InvalidTxnState),
        (Why::Abortable, 3, ResponseError::InvalidTxnState),
        (Why::Abortable, 4, ResponseError::TransactionAbortable),
        (Why::NotAvailable, 5, ResponseError::CoordinatorNotAvailable),
    ] {
        let mut stepper = with_topic();
        let token = send(&mut stepper, version, request(producer(7, 0), "g", 0, 5));
        let ask = asked(&mut stepper);
        verdict(&mut stepper, &ask, Err(why));
        let told = answer(&mut stepper, token);
        assert_eq!(told, Some(vec![code.code()]), "{why:?} in version {version}");
        assert!(stepper.log.is_empty());
    }
}

#[test]
fn a_marker_that_overtakes_the_verdict_sends_away_what_waits() {
    for (version, rules) in VERSIONS {
        let (mut stepper, p) = (with_topic(), producer(7, 0));
        let token = send(&mut stepper, version, request(p, "g", 0, 5));
        let ask = asked(&mut stepper);
        let ending = if rules == V1 { p } else { producer(7, 1) };
        assert_eq!(end(&mut stepper, marker(ending, Outcome::Abort, rules)), Ok(()));
        let code = ResponseError::InvalidTxnState.code();
        assert_eq!(answer(&mut stepper, token), Some(vec![code]));
        verdict(&mut stepper, &ask, Ok(()));
        assert!(matches!(stepper.log.entries(), [Write::Marker(_)]), "nothing was written");
        let again = send(&mut stepper, version, request(ending, "g", 0, 5));
        assert_eq!(answer(&mut stepper, again), None);
        let ask_again = asked(&mut stepper);
        assert_ne!(ask_again.errand, ask.errand);
    }
}

#[test]
fn a_transaction_of_version_2_begins_in_the_epoch_of_the_marker_before() {
    let (mut stepper, p) = (with_topic(), producer(7, 1));
    let token = send(&mut stepper, 5, request(p, "g", 0, 5));
    let ask = asked(&mut stepper);
    // The end of the transaction in epoch 0.
    assert_eq!(end(&mut stepper, marker(p, Outcome::Commit, V2)), Ok(()));
    assert_eq!(answer(&mut stepper, token), None);
    verdict(&mut stepper, &ask, Ok(()));
    assert_eq!(answer(&mut stepper, token), Some(vec![0]));
    let late = end(&mut stepper, marker(p, Outcome::Commit, V2));
    assert_eq!(late, Err(MarkerError::ProducerEpoch), "it would end the next one");
}

#[test]
fn an_older_life_of_a_producer_is_fenced_and_a_newer_one_verified() {
    let mut stepper = with_topic();
    assert_eq!(commit_in(&mut stepper, 5, request(producer(7, 4), "g", 0, 5)), [0]);
    let fenced = vec![ResponseError::InvalidProducerEpoch.code()];
    let token = send(&mut stepper, 5, request(producer(7, 3), "g", 0, 5));
    assert_eq!(answer(&mut stepper, token), Some(fenced.clone()));
    assert!(stepper.errands.is_empty());
    let token = send(&mut stepper, 5, request(producer(7, 5), "g", 0, 5));
    assert_eq!(answer(&mut stepper, token), None);
    let ask = asked(&mut stepper);
    assert_eq!(ask.producer, producer(7, 5));
    verdict(&mut stepper, &ask, Ok(()));
    assert_eq!(answer(&mut stepper, token), Some(vec![0]));
    let token = send(&mut stepper, 5, request(producer(7, 4), "g", 0, 5));
    assert_eq!(answer(&mut stepper, token), Some(fenced));
}

#[test]
fn what_waits_is_fenced_by_a_newer_life_that_was_verified_first() {
    let mut stepper = with_topic();
    let old = send(&mut stepper, 5, request(producer(7, 3), "g", 0, 5));
    let ask_old = asked(&mut stepper);
    assert_eq!(commit_in(&mut stepper, 5, request(producer(7, 4), "g", 0, 6)), [0]);
    verdict(&mut stepper, &ask_old, Ok(()));
    let fenced = vec![ResponseError::InvalidProducerEpoch.code()];
    assert_eq!(answer(&mut stepper, old), Some(fenced));
}

#[test]
fn a_zombie_is_fenced_by_the_marker_of_a_raised_epoch_in_every_later_life_of_the_shard() {
    let mut stepper = with_topic();
    assert_eq!(commit_in(&mut stepper, 4, request(producer(7, 3), "g", 0, 5)), [0]);
    assert_eq!(end(&mut stepper, marker(producer(7, 4), Outcome::Abort, V1)), Ok(()));
    for _ in 0..2 {
        let token = send(&mut stepper, 4, request(producer(7, 3), "g", 0, 5));
        let fenced = ResponseError::InvalidProducerEpoch.code();
        assert_eq!(answer(&mut stepper, token), Some(vec![fenced]));
        // The cleaner leaves nothing of the transaction; the log knows its producer nevertheless.
        stepper.log.clean();
        stepper.restart();
    }
}

#[test]
fn a_marker_is_written_whether_something_is_pending_or_not() {
    let mut stepper = with_topic();
    let ending = marker(producer(7, 0), Outcome::Commit, V1);
    assert_eq!(end(&mut stepper, ending), Ok(()));
    assert_eq!(stepper.log.entries(), [Write::Marker(ending)]);
    assert_eq!(list(&mut stepper, &[], &[]), []);
}

#[test]
fn markers_of_older_lives_are_refused() {
    let by = |epoch, coordinator_epoch, version| Marker {
        producer: producer(7, epoch),
        outcome: Outcome::Abort,
        coordinator_epoch,
        version,
    };
    let (fenced, coordinator) =
        (Err(MarkerError::ProducerEpoch), Err(MarkerError::CoordinatorFenced));
    // Behind a marker of epoch 5 by the coordinator of epoch 3.
    for (late, taken) in [
        (by(5, 3, V1), Ok(())),
        (by(6, 3, V1), Ok(())),
        (by(4, 3, V1), fenced),
        (by(4, 9, V1), fenced),
        (by(5, 2, V1), coordinator),
        (by(6, 2, V2), coordinator),
        (by(5, 3, V2), Ok(())),
        (by(4, 3, V2), fenced),
    ] {
        let mut stepper = with_topic();
        assert_eq!(end(&mut stepper, by(5, 3, V1)), Ok(()));
        stepper.restart();
        let written = stepper.log.len();
        assert_eq!(end(&mut stepper, late), taken, "{late:?}");
        assert_eq!(stepper.log.len() - written, usize::from(taken.is_ok()), "{late:?}");
    }
    // While a transaction of epoch 5 is open.
    for (late, taken) in [
        (by(5, 0, V1), Ok(())),
        (by(5, 0, V2), fenced),
        (by(6, 0, V2), Ok(())),
        (by(4, 0, V1), fenced),
    ] {
        let mut stepper = with_topic();
        assert_eq!(commit_in(&mut stepper, 4, request(producer(7, 5), "g", 0, 1)), [0]);
        stepper.restart();
        assert_eq!(end(&mut stepper, late), taken, "{late:?}");
        assert_eq!(fetch(&mut stepper, "g", "t", 0).error_code == 88, taken.is_err(), "{late:?}");
    }
}

#[test]
fn offsets_count_once_their_transaction_is_committed_across_restarts() {
    for (version, rules) in VERSIONS {
        for outcome in [Outcome::Commit, Outcome::Abort] {
            let (mut stepper, p) = (with_topic(), producer(7, 0));
            commit_simple(&mut stepper, "g", "t", 0, 1);
            assert_eq!(commit_in(&mut stepper, version, request(p, "g", 0, 5)), [0]);
            stepper.restart();
            let read = fetch(&mut stepper, "g", "t", 0);
            assert_eq!((read.error_code, read.committed_offset), (88, -1));
            assert_eq!(fetch_all(&mut stepper, "g"), [("t".to_owned(), 0, 1)]);
            // The transaction is still open here: nobody is asked.
            let token = send(&mut stepper, version, request(p, "g", 1, 6));
            assert_eq!(answer(&mut stepper, token), Some(vec![0]));
            let ending = if rules == V1 { p } else { producer(7, 1) };
            assert_eq!(end(&mut stepper, marker(ending, outcome, rules)), Ok(()));
            let counts = match outcome {
                Outcome::Commit => [5, 6],
                Outcome::Abort => [1, -1],
            };
            for _ in 0..2 {
                let offsets = [0, 1].map(|at| offset(&mut stepper, "g", "t", at));
                assert_eq!(offsets, counts, "{outcome:?}");
                stepper.log.clean();
                stepper.restart();
            }
        }
    }
}

#[test]
fn a_verdict_for_an_earlier_life_of_the_shard_lets_nothing_in() {
    let (mut stepper, p) = (with_topic(), producer(7, 0));
    send(&mut stepper, 4, request(p, "g", 0, 5));
    let ask = asked(&mut stepper);
    stepper.restart();
    let token = send(&mut stepper, 4, request(p, "g", 0, 5));
    verdict(&mut stepper, &ask, Ok(()));
    assert_eq!(answer(&mut stepper, token), None);
    assert!(stepper.log.is_empty());
}

#[test]
fn a_request_is_refused_for_its_group_before_anybody_is_asked() {
    let mut stepper = with_topic();
    let token = send(&mut stepper, 5, request(producer(7, 0), "", 0, 5));
    let code = ResponseError::InvalidGroupId.code();
    assert_eq!(answer(&mut stepper, token), Some(vec![code]));
    assert!(stepper.errands.is_empty());
}

#[test]
fn the_group_is_looked_at_once_the_transaction_is_verified() {
    let (mut stepper, p) = (with_topic(), producer(7, 0));
    let illegal = ResponseError::IllegalGeneration.code();
    let of_generation = |generation| request(p, "g", 0, 5).with_generation_id(generation);
    for (version, code) in [(3, illegal), (5, illegal), (6, ResponseError::GroupIdNotFound.code())]
    {
        let token = send(&mut stepper, version, of_generation(0));
        assert_eq!(answer(&mut stepper, token), None);
        let ask = asked(&mut stepper);
        verdict(&mut stepper, &ask, Ok(()));
        assert_eq!(answer(&mut stepper, token), Some(vec![code]), "there is no such group");
    }
    commit_simple(&mut stepper, "g", "t", 0, 1);
    let unknown = ResponseError::UnknownMemberId.code();
    assert_eq!(commit_in(&mut stepper, 5, of_generation(0)), [unknown], "a group of offsets only");
    assert_eq!(commit_in(&mut stepper, 5, of_generation(-1)), [0]);
}

#[test]
fn what_cannot_be_committed_is_refused_alone() {
    let (mut stepper, p) = (with_topic(), producer(7, 0));
    let mut long = in_topic("t", 1, 5);
    long.partitions[0].committed_metadata = Some(text(&"x".repeat(4_097)));
    let mut fits = in_topic("t", 2, 6);
    fits.partitions[0].committed_metadata = Some(text(&"x".repeat(4_096)));
    let topics = vec![in_topic("gone", 0, 4), long, fits];
    let codes = commit_in(&mut stepper, 5, request(p, "g", 0, 0).with_topics(topics));
    assert_eq!(
        codes,
        [
            ResponseError::UnknownTopicOrPartition.code(),
            ResponseError::OffsetMetadataTooLarge.code(),
            0
        ]
    );
    assert_eq!(stepper.log.len(), 1);
}

#[test]
fn a_request_of_which_nothing_is_written_opens_no_transaction() {
    let (mut stepper, p) = (with_topic(), producer(7, 0));
    let stranger = request(p, "g", 0, 5).with_generation_id(3);
    assert_ne!(commit_in(&mut stepper, 5, stranger), [0]);
    let token = send(&mut stepper, 5, request(p, "g", 0, 5));
    assert_eq!(answer(&mut stepper, token), None, "asked again");
}

#[test]
fn producers_are_forgotten_after_the_log_has_forgotten_them() {
    const EXPIRATION_MS: u64 = 86_400_000;
    const LOOK_MS: u64 = 600_000;
    let mut stepper = with_topic();
    let idle = stepper.machine.producers.footprint_bytes();
    assert_eq!(commit_in(&mut stepper, 4, request(producer(1, 0), "g", 0, 5)), [0]);
    for id in 2..1_000 {
        assert_eq!(end(&mut stepper, marker(producer(id, 1), Outcome::Abort, V1)), Ok(()));
    }
    let knows = |stepper: &mut Stepper, id| {
        let token = send(stepper, 4, request(producer(id, 0), "g", 0, 5));
        stepper.errands.clear();
        answer(stepper, token) == Some(vec![ResponseError::InvalidProducerEpoch.code()])
    };
    stepper.advance_ms(EXPIRATION_MS + LOOK_MS);
    assert!(knows(&mut stepper, 2), "the log may still know it");
    assert_eq!(end(&mut stepper, marker(producer(3, 1), Outcome::Abort, V1)), Ok(()));
    stepper.advance_ms(EXPIRATION_MS + LOOK_MS);
    assert_eq!([2, 3].map(|id| knows(&mut stepper, id)), [false, true]);
    stepper.advance_ms(10 * EXPIRATION_MS);
    assert!(!knows(&mut stepper, 3));
    let token = send(&mut stepper, 4, request(producer(1, 0), "g", 0, 6));
    assert_eq!(answer(&mut stepper, token), Some(vec![0]), "its transaction is open");
    assert_eq!(end(&mut stepper, marker(producer(1, 0), Outcome::Abort, V1)), Ok(()));
    stepper.advance_ms(10 * EXPIRATION_MS);
    assert_eq!(stepper.machine.producers.footprint_bytes(), idle);
}
