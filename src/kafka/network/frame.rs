//! From bytes to frames.
//!
//! ```text
//! length i32, payload
//! ```
//!
//! The length is checked before anything is reserved, and the buffer grows with what has arrived, never with what was announced:
//! a peer that announces 100 MiB and sends nothing holds [`READ_BYTES`]. Frames are slices of the buffer. When the handlers
//! have let go of them, the next read goes to the front of the same memory, so that a steady stream of requests allocates
//! nothing and stays in the cache. What the buffer takes is counted against the budget per allocation, not per frame.
//!
//! A frame that needs more than one step gets all it will need out of the budget before the first one (it is counted, not
//! allocated): frames that each hold a part and wait for the rest would wait for each other.

use std::pin::pin;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::env::BytePermit;

/// Bytes of a connection's first read buffer.
pub const READ_BYTES: usize = 16 * 1024;

/// Bytes that a read into a large frame may take beyond its end. Above zero, so that a read that gets all there is returns
/// less than it asked for and the socket need not be asked again; small, since they move when the buffer is reused.
const READ_AHEAD_BYTES: usize = 1024;

/// A connection that has sent frames of this size gets a buffer of it at once.
const KEPT_BYTES: usize = 1024 * 1024;

const LENGTH_BYTES: usize = 4;

/// Why no frame can be read from a connection any more.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The length is negative or above `socket.request.max.bytes`.
    #[error(
        "a frame of {length} bytes is announced, {limit} are allowed (socket.request.max.bytes)"
    )]
    Length {
        /// As announced.
        length: i32,
        /// The most.
        limit: usize,
    },
    /// The frame can never get the memory that it needs.
    #[error(
        "a frame of {length} bytes is announced, the byte budget allows {limit} (highwater.memory.bytes)"
    )]
    Budget {
        /// As announced.
        length: i32,
        /// The most.
        limit: usize,
    },
    /// The peer speaks TLS.
    #[error(
        "the peer speaks TLS, but this listener is plain text: is the client set to security.protocol=SSL?"
    )]
    Tls,
    /// The peer speaks HTTP.
    #[error("the peer speaks HTTP, but this is a Kafka port")]
    Http,
}

/// Reads frames of one connection.
#[derive(Debug)]
pub struct FrameReader {
    buffer: BytesMut,
    /// Of the allocation that the buffer is a part of.
    capacity: usize,
    /// Covers `capacity`, or all that the frame will need that is arriving.
    permit: Option<BytePermit>,
    was_filled: bool,
    limits: FrameLimits,
}

/// How long a frame may be.
#[derive(Clone, Copy, Debug)]
pub struct FrameLimits {
    /// `socket.request.max.bytes`.
    pub frame_bytes: usize,
    /// The whole byte budget. The last step of a growing buffer holds the old one and the new one.
    pub budget_bytes: usize,
}

impl FrameReader {
    /// A reader without memory yet.
    pub fn new(limits: FrameLimits) -> Self {
        Self { buffer: BytesMut::new(), capacity: 0, permit: None, was_filled: false, limits }
    }

