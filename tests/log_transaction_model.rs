//! Transactions in a log against a model: many producers of both versions, markers that come late or twice, a high watermark
//! that lags, rolls, restarts, retention, DeleteRecords. After every step consumers of both isolations find what the model says.
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

use highwater::config::TopicSettings;
use highwater::env::SeededRandom;
use highwater::log::batch::BatchHeader;
use highwater::log::scan::scan;
use highwater::log::{Admission, AppendError, Log, OpenLog, ReadLimit, StartMode};
use highwater::types::{
    LeaderEpoch, Marker, Offset, Outcome, ProducerIdAndEpoch, TransactionVersion,
};
use support::batches::{Sender, admitted, batch, checked, identity};
use support::consumer::Skipping;
use support::logs::{self, NOW, bytes_of, open_args};
use support::simulated_disk::{SimulatedDisk, below};
use support::strict_check::{Closed, check};

const SEEDS: u64 = 40;
const STEPS: usize = 120;
const PRODUCERS: usize = 5;
const EPOCH: LeaderEpoch = LeaderEpoch::new(0);

/// What becomes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Counts,
    Open,
    Aborted,
}

#[derive(Clone, Copy, Debug)]
struct Written {
    end: i64,
    fate: Fate,
    /// `None` outside of transactions.
    producer: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Producing {
    version: TransactionVersion,
    epoch: i16,
    sequence: i32,
    /// First offset of its open transaction.
    open: Option<i64>,
    /// The last marker that was written.
    last: Option<Marker>,
}

struct Model {
    seed: u64,
    random: SeededRandom,
    disk: SimulatedDisk,
    producing: [Producing; PRODUCERS],
    /// Data batches by base offset.
    written: BTreeMap<i64, Written>,
    /// Transactions that have ended: first offset, marker.
    ended: Vec<(i64, i64)>,
    log_start: i64,
    high_watermark: i64,
}

impl Model {
    fn new(seed: u64) -> Self {
        let producing = |number: usize| Producing {
            version: [TransactionVersion::V1, TransactionVersion::V2][number % 2],
            epoch: 0,
            sequence: 0,
            open: None,
            last: None,
        };
        Self {
            seed,
            random: SeededRandom::new(seed),
            disk: SimulatedDisk::new(),
            producing: std::array::from_fn(producing),
            written: BTreeMap::new(),
            ended: Vec::new(),
            log_start: 0,
            high_watermark: 0,
        }
    }

    fn below(&self, bound: usize) -> usize {
        below(&self.random, bound)
    }

    fn open(&self, start: StartMode) -> Log {
        let settings = TopicSettings {
            segment_bytes: 1_500,
            index_interval_bytes: 200,
            retention_bytes: 6_000,
            retention_ms: -1,
            ..TopicSettings::default()
        };
        let log_start = Offset::new(self.log_start);
        let args = OpenLog {
            start,
            log_start,
            ..open_args(&self.disk.env(self.seed), &directory(), settings)
        };
        Log::open(args).unwrap_or_else(|error| panic!("seed {}: {error}", self.seed))
    }

    fn step(&mut self, mut log: Log) -> Log {
        match self.below(20) {
            0 | 1 => self.write_plain(&mut log),
            2..=8 => self.write(&mut log),
            9..=12 => self.end(&mut log),
            13 => self.end_again(&mut log),
            14..=16 => self.see_more(&log),
            17 => self.delete(&mut log),
            18 => {
                log.apply_retention(NOW, Offset::new(self.high_watermark)).expect("works");
                self.log_start = log.view().log_start.get();
            }
            _ => return self.restart(log),
        }
        log
    }

    fn write_plain(&mut self, log: &mut Log) {
        let bytes = batch(&[(&vec![b'p'; self.below(200)], NOW.get())], None);
        let appended = log.append(&checked(&bytes), EPOCH, NOW).expect("fits");
        let end = appended.end_offset.get();
        let written = Written { end, fate: Fate::Counts, producer: None };
        self.written.insert(appended.base_offset.get(), written);
    }

    /// A batch of a transaction, which it may begin.
    fn write(&mut self, log: &mut Log) {
        let number = self.below(PRODUCERS);
        let Producing { version, epoch, sequence, open, .. } = self.producing[number];
        let guard = log.begin_join(producer(number, epoch), sequence, version, NOW);
        assert_eq!(guard.is_none(), open.is_some(), "seed {}: producer {number}", self.seed);
        let admission = guard.map_or(Admission::Open, Admission::Joined);
        let count = 1 + self.below(3);
        let value = vec![b't'; self.below(200)];
        let sender = Sender { id: number as i64, epoch, sequence, transactional: true };
        let bytes = batch(&vec![(&value[..], NOW.get()); count], Some(sender));
        let appended = log
            .append(&admitted(&bytes, admission), EPOCH, NOW)
            .unwrap_or_else(|e| self.fail(number, &e));
        let base = appended.base_offset.get();
        let written =
            Written { end: appended.end_offset.get(), fate: Fate::Open, producer: Some(number) };
        self.written.insert(base, written);
        let producing = &mut self.producing[number];
        producing.open.get_or_insert(base);
        producing.sequence += count as i32;
    }

    fn fail(&self, number: usize, error: &AppendError) -> ! {
        panic!("seed {}: {number} {:?}: {error}", self.seed, self.producing[number])
    }

