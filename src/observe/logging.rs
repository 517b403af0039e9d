//! Log lines: one each, readable, with fields, on standard output.
//!
//! Lines are handed to a thread of their own, so that a reader that does not read (a full pipe) never stops a thread that
//! serves. [`QUEUED_LINES_MAX`] lines wait; more are dropped, and how many is said once there is room again.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::env;

/// Most lines that wait to be written.
pub const QUEUED_LINES_MAX: usize = 4096;

/// The filter is not understood.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{filter}` is no log filter: {reason}; expected error, warn, info, debug, trace, or pairs such as info,highwater::log=debug"
)]
pub struct InvalidLogFilter {
    filter: String,
    reason: String,
}

/// Checks a filter such as `info` or `info,highwater::log=debug`.
pub fn check_log_filter(filter: &str) -> Result<(), InvalidLogFilter> {
    parse_filter(filter).map(drop)
}

fn parse_filter(filter: &str) -> Result<EnvFilter, InvalidLogFilter> {
    let invalid = |reason: String| InvalidLogFilter { filter: filter.to_owned(), reason };
    // A bare word that is no level would be taken for the name of a crate, and nothing would be logged.
    let bare = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric());
    let mut words = filter.split(',').map(str::trim).filter(bare);
    if let Some(word) = words.find(|word| word.parse::<LevelFilter>().is_err()) {
        return Err(invalid(format!("{word} is no level")));
    }
    EnvFilter::builder().parse(filter).map_err(|e| invalid(e.to_string()))
}

/// Log lines of this process go to standard output from now on. Dropping it writes what waits.
#[derive(Debug)]
pub struct Logging {
    lines: Arc<Lines>,
    writer: Option<JoinHandle<()>>,
}

/// Starts logging; `filter` says what. Without effect on the filter of a process that logs already.
pub fn start_logging(filter: &str) -> Result<Logging, InvalidLogFilter> {
    let filter = parse_filter(filter)?;
    let (sender, receiver) = sync_channel(QUEUED_LINES_MAX);
    let lines = Arc::new(Lines { sender: Mutex::new(Some(sender)), dropped: AtomicU64::new(0) });
    let for_writer = Arc::clone(&lines);
    let writer = env::spawn_thread("log-writer", move || {
        write_lines(&receiver, &for_writer, &mut io::stdout())
    });
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(LineWriter(Arc::clone(&lines)))
        .finish();
    // Fails only in a process that logs already; then that one's settings hold.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(Logging { lines, writer: writer.ok() })
}

impl Drop for Logging {
    fn drop(&mut self) {
        // Without a sender the thread ends once it has written what waits.
        self.lines.sender.lock().take();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Lines on their way to the writing thread.
#[derive(Debug)]
struct Lines {
    sender: Mutex<Option<SyncSender<Vec<u8>>>>,
    dropped: AtomicU64,
}

fn write_lines(receiver: &Receiver<Vec<u8>>, lines: &Lines, out: &mut impl Write) {
    while let Ok(line) = receiver.recv() {
        // A closed standard output is no reason to stop serving.
        let _ = out.write_all(&line);
        let dropped = lines.dropped.swap(0, Relaxed);
        if dropped > 0 {
            let _ = writeln!(
                out,
                "{dropped} log lines dropped: standard output was not read fast enough"
            );
        }
        let _ = out.flush();
    }
}

/// Makes one [`Line`] for each event.
#[derive(Clone, Debug)]
struct LineWriter(Arc<Lines>);

/// Collects one event and hands it over when it is dropped.
struct Line {
    lines: Arc<Lines>,
    bytes: Vec<u8>,
}

impl<'a> MakeWriter<'a> for LineWriter {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { lines: Arc::clone(&self.0), bytes: Vec::with_capacity(256) }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let line = std::mem::take(&mut self.bytes);
        let sent = self.lines.sender.lock().as_ref().map(|sender| sender.try_send(line));
        if let Some(Err(TrySendError::Full(_))) = sent {
            self.lines.dropped.fetch_add(1, Relaxed);
        }
    }
}

static PANICS_LOGGED: OnceLock<()> = OnceLock::new();

/// From now on a panic is a line of the log, with its place.
pub fn log_panics() {
    PANICS_LOGGED.get_or_init(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            tracing::error!(%panic, "a thread panicked; this is a bug, please report it");
            previous(panic);
        }));
    });
}
