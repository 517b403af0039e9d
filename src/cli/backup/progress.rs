//! How far a copy is, on standard error: one line that changes on a terminal, else a line at each tenth.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crate::env::{Clock, SystemClock};

/// Less than this is done before anybody asks how far it is.
const WORTH_BYTES: u64 = 16 * 1024 * 1024;

/// A terminal is written to no more often.
const EVERY: Duration = Duration::from_millis(250);

/// Bytes done of bytes to do.
#[derive(Debug)]
pub(super) struct Shown {
    what: &'static str,
    total: u64,
    done: u64,
    clock: SystemClock,
    is_terminal: bool,
    shown_at: Duration,
    shown_tenths: u64,
}

/// A line of its own.
pub(super) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

impl Shown {
    pub fn new(what: &'static str, total: u64) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let clock = SystemClock::default();
        let shown_at = clock.monotonic();
        Self { what, total, done: 0, clock, is_terminal, shown_at, shown_tenths: 0 }
    }

    pub fn add(&mut self, bytes: u64) {
        self.done += bytes;
        let tenths = (self.done.saturating_mul(10)).checked_div(self.total).unwrap_or(0).min(10);
        if self.is_terminal {
            let now = self.clock.monotonic();
            if now >= self.shown_at + EVERY {
                self.shown_at = now;
                self.draw("\r\x1b[K", "");
            }
        } else if tenths > self.shown_tenths && self.total >= WORTH_BYTES {
            self.shown_tenths = tenths;
            self.draw("", "\n");
        }
    }

    fn draw(&self, before: &str, after: &str) {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let (done, total) = (megabytes(self.done), megabytes(self.total.max(self.done)));
        let rate = done / self.clock.monotonic().as_secs_f64().max(1e-3);
        let what = self.what;
        self.write(&format!("{before}{what}: {done:.1} of {total:.1} MB, {rate:.0} MB/s{after}"));
    }

    fn write(&self, text: &str) {
        // Whoever closes standard error does not want to know.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

impl Drop for Shown {
    /// Takes the line of a terminal away.
    fn drop(&mut self) {
        if self.is_terminal {
            self.write("\r\x1b[K");
        }
    }
}
