//! Where batches begin in a segment file, without reading their records.

use std::io;
use std::sync::Arc;

use super::access::Access;
use super::batch::{BatchHeader, HEADER_LEN, MAGIC_V2};
use super::scan::{Framing, MAGIC_END, frame};
use crate::env::File;
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// First read of a scan; mostly it ends there.
const BLOCK_BYTES_MIN: usize = 4 << 10;
/// Reads of a scan that goes on.
const BLOCK_BYTES_MAX: usize = 64 << 10;

/// What the first bytes of a stored batch say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchStart {
    /// Where it begins in its file, or in the bytes it was parsed from.
    pub(super) position: u64,
    /// Bytes of the whole batch.
    pub(super) size: u64,
    /// Of a compressed wrapper of magic 0 and 1 the *last* offset; the first is known only inside.
    pub(super) base_offset: Offset,
    pub(super) last_offset: Offset,
    /// −1 for magic 0.
    pub(super) max_timestamp: Timestamp,
    /// −1 before magic 2.
    pub(super) leader_epoch: LeaderEpoch,
    /// Only magic 2 has one.
    pub(super) header: Option<BatchHeader>,
}

impl BatchStart {
    /// Where the next batch begins.
    pub(super) fn end(&self) -> u64 {
        self.position + self.size
    }

    /// Reads the start of the batch that begins with `bytes`, which need not be all of it: [`HEADER_LEN`] bytes are
    /// enough. `None` if no batch can begin like this, or too few bytes are there.
    pub(super) fn parse(bytes: &[u8], position: u64) -> Option<Self> {
        let size = match frame(bytes) {
            Framing::Whole(size) => size,
            Framing::Partial(size) if size > MAGIC_END + 1 => size,
            Framing::Partial(_) | Framing::Corrupt(_) => return None,
        };
        let size = size as u64;
        if bytes[16] as i8 == MAGIC_V2 {
            let header = BatchHeader::parse(bytes)?;
            return Some(Self {
                position,
                size,
                base_offset: header.base_offset,
                last_offset: header.last_offset(),
                max_timestamp: header.max_timestamp,
                leader_epoch: header.partition_leader_epoch,
                header: Some(header),
            });
        }
        let offset = Offset::new(i64_at(bytes, 0)?);
        let max_timestamp = if bytes[16] == 0 { -1 } else { i64_at(bytes, 18)? };
        Some(Self {
            position,
            size,
            base_offset: offset,
            last_offset: offset,
            max_timestamp: Timestamp::new(max_timestamp),
            leader_epoch: LeaderEpoch::NONE,
            header: None,
        })
    }
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    bytes.get(at..)?.first_chunk().map(|raw| i64::from_be_bytes(*raw))
}

/// Starts of batches in a part of a file, in order. Ends at the first that is not whole or cannot be one.
#[derive(Debug)]
pub(super) struct StartScan {
    file: Arc<dyn File>,
    access: Access,
    position: u64,
    end: u64,
    block: Vec<u8>,
    block_position: u64,
    block_len: usize,
}

impl StartScan {
    /// From `position`, where a batch must begin, to `end`.
    pub(super) fn new(file: Arc<dyn File>, position: u64, end: u64) -> Self {
        Self::with_access(Access::Blocking, file, position, end)
    }

    /// As [`StartScan::new`], asking the file as `access` says.
    pub(super) fn with_access(
        access: Access,
        file: Arc<dyn File>,
        position: u64,
        end: u64,
    ) -> Self {
        let block_len = BLOCK_BYTES_MIN;
        Self { file, access, position, end, block: Vec::new(), block_position: 0, block_len }
    }

    /// Where the next batch begins, or would begin.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The next start.
    pub(super) fn next(&mut self) -> io::Result<Option<BatchStart>> {
        let wanted = (HEADER_LEN as u64).min(self.end.saturating_sub(self.position)) as usize;
        if !self.holds(wanted) {
            self.read_block()?;
        }
        let from = (self.position - self.block_position) as usize;
        let start =
            self.block.get(from..).and_then(|bytes| BatchStart::parse(bytes, self.position));
        let start = start.filter(|start| start.end() <= self.end);
        if let Some(start) = &start {
            self.position = start.end();
        }
        Ok(start)
    }

    fn holds(&self, wanted: usize) -> bool {
        let block_end = self.block_position + self.block.len() as u64;
        self.position >= self.block_position && self.position + wanted as u64 <= block_end
    }

    fn read_block(&mut self) -> io::Result<()> {
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        self.block.resize(self.block_len.min(left), 0);
        let read = self.access.read(self.file.as_ref(), &mut self.block, self.position)?;
        self.block.truncate(read);
        self.block_position = self.position;
        self.block_len = (self.block_len * 2).min(BLOCK_BYTES_MAX);
        Ok(())
    }
}
