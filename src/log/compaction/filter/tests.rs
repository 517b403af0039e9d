use super::*;
use crate::config::{Codec, TimestampType};
use crate::env::ByteBudget;
use crate::log::batch::{compute_crc, set_crc};
use crate::log::builder::{BatchBuilder, BatchTemplate};
use crate::log::compaction::key_map::KeyMapLimits;
use crate::log::compaction::last_records::LastRecord;
use crate::log::compress::Compression;
use crate::log::reader::RecordReader;
use crate::log::scan::scan;
use crate::log::test_bytes::{COMMIT_MARKER, from_hex};
use crate::types::{LeaderEpoch, ProducerEpoch, ProducerId};

const NOW: Timestamp = Timestamp::new(2_000);
const RETENTION_MS: i64 = 500;

type KeyValue<'k> = (Option<&'k str>, Option<&'k str>);

/// A batch at `base`; record `n` has the timestamp 1000 + 10 n.
fn batch(base: i64, records: &[KeyValue<'_>], template: BatchTemplate) -> Vec<u8> {
    let base_offset = Offset::new(base);
    let mut builder = BatchBuilder::new(BatchTemplate {
        base_offset,
        partition_leader_epoch: LeaderEpoch::new(3),
        ..template
    });
    for (n, (key, value)) in (0..).zip(records) {
        let timestamp = Timestamp::new(1_000 + 10 * n);
        builder.append(timestamp, key.map(str::as_bytes), value.map(str::as_bytes));
    }
    builder.build().expect("uncompressed or small")
}

fn plain(base: i64, records: &[KeyValue<'_>]) -> Vec<u8> {
    batch(base, records, BatchTemplate::default())
}

fn of_producer(id: i64) -> BatchTemplate {
    BatchTemplate {
        producer_id: ProducerId::new(id),
        producer_epoch: ProducerEpoch::new(1),
        base_sequence: 7,
        ..BatchTemplate::default()
    }
}

fn in_transaction(id: i64) -> BatchTemplate {
    BatchTemplate { transactional: true, ..of_producer(id) }
}

/// A COMMIT marker of producer 4000, epoch 5, at `base`.
fn commit(base: i64) -> Vec<u8> {
    let mut marker = from_hex(COMMIT_MARKER);
    marker[..8].copy_from_slice(&base.to_be_bytes());
    marker
}

/// Bits for offsets from here on; none is marked.
fn bits_from(from: i64) -> Superseded {
    Superseded::new(Offset::new(from), 1 << 10, ByteBudget::new(1 << 20))
}

/// What a round knows.
struct World {
    keys: KeyMap,
    superseded: Superseded,
    producers: LastRecords,
    transactions: Transactions,
    now: Timestamp,
    clean_end: i64,
    round_end: i64,
    keep_legacy_tombstones: bool,
    tally: Tally,
}

impl World {
    /// Everything below offset 1000 is mapped; these keys have newer records there.
    fn new(newest: &[(&str, i64)]) -> Self {
        let limits = KeyMapLimits { bytes_max: 1 << 20, load_factor: 0.9 };
        let mut keys = KeyMap::new(limits, ByteBudget::new(1 << 20), 1);
        for (key, offset) in newest {
            keys.put(keys.hash(key.as_bytes()), Offset::new(*offset)).expect("there is room");
        }
        Self {
            keys,
            superseded: bits_from(i64::MAX),
            producers: LastRecords::default(),
            transactions: Transactions::default(),
            now: NOW,
            clean_end: 1_000,
            round_end: 1_000,
            keep_legacy_tombstones: true,
            tally: Tally::default(),
        }
    }

    fn filter(&mut self) -> Filter<'_> {
        let rules = Rules {
            now: self.now,
            delete_retention_ms: RETENTION_MS,
            keep_legacy_tombstones: self.keep_legacy_tombstones,
            clean_end: Offset::new(self.clean_end),
            round_end: Offset::new(self.round_end),
            keys: &self.keys,
            superseded: &self.superseded,
            producers: &self.producers,
        };
        Filter::new(rules, &mut self.transactions, &mut self.tally)
    }

    fn pass_all(&mut self, batches: &[u8]) -> (Vec<u8>, Vec<AbortedEntry>) {
        let mut filter = self.filter();
        let (mut out, mut aborted) = (Vec::new(), Vec::new());
        for (_, batch) in scan(batches) {
            aborted.extend(filter.pass(&batch, &mut out).expect("it can be read"));
        }
        (out, aborted)
    }

    fn pass(&mut self, batches: &[u8]) -> Vec<u8> {
        self.pass_all(batches).0
    }
}

/// Offset, timestamp, key and value of each record.
fn records(bytes: &[u8]) -> Vec<(i64, i64, String, Option<String>)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let mut records = Vec::new();
    for (_, batch) in scan(bytes) {
        batch.verify().expect("a right checksum");
        let header = batch.header().expect("magic 2");
        let mut reader =
            RecordReader::new(&header, &batch.bytes()[HEADER_LEN..], 1 << 20).expect("readable");
        while let Some(record) = reader.next() {
            let record = record.expect("a record");
            records.push((
                record.offset(&header).get(),
                record.timestamp(&header).get(),
                record.key.map_or_else(String::new, text),
                record.value.map(text),
            ));
        }
    }
    records
}

