//! A disk in memory that forgets what was not synced.
//!
//! Files: what [`File::sync`] has covered is safe. Of the writes and cuts after it, a crash keeps a prefix, the last one
//! perhaps torn; or, as page caches may, any selection of the writes, with zeros where a later one was kept and an earlier
//! one not. Directories: what [`FileSystem::sync_dir`] has covered is safe; of the changes of names after it, a crash keeps a
//! prefix, each directory for itself. A file without a name is gone, however often it was synced. (A rename from one
//! directory to another is safe at once, so that a crash cannot leave two halves of it.)
//!
//! [`SimulatedDisk::limit`] makes it small, [`SimulatedDisk::fail_after`] and [`SimulatedDisk::break_at`] make it break,
//! [`SimulatedDisk::cut_power_at`] remembers what it was like at one moment, while everything goes on.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use highwater::env::{
    DirEntry, DiskSpace, EntryKind, Env, File, FileLock, FileStat, FileSystem, LockError,
    ManualClock, OpenMode, Random, SeededRandom,
};
use highwater::types::Timestamp;

use super::logs::NOW;

#[derive(Clone, Debug)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

#[derive(Clone, Debug)]
struct State {
    inodes: Vec<Inode>,
    /// The first one is the root.
    directories: Vec<Directory>,
    /// Most bytes in all files.
    limit_bytes: usize,
    /// Writes and syncs until the disk breaks.
    operations_left: Option<usize>,
    fault: Option<Fault>,
    /// Changes, files opened, reads: how many there were.
    counts: [usize; 3],
    power_cut_at: Option<usize>,
    denied: Option<PathBuf>,
    /// As it was when the power was cut.
    then: Option<Box<State>>,
}

/// What can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Whatever changes the disk or makes a change safe: writes, cuts, syncs, new names, renames, removals.
    Change,
    /// A file is opened.
    Open,
    /// A file is read.
    Read,
}

/// When the disk breaks, and how.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub what: Touch,
    /// After so many of the kind.
    pub after: usize,
    /// Every one from then on fails, not that one alone.
    pub lasting: bool,
    /// The system's code.
    pub errno: i32,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    safe: Vec<u8>,
    now: Vec<u8>,
    pending: Vec<Change>,
    /// Only what [`File::set_modified`] says; files do not grow older by themselves here.
    modified: i64,
}

#[derive(Clone, Debug)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    SetLen(usize),
}

#[derive(Clone, Debug, Default)]
struct Directory {
    safe: BTreeMap<String, Entry>,
    now: BTreeMap<String, Entry>,
    pending: Vec<NameChange>,
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    File(usize),
    Directory(usize),
}

#[derive(Clone, Debug)]
enum NameChange {
    Put(String, Entry),
    Remove(String),
    Rename(String, String),
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => {
                to.resize(to.len().max(at + bytes.len()), 0);
                to[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            Self::SetLen(len) => to.resize(*len, 0),
        }
    }
}

impl NameChange {
    fn apply(&self, to: &mut BTreeMap<String, Entry>) {
        match self {
            Self::Put(name, entry) => {
                to.insert(name.clone(), *entry);
            }
            Self::Remove(name) => {
                to.remove(name);
            }
            Self::Rename(from, name) => {
                if let Some(entry) = to.remove(from) {
                    to.insert(name.clone(), entry);
                }
            }
        }
    }
}

impl Directory {
    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.now);
        self.pending.push(change);
    }

    fn make_safe(&mut self) {
        self.safe = self.now.clone();
        self.pending.clear();
    }
}

impl SimulatedDisk {
    /// With an empty directory `/data`, whose name is safe.
    pub fn new() -> Self {
        let mut root = Directory::default();
        root.change(NameChange::Put("data".to_owned(), Entry::Directory(1)));
        root.make_safe();
        Self::with(Vec::new(), vec![root, Directory::default()])
    }

