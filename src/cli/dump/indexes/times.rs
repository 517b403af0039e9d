//! `.timeindex`: largest timestamp so far, and the last offset of the batch that first reached it.

use std::io;

use super::{BesideLog, head, no_log, preallocated};
use crate::cli::dump::entry::Entry;
use crate::cli::dump::output::Output;
use crate::cli::dump::paths::Found;
use crate::cli::dump::stream::Entries;
use crate::cli::dump::{DumpArguments, DumpError, OffsetRange};
use crate::env::{FileSystem, OpenMode};
use crate::log::format::entries::Entry as _;
use crate::log::format::time_index::{ENTRY_LEN, TimeEntry};
use crate::types::{Offset, Timestamp};

pub(in crate::cli::dump) fn dump(
    files: &dyn FileSystem,
    arguments: &DumpArguments,
    found: &Found,
    base: Offset,
    output: &mut Output<'_>,
) -> Result<(), DumpError> {
    let file = files.open(&found.path, OpenMode::ReadOnly).map_err(DumpError::Read)?;
    let mut entries = Entries::<ENTRY_LEN>::new(file).map_err(DumpError::Read)?;
    output.head(head("time index", base, entries.file_bytes()))?;
    let range = arguments.offsets.unwrap_or(OffsetRange::ALL);
    let log = if arguments.verify { BesideLog::open(files, &found.path)? } else { None };
    if arguments.verify && log.is_none() {
        no_log(output)?;
    }
    let mut times = TimesBesideLog { log, largest: Timestamp::NONE };
    let mut before = TimeEntry { timestamp: Timestamp::NONE, offset: base };
    while let Some((at, raw)) = entries.next().map_err(DumpError::Read)? {
        // A single entry of zeros is one: a record of 1970.
        if raw == [0; ENTRY_LEN] && entries.file_bytes() > ENTRY_LEN as u64 {
            return Ok(preallocated(at, entries.file_bytes(), output)?);
        }
        let entry = TimeEntry::decode(&raw, base);
        if range.holds(entry.offset) {
            let shown = Entry::new("entry").time("timestamp", entry.timestamp);
            output.entry(&shown.with("offset", entry.offset.get()))?;
        }
        if check_order(at, before, entry, output)? {
            times.check(at, entry, output)?;
        }
        before = entry;
    }
    match entries.torn_bytes() {
        0 => Ok(()),
        torn => Ok(output.problem(None, &format!("{torn} bytes behind the last entry are none"))?),
    }
}

fn check_order(
    at: u64,
    before: TimeEntry,
    entry: TimeEntry,
    output: &mut Output<'_>,
) -> io::Result<bool> {
    if entry.timestamp > before.timestamp && entry.offset >= before.offset {
        return Ok(true);
    }
    let text = format!(
        "timestamp {} up to offset {} follows timestamp {} up to offset {}",
        entry.timestamp, entry.offset, before.timestamp, before.offset
    );
    output.problem(Some(at), &text)?;
    Ok(false)
}

/// The log, and the largest timestamp of what the walk has passed.
struct TimesBesideLog {
    log: Option<BesideLog>,
    largest: Timestamp,
}

impl TimesBesideLog {
    /// Kafka's check: a batch ends with the offset and has the timestamp. And one more, which time searches rely on: nothing
    /// before it is newer.
    fn check(
        &mut self,
        at: u64,
        entry: TimeEntry,
        output: &mut Output<'_>,
    ) -> Result<(), DumpError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        while let Some(batch) = log.current.filter(|batch| batch.last_offset < entry.offset) {
            self.largest = self.largest.max(batch.max_timestamp);
            log.advance().map_err(DumpError::Read)?;
        }
        let what = match log.current {
            Some(batch) if batch.last_offset != entry.offset => {
                "with which no batch of the log ends".to_owned()
            }
            Some(batch) if batch.max_timestamp != entry.timestamp => {
                format!("where the batch of the log has {}", batch.max_timestamp)
            }
            Some(_) if self.largest > entry.timestamp => {
                format!("but a record before it has {}", self.largest)
            }
            Some(_) => return Ok(()),
            None => "which lies behind the last batch of the log".to_owned(),
        };
        let text =
            format!("timestamp {} is entered for offset {}, {what}", entry.timestamp, entry.offset);
        Ok(output.problem(Some(at), &text)?)
    }
}
