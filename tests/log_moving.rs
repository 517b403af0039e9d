//! The copy of a log that moves to another directory: equal in every byte that counts, whatever happens to the log meanwhile,
//! and safe from a power cut once it is complete.
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
use highwater::env::{Env, FileSystem, ManualClock, SeededRandom};
use highwater::log::compaction::{Pace, Stop};
use highwater::log::moving::{CopyError, LogCopy};
use highwater::log::{Log, OpenLog, StartMode};
use highwater::types::{LeaderEpoch, Offset};
use support::batches::{Sender, batch, checked, marker};
use support::logs::{NOW, open_args, read_all, topic_id};
use support::simulated_disk::{SimulatedDisk, below};
use support::strict_check::{Closed, check};

const SEEDS: u64 = 60;

fn source() -> PathBuf {
    PathBuf::from("/data/t-0")
}

fn target() -> PathBuf {
    PathBuf::from("/data/t-0.0123456789abcdef0123456789abcdef-future")
}

fn args(disk: &SimulatedDisk, directory: &Path, start: StartMode, log_start: Offset) -> OpenLog {
    let env = Env {
        clock: Arc::new(ManualClock::new(NOW)),
        random: Arc::new(SeededRandom::new(1)),
        files: Arc::new(disk.clone()),
    };
    let settings = TopicSettings {
        segment_bytes: 3_000,
        index_interval_bytes: 300,
        retention_bytes: 9_000,
        ..TopicSettings::default()
    };
    OpenLog { start, log_start, ..open_args(&env, directory, settings) }
}

fn sync(disk: &SimulatedDisk, log: &mut Log) {
    let Some(work) = log.take_sync_work() else { return };
    work.files.iter().for_each(|file| file.sync().unwrap());
    work.directories.iter().for_each(|path| disk.sync_dir(path).unwrap());
    log.synced(&work);
}

/// A log that is written to by random steps.
struct Writer {
    random: SeededRandom,
    sequences: BTreeMap<i64, i32>,
    epoch: i32,
}

impl Writer {
    fn step(&mut self, disk: &SimulatedDisk, log: &mut Log) {
        match below(&self.random, 16) {
            0..=7 => self.append(log, 5, false),
            8..=10 => self.append(log, 10, true),
            11 => {
                let commit = below(&self.random, 2) == 0;
                let bytes = marker(10, 0, commit, NOW.get());
                log.append(&checked(&bytes), LeaderEpoch::new(self.epoch), NOW).unwrap();
            }
            12 => sync(disk, log),
            13 => {
                let end = log.view().log_end;
                log.apply_retention(NOW, end).unwrap();
            }
            14 => self.epoch += 2,
            _ => {
                let to = below(&self.random, log.view().log_end.get() as usize + 1);
                log.raise_log_start(Offset::new(to as i64));
            }
        }
    }

    fn append(&mut self, log: &mut Log, id: i64, transactional: bool) {
        let value = vec![b'v'; below(&self.random, 400)];
        let count = 1 + below(&self.random, 3);
        let sequence = self.sequences.entry(id).or_default();
        let sender = Sender { id, epoch: 0, sequence: *sequence, transactional };
        *sequence += count as i32;
        let bytes = batch(&vec![(value.as_slice(), NOW.get()); count], Some(sender));
        log.append(&checked(&bytes), LeaderEpoch::new(self.epoch), NOW).unwrap();
    }
}

/// Counts, and stops the copy when it is told to.
#[derive(Debug)]
struct Steps(std::sync::atomic::AtomicUsize);

impl Steps {
    fn all() -> Self {
        Self(usize::MAX.into())
    }
}

impl Pace for Steps {
    fn go_on(&self, _bytes: u64) -> Result<(), Stop> {
        match self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Err(Stop),
            _ => Ok(()),
        }
    }
}

/// Start, end, first open transaction, records, producers.
type State = (Offset, Offset, Option<Offset>, Vec<u8>, String);

/// What must be equal of a log: its files, but for what is written when it is closed.
fn state(log: &Log) -> State {
    let view = log.view();
    let records = read_all(view, view.log_start);
    (
        view.log_start,
        view.log_end,
        view.first_open,
        records,
        format!("{:?}", log.active_producers()),
    )
}