    /// The next frame, without its length, if it is here as a whole.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, FrameError> {
        match self.frame_len()? {
            Some(len) if self.buffer.len() >= LENGTH_BYTES + len => {
                self.buffer.advance(LENGTH_BYTES);
                if let Some(permit) = &mut self.permit
                    && permit.bytes() > self.capacity
                {
                    permit.resize(self.capacity);
                }
                Ok(Some(self.buffer.split_to(len).freeze()))
            }
            _ => Ok(None),
        }
    }

    /// Makes room for the next read. `Some` is the number of bytes to be taken out of the budget before: give a permit for them
    /// to [`FrameReader::grow`].
    pub fn room(&mut self) -> Option<usize> {
        let target = self.target();
        // To the front of the memory if no frame uses it any more: whatever fits there stays in the cache.
        if self.buffer.is_empty() && self.buffer.try_reclaim(self.capacity.max(target)) {
            return None;
        }
        let missing = target.saturating_sub(self.buffer.len());
        if self.buffer.try_reclaim(missing) {
            return None;
        }
        if self.permit.as_ref().is_some_and(|permit| permit.bytes() > self.capacity) {
            // Nothing but the frame is in the old memory.
            self.move_to(target);
            return None;
        }
        let whole = self.whole().unwrap_or(target);
        if target >= whole || target <= READ_BYTES {
            return Some(target);
        }
        // The last step holds the old memory and the new.
        Some((2 * whole).min(self.limits.budget_bytes))
    }

    /// Goes on in a new allocation under `permit`. Returns the permit of the old one, which frames may still be using.
    pub fn grow(&mut self, permit: BytePermit) -> Option<BytePermit> {
        self.move_to(self.target());
        self.permit.replace(permit)
    }

    fn move_to(&mut self, capacity: usize) {
        let mut buffer = BytesMut::with_capacity(capacity);
        buffer.extend_from_slice(&self.buffer);
        self.buffer = buffer;
        self.capacity = capacity;
    }

    /// True while what has arrived of a frame keeps more memory than any connection may have.
    pub fn holds_part(&self) -> bool {
        self.capacity > READ_BYTES && !self.buffer.is_empty()
    }

    /// Reads what is there into the room made before: the number of bytes, 0 at the end.
    pub fn poll_read(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<std::io::Result<usize>> {
        let most = self.read_bytes_max();
        let mut room = (&mut self.buffer).limit(most);
        let read = pin!(stream.read_buf(&mut room)).poll(cx);
        self.was_filled = matches!(read, Poll::Ready(Ok(bytes)) if bytes == most);
        read
    }

    /// True if the last read got all it asked for, so that there is more.
    pub fn was_filled(&self) -> bool {
        self.was_filled
    }

    /// True while the reader holds no memory.
    pub fn is_released(&self) -> bool {
        self.capacity == 0
    }

    /// Gives the memory back if nothing is in it.
    pub fn release(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
            self.capacity = 0;
            self.permit = None;
        }
    }

    /// Length of the frame that is being read, once its length is here.
    fn frame_len(&self) -> Result<Option<usize>, FrameError> {
        let Some(length) = self.buffer.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let FrameLimits { frame_bytes, budget_bytes } = self.limits;
        let in_budget = budget_bytes / 2;
        match usize::try_from(i32::from_be_bytes(*length)) {
            Ok(len) if len > frame_bytes => Err(refusal(*length, frame_bytes)),
            Ok(len) if len > in_budget => {
                Err(FrameError::Budget { length: i32::from_be_bytes(*length), limit: in_budget })
            }
            Ok(len) => Ok(Some(len)),
            Err(_) => Err(refusal(*length, frame_bytes)),
        }
    }

    /// What the frame takes in memory, once its length is here.
    fn whole(&self) -> Option<usize> {
        let len = self.frame_len().ok().flatten()?;
        Some(LENGTH_BYTES + len + READ_AHEAD_BYTES)
    }

    /// Size that the buffer should have now: what the frame takes, but no more than twice what has arrived, or what it has had
    /// already up to [`KEPT_BYTES`], so that a stream of large frames does not grow it anew for each.
    fn target(&self) -> usize {
        let Some(whole) = self.whole() else { return READ_BYTES };
        let trusted = self.capacity.min(KEPT_BYTES);
        whole.clamp(READ_BYTES, READ_BYTES.max(2 * self.buffer.len()).max(trusted))
    }

    fn read_bytes_max(&self) -> usize {
        let spare = self.buffer.capacity() - self.buffer.len();
        match self.frame_len() {
            Ok(Some(len)) if len > READ_BYTES => {
                spare.min((LENGTH_BYTES + len).saturating_sub(self.buffer.len()) + READ_AHEAD_BYTES)
            }
            _ => spare,
        }
    }
}

