//! Finds lengths of all logs that belong together while the broker appends to them.
//!
//! A log only grows at its end, so its length at some instant stands for what it held then. The logs of coordinators are
//! measured, then all others, then those of coordinators again. Offsets committed before the first measure are of records
//! that were there by then, so they lie in what was measured later. If no transaction began, was decided or ended between
//! the two measures, then every marker in any log belongs to a decision that the archive holds, and whatever was decided is
//! brought to its end by the coordinator that reads it back. Otherwise it is tried again.
//!
//! The files are opened before they are measured: what is open stays readable when it is deleted or replaced by a cleaned
//! one. A log that got another segment meanwhile is measured again too.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::BackupError;
use crate::env::{Env, File, FileSystem, OpenMode};
use crate::log::scan::{ScanEnd, scan};
use crate::storage::DirectoryName;

#[cfg(test)]
mod tests;

/// What committed offsets may grow by between two measures and still be looked through.
const TAIL_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How often files may vanish between the listing of a directory and their opening before that is an error.
const LISTINGS_MAX: usize = 100;

/// Why a log matters to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// `__transaction_state`: what was decided.
    Transactions,
    /// `__consumer_offsets`, `__share_group_state`: what points into other logs.
    Groups,
    Records,
}

/// A segment, open.
#[derive(Clone, Debug)]
pub(super) struct OpenSegment {
    /// Name of the file.
    pub name: String,
    pub file: Arc<dyn File>,
    /// Bytes at the moment.
    pub bytes: u64,
}

/// A log with all its segments, the oldest first.
#[derive(Clone, Debug)]
pub(super) struct OpenLog {
    /// Which log directory holds it.
    pub root: usize,
    /// Name of its directory there.
    pub name: String,
    role: Role,
    pub segments: Vec<OpenSegment>,
}

/// All logs of clients and coordinators at one moment. Blocks, and reads nothing but lengths and names as a rule.
pub(super) fn find(
    env: &Env,
    directories: &[PathBuf],
    patience: Duration,
) -> Result<Vec<OpenLog>, BackupError> {
    let files = env.files.as_ref();
    let deadline = env.clock.monotonic() + patience;
    let mut logs = Vec::new();
    reopen_changed(files, directories, &mut logs)?;
    let mut attempts = 0;
    loop {
        attempts += 1;
        // Not slept between attempts: the moment that is looked for is shorter than any sleep.
        if measure(&mut logs).map_err(BackupError::at(&directories[0]))?
            && !reopen_changed(files, directories, &mut logs)?
        {
            refuse_repeated(&logs, directories)?;
            return Ok(logs);
        }
        if env.clock.monotonic() > deadline {
            return Err(BackupError::Restless { logs: logs.len(), attempts });
        }
    }
}

