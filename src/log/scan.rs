//! Walks stored batches of any magic, as recovery, reads and index searches do (Kafka's `FileLogInputStream`,
//! `ByteBufferLogInputStream`).
//!
//! Framing and verification are two steps: a scan looks at lengths and magic alone, so that a reader who trusts its own
//! log pays for nothing more; [`StoredBatch::verify`] adds the checksum. Pure functions over bytes.

use super::batch::{BatchHeader, HEADER_LEN, LENGTH_PREFIX, MAGIC_V2, compute_crc};
use crate::types::{LeaderEpoch, Offset, Timestamp};

#[cfg(test)]
mod tests;

/// Bytes up to and including the magic, which lies at the same place in all three formats.
pub const MAGIC_END: usize = 17;

/// Least value of the length field: an empty message of magic 0.
const LENGTH_MIN: [i32; 3] = [14, 22, (HEADER_LEN - LENGTH_PREFIX) as i32];

/// What stands at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// A whole batch of this many bytes, framed but not verified.
    Whole(usize),
    /// A batch that goes on behind the bytes: this many are needed to learn more. At the end of a file it is a torn tail,
    /// which is cut off without complaint. It says nothing about whether so many bytes exist: compare with the file.
    Partial(usize),
    /// No batch can begin like this.
    Corrupt(FramingError),
}

/// Why no batch can begin with some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// The length field is below what its magic needs. Zeros, as in a preallocated tail, look like this.
    #[error("found record size {size} smaller than minimum record overhead ({minimum})")]
    SizeTooSmall {
        /// The length field.
        size: i32,
        /// The least that it may be.
        minimum: i32,
    },
    /// Neither 0, 1 nor 2.
    #[error("invalid magic {0}")]
    Magic(i8),
}

/// Looks at the first bytes for the length of the batch that begins there.
pub fn frame(bytes: &[u8]) -> Framing {
    // Kafka begins a batch on disk only with more than 17 bytes at hand; with fewer no batch can be whole, whatever they say.
    let Some(prefix) = bytes.first_chunk::<MAGIC_END>().filter(|_| bytes.len() > MAGIC_END) else {
        return Framing::Partial(MAGIC_END + 1);
    };
    let size = i32::from_be_bytes([prefix[8], prefix[9], prefix[10], prefix[11]]);
    if size < LENGTH_MIN[0] {
        return Framing::Corrupt(FramingError::SizeTooSmall { size, minimum: LENGTH_MIN[0] });
    }
    let magic = prefix[16] as i8;
    let Some(&minimum) = usize::try_from(magic).ok().and_then(|magic| LENGTH_MIN.get(magic)) else {
        return Framing::Corrupt(FramingError::Magic(magic));
    };
    if size < minimum {
        return Framing::Corrupt(FramingError::SizeTooSmall { size, minimum });
    }
    let whole = LENGTH_PREFIX + size as usize; // not negative: at least `minimum`
    if bytes.len() < whole { Framing::Partial(whole) } else { Framing::Whole(whole) }
}

/// One whole batch (magic 2) or message (magic 0 and 1; possibly a compressed wrapper of several), as stored.
#[derive(Clone, Copy)]
pub struct StoredBatch<'a> {
    bytes: &'a [u8],
}

/// Why a framed batch is not what was once written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchDamage {
    /// The bytes are not those that the checksum was made of.
    #[error("record is corrupt (stored crc = {stored}, computed crc = {computed})")]
    Checksum {
        /// In the header.
        stored: u32,
        /// Of the bytes.
        computed: u32,
    },
    /// A count or delta that cannot be, under a right checksum.
    #[error(
        "the header is impossible: last offset delta {last_offset_delta}, {records_count} records"
    )]
    Header {
        /// Must not be negative.
        last_offset_delta: i32,
        /// Must not be negative.
        records_count: i32,
    },
}

impl<'a> StoredBatch<'a> {
    /// The first batch in `bytes`; `None` unless [`frame`] finds it whole.
    pub fn first(bytes: &'a [u8]) -> Option<Self> {
        match frame(bytes) {
            Framing::Whole(len) => Some(Self { bytes: &bytes[..len] }),
            Framing::Partial(_) | Framing::Corrupt(_) => None,
        }
    }

