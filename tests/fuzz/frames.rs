//! The reader of frames, fed as a socket would feed it: in pieces of any size, several requests in flight, frames held on to.
//!
//! A second reading of the same bytes, which has them all at once, says what must come out whatever the pieces are.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use highwater::env::ByteBudget;
use highwater::kafka::network::frame::{FrameError, FrameLimits, FrameReader, READ_BYTES};
use tokio::io::{AsyncRead, ReadBuf};

use crate::harness::Allowance;
use crate::mutate::Random;

/// Below what the inputs announce at times, above what the requests in them take.
const FRAME_BYTES_MAX: usize = 48 * 1024;

/// Frames may be held on to, at most so many at a time.
const HELD_MAX: usize = 4;

/// Structures and error texts.
const OVERHEAD: usize = 16 * 1024;

/// The first byte chooses pieces and frames to hold, the others arrive.
pub fn frame_reader(input: &[u8]) -> Allowance {
    let Some((&choice, stream)) = input.split_first() else { return Allowance(OVERHEAD) };
    let limits = FrameLimits { frame_bytes: FRAME_BYTES_MAX, budget_bytes: budget_of(choice) };
    let mut random = Random::new(u64::from(choice), "pieces", stream.len() as u64);
    let read = Reading::new(limits).run(stream, &mut random);
    assert!(read == at_once(stream, limits), "pieces make no difference");
    // The buffer and the one that it grows out of; the frames held are slices of buffers that were as large.
    Allowance(OVERHEAD + (2 + HELD_MAX) * most_held(stream.len()) + 4 * stream.len())
}

/// Half of it must hold a frame: with some choices that is the stricter limit.
fn budget_of(choice: u8) -> usize {
    if choice.is_multiple_of(2) { 1 << 20 } else { 64 * 1024 }
}

/// What came out: lengths and sums of the frames, since the bytes are too many to keep, and how it ended.
#[derive(Debug, PartialEq)]
struct Outcome {
    frames: Vec<(usize, u64)>,
    error: Option<FrameError>,
}

fn digest(frame: &[u8]) -> (usize, u64) {
    let sum = frame.iter().fold(17_u64, |sum, byte| sum.wrapping_mul(31) ^ u64::from(*byte));
    (frame.len(), sum)
}

/// What the bytes mean, read in the plainest way.
fn at_once(mut stream: &[u8], limits: FrameLimits) -> Outcome {
    let mut outcome = Outcome { frames: Vec::new(), error: None };
    while let Some((length, rest)) = stream.split_first_chunk::<4>() {
        let number = i32::from_be_bytes(*length);
        let Some(len) = usize::try_from(number).ok().filter(|len| *len <= limits.frame_bytes)
        else {
            outcome.error = Some(refused(*length, limits));
            break;
        };
        if len > limits.budget_bytes / 2 {
            let limit = limits.budget_bytes / 2;
            outcome.error = Some(FrameError::Budget { length: number, limit });
            break;
        }
        let Some((frame, rest)) = rest.split_at_checked(len) else { break };
        outcome.frames.push(digest(frame));
        stream = rest;
    }
    outcome
}

fn refused(length: [u8; 4], limits: FrameLimits) -> FrameError {
    let http = ["GET ", "HEAD", "POST", "PUT ", "DELE", "CONN", "OPTI", "TRAC", "PRI "];
    if length.starts_with(&[22, 3]) {
        FrameError::Tls
    } else if http.iter().any(|method| method.as_bytes() == length) {
        FrameError::Http
    } else {
        FrameError::Length { length: i32::from_be_bytes(length), limit: limits.frame_bytes }
    }
}

/// Most bytes that the reader's buffer may take when so many have arrived.
fn most_held(arrived: usize) -> usize {
    READ_BYTES.max(2 * arrived)
}

/// Most bytes that it may take out of the budget then: one who has sent half of a first buffer takes all that a frame will need.
fn most_taken(arrived: usize) -> usize {
    if arrived <= READ_BYTES / 2 { READ_BYTES } else { 2 * (FRAME_BYTES_MAX + READ_BYTES) }
}

/// A connection without a socket.
struct Reading {
    reader: FrameReader,
    outcome: Outcome,
    held: Vec<Bytes>,
}

impl Reading {
    fn new(limits: FrameLimits) -> Self {
        let outcome = Outcome { frames: Vec::new(), error: None };
        Self { reader: FrameReader::new(limits), outcome, held: Vec::new() }
    }

    fn run(mut self, stream: &[u8], random: &mut Random) -> Outcome {
        let budget = ByteBudget::new(usize::MAX);
        let mut arrived = 0;
        while arrived < stream.len() && self.outcome.error.is_none() {
            if let Some(size) = self.reader.room() {
                let permit = budget.try_take(size).expect("an endless budget");
                drop(self.reader.grow(permit));
            }
            assert!(budget.used_bytes() <= most_taken(arrived), "{arrived} arrived");
            let most = piece_max(random);
            let piece = 1 + random.below(most);
            let mut socket = Socket { waiting: &stream[arrived..], piece };
            arrived += self.read_some(&mut socket);
            self.take_frames(random);
        }
        self.outcome
    }

    fn read_some(&mut self, socket: &mut Socket<'_>) -> usize {
        let mut cx = Context::from_waker(Waker::noop());
        match self.reader.poll_read(socket, &mut cx) {
            Poll::Ready(Ok(len)) => {
                assert!(len > 0, "there was room and there were bytes");
                len
            }
            other => panic!("{other:?}"),
        }
    }

    fn take_frames(&mut self, random: &mut Random) {
        loop {
            match self.reader.next_frame() {
                Ok(Some(frame)) => {
                    self.outcome.frames.push(digest(&frame));
                    if random.below(2) == 0 && self.held.len() < HELD_MAX {
                        self.held.push(frame);
                    } else if random.below(3) == 0 {
                        self.held.clear();
                    }
                }
                Ok(None) => return,
                Err(error) => return self.outcome.error = Some(error),
            }
        }
    }
}

/// Single bytes, a few, packets, all there is.
fn piece_max(random: &mut Random) -> usize {
    [1, 9, 1500, 64 * 1024][random.below(4)]
}

/// Gives at most `piece` bytes.
struct Socket<'a> {
    waiting: &'a [u8],
    piece: usize,
}

impl AsyncRead for Socket<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let len = self.piece.min(self.waiting.len()).min(buffer.remaining());
        buffer.put_slice(&self.waiting[..len]);
        Poll::Ready(Ok(()))
    }
}
