//! What readers see: an immutable view, published after every change.
//!
//! Everything in it but a few numbers is shared with the views before and after. How a read finds its bytes lies in `read`,
//! how a time is looked up in `time_search`, what was aborted in `aborted`.

use std::io;
use std::sync::Arc;

use super::epochs::Epochs;
use super::segment::{LargestTimestamp, SegmentList};
use super::tail::Tail;
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
    /// First offset of the oldest open transaction, if any; at least the log start.
    pub first_open: Option<Offset>,
    pub(super) segments: Arc<SegmentList>,
    /// Where the active segment ends.
    pub(super) active_end: u64,
    pub(super) active_largest: LargestTimestamp,
    pub(super) tail: Arc<Tail>,
    pub(super) epochs: Arc<Epochs>,
    /// Compaction takes records out of the middle.
    pub(super) may_have_gaps: bool,
}

impl LogView {
    /// End of the largest known epoch at or below `epoch` (OffsetForLeaderEpoch): (that epoch, its end). `None` for an epoch
    /// newer than all that wrote something: the current one, if it has not, ends at the log end.
    pub fn end_of_epoch(&self, epoch: LeaderEpoch) -> Option<(LeaderEpoch, Offset)> {
        self.epochs.end_of(epoch, self.log_end)
    }

    /// The epoch that `offset` was written in.
    pub fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.epochs.at(offset)
    }

    /// Bytes on disk, all segments.
    pub fn size_bytes(&self) -> u64 {
        self.segments.sealed_bytes + self.active_end
    }

    /// Bytes of segment number `number`.
    pub(super) fn len_of(&self, number: usize) -> u64 {
        self.segments.sealed.get(number).map_or(self.active_end, |segment| segment.sealed_len)
    }
}
