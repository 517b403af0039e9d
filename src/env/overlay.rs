//! A disk on which everything can be tried and nothing happens: reads come from another file system, changes stay in memory.
//!
//! `highwater check` opens a stopped node's directory through it with the very code of a start, and then reads off what that
//! start would have changed. All state sits behind one lock; files are shared between those who opened them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::files::{
    DirEntry, DiskSpace, EntryKind, File, FileLock, FileStat, FileSystem, LockError, OpenMode,
};
use crate::types::Timestamp;

/// Bytes of changes that are kept. Beyond it the overlay is a full disk; a start copies more than a few MiB only where it
/// saves what it cuts off a log, and does without where there is no room.
const KEPT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Compared at a time.
const COMPARED_BYTES: usize = 64 * 1024;

/// What became of one path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A new file of this length.
    Created(u64),
    /// A new directory.
    CreatedDirectory,
    /// Bytes were taken off its end; lengths before and after.
    Cut(u64, u64),
    /// Other content; lengths before and after.
    Rewritten(u64, u64),
    /// It is gone.
    Removed,
    /// It was renamed to this.
    RenamedTo(PathBuf),
}

/// See the module.
#[derive(Debug)]
pub struct Overlay {
    below: Arc<dyn FileSystem>,
    nodes: Mutex<BTreeMap<PathBuf, Node>>,
    room: Arc<Room>,
}

/// What stands at a path instead of what lies below.
#[derive(Clone, Debug)]
enum Node {
    Directory,
    File(Arc<Content>),
    /// Removed, or renamed to a path.
    Gone(Option<PathBuf>),
}

#[derive(Debug, Default)]
struct Room {
    kept_bytes: AtomicU64,
}

