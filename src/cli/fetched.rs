//! Records of a fetched batch, copied out of it for a person to read.

use crate::log::batch::HEADER_LEN;
use crate::log::reader::RecordReader;
use crate::log::scan::StoredBatch;
use crate::types::{Offset, Timestamp};

/// Most bytes that the records of one batch may have when they are decompressed.
const DECOMPRESSED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// A header of a record; the value may be null.
pub(super) type Header = (String, Option<Vec<u8>>);

/// A record with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) offset: Offset,
    pub(super) timestamp: Timestamp,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
    pub(super) headers: Vec<Header>,
}

/// The records of a batch; none for control batches. What is wrong with it, in words, if it cannot be read.
pub(super) fn read(batch: &StoredBatch<'_>) -> Result<Vec<Record>, String> {
    let offset = batch.offset_field();
    let at = |what: &dyn std::fmt::Display| format!("the batch at offset {offset}: {what}");
    let Some(header) = batch.header() else {
        let magic = batch.magic();
        return Err(at(&format!("message format {magic} is not read by this command")));
    };
    batch.verify().map_err(|damage| at(&damage))?;
    if header.is_control() {
        return Ok(Vec::new());
    }
    let mut reader =
        RecordReader::new(&header, &batch.bytes()[HEADER_LEN..], DECOMPRESSED_BYTES_MAX)
            .map_err(|error| at(&error))?;
    let mut records = Vec::new();
    while let Some(record) = reader.next() {
        let record = record.map_err(|error| at(&error))?;
        let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let headers =
            record.headers.iter().map(|(key, value)| (name(key), value.map(<[u8]>::to_vec)));
        records.push(Record {
            offset: record.offset(&header),
            timestamp: record.timestamp(&header),
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
            headers: headers.collect(),
        });
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::builder::{BatchBuilder, BatchTemplate};

    #[test]
    fn nulls_stay_apart_from_what_is_empty() {
        let mut builder = BatchBuilder::new(BatchTemplate::default());
        let headers: [(&[u8], Option<&[u8]>); 2] = [(b"h", Some(b"v")), (b"n", None)];
        builder.append_with_headers(Timestamp::new(7), Some(b"k"), Some(b""), headers);
        builder.append(Timestamp::new(8), None, None);
        let bytes = builder.build().expect("memory");
        let records = read(&StoredBatch::first(&bytes).expect("a batch")).expect("readable");
        let headers = vec![("h".to_owned(), Some(b"v".to_vec())), ("n".to_owned(), None)];
        let first = Record {
            offset: Offset::new(0),
            timestamp: Timestamp::new(7),
            key: Some(b"k".to_vec()),
            value: Some(Vec::new()),
            headers,
        };
        let second = Record {
            offset: Offset::new(1),
            timestamp: Timestamp::new(8),
            key: None,
            value: None,
            headers: Vec::new(),
        };
        assert_eq!(records, [first, second]);
    }

    #[test]
    fn a_damaged_batch_is_named_with_its_offset() {
        let mut builder = BatchBuilder::new(BatchTemplate::default());
        builder.append(Timestamp::new(7), None, Some(b"value"));
        let mut bytes = builder.build().expect("memory");
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let error =
            read(&StoredBatch::first(&bytes).expect("a batch")).expect_err("a wrong checksum");
        assert!(error.starts_with("the batch at offset 0: record is corrupt"), "{error}");
    }
}
