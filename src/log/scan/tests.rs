use super::*;
use crate::log::test_bytes::{COMMIT_MARKER, LEADER_CHANGE, TWO_RECORDS, from_hex};

/// A message of magic 1 with neither key nor value, timestamp 5, CRC right.
fn legacy_message() -> Vec<u8> {
    let mut bytes = from_hex(
        "00000000000000090000001600000000010000000000000000 05ffffffffffffffff"
            .replace(' ', "")
            .as_str(),
    );
    let crc = crc32fast::hash(&bytes[16..]);
    bytes[12..16].copy_from_slice(&crc.to_be_bytes());
    bytes
}

#[test]
fn batches_follow_each_other() {
    let parts = [from_hex(TWO_RECORDS), from_hex(COMMIT_MARKER), legacy_message()];
    let bytes = parts.concat();
    let mut scan = scan(&bytes);
    let found: Vec<_> = scan.by_ref().collect();
    assert_eq!(found.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 81, 159]);
    for ((_, batch), part) in found.iter().zip(&parts) {
        assert_eq!(batch.bytes(), part);
        assert_eq!(batch.verify(), Ok(()));
    }
    assert_eq!(found.iter().map(|(_, b)| b.last_offset().get()).collect::<Vec<_>>(), [1, 7, 9]);
    assert_eq!(found.iter().map(|(_, b)| b.leader_epoch().get()).collect::<Vec<_>>(), [0, 3, -1]);
    assert_eq!(found[2].1.max_timestamp(), Timestamp::new(5));
    assert_eq!(scan.ending(), Some(ScanEnd::Exhausted));
}

#[test]
fn a_torn_tail_ends_the_scan_where_it_begins() {
    let whole = from_hex(TWO_RECORDS);
    for cut in 1..whole.len() {
        let bytes = [&whole[..], &whole[..cut]].concat();
        let mut scan = scan(&bytes);
        assert_eq!(scan.by_ref().count(), 1, "cut at {cut}");
        assert_eq!(scan.position(), whole.len());
        let needed = if cut <= MAGIC_END { MAGIC_END + 1 } else { whole.len() };
        assert_eq!(scan.ending(), Some(ScanEnd::Partial(needed)), "cut at {cut}");
    }
}

#[test]
fn zeros_of_a_preallocated_tail_are_corrupt() {
    let bytes = [from_hex(TWO_RECORDS), vec![0; 100]].concat();
    let mut scan = scan(&bytes);
    assert_eq!(scan.by_ref().count(), 1);
    let error = FramingError::SizeTooSmall { size: 0, minimum: 14 };
    assert_eq!(scan.ending(), Some(ScanEnd::Corrupt(error)));
}

#[test]
fn seventeen_bytes_are_torn_whatever_they_say() {
    assert_eq!(frame(&[0; 17]), Framing::Partial(18));
    assert_eq!(frame(&[0xff; 17]), Framing::Partial(18));
    assert_eq!(frame(&[]), Framing::Partial(18));
}

#[test]
fn sizes_and_magics_that_cannot_be() {
    let with = |size: i32, magic: i8| {
        let mut bytes = from_hex(LEADER_CHANGE);
        bytes[8..12].copy_from_slice(&size.to_be_bytes());
        bytes[16] = magic as u8;
        frame(&bytes)
    };
    let too_small = |size, minimum| Framing::Corrupt(FramingError::SizeTooSmall { size, minimum });
    assert_eq!(with(-1, 2), too_small(-1, 14));
    assert_eq!(with(i32::MIN, 2), too_small(i32::MIN, 14));
    assert_eq!(with(13, 0), too_small(13, 14));
    assert_eq!(with(14, 0), Framing::Whole(26));
    assert_eq!(with(21, 1), too_small(21, 22));
    assert_eq!(with(22, 1), Framing::Whole(34));
    assert_eq!(with(48, 2), too_small(48, 49));
    assert_eq!(with(49, 2), Framing::Whole(61));
    assert_eq!(with(60, 3), Framing::Corrupt(FramingError::Magic(3)));
    assert_eq!(with(60, -1), Framing::Corrupt(FramingError::Magic(-1)));
    assert_eq!(with(i32::MAX, 2), Framing::Partial(12 + i32::MAX as usize));
}

#[test]
fn every_flipped_bit_under_the_checksum_is_found() {
    for original in [from_hex(TWO_RECORDS), legacy_message()] {
        for at in 16..original.len() {
            for bit in 0..8 {
                let mut bytes = original.clone();
                bytes[at] ^= 1 << bit;
                let verified = StoredBatch::first(&bytes).map(|batch| batch.verify());
                assert_ne!(verified, Some(Ok(())), "byte {at} bit {bit}");
            }
        }
    }
}
