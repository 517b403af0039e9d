//! Power cuts, full disks and broken disks: what was synced is kept, nothing is half visible.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use highwater::config::TopicSettings;
use highwater::env::{FileSystem, Random, SeededRandom};
use highwater::log::batch::BatchHeader;
use highwater::log::scan::scan;
use highwater::log::{AppendError, Log, OpenLog, StartMode};
use highwater::types::{LeaderEpoch, Offset};
use support::batches::{Sender, batch, checked, marker, one};
use support::logs::{NOW, bytes_of, limit, open_args, read_all};
use support::simulated_disk::{SimulatedDisk, below};
use support::strict_check::{Closed, check};

const LIVES: u64 = 4;
const STEPS: usize = 40;
const SEEDS: u64 = 200;
/// Seeds in which the power went between a roll and the sync of what seals a segment, with the recovery point right there.
const AT_THE_SEAL: [u64; 3] = [263, 389, 653];
/// Seeds in which segments expired whose producer state was not synced yet.
const EXPIRED_AT_ONCE: [u64; 2] = [204, 2867];
/// Sends outside of transactions.
const PRODUCER: i64 = 5;
/// Send in transactions.
const TRANSACTIONAL: [i64; 3] = [10, 11, 12];

fn directory() -> PathBuf {
    PathBuf::from("/data/t-0")
}

fn args(disk: &SimulatedDisk, seed: u64, start: StartMode, log_start: Offset) -> OpenLog {
    let settings = TopicSettings {
        segment_bytes: 3_000,
        index_interval_bytes: 300,
        retention_bytes: 9_000,
        ..TopicSettings::default()
    };
    OpenLog { start, log_start, ..open_args(&disk.env(seed), &directory(), settings) }
}

