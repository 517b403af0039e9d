use super::*;
use crate::log::batch::HEADER_LEN;
use crate::log::builder::{BatchBuilder, BatchTemplate};
use crate::log::compress::Compression;
use crate::types::Timestamp;

const CODECS: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

fn batch(codec: Codec, values: &[Vec<u8>]) -> (BatchHeader, Vec<u8>) {
    let compression = Compression::default_of(codec);
    let mut builder = BatchBuilder::new(BatchTemplate { compression, ..BatchTemplate::default() });
    for value in values {
        builder.append(Timestamp::new(1), None, Some(value));
    }
    let bytes = builder.build().unwrap();
    (BatchHeader::parse(&bytes).unwrap(), bytes[HEADER_LEN..].to_vec())
}

fn read(
    header: &BatchHeader,
    records: &[u8],
    limit: usize,
) -> Result<Vec<Vec<u8>>, ReadRecordError> {
    let mut reader = RecordReader::new(header, records, limit)?;
    let mut values = Vec::new();
    while let Some(record) = reader.next() {
        values.push(record?.value.unwrap_or_default().to_vec());
    }
    assert!(reader.next().is_none(), "an ended reader stays ended");
    Ok(values)
}

#[test]
fn records_longer_than_any_window_are_read() {
    let values: Vec<Vec<u8>> = [1, 300_000, 5, 1_000_000, 0]
        .iter()
        .map(|&len| (0..len).map(|i| (i as u64 * i as u64 % 255) as u8).collect())
        .collect();
    for codec in CODECS {
        let (header, records) = batch(codec, &values);
        assert_eq!(read(&header, &records, usize::MAX).unwrap(), values, "{codec:?}");
    }
}

#[test]
fn a_count_above_or_below_the_records_is_damage() {
    for codec in CODECS {
        let (mut header, records) = batch(codec, &[vec![7; 100], vec![8; 100]]);
        header.records_count = 3;
        assert_eq!(read(&header, &records, 1000), Err(RecordDamage::Missing.into()), "{codec:?}");
        header.records_count = 1;
        assert_eq!(read(&header, &records, 1000), Err(RecordDamage::Trailing.into()), "{codec:?}");
        header.records_count = -5;
        assert!(read(&header, &records, 1000).is_err(), "{codec:?}");
    }
}

#[test]
fn more_than_the_limit_is_refused_before_it_is_in_memory() {
    for codec in CODECS.into_iter().skip(1) {
        let (header, records) = batch(codec, &[vec![0; 5_000_000]]);
        let limit = 1_000_000;
        let too_large = ReadRecordError::from(DecompressError::TooLarge { limit });
        assert_eq!(read(&header, &records, limit), Err(too_large), "{codec:?}");
    }
}

#[test]
fn a_wrong_checksum_at_the_end_of_gzip_is_seen() {
    let (header, mut records) = batch(Codec::Gzip, &[vec![1; 100]]);
    let at = records.len() - 8;
    records[at] ^= 1;
    assert!(matches!(read(&header, &records, 1000), Err(ReadRecordError::Decompress(_))));
}

#[test]
fn an_unknown_codec_is_named() {
    let (mut header, records) = batch(Codec::None, &[vec![1]]);
    header.attributes = 5;
    assert_eq!(read(&header, &records, 1000), Err(UnknownCodec(5).into()));
}
