//! Appending to a log, reading it back, closing and opening it again.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use highwater::config::TopicSettings;
use highwater::log::{AppendError, Log, LogView, OpenLog, ReadError, StartMode};
use highwater::types::{LeaderEpoch, Offset, Timestamp};
use support::batches::{Sender, batch, checked, marker, one};
use support::logs::{NOW, bytes_of, env, limit, next_offset, open, open_args, read_all};
use tempfile::TempDir;

const EPOCH: LeaderEpoch = LeaderEpoch::new(3);

fn small_segments() -> TopicSettings {
    TopicSettings { segment_bytes: 4_000, index_interval_bytes: 300, ..TopicSettings::default() }
}

fn read_tail(view: &LogView, from: i64) -> Vec<u8> {
    let slice = view.read_tail(Offset::new(from), limit(view.log_end, 1 << 20));
    bytes_of(&slice.expect("in range").expect("in the tail"))
}

#[test]
fn what_is_appended_is_read_from_memory_and_from_the_file() {
    let directory = TempDir::new().unwrap();
    let args = open_args(&env(), &directory.path().join("t-0"), TopicSettings::default());
    let mut log = open(&args);
    for round in 0..50 {
        let bytes = one(100 + round, NOW.get() + round as i64);
        let appended = log.append(&checked(&bytes), EPOCH, NOW).unwrap();
        assert_eq!(appended.base_offset, Offset::new(round as i64));
        assert_eq!(appended.end_offset, Offset::new(round as i64 + 1));
    }
    let view = log.view();
    for from in 0..50 {
        let tail = read_tail(view, from);
        let first = highwater::log::scan::scan(&tail).next().unwrap().1;
        assert_eq!(first.header().unwrap().base_offset, Offset::new(from));
        assert_eq!(first.leader_epoch(), EPOCH);
        assert_eq!(tail, read_all(view, Offset::new(from)));
        assert_eq!(view.bytes_between(Offset::new(from), view.log_end, usize::MAX), tail.len());
    }
    assert_eq!(view.size_bytes(), read_tail(view, 0).len() as u64);
}

#[test]
fn a_read_stops_before_the_batch_that_holds_the_limit() {
    let directory = TempDir::new().unwrap();
    let args = open_args(&env(), &directory.path().join("t-0"), TopicSettings::default());
    let mut log = open(&args);
    for _ in 0..10 {
        log.append(&checked(&batch(&[(b"a", 1), (b"b", 2)], None)), EPOCH, NOW).unwrap();
    }
    let view = log.view();
    for end in [2, 3, 8, 20] {
        let end = Offset::new(end);
        let tail = view.read_tail(Offset::ZERO, limit(end, 1 << 20)).unwrap().unwrap();
        let file = view.read_files(Offset::ZERO, limit(end, 1 << 20)).unwrap();
        assert_eq!(bytes_of(&tail), bytes_of(&file));
        assert_eq!(next_offset(&bytes_of(&tail)), Offset::new(end.get() / 2 * 2));
    }
    let empty = view.read_tail(view.log_end, limit(view.log_end, 1 << 20)).unwrap().unwrap();
    assert_eq!(empty.len, 0);
    let beyond = view.read_tail(view.log_end.plus(1), limit(view.log_end, 1 << 20));
    assert!(matches!(beyond, Err(ReadError::OutOfRange { .. })));
}

#[test]
fn what_the_page_cache_holds_is_read_without_waiting_and_no_more() {
    let directory = TempDir::new().unwrap();
    let args = open_args(&env(), &directory.path().join("t-0"), small_segments());
    let mut log = open(&args);
    for _ in 0..100 {
        log.append(&checked(&one(200, NOW.get())), EPOCH, NOW).unwrap();
    }
    log.rest();
    let view = log.view();
    let all = limit(view.log_end, 1 << 20);
    let from = Offset::new(3);
    let closed = view.read_cached(from, all).unwrap();
    assert!(closed.is_none(), "opening a file may wait for the disk");
    let read = view.read_files(from, all).unwrap();
    let cached = view.read_cached(from, all).unwrap().expect("just read");
    assert_eq!(bytes_of(&cached), bytes_of(&read));
    assert!(cached.is_in_file());
}

#[test]
fn only_the_first_batch_may_exceed_the_byte_limit_and_only_if_asked() {
    let directory = TempDir::new().unwrap();
    let args = open_args(&env(), &directory.path().join("t-0"), TopicSettings::default());
    let mut log = open(&args);
    let large = one(1_000, 1);
    log.append(&checked(&large), EPOCH, NOW).unwrap();
    log.append(&checked(&large), EPOCH, NOW).unwrap();
    let view = log.view();
    for first_batch_whole in [true, false] {
        let limit =
            highwater::log::ReadLimit { end: view.log_end, bytes_max: 500, first_batch_whole };
        let expected = if first_batch_whole { large.len() } else { 0 };
        assert_eq!(view.read_tail(Offset::ZERO, limit).unwrap().unwrap().len, expected);
        assert_eq!(view.read_files(Offset::ZERO, limit).unwrap().len, expected);
    }
    let cut = limit(view.log_end, large.len() + 10);
    assert_eq!(view.read_files(Offset::ZERO, cut).unwrap().len, large.len() + 10);
}

