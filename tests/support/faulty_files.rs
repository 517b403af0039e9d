//! The real disk, or a simulated one, with faults on demand: no space, failing syncs, syncs that wait.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use highwater::env::{
    DirEntry, Disk, DiskSpace, File, FileLock, FileStat, FileSystem, LockError, ManualClock,
    OpenMode,
};
use highwater::types::Timestamp;

/// What happens while a disk is waited for.
struct Meanwhile(Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meanwhile")
    }
}

/// The disk itself.
#[derive(Debug)]
struct Below(Arc<dyn FileSystem>);

impl Default for Below {
    fn default() -> Self {
        Self(Arc::new(Disk))
    }
}

/// Switches of the faults.
#[derive(Debug, Default)]
pub struct Faults {
    below: Below,
    /// Writes to `.log` files fail with "no space left".
    pub full: AtomicBool,
    /// Writes of the cleaner fail with it.
    pub full_when_cleaning: AtomicBool,
    /// Syncs of `.log` files fail.
    pub sync_fails: AtomicBool,
    /// Syncs of `.log` files done.
    pub syncs: AtomicUsize,
    /// Runs before the next read of a `.log` file, which then fails.
    before_failed_read: Mutex<Option<Meanwhile>>,
    /// Each runs before the next sync of the directory of its name.
    before_directory_sync: Mutex<Vec<(String, Meanwhile)>>,
    /// What the clock shows as the time of each write to a `.log` file.
    slow_writes: Mutex<Option<(Arc<ManualClock>, i64)>>,
    /// Times that the cleaner's checkpoint was written.
    pub cleaner_checkpoints: watch::Sender<usize>,
    /// Log directories that are locked.
    pub locked: watch::Sender<usize>,
    /// Changes of the disk until none has an effect any more, as if the process had been killed.
    lives: Mutex<Option<usize>>,
    /// Whatever lies below fails: the disk is gone.
    broken: Mutex<Option<PathBuf>>,
    held: Mutex<bool>,
    released: Condvar,
}

impl Faults {
    /// Faults of another disk than the machine's.
    pub fn of(disk: Arc<dyn FileSystem>) -> Self {
        Self { below: Below(disk), ..Self::default() }
    }

    /// The disk without the faults.
    pub fn below(&self) -> &dyn FileSystem {
        self.below.0.as_ref()
    }

    /// Syncs of `.log` files wait from now on.
    pub fn hold_syncs(&self) {
        *self.held.lock().unwrap() = true;
    }

    /// They go on.
    pub fn release_syncs(&self) {
        *self.held.lock().unwrap() = false;
        self.released.notify_all();
    }

    /// The next read of a `.log` file fails, after `meanwhile` has been done.
    pub fn fail_next_read(&self, meanwhile: impl FnOnce() + Send + 'static) {
        *self.before_failed_read.lock().unwrap() = Some(Meanwhile(Box::new(meanwhile)));
    }

    /// Does something just before the next sync of the directory `name`; with a dot at the end of one that begins so: that of a
    /// partition while it is made.
    pub fn before_directory_sync(&self, name: &str, meanwhile: impl FnOnce() + Send + 'static) {
        let meanwhile = Meanwhile(Box::new(meanwhile));
        self.before_directory_sync.lock().unwrap().push((name.to_owned(), meanwhile));
    }

    fn directory_sync(&self, path: &Path) {
        let mut waiting = self.before_directory_sync.lock().unwrap();
        let is_of = |name: &str| match name.strip_suffix('.') {
            Some(_) => {
                path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name))
            }
            None => path.ends_with(name),
        };
        let place = waiting.iter().position(|(name, _)| is_of(name));
        let meanwhile = place.map(|place| waiting.remove(place));
        drop(waiting);
        if let Some((_, Meanwhile(meanwhile))) = meanwhile {
            meanwhile();
        }
    }

    /// The disk with this directory breaks, or with `None` all of them work again.
    pub fn break_below(&self, directory: Option<&Path>) {
        *self.broken.lock().unwrap() = directory.map(Path::to_owned);
    }

    /// The process is killed in effect after so many changes of the disk; `None`: it lives.
    pub fn die_after(&self, changes: Option<usize>) {
        *self.lives.lock().unwrap() = changes;
    }

    /// False once that has happened.
    pub fn is_alive(&self) -> bool {
        *self.lives.lock().unwrap() != Some(0)
    }

    /// A change of the disk is about to be made.
    fn change(&self, path: &Path) -> io::Result<()> {
        match &mut *self.lives.lock().unwrap() {
            Some(0) => return Err(io::Error::other("the process is dead")),
            Some(left) => *left -= 1,
            None => {}
        }
        self.reach(path)
    }

    fn reach(&self, path: &Path) -> io::Result<()> {
        match &*self.broken.lock().unwrap() {
            Some(broken) if path.starts_with(broken) => Err(io::Error::other("the disk is gone")),
            _ => Ok(()),
        }
    }

    fn read(&self) -> io::Result<()> {
        let meanwhile = self.before_failed_read.lock().unwrap().take();
        let Some(Meanwhile(meanwhile)) = meanwhile else { return Ok(()) };
        meanwhile();
        Err(io::Error::other("the file is gone"))
    }

    /// Each write to a `.log` file takes so long by `clock`.
    pub fn slow_writes(&self, clock: &Arc<ManualClock>, step_ms: i64) {
        *self.slow_writes.lock().unwrap() = Some((Arc::clone(clock), step_ms));
    }

    fn write(&self) {
        if let Some((clock, step_ms)) = &*self.slow_writes.lock().unwrap() {
            clock.advance_ms(*step_ms);
            // Gives the CPU up, as a thread does that waits for a disk.
            std::thread::sleep(Duration::from_micros(10));
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut held = self.held.lock().unwrap();
        while *held {
            held = self.released.wait(held).unwrap();
        }
        self.syncs.fetch_add(1, Ordering::SeqCst);
        if self.sync_fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is broken"));
        }
        Ok(())
    }
}

