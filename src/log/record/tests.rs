use super::*;
use crate::log::batch::HEADER_LEN;
use crate::log::test_bytes::{COMMIT_MARKER, TWO_RECORDS, from_hex};

fn records(bytes: &[u8], count: i32) -> Vec<Result<Record<'_>, RecordDamage>> {
    Records::new(bytes, count).collect()
}

#[test]
fn records_of_a_kafka_batch() {
    let bytes = from_hex(TWO_RECORDS);
    let header = BatchHeader::parse(&bytes).unwrap();
    let records: Vec<_> = Records::new(&bytes[HEADER_LEN..], 2).map(Result::unwrap).collect();
    let fields: Vec<_> = records
        .iter()
        .map(|r| (r.offset(&header).get(), r.timestamp(&header).get(), r.key, r.value))
        .collect();
    assert_eq!(fields[0], (0, 1_700_000_000_000, Some(&b"k"[..]), Some(&b"v"[..])));
    assert_eq!(fields[1], (1, 1_700_000_000_001, None, Some(&b"w"[..])));
    assert!(records[0].headers.is_empty());
    assert_eq!(records[1].headers.iter().collect::<Vec<_>>(), [(&b"h"[..], None)]);
}

#[test]
fn a_transaction_marker_is_one_record() {
    let bytes = from_hex(COMMIT_MARKER);
    let records = records(&bytes[HEADER_LEN..], 1);
    let record = records[0].unwrap();
    assert_eq!(record.key, Some(&[0, 0, 0, 1][..]));
    assert_eq!(record.value, Some(&[0, 0, 0, 0, 0, 2][..]));
    assert_eq!(records.len(), 1);
}

#[test]
fn the_broker_s_time_stands_for_every_record() {
    let mut bytes = from_hex(TWO_RECORDS);
    crate::log::batch::set_timestamps(&mut bytes, TimestampType::LogAppendTime, Timestamp::new(42));
    let header = BatchHeader::parse(&bytes).unwrap();
    for record in Records::new(&bytes[HEADER_LEN..], 2) {
        assert_eq!(record.unwrap().timestamp(&header), Timestamp::new(42));
    }
}

#[test]
fn counts_that_do_not_fit_the_bytes() {
    let bytes = &from_hex(TWO_RECORDS)[HEADER_LEN..];
    assert_eq!(records(bytes, 3)[2], Err(RecordDamage::Missing));
    assert_eq!(records(bytes, 1)[1..], [Err(RecordDamage::Trailing)]);
    assert_eq!(records(bytes, 0), [Err(RecordDamage::Trailing)]);
    assert_eq!(records(bytes, -1), [Err(RecordDamage::Count(-1))]);
    assert_eq!(records(bytes, i32::MAX).len(), 3);
    assert_eq!(records(&[], 0), []);
}

#[test]
fn every_cut_ends_in_an_error() {
    let bytes = &from_hex(TWO_RECORDS)[HEADER_LEN..];
    for cut in 0..bytes.len() {
        assert!(records(&bytes[..cut], 2).last().unwrap().is_err(), "cut at {cut}");
    }
}

/// A record of these body bytes behind its length.
fn sized(body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![(body.len() * 2) as u8];
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn fields_that_lie_are_named() {
    let only = |body: &[u8]| Records::new(&sized(body), 1).next().unwrap().map(|_| ()).unwrap_err();
    let short = RecordDamage::Field(CursorError::Short);
    assert_eq!(only(&[]), short);
    assert_eq!(only(&[0, 0, 0, 1, 1]), short); // no header count
    assert_eq!(only(&[0, 0, 0, 1, 4, 9]), short); // value of 2 in 1 byte
    assert_eq!(only(&[0, 0, 0, 1, 1, 0, 0]), RecordDamage::Size { size: 7, read: 6 });
    assert_eq!(only(&[0, 0, 0, 1, 1, 1]), RecordDamage::HeaderCount(-1));
    assert_eq!(only(&[0, 0, 0, 1, 1, 4, 0, 1]), RecordDamage::HeaderCount(2));
    assert_eq!(
        only(&[0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f]),
        RecordDamage::HeaderCount(i32::MAX)
    );
    assert_eq!(only(&[0, 0, 0, 1, 1, 2, 1, 1]), RecordDamage::HeaderKey(-1));
    assert_eq!(records(&[1], 1), [Err(RecordDamage::NegativeSize(-1))]);
    let beyond = RecordDamage::BeyondEnd { size: 8, remaining: 2 };
    assert_eq!(records(&[16, 0, 0], 1), [Err(beyond)]);
}
