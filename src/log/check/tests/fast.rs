//! `highwater.validation=fast`: what it leaves out, and what it must not; the largest record of a compressed batch.

use super::*;
use crate::config::Validation;

fn fast() -> BatchRules {
    BatchRules { validation: Validation::Fast, ..rules() }
}

/// A right checksum over records that are none.
fn hollow(codec: Codec) -> Vec<u8> {
    let bytes = batch(codec);
    patched(&bytes, HEADER_LEN, &vec![0xee; bytes.len() - HEADER_LEN])
}

#[test]
fn fast_trusts_the_header_of_a_batch_and_strict_does_not() {
    for codec in CODECS {
        let hollow = hollow(codec);
        assert!(check(&hollow).is_err(), "{codec:?}");
        let taken = check_batch(&hollow, &fast(), NOW).expect("only the header is looked at");
        assert!(matches!(taken.bytes, Cow::Borrowed(_)), "{codec:?}: stored as it came");
        assert!(check_batch_inline(&hollow, &fast(), NOW).is_some_and(|taken| taken.is_ok()));
    }
}

#[test]
fn fast_stores_good_batches_as_strict_does() {
    for codec in CODECS {
        let batch = batch(codec);
        for rules in [fast(), BatchRules { validation: Validation::Fast, ..log_append_rules() }] {
            let strict = BatchRules { validation: Validation::Strict, ..rules.clone() };
            let (fast, strict) = (
                check_batch(&batch, &rules, NOW).unwrap(),
                check_batch(&batch, &strict, NOW).unwrap(),
            );
            assert_eq!((fast.header, fast.bytes), (strict.header, strict.bytes), "{codec:?}");
        }
    }
}

#[test]
fn fast_still_sees_a_wrong_checksum_counts_and_sizes() {
    let good = batch(Codec::Lz4);
    let last = good.len() - 1;
    let mut flipped = good.clone();
    flipped[last] ^= 1;
    assert_refused(check_batch(&flipped, &fast(), NOW), "CORRUPT_MESSAGE: Record is corrupt");
    let counted = patched(&good, 57, &77_i32.to_be_bytes());
    assert_refused(
        check_batch(&counted, &fast(), NOW),
        "INVALID_RECORD: Inconsistent batch offset",
    );
    let small = BatchRules { max_message_bytes: last as i32, ..fast() };
    assert_refused(check_batch(&good, &small, NOW), "MESSAGE_TOO_LARGE: The record batch size");
}

#[test]
fn fast_walks_the_records_where_a_setting_is_about_them() {
    let hollow = hollow(Codec::Zstd);
    let settings_about_records = [
        BatchRules { keys_required: true, ..fast() },
        BatchRules { compression: TargetCodec::Fixed(Codec::None), ..fast() },
        BatchRules { timestamp_before_max_ms: 1000, ..fast() },
        BatchRules { max_decompressed_message_bytes: 1 << 20, ..fast() },
    ];
    for rules in settings_about_records {
        assert!(check_batch(&hollow, &rules, NOW).is_err(), "{rules:?}");
    }
    let own_codec = BatchRules { compression: TargetCodec::Fixed(Codec::Zstd), ..fast() };
    assert!(check_batch(&hollow, &own_codec, NOW).is_ok(), "nothing to rewrite");
}

#[test]
fn a_header_that_looks_wrong_has_its_records_walked() {
    let late = NOW.get() + 3_600_001;
    let bytes = batch_of(template(Codec::Gzip), &[NOW.get(), late]);
    let Err(BatchRejection::InvalidTimestamp { records, .. }) = check_batch(&bytes, &fast(), NOW)
    else {
        panic!("taken");
    };
    assert_eq!(records[0].0, 1, "the record is named");
    // The header claims what no record has: strict and fast correct it alike.
    let claimed = patched(&batch(Codec::None), 35, &late.to_be_bytes());
    assert_eq!(check_batch(&claimed, &fast(), NOW).unwrap().bytes, batch(Codec::None));
}

#[test]
fn large_compressed_batches_need_no_pool_when_they_are_not_decompressed() {
    let big = patched(&vec![0; 70_000], 22, &[1]);
    assert!(needs_cpu_pool(&big, &rules(), NOW));
    assert!(!needs_cpu_pool(&big, &fast(), NOW));
}

/// Kafka: `DefaultRecord.readFrom(InputStream, ..., maxRecordSize)`; uncompressed records are bounded by the batch.
#[test]
fn a_compressed_record_above_the_limit_is_refused_before_it_is_decompressed() {
    let size_of = |value: usize| {
        let mut builder = BatchBuilder::new(template(Codec::None));
        builder.append(NOW, None, Some(&vec![7; value]));
        let bytes = builder.build().unwrap();
        // The size of a record counts what follows it; here it takes three bytes itself.
        (bytes.len() - HEADER_LEN - 3) as i32
    };
    let size = size_of(100_000);
    for codec in CODECS {
        let mut builder = BatchBuilder::new(template(codec));
        builder.append(NOW, None, Some(b"small"));
        builder.append(NOW, None, Some(&vec![7; 100_000]));
        let bytes = builder.build().unwrap();
        // The second record has the offset delta 1, which takes as many bytes as 0.
        let exact = BatchRules { max_decompressed_message_bytes: size, ..rules() };
        assert!(check_batch(&bytes, &exact, NOW).is_ok(), "{codec:?}");
        let below = BatchRules { max_decompressed_message_bytes: size - 1, ..rules() };
        let checked = check_batch(&bytes, &below, NOW);
        if codec == Codec::None {
            assert!(checked.is_ok());
            continue;
        }
        let reason = format!(
            "INVALID_RECORD: Invalid record size: {size} exceeds the configured maximum record size of {}.",
            size - 1
        );
        assert_refused(checked, &reason);
    }
}
