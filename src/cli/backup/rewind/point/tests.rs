use super::*;
use crate::log::builder::{BatchBuilder, BatchTemplate};
use crate::log::{batch::set_offset_and_epoch, build_marker};
use crate::types::{LeaderEpoch, Marker, Outcome, ProducerIdAndEpoch, TransactionVersion};

const AT: i64 = 1_000_000;

const PRODUCER: ProducerIdAndEpoch =
    ProducerIdAndEpoch { id: ProducerId::new(7), epoch: ProducerEpoch::new(3) };

fn known() -> Knowledge<'static> {
    Knowledge {
        at: Timestamp::new(AT),
        is_coordinators: false,
        committed: Offset::ZERO,
        decided: None,
    }
}

/// Batches of `records` records with a time from the point on.
fn batch(records: usize, after: i64, template: BatchTemplate) -> Vec<u8> {
    let mut builder = BatchBuilder::new(template);
    for _ in 0..records {
        builder.append(Timestamp::new(AT + after), None, Some(b"v"));
    }
    builder.build().expect("memory")
}

fn plain(records: usize, after: i64) -> Vec<u8> {
    batch(records, after, BatchTemplate::default())
}

fn stamped(after: i64) -> Vec<u8> {
    let timestamp_type = TimestampType::LogAppendTime;
    batch(1, after, BatchTemplate { timestamp_type, ..BatchTemplate::default() })
}

fn transactional(after: i64) -> Vec<u8> {
    let template = BatchTemplate {
        transactional: true,
        producer_id: PRODUCER.id,
        producer_epoch: PRODUCER.epoch,
        ..BatchTemplate::default()
    };
    batch(1, after, template)
}

fn marker(after: i64) -> Vec<u8> {
    let marker = Marker {
        producer: PRODUCER,
        outcome: Outcome::Commit,
        coordinator_epoch: 0,
        version: TransactionVersion::V1,
    };
    build_marker(&marker, Timestamp::new(AT + after)).expect("memory")
}

/// How many batches are left, and the end.
fn end(known: Knowledge<'_>, batches: &[Vec<u8>]) -> Result<(usize, End), ClockSetBack> {
    let mut finder = EndFinder::new(known);
    let (mut position, mut next, mut ends) = (0, Offset::ZERO, Vec::new());
    for bytes in batches {
        let mut bytes = bytes.clone();
        set_offset_and_epoch(&mut bytes, next, LeaderEpoch::new(0));
        let batch = StoredBatch::first(&bytes).expect("whole");
        next = batch.last_offset().plus(1);
        position += bytes.len() as u64;
        let place = Place { segment: 0, position };
        ends.push(place);
        finder.see(place, &batch)?;
    }
    let end = finder.end();
    let left =
        end.place.map_or(0, |place| ends.iter().position(|end| *end == place).expect("one") + 1);
    Ok((left, end))
}

#[track_caller]
fn keeps(known: Knowledge<'_>, batches: &[Vec<u8>], expected: usize) -> End {
    let (left, end) = end(known, batches).expect("one clock");
    assert_eq!(left, expected, "{end:?}");
    end
}

#[test]
fn true_clocks_end_a_log_at_the_point_and_leave_no_doubt() {
    let end = keeps(known(), &[plain(2, -9), plain(1, 0), plain(3, 1), plain(1, 5)], 2);
    assert_eq!((end.left_out, end.left_out_earlier, end.kept_later), (4, 0, 0));
    keeps(known(), &[plain(2, -9), plain(1, 0)], 2);
    keeps(known(), &[plain(2, 9), plain(1, 10)], 0);
    keeps(known(), &[], 0);
}

#[test]
fn a_clock_that_is_ahead_takes_nothing_else_with_it() {
    let end = keeps(known(), &[plain(1, -9), plain(1, 99), plain(5, -8), plain(4, 1)], 3);
    assert_eq!((end.left_out, end.left_out_earlier, end.kept_later), (4, 0, 1));
}

#[test]
fn old_times_written_later_keep_nothing_else() {
    let end = keeps(known(), &[plain(5, -9), plain(4, 1), plain(2, -999), plain(3, 2)], 1);
    assert_eq!((end.left_out, end.left_out_earlier, end.kept_later), (9, 2, 0));
}

#[test]
fn a_brokers_time_decides_whatever_producers_say() {
    // Everything before a marker of before, and nothing behind one of after.
    keeps(known(), &[plain(50, 99), marker(0), plain(1, 1)], 2);
    keeps(known(), &[plain(1, -1), marker(1), plain(50, -99)], 1);
    keeps(known(), &[plain(50, 99), stamped(0), stamped(1), plain(50, -99)], 2);
    let end = keeps(known(), &[plain(50, 99), marker(0), marker(1), plain(50, -99)], 2);
    assert_eq!((end.left_out_earlier, end.kept_later), (0, 0), "there is no doubt: {end:?}");
}

#[test]
fn what_groups_had_committed_was_there() {
    let committed = Offset::new(3);
    let batches = [plain(2, -9), plain(1, 5), plain(1, 6)];
    let end = keeps(Knowledge { committed, ..known() }, &batches, 2);
    assert_eq!(end.kept_later, 0, "it is proven");
}

#[test]
fn records_of_a_decided_transaction_were_there() {
    let decision = Decision { epoch: PRODUCER.epoch, at: Timestamp::new(AT - 2) };
    let decided = BTreeMap::from([(PRODUCER.id, decision)]);
    let batches = [plain(1, -9), plain(1, 4), transactional(5), plain(1, 6), marker(1)];
    keeps(Knowledge { decided: Some(&decided), ..known() }, &batches, 3);
    keeps(known(), &batches, 1);
    // The next transaction of the producer, behind the marker of the decided one.
    let batches = [transactional(-5), marker(1), transactional(2), marker(3)];
    keeps(Knowledge { decided: Some(&decided), ..known() }, &batches, 1);
    // The same where that marker is from before the point: the next one was not there.
    let batches = [transactional(-5), marker(-1), transactional(2), marker(3)];
    keeps(Knowledge { decided: Some(&decided), ..known() }, &batches, 2);
}

#[test]
fn records_without_a_time_go_with_those_before_them() {
    let none = -AT - 1;
    keeps(known(), &[plain(3, none), plain(3, none)], 2);
    keeps(known(), &[plain(3, -1), plain(3, none), plain(1, 1), plain(3, none)], 2);
}

#[test]
fn a_coordinators_clock_that_was_set_back_over_the_point_is_refused() {
    let coordinators = || Knowledge { is_coordinators: true, ..known() };
    let step = end(coordinators(), &[plain(1, -1), plain(1, 60_000), plain(1, -1)]);
    let (before, after) = (Timestamp::new(AT + 60_000), Timestamp::new(AT - 1));
    assert_eq!(step.expect_err("two moments"), ClockSetBack { before, after });
    keeps(coordinators(), &[plain(1, -1), plain(1, 5), plain(1, -1)], 1);
    keeps(coordinators(), &[plain(1, 60_000), plain(1, 5)], 0);
}