    fn end(&mut self, log: &mut Log) {
        let number = self.below(PRODUCERS);
        let outcome = [Outcome::Commit, Outcome::Abort][self.below(2)];
        let producing = &mut self.producing[number];
        if producing.version == TransactionVersion::V2 {
            producing.epoch += 1;
            producing.sequence = 0;
        }
        let marker = Marker {
            producer: producer(number, producing.epoch),
            outcome,
            coordinator_epoch: 0,
            version: producing.version,
        };
        producing.last = Some(marker);
        let open = producing.open.take();
        let at = append_marker(log, &marker).unwrap_or_else(|e| self.fail(number, &e));
        let Some(first) = open else { return };
        self.ended.push((first, at));
        let fate = if outcome == Outcome::Commit { Fate::Counts } else { Fate::Aborted };
        for written in self.written.range_mut(first..).map(|(_, written)| written) {
            if written.producer == Some(number) && written.fate == Fate::Open {
                written.fate = fate;
            }
        }
    }

    /// A coordinator that does not know whether a marker is there writes it again.
    fn end_again(&mut self, log: &mut Log) {
        let number = self.below(PRODUCERS);
        let Producing { version, open, last, .. } = self.producing[number];
        let Some(marker) = last else { return };
        match (version, open) {
            (_, None) => _ = append_marker(log, &marker).unwrap_or_else(|e| self.fail(number, &e)),
            (TransactionVersion::V2, Some(_)) => {
                let late = append_marker(log, &marker);
                assert!(matches!(late, Err(AppendError::InvalidProducerEpoch(_))), "{late:?}");
            }
            // Version 1 cannot tell: its coordinator must not do it.
            (TransactionVersion::V1, Some(_)) => {}
        }
    }

    fn see_more(&mut self, log: &Log) {
        let unseen = (log.view().log_end.get() - self.high_watermark) as usize;
        self.high_watermark += self.below(unseen + 1) as i64;
    }

    fn delete(&mut self, log: &mut Log) {
        let to =
            self.log_start + self.below((self.high_watermark - self.log_start) as usize + 1) as i64;
        log.raise_log_start(Offset::new(to));
        self.log_start = to;
    }

    fn restart(&mut self, mut log: Log) -> Log {
        let mut start = StartMode::Unclean { recovery_point: Offset::ZERO };
        if self.below(2) == 0 {
            log.close().expect("closes");
            start = StartMode::Clean;
        }
        let end = log.view().log_end.get();
        drop(log);
        let log = self.open(start);
        assert_eq!(log.view().log_end.get(), end, "seed {}", self.seed);
        self.log_start = log.view().log_start.get();
        self.high_watermark = end;
        log
    }

    fn last_stable_offset(&self) -> i64 {
        let unseen = self.ended.iter().filter(|(_, marker)| *marker >= self.high_watermark);
        let open = self.producing.iter().filter_map(|producing| producing.open);
        let first = open.chain(unseen.map(|(first, _)| *first)).min();
        let held_back = first.map_or(i64::MAX, |first| first.max(self.log_start));
        held_back.min(self.high_watermark)
    }

    fn check(&self, log: &mut Log) {
        let seed = self.seed;
        let high_watermark = Offset::new(self.high_watermark);
        let unstable = log.first_unstable(high_watermark);
        let stable = unstable.map_or(high_watermark, |at| at.min(high_watermark)).get();
        assert_eq!(stable, self.last_stable_offset(), "seed {seed}");
        let mut from = self.log_start;
        while from < stable {
            let (seen, next) = self.fetch(log, from, stable);
            let counts = |(base, written): (&i64, &Written)| {
                (written.fate == Fate::Counts).then_some((*base, written.end))
            };
            let wanted: Vec<_> = self
                .written
                .range(..next)
                .filter(|(_, written)| written.end > from)
                .filter_map(counts)
                .collect();
            assert_eq!(seen, wanted, "seed {seed}: {from}..{next}, stable {stable}");
            from = next;
        }
    }

    /// One answer as a read_committed consumer takes it: the batches that it shows, and where it goes on.
    fn fetch(&self, log: &Log, from: i64, stable: i64) -> (Vec<(i64, i64)>, i64) {
        let limit = ReadLimit {
            end: Offset::new(stable),
            bytes_max: self.below(1_200),
            first_batch_whole: true,
        };
        let slice = log.view().read_files(Offset::new(from), limit).expect("readable");
        let bytes = bytes_of(&slice);
        let headers: Vec<BatchHeader> =
            scan(&bytes).map(|(_, batch)| batch.header().expect("magic 2")).collect();
        // Batches that hold the end are left out, so there may be nothing more to see.
        let next = headers.last().map_or(stable, |header| header.last_offset().get() + 1);
        let aborted = log.view().aborted_between(Offset::new(from), Offset::new(next));
        let mut skipping = Skipping::of(aborted.expect("readable"));
        let seen = headers
            .iter()
            .filter(|header| skipping.shows(header))
            .map(|header| (header.base_offset.get(), header.last_offset().get() + 1));
        (seen.collect(), next)
    }
}

fn directory() -> PathBuf {
    PathBuf::from("/data/t-0")
}

fn producer(number: usize, epoch: i16) -> ProducerIdAndEpoch {
    identity(number as i64, epoch)
}

fn append_marker(log: &mut Log, marker: &Marker) -> Result<i64, AppendError> {
    Ok(logs::append_marker(log, marker, EPOCH)?.base_offset.get())
}

#[test]
fn consumers_find_what_was_committed_and_nothing_else() {
    println!("seeds 0..{SEEDS}");
    for seed in 0..SEEDS {
        let mut model = Model::new(seed);
        let mut log = model.open(StartMode::Clean);
        for _ in 0..STEPS {
            log = model.step(log);
            model.check(&mut log);
        }
        log.close().expect("closes");
        check(&model.disk, &directory(), Closed::Yes, Offset::new(model.log_start));
    }
}