fn header(bytes: &[u8]) -> BatchHeader {
    assert_eq!(scan(bytes).count(), 1, "one batch");
    BatchHeader::parse(bytes).expect("a header")
}

fn kv<'k>(key: &'k str, value: &'k str) -> KeyValue<'k> {
    (Some(key), Some(value))
}

#[test]
fn a_batch_that_keeps_everything_is_copied_byte_for_byte() {
    let bytes = plain(10, &[kv("a", "1"), kv("b", "2")]);
    let mut world = World::new(&[("a", 10), ("b", 11), ("c", 20)]);
    assert_eq!(world.pass(&bytes), bytes);
    let tally = world.tally;
    assert_eq!((tally.records_read, tally.records_kept), (2, 2));
    assert_eq!((tally.bytes_read, tally.bytes_kept), (bytes.len() as u64, bytes.len() as u64));
}

#[test]
fn older_records_of_a_key_go_and_offsets_keep_their_gaps() {
    let records_before = [kv("a", "1"), kv("b", "2"), kv("a", "3"), kv("c", "4")];
    let template = of_producer(9);
    let bytes = batch(10, &records_before, template);
    let mut world = World::new(&[("a", 12), ("b", 50)]);
    let out = world.pass(&bytes);
    let kept = [
        (12, 1_020, "a".to_owned(), Some("3".to_owned())),
        (13, 1_030, "c".to_owned(), Some("4".to_owned())),
    ];
    assert_eq!(records(&out), kept);
    let (before, after) = (header(&bytes), header(&out));
    let expected = BatchHeader {
        batch_length: after.batch_length,
        crc: after.crc,
        base_timestamp: Timestamp::new(1_020),
        records_count: 2,
        ..before
    };
    assert_eq!(after, expected, "base offset, last offset, producer and sequence stay");
    assert_eq!(world.tally.records_kept, 2);
}

#[test]
fn the_largest_timestamp_is_that_of_what_stays() {
    let out = World::new(&[("b", 50)]).pass(&plain(10, &[kv("a", "1"), kv("b", "2")]));
    assert_eq!(header(&out).max_timestamp, Timestamp::new(1_000));
    let template =
        BatchTemplate { timestamp_type: TimestampType::LogAppendTime, ..BatchTemplate::default() };
    let bytes = batch(10, &[kv("a", "1"), kv("b", "2")], template);
    let out = World::new(&[("b", 50)]).pass(&bytes);
    assert_eq!(header(&out).max_timestamp, Timestamp::new(1_010), "the broker's time of the batch");
    assert_eq!(records(&out)[0].1, 1_010);
}

#[test]
fn a_batch_without_anything_left_goes() {
    let bytes = plain(10, &[kv("a", "1"), kv("a", "2")]);
    assert!(World::new(&[("a", 50)]).pass(&bytes).is_empty());
}

#[test]
fn records_without_a_key_go() {
    let out = World::new(&[]).pass(&plain(10, &[(None, Some("1")), kv("a", "2")]));
    assert_eq!(records(&out).len(), 1);
}