fn files(disk: &SimulatedDisk, directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let listed = disk.list(directory).unwrap().into_iter();
    let kept = listed.filter(|entry| !entry.name.ends_with(".deleted"));
    kept.map(|entry| {
        let bytes = disk.read(&directory.join(&entry.name)).unwrap().unwrap();
        (entry.name, bytes)
    })
    .collect()
}

fn begun(disk: &SimulatedDisk, seed: u64) -> (Writer, Log) {
    let mut writer =
        Writer { random: SeededRandom::new(seed), sequences: BTreeMap::new(), epoch: 0 };
    let mut log = Log::open(args(disk, &source(), StartMode::Clean, Offset::ZERO)).unwrap();
    for _ in 0..below(&writer.random, 60) {
        writer.step(disk, &mut log);
    }
    (writer, log)
}

fn shared(disk: &SimulatedDisk) -> Arc<dyn FileSystem> {
    Arc::new(disk.clone())
}

fn begin(disk: &SimulatedDisk) -> LogCopy {
    LogCopy::begin(&shared(disk), &target(), topic_id()).unwrap()
}

/// Passes over a log that goes on meanwhile.
fn copy_along(disk: &SimulatedDisk, copy: &mut LogCopy, writer: &mut Writer, log: &mut Log) {
    for _ in 0..1 + below(&writer.random, 4) {
        let seen = log.copy_source();
        for _ in 0..below(&writer.random, 12) {
            writer.step(disk, log);
        }
        copy.catch_up(&seen, &Steps::all()).unwrap();
        if below(&writer.random, 3) == 0 {
            copy.sync().unwrap();
        }
    }
}

/// A whole copy of a log that goes on while it is made.
fn copied(disk: &SimulatedDisk, writer: &mut Writer, log: &mut Log) -> LogCopy {
    let mut copy = begin(disk);
    copy_along(disk, &mut copy, writer, log);
    log.complete_copy(&mut copy).unwrap();
    copy
}

/// After a kill the copy is opened as what the log was.
fn assert_opens_as(disk: &SimulatedDisk, kept: &State) {
    let start = StartMode::Unclean { recovery_point: kept.1 };
    let opened = Log::open(args(disk, &target(), start, kept.0)).unwrap();
    assert_eq!(state(&opened), *kept);
}

#[test]
fn a_completed_copy_is_the_log_in_every_byte_and_the_log_goes_on_in_it() {
    for seed in 0..SEEDS {
        println!("seed {seed}");
        let disk = SimulatedDisk::new();
        let (mut writer, mut log) = begun(&disk, seed);
        let copy = copied(&disk, &mut writer, &mut log);
        assert_eq!(copy.end(), log.view().log_end);
        let before = state(&log);
        let old_view = Arc::clone(log.view());

        log.relocate(&target().into(), || Ok(())).unwrap();
        log.moved();
        assert_eq!(log.recovery_point(), log.view().log_end);
        assert_eq!(state(&log), before);
        assert_eq!(read_all(&old_view, old_view.log_start), before.3, "who reads goes on");
        // What the old directory holds is of no importance any more.
        for (name, _) in files(&disk, &source()) {
            disk.remove_file(&source().join(name)).unwrap();
        }
        for _ in 0..30 {
            writer.step(&disk, &mut log);
        }
        let after = state(&log);
        log.close().unwrap();
        let log_start = log.view().log_start;
        check(&disk, &target(), Closed::Yes, log_start);
        drop(log);
        let again = Log::open(args(&disk, &target(), StartMode::Clean, log_start)).unwrap();
        assert_eq!(state(&again), after);
    }
}

