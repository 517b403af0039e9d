use super::*;
use crate::log::test_bytes::{COMMIT_MARKER, LEADER_CHANGE, TWO_RECORDS, from_hex};

#[test]
fn header_of_a_data_batch() {
    let bytes = from_hex(TWO_RECORDS);
    let header = BatchHeader::parse(&bytes).unwrap();
    assert_eq!(header.size(), bytes.len());
    assert_eq!(header.base_offset, Offset::ZERO);
    assert_eq!(header.partition_leader_epoch, LeaderEpoch::new(0));
    assert_eq!(header.magic, MAGIC_V2);
    assert_eq!(header.last_offset(), Offset::new(1));
    assert_eq!(header.base_timestamp, Timestamp::new(1_700_000_000_000));
    assert_eq!(header.max_timestamp, Timestamp::new(1_700_000_000_001));
    assert!(!header.has_producer_id());
    assert_eq!(header.producer_epoch, ProducerEpoch::NONE);
    assert_eq!(header.last_sequence(), -1);
    assert_eq!(header.records_count, 2);
    assert_eq!(header.codec(), Ok(Codec::None));
    assert_eq!(header.timestamp_type(), TimestampType::CreateTime);
    assert!(!header.is_transactional() && !header.is_control());
    assert_eq!(header.delete_horizon(), None);
    assert_eq!(header.crc, compute_crc(&bytes));
}

#[test]
fn header_of_a_commit_marker() {
    let bytes = from_hex(COMMIT_MARKER);
    let header = BatchHeader::parse(&bytes).unwrap();
    assert_eq!(header.base_offset, Offset::new(7));
    assert_eq!(header.partition_leader_epoch, LeaderEpoch::new(3));
    assert_eq!(header.producer_id, ProducerId::new(4000));
    assert_eq!(header.producer_epoch, ProducerEpoch::new(5));
    assert!(header.is_transactional() && header.is_control());
    assert_eq!(header.crc, compute_crc(&bytes));
}

#[test]
fn written_headers_are_the_parsed_ones() {
    for hex in [TWO_RECORDS, COMMIT_MARKER, LEADER_CHANGE] {
        let bytes = from_hex(hex);
        let mut written = [0; HEADER_LEN];
        BatchHeader::parse(&bytes).unwrap().write(&mut written);
        assert_eq!(written, bytes[..HEADER_LEN]);
    }
}

#[test]
fn a_cut_header_is_none() {
    let bytes = from_hex(TWO_RECORDS);
    assert_eq!(BatchHeader::parse(&bytes[..HEADER_LEN - 1]), None);
}

#[test]
fn sequences_wrap_to_zero() {
    assert_eq!(increment_sequence(5, 3), 8);
    assert_eq!(increment_sequence(i32::MAX, 0), i32::MAX);
    assert_eq!(increment_sequence(i32::MAX, 1), 0);
    assert_eq!(increment_sequence(i32::MAX - 1, 4), 2);
    assert_eq!(increment_sequence(i32::MAX, i32::MAX), i32::MAX - 1);
}

#[test]
fn checksum_is_castagnolis() {
    assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    assert_eq!(crc32c(b""), 0);
}

#[test]
fn offset_and_epoch_leave_the_checksum_right() {
    let mut bytes = from_hex(TWO_RECORDS);
    set_offset_and_epoch(&mut bytes, Offset::new(1 << 40), LeaderEpoch::new(9));
    let header = BatchHeader::parse(&bytes).unwrap();
    assert_eq!(header.base_offset, Offset::new(1 << 40));
    assert_eq!(header.partition_leader_epoch, LeaderEpoch::new(9));
    assert_eq!(header.crc, compute_crc(&bytes));
}

#[test]
fn append_time_renews_the_checksum() {
    let mut bytes = from_hex(TWO_RECORDS);
    let before = BatchHeader::parse(&bytes).unwrap();
    set_timestamps(&mut bytes, TimestampType::LogAppendTime, Timestamp::new(1_800_000_000_000));
    let header = BatchHeader::parse(&bytes).unwrap();
    assert_eq!(header.timestamp_type(), TimestampType::LogAppendTime);
    assert_eq!(header.max_timestamp, Timestamp::new(1_800_000_000_000));
    assert_eq!(header.base_timestamp, before.base_timestamp);
    assert_ne!(header.crc, before.crc);
    assert_eq!(header.crc, compute_crc(&bytes));
}

#[test]
fn codecs_are_kafkas_numbers() {
    let codecs: Vec<_> = (0..8).map(codec_of).collect();
    let known = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];
    assert_eq!(codecs[..5], known.map(Ok));
    assert_eq!(codecs[5..], [5, 6, 7].map(|id| Err(UnknownCodec(id))));
}
