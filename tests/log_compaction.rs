//! Compaction against a model: random records, tombstones and transactions, rounds with too little room for their keys, a
//! clock that jumps, restarts, and power cuts at every step of a round.
//!
//! What always holds: offsets never change; what is left is what was written; the newest record of each key is there; no
//! consumer sees aborted data; producers go on where they were.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use highwater::config::{CleanupPolicy, Codec, TopicSettings};
use highwater::env::{
    ByteBudget, Clock, Env, FileSystem, ManualClock, OpenMode, Random, SeededRandom,
};
use highwater::log::batch::HEADER_LEN;
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::log::compaction::{
    CleanError, CleaningLimits, KeyMapLimits, Pace, Round, Standing, Stop, assess,
};
use highwater::log::compress::Compression;
use highwater::log::reader::RecordReader;
use highwater::log::scan::scan;
use highwater::log::{Isolation, Log, LogView, OpenLog, StartMode};
use highwater::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};
use support::batches::{checked, marker};
use support::consumer::consume;
use support::logs::{NOW, open_args, read_all};
use support::simulated_disk::{SimulatedDisk, below};
use support::strict_check::{Closed, check};

const SEEDS: u64 = 30;
const STEPS: usize = 90;
const KEYS: usize = 9;
/// The first is idempotent, the others transactional.
const PRODUCERS: usize = 3;
const DELETE_RETENTION_MS: i64 = 1_000;
/// Slots of the map: fewer than keys in some worlds.
const SLOT_BYTES: usize = 24;

#[derive(Debug)]
struct NoPace;

impl Pace for NoPace {
    fn go_on(&self, _bytes: u64) -> Result<(), Stop> {
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// No part of a transaction, or of one that was committed.
    Good,
    Open,
    Aborted,
}

#[derive(Clone, Debug)]
struct Written {
    key: String,
    value: Option<String>,
    timestamp: i64,
    fate: Fate,
    producer: Option<usize>,
    /// The round that may first have given it a horizon, and the one that surely did.
    first_tried: Option<i64>,
    first_done: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Producing {
    sequence: i32,
    transaction: Option<i64>,
}

struct World {
    seed: u64,
    random: SeededRandom,
    clock: Arc<ManualClock>,
    disk: SimulatedDisk,
    settings: TopicSettings,
    map_slots: usize,
    written: BTreeMap<i64, Written>,
    /// Marker of the transaction that each record belongs to, once there is one.
    markers: BTreeMap<i64, i64>,
    producing: [Producing; PRODUCERS],
    /// An older view, and what it read when it was new.
    reader: Option<(Arc<LogView>, Vec<u8>)>,
    checkpoint: Option<Offset>,
    synced: Offset,
    epoch: i32,
}

fn directory() -> PathBuf {
    PathBuf::from("/data/t-0")
}

impl World {
    fn new(seed: u64) -> Self {
        let random = SeededRandom::new(seed);
        let delete = below(&random, 4) == 0;
        let settings = TopicSettings {
            cleanup_policy: CleanupPolicy { compact: true, delete },
            segment_bytes: 500 + 300 * below(&random, 4) as i32,
            index_interval_bytes: 150,
            delete_retention_ms: DELETE_RETENTION_MS,
            min_cleanable_dirty_ratio: 0.0,
            retention_bytes: 12_000,
            retention_ms: -1,
            ..TopicSettings::default()
        };
        Self {
            seed,
            clock: Arc::new(ManualClock::new(NOW)),
            disk: SimulatedDisk::new(),
            settings,
            map_slots: [7, 40, 2_000][below(&random, 3)],
            written: BTreeMap::new(),
            markers: BTreeMap::new(),
            producing: Default::default(),
            reader: None,
            checkpoint: None,
            synced: Offset::ZERO,
            epoch: 0,
            random,
        }
    }

    fn below(&self, bound: usize) -> usize {
        below(&self.random, bound)
    }

    fn now(&self) -> i64 {
        self.clock.wall().get()
    }

