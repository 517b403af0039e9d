//! The data directories of a node that a test runs. When the test lets them go they are looked at strictly: partition by
//! partition, file by file, and by `highwater check`.
//!
//! After a clean stop everything must be as Kafka would have left it and a start must find nothing to do; after a kill nothing
//! that was synced may be missing. Looked at is what the test's own way left: nothing while it panics, nothing while a broker
//! still runs on it, and nothing that the test has said to be spoilt on purpose.

#![allow(clippy::disallowed_methods, reason = "plays the operator")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use highwater::cli::{self, Arguments};
use highwater::env::{Env, LockError};
use highwater::storage::DirectoryName;
use highwater::types::Offset;
use serde_json::Value;
use tempfile::TempDir;

use super::strict_check::{self, Closed};

pub struct DataDirectories {
    /// Log directories, the one with the metadata first.
    roots: Vec<TempDir>,
    /// Where the metadata lies if it is in none of these.
    metadata: Option<TempDir>,
    spoilt: AtomicBool,
}

impl DataDirectories {
    pub fn one() -> Self {
        Self::several(1)
    }

    pub fn several(count: usize) -> Self {
        let roots = (0..count).map(|_| TempDir::new().expect("a directory for the test"));
        Self { roots: roots.collect(), metadata: None, spoilt: AtomicBool::new(false) }
    }

    /// As [`DataDirectories::several`], and the metadata lies in a directory of its own.
    pub fn with_metadata_apart(count: usize) -> Self {
        let metadata = Some(TempDir::new().expect("a directory for the test"));
        Self { metadata, ..Self::several(count) }
    }

    /// The first log directory.
    pub fn path(&self) -> &Path {
        self.roots[0].path()
    }

    /// The directory with the metadata.
    pub fn metadata(&self) -> &Path {
        self.metadata.as_ref().map_or(self.path(), TempDir::path)
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.path().to_owned()).collect()
    }

    /// Puts another directory in the place of the last one, as a wrong mount does.
    pub fn replace_last(&mut self, by: TempDir) -> TempDir {
        let last = self.roots.last_mut().expect("there is one");
        std::mem::replace(last, by)
    }

    /// The test damages what is in them, or brings them into a state that is reported: they are not looked at.
    pub fn are_spoilt(&self) {
        self.spoilt.store(true, Ordering::Relaxed);
    }

    /// A strict look now.
    pub fn check(&self) {
        check(&self.paths(), self.metadata.as_ref().map(TempDir::path));
    }
}

impl From<TempDir> for DataDirectories {
    fn from(root: TempDir) -> Self {
        Self { roots: vec![root], metadata: None, spoilt: AtomicBool::new(false) }
    }
}

impl Drop for DataDirectories {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.spoilt.load(Ordering::Relaxed) {
            self.check();
        }
    }
}

fn check(paths: &[PathBuf], metadata_apart: Option<&Path>) {
    let mut paths: Vec<PathBuf> =
        paths.iter().filter(|path| path.join("meta.properties").exists()).cloned().collect();
    if paths.is_empty() || paths.iter().any(|path| is_in_use(path)) {
        return;
    }
    let clean = paths.iter().all(|path| path.join(".kafka_cleanshutdown").exists());
    let closed = if clean { Closed::Yes } else { Closed::Killed };
    paths.iter().for_each(|path| check_directory(path, closed));
    paths.extend(metadata_apart.map(Path::to_owned));
    // It brings a runtime of its own, which may not be started inside another one.
    let started = std::thread::spawn(move || check_start(&paths, closed)).join();
    started.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn is_in_use(path: &Path) -> bool {
    let locked = Env::system().files.lock(&path.join(".lock"));
    matches!(locked, Err(LockError::Held { .. }))
}

/// Every partition, and no directory that Kafka would not serve or not start with. The metadata log is closed in another way.
fn check_directory(root: &Path, closed: Closed) {
    let starts = std::fs::read_to_string(root.join("log-start-offset-checkpoint"));
    let starts = starts.unwrap_or_default();
    let files = Env::system().files;
    for entry in files.list(root).expect("readable") {
        let path = root.join(&entry.name);
        if !path.is_dir() {
            continue;
        }
        match DirectoryName::parse(&entry.name) {
            DirectoryName::Partition(partition) => {
                let line = format!("{} {} ", partition.topic, partition.partition);
                let start = starts.lines().find_map(|found| found.strip_prefix(&line));
                let start = start.map_or(0, |start| start.parse().expect("an offset"));
                strict_check::check(files.as_ref(), &path, closed, Offset::new(start));
            }
            DirectoryName::Metadata | DirectoryName::Delete => {}
            DirectoryName::Future(_) if closed == Closed::Killed => {}
            other => panic!("{} is {other:?}", path.display()),
        }
    }
}

/// What a start would do, without its doing it.
fn check_start(paths: &[PathBuf], closed: Closed) {
    let words = ["highwater", "check", "--json"].into_iter();
    let words = words.chain(paths.iter().map(|path| path.to_str().expect("plain text")));
    let arguments = Arguments::try_parse_from(words).expect("valid arguments");
    let mut out = Vec::new();
    let ran = cli::run(arguments.command.expect("a command"), &mut out);
    let found: Value = serde_json::from_slice(&out).unwrap_or_default();
    assert!(ran.is_ok(), "{found:#}");
    let none = Value::Array(Vec::new());
    assert_eq!(found["losses"], none, "{found:#}");
    assert!(closed == Closed::Killed || found["repairs"] == none, "after a clean stop: {found:#}");
}
