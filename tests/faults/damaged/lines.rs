//! What the broker's log says, kept in memory.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, Once};

use tracing_subscriber::fmt::MakeWriter;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static SUBSCRIBER: Once = Once::new();

/// Keeps lines from now on, of this whole process.
pub fn keep() {
    SUBSCRIBER.call_once(|| {
        let level = tracing::Level::WARN;
        let lines = tracing_subscriber::fmt().with_ansi(false).with_max_level(level);
        lines.with_writer(Keeper).init();
    });
}

/// Forgets what was said so far.
pub fn forget() {
    LINES.lock().unwrap().clear();
}

/// What was said of this directory or of a partition, which other tests of the process have other names for.
pub fn about(root: &Path) -> String {
    let root = root.to_str().unwrap();
    let is_about = |line: &&String| {
        line.contains(root)
            || ["=t-0 ", "=other-0 ", "__consumer_offsets-", "__transaction_state-"]
                .iter()
                .any(|name| line.contains(name))
    };
    LINES.lock().unwrap().iter().filter(is_about).map(String::as_str).collect()
}

/// Each line is one write.
struct Keeper;

impl Write for Keeper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.lock().unwrap().push(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Keeper {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}
