//! A `.log`, and a snapshot of the metadata, which has the same layout.

use std::io;

use super::entry::Entry;
use super::output::Output;
use super::paths::{FileKind, Found};
use super::records::RecordDump;
use super::walk::{Step, Walk};
use super::{DumpArguments, DumpError, OffsetRange};
use crate::config::{Codec, TimestampType};
use crate::env::{FileSystem, OpenMode};
use crate::log::batch::{BatchHeader, codec_of};
use crate::log::scan::{BatchDamage, StoredBatch};
use crate::types::Offset;

pub(super) fn dump(
    files: &dyn FileSystem,
    arguments: &DumpArguments,
    found: &Found,
    base: Offset,
    output: &mut Output<'_>,
) -> Result<(), DumpError> {
    let file = files.open(&found.path, OpenMode::ReadOnly).map_err(DumpError::Read)?;
    let bytes = file.len().map_err(DumpError::Read)?;
    let what = if found.kind == FileKind::Snapshot { "metadata snapshot" } else { "log" };
    output.head(
        Entry::new("file").with("type", what).with("baseOffset", base.get()).with("bytes", bytes),
    )?;
    let mut walk = Walk::new(file, arguments.max_bytes).map_err(DumpError::Read)?;
    let limited = walk.end() < bytes;
    let mut dump = SegmentDump::new(arguments, found, base);
    while let Some(step) = walk.next().map_err(DumpError::Read)? {
        dump.step(step, limited, output)?;
    }
    if limited {
        output.note(&format!("only the first {} bytes were read", walk.end()))?;
    }
    Ok(())
}

/// What must be known of the batches before to judge the next.
struct SegmentDump {
    range: OffsetRange,
    base: Offset,
    expected: Offset,
    records: RecordDump,
}

impl SegmentDump {
    fn new(arguments: &DumpArguments, found: &Found, base: Offset) -> Self {
        let range = arguments.offsets.unwrap_or(OffsetRange::ALL);
        let decoding = arguments.decode.of(&found.directory);
        let is_wanted = arguments.records || arguments.verify;
        let records = RecordDump { range, decoding, secrets: arguments.secrets, is_wanted };
        Self { range, base, expected: base, records }
    }

    fn step(&mut self, step: Step<'_>, limited: bool, output: &mut Output<'_>) -> io::Result<()> {
        match step {
            Step::Batch { position, batch, damage } => self.batch(position, &batch, damage, output),
            Step::TooLarge { position, bytes } => output.problem(
                Some(position),
                &format!("a batch of {bytes} bytes, which is too large to be looked at"),
            ),
            // The end that was asked for lies within a batch.
            Step::Gap { .. } | Step::Growing { .. } if limited => Ok(()),
            Step::Gap { from, to, why } => {
                output.problem(Some(from), &format!("{} bytes up to {to}: {why}", to - from))
            }
            Step::Growing { from } => {
                output.note(&format!("the end, from byte {from} on, is being written"))
            }
        }
    }

    fn batch(
        &mut self,
        position: u64,
        batch: &StoredBatch<'_>,
        damage: Option<BatchDamage>,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let first = batch.header().map_or(batch.offset_field(), |header| header.base_offset);
        if self.range.meets(first, batch.last_offset()) {
            output.entry(&entry(position, batch, damage.is_none()))?;
        }
        if let Some(damage) = damage {
            return output.problem(Some(position), &damage.to_string());
        }
        if first < self.expected {
            let expected = self.expected;
            let text = format!("offset {first} follows where {expected} is the least that can");
            output.problem(Some(position), &text)?;
        }
        if batch.last_offset().get().saturating_sub(self.base.get()) > i64::from(i32::MAX) {
            let text = format!("offset {} is too far from the base", batch.last_offset());
            output.problem(Some(position), &text)?;
        } else {
            self.expected = batch.last_offset().plus(1);
        }
        self.records.batch(position, batch, output)
    }
}

fn entry(position: u64, batch: &StoredBatch<'_>, is_valid: bool) -> Entry {
    let entry = Entry::new("batch");
    let entry = match batch.header() {
        Some(header) => of_header(entry, &header),
        None => entry
            .with("lastOffset", batch.offset_field().get())
            .time("maxTimestamp", batch.max_timestamp()),
    };
    entry
        .with("position", position)
        .with("size", batch.bytes().len())
        .unless("magic", batch.magic(), 2)
        .unless("codec", codec(batch), "none")
        .with("crc", crc(batch))
        .unless("valid", is_valid, true)
}

fn of_header(entry: Entry, header: &BatchHeader) -> Entry {
    let horizon = header.delete_horizon().map(|at| at.get());
    entry
        .with("baseOffset", header.base_offset.get())
        .with("lastOffset", header.last_offset().get())
        .with("count", header.records_count)
        .time("maxTimestamp", header.max_timestamp)
        .unless("timestampType", type_name(header.timestamp_type()), "CreateTime")
        .with("leaderEpoch", header.partition_leader_epoch.get())
        .unless("producerId", header.producer_id.get(), -1)
        .unless("producerEpoch", header.producer_epoch.get(), -1)
        .unless("baseSequence", header.base_sequence, -1)
        .unless("lastSequence", header.last_sequence(), -1)
        .unless("transactional", header.is_transactional(), false)
        .unless("control", header.is_control(), false)
        .unless("deleteHorizonMs", horizon, None::<i64>)
}

pub(super) fn type_name(kind: TimestampType) -> &'static str {
    match kind {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    }
}

/// The attributes lie at the same place in magic 0 and 1.
fn codec(batch: &StoredBatch<'_>) -> String {
    let attributes = batch.header().map(|header| header.attributes);
    let attributes = attributes.unwrap_or_else(|| i16::from(batch.bytes()[17]));
    match codec_of(attributes) {
        Ok(codec) => codec_name(codec).to_owned(),
        Err(unknown) => format!("unknown-{}", unknown.0),
    }
}

fn crc(batch: &StoredBatch<'_>) -> u32 {
    batch.header().map_or_else(
        || {
            let field = batch.bytes()[12..].first_chunk().copied();
            u32::from_be_bytes(field.unwrap_or_default())
        },
        |header| header.crc,
    )
}

fn codec_name(codec: Codec) -> &'static str {
    match codec {
        Codec::None => "none",
        Codec::Gzip => "gzip",
        Codec::Snappy => "snappy",
        Codec::Lz4 => "lz4",
        Codec::Zstd => "zstd",
    }
}
