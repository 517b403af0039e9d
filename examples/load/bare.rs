//! The least that a broker can do for a Produce request: receive it, write its bytes to a file, answer. No protocol, no check, no
//! index, no memory for consumers; what remains is the kernel's part, which every broker that writes to the page cache pays.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::time::{ClockId, clock_gettime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Room ahead of what is written makes writing cheaper.
const RESERVED_BYTES: u64 = 16 << 20;
/// A response without topics.
const ANSWER: [u8; 10] = [0, 0, 0, 6, 0, 0, 0, 1, 0, 1];

/// What it receives.
#[derive(Clone, Copy)]
pub(crate) struct Traffic {
    pub(crate) connections: usize,
    pub(crate) request_bytes: usize,
    /// Separate writes for each request.
    pub(crate) writes: usize,
}

/// Serves on one thread while `load` runs with the address; the CPU time of it.
pub(crate) fn serve<T>(
    traffic: Traffic,
    directory: Option<&Path>,
    load: impl FnOnce(&str) -> io::Result<T>,
) -> io::Result<(T, Duration)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    thread::scope(|scope| {
        let server = scope.spawn(move || serve_all(traffic, listener, directory));
        let loaded = load(&address)?;
        Ok((loaded, server.join().expect("no panic")?))
    })
}

/// Until every client has closed.
fn serve_all(
    traffic: Traffic,
    listener: TcpListener,
    directory: Option<&Path>,
) -> io::Result<Duration> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..traffic.connections {
            let (stream, file) = (listener.accept().await?.0, file_in(directory)?);
            clients.spawn(answer_all(traffic, stream, file));
        }
        clients.join_all().await.into_iter().collect::<io::Result<()>>()
    })?;
    Ok(clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default())
}

fn file_in(directory: Option<&Path>) -> io::Result<File> {
    match directory {
        Some(directory) => tempfile::tempfile_in(directory),
        None => tempfile::tempfile(),
    }
}

async fn answer_all(traffic: Traffic, mut stream: TcpStream, file: File) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = vec![0; traffic.request_bytes];
    let (mut end, mut reserved) = (0, 0);
    while stream.read_exact(&mut request).await.is_ok() {
        if end + request.len() as u64 > reserved {
            fallocate(&file, FallocateFlags::KEEP_SIZE, reserved, RESERVED_BYTES)?;
            reserved += RESERVED_BYTES;
        }
        for piece in request.chunks(request.len().div_ceil(traffic.writes)) {
            file.write_all_at(piece, end)?;
            end += piece.len() as u64;
        }
        stream.write_all(&ANSWER).await?;
    }
    Ok(())
}
