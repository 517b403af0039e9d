//! Compaction: of each key only the newest record stays (Kafka's `LogCleaner`).
//!
//! 1. [`assess()`] says what of a log is dirty, what may be cleaned now, and whether that is worth it.
//! 2. [`Round::begin`] reads the dirty part into a map of keys to their newest offsets.
//! 3. [`Round::next`] writes the segments anew, a group of them at a time, without what the map shows to be old.
//! 4. [`Log::replace`](super::Log::replace) puts each group into the log.
//! 5. [`Round::end`] then goes into `cleaner-offset-checkpoint`.
//!
//! Offsets never change. Nothing here holds a lock while it reads or writes; one thread cleans a log at a time. How fast it
//! goes, and whether it goes on, is up to the [`Pace`].

mod assess;
mod filter;
mod groups;
mod key_map;
mod last_records;
mod mapping;
mod output;
mod rewrite;
mod round;
mod source;
mod superseded;
mod swap;
mod transactions;

use std::fmt::Debug;
use std::io;

pub use self::assess::{Assessment, Standing, assess};
pub use self::filter::Tally;
pub use self::key_map::KeyMapLimits;
pub use self::round::Round;
pub use self::source::CleaningSource;
pub use self::swap::{ReplaceError, Replacement};
use crate::env::is_no_room;
use crate::types::Offset;

/// What a round maps: from the end of the last one to where nothing may be cleaned yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyRange {
    /// First dirty offset.
    pub from: Offset,
    /// Exclusive end.
    pub to: Offset,
}

/// What a round may use.
#[derive(Clone, Copy, Debug)]
pub struct CleaningLimits {
    /// Of the map.
    pub keys: KeyMapLimits,
    /// Read, and written, at a time; a larger batch is read whole.
    pub buffer_bytes: usize,
}

/// Asked between two batches.
pub trait Pace: Debug {
    /// Bytes were read or are to be written: waits as long as a limit on them says. An error ends the round.
    fn go_on(&self, bytes: u64) -> Result<(), Stop>;

    /// So many bytes of the log were read: each of the dirty part twice in a round, each of the clean part once.
    fn has_read(&self, _bytes: u64) {}
}

/// The round shall not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop;

/// Why a log was not cleaned, or only in part. What [`Log::replace`](super::Log::replace) took in stays.
#[derive(Debug, thiserror::Error)]
pub enum CleanError {
    /// The pace said so.
    #[error("the cleaning was stopped")]
    Stopped,
    /// A batch is not what was written, or cannot be read.
    #[error("the segment {base} is damaged at position {position}: {reason}")]
    Damaged {
        /// Base of the segment.
        base: Offset,
        /// Where the batch begins.
        position: u64,
        /// In words.
        reason: String,
    },
    /// One batch has more keys than the map may hold.
    #[error("the keys of the batch at offset {offset} do not fit log.cleaner.dedupe.buffer.size")]
    KeysDoNotFit {
        /// First offset that is not clean.
        offset: Offset,
    },
    /// The byte budget has nothing left for a map; later it may.
    #[error("there is no memory for a map of the keys")]
    NoMemory,
    /// The disk is full, or no further file may be opened; later it may be otherwise.
    #[error("the disk is full, or no further file may be opened")]
    NoRoom,
    /// A file cannot be read.
    #[error("reading the log failed: {0}")]
    Read(io::Error),
    /// The new files cannot be written; the log is as before.
    #[error("writing the cleaned segments failed: {0}")]
    Write(io::Error),
}

impl CleanError {
    /// Of a failed write.
    pub fn of_write(error: io::Error) -> Self {
        if is_no_room(&error) { Self::NoRoom } else { Self::Write(error) }
    }

    /// Of a failed read, or a file that could not be opened.
    pub fn of_read(error: io::Error) -> Self {
        if is_no_room(&error) { Self::NoRoom } else { Self::Read(error) }
    }
}
