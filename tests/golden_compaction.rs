//! Logs that Apache Kafka wrote and then cleaned twice, cleaned by the engine as well: the same batches with the same records at
//! the same offsets, in the same segments, with the same indexes.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "looks at files, and may panic"
)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use highwater::config::{CleanupPolicy, Codec, TopicSettings};
use highwater::env::{ByteBudget, Env, ManualClock};
use highwater::log::batch::{BatchHeader, HEADER_LEN};
use highwater::log::compaction::{
    CleaningLimits, KeyMapLimits, Pace, Round, Standing, Stop, assess,
};
use highwater::log::reader::RecordReader;
use highwater::log::scan::{StoredBatch, scan};
use highwater::log::{Log, OpenLog};
use highwater::types::{Offset, Timestamp};
use support::golden;
use support::logs::open_args;

/// Without those whose tombstones and markers stay.
const DELETE_RETENTION_MS: i64 = 5;
const LONG_RETENTION_MS: i64 = 360_000_000_000;
const TOPICS: [&str; 8] = [
    "codecs",
    "append-time",
    "tombstones",
    "tombstones-kept",
    "transactions",
    "transactions-kept",
    "producers",
    "last-word",
];

#[derive(Debug)]
struct NoPace;

impl Pace for NoPace {
    fn go_on(&self, _bytes: u64) -> Result<(), Stop> {
        Ok(())
    }
}

/// One cleaning: what was there before it, and what Kafka made of it.
struct Cleaning {
    before: PathBuf,
    after: PathBuf,
    topic: &'static str,
}

impl Cleaning {
    fn partition(&self, side: &Path) -> PathBuf {
        side.join(format!("{}-0", self.topic))
    }

    fn delete_retention_ms(&self) -> i64 {
        if self.topic.ends_with("-kept") { LONG_RETENTION_MS } else { DELETE_RETENTION_MS }
    }

    fn settings(&self) -> TopicSettings {
        TopicSettings {
            cleanup_policy: CleanupPolicy { compact: true, delete: false },
            segment_bytes: 1_500,
            segment_index_bytes: 65_532,
            index_interval_bytes: 300,
            min_cleanable_dirty_ratio: 0.01,
            delete_retention_ms: self.delete_retention_ms(),
            ..TopicSettings::default()
        }
    }

    /// When Kafka cleaned: told by the horizons that were not there before.
    fn time(&self) -> Timestamp {
        let horizons = |side: &Path| {
            let files = files(&self.partition(side), ".log");
            let horizons = files.values().flat_map(|bytes| horizons(bytes)).collect::<Vec<_>>();
            horizons.into_iter().max()
        };
        let new = horizons(&self.after).filter(|new| Some(*new) > horizons(&self.before));
        // Where there is nothing to be given a horizon, late enough for those of before.
        new.map_or(Timestamp::new(4_000_000_000_000), |horizon| {
            Timestamp::new(horizon.get() - self.delete_retention_ms())
        })
    }

    fn open(&self) -> Log {
        let clock = Arc::new(ManualClock::new(self.time()));
        let env = Env { clock, ..Env::system() };
        let directory = self.partition(&self.before);
        let metadata = std::fs::read_to_string(directory.join("partition.metadata")).unwrap();
        let args = OpenLog {
            topic_id: metadata.rsplit(' ').next().unwrap().parse().expect("a topic id"),
            // As Kafka had it: those whose records are old are forgotten when the log is opened.
            producer_id_expiration_ms: i32::MAX.into(),
            ..open_args(&env, &directory, self.settings())
        };
        Log::open(args).expect("Kafka's directory opens")
    }

    /// One round over everything in front of the active segment.
    fn run(&self) -> Log {
        let mut log = self.open();
        let standing = Standing {
            checkpoint: cleaned_to(&self.before, self.topic),
            settled: log.view().log_end,
            now: self.time(),
        };
        let assessment = assess(log.view(), &self.settings(), &standing).unwrap();
        assert!(assessment.is_due(&self.settings()), "{}", self.topic);
        let keys = KeyMapLimits { bytes_max: 1 << 20, load_factor: 0.9 };
        let limits = CleaningLimits { keys, buffer_bytes: 64 << 10 };
        let budget = ByteBudget::new(64 << 20);
        let source = log.cleaning_source();
        let mut round = Round::begin(source, assessment.range, limits, &budget, &NoPace).unwrap();
        while let Some(replacement) = round.next(&NoPace).unwrap() {
            log.replace(&replacement, self.time()).unwrap();
        }
        assert_eq!(Some(round.end()), cleaned_to(&self.after, self.topic), "{}", self.topic);
        log.remove_deleted(Timestamp::new(i64::MAX)).unwrap();
        log
    }

