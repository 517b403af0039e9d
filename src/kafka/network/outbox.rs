//! What is on its way to one socket.
//!
//! Small pieces (headers, encoded fields, single records) are copied into one reused buffer, so that the replies of several
//! requests leave in one system call; larger ones are handed to the kernel where they lie. Records in files go through a
//! buffer of the thread and stay in the file until the socket has taken them, so a slow reader holds no memory.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use smallvec::SmallVec;
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;

use super::resident::{self, FileRun};
use crate::broker::AnswerPermit;
use crate::kafka::handler::{Response, ResponsePart};
use crate::log::Part;

/// Pieces up to this size are copied together: a copy of 4 KiB costs less than another element of a vectored write and lets
/// go of the shared memory at once.
const COPIED_BYTES_MAX: usize = 4 * 1024;

/// Bytes written before other tasks of the thread get their turn.
pub const STEP_BYTES: usize = 256 * 1024;

/// Elements of one vectored write.
const SLICES_MAX: usize = 32;

/// The buffer for small pieces keeps at most this much when it has been written.
const SMALL_BYTES_KEPT: usize = 16 * 1024;

/// Bytes and file runs that a socket has not taken yet.
#[derive(Debug, Default)]
pub struct Outbox {
    /// In order, before `small`.
    chunks: VecDeque<Chunk>,
    /// Small pieces behind the last chunk.
    small: BytesMut,
    /// Bytes, all of it.
    len: usize,
    /// Of these, bytes in memory of its own that no permit covers.
    uncovered_len: usize,
    /// A run of a file that is being read on the blocking pool, the next to be sent.
    loading: Option<resident::Loading>,
}

#[derive(Debug)]
enum Chunk {
    Inline(BytesMut, Cover),
    Shared(Bytes),
    File(FileRun),
}

/// Who answers for the memory of a chunk.
#[derive(Debug)]
enum Cover {
    /// The permit that came with a long answer.
    Own { _permit: AnswerPermit },
    /// The connection, which looks at [`Outbox::uncovered_len`].
    Connection,
}

impl Outbox {
    /// Bytes that the socket has not taken yet.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes in memory of its own that the socket has not taken yet, but for those of answers that brought a permit along.
    pub fn uncovered_len(&self) -> usize {
        self.uncovered_len
    }

    /// Appends a response: its length and header, then its body.
    pub fn push(&mut self, head: &[u8], mut response: Response) {
        self.len += head.len() + response.len();
        self.uncovered_len += head.len();
        self.small.extend_from_slice(head);
        for part in response.parts {
            match part {
                ResponsePart::Inline(bytes) if bytes.len() <= COPIED_BYTES_MAX => {
                    self.uncovered_len += bytes.len();
                    self.small.extend_from_slice(&bytes);
                }
                ResponsePart::Inline(bytes) => {
                    // A long answer is one run.
                    let cover = match response.memory.take() {
                        Some(permit) => Cover::Own { _permit: permit },
                        None => {
                            self.uncovered_len += bytes.len();
                            Cover::Connection
                        }
                    };
                    self.push_chunk(Chunk::Inline(bytes, cover));
                }
                ResponsePart::Records(slice) => {
                    slice.parts.into_iter().for_each(|part| self.push_part(part));
                }
            }
        }
    }

    fn push_part(&mut self, part: Part) {
        match part {
            Part::Shared(bytes) if bytes.len() <= COPIED_BYTES_MAX => {
                self.uncovered_len += bytes.len();
                self.small.extend_from_slice(&bytes);
            }
            Part::Shared(bytes) => self.push_chunk(Chunk::Shared(bytes)),
            Part::File { len: 0, .. } => {}
            Part::File { file, position, len } => {
                self.push_chunk(Chunk::File(FileRun { file, position, len }));
            }
        }
    }

    fn push_chunk(&mut self, chunk: Chunk) {
        if !self.small.is_empty() {
            self.chunks.push_back(Chunk::Inline(self.small.split(), Cover::Connection));
        }
        self.chunks.push_back(chunk);
    }