    fn args(&self, start: StartMode, log_start: Offset) -> OpenLog {
        let env = Env {
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            random: Arc::new(SeededRandom::new(self.seed)),
            files: Arc::new(self.disk.clone()),
        };
        let args = open_args(&env, &directory(), self.settings.clone());
        let cleaned_to = self.checkpoint.unwrap_or(Offset::ZERO);
        OpenLog { start, log_start, cleaned_to, producer_id_expiration_ms: i64::MAX, ..args }
    }

    /// A reader takes a view, and reads all of it some time later, whatever was cleaned and removed meanwhile.
    fn read(&mut self, log: &Log) {
        match self.reader.take() {
            Some((view, expected)) => {
                let read = read_all(&view, view.log_start);
                assert!(read == expected, "seed {}: an older view reads something else", self.seed);
            }
            None => {
                let view = Arc::clone(log.view());
                let bytes = read_all(&view, view.log_start);
                self.reader = Some((view, bytes));
            }
        }
    }

    fn step(&mut self, log: &mut Log) {
        match self.below(24) {
            20..=21 => self.read(log),
            0..=6 => self.append(log, None),
            7..=10 => self.append(log, Some(self.below(PRODUCERS))),
            11..=13 => self.end_transaction(log),
            14 => self.clock.advance_ms(self.below(800) as i64),
            15..=16 => self.sync(log),
            17 => {
                let left = log.remove_deleted(Timestamp::new(i64::MAX)).expect("the disk works");
                assert!(left.is_none() || self.reader.is_some(), "seed {}: {left:?}", self.seed);
            }
            18 if self.settings.cleanup_policy.delete => {
                log.apply_retention(self.clock.wall(), self.synced).expect("the disk works");
            }
            _ => {
                self.sync(log);
                self.clean(log).unwrap_or_else(|error| panic!("seed {}: {error}", self.seed));
            }
        }
    }

    fn append(&mut self, log: &mut Log, producer: Option<usize>) {
        let codec = [Codec::None, Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd]
            [self.below(6)];
        let producing = producer.map(|producer| (producer, self.producing[producer]));
        let mut builder = BatchBuilder::new(BatchTemplate {
            compression: Compression::default_of(codec),
            transactional: producer.is_some_and(|producer| producer > 0),
            producer_id: ProducerId::new(producer.map_or(-1, |producer| producer as i64)),
            producer_epoch: ProducerEpoch::new(if producer.is_some() { 0 } else { -1 }),
            base_sequence: producing.map_or(-1, |(_, producing)| producing.sequence),
            ..BatchTemplate::default()
        });
        let base = log.view().log_end.get();
        let count = 1 + self.below(4);
        for offset in base..base + count as i64 {
            let record = Written {
                key: format!("key-{}", self.below(KEYS)),
                value: (self.below(5) > 0)
                    .then(|| format!("{offset}-{}", "v".repeat(self.below(60)))),
                timestamp: self.now() + self.below(5) as i64 - 2,
                fate: if producer.is_some_and(|p| p > 0) { Fate::Open } else { Fate::Good },
                producer,
                first_tried: None,
                first_done: None,
            };
            let value = record.value.as_deref().map(str::as_bytes);
            builder.append(Timestamp::new(record.timestamp), Some(record.key.as_bytes()), value);
            self.written.insert(offset, record);
        }
        let bytes = builder.build().expect("small");
        let epoch = LeaderEpoch::new(self.epoch);
        let active_base = log.active_base();
        let appended = log
            .append(&checked(&bytes), epoch, self.clock.wall())
            .unwrap_or_else(|error| panic!("seed {}: producer {producer:?}: {error}", self.seed));
        assert_eq!((appended.base_offset.get(), appended.duplicate), (base, false));
        if let Some(producer) = producer {
            let producing = &mut self.producing[producer];
            producing.sequence += count as i32;
            if producer > 0 {
                producing.transaction.get_or_insert(base);
            }
        }
        self.sync_sealed(log, active_base);
    }

