//! What the machine itself can do, so that results of different machines can be told apart.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::report::Report;

const SYNCS: usize = 1_000;
const ROUND_TRIPS: usize = 20_000;
const MESSAGE_BYTES: usize = 128;

pub(crate) fn measure(directory: Option<&Path>) -> io::Result<Report> {
    Ok(Report::default()
        .percentiles("fdatasync_after_4k_append_", syncs(directory)?)
        .percentiles("loopback_round_trip_", echoes()?))
}

/// Of a file that grows by 4 KiB each time.
pub(crate) fn syncs(directory: Option<&Path>) -> io::Result<Vec<Duration>> {
    let mut file: File = match directory {
        Some(directory) => tempfile::tempfile_in(directory)?,
        None => tempfile::tempfile()?,
    };
    let page = [7; 4096];
    let sync = |_| {
        file.write_all(&page)?;
        let began = Instant::now();
        file.sync_data()?;
        Ok(began.elapsed())
    };
    (0..SYNCS).map(sync).collect()
}

/// Between two threads, each of which sleeps until the other has written: what no broker can be faster than.
fn echoes() -> io::Result<Vec<Duration>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    near.set_nodelay(true)?;
    let echo = thread::spawn(move || -> io::Result<()> {
        let (mut far, _) = listener.accept()?;
        far.set_nodelay(true)?;
        let mut message = [0; MESSAGE_BYTES];
        while far.read_exact(&mut message).is_ok() {
            far.write_all(&message)?;
        }
        Ok(())
    });
    let mut message = [0; MESSAGE_BYTES];
    let mut times = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let began = Instant::now();
        near.write_all(&message)?;
        near.read_exact(&mut message)?;
        times.push(began.elapsed());
    }
    drop(near);
    echo.join().expect("the echo does not panic")?;
    Ok(times)
}
