mod fast;

use super::*;
use crate::config::CleanupPolicy;
use crate::log::builder::{BatchBuilder, BatchTemplate};
use crate::log::record::Records;
use crate::log::scan::StoredBatch;
use crate::log::test_bytes::from_hex;
use crate::types::{ProducerEpoch, ProducerId};

const NOW: Timestamp = Timestamp::new(1_700_000_000_000);
const CODECS: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

fn rules() -> BatchRules {
    BatchRules::of(&TopicSettings::default())
}

fn log_append_rules() -> BatchRules {
    BatchRules { timestamp_type: TimestampType::LogAppendTime, ..rules() }
}

fn template(codec: Codec) -> BatchTemplate {
    BatchTemplate { compression: Compression::default_of(codec), ..BatchTemplate::default() }
}

/// Records with these timestamps and keys k0, k1, ...; values are long enough to be worth compressing.
fn batch_of(template: BatchTemplate, timestamps: &[i64]) -> Vec<u8> {
    let mut builder = BatchBuilder::new(template);
    for (i, &timestamp) in timestamps.iter().enumerate() {
        let key = format!("k{i}");
        builder.append(Timestamp::new(timestamp), Some(key.as_bytes()), Some(&[b'v'; 200]));
    }
    builder.build().unwrap()
}

fn batch(codec: Codec) -> Vec<u8> {
    batch_of(template(codec), &[NOW.get(), NOW.get() + 5, NOW.get() + 3])
}

/// `batch` with bytes at `at` replaced and the checksum made right again.
fn patched(batch: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut batch = batch.to_vec();
    batch[at..at + bytes.len()].copy_from_slice(bytes);
    let crc = compute_crc(&batch);
    crate::log::batch::set_crc(&mut batch, crc);
    batch
}

fn check(batch: &[u8]) -> Result<CheckedBatch<'_>, BatchRejection> {
    check_batch(batch, &rules(), NOW)
}

fn reason(result: Result<CheckedBatch<'_>, BatchRejection>) -> String {
    let rejection = result.unwrap_err();
    let class = match &rejection {
        BatchRejection::Corrupt(_) => "CORRUPT_MESSAGE",
        BatchRejection::NotOneBatch(_) | BatchRejection::InvalidRecord { .. } => "INVALID_RECORD",
        BatchRejection::InvalidTimestamp { .. } => "INVALID_TIMESTAMP",
        BatchRejection::TooLarge(_) => "MESSAGE_TOO_LARGE",
        BatchRejection::LargerThanSegment(_) => "RECORD_LIST_TOO_LARGE",
        BatchRejection::UnsupportedCompression(_) | BatchRejection::UnknownCodec(_) => {
            "UNSUPPORTED_COMPRESSION_TYPE"
        }
        BatchRejection::NoMemory => "KAFKA_STORAGE_ERROR",
    };
    format!("{class}: {rejection}")
}

#[track_caller]
fn assert_refused(result: Result<CheckedBatch<'_>, BatchRejection>, expected: &str) {
    let reason = reason(result);
    assert!(reason.starts_with(expected), "{reason}");
}

#[test]
fn a_good_batch_is_taken_as_it_is() {
    for codec in CODECS {
        let batch = batch(codec);
        let checked = check(&batch).unwrap();
        assert!(matches!(checked.bytes, Cow::Borrowed(_)), "{codec:?}");
        assert_eq!(checked.header, BatchHeader::parse(&batch).unwrap());
        assert_eq!(checked.log_append_time, None);
    }
}

#[test]
fn it_is_copied_to_its_place_with_offset_and_epoch() {
    let batch = batch(Codec::None);
    let checked = check(&batch).unwrap();
    let mut stored = vec![0; batch.len()];
    checked.write_to(&mut stored, Offset::new(500), LeaderEpoch::new(7));
    let stored = StoredBatch::first(&stored).unwrap();
    assert_eq!(stored.verify(), Ok(()));
    assert_eq!((stored.offset_field(), stored.last_offset()), (Offset::new(500), Offset::new(502)));
    assert_eq!(stored.leader_epoch(), LeaderEpoch::new(7));
    assert_eq!(stored.bytes()[17..], batch[17..]);
}