/// What the world outside the log knows.
struct World {
    random: SeededRandom,
    /// Every batch as it was stored, with its first offset and the one behind it.
    appended: Vec<(Offset, Offset, Vec<u8>)>,
    /// Everything below was synced.
    synced: Offset,
    /// Last written recovery point.
    recovery_point: Offset,
    /// Last written log start.
    log_start: Offset,
    /// Highest log start there ever was: the epochs below may be forgotten, also if a power cut brings back their records.
    deleted_to: Offset,
    now_ms: i64,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            random: SeededRandom::new(seed),
            appended: Vec::new(),
            synced: Offset::ZERO,
            recovery_point: Offset::ZERO,
            log_start: Offset::ZERO,
            deleted_to: Offset::ZERO,
            now_ms: NOW.get(),
        }
    }

    fn step(&mut self, log: &mut Log, epoch: LeaderEpoch) {
        match below(&self.random, 20) {
            0..=6 => self.append(log, epoch, (PRODUCER, false)),
            7..=9 => {
                let id = TRANSACTIONAL[below(&self.random, TRANSACTIONAL.len())];
                self.append(log, epoch, (id, true));
            }
            10 | 11 => self.end_transaction(log, epoch),
            12..=15 => self.sync(log),
            16 => self.sync_half(log),
            17 => {
                log.apply_retention(NOW, self.synced).expect("the disk works");
            }
            18 => {
                let to = below(&self.random, log.view().log_end.get() as usize + 1);
                log.raise_log_start(Offset::new(to as i64).min(self.synced));
            }
            _ => {
                self.recovery_point = log.recovery_point();
                self.log_start = log.view().log_start.max(self.log_start);
            }
        }
    }

    fn append(&mut self, log: &mut Log, epoch: LeaderEpoch, (id, transactional): (i64, bool)) {
        let count = 1 + below(&self.random, 3);
        self.now_ms += below(&self.random, 5) as i64 - 1;
        let value = vec![b'v'; below(&self.random, 400)];
        let values = vec![(value.as_slice(), self.now_ms); count];
        let sender = Sender { id, epoch: 0, sequence: self.next_sequence(id), transactional };
        self.append_bytes(log, epoch, &batch(&values, Some(sender)));
    }

    /// Ends somebody's transaction, if it is open.
    fn end_transaction(&mut self, log: &mut Log, epoch: LeaderEpoch) {
        let id = TRANSACTIONAL[below(&self.random, TRANSACTIONAL.len())];
        let commit = below(&self.random, 2) == 0;
        self.append_bytes(log, epoch, &marker(id, 0, commit, self.now_ms));
    }

    fn append_bytes(&mut self, log: &mut Log, epoch: LeaderEpoch, bytes: &[u8]) {
        let appended = log.append(&checked(bytes), epoch, NOW).expect("the disk works");
        assert!(!appended.duplicate);
        let view = log.view();
        let stored = view.read_tail(appended.base_offset, limit(view.log_end, 1 << 20));
        let stored = bytes_of(&stored.expect("in range").expect("just written"));
        self.appended.push((appended.base_offset, appended.end_offset, stored));
    }

    /// Headers of what a producer has sent.
    fn sent_by(&self, id: i64) -> impl DoubleEndedIterator<Item = BatchHeader> {
        let headers = self.appended.iter().filter_map(|(_, _, bytes)| BatchHeader::parse(bytes));
        headers.filter(move |header| header.producer_id.get() == id && !header.is_control())
    }

    fn next_sequence(&self, id: i64) -> i32 {
        self.sent_by(id).map(|header| header.records_count).sum()
    }

    fn sync(&mut self, log: &mut Log) {
        let Some(work) = log.take_sync_work() else { return };
        work.files.iter().for_each(|file| file.sync().expect("the disk works"));
        for directory in &work.directories {
            self.files(log).sync_dir(directory).expect("the disk works");
        }
        log.synced(&work);
        self.synced = work.end;
    }

    /// The power goes in the middle of a sync: what it covers is not counted, and never asked for again.
    fn sync_half(&mut self, log: &mut Log) {
        let Some(work) = log.take_sync_work() else { return };
        let half = below(&self.random, work.files.len() + 1);
        work.files[..half].iter().for_each(|file| file.sync().expect("the disk works"));
        // The rest is synced after all, before anything else happens: the sync thread is the only one.
        work.files[half..].iter().for_each(|file| file.sync().expect("the disk works"));
        for directory in &work.directories {
            self.files(log).sync_dir(directory).expect("the disk works");
        }
        log.synced(&work);
        self.synced = work.end;
    }

    fn files(&self, log: &Log) -> Arc<dyn FileSystem> {
        log.file_system()
    }

    /// Is the recovered log a prefix of what was appended, and long enough?
    fn check(&mut self, log: &Log, seed: u64) {
        let view = log.view();
        assert!(view.log_end >= self.synced, "seed {seed}: {} < {}", view.log_end, self.synced);
        let last = self.appended.last().map_or(Offset::ZERO, |(_, end, _)| *end);
        assert!(view.log_end <= last.max(self.log_start), "seed {seed}");
        let kept = read_all(view, view.log_start);
        let mut expected = Vec::new();
        let first = scan(&kept).next().map(|(_, batch)| batch.header().expect("v2").base_offset);
        self.appended.retain(|(_, end, _)| *end <= view.log_end);
        for (base, _, bytes) in &self.appended {
            if first.is_some_and(|first| *base >= first) {
                expected.extend_from_slice(bytes);
            }
        }
        let offsets = |bytes: &[u8]| {
            let batches = scan(bytes).map(|(_, batch)| batch.header().expect("v2"));
            batches.map(|header| header.base_offset.get()).collect::<Vec<_>>()
        };
        let (found, wanted) = (offsets(&kept), offsets(&expected));
        assert_eq!(found, wanted, "seed {seed}: from {} to {}", view.log_start, view.log_end);
        assert!(kept == expected, "seed {seed}: the log is not what was appended");
        self.synced = self.synced.min(view.log_end);
        self.check_transactions(log, seed);
    }

    /// What is open and what was aborted follows from the batches that are kept.
    fn check_transactions(&self, log: &Log, seed: u64) {
        let (view, mut open, mut aborted) = (log.view(), BTreeMap::new(), Vec::new());
        for (base, _, bytes) in &self.appended {
            let header = BatchHeader::parse(bytes).expect("v2");
            if !header.is_control() {
                if header.is_transactional() {
                    open.entry(header.producer_id).or_insert(*base);
                }
            } else if let Some(first) = open.remove(&header.producer_id)
                && bytes[bytes.len() - 9] == 0
                && *base >= view.log_start
            {
                aborted.push((header.producer_id, first));
            }
        }
        let first_open = open.values().min().map(|first| *first.max(&view.log_start));
        assert_eq!(view.first_open, first_open, "seed {seed}");
        let found = view.aborted_between(view.log_start, view.log_end).expect("readable");
        let found: Vec<_> = found.iter().map(|one| (one.producer_id, one.first_offset)).collect();
        assert_eq!(found, aborted, "seed {seed}");
    }

    /// The last batch is still recognised, and the next one fits.
    fn check_producer(&self, log: &mut Log, epoch: LeaderEpoch, seed: u64) {
        let Some(newest) = self.sent_by(PRODUCER).next_back() else { return };
        let mut appended = self.appended.iter();
        let (base, _, stored) =
            appended.find(|(base, ..)| *base == newest.base_offset).expect("it is there");
        let again = log.append(&checked(stored), epoch, NOW).expect("a duplicate");
        assert!(again.duplicate && again.base_offset == *base, "seed {seed}");
    }
}

