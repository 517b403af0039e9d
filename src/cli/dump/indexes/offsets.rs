//! `.index`: last offset of a batch and where it begins.

use std::io;

use super::{BesideLog, IndexKind};
use crate::cli::dump::DumpError;
use crate::cli::dump::entry::Entry;
use crate::cli::dump::output::Output;
use crate::log::format::offset_index::{ENTRY_LEN, OffsetEntry};
use crate::types::Offset;

/// The entry before, and the log.
pub(in crate::cli::dump) struct OffsetIndex {
    before: OffsetEntry,
    log: Option<BesideLog>,
}

impl IndexKind<ENTRY_LEN> for OffsetIndex {
    type Entry = OffsetEntry;

    const NAME: &'static str = "offset index";

    fn begin(base: Offset, log: Option<BesideLog>) -> Self {
        Self { before: OffsetEntry { offset: base.plus(-1), position: 0 }, log }
    }

    fn may_be_zero(_file_bytes: u64) -> bool {
        false
    }

    fn offset(entry: OffsetEntry) -> Offset {
        entry.offset
    }

    fn show(entry: OffsetEntry) -> Entry {
        let shown = Entry::new("entry").with("offset", entry.offset.get());
        shown.with("position", u64::from(entry.position))
    }

    fn check(
        &mut self,
        at: u64,
        entry: OffsetEntry,
        output: &mut Output<'_>,
    ) -> Result<(), DumpError> {
        let before = std::mem::replace(&mut self.before, entry);
        let in_order = check_order(at, before, entry, output)?;
        match &mut self.log {
            Some(log) if in_order => check(at, entry, log, output),
            _ => Ok(()),
        }
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