#[test]
fn exactly_one_batch_of_magic_2() {
    let good = batch(Codec::None);
    let none = "INVALID_RECORD: Produce requests must have at least one record batch";
    assert_refused(check(&[]), none);
    for cut in 1..good.len() {
        assert_refused(check(&good[..cut]), none);
    }
    let one = "INVALID_RECORD: Produce requests are only allowed to contain exactly one";
    assert_refused(check(&[&good[..], &good[..]].concat()), one);
    assert_refused(check(&[&good[..], &[0]].concat()), one);
    let magic = "INVALID_RECORD: Produce requests are only allowed to contain record batches with magic version 2";
    assert_refused(check(&patched(&good, 16, &[1])), magic);
    assert_refused(check(&patched(&good, 16, &[0])), magic);
    assert_refused(
        check(&patched(&good, 16, &[3])),
        "CORRUPT_MESSAGE: Invalid magic found in record: 3",
    );
    assert_refused(
        check(&patched(&good, 8, &5i32.to_be_bytes())),
        "CORRUPT_MESSAGE: Record size 5 is less than",
    );
    let old = from_hex(
        "000000000000000000000016000000000100000000000000000 5ffffffffffffffff"
            .replace(' ', "")
            .as_str(),
    );
    assert_refused(check(&old), magic);
}

#[test]
fn every_flipped_bit_is_refused() {
    let good = batch(Codec::None);
    // Leader epoch and CRC aside: the leader sets the first, the second is checked through all others.
    for at in (0..12).chain(16..good.len()) {
        for bit in 0..8 {
            let mut flipped = good.clone();
            flipped[at] ^= 1 << bit;
            assert!(check(&flipped).is_err(), "byte {at} bit {bit}");
        }
    }
}

#[test]
fn sizes_are_limited() {
    let good = batch(Codec::None);
    let len = i32::try_from(good.len()).unwrap();
    let with = |max_message_bytes, segment_bytes| {
        check_batch(&good, &BatchRules { max_message_bytes, segment_bytes, ..rules() }, NOW)
    };
    assert!(with(len, len).is_ok());
    assert_refused(with(len - 1, len), "MESSAGE_TOO_LARGE");
    assert_refused(with(len, len - 1), "RECORD_LIST_TOO_LARGE");
    assert_refused(with(0, len), "MESSAGE_TOO_LARGE");
}

#[test]
fn header_fields_must_fit_each_other() {
    let good = batch(Codec::None);
    let i32_at = |at, value: i32| patched(&good, at, &value.to_be_bytes());
    assert_refused(
        check(&patched(&good, 7, &[9])),
        "INVALID_RECORD: The baseOffset of the record batch in the append should be 0, but it is 9",
    );
    assert_refused(
        check(&i32_at(23, -1)),
        "INVALID_RECORD: Batch has an invalid offset range: [0, -1]",
    );
    assert_refused(
        check(&i32_at(57, 0)),
        "INVALID_RECORD: Invalid reported count for record batch: 0",
    );
    assert_refused(
        check(&i32_at(57, -1)),
        "INVALID_RECORD: Invalid reported count for record batch: -1",
    );
    assert_refused(
        check(&i32_at(57, 2)),
        "INVALID_RECORD: Inconsistent batch offset range [0, 2] and count of records 2",
    );
    assert_refused(
        check(&patched(&good, 22, &[0x20])),
        "INVALID_RECORD: Clients are not allowed to write control records",
    );
    assert_refused(
        check(&patched(&good, 43, &4000i64.to_be_bytes())),
        "INVALID_RECORD: Invalid sequence number -1 in record batch with producerId 4000",
    );
}

#[test]
fn a_count_must_be_that_of_the_records() {
    for codec in CODECS {
        let good = batch(codec);
        let counted = |count: i32| {
            let batch = patched(&good, 57, &count.to_be_bytes());
            patched(&batch, 23, &(count - 1).to_be_bytes())
        };
        assert_refused(
            check(&counted(4)),
            "INVALID_RECORD: Incorrect declared batch size, premature EOF reached",
        );
        assert_refused(
            check(&counted(2)),
            "INVALID_RECORD: Incorrect declared batch size, records still remaining",
        );
        assert_refused(
            check(&counted(i32::MAX)),
            "INVALID_RECORD: Incorrect declared batch size, premature EOF reached",
        );
    }
}

