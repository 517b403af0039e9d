//! `.index`: last offset of a batch and where it begins.

use std::io;

use super::{BesideLog, head, no_log, preallocated};
use crate::cli::dump::entry::Entry;
use crate::cli::dump::output::Output;
use crate::cli::dump::paths::Found;
use crate::cli::dump::stream::Entries;
use crate::cli::dump::{DumpArguments, DumpError, OffsetRange};
use crate::env::{FileSystem, OpenMode};
use crate::log::format::entries::Entry as _;
use crate::log::format::offset_index::{ENTRY_LEN, OffsetEntry};
use crate::types::Offset;

pub(in crate::cli::dump) fn dump(
    files: &dyn FileSystem,
    arguments: &DumpArguments,
    found: &Found,
    base: Offset,
    output: &mut Output<'_>,
) -> Result<(), DumpError> {
    let file = files.open(&found.path, OpenMode::ReadOnly).map_err(DumpError::Read)?;
    let mut entries = Entries::<ENTRY_LEN>::new(file).map_err(DumpError::Read)?;
    output.head(head("offset index", base, entries.file_bytes()))?;
    let range = arguments.offsets.unwrap_or(OffsetRange::ALL);
    let mut log = if arguments.verify { BesideLog::open(files, &found.path)? } else { None };
    if arguments.verify && log.is_none() {
        no_log(output)?;
    }
    let mut before = OffsetEntry { offset: base.plus(-1), position: 0 };
    while let Some((at, raw)) = entries.next().map_err(DumpError::Read)? {
        if raw == [0; ENTRY_LEN] {
            return Ok(preallocated(at, entries.file_bytes(), output)?);
        }
        let entry = OffsetEntry::decode(&raw, base);
        if range.holds(entry.offset) {
            let position = u64::from(entry.position);
            let shown = Entry::new("entry").with("offset", entry.offset.get());
            output.entry(&shown.with("position", position))?;
        }
        let in_order = check_order(at, before, entry, output)?;
        if let Some(log) = log.as_mut().filter(|_| in_order) {
            check(at, entry, log, output)?;
        }
        before = entry;
    }
    torn(&entries, output)?;
    Ok(())
}

fn torn(entries: &Entries<ENTRY_LEN>, output: &mut Output<'_>) -> io::Result<()> {
    match entries.torn_bytes() {
        0 => Ok(()),
        torn => output.problem(None, &format!("{torn} bytes behind the last entry are none")),
    }
}

fn check_order(
    at: u64,
    before: OffsetEntry,
    entry: OffsetEntry,
    output: &mut Output<'_>,
) -> io::Result<bool> {
    if entry.offset > before.offset && entry.position > before.position {
        return Ok(true);
    }
    let text = format!(
        "offset {} at {} follows offset {} at {}",
        entry.offset, entry.position, before.offset, before.position
    );
    output.problem(Some(at), &text)?;
    Ok(false)
}

/// Kafka's check: the batch at the position ends with the offset.
fn check(
    at: u64,
    entry: OffsetEntry,
    log: &mut BesideLog,
    output: &mut Output<'_>,
) -> Result<(), DumpError> {
    let position = u64::from(entry.position);
    while log.current.is_some_and(|batch| batch.position < position) {
        log.advance().map_err(DumpError::Read)?;
    }
    let what = match log.current {
        Some(batch) if batch.position == position && batch.last_offset == entry.offset => {
            return Ok(());
        }
        Some(batch) if batch.position == position => {
            format!("where the log has a batch that ends with {}", batch.last_offset)
        }
        Some(_) => "where no batch of the log begins".to_owned(),
        None => format!("behind the last batch of the log, which has {} bytes", log.walk.end()),
    };
    let text = format!("an entry for offset {} points at {position}, {what}", entry.offset);
    Ok(output.problem(Some(at), &text)?)
}