/// Sets all lengths; false if they do not belong together.
fn measure(logs: &mut [OpenLog]) -> io::Result<bool> {
    for log in logs.iter_mut().filter(|log| log.role != Role::Records) {
        log.measure()?;
    }
    for log in logs.iter_mut().filter(|log| log.role == Role::Records) {
        log.measure()?;
    }
    for log in logs.iter().filter(|log| log.role != Role::Records) {
        if !log.is_settled()? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl OpenLog {
    fn open(
        files: &dyn FileSystem,
        directory: &Path,
        root: usize,
        name: &str,
    ) -> io::Result<Option<Self>> {
        for _ in 0..LISTINGS_MAX {
            let Some(names) = segments(files, &directory.join(name))? else { return Ok(None) };
            let open = |name: String, directory: &Path| {
                let file = files.open(&directory.join(&name), OpenMode::ReadOnly)?;
                Ok(OpenSegment { bytes: file.len()?, name, file })
            };
            let opened: io::Result<Vec<_>> =
                names.into_iter().map(|segment| open(segment, &directory.join(name))).collect();
            match opened {
                Ok(segments) => {
                    let (name, role) = (name.to_owned(), role(name));
                    return Ok(Some(Self { root, name, role, segments }));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// Only the last segment grows.
    fn measure(&mut self) -> io::Result<()> {
        let Some(last) = self.segments.last_mut() else { return Ok(()) };
        last.bytes = last.file.len()?;
        Ok(())
    }

    /// Whether nothing has come since the measure that has to do with transactions.
    fn is_settled(&self) -> io::Result<bool> {
        let Some(last) = self.segments.last() else { return Ok(true) };
        let more = last.file.len()?.saturating_sub(last.bytes);
        match self.role {
            _ if more == 0 => Ok(true),
            Role::Transactions | Role::Records => Ok(false),
            Role::Groups if more > TAIL_BYTES_MAX => Ok(false),
            Role::Groups => has_no_transactions(last, more),
        }
    }
}

fn has_no_transactions(segment: &OpenSegment, more: u64) -> io::Result<bool> {
    let mut tail = vec![0; usize::try_from(more).map_err(|_| io::ErrorKind::FileTooLarge)?];
    let read = segment.file.read_at(&mut tail, segment.bytes)?;
    let mut batches = scan(&tail[..read]);
    let is_plain = batches.by_ref().all(|(_, batch)| {
        batch.header().is_some_and(|header| !header.is_transactional() && !header.is_control())
    });
    Ok(is_plain && batches.ending() == Some(ScanEnd::Exhausted))
}

/// By the name of its directory.
pub(super) fn role(name: &str) -> Role {
    match DirectoryName::parse(name) {
        DirectoryName::Partition(partition) => match partition.topic.as_str() {
            "__transaction_state" => Role::Transactions,
            "__consumer_offsets" | "__share_group_state" => Role::Groups,
            _ => Role::Records,
        },
        _ => Role::Records,
    }
}

/// Opens logs that are new or have another newest segment, and forgets those that are gone; true if there were any. What is gone
/// may have been moved into a directory that was listed before.
fn reopen_changed(
    files: &dyn FileSystem,
    directories: &[PathBuf],
    logs: &mut Vec<OpenLog>,
) -> Result<bool, BackupError> {
    let mut changed = false;
    for (root, directory) in directories.iter().enumerate() {
        let names = partitions(files, directory).map_err(BackupError::at(directory))?;
        let before = logs.len();
        logs.retain(|log| log.root != root || names.contains(&log.name));
        changed |= logs.len() < before;
        for name in names {
            changed |= reopen(files, directory, root, &name, logs)?;
        }
    }
    Ok(changed)
}

fn reopen(
    files: &dyn FileSystem,
    directory: &Path,
    root: usize,
    name: &str,
    logs: &mut Vec<OpenLog>,
) -> Result<bool, BackupError> {
    let path = directory.join(name);
    let at = logs.iter().position(|log| log.root == root && log.name == name);
    let newest = segments(files, &path).map_err(BackupError::at(&path))?;
    let newest = newest.and_then(|names| names.last().cloned());
    let known = at.and_then(|at| logs[at].segments.last().map(|segment| segment.name.clone()));
    if at.is_some() && newest == known {
        return Ok(false);
    }
    let opened = OpenLog::open(files, directory, root, name).map_err(BackupError::at(&path))?;
    match (at, opened) {
        (Some(at), Some(log)) => logs[at] = log,
        (Some(at), None) => drop(logs.remove(at)),
        (None, opened) => logs.extend(opened),
    }
    Ok(true)
}

/// A node does not start on such directories either before one of the two is set aside.
fn refuse_repeated(logs: &[OpenLog], directories: &[PathBuf]) -> Result<(), BackupError> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for log in logs {
        if let Some(other) = seen.insert(&log.name, log.root) {
            return Err(BackupError::Refused(format!(
                "{} lies in {} and in {}: a start of the node sets one of them aside",
                log.name,
                directories[other].display(),
                directories[log.root].display()
            )));
        }
    }
    Ok(())
}

fn partitions(files: &dyn FileSystem, directory: &Path) -> io::Result<BTreeSet<String>> {
    let names = files.list(directory)?.into_iter().map(|entry| entry.name);
    Ok(names
        .filter(|name| matches!(DirectoryName::parse(name), DirectoryName::Partition(_)))
        .collect())
}

/// Names of the segments, sorted; `None` if the directory is gone.
fn segments(files: &dyn FileSystem, directory: &Path) -> io::Result<Option<Vec<String>>> {
    let entries = match files.list(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_segment =
        |name: &String| name.strip_suffix(".log").is_some_and(|stem| stem.parse::<u64>().is_ok());
    let mut names: Vec<String> =
        entries.into_iter().map(|entry| entry.name).filter(is_segment).collect();
    names.sort();
    Ok(Some(names))
}
