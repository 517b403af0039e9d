//! What a batch costs on its way in: parse, checksum, walk, check, copy.
//!
//! `cargo bench --bench batches`. Throughput is of the batch's bytes as stored, so divide by the records for the time of one.
#![allow(missing_docs, reason = "a benchmark")]

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use highwater::config::{Codec, TopicSettings, Validation};
use highwater::log::batch::{BatchHeader, HEADER_LEN, crc32c};
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::log::compress::Compression;
use highwater::log::format::offset_index::{OffsetEntry, OffsetIndex};
use highwater::log::reader::RecordReader;
use highwater::log::record::Records;
use highwater::log::scan::scan;
use highwater::log::{BatchRules, check_batch};
use highwater::types::{LeaderEpoch, Offset, Timestamp};

const NOW: Timestamp = Timestamp::new(1_700_000_000_000);
const DECOMPRESSED_MAX: usize = 16 << 20;

/// As load generators send: `records` values of 100 bytes, half of which compress well.
fn batch(codec: Codec, records: usize) -> Vec<u8> {
    let compression = Compression::default_of(codec);
    let mut builder = BatchBuilder::new(BatchTemplate { compression, ..BatchTemplate::default() });
    let mut noise = 1u32;
    for _ in 0..records {
        let mut value = [b'x'; 100];
        for byte in &mut value[..50] {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (noise >> 24) as u8;
        }
        builder.append(NOW, None, Some(&value));
    }
    builder.build().expect("memory")
}

fn group<'c>(
    criterion: &'c mut Criterion,
    name: &str,
    bytes: usize,
) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    group.throughput(Throughput::Bytes(bytes as u64));
    group
}

/// Uncompressed: 600 records of 100 bytes, and one.
fn plain(criterion: &mut Criterion) {
    for records in [1, 600] {
        let bytes = batch(Codec::None, records);
        let rules = BatchRules::of(&TopicSettings::default());
        let mut group = group(criterion, &format!("plain-{records}"), bytes.len());
        group.bench_function("parse", |b| b.iter(|| BatchHeader::parse(black_box(&bytes))));
        group.bench_function("crc", |b| b.iter(|| crc32c(black_box(&bytes[21..]))));
        group.bench_function("walk", |b| {
            b.iter(|| Records::new(black_box(&bytes[HEADER_LEN..]), records as i32).count());
        });
        group.bench_function("check", |b| {
            b.iter(|| check_batch(black_box(&bytes), &rules, NOW).is_ok())
        });
        let trusting = BatchRules { validation: Validation::Fast, ..rules.clone() };
        group.bench_function("check-fast", |b| {
            b.iter(|| check_batch(black_box(&bytes), &trusting, NOW).is_ok())
        });
        let checked = check_batch(&bytes, &rules, NOW).expect("a good batch");
        let mut room = vec![0; bytes.len()];
        group.bench_function("write", |b| {
            b.iter(|| checked.write_to(black_box(&mut room), Offset::new(7), LeaderEpoch::new(1)));
        });
        group.finish();
    }
}

/// 600 records in each codec: checked, and read.
fn packed(criterion: &mut Criterion) {
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let bytes = batch(codec, 600);
        let header = BatchHeader::parse(&bytes).expect("a header");
        let rules = BatchRules::of(&TopicSettings::default());
        let name = format!("{codec:?}-600").to_lowercase();
        let mut group = group(criterion, &name, bytes.len());
        group.bench_function("check", |b| {
            b.iter(|| check_batch(black_box(&bytes), &rules, NOW).is_ok())
        });
        let trusting = BatchRules { validation: Validation::Fast, ..rules };
        group.bench_function("check-fast", |b| {
            b.iter(|| check_batch(black_box(&bytes), &trusting, NOW).is_ok())
        });
        group.bench_function("read", |b| {
            b.iter(|| {
                let records = black_box(&bytes[HEADER_LEN..]);
                let mut reader =
                    RecordReader::new(&header, records, DECOMPRESSED_MAX).expect("a codec");
                let mut count = 0;
                while let Some(Ok(_)) = reader.next() {
                    count += 1;
                }
                count
            });
        });
        group.finish();
    }
}

/// 1 MiB of batches of 16 KiB, and an index of 10,000 entries.
fn search(criterion: &mut Criterion) {
    let one = batch(Codec::None, 150);
    let segment = one.repeat((1 << 20) / one.len());
    let mut group = group(criterion, "search", segment.len());
    group.bench_function("scan", |b| b.iter(|| scan(black_box(&segment)).count()));
    let entry = |i: u32| OffsetEntry { offset: Offset::new(i64::from(i) * 40), position: i * 4096 };
    let index: Vec<u8> = (1..=10_000).flat_map(|i| entry(i).encode(Offset::ZERO)).collect();
    let mut target = 0;
    group.bench_function("index", |b| {
        b.iter(|| {
            target = (target + 7919) % 400_000;
            OffsetIndex::new(black_box(&index), Offset::ZERO).lookup(Offset::new(target))
        });
    });
    group.finish();
}

criterion_group!(benches, plain, packed, search);
criterion_main!(benches);