#[test]
fn a_log_that_was_closed_opens_where_it_ended() {
    let directory = TempDir::new().unwrap();
    let mut args = open_args(&env(), &directory.path().join("t-0"), small_segments());
    let mut log = open(&args);
    for round in 0..100 {
        log.append(&checked(&one(200, NOW.get() + round)), EPOCH, NOW).unwrap();
    }
    let before = read_all(log.view(), Offset::ZERO);
    log.close().unwrap();
    drop(log);
    for start in [StartMode::Clean, StartMode::Unclean { recovery_point: Offset::ZERO }] {
        args.start = start;
        let mut log = open(&args);
        assert_eq!(log.view().log_end, Offset::new(100));
        assert_eq!(read_all(log.view(), Offset::ZERO), before);
        assert_eq!(log.view().epoch_at(Offset::new(50)), Some(EPOCH));
        log.close().unwrap();
    }
}

#[test]
fn a_log_that_was_not_closed_keeps_what_is_in_its_files() {
    let directory = TempDir::new().unwrap();
    let mut args = open_args(&env(), &directory.path().join("t-0"), small_segments());
    let mut log = open(&args);
    for round in 0..100 {
        log.append(&checked(&one(200, NOW.get() + round)), EPOCH, NOW).unwrap();
    }
    let before = read_all(log.view(), Offset::ZERO);
    drop(log);
    args.start = StartMode::Unclean { recovery_point: Offset::ZERO };
    let mut log = open(&args);
    assert_eq!(read_all(log.view(), Offset::ZERO), before);
    let appended = log.append(&checked(&one(10, NOW.get())), EPOCH, NOW).unwrap();
    assert_eq!(appended.base_offset, Offset::new(100));
}

#[test]
fn a_resent_batch_is_answered_with_its_first_offset_also_after_a_restart() {
    let directory = TempDir::new().unwrap();
    let args = open_args(&env(), &directory.path().join("t-0"), TopicSettings::default());
    let mut log = open(&args);
    let sender = |sequence| Sender { id: 9, epoch: 0, sequence, transactional: false };
    let sent = |sequence| batch(&[(b"a", NOW.get()), (b"b", NOW.get())], Some(sender(sequence)));
    for n in 0..7 {
        assert!(!log.append(&checked(&sent(2 * n)), EPOCH, NOW).unwrap().duplicate);
    }
    let again = log.append(&checked(&sent(4)), EPOCH, NOW).unwrap();
    assert_eq!((again.duplicate, again.base_offset), (true, Offset::new(4)));
    assert_eq!(again.end_offset, Offset::new(6));
    let too_old = log.append(&checked(&sent(2)), EPOCH, NOW);
    assert!(matches!(too_old, Err(AppendError::OutOfOrderSequence(_))));
    let gap = log.append(&checked(&sent(20)), EPOCH, NOW);
    assert!(matches!(gap, Err(AppendError::OutOfOrderSequence(_))));
    log.close().unwrap();

    let mut log = open(&args);
    assert!(log.append(&checked(&sent(12)), EPOCH, NOW).unwrap().duplicate);
    assert!(!log.append(&checked(&sent(14)), EPOCH, NOW).unwrap().duplicate);
    assert_eq!(log.view().log_end, Offset::new(16));
}

#[test]
fn a_producer_that_was_idle_for_its_time_is_forgotten_and_may_go_on_unless_its_transaction_is_open()
{
    const IDLE_MS: i64 = 20_000;
    let directory = TempDir::new().unwrap();
    let args = open_args(&env(), &directory.path().join("t-0"), TopicSettings::default());
    let mut log = open(&args);
    let sent = |id, sequence, transactional| {
        batch(&[(b"a", NOW.get())], Some(Sender { id, epoch: 0, sequence, transactional }))
    };
    for id in [8, 9] {
        log.append(&checked(&sent(id, 0, id == 8)), EPOCH, NOW).unwrap();
    }
    let later = |ms| Timestamp::new(NOW.get() + ms);
    let gap = |log: &mut Log, id| {
        let refused = log.append(&checked(&sent(id, 7, id == 8)), EPOCH, NOW);
        matches!(refused, Err(AppendError::OutOfOrderSequence(_)))
    };
    log.expire_producers(later(IDLE_MS - 1), IDLE_MS);
    assert!(gap(&mut log, 9), "it is known");
    log.expire_producers(later(IDLE_MS), IDLE_MS);
    assert!(gap(&mut log, 8), "its transaction is open");
    assert!(!log.append(&checked(&sent(9, 7, false)), EPOCH, NOW).unwrap().duplicate);
    let gap_again = log.append(&checked(&sent(9, 9, false)), EPOCH, NOW);
    assert!(matches!(gap_again, Err(AppendError::OutOfOrderSequence(_))), "it is known anew");
}