    fn with(inodes: Vec<Inode>, directories: Vec<Directory>) -> Self {
        Self(Arc::new(Mutex::new(State {
            inodes,
            directories,
            limit_bytes: usize::MAX,
            operations_left: None,
            fault: None,
            counts: [0; 3],
            power_cut_at: None,
            denied: None,
            then: None,
        })))
    }

    /// A machine with this disk, where everything happens at one moment.
    pub fn env(&self, seed: u64) -> Env {
        Env {
            clock: Arc::new(ManualClock::new(NOW)),
            random: Arc::new(SeededRandom::new(seed)),
            files: Arc::new(self.clone()),
        }
    }

    /// The disk is full at so many bytes in all files together.
    pub fn limit(&self, bytes: usize) {
        self.state().limit_bytes = bytes;
    }

    /// Bytes in all files that have a name.
    pub fn used_bytes(&self) -> usize {
        self.state().used_bytes()
    }

    /// From the `count`th write or sync on, all of them fail.
    pub fn fail_after(&self, count: usize) {
        self.state().operations_left = Some(count);
    }

    /// From now on it breaks like that; `None`: it works.
    pub fn break_at(&self, fault: Option<Fault>) {
        let mut state = self.state();
        state.counts = [0; 3];
        state.fault = fault;
    }

    /// How often it was touched since [`SimulatedDisk::break_at`].
    pub fn count(&self, what: Touch) -> usize {
        self.state().counts[what as usize]
    }

    /// After so many changes from now on the power goes: what happens after that is not on the disk that
    /// [`SimulatedDisk::when_power_went`] gives.
    pub fn cut_power_at(&self, changes: usize) {
        let mut state = self.state();
        state.counts = [0; 3];
        state.power_cut_at = Some(changes);
    }

    /// One of the states that the power cut may have left, chosen by `seed`; `None` before it.
    pub fn when_power_went(&self, seed: u64) -> Option<Self> {
        Some(self.state().then.as_ref()?.crashed(seed))
    }

    /// Another disk that holds the same.
    pub fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.state().clone())))
    }

    /// All files, by their paths.
    pub fn all_files(&self) -> Vec<PathBuf> {
        let state = self.state();
        let mut found = Vec::new();
        let mut directories = vec![(PathBuf::from("/"), 0)];
        while let Some((path, number)) = directories.pop() {
            for (name, entry) in &state.directories[number].now {
                match entry {
                    Entry::File(_) => found.push(path.join(name)),
                    Entry::Directory(number) => directories.push((path.join(name), *number)),
                }
            }
        }
        found.sort();
        found
    }

    /// Whoever opens this hears that it may not.
    pub fn deny(&self, path: &Path) {
        self.state().denied = Some(path.to_owned());
    }

    /// False once the power was cut.
    pub fn has_power(&self) -> bool {
        self.state().then.is_none()
    }

    /// One of the states that a power cut now may leave, chosen by `seed`.
    pub fn crashed(&self, seed: u64) -> Self {
        self.state().crashed(seed)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.entry(path).ok_or(io::ErrorKind::NotFound)?;
        state.touch(Touch::Change)?;
        let (parent, name) = split(path);
        state.directory(parent)?.change(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panics while it holds the disk")
    }
}

impl Inode {
    fn crashed(&self, random: &SeededRandom) -> Self {
        let mut kept = self.safe.clone();
        if random.next_u64().is_multiple_of(3) {
            self.pending.iter().filter(|_| random.next_u64().is_multiple_of(2)).for_each(
                |change| {
                    change.apply(&mut kept);
                },
            );
        } else {
            let count = below(random, self.pending.len() + 1);
            self.pending[..count].iter().for_each(|change| change.apply(&mut kept));
            if let Some(Change::Write { at, bytes }) = self.pending.get(count) {
                let torn = below(random, bytes.len() + 1);
                Change::Write { at: *at, bytes: bytes[..torn].to_vec() }.apply(&mut kept);
            }
        }
        Self { safe: kept.clone(), now: kept, pending: Vec::new(), modified: self.modified }
    }
}

