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
use highwater::env::{EntryKind, Env, FileSystem, LockError};
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
        let mut all = Self::several(count);
        all.metadata = Some(TempDir::new().expect("a directory for the test"));
        all
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
        self.check_on(Env::system().files.as_ref());
    }

    /// A strict look at what lies on that disk under these names. What a start would do is looked at on the machine's own alone.
    pub fn check_on(&self, files: &dyn FileSystem) {
        let mut paths = self.paths();
        paths.retain(|path| is_there(files, &path.join("meta.properties")));
        if paths.is_empty() || paths.iter().any(|path| is_in_use(files, path)) {
            return;
        }
        let clean = paths.iter().all(|path| is_there(files, &path.join(".kafka_cleanshutdown")));
        let closed = if clean { Closed::Yes } else { Closed::Killed };
        let is_simulated = !paths.iter().all(|path| path.join("meta.properties").exists());
        // One of a topic whose deletion the disk has lost, and the metadata not, is set aside.
        let may_have_strays = is_simulated;
        paths.iter().for_each(|path| check_directory(files, path, closed, may_have_strays));
        if is_simulated {
            return;
        }
        paths.extend(self.metadata.as_ref().map(|apart| apart.path().to_owned()));
        // It brings a runtime of its own, which may not be started inside another one.
        let started = std::thread::spawn(move || check_start(&paths, closed)).join();
        started.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
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

fn is_there(files: &dyn FileSystem, path: &Path) -> bool {
    files.stat(path).expect("readable").is_some()
}

fn is_in_use(files: &dyn FileSystem, path: &Path) -> bool {
    matches!(files.lock(&path.join(".lock")), Err(LockError::Held { .. }))
}

/// Every partition, and no directory that Kafka would not serve or not start with. The metadata log is closed in another way.
fn check_directory(files: &dyn FileSystem, root: &Path, closed: Closed, may_have_strays: bool) {
    let starts = files.read(&root.join("log-start-offset-checkpoint")).expect("readable");
    let starts = String::from_utf8(starts.unwrap_or_default()).expect("text");
    for entry in files.list(root).expect("readable") {
        if entry.kind != EntryKind::Directory {
            continue;
        }
        let path = root.join(&entry.name);
        match DirectoryName::parse(&entry.name) {
            DirectoryName::Partition(partition) => {
                let line = format!("{} {} ", partition.topic, partition.partition);
                let start = starts.lines().find_map(|found| found.strip_prefix(&line));
                let start = start.map_or(0, |start| start.parse().expect("an offset"));
                strict_check::check(files, &path, closed, Offset::new(start));
            }
            DirectoryName::Metadata | DirectoryName::Delete => {}
            DirectoryName::Stray if may_have_strays => {}
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
