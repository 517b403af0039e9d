//! Syncs the files of one group, several at a time.
//!
//! On one file system the syncs of many files share journal commits when they run together: 500 dirty files took 1.6 s one by
//! one and 50 ms sixteen at a time. Helpers are started when a group first needs them and sleep otherwise.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::env::{File, FileSystem, spawn_thread};
use crate::log::SyncWork;

/// The helpers of one sync thread.
#[derive(Debug)]
pub(super) struct SyncPool {
    files: Arc<dyn FileSystem>,
    shared: Arc<Shared>,
    helpers: usize,
    /// Syncs that run at the same time, the sync thread's own included.
    parallel_max: usize,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<PoolState>,
    work: Condvar,
    done: Condvar,
}

#[derive(Debug, Default)]
struct PoolState {
    waiting: Vec<Target>,
    running: usize,
    failed: Vec<SyncFailed>,
    closing: bool,
}

/// A sync that failed.
#[derive(Debug)]
pub(super) struct SyncFailed {
    /// Which of the works it belongs to.
    pub(super) work: usize,
    pub(super) error: io::Error,
}

#[derive(Debug)]
struct Target {
    work: usize,
    what: Synced,
}

#[derive(Debug)]
enum Synced {
    File(Arc<dyn File>),
    Directory(PathBuf),
}

impl SyncPool {
    /// A pool without helpers yet.
    pub(super) fn new(files: Arc<dyn FileSystem>, parallel_max: usize) -> Self {
        Self { files, shared: Arc::default(), helpers: 0, parallel_max }
    }

    /// Syncs everything in `works`; what failed. Returns when nothing is running any more.
    pub(super) fn sync_all<'a>(
        &mut self,
        works: impl Iterator<Item = &'a SyncWork>,
    ) -> Vec<SyncFailed> {
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        for (number, work) in works.enumerate() {
            let target = |what| Target { work: number, what };
            files.extend(work.files.iter().cloned().map(Synced::File).map(target));
            directories.extend(work.directories.iter().cloned().map(Synced::Directory).map(target));
        }
        // Names after content: a crash in between must not leave a name for something half written.
        let mut failed = self.sync_together(files);
        // Those of all others: a work may fail alone, and what is durable of the rest must be found by its name.
        directories.retain(|target| failed.iter().all(|failed| failed.work != target.work));
        failed.extend(self.sync_together(directories));
        failed
    }

    fn sync_together(&mut self, targets: Vec<Target>) -> Vec<SyncFailed> {
        if let [] | [_] = targets.as_slice() {
            let failed = targets.iter().filter_map(|target| target.sync(self.files.as_ref()).err());
            return failed.collect();
        }
        let helpers = targets.len().min(self.parallel_max) - 1;
        self.start_helpers(helpers);
        self.shared.state.lock().waiting = targets;
        (0..helpers).for_each(|_| {
            self.shared.work.notify_one();
        });
        self.shared.help(self.files.as_ref(), WhenIdle::Return);
        self.shared.finish()
    }

    fn start_helpers(&mut self, wanted: usize) {
        while self.helpers < wanted {
            let (shared, files) = (Arc::clone(&self.shared), Arc::clone(&self.files));
            let started =
                spawn_thread("sync-helper", move || shared.help(files.as_ref(), WhenIdle::Sleep));
            if let Err(error) = started {
                tracing::warn!(%error, "no thread for parallel syncs, going on with fewer");
                return;
            }
            self.helpers += 1;
        }
    }
}

impl Drop for SyncPool {
    fn drop(&mut self) {
        self.shared.state.lock().closing = true;
        self.shared.work.notify_all();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenIdle {
    /// The sync thread itself.
    Return,
    /// A helper.
    Sleep,
}

impl Shared {
    fn help(&self, files: &dyn FileSystem, when_idle: WhenIdle) {
        let mut state = self.state.lock();
        loop {
            if let Some(target) = state.waiting.pop() {
                state.running += 1;
                drop(state);
                let result = target.sync(files);
                state = self.state.lock();
                state.running -= 1;
                state.failed.extend(result.err());
                if state.running == 0 && state.waiting.is_empty() {
                    self.done.notify_one();
                }
            } else if when_idle == WhenIdle::Return || state.closing {
                return;
            } else {
                self.work.wait(&mut state);
            }
        }
    }

    /// Waits for the helpers' last syncs.
    fn finish(&self) -> Vec<SyncFailed> {
        let mut state = self.state.lock();
        while state.running > 0 {
            self.done.wait(&mut state);
        }
        std::mem::take(&mut state.failed)
    }
}

impl Target {
    fn sync(&self, files: &dyn FileSystem) -> Result<(), SyncFailed> {
        let synced = match &self.what {
            Synced::File(file) => file.sync(),
            Synced::Directory(path) => files.sync_dir(path),
        };
        synced.map_err(|error| SyncFailed { work: self.work, error })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::env::{Disk, OpenMode};
    use crate::types::Offset;

    fn work(file: &Path, directory: &Path) -> SyncWork {
        let file = Disk.open(file, OpenMode::ReadOnly).expect("it is there");
        let directories = vec![directory.to_owned()];
        SyncWork { files: vec![file], directories, end: Offset::ZERO, sealed_to: Offset::ZERO }
    }

    /// A device can't be synced; a directory that isn't there tells that it was to be.
    #[test]
    fn names_are_synced_of_the_works_whose_files_are_and_of_no_other() {
        let directory = tempfile::tempdir().expect("a directory");
        let (file, missing) = (directory.path().join("file"), directory.path().join("missing"));
        Disk.open(&file, OpenMode::CreateNew).expect("a file");
        let unsyncable = Path::new("/dev/null");
        let works = [unsyncable, &file, unsyncable, &file].map(|file| work(file, &missing));
        for parallel_max in [1, 16] {
            let mut pool = SyncPool::new(Arc::new(Disk), parallel_max);
            let mut failed = pool.sync_all(works.iter());
            failed.sort_by_key(|failed| failed.work);
            let kinds = failed.iter().map(|failed| (failed.work, failed.error.kind()));
            let file = io::ErrorKind::InvalidInput;
            let name = io::ErrorKind::NotFound;
            assert_eq!(kinds.collect::<Vec<_>>(), [(0, file), (1, name), (2, file), (3, name)]);
        }
    }
}