/// Lives of a log with a power cut at the end of each.
fn live_and_crash(seed: u64) {
    let mut disk = SimulatedDisk::new();
    let mut world = World::new(seed);
    let mut start = StartMode::Clean;
    for life in 0..LIVES {
        let epoch = LeaderEpoch::new(life as i32);
        let mut log = Log::open(args(&disk, seed, start, world.log_start))
            .unwrap_or_else(|error| panic!("seed {seed}, life {life}: {error}"));
        world.check(&log, seed);
        world.check_producer(&mut log, epoch, seed);
        if life > 0 {
            world.sync(&mut log);
            check(&disk, &directory(), Closed::No, log.view().log_start.max(world.deleted_to));
        }
        for _ in 0..below(&world.random, STEPS) {
            world.step(&mut log, epoch);
        }
        world.deleted_to = world.deleted_to.max(log.view().log_start);
        disk = disk.crashed(world.random.next_u64());
        start = StartMode::Unclean { recovery_point: world.recovery_point };
    }
}

#[test]
fn a_power_cut_takes_nothing_that_was_synced() {
    let seeds = std::env::var("HIGHWATER_SEEDS");
    let seeds = seeds.map_or(SEEDS, |text| text.parse().expect("a number"));
    println!("seeds 0..{seeds}");
    for seed in (0..seeds).chain(AT_THE_SEAL).chain(EXPIRED_AT_ONCE) {
        live_and_crash(seed);
    }
}

#[test]
fn a_full_disk_refuses_appends_and_nothing_else() {
    for limit_bytes in (900..6_000).step_by(137) {
        let disk = SimulatedDisk::new();
        let mut log =
            Log::open(args(&disk, 1, StartMode::Clean, Offset::ZERO)).expect("the disk works");
        let mut kept = Vec::new();
        disk.limit(limit_bytes);
        let mut refused = 0;
        for round in 0..40 {
            let bytes = one(200, NOW.get() + round);
            match log.append(&checked(&bytes), LeaderEpoch::new(0), NOW) {
                Ok(appended) => kept.push(appended.base_offset),
                Err(AppendError::NoRoom(_)) => refused += 1,
                Err(other) => panic!("{other}"),
            }
            // Now and then somebody makes room.
            if refused > 3 {
                disk.limit(disk.used_bytes() + limit_bytes);
                refused = 0;
            }
        }
        assert!(kept.len() > 10, "{limit_bytes}");
        assert_eq!(log.view().log_end, Offset::new(kept.len() as i64), "{limit_bytes}");
        let before = read_all(log.view(), Offset::ZERO);
        assert_eq!(scan(&before).count(), kept.len());
        disk.limit(usize::MAX);
        log.close().expect("there is room again");
        check(&disk, &directory(), Closed::Yes, Offset::ZERO);
        let log = Log::open(args(&disk, 1, StartMode::Clean, Offset::ZERO)).expect("opens");
        assert!(read_all(log.view(), Offset::ZERO) == before);
    }
}

