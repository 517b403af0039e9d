//! The four codecs of record batches, in the framings that Kafka's clients use (`org.apache.kafka.common.compress`).
//!
//! gzip is RFC 1952, snappy is xerial's block framing (a bare block is read too), lz4 is the LZ4 frame with independent
//! blocks, zstd is RFC 8878. Decompression goes piece by piece into a buffer of the caller, who decides when it has seen
//! enough: sizes that the bytes declare are never trusted with memory.

mod gzip;
mod lz4;
mod snappy;
mod zstandard;

#[cfg(test)]
mod tests;

use std::io;

use crate::config::Codec;

pub use lz4::HeaderChecksum;

/// Room that a stream codec is given at least, each time it is asked for more.
const PIECE_LEN: usize = 32 * 1024;

/// How to compress: a codec and its level, as `compression.<codec>.level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// The codec.
    pub codec: Codec,
    /// gzip −1 or 1 to 9, zstd −131072 to 22. There is but one lz4 here, which is Kafka's at its default level.
    pub level: i32,
}

impl Compression {
    /// A codec at Kafka's default level.
    pub const fn default_of(codec: Codec) -> Self {
        let level = match codec {
            Codec::Zstd => 3,
            Codec::Lz4 => 9,
            Codec::None | Codec::Gzip | Codec::Snappy => -1,
        };
        Self { codec, level }
    }

    /// Compresses `records`. Fails only for want of memory.
    pub fn compress(self, records: &[u8]) -> io::Result<Vec<u8>> {
        match self.codec {
            Codec::None => Ok(records.to_vec()),
            Codec::Gzip => gzip::compress(records, self.level),
            Codec::Snappy => snappy::compress(records),
            Codec::Lz4 => lz4::compress(records),
            Codec::Zstd => zstd::bulk::compress(records, self.level),
        }
    }
}

/// Why bytes cannot be decompressed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecompressError {
    /// They were not made by the codec, or were cut.
    #[error("{codec:?} data is corrupt: {reason}")]
    Corrupt {
        /// The codec.
        codec: Codec,
        /// In words.
        reason: String,
    },
    /// They hold more than allowed.
    #[error("the records decompress to more than {limit} bytes")]
    TooLarge {
        /// Allowed.
        limit: usize,
    },
}

/// Decompresses piece by piece.
pub struct Decompressor<'a>(Stream<'a>);

enum Stream<'a> {
    Stored(&'a [u8]),
    Gzip(gzip::Stream<'a>),
    Snappy(snappy::Stream<'a>),
    Lz4(lz4::Stream<'a>),
    Zstd(Box<zstandard::Stream<'a>>),
}

impl<'a> Decompressor<'a> {
    /// Begins to decompress `input`.
    pub fn new(codec: Codec, input: &'a [u8]) -> Result<Self, DecompressError> {
        Ok(Self(match codec {
            Codec::None => Stream::Stored(input),
            Codec::Gzip => Stream::Gzip(gzip::Stream::new(input)),
            Codec::Snappy => Stream::Snappy(snappy::Stream::new(input)),
            Codec::Lz4 => Stream::Lz4(lz4::Stream::new(input, HeaderChecksum::Right)?),
            Codec::Zstd => Stream::Zstd(Box::new(zstandard::Stream::new(input)?)),
        }))
    }

    /// As `new` for lz4, with its header checked as asked.
    pub fn lz4(input: &'a [u8], checksum: HeaderChecksum) -> Result<Self, DecompressError> {
        Ok(Self(Stream::Lz4(lz4::Stream::new(input, checksum)?)))
    }

    /// Appends some more bytes to `to`, how many is up to the codec: what fits its spare room or `PIECE_LEN`, or one
    /// block. False at the end.
    pub fn read_more(&mut self, to: &mut Vec<u8>) -> Result<bool, DecompressError> {
        match &mut self.0 {
            Stream::Stored(bytes) => {
                to.extend_from_slice(bytes);
                Ok(!std::mem::take(bytes).is_empty())
            }
            Stream::Gzip(stream) => stream.read_more(to),
            Stream::Snappy(stream) => stream.read_more(to),
            Stream::Lz4(stream) => stream.read_more(to),
            Stream::Zstd(stream) => stream.read_more(to),
        }
    }

    /// All that is left, if it is no more than `limit` bytes.
    pub fn read_all(mut self, limit: usize) -> Result<Vec<u8>, DecompressError> {
        let mut out = Vec::new();
        while self.read_more(&mut out)? {
            if out.len() > limit {
                return Err(DecompressError::TooLarge { limit });
            }
        }
        Ok(out)
    }
}

/// Makes room for one more piece.
fn reserve_piece(to: &mut Vec<u8>) {
    if to.capacity() - to.len() < PIECE_LEN {
        to.reserve(PIECE_LEN);
    }
}