impl Directory {
    fn crashed(&self, random: &SeededRandom) -> Self {
        let mut kept = self.safe.clone();
        let count = below(random, self.pending.len() + 1);
        self.pending[..count].iter().for_each(|change| change.apply(&mut kept));
        Self { safe: kept.clone(), now: kept, pending: Vec::new() }
    }
}

/// A number below `bound`.
pub fn below(random: &SeededRandom, bound: usize) -> usize {
    (random.next_u64() % bound as u64) as usize
}

impl State {
    fn crashed(&self, seed: u64) -> SimulatedDisk {
        let random = SeededRandom::new(seed);
        let inodes = self.inodes.iter().map(|inode| inode.crashed(&random)).collect();
        // One whose name is lost is lost with all it holds: nobody finds it.
        let directories = self.directories.iter().map(|names| names.crashed(&random)).collect();
        SimulatedDisk::with(inodes, directories)
    }

    fn used_bytes(&self) -> usize {
        let entries = self.directories.iter().flat_map(|directory| directory.now.values());
        let files = entries.filter_map(|entry| match entry {
            Entry::File(inode) => Some(self.inodes[*inode].now.len()),
            Entry::Directory(_) => None,
        });
        files.sum()
    }

    fn number_of(&self, path: &Path) -> Option<usize> {
        path.iter().skip(1).try_fold(0, |at, name| {
            match self.directories[at].now.get(name.to_str().expect("UTF-8"))? {
                Entry::Directory(number) => Some(*number),
                Entry::File(_) => None,
            }
        })
    }