#[test]
fn every_codec_stays_what_it_is() {
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let template = BatchTemplate {
            compression: Compression::default_of(codec),
            ..BatchTemplate::default()
        };
        let bytes = batch(10, &[kv("a", "1"), kv("b", "2"), kv("c", "3")], template);
        let mut world = World::new(&[("b", 50)]);
        let out = world.pass(&bytes);
        assert_eq!(header(&out).codec(), Ok(codec));
        let offsets: Vec<i64> = records(&out).iter().map(|record| record.0).collect();
        assert_eq!(offsets, [10, 12], "{codec:?}");
        let untouched = world.pass(&batch(60, &[kv("x", "1")], template));
        assert_eq!(untouched, batch(60, &[kv("x", "1")], template), "{codec:?}");
    }
}

#[test]
fn headers_of_records_stay() {
    let mut builder = BatchBuilder::new(BatchTemplate::default());
    builder.append(Timestamp::new(1), Some(b"a"), Some(b"1"));
    let headers: [(&[u8], Option<&[u8]>); 2] = [(b"h", Some(b"x")), (b"h", None)];
    builder.append_with_headers(Timestamp::new(2), Some(b"b"), Some(b"2"), headers);
    let out = World::new(&[("a", 50)]).pass(&builder.build().expect("uncompressed"));
    let header = header(&out);
    let mut reader = RecordReader::new(&header, &out[HEADER_LEN..], 1 << 20).expect("readable");
    let record = reader.next().expect("one").expect("readable");
    assert!(record.headers.iter().eq(headers));
}

#[test]
fn the_first_cleaning_gives_a_tombstone_its_horizon_and_one_after_it_takes_it_away() {
    let bytes = plain(10, &[kv("a", "1"), (Some("b"), None)]);
    let mut world = World::new(&[("b", 11)]);
    let stamped = world.pass(&bytes);
    let horizon = Timestamp::new(NOW.get() + RETENTION_MS);
    assert_eq!(header(&stamped).delete_horizon(), Some(horizon));
    assert_eq!(records(&stamped), records(&bytes), "records and their timestamps are the same");

    world.now = Timestamp::new(horizon.get() - 1);
    assert_eq!(world.pass(&stamped), stamped, "not yet");
    world.now = horizon;
    let out = world.pass(&stamped);
    assert_eq!(records(&out), [(10, 1_000, "a".to_owned(), Some("1".to_owned()))]);
    assert_eq!(header(&out).delete_horizon(), Some(horizon), "as in Kafka, the mark stays");
}

#[test]
fn a_tombstone_that_is_not_the_newest_goes_at_once() {
    let out = World::new(&[("b", 50)]).pass(&plain(10, &[(Some("b"), None), kv("c", "1")]));
    assert_eq!(records(&out).len(), 1);
    assert_eq!(header(&out).delete_horizon(), None);
}

#[test]
fn a_horizon_beyond_all_time_never_comes() {
    let mut world = World::new(&[]);
    world.now = Timestamp::new(i64::MAX - 1);
    let bytes = plain(10, &[(Some("b"), None)]);
    let stamped = world.pass(&bytes);
    assert_eq!(header(&stamped).delete_horizon(), Some(Timestamp::new(i64::MAX)));
    assert_eq!(records(&stamped), records(&bytes));
}

#[test]
fn what_lies_behind_the_clean_end_stays_as_it_is() {
    let mut world = World::new(&[("a", 50), ("t", 60)]);
    world.clean_end = 60;
    let behind = plain(60, &[(Some("t"), None), kv("a", "1")]);
    assert_eq!(world.pass(&behind), behind, "without a horizon, too");
}

#[test]
fn the_last_batch_of_a_producer_stays_without_its_records() {
    let bytes = batch(10, &[kv("a", "1"), kv("b", "2")], of_producer(9));
    let mut world = World::new(&[("a", 50), ("b", 51)]);
    assert!(world.pass(&bytes).is_empty(), "nobody needs it");
    let last = |record| LastRecords::from_iter([(ProducerId::new(9), record)]);
    world.producers = last(LastRecord::Data(Offset::new(12)));
    assert!(world.pass(&bytes).is_empty(), "there is a newer one");
    world.producers = last(LastRecord::Data(Offset::new(11)));
    let out = world.pass(&bytes);
    let (before, after) = (header(&bytes), header(&out));
    let expected = BatchHeader {
        batch_length: 49,
        crc: after.crc,
        base_timestamp: Timestamp::NONE,
        records_count: 0,
        ..before
    };
    assert_eq!(after, expected);
    assert_eq!(world.pass(&out), out, "and again");
    world.producers = LastRecords::default();
    assert!(world.pass(&out).is_empty(), "until its producer is forgotten");
}