#[test]
fn indexes_snapshots_and_epochs_of_the_copy_are_those_of_the_log() {
    for seed in 0..SEEDS {
        println!("seed {seed}");
        let disk = SimulatedDisk::new();
        let (mut writer, mut log) = begun(&disk, seed);
        copied(&disk, &mut writer, &mut log);
        // Closing writes what the source kept in memory, the closing time entry last: the same for both.
        let (mut moved, kept) = (files(&disk, &target()), state(&log));
        log.close().unwrap();
        let mut original = files(&disk, &source());
        for name in ["partition.metadata", "leader-epoch-checkpoint"] {
            // The epochs are written with the next epoch, so these may be older in the source of an unwritten log.
            if original.contains_key(name) {
                assert_eq!(moved.remove(name), original.remove(name), "{name}");
            }
        }
        for (name, bytes) in &moved {
            if name.ends_with(".log") || name.ends_with(".txnindex") || name.ends_with(".snapshot")
            {
                assert_eq!(Some(bytes), original.get(name), "{name}");
            } else if name.ends_with("index") {
                assert!(original[name].starts_with(bytes), "{name}");
            }
        }
        let logs = |all: &BTreeMap<String, Vec<u8>>| {
            all.keys().filter(|name| name.ends_with(".log")).cloned().collect::<Vec<_>>()
        };
        assert_eq!(logs(&moved), logs(&original));
        drop(log);
        assert_opens_as(&disk, &kept);
    }
}

#[test]
fn a_power_cut_takes_nothing_from_a_completed_copy() {
    for seed in 0..SEEDS {
        println!("seed {seed}");
        let disk = SimulatedDisk::new();
        let (mut writer, mut log) = begun(&disk, seed);
        copied(&disk, &mut writer, &mut log);
        let kept = state(&log);
        for cut in 0..5 {
            assert_opens_as(&disk.crashed(seed * 31 + cut), &kept);
        }
    }
}

#[test]
fn a_copy_that_was_cut_short_at_any_step_is_completed_by_the_next_life() {
    for seed in 0..SEEDS {
        println!("seed {seed}");
        let disk = SimulatedDisk::new();
        let (mut writer, mut log) = begun(&disk, seed);
        let mut copy = begin(&disk);
        let stop_after = below(&writer.random, 40);
        let stopped = copy.catch_up(&log.copy_source(), &Steps(stop_after.into()));
        assert!(matches!(stopped, Ok(_) | Err(CopyError::Stopped)), "{stopped:?}");
        drop(copy);
        sync(&disk, &mut log);
        log.close().unwrap();
        let (end, log_start) = (log.view().log_end, log.view().log_start);
        drop(log);
        // A stop, a kill, a power cut.
        let disk = if seed % 2 == 0 { disk } else { disk.crashed(seed) };
        let start = StartMode::Unclean { recovery_point: end };
        let mut log = Log::open(args(&disk, &source(), start, log_start)).unwrap();
        for _ in 0..below(&writer.random, 30) {
            writer.step(&disk, &mut log);
        }
        copied(&disk, &mut writer, &mut log);
        assert_opens_as(&disk, &state(&log));
        let names = files(&disk, &target()).into_keys();
        assert_eq!(
            names.filter(|name| name.contains(".cleaned")).count(),
            0,
            "nothing is left over"
        );
    }
}

#[test]
fn a_target_without_room_or_that_fails_leaves_the_log_as_it_is() {
    for seed in 0..SEEDS {
        println!("seed {seed}");
        let disk = SimulatedDisk::new();
        let (mut writer, mut log) = begun(&disk, seed);
        let before = state(&log);
        let mut copy = begin(&disk);
        let full = seed % 2 == 0;
        if full {
            disk.limit(disk.used_bytes() + below(&writer.random, 4_000));
        } else {
            disk.fail_after(below(&writer.random, 10));
        }
        let done = copy
            .catch_up(&log.copy_source(), &Steps::all())
            .and_then(|_| log.complete_copy(&mut copy));
        match done {
            Ok(()) => {}
            Err(CopyError::NoRoom) => assert!(full),
            Err(CopyError::Target(_)) => assert!(!full),
            Err(other) => panic!("{other:?}"),
        }
        assert_eq!(state(&log), before);
        if full {
            disk.limit(usize::MAX);
            LogCopy::remove(&disk, &target()).unwrap();
            for _ in 0..10 {
                writer.step(&disk, &mut log);
            }
        }
    }
}