#[test]
fn sync_work_covers_everything_once() {
    let directory = TempDir::new().unwrap();
    let args = open_args(&env(), &directory.path().join("t-0"), small_segments());
    let mut log = open(&args);
    assert!(log.take_sync_work().is_none());
    log.append(&checked(&one(10, 1)), EPOCH, NOW).unwrap();
    let work = log.take_sync_work().unwrap();
    assert_eq!((work.end, work.files.len(), work.directories.len()), (Offset::new(1), 1, 1));
    assert!(log.take_sync_work().is_none());
    assert_eq!(log.recovery_point(), Offset::ZERO);
    log.synced(&work);
    assert_eq!(log.recovery_point(), Offset::new(1));
    for _ in 0..20 {
        log.append(&checked(&one(200, 1)), EPOCH, NOW).unwrap();
    }
    let work = log.take_sync_work().unwrap();
    // One roll: the sealed log, its two indexes and the snapshot, then the new log.
    assert_eq!((work.end, work.files.len()), (Offset::new(21), 5));
}

#[test]
fn open_and_aborted_transactions_are_known_before_and_after_a_restart() {
    let directory = TempDir::new().unwrap();
    let mut args = open_args(&env(), &directory.path().join("t-0"), TopicSettings::default());
    let mut log = open(&args);
    let data = |id| {
        let sender = Sender { id, epoch: 0, sequence: 0, transactional: true };
        batch(&[(b"a", NOW.get()), (b"b", NOW.get())], Some(sender))
    };
    for id in [1, 2, 3] {
        log.append(&checked(&data(id)), EPOCH, NOW).unwrap();
    }
    assert_eq!(log.view().first_open, Some(Offset::ZERO));
    log.append(&checked(&marker(1, 1, false, NOW.get())), EPOCH, NOW).unwrap();
    log.append(&checked(&marker(2, 1, true, NOW.get())), EPOCH, NOW).unwrap();
    let plain = Sender { id: 3, epoch: 0, sequence: 2, transactional: false };
    let plain = log.append(&checked(&batch(&[(b"a", 1)], Some(plain))), EPOCH, NOW);
    assert!(matches!(plain, Err(AppendError::InvalidTransactionState(_))));
    let mut lives = 0;
    loop {
        let view = log.view();
        assert_eq!(view.first_open, Some(Offset::new(4)), "producer 3 is still at it");
        let aborted = view.aborted_between(Offset::ZERO, view.log_end).unwrap();
        let aborted: Vec<_> =
            aborted.iter().map(|a| (a.producer_id.get(), a.first_offset)).collect();
        assert_eq!(aborted, [(1, Offset::ZERO)]);
        assert!(view.aborted_between(Offset::new(7), view.log_end).unwrap().is_empty());
        lives += 1;
        match lives {
            1 => args.start = StartMode::Unclean { recovery_point: Offset::ZERO },
            2 => {
                log.close().unwrap();
                args.start = StartMode::Clean;
            }
            _ => break,
        }
        log = open(&args);
    }
    log.append(&checked(&marker(3, 1, false, NOW.get())), EPOCH, NOW).unwrap();
    assert_eq!(log.view().first_open, None);
    assert_eq!(log.view().aborted_between(Offset::new(7), Offset::new(9)).unwrap().len(), 1);
}

#[test]
fn an_idle_log_gives_memory_and_files_back_and_goes_on() {
    let directory = TempDir::new().unwrap();
    let args = open_args(&env(), &directory.path().join("t-0"), TopicSettings::default());
    let mut log = open(&args);
    let large = one(60_000, NOW.get());
    for _ in 0..3 {
        log.append(&checked(&large), EPOCH, NOW).unwrap();
    }
    let work = log.take_sync_work().unwrap();
    log.synced(&work);
    assert!(args.tail_pool.held_bytes() > 0);
    log.rest();
    args.tail_pool.trim();
    assert_eq!(args.tail_pool.held_bytes(), 0);
    let view = log.view();
    let tail = view.read_tail(Offset::ZERO, limit(view.log_end, 1)).unwrap();
    assert!(tail.is_none(), "files must be asked");
    let before = read_all(view, Offset::ZERO);
    assert_eq!(log.append(&checked(&large), EPOCH, NOW).unwrap().base_offset, Offset::new(3));
    assert!(read_all(log.view(), Offset::ZERO).starts_with(&before));
    assert_eq!(read_tail(log.view(), 3).len(), large.len());
}