/// A disk with [`Faults`].
#[derive(Debug)]
pub struct FaultyFiles(pub Arc<Faults>);

impl FileSystem for FaultyFiles {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.0.reach(path)?;
        let file = self.0.below().open(path, mode)?;
        // Also while it is written by the cleaner.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let cleaning = name.ends_with(".log.cleaned");
        if name.ends_with(".log") || cleaning {
            let (path, faults) = (path.to_owned(), Arc::clone(&self.0));
            return Ok(Arc::new(FaultyFile { file, cleaning, path, faults }));
        }
        Ok(file)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.change(path)?;
        self.0.below().create_dir_all(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.change(from)?;
        self.0.below().rename(from, to)?;
        if to.ends_with("cleaner-offset-checkpoint") {
            self.0.cleaner_checkpoints.send_modify(|count| *count += 1);
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.change(path)?;
        self.0.below().remove_file(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.change(path)?;
        self.0.below().remove_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.directory_sync(path);
        self.0.change(path)?;
        self.0.below().sync_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.0.reach(path)?;
        self.0.below().list(path)
    }

    fn stat(&self, path: &Path) -> io::Result<Option<FileStat>> {
        self.0.reach(path)?;
        self.0.below().stat(path)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>, LockError> {
        let io = |source| LockError::Io { path: path.to_owned(), source };
        self.0.reach(path).map_err(io)?;
        let lock = self.0.below().lock(path)?;
        self.0.locked.send_modify(|locked| *locked += 1);
        Ok(Box::new(ObservedLock { lock: Some(lock), faults: Arc::clone(&self.0) }))
    }

    fn space(&self, path: &Path) -> io::Result<DiskSpace> {
        self.0.reach(path)?;
        self.0.below().space(path)
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Arc<dyn File>,
    /// Opened by the cleaner for writing.
    cleaning: bool,
    path: PathBuf,
    faults: Arc<Faults>,
}

impl FaultyFile {
    fn is_full(&self) -> bool {
        self.faults.full.load(Ordering::SeqCst)
            || (self.cleaning && self.faults.full_when_cleaning.load(Ordering::SeqCst))
    }
}

impl File for FaultyFile {
    fn write_all_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        self.faults.change(&self.path)?;
        self.faults.write();
        if self.is_full() {
            // As a real disk may: some of it is written.
            self.file.write_all_at(&bytes[..bytes.len() / 2], position)?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write_all_at(bytes, position)
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.faults.reach(&self.path)?;
        self.faults.read()?;
        self.file.read_at(buffer, position)
    }

    fn read_resident_at(&self, buffer: &mut [u8], position: u64) -> io::Result<Option<usize>> {
        self.file.read_resident_at(buffer, position)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.file.set_len(len_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.faults.reach(&self.path)?;
        self.faults.sync()?;
        self.file.sync()
    }

    fn set_modified(&self, to: Timestamp) -> io::Result<()> {
        self.file.set_modified(to)
    }

    fn reserve(&self, position: u64, len_bytes: u64) -> io::Result<()> {
        if self.is_full() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.reserve(position, len_bytes)
    }
}

/// Tells when it is released, which is the last thing that a broker which just goes away does.
#[derive(Debug)]
struct ObservedLock {
    lock: Option<Box<dyn FileLock>>,
    faults: Arc<Faults>,
}

impl FileLock for ObservedLock {}

impl Drop for ObservedLock {
    fn drop(&mut self) {
        self.lock = None;
        self.faults.locked.send_modify(|locked| *locked -= 1);
    }
}