    fn end_transaction(&mut self, log: &mut Log) {
        let producer = 1 + self.below(PRODUCERS - 1);
        let Some(first) = self.producing[producer].transaction.take() else { return };
        let commit = self.below(2) == 0;
        let bytes = marker(producer as i64, 0, commit, self.now());
        let epoch = LeaderEpoch::new(self.epoch);
        let active_base = log.active_base();
        let appended = log.append(&checked(&bytes), epoch, self.clock.wall()).expect("fits");
        for (offset, record) in self.written.range_mut(first..) {
            if record.producer == Some(producer) && record.fate == Fate::Open {
                record.fate = if commit { Fate::Good } else { Fate::Aborted };
                self.markers.insert(*offset, appended.base_offset.get());
            }
        }
        self.sync_sealed(log, active_base);
    }

    /// Sealed segments are whole on disk: a hole that a power cut leaves in one would look as if it were cleaned.
    fn sync_sealed(&mut self, log: &mut Log, active_base: Offset) {
        if log.active_base() != active_base {
            self.sync(log);
        }
    }

    fn sync(&mut self, log: &mut Log) {
        let Some(work) = log.take_sync_work() else { return };
        work.files.iter().for_each(|file| file.sync().expect("the disk works"));
        for directory in &work.directories {
            log.file_system().sync_dir(directory).expect("the disk works");
        }
        log.synced(&work);
        self.synced = work.end;
    }

    fn limits(&self) -> CleaningLimits {
        let keys = KeyMapLimits { bytes_max: self.map_slots * SLOT_BYTES, load_factor: 0.9 };
        CleaningLimits { keys, buffer_bytes: 200 }
    }

    /// One round, as the broker drives it.
    fn clean(&mut self, log: &mut Log) -> Result<(), CleanError> {
        let settled = log.view().first_open.unwrap_or(self.synced).min(self.synced);
        let standing = Standing { checkpoint: self.checkpoint, settled, now: self.clock.wall() };
        let assessment = assess(log.view(), &self.settings, &standing).expect("readable");
        if !assessment.is_due(&self.settings) {
            return Ok(());
        }
        let now = self.now();
        let tried = self.written.range_mut(..assessment.range.to.get());
        tried.for_each(|(_, record)| _ = record.first_tried.get_or_insert(now));
        let budget = ByteBudget::new(1 << 20);
        let source = log.cleaning_source();
        let mut round = Round::begin(source, assessment.range, self.limits(), &budget, &NoPace)?;
        assert!(round.end() > assessment.range.from, "seed {}: no progress", self.seed);
        while let Some(replacement) = round.next(&NoPace)? {
            log.replace(&replacement, self.clock.wall()).expect("nothing was deleted");
        }
        self.sync(log);
        self.checkpoint = Some(round.end());
        self.check_clean(log, round.end().get());
        let done = self.written.range_mut(..round.end().get());
        done.for_each(|(_, record)| _ = record.first_done.get_or_insert(now));
        Ok(())
    }

    /// Offsets of the records that are left; each is what was written.
    fn left(&self, log: &Log) -> Vec<i64> {
        let seed = self.seed;
        let mut left = Vec::new();
        for (_, batch) in scan(&read_all(log.view(), log.view().log_start)) {
            let header = batch.header().expect("magic 2");
            if header.is_control() {
                continue;
            }
            let records = &batch.bytes()[HEADER_LEN..];
            let mut reader = RecordReader::new(&header, records, 1 << 20).expect("readable");
            while let Some(record) = reader.next() {
                let record = record.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                let offset = record.offset(&header).get();
                let written = &self.written[&offset];
                let key = record.key.map(|key| String::from_utf8(key.to_vec()).unwrap());
                let value = record.value.map(|value| String::from_utf8(value.to_vec()).unwrap());
                assert_eq!(key.as_ref(), Some(&written.key), "seed {seed}: {offset}");
                assert_eq!(value, written.value, "seed {seed}: {offset}");
                let timestamp = record.timestamp(&header).get();
                assert_eq!(timestamp, written.timestamp, "seed {seed}: {offset}");
                left.push(offset);
            }
        }
        assert!(left.is_sorted_by(|a, b| a < b), "seed {seed}: {left:?}");
        left
    }

