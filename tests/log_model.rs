//! The log against a model of it: random appends, resends, rolls, restarts of every kind, damaged tails, retention,
//! DeleteRecords; after every step reads at every offset and timestamp questions.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::collections::VecDeque;
use std::path::PathBuf;

use highwater::config::TopicSettings;
use highwater::env::{FileSystem, OpenMode, Random, SeededRandom};
use highwater::log::scan::scan;
use highwater::log::{Log, OpenLog, ReadError, ReadLimit, StartMode, TimeQuery};
use highwater::types::{LeaderEpoch, Offset, Timestamp};
use support::batches::{Sender, batch, checked};
use support::logs::{NOW, bytes_of, open_args};
use support::simulated_disk::{SimulatedDisk, below};
use support::strict_check::{Closed, check};

const SEEDS: u64 = 25;
const STEPS: usize = 60;
const PRODUCERS: usize = 3;

/// One stored batch.
#[derive(Clone)]
struct Stored {
    base: i64,
    end: i64,
    /// Timestamp of each record.
    timestamps: Vec<i64>,
    bytes: Vec<u8>,
    sender: Option<Sender>,
}

struct Model {
    seed: u64,
    random: SeededRandom,
    disk: SimulatedDisk,
    batches: Vec<Stored>,
    log_start: i64,
    /// Next sequence and the batches that are still recognised, per producer.
    sequences: [i32; PRODUCERS],
    recognised: [VecDeque<Stored>; PRODUCERS],
    epoch: i32,
    now_ms: i64,
}

fn directory() -> PathBuf {
    PathBuf::from("/data/t-0")
}

