//! The transaction index of the active segment as the appender writes it.
//!
//! An entry is written before the marker that it tells of: without it readers would take aborted records for committed ones, so a
//! disk that has no room for the entry must not take the marker either. It counts once the marker is in the log.

use std::io;
use std::sync::Arc;

use super::format::aborted_index::{AbortedEntry, ENTRY_LEN};
use super::segment::{FileKind, SegmentFiles};
use crate::env::File;

/// The file, opened when it is first needed and kept: a log in which much is aborted must not open it each time.
#[derive(Debug, Default)]
pub(super) struct AbortedWriter {
    opened: Option<Opened>,
}

#[derive(Debug)]
struct Opened {
    file: Arc<dyn File>,
    /// Bytes of the entries that count.
    len: u64,
    /// Its name may not be on disk yet.
    is_new: bool,
    /// An entry was added since the last sync.
    is_unsynced: bool,
}

/// What is to be synced.
#[derive(Debug)]
pub(super) struct UnsyncedAborted {
    pub(super) file: Arc<dyn File>,
    /// The directory too.
    pub(super) is_new: bool,
}

impl AbortedWriter {
    /// Writes the next entry, creating the file with the first one. It is to be kept or cut off.
    pub(super) fn write(&mut self, files: &SegmentFiles, entry: &AbortedEntry) -> io::Result<()> {
        if self.opened.is_none() {
            let file = files.open_or_create(FileKind::TransactionIndex)?;
            let len = file.len()?;
            self.opened = Some(Opened { file, len, is_new: len == 0, is_unsynced: false });
        }
        let opened = self.opened.as_ref().expect("just opened");
        opened.file.write_all_at(&entry.encode(), opened.len)
    }

    /// The marker of the entry that was written last is in the log.
    pub(super) fn keep(&mut self) {
        if let Some(opened) = &mut self.opened {
            opened.len += ENTRY_LEN as u64;
            opened.is_unsynced = true;
        }
    }

    /// Cuts off an entry, or a part of one, whose marker is not in the log.
    pub(super) fn cut(&mut self) -> io::Result<()> {
        self.opened.as_ref().map_or(Ok(()), |opened| opened.file.set_len(opened.len))
    }

    /// What must be synced for the entries since the last call.
    pub(super) fn take_unsynced(&mut self) -> Option<UnsyncedAborted> {
        let opened = self.opened.as_mut().filter(|opened| opened.is_unsynced)?;
        opened.is_unsynced = false;
        let is_new = std::mem::take(&mut opened.is_new);
        Some(UnsyncedAborted { file: Arc::clone(&opened.file), is_new })
    }
}