#[test]
fn codecs_that_may_not_be() {
    let zstd = batch(Codec::Zstd);
    let old = BatchRules { zstd_allowed: false, ..rules() };
    assert_refused(check_batch(&zstd, &old, NOW), "UNSUPPORTED_COMPRESSION_TYPE");
    assert!(check_batch(&batch(Codec::Lz4), &old, NOW).is_ok());
    let unknown = patched(&batch(Codec::None), 22, &[5]);
    assert_refused(check(&unknown), "UNSUPPORTED_COMPRESSION_TYPE: Unknown compression type id: 5");
    let not_gzip = patched(&batch(Codec::None), 22, &[1]);
    assert_refused(check(&not_gzip), "INVALID_RECORD: Gzip data is corrupt");
}

#[test]
fn compacted_topics_want_keys() {
    let settings = TopicSettings {
        cleanup_policy: CleanupPolicy { delete: false, compact: true },
        ..TopicSettings::default()
    };
    let rules = BatchRules::of(&settings);
    for codec in CODECS {
        assert!(check_batch(&batch(codec), &rules, NOW).is_ok());
        let mut builder = BatchBuilder::new(template(codec));
        builder.append(NOW, Some(b"k"), None);
        for _ in 0..4 {
            builder.append(NOW, None, None);
        }
        let bytes = builder.build().unwrap();
        assert!(check(&bytes).is_ok(), "other topics do not");
        let Err(BatchRejection::InvalidRecord { reason, records }) =
            check_batch(&bytes, &rules, NOW)
        else {
            panic!("{codec:?} is taken");
        };
        let text = "Compacted topic cannot accept message without key";
        assert_eq!(records, (1..5).map(|i| (i, text.to_owned())).collect::<Vec<_>>());
        let error = |i| format!("RecordError(batchIndex={i}, message='{text}')");
        assert_eq!(
            reason,
            format!(
                "One or more records have been rejected due to 4 record errors in total, and only showing the first three errors at most: [{}, {}, {}]",
                error(1),
                error(2),
                error(3)
            )
        );
    }
}

#[test]
fn create_times_stay_in_their_window() {
    let rules =
        BatchRules { timestamp_before_max_ms: 1000, timestamp_after_max_ms: 500, ..rules() };
    let with = |offsets: &[i64]| {
        let timestamps: Vec<_> = offsets.iter().map(|offset| NOW.get() + offset).collect();
        check_batch(&batch_of(template(Codec::None), &timestamps), &rules, NOW).map(|_| ())
    };
    assert_eq!(with(&[-1000, 500]), Ok(()));
    let text = format!(
        "Timestamp {} of message with offset 1 is out of range. The timestamp should be within [{}, {}]",
        NOW.get() - 1001,
        NOW.get() - 1000,
        NOW.get() + 500
    );
    let reason = "One or more records have been rejected due to invalid timestamp".to_owned();
    assert_eq!(
        with(&[0, -1001]),
        Err(BatchRejection::InvalidTimestamp { reason, records: vec![(1, text)] })
    );
    assert!(with(&[501]).is_err());
    let without = batch_of(template(Codec::None), &[-1, -1]);
    assert!(check_batch(&without, &rules, NOW).is_ok(), "no timestamp is no fault");
}

#[test]
fn the_default_window_is_open_to_the_past() {
    assert!(check(&batch_of(template(Codec::None), &[0])).is_ok());
    assert!(check(&batch_of(template(Codec::None), &[-5])).is_ok());
    assert!(check(&batch_of(template(Codec::None), &[i64::MIN])).is_err());
    assert!(check(&batch_of(template(Codec::None), &[NOW.get() + 3_600_000])).is_ok());
    assert!(check(&batch_of(template(Codec::None), &[NOW.get() + 3_600_001])).is_err());
}

