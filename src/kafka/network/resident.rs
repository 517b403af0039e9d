//! Records from files to a socket, without an async thread ever waiting for the disk.

use std::cell::RefCell;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncWrite, Interest};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::outbox::STEP_BYTES;
use crate::env::{self, Cached, File};

thread_local! {
    /// What is read for the socket to take at once. What it does not take is read again later: a copy out of the page cache
    /// is cheap, memory per slow reader is not.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A run of a segment that is still to be sent.
#[derive(Debug)]
pub struct FileRun {
    /// The segment.
    pub file: Arc<dyn File>,
    /// Where the rest begins.
    pub position: u64,
    /// Bytes left.
    pub len: usize,
}

impl FileRun {
    /// Takes what was sent off the front.
    pub fn advance(&mut self, bytes: usize) {
        self.position += bytes as u64;
        self.len -= bytes;
    }

    /// Reads the next step on the blocking pool.
    pub fn load(&self) -> Loading {
        let (file, position, len) =
            (Arc::clone(&self.file), self.position, self.len.min(STEP_BYTES));
        Loading(env::spawn_blocking(move || {
            let mut buffer = vec![0; len];
            let read = file.read_at(&mut buffer, position)?;
            buffer.truncate(read);
            if buffer.is_empty() { Err(cut_short()) } else { Ok(buffer.into()) }
        }))
    }
}

/// A read on the blocking pool.
#[derive(Debug)]
pub struct Loading(JoinHandle<io::Result<Bytes>>);

impl Future for Loading {
    type Output = io::Result<Bytes>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let joined = ready!(Pin::new(&mut self.0).poll(cx));
        Poll::Ready(joined.map_err(io::Error::other).and_then(|read| read))
    }
}

/// Writes the next step of `run` if it is in the page cache: bytes the socket took, `None` if the disk must be asked.
pub fn poll_write(
    run: &FileRun,
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
) -> Poll<io::Result<Option<usize>>> {
    loop {
        // Nothing is looked up or read for a socket that takes nothing.
        ready!(stream.poll_write_ready(cx))?;
        let len = run.len.min(STEP_BYTES);
        match run.file.cached(run.position, len)? {
            Cached::All => {}
            Cached::Part => return Poll::Ready(Ok(None)),
            Cached::Unknown => return poll_copy(run, stream, cx),
        }
        // The pages are lent, not copied: a third less work than a read and a write.
        let lend = || run.file.send_to(stream.as_fd(), run.position, len);
        match stream.try_io(Interest::WRITABLE, lend) {
            Ok(0) => return Poll::Ready(Err(cut_short())),
            Ok(sent) => return Poll::Ready(Ok(Some(sent))),
            // The socket is full, which its readiness now says too.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // A file system that cannot lend pages.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return poll_copy(run, stream, cx);
            }
            Err(error) => return Poll::Ready(Err(error)),
        }
    }
}

/// Where the system does not tell what it has cached.
fn poll_copy(
    run: &FileRun,
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
) -> Poll<io::Result<Option<usize>>> {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.resize(STEP_BYTES, 0);
        let step = &mut scratch[..run.len.min(STEP_BYTES)];
        let Some(read) = run.file.read_resident_at(step, run.position)? else {
            return Poll::Ready(Ok(None));
        };
        if read == 0 {
            return Poll::Ready(Err(cut_short()));
        }
        Pin::new(stream).poll_write(cx, &step[..read]).map_ok(Some)
    })
}

/// The announced length can no longer be kept.
fn cut_short() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "a segment is shorter than what was to be sent of it",
    )
}