impl Model {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            random: SeededRandom::new(seed),
            disk: SimulatedDisk::new(),
            batches: Vec::new(),
            log_start: 0,
            sequences: [0; PRODUCERS],
            recognised: Default::default(),
            epoch: 0,
            now_ms: NOW.get(),
        }
    }

    fn below(&self, bound: usize) -> usize {
        below(&self.random, bound)
    }

    fn args(&self, start: StartMode) -> OpenLog {
        let settings = TopicSettings {
            segment_bytes: 2_500,
            segment_ms: 400,
            segment_index_bytes: 60,
            index_interval_bytes: 200,
            retention_bytes: 8_000,
            retention_ms: -1,
            ..TopicSettings::default()
        };
        let log_start = Offset::new(self.log_start);
        OpenLog { start, log_start, ..open_args(&self.disk.env(self.seed), &directory(), settings) }
    }

    fn end(&self) -> i64 {
        self.batches.last().map_or(self.log_start, |batch| batch.end)
    }

    fn append(&mut self, log: &mut Log) {
        let count = 1 + self.below(3);
        let timestamps: Vec<i64> = (0..count)
            .map(|_| {
                self.now_ms += self.below(60) as i64 - 10;
                self.now_ms
            })
            .collect();
        let value = vec![b'v'; self.below(300)];
        let values: Vec<(&[u8], i64)> =
            timestamps.iter().map(|&timestamp| (value.as_slice(), timestamp)).collect();
        let producer = self.below(PRODUCERS + 1);
        let sender = (producer < PRODUCERS).then(|| Sender {
            id: producer as i64,
            epoch: 0,
            sequence: self.sequences[producer],
            transactional: false,
        });
        let sent = batch(&values, sender);
        let appended =
            log.append(&checked(&sent), LeaderEpoch::new(self.epoch), NOW).expect("fits");
        assert_eq!((appended.base_offset.get(), appended.duplicate), (self.end(), false));
        let mut bytes = sent;
        bytes[..8].copy_from_slice(&self.end().to_be_bytes());
        bytes[12..16].copy_from_slice(&self.epoch.to_be_bytes());
        let base = self.end();
        let stored = Stored { base, end: base + count as i64, timestamps, bytes, sender };
        if producer < PRODUCERS {
            self.sequences[producer] += count as i32;
            self.recognised[producer].push_back(stored.clone());
            if self.recognised[producer].len() > 5 {
                self.recognised[producer].pop_front();
            }
        }
        self.batches.push(stored);
    }

    fn resend(&self, log: &mut Log) {
        for recognised in &self.recognised {
            if recognised.is_empty() {
                continue;
            }
            let original = &recognised[self.below(recognised.len())];
            let again = log
                .append(&checked(&original.bytes), LeaderEpoch::new(self.epoch), NOW)
                .unwrap_or_else(|error| panic!("seed {}: {error}", self.seed));
            let known = (again.duplicate, again.base_offset.get(), again.end_offset.get());
            assert_eq!(known, (true, original.base, original.end), "seed {}", self.seed);
        }
    }

    /// Ends this life of the log and begins the next one.
    fn restart(&mut self, mut log: Log) -> Log {
        let mut start = StartMode::Unclean { recovery_point: Offset::ZERO };
        match self.below(4) {
            0 => {
                log.close().expect("closes");
                check(&self.disk, &directory(), Closed::Yes, Offset::new(self.log_start));
                start = StartMode::Clean;
            }
            1 => {}
            2 => self.damage_tail(&log),
            _ => {
                log.close().expect("closes");
                self.damage_tail(&log);
                start = StartMode::Clean;
            }
        }
        drop(log);
        if self.batches.last().is_some_and(|last| last.end < self.log_start) {
            // Deleted up to behind what is left: the log begins anew there.
            self.batches.clear();
        }
        self.epoch += 2;
        self.recognised.iter_mut().for_each(VecDeque::clear);
        for stored in &self.batches {
            // After a restart at least the newest batch of each producer is known.
            if let Some(sender) = stored.sender {
                self.recognised[sender.id as usize] = VecDeque::from([stored.clone()]);
            }
        }
        let log = Log::open(self.args(start)).unwrap_or_else(|e| panic!("seed {}: {e}", self.seed));
        if start != StartMode::Clean {
            check(&self.disk, &directory(), Closed::No, Offset::new(self.log_start));
        }
        log
    }

    /// Tears off some bytes of the last batch, or adds garbage or zeros behind it.
    fn damage_tail(&mut self, log: &Log) {
        let names = self.disk.list(&directory()).expect("readable");
        let last =
            names.iter().map(|entry| &entry.name).filter(|name| name.ends_with(".log")).max();
        let Some(name) = last else { return };
        let file = self.disk.open(&directory().join(name), OpenMode::Existing).expect("there");
        let len = file.len().expect("readable");
        match self.below(3) {
            0 => {
                let base: i64 = name[..20].parse().expect("a number");
                let Some(lost) = self.batches.pop_if(|batch| batch.base >= base) else { return };
                let torn = 1 + self.below(lost.bytes.len() - 1);
                file.set_len(len - torn as u64).expect("the disk works");
                if let Some(sender) = lost.sender {
                    self.sequences[sender.id as usize] = sender.sequence;
                }
            }
            1 => file.write_all_at(&[0; 700], len).expect("the disk works"),
            _ => {
                let garbage: Vec<u8> =
                    (0..50).map(|_| self.random.next_u64() as u8 | 0x80).collect();
                file.write_all_at(&garbage, len).expect("the disk works");
            }
        }
        // A producer whose newest batch is gone may be forgotten altogether: its state was never written.
        let _ = log;
    }

    fn step(&mut self, mut log: Log) -> Log {
        match self.below(24) {
            0..=13 => self.append(&mut log),
            14..=16 => self.resend(&mut log),
            17 => {
                log.apply_retention(NOW, log.view().log_end).expect("the disk works");
                let start = log.view().log_start.get();
                assert!(start >= self.log_start);
                self.log_start = start;
                assert_eq!(log.remove_deleted(NOW).expect("works").is_some(), self.has_deleted());
            }
            18 => {
                let to =
                    self.log_start + self.below((self.end() - self.log_start) as usize + 1) as i64;
                assert_eq!(log.raise_log_start(Offset::new(to)), to > self.log_start);
                self.log_start = to;
            }
            19 => _ = log.rest(),
            20 => {
                if let Some(work) = log.take_sync_work() {
                    log.synced(&work);
                }
            }
            21 => log.remove_deleted(Timestamp::new(i64::MAX)).map(|_| ()).expect("works"),
            _ => return self.restart(log),
        }
        log
    }

    fn has_deleted(&self) -> bool {
        let names = self.disk.list(&directory()).expect("readable");
        names.iter().any(|entry| entry.name.ends_with(".deleted"))
    }

    fn check_reads(&self, log: &Log) {
        let (view, seed) = (log.view(), self.seed);
        assert_eq!(view.log_start.get(), self.log_start, "seed {seed}");
        assert_eq!(view.log_end.get(), self.end(), "seed {seed}");
        for from in self.log_start..self.end() {
            let first = self.batches.partition_point(|batch| batch.end <= from);
            let until = first + self.below(self.batches.len() - first + 1);
            let end = self.batches.get(until).map_or(self.end(), |batch| batch.base);
            let limit = ReadLimit {
                end: Offset::new(end),
                bytes_max: self.below(2_000),
                first_batch_whole: self.below(2) == 0,
            };
            let wanted: Vec<u8> =
                self.batches[first..until].iter().flat_map(|batch| batch.bytes.clone()).collect();
            let first_len = self.batches[first].bytes.len();
            let read = bytes_of(&view.read_files(Offset::new(from), limit).expect("readable"));
            self.check_read(&read, &wanted, first_len, &limit, from);
            if let Some(tail) = view.read_tail(Offset::new(from), limit).expect("in range") {
                assert_eq!(bytes_of(&tail), read, "seed {seed}: tail and file differ at {from}");
            }
        }
        for outside in [self.log_start - 1, self.end() + 1] {
            let read = view.read_tail(
                Offset::new(outside),
                ReadLimit { end: view.log_end, bytes_max: 1, first_batch_whole: true },
            );
            assert!(matches!(read, Err(ReadError::OutOfRange { .. })), "seed {seed}: {outside}");
        }
    }

    /// A read is a prefix of what follows: cut by the limit, or at the end of a segment.
    fn check_read(&self, read: &[u8], all: &[u8], first: usize, limit: &ReadLimit, from: i64) {
        let seed = self.seed;
        assert!(all.starts_with(read), "seed {seed}: other bytes at {from}");
        if all.is_empty() || (first > limit.bytes_max && !limit.first_batch_whole) {
            assert!(read.is_empty(), "seed {seed}: {from}");
        } else if first > limit.bytes_max {
            assert_eq!(read.len(), first, "seed {seed}: {from}");
        } else {
            let whole_segment =
                scan(read).last().is_some_and(|(at, batch)| at + batch.bytes().len() == read.len());
            let full = read.len() == all.len().min(limit.bytes_max);
            assert!(full || whole_segment, "seed {seed}: {} bytes at {from}", read.len());
            assert!(read.len() >= first && read.len() <= limit.bytes_max, "seed {seed}: {from}");
        }
    }

    fn check_times(&self, log: &Log) {
        let view = log.view();
        let records = self.batches.iter().flat_map(|batch| (batch.base..).zip(&batch.timestamps));
        let records: Vec<(i64, i64)> = records
            .map(|(offset, timestamp)| (offset, *timestamp))
            .filter(|(offset, _)| *offset >= self.log_start)
            .collect();
        for _ in 0..5 {
            let time = self.now_ms - self.below(1_500) as i64;
            let wanted = records.iter().find(|(_, timestamp)| *timestamp >= time).copied();
            let query = TimeQuery::At(Timestamp::new(time));
            let found = view.offset_at(query, view.log_end).expect("readable");
            let found = found.map(|hit| (hit.offset.get(), hit.timestamp.get()));
            assert_eq!(found, wanted, "seed {}: at {time}", self.seed);
        }
        for _ in 0..5 {
            let from = self.log_start + self.below(20) as i64 - 2;
            let wanted = records.iter().find(|(offset, _)| *offset >= from).map(|found| found.1);
            let found = view.time_of(Offset::new(from)).expect("readable");
            assert_eq!(found.map(Timestamp::get), wanted, "seed {}: of {from}", self.seed);
        }
        let found = view.offset_at(TimeQuery::Max, view.log_end).expect("readable");
        let largest = records.iter().map(|(_, timestamp)| *timestamp).max();
        if let Some(found) = found.filter(|found| found.offset.get() >= self.log_start) {
            let first = records.iter().find(|(_, timestamp)| Some(*timestamp) == largest);
            assert_eq!(
                Some(&(found.offset.get(), found.timestamp.get())),
                first,
                "seed {}",
                self.seed
            );
        }
    }
}

#[test]
fn the_log_does_what_its_model_does() {
    println!("seeds 0..{SEEDS}");
    for seed in 0..SEEDS {
        let mut model = Model::new(seed);
        let mut log = Log::open(model.args(StartMode::Clean)).expect("opens");
        for _ in 0..STEPS {
            log = model.step(log);
            model.check_reads(&log);
            model.check_times(&log);
        }
        log.close().expect("closes");
        check(&model.disk, &directory(), Closed::Yes, Offset::new(model.log_start));
    }
}
