//! What a cleaning costs beside a copy of the same bytes: a log of 100-byte records, a tenth of them with a key of their own.
//!
//! ```text
//! cargo bench --bench cleaning -- --mib 1024
//! ```
//!
//! Not a criterion bench: one round moves more than a cache holds, and the copy beside it takes the drift of the machine out.
//! Both figures are bytes read and written for each second; both end with a sync.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program of its own, with clocks, files and standard output"
)]

use std::borrow::Cow;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use highwater::config::{CleanupPolicy, Codec, TopicSettings};
use highwater::env::{ByteBudget, Env, Random, SeededRandom};
use highwater::log::batch::BatchHeader;
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::log::compaction::{
    CleaningLimits, KeyMapLimits, Pace, Round, Standing, Stop, Tally, assess,
};
use highwater::log::compress::Compression;
use highwater::log::{
    Admission, CheckedBatch, Log, LogStartCheckpoint, OpenLog, Origin, StartMode, TailPool,
};
use highwater::types::{LeaderEpoch, Offset, Timestamp, Uuid};

const RECORD_BYTES: usize = 100;
const KEY_BYTES: usize = 16;
/// As a producer with the default `batch.size` sends them.
const BATCH_RECORDS: usize = 140;
/// One key for so many records.
const RECORDS_PER_KEY: u64 = 10;
const SEGMENT_BYTES: i32 = 128 << 20;
/// The defaults of `log.cleaner.dedupe.buffer.size` and of a thread's half of `log.cleaner.io.buffer.size`.
const MAP_BYTES: usize = 128 << 20;
const BUFFER_BYTES: usize = 256 << 10;
const NOW: Timestamp = Timestamp::new(1_700_000_000_000);

#[derive(Debug)]
struct NoPace;

impl Pace for NoPace {
    fn go_on(&self, _bytes: u64) -> Result<(), Stop> {
        Ok(())
    }
}

fn main() {
    let mib = option("--mib").unwrap_or(256);
    let codec = if option("--lz4").is_some() { Codec::Lz4 } else { Codec::None };
    for round in 0..option("--rounds").unwrap_or(3) {
        let directory = tempfile::tempdir_in(".").expect("a directory for the data");
        let path = directory.path().join("t-0");
        let mut log = open(&path);
        fill(&mut log, mib << 20, codec);
        sync(&mut log);
        let (copied, copy) = cost(|| copy(&path, &directory.path().join("copy")));
        let copied = copied.expect("the disk works");
        let (tally, cleaning) = cost(|| clean(&mut log));
        let moved = 2 * tally.bytes_read + tally.bytes_kept;
        println!(
            "round {round}: {} MB cleaned in {cleaning}, copied in {copy}; {} of {} records stay; \
             bytes moved each second, as a share of the copy's: {:.2}, of CPU time: {:.2}",
            copied / 1_000_000,
            tally.records_kept,
            tally.records_read,
            rate(moved, cleaning.wall) / rate(2 * copied, copy.wall),
            rate(moved, cleaning.cpu) / rate(2 * copied, copy.cpu),
        );
    }
}

/// CPU time of the process so far.
fn cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to the variable passed and nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// How long something took, and the CPU time of it.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    cpu: Duration,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} s ({:.2} s of CPU)", self.wall.as_secs_f64(), self.cpu.as_secs_f64())
    }
}

fn rate(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64()
}

fn cost<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (began, before) = (Instant::now(), cpu());
    let done = work();
    (done, Cost { wall: began.elapsed(), cpu: cpu() - before })
}

fn option(name: &str) -> Option<u64> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.next()?;
    arguments.next()?.parse().ok()
}

fn settings() -> TopicSettings {
    TopicSettings {
        cleanup_policy: CleanupPolicy { compact: true, delete: false },
        segment_bytes: SEGMENT_BYTES,
        min_cleanable_dirty_ratio: 0.0,
        ..TopicSettings::default()
    }
}

