//! The real disk.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags};

use super::files::{
    Cached, DirEntry, DiskSpace, EntryKind, File, FileLock, FileStat, FileSystem, LockError,
    OpenMode,
};
use crate::types::Timestamp;

/// Files of the operating system.
#[derive(Clone, Copy, Debug)]
pub struct Disk;

#[expect(clippy::disallowed_methods, reason = "this is the seam that touches files")]
impl FileSystem for Disk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        options.read(true).write(mode != OpenMode::ReadOnly);
        match mode {
            OpenMode::Existing | OpenMode::ReadOnly => {}
            OpenMode::CreateNew => {
                options.create_new(true);
            }
            OpenMode::CreateOrKeep => {
                options.create(true).truncate(false);
            }
            OpenMode::CreateOrTruncate => {
                options.create(true).truncate(true);
            }
        }
        Ok(Arc::new(DiskFile(options.open(path)?)))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        fs::File::open(path)?.sync_all()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        fs::read_dir(path)?.map(|entry| to_entry(&entry?)).collect()
    }

    fn stat(&self, path: &Path) -> io::Result<Option<FileStat>> {
        match fs::metadata(path) {
            Ok(meta) => Ok(Some(to_stat(&meta)?)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>, LockError> {
        let to_error = |source| LockError::Io { path: path.to_owned(), source };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(to_error)?;
        match take_record_lock(&file) {
            Ok(()) => Ok(Box::new(DiskLock { _file: file })),
            Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
                Err(LockError::Held { path: path.to_owned(), pid: record_lock_holder(&file) })
            }
            Err(e) => Err(to_error(e)),
        }
    }

    fn probe_lock(&self, path: &Path) -> Result<(), LockError> {
        let to_error = |source| LockError::Io { path: path.to_owned(), source };
        let file = match fs::File::open(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(to_error)?,
        };
        let mut lock = whole_file_lock();
        // SAFETY: the descriptor is open and `lock` outlives the call.
        let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
        if result == -1 {
            return Err(to_error(io::Error::last_os_error()));
        }
        if i32::from(lock.l_type) == libc::F_UNLCK {
            return Ok(());
        }
        Err(LockError::Held { path: path.to_owned(), pid: Some(lock.l_pid).filter(|pid| *pid > 0) })
    }

    fn space(&self, path: &Path) -> io::Result<DiskSpace> {
        let stat = rustix::fs::statvfs(path)?;
        Ok(DiskSpace {
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            usable_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        })
    }
}

fn to_entry(entry: &fs::DirEntry) -> io::Result<DirEntry> {
    let kind = if entry.file_type()?.is_dir() { EntryKind::Directory } else { EntryKind::File };
    Ok(DirEntry { name: entry.file_name().to_string_lossy().into_owned(), kind })
}

fn to_stat(meta: &fs::Metadata) -> io::Result<FileStat> {
    let since_epoch = meta.modified()?.duration_since(UNIX_EPOCH);
    let modified_ms = since_epoch.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX));
    Ok(FileStat { len_bytes: meta.len(), modified: Timestamp::new(modified_ms) })
}

/// A whole-file write lock as `fcntl` takes it.
fn whole_file_lock() -> libc::flock {
    // SAFETY: flock is a plain C struct for which all zeros is a valid value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock
}

