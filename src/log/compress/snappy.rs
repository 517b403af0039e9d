//! Snappy in the framing of xerial's snappy-java: magic `82 "SNAPPY" 00`, version i32, compatible version i32, then blocks of
//! length i32 and a raw snappy block. Whatever does not begin with the magic is one bare block, as some clients send.

use std::io;

use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use super::DecompressError;
use crate::config::Codec;

const MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
const HEADER_LEN: usize = 16;
const VERSION: [u8; 4] = 1i32.to_be_bytes();

/// What one block holds when we compress, as snappy-java's default.
const BLOCK_LEN: usize = 32 * 1024;

/// A copy element gives at most 64 bytes for 3, so a block that promises more than that is lying.
const RATIO_MAX: usize = 22;

pub(super) fn compress(records: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(HEADER_LEN + records.len() / 2);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION);
    out.extend_from_slice(&VERSION);
    let mut encoder = Encoder::new();
    let mut block = vec![0; max_compress_len(records.len().min(BLOCK_LEN))];
    for piece in records.chunks(BLOCK_LEN) {
        let len = encoder.compress(piece, &mut block).map_err(io::Error::other)?;
        out.extend_from_slice(&(len as u32).to_be_bytes()); // a block is far below 2^31
        out.extend_from_slice(&block[..len]);
    }
    Ok(out)
}

pub(super) struct Stream<'a> {
    input: &'a [u8],
    framed: bool,
    decoder: Decoder,
}

impl<'a> Stream<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        let framed = input.starts_with(&MAGIC);
        Self { input, framed, decoder: Decoder::new() }
    }

    pub(super) fn read_more(&mut self, to: &mut Vec<u8>) -> Result<bool, DecompressError> {
        while let Some(block) = self.next_block()? {
            let len = decompress_len(block).map_err(|error| corrupt(&error.to_string()))?;
            if len > block.len() * RATIO_MAX {
                return Err(corrupt("a block promises more than it can hold"));
            }
            let start = to.len();
            to.resize(start + len, 0);
            self.decoder
                .decompress(block, &mut to[start..])
                .map_err(|error| corrupt(&error.to_string()))?;
            if len > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn next_block(&mut self) -> Result<Option<&'a [u8]>, DecompressError> {
        if !self.framed {
            let block = std::mem::take(&mut self.input);
            return Ok((!block.is_empty()).then_some(block));
        }
        // Streams may follow each other, each with its header (snappy-java reads them so).
        while self.input.starts_with(&MAGIC) {
            self.input =
                self.input.get(HEADER_LEN..).ok_or_else(|| corrupt("the header is cut"))?;
        }
        if self.input.is_empty() {
            return Ok(None);
        }
        let (len, rest) =
            self.input.split_first_chunk().ok_or_else(|| corrupt("a block length is cut"))?;
        let len = u32::from_be_bytes(*len) as usize;
        let (block, rest) = rest.split_at_checked(len).ok_or_else(|| corrupt("a block is cut"))?;
        self.input = rest;
        Ok(Some(block))
    }
}

fn corrupt(reason: &str) -> DecompressError {
    DecompressError::Corrupt { codec: Codec::Snappy, reason: reason.to_owned() }
}