    /// Offset of the newest record of each key that is not aborted, below `end`.
    fn newest(&self, end: i64) -> BTreeMap<&str, i64> {
        let good = self.written.range(..end).filter(|(_, record)| record.fate != Fate::Aborted);
        good.map(|(offset, record)| (record.key.as_str(), *offset)).collect()
    }

    /// What holds at any time.
    fn check(&self, log: &Log) {
        let (view, seed) = (log.view(), self.seed);
        let left = self.left(log);
        let log_start = view.log_start.get();
        for (key, offset) in self.newest(i64::MAX) {
            let record = &self.written[&offset];
            let may_be_gone = record.value.is_none()
                && record.first_tried.is_some_and(|at| self.now() >= at + DELETE_RETENTION_MS);
            let there = left.binary_search(&offset).is_ok();
            assert!(
                there || may_be_gone || offset < log_start,
                "seed {seed}: the newest of {key} at {offset} is gone: {record:?}"
            );
        }
        self.check_transactions(log, &left);
        check(&self.disk, &directory(), Closed::No, view.log_start);
    }

    fn check_transactions(&self, log: &Log, left: &[i64]) {
        let (view, seed) = (log.view(), self.seed);
        let seen = consume(view, Isolation::ReadCommitted).offsets;
        let stable = view.first_open.unwrap_or(view.log_end).get();
        let expected: Vec<i64> = left
            .iter()
            .copied()
            .filter(|offset| *offset < stable && *offset >= view.log_start.get())
            .filter(|offset| self.written[offset].fate == Fate::Good)
            .collect();
        assert_eq!(seen, expected, "seed {seed}: what a read_committed consumer sees");
        let bytes = read_all(view, view.log_start);
        let control: Vec<i64> = scan(&bytes)
            .filter_map(|(_, batch)| batch.header().filter(|h| h.is_control()))
            .filter(|header| header.records_count > 0)
            .map(|header| header.base_offset.get())
            .collect();
        for offset in left.iter().filter(|offset| self.written[offset].fate != Fate::Open) {
            let Some(marker) = self.markers.get(offset) else { continue };
            assert!(control.contains(marker), "seed {seed}: {offset} lost its marker {marker}");
        }
    }

    /// What a round that came to its end leaves.
    fn check_clean(&self, log: &Log, end: i64) {
        let (seed, now) = (self.seed, self.now());
        let newest = self.newest(end);
        for offset in self.left(log).into_iter().take_while(|offset| *offset < end) {
            let record = &self.written[&offset];
            assert_eq!(newest.get(record.key.as_str()), Some(&offset), "seed {seed}: {record:?}");
            let expired = record.value.is_none()
                && record.first_done.is_some_and(|at| now >= at + DELETE_RETENTION_MS);
            assert!(!expired, "seed {seed}: the tombstone at {offset} is still there: {record:?}");
        }
    }

    /// Ends this life of the log and begins the next one.
    fn restart(&mut self, mut log: Log) -> Log {
        self.reader = None;
        let log_start = log.view().log_start;
        let start = match self.below(3) {
            0 => {
                log.close().expect("closes");
                self.synced = log.view().log_end;
                check(&self.disk, &directory(), Closed::Yes, log_start);
                StartMode::Clean
            }
            1 => StartMode::Unclean { recovery_point: Offset::ZERO },
            _ => {
                self.disk = self.disk.crashed(self.random.next_u64());
                StartMode::Unclean { recovery_point: Offset::ZERO }
            }
        };
        drop(log);
        self.reopen(start, log_start)
    }

    fn reopen(&mut self, start: StartMode, log_start: Offset) -> Log {
        self.epoch += 1;
        let args = self.args(start, log_start);
        let mut log = Log::open(args).unwrap_or_else(|e| panic!("seed {}: {e}", self.seed));
        let end = log.view().log_end;
        assert!(end >= self.synced, "seed {}: {end} < {}", self.seed, self.synced);
        self.sync(&mut log);
        self.synced = end;
        self.forget_from(end.get());
        self.check_producers(&log);
        log
    }