/// An open-file-description lock: it conflicts with Kafka's classic record locks, but unlike those does not vanish when
/// any other descriptor of the file is closed in this process.
fn take_record_lock(file: &fs::File) -> io::Result<()> {
    let lock = whole_file_lock();
    // SAFETY: the descriptor is open and `lock` outlives the call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The process that holds a classic lock; the system does not tell for open-file-description locks.
fn record_lock_holder(file: &fs::File) -> Option<i32> {
    let mut lock = whole_file_lock();
    // SAFETY: the descriptor is open and `lock` outlives the call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
    (result == 0 && lock.l_pid > 0).then_some(lock.l_pid)
}

/// `cachestat`: pages of a range that are in the page cache, `None` where the system lacks the call (Linux before 6.5).
fn cached_pages(file: &fs::File, position: u64, len: u64) -> io::Result<Option<u64>> {
    /// The same on all architectures.
    const CACHESTAT: libc::c_long = 451;
    #[repr(C)]
    struct Range {
        position: u64,
        len: u64,
    }
    #[repr(C)]
    #[derive(Default)]
    struct Found {
        cached: u64,
        /// Dirty, under writeback, evicted, recently evicted.
        others: [u64; 4],
    }
    let (range, mut found) = (Range { position, len }, Found::default());
    // SAFETY: the descriptor is open, `range` and `found` are laid out as the call wants them and outlive it.
    let result = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut found, 0_u32)
    };
    if result == 0 {
        return Ok(Some(found.cached));
    }
    match io::Error::last_os_error() {
        // Missing, forbidden by a sandbox or for this file, or of no use on this kind of file.
        error if matches!(error.raw_os_error(), Some(libc::EBADF | libc::EIO)) => Err(error),
        _ => Ok(None),
    }
}

#[derive(Debug)]
struct DiskLock {
    _file: fs::File,
}

impl FileLock for DiskLock {}

#[derive(Debug)]
struct DiskFile(fs::File);

impl File for DiskFile {
    fn write_all_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, position)
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read_at(&mut buffer[filled..], position + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(filled)
    }

    fn read_resident_at(&self, buffer: &mut [u8], position: u64) -> io::Result<Option<usize>> {
        let mut parts = [io::IoSliceMut::new(buffer)];
        match rustix::io::preadv2(&self.0, &mut parts, position, ReadWriteFlags::NOWAIT) {
            Ok(read) => Ok(Some(read)),
            // Not resident, or a file system that cannot tell: the caller goes by way of the blocking pool.
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::INTR | Errno::NOSYS) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn cached(&self, position: u64, len: usize) -> io::Result<Cached> {
        if len == 0 {
            return Ok(Cached::All);
        }
        let page = rustix::param::page_size() as u64;
        let pages = (position + len as u64 - 1) / page - position / page + 1;
        Ok(match cached_pages(&self.0, position, len as u64)? {
            None => Cached::Unknown,
            Some(cached) if cached >= pages => Cached::All,
            Some(_) => Cached::Part,
        })
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.0.set_len(len_bytes)
    }

    fn begin_sync(&self) {
        // SAFETY: the descriptor is open; no memory is passed. A failure shows in the sync that follows.
        unsafe {
            libc::sync_file_range(self.0.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE);
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn set_modified(&self, to: Timestamp) -> io::Result<()> {
        let since_epoch = Duration::from_millis(u64::try_from(to.get()).unwrap_or(0));
        self.0.set_modified(UNIX_EPOCH + since_epoch)
    }

    fn write_back(&self, position: u64, len_bytes: u64) -> io::Result<()> {
        let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
            | libc::SYNC_FILE_RANGE_WRITE
            | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        let (from, len) = (position.cast_signed(), len_bytes.cast_signed());
        // SAFETY: the descriptor is open; the call takes nothing but numbers.
        let result = unsafe { libc::sync_file_range(self.0.as_raw_fd(), from, len, flags) };
        if result == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            // A file system without it.
            error if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::ESPIPE)) => Ok(()),
            error => Err(error),
        }
    }

    fn reserve(&self, position: u64, len_bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&self.0, FallocateFlags::KEEP_SIZE, position, len_bytes) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, len: usize) -> io::Result<usize> {
        let mut position = position;
        Ok(rustix::fs::sendfile(socket, &self.0, Some(&mut position), len)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_cached_and_what_is_not_there_is_not() {
        let directory = tempfile::TempDir::new().expect("a directory");
        let file = Disk.open(&directory.path().join("f"), OpenMode::CreateNew).expect("new");
        file.write_all_at(&[7; 10_000], 0).expect("room");
        assert_eq!(file.cached(0, 10_000).expect("open"), Cached::All);
        assert_eq!(file.cached(4_095, 2).expect("open"), Cached::All);
        assert_eq!(file.cached(5_000, 0).expect("open"), Cached::All);
        assert_eq!(file.cached(9_999, 100_000).expect("open"), Cached::Part);
    }
}
