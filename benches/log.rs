//! The engine alone: appends to the page cache, reads from the tail and from files, opening.
#![allow(missing_docs, reason = "criterion's macros")]

use std::borrow::Cow;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use highwater::config::TopicSettings;
use highwater::env::{ByteBudget, Env};
use highwater::log::batch::{BatchHeader, compute_crc};
use highwater::log::{
    Admission, CheckedBatch, Log, LogStartCheckpoint, LogView, OpenLog, Origin, ReadLimit,
    StartMode, TailPool,
};
use highwater::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp, Uuid};
use tempfile::TempDir;

const EPOCH: LeaderEpoch = LeaderEpoch::new(0);
/// Where data goes; the page cache, so that the disk under it does not matter until writeback.
const SEGMENT_BYTES: i32 = 512 << 20;

/// Kept below what makes the system throttle writers.
const TRIM_BYTES: u64 = 128 << 20;

fn open(directory: &Path) -> Log {
    let settings = TopicSettings {
        segment_bytes: SEGMENT_BYTES,
        retention_bytes: 0,
        ..TopicSettings::default()
    };
    Log::open(OpenLog {
        env: Env::system(),
        directory: directory.to_owned(),
        topic_id: Uuid::from_bytes([1; 16]),
        leader_epoch: None,
        settings: Arc::new(settings),
        tail_pool: TailPool::new(ByteBudget::new(256 << 20)),
        producer_id_expiration_ms: 86_400_000,
        start: StartMode::Clean,
        log_start: Offset::ZERO,
        log_start_checkpoint: LogStartCheckpoint::Read,
        cleaned_to: Offset::ZERO,
    })
    .expect("the log opens")
}

/// One batch of `len` bytes that says it holds `count` records; the log does not look into it.
fn batch(len: usize, count: i32) -> Vec<u8> {
    let mut bytes = vec![b'x'; len];
    let header = BatchHeader {
        base_offset: Offset::ZERO,
        batch_length: (len - 12) as i32,
        partition_leader_epoch: LeaderEpoch::NONE,
        magic: 2,
        crc: 0,
        attributes: 0,
        last_offset_delta: count - 1,
        base_timestamp: Timestamp::new(1_700_000_000_000),
        max_timestamp: Timestamp::new(1_700_000_000_000),
        producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch::NONE,
        base_sequence: -1,
        records_count: count,
    };
    header.write(bytes.first_chunk_mut().expect("long enough"));
    let crc = compute_crc(&bytes);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes
}

fn checked(bytes: &[u8]) -> CheckedBatch<'_> {
    CheckedBatch {
        header: BatchHeader::parse(bytes).expect("a header"),
        bytes: Cow::Borrowed(bytes),
        log_append_time: None,
        origin: Origin::Client(Admission::Unverified),
    }
}

fn append(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append");
    for (name, len) in [("512B", 512), ("4KiB", 4 << 10), ("64KiB", 64 << 10), ("1MiB", 1 << 20)] {
        let directory = TempDir::new().expect("a temporary directory");
        let mut log = open(&directory.path().join("t-0"));
        let bytes = batch(len, 10);
        let batch = checked(&bytes);
        let now = Timestamp::new(1_700_000_000_000);
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                log.append(black_box(&batch), EPOCH, now).expect("room");
                // As retention does, before the system begins to write it all to the disk.
                if log.view().size_bytes() > TRIM_BYTES {
                    trim(&mut log, now);
                }
            });
        });
    }
    group.finish();
}

fn trim(log: &mut Log, now: Timestamp) {
    log.apply_retention(now, log.view().log_end).expect("the disk works");
    log.remove_deleted(Timestamp::new(i64::MAX)).expect("the disk works");
    drop(log.take_sync_work());
}

/// The bare system call, to compare with.
fn pwrite(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pwrite");
    for (name, len) in [("4KiB", 4 << 10), ("64KiB", 64 << 10)] {
        let directory = TempDir::new().expect("a temporary directory");
        let files = Env::system().files;
        let path = directory.path().join("file");
        let file =
            files.open(&path, highwater::env::OpenMode::CreateNew).expect("a temporary file");
        let bytes = vec![7; len];
        let mut position = 0;
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                if position % (32 << 20) == 0 {
                    if position >= TRIM_BYTES {
                        position = 0;
                        file.set_len(0).expect("the disk works");
                    }
                    file.reserve(position, 32 << 20).expect("room");
                }
                file.write_all_at(&bytes, position).expect("room");
                position += len as u64;
            });
        });
    }
    group.finish();
}

fn filled(directory: &Path, len: usize, count: usize) -> Log {
    let mut log = open(directory);
    let bytes = batch(len, 10);
    for _ in 0..count {
        log.append(&checked(&bytes), EPOCH, Timestamp::new(1)).expect("room");
    }
    log
}

fn limit(view: &LogView) -> ReadLimit {
    ReadLimit { end: view.log_end, bytes_max: 1 << 20, first_batch_whole: true }
}

fn read(criterion: &mut Criterion) {
    let directory = TempDir::new().expect("a temporary directory");
    let log = filled(&directory.path().join("t-0"), 4 << 10, 20_000);
    let view = Arc::clone(log.view());
    let last = view.log_end.plus(-10);
    let mut group = criterion.benchmark_group("read");
    group.bench_function("tail, newest 4KiB batch", |bencher| {
        bencher.iter(|| view.read_tail(black_box(last), limit(&view)).expect("in range"));
    });
    let behind = view.log_end.plus(-2_000);
    group.bench_function("tail, 200 batches behind", |bencher| {
        bencher.iter(|| view.read_tail(black_box(behind), limit(&view)).expect("in range"));
    });
    group.bench_function("file, 1MiB resident", |bencher| {
        let mut from = 0;
        bencher.iter(|| {
            from = (from + 7_770) % 190_000;
            view.read_files(black_box(Offset::new(from)), limit(&view)).expect("in range")
        });
    });
    drop(log);
    let mut log = filled(&directory.path().join("sealed-0"), 4 << 10, 70_000);
    log.close().expect("the disk works");
    let view = Arc::clone(log.view());
    group.bench_function("file, sealed segment", |bencher| {
        let mut from = 0;
        bencher.iter(|| {
            from = (from + 7_770) % 600_000;
            view.read_files(black_box(Offset::new(from)), limit(&view)).expect("in range")
        });
    });
    group.finish();
}

fn reopen(criterion: &mut Criterion) {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("t-0");
    filled(&path, 4 << 10, 1_000).close().expect("the disk works");
    criterion.bench_function("open after a clean stop", |bencher| {
        bencher.iter_batched(|| (), |()| open(&path), BatchSize::PerIteration);
    });
}

criterion_group!(benches, append, pwrite, read, reopen);
criterion_main!(benches);