    /// Writes until all is written or the socket takes no more; after a large step it lets other tasks run first.
    pub fn poll_flush(
        &mut self,
        stream: &mut TcpStream,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let mut written = 0;
        while self.len > 0 {
            if written >= STEP_BYTES {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let step = match self.chunks.front() {
                Some(Chunk::File(_)) => ready!(self.poll_file(stream, cx))?,
                _ => ready!(self.poll_memory(stream, cx))?,
            };
            self.len -= step;
            written += step;
        }
        if self.small.capacity() > SMALL_BYTES_KEPT {
            self.small = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }

    /// Gives the reused buffer back.
    pub fn release(&mut self) {
        if self.small.is_empty() {
            self.small = BytesMut::new();
        }
    }

    /// Writes what lies in memory up to the next file run.
    fn poll_memory(
        &mut self,
        stream: &mut TcpStream,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let stream = Pin::new(stream);
        let written = if self.chunks.is_empty() {
            ready!(stream.poll_write(cx, &self.small))?
        } else {
            ready!(stream.poll_write_vectored(cx, &self.slices()))?
        };
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        self.advance(written);
        Poll::Ready(Ok(written))
    }

    fn slices(&self) -> SmallVec<[IoSlice<'_>; SLICES_MAX]> {
        let mut slices = SmallVec::new();
        let mut len = 0;
        for chunk in &self.chunks {
            let bytes: &[u8] = match chunk {
                Chunk::Inline(bytes, _) => bytes,
                Chunk::Shared(bytes) => bytes,
                Chunk::File(_) => return slices,
            };
            let room = STEP_BYTES - len;
            slices.push(IoSlice::new(&bytes[..bytes.len().min(room)]));
            len += bytes.len().min(room);
            if len == STEP_BYTES || slices.len() == SLICES_MAX {
                return slices;
            }
        }
        slices.push(IoSlice::new(&self.small));
        slices
    }

    /// Takes what was written off the front.
    fn advance(&mut self, mut written: usize) {
        while written > 0 {
            let Some(chunk) = self.chunks.front_mut() else {
                return self.advance_small(written);
            };
            let left = match chunk {
                Chunk::Inline(bytes, Cover::Own { .. }) => advance_buf(bytes, &mut written),
                Chunk::Inline(bytes, Cover::Connection) => {
                    let before = bytes.len();
                    let left = advance_buf(bytes, &mut written);
                    self.uncovered_len -= before - left;
                    left
                }
                Chunk::Shared(bytes) => advance_buf(bytes, &mut written),
                Chunk::File(_) => return,
            };
            if left == 0 {
                self.chunks.pop_front();
            }
        }
    }

    fn advance_small(&mut self, written: usize) {
        self.uncovered_len -= written;
        if written == self.small.len() {
            // To the front of the same memory, which the next reply finds in the cache.
            self.small.clear();
        } else {
            self.small.advance(written);
        }
    }

    /// Writes a step of the file run at the front.
    fn poll_file(
        &mut self,
        stream: &mut TcpStream,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Some(loading) = &mut self.loading {
            let bytes = ready!(Pin::new(loading).poll(cx))?;
            self.loading = None;
            return self.replace_front(bytes);
        }
        let Some(Chunk::File(run)) = self.chunks.front_mut() else {
            return Poll::Ready(Ok(0));
        };
        match ready!(resident::poll_write(run, stream, cx))? {
            Some(written) => {
                run.advance(written);
                if run.len == 0 {
                    self.chunks.pop_front();
                }
                Poll::Ready(Ok(written))
            }
            None => {
                self.loading = Some(run.load());
                self.poll_file(stream, cx)
            }
        }
    }

    /// Puts bytes read on the blocking pool before the rest of their run.
    fn replace_front(&mut self, bytes: Bytes) -> Poll<io::Result<usize>> {
        if let Some(Chunk::File(run)) = self.chunks.front_mut() {
            run.advance(bytes.len());
            if run.len == 0 {
                self.chunks.pop_front();
            }
        }
        self.chunks.push_front(Chunk::Shared(bytes));
        Poll::Ready(Ok(0))
    }
}

/// Moves `buf` forward by what it has of `written`; what is left of it.
fn advance_buf(buf: &mut impl Buf, written: &mut usize) -> usize {
    let step = buf.remaining().min(*written);
    buf.advance(step);
    *written -= step;
    buf.remaining()
}