    /// What lies behind the end was never synced and is gone.
    fn forget_from(&mut self, end: i64) {
        self.written.split_off(&end);
        for offset in self
            .markers
            .extract_if(.., |_, marker| *marker >= end)
            .map(|(o, _)| o)
            .collect::<Vec<_>>()
        {
            if let Some(record) = self.written.get_mut(&offset) {
                record.fate = Fate::Open;
            }
        }
        for producer in 0..PRODUCERS {
            let of_producer = self.written.iter().filter(|(_, r)| r.producer == Some(producer));
            let sequence = of_producer.clone().count() as i32;
            let mut open = of_producer.filter(|(_, record)| record.fate == Fate::Open);
            let transaction = open.next().map(|(offset, _)| *offset);
            // Records that were cleaned away are still counted in the model.
            self.producing[producer] = Producing { sequence, transaction };
        }
    }

    /// Whoever was there is remembered with its last sequence, whatever the cleaner has taken.
    fn check_producers(&self, log: &Log) {
        let known = log.active_producers();
        for (id, producing) in self.producing.iter().enumerate() {
            let Some(known) = known.iter().find(|known| known.id.get() == id as i64) else {
                assert_eq!(producing.sequence, 0, "seed {}: producer {id} is forgotten", self.seed);
                continue;
            };
            assert_eq!(known.last_sequence, producing.sequence - 1, "seed {}: {id}", self.seed);
            let transaction = known.transaction_start.map(Offset::get);
            assert_eq!(transaction, producing.transaction, "seed {}: {id}", self.seed);
        }
    }
}

#[test]
fn a_compacted_log_does_what_its_model_does() {
    println!("seeds 0..{SEEDS}");
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        let mut log = Log::open(world.args(StartMode::Clean, Offset::ZERO)).expect("opens");
        for _ in 0..STEPS {
            if world.below(15) == 0 {
                log = world.restart(log);
            }
            world.step(&mut log);
            world.check(&log);
        }
        log.close().expect("closes");
        check(&world.disk, &directory(), Closed::Yes, log.view().log_start);
    }
}

/// A log with dirty segments and everything synced.
fn dirty(seed: u64) -> (World, Log) {
    let mut world = World::new(seed);
    world.settings.cleanup_policy.delete = false;
    let mut log = Log::open(world.args(StartMode::Clean, Offset::ZERO)).expect("opens");
    for round in 0..60 {
        match world.below(3) {
            0 => world.append(&mut log, None),
            1 => world.append(&mut log, Some(world.below(PRODUCERS))),
            _ => world.end_transaction(&mut log),
        }
        world.clock.advance_ms(20);
        if round % 25 == 24 {
            world.sync(&mut log);
            world.clean(&mut log).expect("the disk works");
        }
    }
    world.sync(&mut log);
    (world, log)
}

#[test]
fn a_power_cut_at_any_step_of_a_round_leaves_the_log_whole() {
    const ROUNDS: u64 = 3;
    const CRASHES: u64 = 4;
    let mut all_operations = 0;
    println!("seeds 0..{ROUNDS}, {CRASHES} crashes at each operation");
    for seed in 0..ROUNDS {
        let mut operations = 0;
        loop {
            let mut finished = false;
            for crash in 0..CRASHES {
                let (mut world, mut log) = dirty(seed);
                world.disk.fail_after(operations);
                finished = cut_short(&mut world, &mut log);
                let log_start = log.view().log_start;
                drop(log);
                world.disk = world.disk.crashed(seed * 1_000_003 + operations as u64 * 31 + crash);
                let start = StartMode::Unclean { recovery_point: Offset::ZERO };
                let mut log = world.reopen(start, log_start);
                world.check(&log);
                world.clean(&mut log).expect("the disk works again");
                world.check(&log);
            }
            if finished {
                break;
            }
            operations += 1;
        }
        all_operations += operations;
    }
    assert!(all_operations > 60, "the rounds wrote next to nothing: {all_operations} operations");
}

/// Kafka's recovery points lie up to a minute behind its cleaner, and the policy may have changed since.
#[test]
fn gaps_that_the_cleaner_left_are_no_losses_under_another_policy() {
    const SEEDS: u64 = 20;
    println!("seeds 0..{SEEDS}");
    for seed in 0..SEEDS {
        let (mut world, mut log) = dirty(seed);
        world.clean(&mut log).expect("the disk works");
        let (log_start, log_end) = (log.view().log_start, log.view().log_end);
        drop(log);
        world.settings.cleanup_policy = CleanupPolicy { compact: false, delete: true };
        let log = world.reopen(StartMode::Unclean { recovery_point: Offset::ZERO }, log_start);
        assert_eq!(log.view().log_end, log_end, "seed {seed}");
        world.check(&log);
    }
}

/// A round on a disk that breaks in its middle; true if it came to its end before.
fn cut_short(world: &mut World, log: &mut Log) -> bool {
    let settled = log.view().first_open.unwrap_or(world.synced);
    let (checkpoint, now) = (world.checkpoint, world.clock.wall());
    let standing = Standing { checkpoint, settled, now };
    let assessment = assess(log.view(), &world.settings, &standing).expect("readable");
    assert!(assessment.is_due(&world.settings));
    let tried = world.written.range_mut(..assessment.range.to.get());
    tried.for_each(|(_, record)| _ = record.first_tried.get_or_insert(now.get()));
    let budget = ByteBudget::new(1 << 20);
    let (source, limits) = (log.cleaning_source(), world.limits());
    let Ok(mut round) = Round::begin(source, assessment.range, limits, &budget, &NoPace) else {
        return false;
    };
    loop {
        match round.next(&NoPace) {
            Ok(Some(replacement)) => {
                log.replace(&replacement, now).expect("renames work");
            }
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

#[test]
fn a_cleaned_segment_is_as_old_as_the_last_one_it_was_made_of() {
    let (mut world, mut log) = dirty(0);
    let sealed = log.active_base();
    let mut ages = BTreeMap::new();
    for (number, base) in (1..).zip(log_files(&world.disk)) {
        let path = directory().join(format!("{base:020}.log"));
        let file = world.disk.open(&path, OpenMode::ReadOnly).expect("there");
        ages.insert(base, NOW.get() + number);
        file.set_modified(Timestamp::new(NOW.get() + number)).expect("the disk works");
    }
    assert!(ages.len() > 3, "{ages:?}");
    world.checkpoint = None;
    world.clean(&mut log).expect("the disk works");
    let left: Vec<i64> = log_files(&world.disk).filter(|base| *base < sealed.get()).collect();
    assert!(left.len() < ages.len() - 1, "some became one: {left:?} of {ages:?}");
    for (number, base) in left.iter().enumerate() {
        let next = left.get(number + 1).copied().unwrap_or(sealed.get());
        let last = ages.range(..next).next_back().expect("one at or below").1;
        let path = directory().join(format!("{base:020}.log"));
        let stat = world.disk.stat(&path).expect("readable").expect("there");
        assert_eq!(stat.modified.get(), *last, "{base}");
    }
}

/// Bases of the segments on disk.
fn log_files(disk: &SimulatedDisk) -> impl Iterator<Item = i64> {
    let names = disk.list(&directory()).expect("there").into_iter().map(|entry| entry.name);
    names.filter_map(|name| name.strip_suffix(".log")?.parse().ok())
}

#[test]
fn a_checkpoint_outside_the_log_counts_for_nothing() {
    let (mut world, mut log) = dirty(0);
    log.raise_log_start(Offset::new(7));
    let end = log.view().log_end.get();
    let dirty_from = |checkpoint: i64| {
        let checkpoint = Some(Offset::new(checkpoint));
        let standing = Standing { checkpoint, settled: world.synced, now: world.clock.wall() };
        let assessment = assess(log.view(), &world.settings, &standing).expect("readable");
        (assessment.range.from.get(), assessment.checkpoint_invalid)
    };
    assert_eq!([6, end + 1].map(dirty_from), [(7, true); 2], "below the start, above the end");
    assert_eq!([7, end].map(dirty_from), [(7, false), (end, false)]);
    world.checkpoint = Some(Offset::new(end + 1));
    world.clean(&mut log).expect("it is cleaned from its start");
}