#[test]
fn a_full_disk_takes_no_marker_that_readers_would_not_know_of() {
    for free in 0..400 {
        let disk = SimulatedDisk::new();
        let mut log =
            Log::open(args(&disk, 1, StartMode::Clean, Offset::ZERO)).expect("the disk works");
        let sender = Sender { id: 10, epoch: 0, sequence: 0, transactional: true };
        let bytes = batch(&[(&[b'v'; 50], NOW.get())], Some(sender));
        log.append(&checked(&bytes), LeaderEpoch::new(0), NOW).expect("there is room");
        disk.limit(disk.used_bytes() + free);
        let abort = marker(10, 0, false, NOW.get());
        let tried = log.append(&checked(&abort), LeaderEpoch::new(0), NOW);
        let first_open = tried.is_err().then_some(Offset::ZERO);
        assert!(matches!(tried, Ok(_) | Err(AppendError::NoRoom(_))), "{free}: {tried:?}");
        assert_eq!(log.view().first_open, first_open, "{free}");
        disk.limit(usize::MAX);
        if first_open.is_some() {
            log.append(&checked(&abort), LeaderEpoch::new(0), NOW).expect("there is room again");
        }
        let aborted = log.view().aborted_between(Offset::ZERO, Offset::new(2)).expect("readable");
        assert_eq!(aborted.len(), 1, "{free}");
    }
}

#[test]
fn a_broken_disk_ends_the_log_for_writers_but_not_for_readers() {
    for healthy in 0..60 {
        let disk = SimulatedDisk::new();
        let mut log =
            Log::open(args(&disk, 1, StartMode::Clean, Offset::ZERO)).expect("nothing is written");
        disk.fail_after(healthy);
        let mut appended = 0;
        let error = loop {
            match log.append(&checked(&one(200, NOW.get())), LeaderEpoch::new(0), NOW) {
                Ok(_) => appended += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, AppendError::Io(_)), "{error}");
        assert_eq!(log.view().log_end, Offset::new(appended));
        assert_eq!(scan(&read_all(log.view(), Offset::ZERO)).count(), appended as usize);
        // It stays refused, also when the disk seems to work again.
        disk.fail_after(usize::MAX);
        let again = log.append(&checked(&one(200, NOW.get())), LeaderEpoch::new(0), NOW);
        assert!(matches!(again, Err(AppendError::Io(_))));
        assert!(log.close().is_err(), "a clean stop must not be claimed");
    }
}

#[test]
fn what_recovery_cuts_off_is_cut_without_room_to_keep_it_too() {
    let (disk, whole) = damaged_in_the_second_of_three();
    disk.limit(disk.used_bytes());
    let start = StartMode::Unclean { recovery_point: Offset::ZERO };
    let log = Log::open(args(&disk, 1, start, Offset::ZERO)).expect("opens");
    assert_eq!(log.view().log_end, Offset::new(1));
    assert!(read_all(log.view(), Offset::ZERO) == whole[..whole.len() / 3]);
}

/// A log of three batches of one size, whole and as it was.
fn damaged_in_the_second_of_three() -> (SimulatedDisk, Vec<u8>) {
    let disk = SimulatedDisk::new();
    let mut log = Log::open(args(&disk, 1, StartMode::Clean, Offset::ZERO)).expect("opens");
    for _ in 0..3 {
        log.append(&checked(&one(50, NOW.get())), LeaderEpoch::new(0), NOW).expect("appends");
    }
    let whole = read_all(log.view(), Offset::ZERO);
    drop(log);
    let path = directory().join("00000000000000000000.log");
    let file = disk.open(&path, highwater::env::OpenMode::Existing).expect("there");
    let third = whole.len() / 3;
    file.write_all_at(&[whole[third + 80] ^ 1], third as u64 + 80).expect("the disk works");
    (disk, whole)
}

#[test]
fn what_recovery_cuts_off_is_kept_beside_the_log() {
    let (disk, whole) = damaged_in_the_second_of_three();
    let third = whole.len() / 3;
    let start = StartMode::Unclean { recovery_point: Offset::ZERO };
    let log = Log::open(args(&disk, 1, start, Offset::ZERO)).expect("opens");
    assert_eq!(log.view().log_end, Offset::new(1));
    let name = format!("/data/highwater-cut.t-0.00000000000000000000.{third}");
    let saved = disk.read(Path::new(&name)).expect("readable").expect("there");
    assert_eq!(saved.len(), whole.len() - third);
    assert_eq!(saved[third..], whole[2 * third..]);
}