#[test]
fn without_memory_for_a_tail_appends_and_reads_go_on() {
    let directory = TempDir::new().unwrap();
    let mut args = open_args(&env(), &directory.path().join("t-0"), TopicSettings::default());
    args.tail_pool = highwater::log::TailPool::new(highwater::env::ByteBudget::new(1));
    let mut log = open(&args);
    for round in 0..10 {
        log.append(&checked(&one(100, NOW.get() + round)), EPOCH, NOW).unwrap();
    }
    let view = log.view();
    assert!(view.read_tail(Offset::ZERO, limit(view.log_end, 1)).unwrap().is_none());
    assert_eq!(next_offset(&read_all(view, Offset::ZERO)), Offset::new(10));
}

#[test]
fn a_segment_ends_before_an_offset_is_too_far_from_its_base() {
    let directory = TempDir::new().unwrap();
    let args = open_args(&env(), &directory.path().join("t-0"), TopicSettings::default());
    let mut log = open(&args);
    let far = |delta: i32| {
        let mut bytes = one(10, NOW.get());
        bytes[23..27].copy_from_slice(&delta.to_be_bytes());
        let crc = highwater::log::batch::compute_crc(&bytes);
        bytes[17..21].copy_from_slice(&crc.to_be_bytes());
        bytes
    };
    for delta in [i32::MAX - 1, 0, 0, i32::MAX] {
        log.append(&checked(&far(delta)), EPOCH, NOW).unwrap();
    }
    let base = |offset: i64| directory.path().join(format!("t-0/{offset:020}.log")).exists();
    assert!(base(0) && base(i64::from(i32::MAX) + 1) && base(i64::from(i32::MAX) + 2));
    log.close().unwrap();
    let log = open(&args);
    assert_eq!(log.view().log_end, Offset::new(2 * i64::from(i32::MAX) + 3));
}

#[test]
fn an_index_that_points_nowhere_hides_nothing() {
    let directory = TempDir::new().unwrap();
    let args = open_args(&env(), &directory.path().join("t-0"), small_segments());
    let mut log = open(&args);
    for round in 0..60 {
        log.append(&checked(&one(200, NOW.get() + round)), EPOCH, NOW).unwrap();
    }
    let before = read_all(log.view(), Offset::ZERO);
    log.close().unwrap();
    let index = directory.path().join("t-0/00000000000000000000.index");
    let mut entries = std::fs::read(&index).unwrap();
    entries.chunks_mut(8).for_each(|entry| entry[4..].copy_from_slice(&[0x7f, 0, 0, 0]));
    std::fs::write(&index, &entries).unwrap();
    let log = open(&args);
    for offset in 0..60 {
        let read = read_all(log.view(), Offset::new(offset));
        assert!(before.ends_with(&read) && !read.is_empty());
        let first = highwater::log::scan::scan(&read).next().unwrap().1;
        assert_eq!(first.header().unwrap().base_offset, Offset::new(offset));
    }
}

/// Batches of the cleaner before Kafka 2.0 (KAFKA-6264): good data that must not be cut off, and that no index can name.
#[test]
fn a_segment_with_offsets_beyond_its_indexes_is_refused_and_left_as_it_is() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("t-0");
    std::fs::create_dir(&path).unwrap();
    let mut far = one(100, NOW.get());
    far[..8].copy_from_slice(&(i64::from(i32::MAX) + 1).to_be_bytes());
    let segment = [one(100, NOW.get()), far].concat();
    let file = path.join("00000000000000000000.log");
    std::fs::write(&file, &segment).unwrap();
    for start in [StartMode::Clean, StartMode::Unclean { recovery_point: Offset::ZERO }] {
        let args = OpenLog { start, ..open_args(&env(), &path, TopicSettings::default()) };
        let error = Log::open(args).expect_err("refused").to_string();
        assert!(error.contains("the segment 0 holds the offset 2147483648"), "{error}");
        assert!(error.contains("Start Apache Kafka once on this directory"), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), segment, "nothing was cut");
    }
}

#[test]
fn a_log_without_files_has_no_entries_and_reading_it_is_no_fault() {
    let directory = TempDir::new().unwrap();
    let args = open_args(&env(), &directory.path().join("t-0"), TopicSettings::default());
    let entries = |log: &Log| {
        let mut count = 0;
        log.view().read_entries(&mut |_| count += 1).expect("nothing to fail at");
        count
    };
    let mut log = open(&args);
    assert_eq!(entries(&log), 0);
    log.append(&checked(&one(10, NOW.get())), EPOCH, NOW).unwrap();
    assert_eq!(entries(&log), 1);
}
