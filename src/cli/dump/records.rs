//! The records of a batch.

use std::io;

use serde_json::{Value, json};

use super::OffsetRange;
use super::decode::{self, Decoding};
use super::entry::Entry;
use super::output::Output;
use crate::log::batch::{BatchHeader, HEADER_LEN, increment_sequence};
use crate::log::legacy::LegacyMessages;
use crate::log::reader::RecordReader;
use crate::log::record::Record;
use crate::log::scan::StoredBatch;
use crate::types::Offset;

/// Most that a batch may be decompressed to. It passes through a window, so this bounds time, not memory.
const DECOMPRESSED_BYTES_MAX: usize = i32::MAX as usize;

/// Most that a wrapper of magic 0 or 1 may hold; it is decompressed whole.
const WRAPPED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// How records are shown.
pub(super) struct RecordDump {
    pub range: OffsetRange,
    pub decoding: Decoding,
    pub secrets: bool,
    /// Whether they are looked at at all.
    pub is_wanted: bool,
}

impl RecordDump {
    /// Records of a batch whose checksum is right. What is wrong in it nevertheless is said with the batch's position.
    pub fn batch(
        &self,
        position: u64,
        batch: &StoredBatch<'_>,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        if !self.is_wanted || !self.range.meets(first_offset(batch), batch.last_offset()) {
            return Ok(());
        }
        match batch.header() {
            Some(header) => self.records(position, &header, &batch.bytes()[HEADER_LEN..], output),
            None => self.legacy(position, batch, output),
        }
    }

    fn records(
        &self,
        position: u64,
        header: &BatchHeader,
        bytes: &[u8],
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let wrong = |output: &mut Output<'_>, text: &str| output.problem(Some(position), text);
        let mut records = match RecordReader::new(header, bytes, DECOMPRESSED_BYTES_MAX) {
            Ok(records) => records,
            Err(error) => return wrong(output, &error.to_string()),
        };
        let mut expected = header.base_offset;
        while let Some(record) = records.next() {
            let record = match record {
                Ok(record) => record,
                Err(error) => return wrong(output, &error.to_string()),
            };
            let offset = record.offset(header);
            if offset < expected || offset > header.last_offset() {
                wrong(
                    output,
                    &format!("a record has offset {offset}, which does not belong here"),
                )?;
            }
            expected = offset.plus(1);
            if self.range.holds(offset) {
                self.record(position, header, &record, output)?;
            }
        }
        Ok(())
    }

    fn record(
        &self,
        position: u64,
        header: &BatchHeader,
        record: &Record<'_>,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let entry = Entry::new("record")
            .below()
            .with("offset", record.offset(header).get())
            .time("timestamp", record.timestamp(header))
            .unless("keySize", size(record.key), Value::Null)
            .unless("valueSize", size(record.value), Value::Null)
            .unless("sequence", sequence(header, record), -1);
        let entry = with_headers(entry, record);
        if header.is_control() {
            return match decode::control(record.key, record.value) {
                Some((kind, value)) => {
                    output.entry(&entry.with("control", kind).with("value", value))
                }
                None => output.entry(&entry.bytes("key", record.key).bytes("value", record.value)),
            };
        }
        let decoded = decode::record(self.decoding, record.key, record.value, self.secrets);
        let Some(decoded) = decoded else {
            return output.entry(&entry.bytes("key", record.key).bytes("value", record.value));
        };
        let entry = match decoded.key {
            Some(key) => entry.with("key", key),
            None => entry.bytes("key", record.key),
        };
        output.entry(&match decoded.value {
            Some(value) => entry.with("value", value),
            None => entry.bytes("value", record.value),
        })?;
        match decoded.damage {
            Some(text) => {
                let offset = record.offset(header);
                output.problem(Some(position), &format!("the record at offset {offset}: {text}"))
            }
            None => Ok(()),
        }
    }

    fn legacy(
        &self,
        position: u64,
        batch: &StoredBatch<'_>,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let messages = match LegacyMessages::read(batch, WRAPPED_BYTES_MAX) {
            Ok(messages) => messages,
            Err(error) => return output.problem(Some(position), &error.to_string()),
        };
        for message in messages.iter().filter(|message| self.range.holds(message.offset)) {
            let entry = Entry::new("record")
                .below()
                .with("offset", message.offset.get())
                .time("timestamp", message.timestamp)
                .unless("keySize", size(message.key), Value::Null)
                .unless("valueSize", size(message.value), Value::Null)
                .bytes("key", message.key)
                .bytes("value", message.value);
            output.entry(&entry)?;
        }
        Ok(())
    }
}

/// Where a batch may begin; the first offset of a wrapper is known only inside.
fn first_offset(batch: &StoredBatch<'_>) -> Offset {
    batch.header().map_or(Offset::ZERO, |header| header.base_offset)
}

/// Kafka's -1 for null.
fn size(bytes: Option<&[u8]>) -> i64 {
    bytes.map_or(-1, |bytes| i64::try_from(bytes.len()).unwrap_or(i64::MAX))
}

fn sequence(header: &BatchHeader, record: &Record<'_>) -> i32 {
    match header.base_sequence {
        base if base >= 0 => increment_sequence(base, record.offset_delta.max(0)),
        _ => -1,
    }
}

fn with_headers(entry: Entry, record: &Record<'_>) -> Entry {
    let headers: Vec<Value> = record
        .headers
        .iter()
        .map(|(key, value)| json!([String::from_utf8_lossy(key), header_value(value)]))
        .collect();
    entry.unless("headers", headers, Value::Array(Vec::new()))
}

/// Text where it is text; other bytes as an object, so that nothing is lost.
fn header_value(value: Option<&[u8]>) -> Value {
    let Some(bytes) = value else { return Value::Null };
    str::from_utf8(bytes).map_or_else(|_| json!({ "base64": decode::base64(bytes) }), Value::from)
}
