//! What readers see: an immutable view, published after every change.

use std::io;

use super::slice::Slice;
use crate::types::{LeaderEpoch, Offset, ProducerId, Timestamp};

/// How far a consumer may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Up to the high watermark.
    ReadUncommitted,
    /// Up to the last stable offset.
    ReadCommitted,
}

/// How much one read may return.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimit {
    /// Exclusive end: high watermark or last stable offset.
    pub end: Offset,
    /// Most bytes.
    pub bytes_max: usize,
    /// Return the first batch even if it is larger than `bytes_max`.
    pub first_batch_whole: bool,
}

/// A transaction that a read_committed consumer must skip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// Its producer.
    pub producer_id: ProducerId,
    /// Its first offset in the partition.
    pub first_offset: Offset,
}

/// A ListOffsets question that the log answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeQuery {
    /// First record at or after this time.
    At(Timestamp),
    /// The record with the largest timestamp.
    Max,
}

/// Answer to a [`TimeQuery`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields of the answer")]
pub struct OffsetAtTime {
    pub offset: Offset,
    pub timestamp: Timestamp,
    pub leader_epoch: LeaderEpoch,
}

/// Why a read failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Below the log start or beyond the log end.
    #[error("offset {offset} is outside {log_start}..={log_end}")]
    OutOfRange {
        /// Asked for.
        offset: Offset,
        /// First offset there is.
        log_start: Offset,
        /// End of the log.
        log_end: Offset,
    },
    /// The disk failed.
    #[error("reading the log failed: {0}")]
    Io(#[from] io::Error),
}

/// An immutable view of a log. Cheap to publish: one small allocation per append.
#[derive(Debug)]
pub struct LogView {
    /// First offset there is.
    pub log_start: Offset,
    /// Exclusive end of what was written.
    pub log_end: Offset,
    /// First offset of the oldest open transaction, if any.
    pub first_unstable: Option<Offset>,
}

impl LogView {
    /// Reads from memory alone: `Ok(None)` if files must be asked. Never blocks.
    pub fn read_tail(&self, _from: Offset, _limit: ReadLimit) -> Result<Option<Slice>, ReadError> {
        unimplemented!("engine")
    }

    /// Reads through index and files. Blocks; also warms the page cache for what it returns.
    pub fn read_files(&self, _from: Offset, _limit: ReadLimit) -> Result<Slice, ReadError> {
        unimplemented!("engine")
    }

    /// Bytes from `from` to `end`, counting no further than `enough`; without I/O, so an estimate for older segments.
    pub fn bytes_between(&self, _from: Offset, _end: Offset, _enough: usize) -> usize {
        unimplemented!("engine")
    }

    /// Searches by time. Blocks.
    pub fn offset_at(&self, _query: TimeQuery, _end: Offset) -> io::Result<Option<OffsetAtTime>> {
        unimplemented!("engine")
    }

    /// Aborted transactions that overlap `from..to`. Blocks.
    pub fn aborted_between(
        &self,
        _from: Offset,
        _to: Offset,
    ) -> io::Result<Vec<AbortedTransaction>> {
        unimplemented!("engine")
    }

    /// End of the largest known epoch at or below `epoch` (OffsetForLeaderEpoch): (that epoch, its end).
    pub fn end_of_epoch(&self, _epoch: LeaderEpoch) -> Option<(LeaderEpoch, Offset)> {
        unimplemented!("engine")
    }

    /// The epoch that `offset` was written in.
    pub fn epoch_at(&self, _offset: Offset) -> Option<LeaderEpoch> {
        unimplemented!("engine")
    }

    /// Bytes on disk, all segments.
    pub fn size_bytes(&self) -> u64 {
        unimplemented!("engine")
    }
}
