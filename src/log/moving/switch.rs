//! The end of a move, as the log sees it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::segment_copy::IndexTail;
use super::{CopyError, LogCopy};
use crate::log::compaction::{Pace, Stop};
use crate::log::format::{leader_epochs, offset_index, time_index};
use crate::log::log::{Log, Unsynced};
use crate::log::segment::FileKind;

/// Little is left, and nobody may append meanwhile.
#[derive(Debug)]
struct Unhurried;

impl Pace for Unhurried {
    fn go_on(&self, _bytes: u64) -> Result<(), Stop> {
        Ok(())
    }
}

impl Log {
    /// Copies what the copy still lacks and makes all of it durable: it is the log then, as long as nothing is appended.
    /// Writes nothing to the log itself, whose disk may be full. Blocks.
    pub fn complete_copy(&mut self, copy: &mut LogCopy) -> Result<(), CopyError> {
        if let Some(failure) = &self.failure {
            return Err(CopyError::Source(failure.to_error()));
        }
        let source = self.copy_source();
        copy.catch_up(&source, &Unhurried)?;
        let unsaved = self.active.unsaved_entries();
        let tail = |saved: usize, entry_len: usize, entries| IndexTail {
            on_disk: (saved * entry_len) as u64,
            entries,
        };
        let indexes = [
            (
                FileKind::OffsetIndex,
                tail(unsaved.saved.offsets, offset_index::ENTRY_LEN, unsaved.offsets),
            ),
            (FileKind::TimeIndex, tail(unsaved.saved.times, time_index::ENTRY_LEN, unsaved.times)),
        ];
        let entries = self.epochs.entries();
        let epochs = (!entries.is_empty()).then(|| leader_epochs::encode(entries));
        let indexes = (!self.active.is_unborn()).then_some(indexes.as_slice());
        copy.complete(&source, indexes, epochs.as_deref(), &Unhurried)
    }

    /// The files lie in `to` once `rename` has run: whoever opens one opens it there, and nobody opens one meanwhile. What is
    /// open stays open. After an error of `rename` they lie where they did.
    pub fn relocate(
        &mut self,
        to: &Arc<Path>,
        rename: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let segments = self.segments.sealed.iter().chain([&self.segments.active]);
        let mut held: Vec<_> = segments.map(|segment| segment.files.hold()).collect();
        rename()?;
        held.iter_mut().for_each(|files| files.move_to(to));
        drop(held);
        self.directory = Arc::clone(to);
        Ok(())
    }

    /// `rename` gives the old directory, which the log has left, the name `gone`: what was deleted from the log and is still read
    /// is found there.
    pub fn leave(
        &mut self,
        gone: &Arc<Path>,
        rename: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let mut held: Vec<_> =
            self.waiting.iter().map(|waiting| waiting.segment().hold()).collect();
        rename()?;
        held.iter_mut().for_each(|files| files.move_to(gone));
        Ok(())
    }

    /// The log is the completed copy now: everything in it is on disk.
    pub fn moved(&mut self) {
        self.active.moved();
        self.unsynced = Unsynced::default();
        // They went with the old directory.
        self.waiting.clear();
        self.recovery_point = self.log_end;
        self.settled = self.active_base();
        self.saved_epochs = Arc::clone(&self.epochs);
        self.has_metadata = true;
        self.directory_is_new = false;
    }
}