fn open(directory: &Path) -> Log {
    Log::open(OpenLog {
        env: Env::system(),
        directory: directory.to_owned(),
        topic_id: Uuid::from_bytes([1; 16]),
        leader_epoch: None,
        settings: Arc::new(settings()),
        tail_pool: TailPool::new(ByteBudget::new(64 << 20)),
        producer_id_expiration_ms: 86_400_000,
        start: StartMode::Clean,
        log_start: Offset::ZERO,
        log_start_checkpoint: LogStartCheckpoint::Read,
        cleaned_to: Offset::ZERO,
    })
    .expect("the log opens")
}

fn fill(log: &mut Log, bytes: u64, codec: Codec) {
    let random = SeededRandom::new(1);
    let keys = bytes / RECORD_BYTES as u64 / RECORDS_PER_KEY;
    let template =
        BatchTemplate { compression: Compression::default_of(codec), ..BatchTemplate::default() };
    let mut written = 0;
    while written < bytes {
        let mut builder = BatchBuilder::new(template);
        for _ in 0..BATCH_RECORDS {
            let key = format!("{:0KEY_BYTES$}", random.next_u64() % keys);
            let mut value = [0; RECORD_BYTES - KEY_BYTES];
            value.chunks_mut(8).for_each(|word| {
                word.copy_from_slice(&random.next_u64().to_le_bytes()[..word.len()]);
            });
            builder.append(NOW, Some(key.as_bytes()), Some(&value));
            written += RECORD_BYTES as u64;
        }
        append(log, &builder.build().expect("a small batch"));
    }
    // Sealed by the first batch that does not fit.
    append(log, &builder_of_one().build().expect("a small batch"));
}

fn builder_of_one() -> BatchBuilder {
    let mut builder = BatchBuilder::new(BatchTemplate::default());
    builder.append(NOW, Some(b"last"), Some(&[]));
    builder
}

fn append(log: &mut Log, bytes: &[u8]) {
    let batch = CheckedBatch {
        header: BatchHeader::parse(bytes).expect("a header"),
        bytes: Cow::Borrowed(bytes),
        log_append_time: None,
        origin: Origin::Client(Admission::Unverified),
    };
    log.append(&batch, LeaderEpoch::new(0), NOW).expect("the disk works");
}

fn sync(log: &mut Log) {
    let Some(work) = log.take_sync_work() else { return };
    work.files.iter().for_each(|file| file.sync().expect("the disk works"));
    log.synced(&work);
}

fn clean(log: &mut Log) -> Tally {
    let standing = Standing { checkpoint: None, settled: log.view().log_end, now: NOW };
    let assessment = assess(log.view(), &settings(), &standing).expect("readable");
    let keys = KeyMapLimits { bytes_max: MAP_BYTES, load_factor: 0.9 };
    let limits = CleaningLimits { keys, buffer_bytes: BUFFER_BYTES };
    let budget = ByteBudget::new(1 << 30);
    let source = log.cleaning_source();
    let mut round =
        Round::begin(source, assessment.range, limits, &budget, &NoPace).expect("the disk works");
    while let Some(replacement) = round.next(&NoPace).expect("the disk works") {
        log.replace(&replacement, NOW).expect("nothing was deleted");
    }
    round.tally()
}

/// Copies the sealed segments, as `cp` does, and syncs the copies; how many bytes.
fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    fs::create_dir(to)?;
    let mut names: Vec<_> = fs::read_dir(from)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    names.sort();
    names.pop();
    let mut copied = 0;
    let mut buffer = vec![0; BUFFER_BYTES];
    for from in names {
        let (mut source, mut copy) = (
            fs::File::open(&from)?,
            fs::File::create(to.join(from.file_name().unwrap_or_default()))?,
        );
        loop {
            let read = io::Read::read(&mut source, &mut buffer)?;
            if read == 0 {
                break;
            }
            io::Write::write_all(&mut copy, &buffer[..read])?;
            copied += read as u64;
        }
        copy.sync_data()?;
    }
    fs::remove_dir_all(to)?;
    Ok(copied)
}
