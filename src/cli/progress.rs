//! Progress of long work, on standard error and only where a person looks at it.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crate::env::{Clock, SystemClock};

const EVERY: Duration = Duration::from_millis(500);

/// Counts records and bytes, and shows both now and then.
#[derive(Debug)]
pub struct Progress {
    clock: SystemClock,
    shown: Option<Duration>,
    visible: bool,
    records: u64,
    bytes: u64,
}

impl Progress {
    /// Shows nothing unless standard error is a terminal.
    pub fn new() -> Self {
        Self {
            clock: SystemClock::default(),
            shown: None,
            visible: io::stderr().is_terminal(),
            records: 0,
            bytes: 0,
        }
    }

    /// Some more were done.
    pub fn add(&mut self, records: u64, bytes: u64) {
        self.records += records;
        self.bytes += bytes;
        let now = self.clock.monotonic();
        if self.visible && now >= self.shown.unwrap_or_default() + EVERY {
            self.shown = Some(now);
            self.draw(now);
        }
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Takes the line away again.
    pub fn finish(&mut self) {
        if self.shown.take().is_some() {
            // A terminal that cannot be written to shows nothing; the work itself is not hurt.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn draw(&self, now: Duration) {
        let megabytes = self.bytes as f64 / 1e6;
        let rate = megabytes / now.as_secs_f64().max(1e-3);
        let records = self.records;
        let line = format!("\r\x1b[K{records} records, {megabytes:.0} MB, {rate:.0} MB/s");
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}
