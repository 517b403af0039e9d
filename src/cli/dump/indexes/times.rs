//! `.timeindex`: largest timestamp so far, and the last offset of the batch that first reached it.

use std::io;

use super::{BesideLog, IndexKind};
use crate::cli::dump::DumpError;
use crate::cli::dump::entry::Entry;
use crate::cli::dump::output::Output;
use crate::log::format::time_index::{ENTRY_LEN, TimeEntry};
use crate::types::{Offset, Timestamp};

/// The entry before, the log, and the largest timestamp of what the walk has passed.
pub(in crate::cli::dump) struct TimeIndex {
    before: TimeEntry,
    log: Option<BesideLog>,
    largest: Timestamp,
}

impl IndexKind<ENTRY_LEN> for TimeIndex {
    type Entry = TimeEntry;

    const NAME: &'static str = "time index";

    fn begin(base: Offset, log: Option<BesideLog>) -> Self {
        let before = TimeEntry { timestamp: Timestamp::NONE, offset: base };
        Self { before, log, largest: Timestamp::NONE }
    }

    /// A single entry of zeros is one: a record of 1970.
    fn may_be_zero(file_bytes: u64) -> bool {
        file_bytes <= ENTRY_LEN as u64
    }

    fn offset(entry: TimeEntry) -> Offset {
        entry.offset
    }

    fn show(entry: TimeEntry) -> Entry {
        let shown = Entry::new("entry").time("timestamp", entry.timestamp);
        shown.with("offset", entry.offset.get())
    }

    fn check(
        &mut self,
        at: u64,
        entry: TimeEntry,
        output: &mut Output<'_>,
    ) -> Result<(), DumpError> {
        let before = std::mem::replace(&mut self.before, entry);
        if check_order(at, before, entry, output)? {
            self.check_with_log(at, entry, output)?;
        }
        Ok(())
    }
}

impl TimeIndex {
    /// Kafka's check: a batch ends with the offset and has the timestamp. And one more, which time searches rely on: nothing
    /// before it is newer.
    fn check_with_log(
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