    fn directory(&mut self, path: &Path) -> io::Result<&mut Directory> {
        let number = self.number_of(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(&mut self.directories[number])
    }

    fn entry(&self, path: &Path) -> Option<Entry> {
        let (parent, name) = split(path);
        self.directories[self.number_of(parent)?].now.get(name).copied()
    }

    /// Counts a write or sync.
    fn operate(&mut self) -> io::Result<()> {
        self.touch(Touch::Change)?;
        match &mut self.operations_left {
            None => Ok(()),
            Some(0) => Err(io::Error::other("simulated I/O error")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }

    /// Comes before whatever may fail.
    fn touch(&mut self, what: Touch) -> io::Result<()> {
        let count = self.counts[what as usize];
        if what == Touch::Change && self.power_cut_at == Some(count) && self.then.is_none() {
            self.then = Some(Box::new(self.clone()));
        }
        self.counts[what as usize] += 1;
        match self.fault {
            Some(Fault { what: kind, after, lasting, errno })
                if kind == what && (count == after || (lasting && count > after)) =>
            {
                Err(io::Error::from_raw_os_error(errno))
            }
            _ => Ok(()),
        }
    }
}

fn split(path: &Path) -> (&Path, &str) {
    let parent = path.parent().expect("absolute");
    (parent, path.file_name().expect("a name").to_str().expect("UTF-8"))
}

impl FileSystem for SimulatedDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut state = self.state();
        let (parent, name) = split(path);
        state.touch(Touch::Open)?;
        if state.denied.as_deref() == Some(path) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let inode = match (state.entry(path), mode) {
            (Some(Entry::Directory(_)), _) => return Err(io::ErrorKind::IsADirectory.into()),
            (Some(_), OpenMode::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(Entry::File(inode)), _) => inode,
            (None, OpenMode::Existing | OpenMode::ReadOnly) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            (None, _) => {
                let inode = state.inodes.len();
                state.directory(parent)?;
                state.touch(Touch::Change)?;
                let directory = state.directory(parent)?;
                directory.change(NameChange::Put(name.to_owned(), Entry::File(inode)));
                state.inodes.push(Inode::default());
                inode
            }
        };
        if mode == OpenMode::CreateOrTruncate {
            state.touch(Touch::Change)?;
            state.inodes[inode].change(Change::SetLen(0));
        }
        Ok(Arc::new(SimulatedFile { disk: self.clone(), inode }))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        let missing: Vec<&Path> =
            path.ancestors().filter(|path| state.number_of(path).is_none()).collect();
        for path in missing.into_iter().rev() {
            let (parent, name) = split(path);
            state.touch(Touch::Change)?;
            let entry = Entry::Directory(state.directories.len());
            state.directory(parent)?.change(NameChange::Put(name.to_owned(), entry));
            state.directories.push(Directory::default());
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let entry = state.entry(from).ok_or(io::ErrorKind::NotFound)?;
        state.touch(Touch::Change)?;
        let ((from_parent, from), (to_parent, to)) = (split(from), split(to));
        if from_parent == to_parent {
            let change = NameChange::Rename(from.to_owned(), to.to_owned());
            state.directory(from_parent)?.change(change);
            return Ok(());
        }
        state.directory(from_parent)?.change(NameChange::Remove(from.to_owned()));
        state.directory(to_parent)?.change(NameChange::Put(to.to_owned(), entry));
        for directory in [from_parent, to_parent] {
            state.directory(directory)?.make_safe();
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.remove(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.remove(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operate()?;
        state.directory(path)?.make_safe();
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let mut state = self.state();
        let entries = state.directory(path)?.now.iter().map(|(name, entry)| DirEntry {
            name: name.clone(),
            kind: match entry {
                Entry::File(_) => EntryKind::File,
                Entry::Directory(_) => EntryKind::Directory,
            },
        });
        Ok(entries.collect())
    }

    fn stat(&self, path: &Path) -> io::Result<Option<FileStat>> {
        let state = self.state();
        if state.number_of(path).is_some() {
            return Ok(Some(FileStat { len_bytes: 0, modified: Timestamp::new(0) }));
        }
        let Some(Entry::File(inode)) = state.entry(path) else { return Ok(None) };
        let inode = &state.inodes[inode];
        let modified = Timestamp::new(inode.modified);
        Ok(Some(FileStat { len_bytes: inode.now.len() as u64, modified }))
    }

    fn lock(&self, _path: &Path) -> Result<Box<dyn FileLock>, LockError> {
        #[derive(Debug)]
        struct Lock;
        impl FileLock for Lock {}
        Ok(Box::new(Lock))
    }

    fn space(&self, _path: &Path) -> io::Result<DiskSpace> {
        Ok(DiskSpace { total_bytes: u64::MAX, usable_bytes: u64::MAX })
    }
}

impl Inode {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.now);
        self.pending.push(change);
    }
}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    inode: usize,
}

impl File for SimulatedFile {
    fn write_all_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        let at = position as usize;
        let broken = state.operate();
        let free = state.limit_bytes.saturating_sub(state.used_bytes());
        let inode = &mut state.inodes[self.inode];
        let room = (inode.now.len() + free).saturating_sub(at);
        // What fits, or half of it, is written before the error shows.
        let written = if broken.is_err() { bytes.len() / 2 } else { bytes.len().min(room) };
        if written > 0 || bytes.is_empty() {
            inode.change(Change::Write { at, bytes: bytes[..written].to_vec() });
        }
        broken?;
        if written < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        state.touch(Touch::Read)?;
        let rest = state.inodes[self.inode].now.get(position as usize..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn read_resident_at(&self, buffer: &mut [u8], position: u64) -> io::Result<Option<usize>> {
        self.read_at(buffer, position).map(Some)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().inodes[self.inode].now.len() as u64)
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.touch(Touch::Change)?;
        state.inodes[self.inode].change(Change::SetLen(len_bytes as usize));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.operate()?;
        let inode = &mut state.inodes[self.inode];
        inode.safe = inode.now.clone();
        inode.pending.clear();
        Ok(())
    }

    fn set_modified(&self, to: Timestamp) -> io::Result<()> {
        self.disk.state().touch(Touch::Change)?;
        self.disk.state().inodes[self.inode].modified = to.get();
        Ok(())
    }

    fn reserve(&self, _position: u64, _len_bytes: u64) -> io::Result<()> {
        Ok(())
    }
}
