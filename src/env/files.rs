//! The disk as the engine sees it. [`Disk`](super::Disk) is the real one; tests put a simulated one in its place that
//! loses what was not synced.

use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::types::Timestamp;

/// How a file is opened. Files are always readable and writable; positions are the caller's (no append mode).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Must exist.
    Existing,
    /// Must exist; opened for reading only.
    ReadOnly,
    /// Must not exist.
    CreateNew,
    /// Created if missing, kept as it is otherwise.
    CreateOrKeep,
    /// Created if missing, emptied otherwise.
    CreateOrTruncate,
}

/// A regular file or a directory; everything else counts as a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Not a directory.
    File,
    /// A directory.
    Directory,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name without its path; names that are not UTF-8 are shown with replacement characters.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// Size and age of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// Length in bytes.
    pub len_bytes: u64,
    /// Last modification.
    pub modified: Timestamp,
}

/// Room on a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Size of the volume in bytes.
    pub total_bytes: u64,
    /// Bytes that this process may still write.
    pub usable_bytes: u64,
}

/// Why a lock file could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("another process{} holds the lock {}", .pid.map(|p| format!(" (pid {p})")).unwrap_or_default(), .path.display())]
    Held {
        /// The lock file.
        path: PathBuf,
        /// The holder where the system tells.
        pid: Option<i32>,
    },
    /// It could not be opened or locked.
    #[error("cannot lock {}: {source}", .path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A held lock; dropping it releases it.
pub trait FileLock: Send + Sync + Debug {}

/// Names: directories, renames, locks. Every call may block on the disk and belongs on a blocking thread.
pub trait FileSystem: Send + Sync + Debug {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Creates a directory and its parents; an existing one is fine.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Renames a file or directory, replacing a file of that name. Durable only after [`FileSystem::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory with all it holds.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes creations, renames and removals in this directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// The names in a directory, in no order.
    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>>;
    /// Size and age of a file, `None` if there is none.
    fn stat(&self, path: &Path) -> io::Result<Option<FileStat>>;
    /// Takes an exclusive `fcntl` record lock over the whole file, creating it if needed: the kind that Kafka takes.
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>, LockError>;
    /// Would [`FileSystem::lock`] find the lock free? Creates nothing.
    fn probe_lock(&self, path: &Path) -> Result<(), LockError> {
        let _ = path;
        Ok(())
    }
    /// Room on the volume of `path`.
    fn space(&self, path: &Path) -> io::Result<DiskSpace>;

    /// The whole content of a file, `None` if there is none.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        match self.open(path, OpenMode::ReadOnly) {
            Ok(file) => file.read_all().map(Some),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Removes a file that may be gone already.
    fn remove_if_there(&self, path: &Path) -> io::Result<()> {
        match self.remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

/// How much of a range of a file is in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// All of it: a moment later too, unless memory runs short just then.
    All,
    /// Not all of it.
    Part,
    /// The system does not tell.
    Unknown,
}

/// An open file. Reads and writes name their position and may be mixed from several threads.
#[expect(clippy::len_without_is_empty, reason = "nobody asks whether a file is empty")]
pub trait File: Send + Sync + Debug {
    /// Writes all of `bytes` at `position`; after an error any prefix may have been written.
    fn write_all_at(&self, bytes: &[u8], position: u64) -> io::Result<()>;
    /// Reads up to `buffer.len()` bytes; fewer only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;
    /// As [`File::read_at`], but only what is in the page cache: `None` if the disk would have to be asked. Never blocks.
    fn read_resident_at(&self, buffer: &mut [u8], position: u64) -> io::Result<Option<usize>>;
    /// How much of `len` bytes from `position` on the page cache holds. Never blocks.
    fn cached(&self, position: u64, len: usize) -> io::Result<Cached> {
        let _ = (position, len);
        Ok(Cached::Unknown)
    }
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Cuts or extends the file.
    fn set_len(&self, len_bytes: u64) -> io::Result<()>;
    /// Has the system begin to write what is dirty, and waits for nothing: files that are synced one after the other then share what
    /// the first sync costs. Best effort.
    fn begin_sync(&self) {}
    /// `fdatasync`. A failure is final: what was written since the last success may be lost whatever a retry says.
    fn sync(&self) -> io::Result<()>;
    /// Sets the time of the last modification, which stands for the age of records without timestamps. Not durable before
    /// the system writes it back.
    fn set_modified(&self, to: Timestamp) -> io::Result<()>;
    /// Waits until what was written there is on its way through the disk's queue, without making it durable: a later sync finds little
    /// left. An error is that of the disk. Where the system has no such call it does nothing. Blocks.
    fn write_back(&self, _position: u64, _len_bytes: u64) -> io::Result<()> {
        Ok(())
    }

    /// Reserves room for `len_bytes` from `position` on without changing the length; best effort except for a full disk.
    fn reserve(&self, position: u64, len_bytes: u64) -> io::Result<()>;
    /// Lends pages from `position` on to a socket instead of copying them (`sendfile`): the bytes that it took, 0 at the end of
    /// the file. Blocks on what is not cached; a file of which [`File::cached`] knows nothing need not be able to.
    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, len: usize) -> io::Result<usize> {
        let _ = (socket, position, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The whole content.
    fn read_all(&self) -> io::Result<Vec<u8>> {
        let len = usize::try_from(self.len()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut bytes = vec![0; len];
        let read = self.read_at(&mut bytes, 0)?;
        bytes.truncate(read);
        Ok(bytes)
    }
}

/// Replaces the content of `path` so that a crash leaves the old or the new one: temporary file, sync, rename, sync of the
/// directory. The temporary name is Kafka's, `<path>.tmp`.
pub fn write_atomically(files: &dyn FileSystem, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = Path::new(&temporary);
    let file = files.open(temporary, OpenMode::CreateOrTruncate)?;
    file.write_all_at(bytes, 0)?;
    file.sync()?;
    files.rename(temporary, path)?;
    match path.parent() {
        Some(directory) => files.sync_dir(directory),
        None => Ok(()),
    }
}