/// Names the protocol that begins like this where it is a known one.
fn refusal(length: [u8; LENGTH_BYTES], limit: usize) -> FrameError {
    const HTTP_METHODS: [&[u8; 4]; 9] =
        [b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"CONN", b"OPTI", b"TRAC", b"PRI "];
    const TLS_HANDSHAKE: [u8; 2] = [22, 3];
    if length.starts_with(&TLS_HANDSHAKE) {
        FrameError::Tls
    } else if HTTP_METHODS.contains(&&length) {
        FrameError::Http
    } else {
        FrameError::Length { length: i32::from_be_bytes(length), limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{ByteBudget, Random, SeededRandom, SystemRandom};

    fn reader_with(bytes: &[u8]) -> FrameReader {
        let limits = FrameLimits { frame_bytes: 100 << 20, budget_bytes: 256 << 20 };
        let mut reader = FrameReader::new(limits);
        arrive(&mut reader, bytes);
        reader
    }

    fn arrive(reader: &mut FrameReader, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = &bytes[arrive_some(reader, bytes)..];
        }
    }

    /// What one read does, without a socket; how many of `bytes` it took.
    fn arrive_some(reader: &mut FrameReader, bytes: &[u8]) -> usize {
        if let Some(size) = reader.room() {
            let budget = ByteBudget::new(usize::MAX);
            reader.grow(budget.try_take(size).expect("an endless budget"));
        }
        let len = reader.read_bytes_max().min(bytes.len());
        assert!(len > 0 && len <= reader.buffer.capacity() - reader.buffer.len());
        reader.buffer.extend_from_slice(&bytes[..len]);
        len
    }

    #[test]
    fn frames_of_one_segment_come_one_by_one() {
        let mut reader = reader_with(&[0, 0, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0, 2, 8]);
        assert_eq!(reader.next_frame(), Ok(Some(Bytes::from_static(&[7]))));
        assert_eq!(reader.next_frame(), Ok(Some(Bytes::new())));
        assert_eq!(reader.next_frame(), Ok(None));
        arrive(&mut reader, &[9]);
        assert_eq!(reader.next_frame(), Ok(Some(Bytes::from_static(&[8, 9]))));
    }

    #[test]
    fn frames_cut_into_any_segments_come_out_as_they_were_sent() {
        let seed = SystemRandom.next_u64();
        println!("seed {seed}");
        let dice = SeededRandom::new(seed);
        let below = |end: usize| (dice.next_u64() % end as u64) as usize;
        for _ in 0..100 {
            let sizes = [below(20), below(3 * READ_BYTES), below(200_000), below(100), READ_BYTES];
            let frames: Vec<Vec<u8>> = sizes.map(|size| vec![dice.next_u64() as u8; size]).into();
            let framed =
                |frame: &Vec<u8>| [&(frame.len() as i32).to_be_bytes()[..], frame].concat();
            let sent: Vec<u8> = frames.iter().flat_map(framed).collect();
            let mut reader = reader_with(&[]);
            let (mut received, mut at) = (Vec::new(), 0);
            while at < sent.len() {
                let len = (1 + below(40_000)).min(sent.len() - at);
                at += arrive_some(&mut reader, &sent[at..at + len]);
                // Held on to, so that some memory is in use while the next frames arrive.
                while let Some(frame) = reader.next_frame().expect("well formed") {
                    received.push(frame);
                }
            }
            assert!(received == frames);
        }
    }

    #[test]
    fn an_announced_frame_reserves_only_what_has_arrived() {
        let mut reader = reader_with(&(100_i32 << 20).to_be_bytes());
        assert_eq!(reader.room(), None);
        assert_eq!(reader.buffer.capacity(), READ_BYTES);
        let mut largest = 0;
        for sent in (0..100 * 1024).step_by(1024) {
            arrive(&mut reader, &[0; 1024]);
            largest = largest.max(reader.buffer.capacity());
            assert!(largest <= READ_BYTES.max(2 * (4 + sent + 1024)), "{largest} for {sent}");
        }
    }

    #[test]
    fn frames_that_were_let_go_leave_their_memory_to_the_next() {
        let mut reader = reader_with(&[]);
        arrive(&mut reader, &[0, 0, 0, 1, 7]);
        let first = reader.next_frame().expect("well formed").expect("whole");
        let address = first.as_ptr();
        drop(first);
        arrive(&mut reader, &[0, 0, 0, 1, 8]);
        let second = reader.next_frame().expect("well formed").expect("whole");
        assert_eq!(second.as_ptr(), address);
        arrive(&mut reader, &[0, 0, 0, 1, 9]);
        assert_eq!(second[..], [8], "memory in use is not overwritten");
    }

    #[test]
    fn lengths_that_no_frame_may_have_are_refused() {
        let refused = |bytes: &[u8; 4]| reader_with(bytes).next_frame().expect_err("refused");
        let limit = 100 * 1024 * 1024;
        assert_eq!(refused(&[0xff; 4]), FrameError::Length { length: -1, limit });
        let above = (limit as i32 + 1).to_be_bytes();
        assert_eq!(refused(&above), FrameError::Length { length: limit as i32 + 1, limit });
        assert_eq!(refused(b"GET "), FrameError::Http);
        assert_eq!(refused(&[22, 3, 1, 2]), FrameError::Tls);
        assert_eq!(reader_with(&(limit as i32).to_be_bytes()).next_frame(), Ok(None));
    }

    #[test]
    fn a_frame_that_the_budget_never_holds_is_refused_when_it_is_announced() {
        let limits = FrameLimits { frame_bytes: 100 << 20, budget_bytes: 1 << 20 };
        let mut reader = FrameReader::new(limits);
        arrive(&mut reader, &(1_i32 << 20).to_be_bytes());
        let error = FrameError::Budget { length: 1 << 20, limit: 1 << 19 };
        assert_eq!(reader.next_frame(), Err(error));
    }
}