impl Room {
    fn take(&self, bytes: usize) -> io::Result<()> {
        let kept = self.kept_bytes.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        if kept > KEPT_BYTES_MAX { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Overlay {
    /// Nothing of what is done to it reaches `below`.
    pub fn new(below: Arc<dyn FileSystem>) -> Self {
        Self { below, nodes: Mutex::new(BTreeMap::new()), room: Arc::default() }
    }

    /// What differs from the file system below, by path.
    pub fn changes(&self) -> io::Result<BTreeMap<PathBuf, Change>> {
        let nodes = self.nodes.lock();
        let mut changes = BTreeMap::new();
        for (path, node) in nodes.iter() {
            let before = self.below.stat(path)?;
            let change = match (node, before) {
                (Node::Gone(_), None) => None,
                (Node::Gone(None), Some(_)) => Some(Change::Removed),
                (Node::Gone(Some(to)), Some(_)) => Some(Change::RenamedTo(to.clone())),
                (Node::Directory, None) => Some(Change::CreatedDirectory),
                (Node::Directory, Some(_)) => None,
                (Node::File(content), None) => Some(Change::Created(content.stat().len_bytes)),
                (Node::File(content), Some(before)) => {
                    content.difference(self.below.as_ref(), path, before)?
                }
            };
            changes.extend(change.map(|change| (path.clone(), change)));
        }
        Ok(changes)
    }

    /// The node at a path, or the file below it made one.
    fn file(&self, path: &Path) -> io::Result<Option<Arc<Content>>> {
        let mut nodes = self.nodes.lock();
        match nodes.get(path) {
            Some(Node::File(content)) => return Ok(Some(Arc::clone(content))),
            Some(Node::Directory | Node::Gone(_)) => return Ok(None),
            None => {}
        }
        if self.is_below_gone(&nodes, path) {
            return Ok(None);
        }
        let Some(stat) = self.below.stat(path)? else { return Ok(None) };
        let content = Arc::new(Content::of(path, stat, Arc::clone(&self.room)));
        nodes.insert(path.to_owned(), Node::File(Arc::clone(&content)));
        Ok(Some(content))
    }

    fn is_below_gone(&self, nodes: &BTreeMap<PathBuf, Node>, path: &Path) -> bool {
        path.ancestors().skip(1).any(|parent| matches!(nodes.get(parent), Some(Node::Gone(_))))
    }

    fn is_directory(&self, nodes: &BTreeMap<PathBuf, Node>, path: &Path) -> bool {
        match nodes.get(path) {
            Some(Node::Directory) => true,
            Some(Node::File(_) | Node::Gone(_)) => false,
            None => !self.is_below_gone(nodes, path) && self.below.list(path).is_ok(),
        }
    }

    fn put(&self, path: &Path, content: Arc<Content>) {
        self.nodes.lock().insert(path.to_owned(), Node::File(content));
    }

    /// Moves a file, or each file in a directory.
    fn move_all(&self, from: &Path, to: &Path) -> io::Result<()> {
        if !self.is_directory(&self.nodes.lock(), from) {
            let content = self.file(from)?.ok_or(io::ErrorKind::NotFound)?;
            self.put(to, content);
            return Ok(());
        }
        self.create_dir_all(to)?;
        for entry in self.list(from)? {
            self.move_all(&from.join(&entry.name), &to.join(&entry.name))?;
        }
        Ok(())
    }

    /// Everything at and below `path` is gone.
    fn forget(&self, path: &Path, to: Option<&Path>) {
        let mut nodes = self.nodes.lock();
        nodes.retain(|other, _| !other.starts_with(path));
        nodes.insert(path.to_owned(), Node::Gone(to.map(Path::to_path_buf)));
    }
}

impl FileSystem for Overlay {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let found = self.file(path)?;
        let new = || Arc::new(Content::empty(Arc::clone(&self.room)));
        let content = match (mode, found) {
            (OpenMode::CreateNew, Some(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            (OpenMode::Existing | OpenMode::ReadOnly, None) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            (OpenMode::CreateOrTruncate, Some(content)) => {
                content.state.write().set_len(0);
                content
            }
            (OpenMode::Existing | OpenMode::ReadOnly | OpenMode::CreateOrKeep, Some(content)) => {
                content
            }
            (OpenMode::CreateNew | OpenMode::CreateOrKeep | OpenMode::CreateOrTruncate, None) => {
                let content = new();
                self.put(path, Arc::clone(&content));
                content
            }
        };
        Ok(Arc::new(Handle::open(self.below.as_ref(), content)?))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut nodes = self.nodes.lock();
        let missing: Vec<_> = path
            .ancestors()
            .filter(|path| !path.as_os_str().is_empty() && !self.is_directory(&nodes, path))
            .map(Path::to_path_buf)
            .collect();
        nodes.extend(missing.into_iter().map(|path| (path, Node::Directory)));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.move_all(from, to)?;
        self.forget(from, Some(to));
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.file(path)?.ok_or(io::ErrorKind::NotFound)?;
        self.forget(path, None);
        Ok(())
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.forget(path, None);
        Ok(())
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let nodes = self.nodes.lock();
        if !self.is_directory(&nodes, path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let below = match nodes.get(path) {
            // Made here: what once lay at the path is not in it.
            Some(Node::Directory) => Vec::new(),
            _ => self.below.list(path)?,
        };
        let untouched = |entry: &DirEntry| !nodes.contains_key(&path.join(&entry.name));
        let mut entries: Vec<DirEntry> = below.into_iter().filter(untouched).collect();
        for (child, node) in nodes.iter().filter(|(child, _)| child.parent() == Some(path)) {
            let kind = match node {
                Node::Directory => EntryKind::Directory,
                Node::File(_) => EntryKind::File,
                Node::Gone(_) => continue,
            };
            let name = child.file_name().unwrap_or_default().to_string_lossy().into_owned();
            entries.push(DirEntry { name, kind });
        }
        Ok(entries)
    }

    fn stat(&self, path: &Path) -> io::Result<Option<FileStat>> {
        let nodes = self.nodes.lock();
        match nodes.get(path) {
            Some(Node::File(content)) => Ok(Some(content.stat())),
            Some(Node::Directory) => {
                Ok(Some(FileStat { len_bytes: 0, modified: Timestamp::new(0) }))
            }
            Some(Node::Gone(_)) => Ok(None),
            None if self.is_below_gone(&nodes, path) => Ok(None),
            None => self.below.stat(path),
        }
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>, LockError> {
        self.below.probe_lock(path)?;
        Ok(Box::new(NoLock))
    }

    fn probe_lock(&self, path: &Path) -> Result<(), LockError> {
        self.below.probe_lock(path)
    }

    fn space(&self, path: &Path) -> io::Result<DiskSpace> {
        self.below.space(path)
    }
}

/// Nothing is written, so nobody need be kept away.
#[derive(Debug)]
struct NoLock;

impl FileLock for NoLock {}

/// One file: a prefix of the one below, and what was written over it.
#[derive(Debug)]
struct Content {
    /// Where the one below lies; it is opened by whoever opens this one, and closed with it.
    below: Option<PathBuf>,
    room: Arc<Room>,
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    /// Bytes from the start that are still those below.
    kept: u64,
    len: u64,
    modified: Timestamp,
    /// Written ranges by position; no two of them overlap.
    written: BTreeMap<u64, Vec<u8>>,
}

impl Content {
    fn of(below: &Path, stat: FileStat, room: Arc<Room>) -> Self {
        let FileStat { len_bytes: len, modified } = stat;
        let state = State { kept: len, len, modified, written: BTreeMap::new() };
        Self { below: Some(below.to_owned()), room, state: RwLock::new(state) }
    }

    fn empty(room: Arc<Room>) -> Self {
        let modified = Timestamp::new(0);
        let state = State { kept: 0, len: 0, modified, written: BTreeMap::new() };
        Self { below: None, room, state: RwLock::new(state) }
    }

    fn stat(&self) -> FileStat {
        let state = self.state.read();
        FileStat { len_bytes: state.len, modified: state.modified }
    }

    /// What it is beside the file of `path` below.
    fn difference(
        self: &Arc<Self>,
        files: &dyn FileSystem,
        path: &Path,
        before: FileStat,
    ) -> io::Result<Option<Change>> {
        let len = self.stat().len_bytes;
        let same_file = self.below.as_deref() == Some(path);
        if same_file && self.state.read().written.is_empty() {
            return Ok(match len.cmp(&before.len_bytes) {
                std::cmp::Ordering::Equal => None,
                std::cmp::Ordering::Less => Some(Change::Cut(before.len_bytes, len)),
                std::cmp::Ordering::Greater => Some(Change::Rewritten(before.len_bytes, len)),
            });
        }
        let below = files.open(path, OpenMode::ReadOnly)?;
        let same = len == before.len_bytes
            && same_bytes(below.as_ref(), &Handle::open(files, Arc::clone(self))?)?;
        Ok((!same).then_some(Change::Rewritten(before.len_bytes, len)))
    }
}

/// Compares two files of the same length.
fn same_bytes(one: &dyn File, other: &dyn File) -> io::Result<bool> {
    let mut buffers = (vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]);
    let mut position = 0;
    loop {
        let read = one.read_at(&mut buffers.0, position)?;
        let as_much = other.read_at(&mut buffers.1, position)?;
        if read != as_much || buffers.0[..read] != buffers.1[..read] {
            return Ok(false);
        }
        if read == 0 {
            return Ok(true);
        }
        position += read as u64;
    }
}

impl State {
    fn write(&mut self, position: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let end = position + bytes.len() as u64;
        let before = self
            .written
            .range(..=position)
            .next_back()
            .map(|(start, range)| (*start, range.len() as u64));
        let (start, mut range) = match before {
            Some((start, len)) if start + len >= position => {
                (start, self.written.remove(&start).unwrap_or_default())
            }
            _ => (position, Vec::new()),
        };
        let at = usize::try_from(position - start).expect("it lies in a range in memory");
        let rest = range.split_off(at);
        range.extend_from_slice(bytes);
        range.extend_from_slice(rest.get(bytes.len()..).unwrap_or_default());
        let covered: Vec<u64> = self.written.range(start..=end).map(|(start, _)| *start).collect();
        for other in covered {
            let Some(later) = self.written.remove(&other) else { continue };
            let have = usize::try_from(start + range.len() as u64 - other).unwrap_or(usize::MAX);
            range.extend_from_slice(later.get(have..).unwrap_or_default());
        }
        self.written.insert(start, range);
        self.len = self.len.max(end);
    }

    fn set_len(&mut self, len: u64) {
        self.kept = self.kept.min(len);
        self.len = len;
        self.written.split_off(&len);
        if let Some((start, range)) = self.written.iter_mut().next_back() {
            range.truncate(usize::try_from(len - start).unwrap_or(usize::MAX));
        }
    }

    /// Lays what was written over what was read from below.
    fn lay_over(&self, buffer: &mut [u8], position: u64) {
        let end = position + buffer.len() as u64;
        for (start, range) in self.written.range(..end).rev() {
            let range_end = start + range.len() as u64;
            if range_end <= position {
                break;
            }
            let (from, to) = ((*start).max(position), range_end.min(end));
            let slice = |base: u64| -> std::ops::Range<usize> {
                let index = |at: u64| usize::try_from(at - base).expect("within a buffer");
                index(from)..index(to)
            };
            buffer[slice(position)].copy_from_slice(&range[slice(*start)]);
        }
    }
}

/// A file that somebody has open.
#[derive(Debug)]
struct Handle {
    content: Arc<Content>,
    below: Option<Arc<dyn File>>,
}

impl Handle {
    fn open(files: &dyn FileSystem, content: Arc<Content>) -> io::Result<Self> {
        let below = match &content.below {
            Some(path) => Some(files.open(path, OpenMode::ReadOnly)?),
            None => None,
        };
        Ok(Self { content, below })
    }
}

impl File for Handle {
    fn write_all_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        self.content.room.take(bytes.len())?;
        self.content.state.write().write(position, bytes);
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let state = self.content.state.read();
        let left = usize::try_from(state.len.saturating_sub(position)).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let buffer = &mut buffer[..wanted];
        let kept = usize::try_from(state.kept.saturating_sub(position)).unwrap_or(usize::MAX);
        let (from_below, new) = buffer.split_at_mut(kept.min(wanted));
        if let Some(below) = &self.below {
            let read = below.read_at(from_below, position)?;
            from_below[read..].fill(0);
        }
        new.fill(0);
        state.lay_over(buffer, position);
        Ok(wanted)
    }

    fn read_resident_at(&self, buffer: &mut [u8], position: u64) -> io::Result<Option<usize>> {
        self.read_at(buffer, position).map(Some)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.stat().len_bytes)
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.content.state.write().set_len(len_bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn set_modified(&self, to: Timestamp) -> io::Result<()> {
        self.content.state.write().modified = to;
        Ok(())
    }

    fn reserve(&self, _position: u64, _len_bytes: u64) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes the files below")]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::env::Disk;

    fn overlay() -> (TempDir, Overlay) {
        let root = TempDir::new().unwrap();
        fs::write(root.path().join("a"), b"0123456789").unwrap();
        fs::create_dir(root.path().join("d")).unwrap();
        fs::write(root.path().join("d/x"), b"inside").unwrap();
        (root, Overlay::new(Arc::new(Disk)))
    }

    fn content(files: &Overlay, path: &Path) -> Option<Vec<u8>> {
        files.read(path).unwrap()
    }

    #[test]
    fn what_is_written_is_read_back_and_the_file_below_stays() {
        let (root, files) = overlay();
        let path = root.path().join("a");
        let file = files.open(&path, OpenMode::Existing).unwrap();
        file.write_all_at(b"bc", 1).unwrap();
        file.write_all_at(b"XYZ", 2).unwrap();
        file.write_all_at(b"end", 12).unwrap();
        assert_eq!(content(&files, &path).unwrap(), b"0bXYZ56789\0\0end");
        file.set_len(3).unwrap();
        file.set_len(6).unwrap();
        assert_eq!(content(&files, &path).unwrap(), b"0bX\0\0\0");
        assert_eq!(fs::read(&path).unwrap(), b"0123456789");
        assert_eq!(files.changes().unwrap(), [(path, Change::Rewritten(10, 6))].into());
    }

    #[test]
    fn writes_in_any_order_are_those_of_a_file() {
        for seed in 0..200_u64 {
            let (root, files) = overlay();
            let file = files.open(&root.path().join("a"), OpenMode::Existing).unwrap();
            let real = Disk.open(&root.path().join("d/x"), OpenMode::CreateOrTruncate).unwrap();
            real.write_all_at(b"0123456789", 0).unwrap();
            let mut random = seed * 7919 + 1;
            for step in 0..20_u8 {
                random = (random * 6_364_136_223 + 1) % 1_000_003;
                let position = random % 30;
                let bytes = vec![b'a' + step; usize::try_from(random % 9).unwrap()];
                if random.is_multiple_of(5) {
                    file.set_len(position).unwrap();
                    real.set_len(position).unwrap();
                } else {
                    file.write_all_at(&bytes, position).unwrap();
                    real.write_all_at(&bytes, position).unwrap();
                }
                assert_eq!(file.read_all().unwrap(), real.read_all().unwrap(), "seed {seed}");
            }
        }
    }

    #[test]
    fn names_change_only_here() {
        let (root, files) = overlay();
        let at = |name: &str| root.path().join(name);
        files.rename(&at("d"), &at("e")).unwrap();
        files.remove_file(&at("a")).unwrap();
        files.open(&at("n"), OpenMode::CreateNew).unwrap().write_all_at(b"new", 0).unwrap();
        assert_eq!(content(&files, &at("e/x")).unwrap(), b"inside");
        assert_eq!(content(&files, &at("d/x")), None);
        assert_eq!(files.stat(&at("a")).unwrap(), None);
        let mut names: Vec<_> =
            files.list(root.path()).unwrap().into_iter().map(|entry| entry.name).collect();
        names.sort();
        assert_eq!(names, ["e", "n"]);
        let changes = files.changes().unwrap();
        assert_eq!(changes[&at("d")], Change::RenamedTo(at("e")));
        assert_eq!(changes[&at("a")], Change::Removed);
        assert_eq!(changes[&at("n")], Change::Created(3));
        assert!(root.path().join("d/x").exists() && root.path().join("a").exists());
        assert!(!root.path().join("n").exists());
    }

    #[test]
    fn what_is_written_again_as_it_was_is_no_change() {
        let (root, files) = overlay();
        let path = root.path().join("a");
        crate::env::write_atomically(&files, &path, b"0123456789").unwrap();
        assert_eq!(files.changes().unwrap(), BTreeMap::new());
        let file = files.open(&path, OpenMode::Existing).unwrap();
        file.set_len(4).unwrap();
        assert_eq!(file.read_all().unwrap(), b"0123");
    }
}
