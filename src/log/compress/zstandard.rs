//! Zstandard (RFC 8878): frames one after another.
//!
//! A frame may ask for a window of up to 128 MiB, the library's own limit and Kafka's. The library takes it from the system
//! untouched, so that only what is really decompressed costs memory.

use zstd::stream::raw::{Decoder, InBuffer, Operation as _, OutBuffer};

use super::{DecompressError, reserve_piece};
use crate::config::Codec;

pub(super) struct Stream<'a> {
    input: &'a [u8],
    state: Decoder<'static>,
    /// Between two frames.
    whole: bool,
}

impl<'a> Stream<'a> {
    pub(super) fn new(input: &'a [u8]) -> Result<Self, DecompressError> {
        let state = Decoder::new().map_err(|error| corrupt(&error.to_string()))?;
        Ok(Self { input, state, whole: false })
    }

    pub(super) fn read_more(&mut self, to: &mut Vec<u8>) -> Result<bool, DecompressError> {
        while !(self.whole && self.input.is_empty()) {
            reserve_piece(to);
            let start = to.len();
            let mut input = InBuffer::around(self.input);
            let mut output = OutBuffer::around_pos(to, start);
            let hint = self
                .state
                .run(&mut input, &mut output)
                .map_err(|error| corrupt(&error.to_string()))?;
            let (read, written) = (input.pos(), output.pos() - start);
            self.input = &self.input[read..];
            self.whole = hint == 0;
            if written > 0 {
                return Ok(true);
            }
            if read == 0 && !self.whole {
                return Err(corrupt("the stream ends too early"));
            }
        }
        Ok(false)
    }
}

fn corrupt(reason: &str) -> DecompressError {
    DecompressError::Corrupt { codec: Codec::Zstd, reason: reason.to_owned() }
}