#[test]
fn a_wrong_max_timestamp_is_corrected() {
    for codec in CODECS {
        let good = batch(codec);
        let wrong = patched(&good, 35, &(NOW.get() + 99).to_be_bytes());
        let checked = check(&wrong).unwrap();
        assert_eq!(checked.bytes, good, "{codec:?}");
        assert_eq!(checked.header.max_timestamp, Timestamp::new(NOW.get() + 5));
    }
}

#[test]
fn a_claim_of_the_brokers_time_is_cleared_or_refused() {
    let good = batch(Codec::None);
    let claims = patched(&good, 22, &[0x08]);
    assert_eq!(check(&claims).unwrap().bytes, good, "CreateTime topic with timestamps");
    let without = patched(&batch_of(template(Codec::None), &[-1]), 22, &[0x08]);
    assert_refused(check(&without), "INVALID_TIMESTAMP");
    let Err(BatchRejection::InvalidTimestamp { records, .. }) =
        check_batch(&claims, &log_append_rules(), NOW)
    else {
        panic!("a LogAppendTime topic takes the claim");
    };
    assert_eq!(
        records[0].1,
        format!(
            "Invalid timestamp type in message DefaultRecord(offset=0, timestamp={NOW}, key=2 bytes, value=200 bytes). Producer should not set timestamp type to LogAppendTime."
        )
    );
    assert_eq!(records.len(), 3);
}

#[test]
fn log_append_time_is_stamped_when_written() {
    for codec in CODECS {
        // Far in the future: of no interest to such a topic.
        let batch = batch_of(template(codec), &[NOW.get() * 2]);
        let checked = check_batch(&batch, &log_append_rules(), NOW).unwrap();
        assert_eq!(checked.log_append_time, Some(NOW));
        assert!(matches!(checked.bytes, Cow::Borrowed(_)), "no copy before it is written");
        let mut stored = vec![0; batch.len()];
        checked.write_to(&mut stored, Offset::new(3), LeaderEpoch::new(0));
        assert_eq!(StoredBatch::first(&stored).unwrap().verify(), Ok(()));
        let header = BatchHeader::parse(&stored).unwrap();
        assert_eq!(header.timestamp_type(), TimestampType::LogAppendTime);
        assert_eq!(header.max_timestamp, NOW);
        assert_eq!(header.base_timestamp, Timestamp::new(NOW.get() * 2), "as sent");
        let crc_and_place = BatchHeader {
            crc: 0,
            base_offset: Offset::ZERO,
            partition_leader_epoch: LeaderEpoch::NONE,
            ..header
        };
        assert_eq!(BatchHeader { crc: 0, ..checked.header }, crc_and_place);
    }
}

#[test]
fn a_fixed_codec_rewrites_the_batch() {
    let source = BatchTemplate {
        producer_id: ProducerId::new(9),
        producer_epoch: ProducerEpoch::new(2),
        base_sequence: 17,
        transactional: true,
        ..BatchTemplate::default()
    };
    for from in CODECS {
        for target in CODECS {
            let compression = Compression::default_of(from);
            let batch =
                batch_of(BatchTemplate { compression, ..source }, &[NOW.get(), NOW.get() + 1]);
            let rules = BatchRules { compression: TargetCodec::Fixed(target), ..rules() };
            let checked = check_batch(&batch, &rules, NOW).unwrap();
            assert_eq!(matches!(checked.bytes, Cow::Borrowed(_)), from == target);
            assert_eq!(checked.header.codec(), Ok(target));
            assert_eq!(checked.header.last_sequence(), 18);
            let plain = check_batch(
                &checked.bytes,
                &BatchRules { compression: TargetCodec::Fixed(Codec::None), ..rules.clone() },
                NOW,
            )
            .unwrap();
            assert_eq!(
                plain.bytes,
                batch_of(source, &[NOW.get(), NOW.get() + 1]),
                "{from:?} to {target:?}"
            );
        }
    }
}

#[test]
fn what_is_rewritten_is_measured_again() {
    let small = batch(Codec::Zstd);
    let limits = BatchRules { max_message_bytes: small.len() as i32, ..rules() };
    assert!(check_batch(&small, &limits, NOW).is_ok());
    let unpack = BatchRules { compression: TargetCodec::Fixed(Codec::None), ..limits };
    assert_refused(check_batch(&small, &unpack, NOW), "MESSAGE_TOO_LARGE: Message batch size is");
}