#[test]
fn an_emptied_batch_is_not_compressed_any_more() {
    let template =
        BatchTemplate { compression: Compression::default_of(Codec::Lz4), ..of_producer(9) };
    let mut world = World::new(&[("a", 50)]);
    let last = LastRecord::Data(Offset::new(10));
    world.producers = LastRecords::from_iter([(ProducerId::new(9), last)]);
    let out = world.pass(&batch(10, &[kv("a", "1")], template));
    assert_eq!((out.len(), header(&out).codec()), (HEADER_LEN, Ok(Codec::None)));
}

#[test]
fn the_batch_that_ends_the_round_stays_for_its_offset() {
    let mut world = World::new(&[("a", 50)]);
    world.round_end = 12;
    let out = world.pass(&plain(10, &[kv("a", "1"), kv("a", "2")]));
    assert_eq!((header(&out).records_count, header(&out).last_offset()), (0, Offset::new(11)));
}

fn aborted(first: i64, last: i64) -> AbortedEntry {
    AbortedEntry {
        producer_id: ProducerId::new(4_000),
        first_offset: Offset::new(first),
        last_offset: Offset::new(last),
        last_stable_offset: Offset::new(last + 1),
    }
}

/// An ABORT marker of producer 4000 at `base`.
fn abort(base: i64) -> Vec<u8> {
    let mut marker = commit(base);
    // The type in the key of the control record.
    marker[HEADER_LEN + 8] = 0;
    let crc = crate::log::batch::compute_crc(&marker);
    crate::log::batch::set_crc(&mut marker, crc);
    marker
}

#[test]
fn aborted_data_goes_and_its_marker_stays_until_the_horizon() {
    let log = [batch(10, &[kv("new", "1")], in_transaction(4_000)), abort(11)].concat();
    let mut world = World::new(&[]);
    world.transactions.announce([aborted(10, 11)]);
    let (first, indexed) = world.pass_all(&log);
    assert_eq!(first, abort(11), "the marker, as it was");
    assert_eq!(indexed, [aborted(10, 11)]);

    world.transactions = Transactions::default();
    world.transactions.announce([aborted(10, 11)]);
    let (second, indexed) = world.pass_all(&first);
    let horizon = Timestamp::new(NOW.get() + RETENTION_MS);
    assert_eq!(header(&second).delete_horizon(), Some(horizon), "nothing is left in front of it");
    assert!(indexed.is_empty(), "nor has a reader anything to skip");

    world.now = horizon;
    assert!(world.pass(&second).is_empty());
}

#[test]
fn a_commit_marker_stays_while_its_data_does() {
    let log = [batch(10, &[kv("a", "1")], in_transaction(4_000)), commit(11)].concat();
    let mut world = World::new(&[]);
    assert_eq!(world.pass(&log), log);
    assert_eq!(world.pass(&log), log, "however often");
    let key = world.keys.hash(b"a");
    world.keys.put(key, Offset::new(50)).expect("there is room");
    let without_data = world.pass(&log);
    assert_eq!(without_data, commit(11));
    let stamped = world.pass(&without_data);
    assert!(header(&stamped).delete_horizon().is_some());
    world.now = Timestamp::new(NOW.get() + RETENTION_MS);
    let last = LastRecord::Marker(ProducerEpoch::new(5));
    world.producers = LastRecords::from_iter([(ProducerId::new(4_000), last)]);
    let emptied = world.pass(&stamped);
    assert_eq!(header(&emptied).records_count, 0, "it alone tells the producer's epoch");
    assert!(header(&emptied).is_control());
    world.producers = LastRecords::default();
    assert!(world.pass(&emptied).is_empty());
}

#[test]
fn a_batch_that_cannot_be_read_is_named_as_such() {
    let mut bytes = plain(10, &[kv("a", "1")]);
    bytes[57..61].copy_from_slice(&2_i32.to_be_bytes());
    let crc = compute_crc(&bytes);
    set_crc(&mut bytes, crc);
    let mut world = World::new(&[]);
    let mut filter = world.filter();
    let stored = StoredBatch::first(&bytes).expect("framed");
    let problem = filter.pass(&stored, &mut Vec::new()).expect_err("a record is missing");
    assert!(matches!(problem, BatchProblem::Records(_)), "{problem}");
}