    fn compare(&self) {
        let log = self.run();
        let active = format!("{:020}", log.active_base().get());
        let sealed = |side: &Path, suffix: &str| -> BTreeMap<String, Vec<u8>> {
            let mut files = files(&self.partition(side), suffix);
            files.retain(|name, bytes| {
                !name.starts_with(&active) && (suffix == ".log" || !bytes.is_empty())
            });
            files
        };
        let (ours, kafkas) = (sealed(&self.before, ".log"), sealed(&self.after, ".log"));
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&ours), names(&kafkas), "{}", self.topic);
        for (name, kafkas) in &kafkas {
            compare_segments(&ours[name], kafkas, &format!("{} {name}", self.topic));
        }
        for suffix in [".index", ".timeindex", ".txnindex"] {
            // Positions are those of compressed bytes, which differ.
            if self.topic == "codecs" || suffix == ".index" && ours != kafkas {
                continue;
            }
            assert_eq!(sealed(&self.before, suffix), sealed(&self.after, suffix), "{}", self.topic);
        }
    }
}

fn files(directory: &Path, suffix: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let named = entries.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path));
    let wanted = named.filter(|(name, _)| name.ends_with(suffix));
    wanted.map(|(name, path)| (name, std::fs::read(path).unwrap())).collect()
}

fn horizons(segment: &[u8]) -> impl Iterator<Item = Timestamp> {
    scan(segment).filter_map(|(_, batch)| batch.header()?.delete_horizon())
}

fn cleaned_to(side: &Path, topic: &str) -> Option<Offset> {
    let text = std::fs::read_to_string(side.join("cleaner-offset-checkpoint")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{topic} 0 ")))?;
    Some(Offset::new(line.parse().unwrap()))
}

/// Batch by batch and record by record; the bytes too, but for what a codec made.
fn compare_segments(ours: &[u8], kafkas: &[u8], name: &str) {
    let (ours, kafkas): (Vec<_>, Vec<_>) = (scan(ours).collect(), scan(kafkas).collect());
    let headers = |batches: &[(usize, StoredBatch<'_>)]| {
        batches.iter().map(|(_, batch)| comparable(batch)).collect::<Vec<_>>()
    };
    assert_eq!(headers(&ours), headers(&kafkas), "{name}: batches");
    for ((_, ours), (_, kafkas)) in ours.iter().zip(&kafkas) {
        let at = format!("{name}: batch at {}", kafkas.header().unwrap().base_offset);
        ours.verify().unwrap_or_else(|damage| panic!("{at}: {damage}"));
        assert_eq!(records(ours), records(kafkas), "{at}");
        if kafkas.header().unwrap().codec().unwrap() == Codec::None {
            assert_eq!(ours.bytes(), kafkas.bytes(), "{at}: bytes");
        }
    }
}

/// The header without length and checksum of the records, which depend on how well a codec does.
fn comparable(batch: &StoredBatch<'_>) -> BatchHeader {
    BatchHeader { batch_length: 0, crc: 0, ..batch.header().expect("magic 2") }
}

fn records(batch: &StoredBatch<'_>) -> Vec<String> {
    let header = batch.header().unwrap();
    let mut reader = RecordReader::new(&header, &batch.bytes()[HEADER_LEN..], 1 << 20).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.next() {
        let record = record.unwrap();
        records.push(format!(
            "{} {} {:?} {:?} {:?}",
            record.offset(&header),
            record.timestamp(&header),
            record.key,
            record.value,
            record.headers.iter().collect::<Vec<_>>()
        ));
    }
    records
}

fn compare(before: &str, after: &str) {
    let root = golden::unpack("compaction", "data.tar.gz");
    for topic in TOPICS {
        let [before, after] = [before, after].map(|side| root.path().join(side));
        Cleaning { before, after, topic }.compare();
    }
}

#[test]
fn a_first_cleaning_leaves_what_kafka_leaves() {
    compare("in", "once");
}

/// Tombstones and markers that the first one gave a horizon go now.
#[test]
fn a_second_cleaning_behind_the_delete_horizon_leaves_what_kafka_leaves() {
    compare("in2", "twice");
}