#[test]
fn offsets_inside_are_made_consecutive() {
    let good = batch(Codec::None);
    let second = HEADER_LEN + 2 + 209; // length varint and body of the first record
    // Behind length, attributes and the timestamp delta lies the offset delta of the second record: 1.
    let at = second + 4;
    assert_eq!(good[at], 2);
    let wrong = patched(&good, at, &[8]);
    let checked = check(&wrong).unwrap();
    assert_eq!(checked.bytes, good);
    let deltas: Vec<_> =
        Records::new(&checked.bytes[HEADER_LEN..], 3).map(|r| r.unwrap().offset_delta).collect();
    assert_eq!(deltas, [0, 1, 2]);
}

#[test]
fn a_decompression_bomb_is_refused() {
    let mut builder = BatchBuilder::new(template(Codec::Zstd));
    builder.append(NOW, None, Some(&vec![0; 30_000_000]));
    let bomb = builder.build().unwrap();
    assert!(bomb.len() < 10_000);
    assert!(check(&bomb).is_ok(), "within 128 times max.message.bytes");
    let rules = BatchRules { decompressed_bytes_max: 20_000_000, ..rules() };
    assert_refused(
        check_batch(&bomb, &rules, NOW),
        "INVALID_RECORD: the records decompress to more than 20000000 bytes",
    );
}

#[test]
fn what_is_rewritten_counts_against_the_budget_while_it_is() {
    let mut builder = BatchBuilder::new(template(Codec::Zstd));
    for _ in 0..30 {
        builder.append(NOW, None, Some(&vec![0; 100_000]));
    }
    let packed = builder.build().unwrap();
    let rewritten = |budget: &Arc<ByteBudget>| {
        let memory = Some(Arc::clone(budget));
        let rules = BatchRules { compression: TargetCodec::Fixed(Codec::Gzip), memory, ..rules() };
        check_batch(&packed, &rules, NOW).map(|_| budget.used_bytes())
    };
    assert_eq!(rewritten(&ByteBudget::new(8_000_000)), Ok(0), "given back");
    let small = ByteBudget::new(3_000_000);
    assert_eq!(
        rewritten(&small),
        Err(BatchRejection::NoMemory),
        "once as they are and once packed"
    );
    assert_eq!(small.used_bytes(), 0);
}

#[test]
fn heavy_work_is_left_to_the_pool() {
    let rules = rules();
    for codec in CODECS {
        let batch = batch(codec);
        let inline = check_batch_inline(&batch, &rules, NOW).unwrap().unwrap();
        assert_eq!(inline.header, check(&batch).unwrap().header);
    }
    let mut builder = BatchBuilder::new(template(Codec::Zstd));
    builder.append(NOW, None, Some(&vec![0; 10_000_000]));
    let bomb = builder.build().unwrap();
    assert!(!needs_cpu_pool(&bomb, &rules, NOW));
    assert!(check_batch_inline(&bomb, &rules, NOW).is_none());
    let other_codec = BatchRules { compression: TargetCodec::Fixed(Codec::Gzip), ..rules.clone() };
    assert!(check_batch_inline(&batch(Codec::None), &other_codec, NOW).is_none());
    let big = patched(&vec![0; 70_000], 22, &[1]);
    assert!(needs_cpu_pool(&big, &rules, NOW));
    assert!(check_batch_inline(&big, &rules, NOW).is_none());
    assert!(!needs_cpu_pool(&vec![0; 70_000], &rules, NOW), "uncompressed");
}

#[test]
fn faults_named_are_limited() {
    let mut builder = BatchBuilder::new(template(Codec::None));
    for _ in 0..5000 {
        builder.append(NOW, None, None);
    }
    let bytes = builder.build().unwrap();
    let rules = BatchRules { keys_required: true, ..rules() };
    let Err(BatchRejection::InvalidRecord { reason, records }) = check_batch(&bytes, &rules, NOW)
    else {
        panic!("taken");
    };
    assert_eq!(records.len(), 1000);
    assert!(reason.contains("due to 5000 record errors in total"), "{reason}");
}
