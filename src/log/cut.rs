//! Saving what recovery cuts off a log.
//!
//! It goes into plain files beside the partition directories, where Kafka ignores names that it does not know:
//! `highwater-cut.<partition>.<base of the segment>.<position of the first byte>`. Nothing reads or removes them; an operator
//! may.

use std::io;
use std::path::{Path, PathBuf};

use super::segment::{FileKind, Segment};
use crate::env::{File, FileSystem, OpenMode};
use crate::types::Offset;

const COPY_BYTES: usize = 1 << 20;

/// Part of a segment's `.log`, from `at` to its end at `len`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut<'a> {
    pub(super) directory: &'a Path,
    pub(super) base: Offset,
    pub(super) at: u64,
    pub(super) len: u64,
}

/// Copies the part into a file of its own and syncs that, unless it is all zeros: room that was only reserved.
pub(super) fn save(files: &dyn FileSystem, log: &dyn File, cut: &Cut<'_>) -> io::Result<()> {
    let mut copy = None;
    let mut buffer = vec![0; COPY_BYTES];
    let mut position = cut.at;
    while position < cut.len {
        let wanted = COPY_BYTES.min(usize::try_from(cut.len - position).unwrap_or(COPY_BYTES));
        let read = log.read_at(&mut buffer[..wanted], position)?;
        if read == 0 {
            break;
        }
        if copy.is_none() && buffer[..read].iter().any(|&byte| byte != 0) {
            copy = Some(files.open(&free_name(files, cut)?, OpenMode::CreateNew)?);
        }
        if let Some(copy) = &copy {
            copy.write_all_at(&buffer[..read], position - cut.at)?;
        }
        position += read as u64;
    }
    let (Some(copy), Some(parent)) = (copy, cut.directory.parent()) else { return Ok(()) };
    copy.sync()?;
    files.sync_dir(parent)
}

/// Moves the whole `.log` of a dropped segment out of its directory. An empty one is removed.
pub(super) fn move_away(
    files: &dyn FileSystem,
    segment: &Segment,
    directory: &Path,
) -> io::Result<()> {
    let log = segment.files.path(FileKind::Log);
    if files.stat(&log)?.is_none_or(|stat| stat.len_bytes == 0) {
        return files.remove_if_there(&log);
    }
    let cut = Cut { directory, base: segment.base, at: 0, len: 0 };
    files.rename(&log, &free_name(files, &cut)?)?;
    directory.parent().map_or(Ok(()), |parent| files.sync_dir(parent))
}

/// A name that no earlier cut has taken.
fn free_name(files: &dyn FileSystem, cut: &Cut<'_>) -> io::Result<PathBuf> {
    let partition = cut.directory.file_name().unwrap_or_default().to_string_lossy();
    let name = format!("highwater-cut.{partition}.{:020}.{}", cut.base.get(), cut.at);
    let parent = cut.directory.parent().unwrap_or(cut.directory);
    let mut path = parent.join(&name);
    let mut again = 1;
    while files.stat(&path)?.is_some() {
        path = parent.join(format!("{name}.{again}"));
        again += 1;
    }
    Ok(path)
}
