//! gzip (RFC 1952): members one after another.

use std::io::{self, Write as _};

use flate2::write::GzEncoder;
use flate2::{Decompress, FlushDecompress, Status};

use super::{DecompressError, reserve_piece};
use crate::config::Codec;

/// Largest window, as gzip always allows.
const WINDOW_BITS: u8 = 15;

pub(super) fn compress(records: &[u8], level: i32) -> io::Result<Vec<u8>> {
    let level = u32::try_from(level)
        .map_or_else(|_| flate2::Compression::default(), flate2::Compression::new);
    let mut encoder = GzEncoder::new(Vec::with_capacity(records.len() / 4), level);
    encoder.write_all(records)?;
    encoder.finish()
}

pub(super) struct Stream<'a> {
    input: &'a [u8],
    state: Decompress,
    ended: bool,
}

impl<'a> Stream<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Self { input, state: Decompress::new_gzip(WINDOW_BITS), ended: false }
    }

    pub(super) fn read_more(&mut self, to: &mut Vec<u8>) -> Result<bool, DecompressError> {
        while !self.ended {
            reserve_piece(to);
            let (len_before, read_before) = (to.len(), self.state.total_in());
            let status = self.state.decompress_vec(self.input, to, FlushDecompress::None);
            let status = status.map_err(|error| corrupt(&error.to_string()))?;
            let read = (self.state.total_in() - read_before) as usize; // no more than `input`
            self.input = &self.input[read..];
            match status {
                Status::StreamEnd => self.next_member(),
                Status::Ok | Status::BufError if read == 0 && to.len() == len_before => {
                    return Err(corrupt("the stream ends too early"));
                }
                Status::Ok | Status::BufError => {}
            }
            if to.len() > len_before {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn next_member(&mut self) {
        self.ended = self.input.is_empty();
        if !self.ended {
            self.state = Decompress::new_gzip(WINDOW_BITS);
        }
    }
}

fn corrupt(reason: &str) -> DecompressError {
    DecompressError::Corrupt { codec: Codec::Gzip, reason: reason.to_owned() }
}