/// An uncompressed message of magic 1.
fn message(offset: i64, key: &str, value: Option<&str>) -> Vec<u8> {
    let mut body = vec![1, 0];
    body.extend_from_slice(&777_i64.to_be_bytes());
    body.extend_from_slice(&(key.len() as i32).to_be_bytes());
    body.extend_from_slice(key.as_bytes());
    body.extend_from_slice(&value.map_or(-1, |value| value.len() as i32).to_be_bytes());
    body.extend_from_slice(value.unwrap_or_default().as_bytes());
    let mut message = offset.to_be_bytes().to_vec();
    message.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
    message.extend_from_slice(&crc32fast::hash(&body).to_be_bytes());
    message.extend_from_slice(&body);
    message
}

#[test]
fn old_messages_that_stay_become_batches() {
    let log = [message(10, "a", Some("1")), message(11, "b", Some("2"))].concat();
    let out = World::new(&[("a", 50)]).pass(&log);
    assert_eq!(records(&out), [(11, 777, "b".to_owned(), Some("2".to_owned()))]);
    let header = header(&out);
    assert_eq!((header.base_offset, header.last_offset_delta), (Offset::new(11), 0));
    assert_eq!((header.producer_id, header.base_sequence), (ProducerId::NONE, -1));
    assert_eq!(header.partition_leader_epoch, LeaderEpoch::NONE);
    assert_eq!(header.max_timestamp, Timestamp::new(777));
}

#[test]
fn old_tombstones_go_by_the_age_of_their_segment() {
    let log = message(10, "a", None);
    let mut world = World::new(&[]);
    let kept = world.pass(&log);
    assert_eq!(records(&kept), [(10, 777, "a".to_owned(), None)]);
    let horizon = Timestamp::new(NOW.get() + RETENTION_MS);
    assert_eq!(header(&kept).delete_horizon(), Some(horizon), "from now on it has a horizon");
    world.keep_legacy_tombstones = false;
    assert!(world.pass(&log).is_empty());
}

/// As a mapping leaves it: every record below the newest of its key is marked.
fn knowing_offsets(newest: &[(&str, i64)], superseded: &[i64]) -> World {
    let mut world = World::new(newest);
    world.superseded = bits_from(0);
    superseded.iter().for_each(|offset| world.superseded.mark(Offset::new(*offset)));
    world
}

#[test]
fn where_offsets_tell_what_is_superseded_the_same_stays() {
    let newest = [("a", 7), ("b", 5), ("c", 6)];
    let tombstone = (Some("c"), None);
    let batches = [
        plain(0, &[kv("a", "1"), kv("b", "1")]),
        plain(2, &[kv("a", "2"), (None, Some("no key")), kv("a", "3")]),
        batch(5, &[kv("b", "2"), tombstone, kv("a", "4")], of_producer(3)),
    ];
    for codec in [Codec::None, Codec::Zstd] {
        let packed = batch(
            8,
            &[kv("x", "1"), (None, Some("no key")), kv("y", "1")],
            BatchTemplate { compression: Compression::default_of(codec), ..of_producer(4) },
        );
        let all = [batches.concat(), packed].concat();
        let looked_up = World::new(&newest).pass(&all);
        let mut world = knowing_offsets(&newest, &[0, 1, 2, 4]);
        assert_eq!(world.pass(&all), looked_up, "{codec:?}");
        assert_eq!(world.tally.records_kept, 5);
        assert_eq!(world.tally.records_read, 11);
    }
}

#[test]
fn a_batch_that_stays_in_part_is_verified_where_offsets_tell_what_goes() {
    let mut damaged = plain(0, &[kv("a", "1"), kv("b", "1")]);
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let mut world = knowing_offsets(&[("a", 9)], &[0]);
    let (stored, mut out) = (StoredBatch::first(&damaged).expect("framed"), Vec::new());
    let mut filter = world.filter();
    let problem = filter.pass(&stored, &mut out).expect_err("its checksum is wrong");
    assert!(matches!(problem, BatchProblem::Damage(_)), "{problem}");
    assert!(out.is_empty());
}
