//! Which files there are to show, and what each is by its name.

use std::path::{Path, PathBuf};

use crate::cli::CommandError;
use crate::env::{EntryKind, FileSystem};
use crate::metadata::journal::quorum_state;
use crate::storage::{Checkpoint, CleanShutdown, DirectoryName, MetaProperties};
use crate::types::Offset;

/// Directories below a path that are looked into: log directory, partition.
const DEPTH_MAX: usize = 2;

/// A file.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub path: PathBuf,
    pub kind: FileKind,
    /// What the name of its directory says.
    pub directory: DirectoryName,
}

/// What a file is by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// `<base>.log`.
    Log(Offset),
    /// A snapshot of the metadata, `<end>-<epoch>.checkpoint` or `bootstrap.checkpoint`.
    Snapshot,
    /// `<base>.index`.
    OffsetIndex(Offset),
    /// `<base>.timeindex`.
    TimeIndex(Offset),
    /// `<base>.txnindex`.
    AbortedIndex(Offset),
    /// `<end>.snapshot`.
    Producers,
    LeaderEpochs,
    PartitionMetadata,
    OffsetCheckpoint,
    MetaProperties,
    CleanShutdown,
    QuorumState,
    Unknown,
}

/// All files at and below `paths`, in the order of their names.
pub(super) fn find(files: &dyn FileSystem, paths: &[PathBuf]) -> Result<Vec<Found>, CommandError> {
    let mut found = Vec::new();
    for path in paths {
        let is_directory = files.list(path).is_ok();
        if is_directory {
            below(files, path, DEPTH_MAX, &mut found)?;
        } else if matches!(files.stat(path), Ok(Some(_))) {
            found.push(of_file(path));
        } else {
            return Err(CommandError::Usage(format!("{}: there is no such file", path.display())));
        }
    }
    Ok(found)
}

fn below(
    files: &dyn FileSystem,
    directory: &Path,
    depth: usize,
    found: &mut Vec<Found>,
) -> Result<(), CommandError> {
    let unreadable =
        |e| CommandError::Failed(format!("{} cannot be read: {e}", directory.display()));
    let mut entries = files.list(directory).map_err(unreadable)?;
    entries.sort_by(|a, b| {
        (a.kind == EntryKind::Directory, &a.name).cmp(&(b.kind == EntryKind::Directory, &b.name))
    });
    for entry in entries {
        let path = directory.join(&entry.name);
        match entry.kind {
            EntryKind::Directory if depth > 1 => below(files, &path, depth - 1, found)?,
            EntryKind::File if entry.name != ".lock" => found.push(of_file(&path)),
            EntryKind::Directory | EntryKind::File => {}
        }
    }
    Ok(())
}

fn of_file(path: &Path) -> Found {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The directory of a bare name is the current one, whose name counts too.
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let parent = whole.parent().and_then(Path::file_name).unwrap_or_default();
    Found {
        path: path.to_owned(),
        kind: kind_of(&name),
        directory: DirectoryName::parse(&parent.to_string_lossy()),
    }
}

fn kind_of(name: &str) -> FileKind {
    const CHECKPOINTS: [Checkpoint; 4] = [
        Checkpoint::RecoveryPoint,
        Checkpoint::LogStart,
        Checkpoint::HighWatermark,
        Checkpoint::Cleaner,
    ];
    let is = |named: &str| name == named;
    if CHECKPOINTS.into_iter().any(|kind| is(kind.file_name())) {
        return FileKind::OffsetCheckpoint;
    }
    match name {
        "leader-epoch-checkpoint" => FileKind::LeaderEpochs,
        "partition.metadata" => FileKind::PartitionMetadata,
        MetaProperties::FILE_NAME => FileKind::MetaProperties,
        CleanShutdown::FILE_NAME => FileKind::CleanShutdown,
        quorum_state::FILE_NAME => FileKind::QuorumState,
        _ => of_segment(name),
    }
}

/// A leftover is what it will be, or was.
fn of_segment(name: &str) -> FileKind {
    let suffixes = [".deleted", ".cleaned", ".swap", ".part"];
    let name = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    let Some((stem, extension)) = name.rsplit_once('.') else { return FileKind::Unknown };
    let base = stem.parse().ok().filter(|base| *base >= 0).map(Offset::new);
    match (extension, base) {
        ("checkpoint", _) => FileKind::Snapshot,
        ("log", Some(base)) => FileKind::Log(base),
        ("index", Some(base)) => FileKind::OffsetIndex(base),
        ("timeindex", Some(base)) => FileKind::TimeIndex(base),
        ("txnindex", Some(base)) => FileKind::AbortedIndex(base),
        ("snapshot", Some(_)) => FileKind::Producers,
        _ => FileKind::Unknown,
    }
}