    /// All of it, exactly.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// 0, 1 or 2.
    pub fn magic(&self) -> i8 {
        self.bytes[16] as i8
    }

    /// The header, if the magic is 2.
    pub fn header(&self) -> Option<BatchHeader> {
        if self.magic() == MAGIC_V2 { BatchHeader::parse(self.bytes) } else { None }
    }

    /// The offset field: the base offset of a batch, but the *last* offset of a compressed wrapper of magic 0 and 1, whose
    /// first one is known only inside.
    pub fn offset_field(&self) -> Offset {
        Offset::new(self.i64_at(0))
    }

    /// Offset of the last record.
    pub fn last_offset(&self) -> Offset {
        self.header().map_or_else(|| self.offset_field(), |header| header.last_offset())
    }

    /// Largest timestamp of the records; −1 for magic 0.
    pub fn max_timestamp(&self) -> Timestamp {
        match self.magic() {
            0 => Timestamp::NONE,
            1 => Timestamp::new(self.i64_at(18)),
            _ => Timestamp::new(self.i64_at(35)),
        }
    }

    /// The epoch it was appended in; −1 for magic 0 and 1, which know none.
    pub fn leader_epoch(&self) -> LeaderEpoch {
        self.header().map_or(LeaderEpoch::NONE, |header| header.partition_leader_epoch)
    }

    /// Checks the checksum (CRC-32C for magic 2, CRC-32 before) and that counts are possible.
    pub fn verify(&self) -> Result<(), BatchDamage> {
        let (stored, computed) = match self.header() {
            Some(header) => (header.crc, compute_crc(self.bytes)),
            None => (self.u32_at(12), crc32fast::hash(&self.bytes[16..])),
        };
        if stored != computed {
            return Err(BatchDamage::Checksum { stored, computed });
        }
        match self.header() {
            Some(BatchHeader { last_offset_delta, records_count, .. })
                if last_offset_delta < 0 || records_count < 0 =>
            {
                Err(BatchDamage::Header { last_offset_delta, records_count })
            }
            _ => Ok(()),
        }
    }

    fn i64_at(&self, at: usize) -> i64 {
        let mut raw = [0; 8];
        raw.copy_from_slice(&self.bytes[at..at + 8]);
        i64::from_be_bytes(raw)
    }

    fn u32_at(&self, at: usize) -> u32 {
        let mut raw = [0; 4];
        raw.copy_from_slice(&self.bytes[at..at + 4]);
        u32::from_be_bytes(raw)
    }
}

/// The batches in some bytes, in order, with where each begins. Ends at the first that is not whole; then [`Scan::position`]
/// and [`Scan::ending`] say where and why.
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    bytes: &'a [u8],
    position: usize,
}

/// Why a scan came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanEnd {
    /// Nothing is left.
    Exhausted,
    /// A batch goes on behind the bytes; see [`Framing::Partial`].
    Partial(usize),
    /// See [`Framing::Corrupt`].
    Corrupt(FramingError),
}

/// Scans `bytes` from their start.
pub fn scan(bytes: &[u8]) -> Scan<'_> {
    Scan { bytes, position: 0 }
}

impl Scan<'_> {
    /// Where the next batch begins, or would begin.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Why there is no next batch; `None` while there is one.
    pub fn ending(&self) -> Option<ScanEnd> {
        let rest = &self.bytes[self.position..];
        if rest.is_empty() {
            return Some(ScanEnd::Exhausted);
        }
        match frame(rest) {
            Framing::Whole(_) => None,
            Framing::Partial(needed) => Some(ScanEnd::Partial(needed)),
            Framing::Corrupt(error) => Some(ScanEnd::Corrupt(error)),
        }
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = (usize, StoredBatch<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let position = self.position;
        let batch = StoredBatch::first(&self.bytes[position..])?;
        self.position += batch.bytes.len();
        Some((position, batch))
    }
}
