//! The LZ4 frame as Kafka reads it (`Lz4BlockInputStream`): independent blocks, checksums of header and blocks checked, the
//! checksum of the content skipped, anything behind the end mark ignored.
//!
//! Magic u32, flags u8, block size u8, [content size u64], header checksum u8; then blocks of length u32 (top bit: stored),
//! bytes, [checksum u32], until a length of 0. All little-endian.

use std::io::{self, Write as _};

use lz4_flex::block::decompress_into;
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use twox_hash::XxHash32;

use super::DecompressError;
use crate::config::Codec;
use crate::log::cursor::Cursor;

const MAGIC: u32 = 0x184D_2204;
const STORED: u32 = 1 << 31;

/// LZ4 gives at most 255 bytes for each, and a block is never cut short: a smaller buffer does for a small block.
const RATIO_MAX: usize = 255;

/// Whether the one-byte checksum of the frame header must be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderChecksum {
    /// Of the descriptor, as the format says.
    Right,
    /// Also that of magic and descriptor, as clients of message format 0 made it.
    RightOrWithMagic,
}

pub(super) fn compress(records: &[u8]) -> io::Result<Vec<u8>> {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::with_capacity(records.len() / 2));
    encoder.write_all(records)?;
    encoder.finish().map_err(io::Error::other)
}

pub(super) struct Stream<'a> {
    input: Cursor<'a>,
    block_len_max: usize,
    block_checksums: bool,
    ended: bool,
}

impl<'a> Stream<'a> {
    pub(super) fn new(input: &'a [u8], checksum: HeaderChecksum) -> Result<Self, DecompressError> {
        let mut cursor = Cursor::new(input);
        let [m0, m1, m2, m3, flags, block_size] =
            cursor.array().map_err(|_| corrupt("the header is cut"))?;
        if u32::from_le_bytes([m0, m1, m2, m3]) != MAGIC {
            return Err(corrupt("the magic is wrong"));
        }
        check_flags(flags)?;
        let block_len_max = block_len_max(block_size)?;
        if flags & 0x08 != 0 {
            cursor.take(8).map_err(|_| corrupt("the header is cut"))?;
        }
        let header_len = input.len() - cursor.rest().len();
        let [stored] = cursor.array().map_err(|_| corrupt("the header is cut"))?;
        check_header(&input[..header_len], stored, checksum)?;
        Ok(Self { input: cursor, block_len_max, block_checksums: flags & 0x10 != 0, ended: false })
    }

    pub(super) fn read_more(&mut self, to: &mut Vec<u8>) -> Result<bool, DecompressError> {
        while !self.ended {
            let start = to.len();
            self.read_block(to)?;
            if to.len() > start {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn read_block(&mut self, to: &mut Vec<u8>) -> Result<(), DecompressError> {
        let prefix =
            u32::from_le_bytes(self.input.array().map_err(|_| corrupt("the stream is cut"))?);
        let len = (prefix & !STORED) as usize;
        if len == 0 {
            self.ended = true;
            return Ok(());
        }
        if len > self.block_len_max {
            return Err(corrupt("a block is longer than the header allows"));
        }
        let block = self.input.take(len).map_err(|_| corrupt("a block is cut"))?;
        if self.block_checksums {
            let stored = self.input.array().map_err(|_| corrupt("a block checksum is cut"))?;
            if u32::from_le_bytes(stored) != XxHash32::oneshot(0, block) {
                return Err(corrupt("a block checksum is wrong"));
            }
        }
        if prefix & STORED != 0 {
            to.extend_from_slice(block);
            return Ok(());
        }
        let start = to.len();
        to.resize(start + self.block_len_max.min(len * RATIO_MAX), 0);
        let written = decompress_into(block, &mut to[start..])
            .map_err(|error| corrupt(&error.to_string()))?;
        to.truncate(start + written);
        Ok(())
    }
}

/// Version 1, independent blocks, no reserved bit and no dictionary.
fn check_flags(flags: u8) -> Result<(), DecompressError> {
    if flags >> 6 != 1 {
        return Err(corrupt("the version is not supported"));
    }
    if flags & 0x20 == 0 {
        return Err(corrupt("dependent blocks are not supported"));
    }
    if flags & 0x03 != 0 { Err(corrupt("reserved flags are set")) } else { Ok(()) }
}

fn block_len_max(block_size: u8) -> Result<usize, DecompressError> {
    match (block_size >> 4, block_size & 0x8f) {
        (size @ 4..=7, 0) => Ok(1 << (2 * size + 8)),
        _ => Err(corrupt("the block size is not supported")),
    }
}

fn check_header(
    header: &[u8],
    stored: u8,
    checksum: HeaderChecksum,
) -> Result<(), DecompressError> {
    let of = |bytes| (XxHash32::oneshot(0, bytes) >> 8) as u8;
    let right = of(&header[4..]) == stored;
    if right || (checksum == HeaderChecksum::RightOrWithMagic && of(header) == stored) {
        return Ok(());
    }
    Err(corrupt("the header checksum is wrong"))
}

fn corrupt(reason: &str) -> DecompressError {
    DecompressError::Corrupt { codec: Codec::Lz4, reason: reason.to_owned() }
}
