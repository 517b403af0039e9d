use super::*;
use crate::log::batch::BatchHeader;
use crate::log::reader::RecordReader;
use crate::log::test_bytes::{COMMIT_MARKER, TWO_RECORDS, from_hex};

#[test]
fn builds_kafkas_own_bytes() {
    let mut builder = BatchBuilder::new(BatchTemplate {
        partition_leader_epoch: LeaderEpoch::new(0),
        ..BatchTemplate::default()
    });
    builder.append(Timestamp::new(1_700_000_000_000), Some(b"k"), Some(b"v"));
    builder.append_with_headers(
        Timestamp::new(1_700_000_000_001),
        None,
        Some(b"w"),
        [(&b"h"[..], None)],
    );
    assert_eq!((builder.count(), builder.len()), (2, 81));
    assert_eq!(builder.build().unwrap(), from_hex(TWO_RECORDS));
}

#[test]
fn builds_kafkas_transaction_marker() {
    let mut builder = BatchBuilder::new(BatchTemplate {
        base_offset: Offset::new(7),
        partition_leader_epoch: LeaderEpoch::new(3),
        transactional: true,
        control: true,
        producer_id: ProducerId::new(4000),
        producer_epoch: ProducerEpoch::new(5),
        ..BatchTemplate::default()
    });
    builder.append(
        Timestamp::new(1_700_000_000_000),
        Some(&[0, 0, 0, 1]),
        Some(&[0, 0, 0, 0, 0, 2]),
    );
    assert_eq!(builder.build().unwrap(), from_hex(COMMIT_MARKER));
}

#[test]
fn compressed_batches_hold_the_same_records() {
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let compression = Compression::default_of(codec);
        let mut builder =
            BatchBuilder::new(BatchTemplate { compression, ..BatchTemplate::default() });
        for i in 0..1000 {
            let value = format!("value {i}");
            builder.append(Timestamp::new(i), None, Some(value.as_bytes()));
        }
        let bytes = builder.build().unwrap();
        let header = BatchHeader::parse(&bytes).unwrap();
        assert_eq!(header.codec(), Ok(codec));
        assert_eq!((header.records_count, header.max_timestamp), (1000, Timestamp::new(999)));
        let mut reader = RecordReader::new(&header, &bytes[HEADER_LEN..], usize::MAX).unwrap();
        let mut read = 0;
        while let Some(record) = reader.next() {
            let record = record.unwrap();
            assert_eq!(record.value, Some(format!("value {read}").as_bytes()));
            assert_eq!(record.offset(&header), Offset::new(read));
            read += 1;
        }
        assert_eq!(read, 1000);
    }
}
