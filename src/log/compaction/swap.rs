//! Cleaned segments take the place of those that they were made of (Kafka's `LocalLog.replaceSegments`).
//!
//! Only renames happen under the appender's lock: the old files to `.deleted`, where readers with an older view find them until
//! they are removed, then the new ones from `.swap` to their names. After a crash at any step the sweep at the next opening
//! finishes it.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use super::output::remove_all;
use crate::log::log::Log;
use crate::log::segment::{FileKind, Segment, SegmentList, Suffix};
use crate::types::{Offset, Timestamp};

/// Finished segments, and those whose place they take.
#[derive(Debug)]
pub struct Replacement {
    pub(super) old: Vec<Arc<Segment>>,
    pub(super) new: Vec<Arc<Segment>>,
}

/// Why cleaned segments were not taken in.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// Some of the old ones are not in the log any more; the log is as before.
    #[error("segments were deleted while they were cleaned")]
    Changed,
    /// Names on disk are not what they should be: nothing must be written to the log any more.
    #[error("segments could not be renamed: {0}")]
    Rename(io::Error),
}

impl Replacement {
    /// Removes the files of one that is not taken in. Blocks.
    pub fn abandon(&self) {
        remove_all(self.new.iter().map(AsRef::as_ref));
    }

    /// Bytes of the old and of the new segments.
    pub fn bytes(&self) -> (u64, u64) {
        let sum = |segments: &[Arc<Segment>]| segments.iter().map(|s| s.sealed_len).sum();
        (sum(&self.old), sum(&self.new))
    }
}

impl Log {
    /// Takes cleaned segments in. Renames, but syncs nothing: the directory is in the next sync work. The old files go with
    /// [`Log::remove_deleted`].
    pub fn replace(
        &mut self,
        replacement: &Replacement,
        now: Timestamp,
    ) -> Result<(), ReplaceError> {
        let sealed = &self.segments.sealed;
        let Some(at) = position_of(sealed, &replacement.old) else {
            return Err(ReplaceError::Changed);
        };
        let mut segments = sealed.clone();
        segments.splice(at..at + replacement.old.len(), replacement.new.iter().cloned());
        self.rename(replacement, now).map_err(ReplaceError::Rename)?;
        let active = Arc::clone(&self.segments.active);
        self.segments = Arc::new(SegmentList::new(segments, active));
        self.unsynced.directories.push(self.directory.to_path_buf());
        self.publish();
        Ok(())
    }

    fn rename(&mut self, replacement: &Replacement, now: Timestamp) -> io::Result<()> {
        let bases: BTreeSet<Offset> = replacement.new.iter().map(|new| new.base).collect();
        for old in &replacement.old {
            // Producer state at a base that is still there is worth keeping.
            let kept = bases.contains(&old.base);
            let kinds: &[FileKind] = if kept { &FileKind::OF_A_SEGMENT } else { &FileKind::ALL };
            self.delete_later(old, kinds, now)?;
        }
        for new in &replacement.new {
            new.files.rename(&FileKind::OF_A_SEGMENT, Suffix::None)?;
        }
        Ok(())
    }
}

/// Where these segments stand, one behind the other.
fn position_of(sealed: &[Arc<Segment>], old: &[Arc<Segment>]) -> Option<usize> {
    let first = old.first()?;
    let at = sealed.iter().position(|segment| Arc::ptr_eq(segment, first))?;
    let there = sealed.get(at..at + old.len())?;
    there.iter().zip(old).all(|(a, b)| Arc::ptr_eq(a, b)).then_some(at)
}
