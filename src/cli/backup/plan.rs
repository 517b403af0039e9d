//! Which files make the archive, and how much of each.
//!
//! Indexes, lists of aborted transactions, recovery points and high watermarks are left out: a broker makes them again from
//! the logs when it starts on what was restored.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::BackupError;
use super::manifest::Manifest;
use super::moment::{OpenLog, OpenSegment};
use super::resume::Resume;
use crate::env::{Env, File, FileSystem, OpenMode};
use crate::metadata::Image;
use crate::metadata::journal;
use crate::storage::{Checkpoint, DirectoryName, METADATA_DIRECTORY, MetaProperties};

/// Bytes in front of the end of a segment by which it is known again.
const TAIL_BYTES: u64 = 4096;

/// How often the files of the metadata log may change while they are opened.
const LISTINGS_MAX: usize = 100;

/// One file of the archive to be.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Relative to the log directory.
    pub path: String,
    pub from: From,
}

/// Where its bytes come from.
#[derive(Clone, Debug)]
pub(super) enum From {
    /// The first bytes of a file that only grows. It is open, unless the backup was interrupted since.
    Prefix { bytes: u64, tail_crc: u32, file: Option<Arc<dyn File>> },
    /// The whole of a small file when its turn comes, if it is still there: a broker makes it again.
    Whole,
    /// Known since the moment.
    Held(Vec<u8>),
}

/// What is read now.
pub(super) enum Opened {
    Prefix(Arc<dyn File>, u64),
    Bytes(Vec<u8>),
}

/// All of it, in the order of the archive.
#[derive(Debug)]
pub(super) struct Plan {
    pub sources: Vec<Source>,
    /// Without its members.
    pub manifest: Manifest,
}

impl Plan {
    /// For logs of one moment. Metadata comes from after it, so that it knows all of their topics.
    pub fn new(
        env: &Env,
        directory: &Path,
        identity: MetaProperties,
        logs: Vec<OpenLog>,
    ) -> Result<Self, BackupError> {
        let (files, taken) = (env.files.as_ref(), env.clock.wall());
        let mut sources = metadata(files, directory)?;
        let image = image(files, directory, &identity.cluster_id)?;
        refuse_others(&image, &identity)?;
        sources.extend(log_starts(files, directory)?);
        let mut partitions = 0;
        for log in logs.into_iter().filter(|log| is_known(&image, &log.name)) {
            partitions += 1;
            sources.extend(of_log(files, directory, log)?);
        }
        // The last file: without it nobody takes the directory for a whole one.
        let bytes = identity.encode(taken);
        sources
            .push(Source { path: MetaProperties::FILE_NAME.to_owned(), from: From::Held(bytes) });
        let manifest = Manifest {
            cluster_id: identity.cluster_id,
            node_id: identity.node_id.get(),
            taken,
            partitions,
            members: Vec::new(),
        };
        Ok(Self { sources, manifest })
    }

    /// Goes on with a plan: the files that are not in the archive yet must be those that were planned.
    pub fn again(
        files: &dyn FileSystem,
        directory: &Path,
        resume: &Resume,
    ) -> Result<Self, BackupError> {
        let mut sources = resume.sources.clone();
        for source in sources.iter_mut().skip(resume.done.len()) {
            if let From::Prefix { bytes, tail_crc, file } = &mut source.from {
                let path = directory.join(&source.path);
                let changed = || BackupError::Changed { path: path.display().to_string() };
                let opened = files.open(&path, OpenMode::ReadOnly).map_err(|_| changed())?;
                let len = opened.len().map_err(BackupError::at(&path))?;
                if len < *bytes || tail_crc_of(opened.as_ref(), *bytes).ok() != Some(*tail_crc) {
                    return Err(changed());
                }
                *file = Some(opened);
            }
        }
        Ok(Self { sources, manifest: resume.manifest.clone() })
    }

    /// How much is known to be copied.
    pub fn bytes(&self) -> u64 {
        let bytes = |source: &Source| match &source.from {
            From::Prefix { bytes, .. } => *bytes,
            From::Held(held) => held.len() as u64,
            From::Whole => 0,
        };
        self.sources.iter().map(bytes).sum()
    }
}

impl Source {
    /// `None` for a small file that is gone.
    pub fn open(
        &self,
        files: &dyn FileSystem,
        directory: &Path,
    ) -> Result<Option<Opened>, BackupError> {
        let path = directory.join(&self.path);
        match &self.from {
            From::Prefix { bytes, file: Some(file), .. } => {
                Ok(Some(Opened::Prefix(Arc::clone(file), *bytes)))
            }
            From::Prefix { bytes, file: None, .. } => {
                let file = files.open(&path, OpenMode::ReadOnly).map_err(BackupError::at(&path))?;
                Ok(Some(Opened::Prefix(file, *bytes)))
            }
            From::Whole => {
                let bytes = files.read(&path).map_err(BackupError::at(&path))?;
                Ok(bytes.map(Opened::Bytes))
            }
            From::Held(bytes) => Ok(Some(Opened::Bytes(bytes.clone()))),
        }
    }
}

/// The metadata log with its snapshots.
fn metadata(files: &dyn FileSystem, directory: &Path) -> Result<Vec<Source>, BackupError> {
    let path = directory.join(METADATA_DIRECTORY);
    for _ in 0..LISTINGS_MAX {
        let names = metadata_files(files, &path)?;
        let opened: io::Result<Vec<Source>> =
            names.iter().map(|name| metadata_source(files, &path, name)).collect();
        match opened {
            // A snapshot and the segment behind it belong together.
            Ok(sources) if metadata_files(files, &path)? == names => {
                let state = format!("{METADATA_DIRECTORY}/quorum-state");
                return Ok([sources, vec![Source { path: state, from: From::Whole }]].concat());
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(BackupError::at(&path)(error)),
        }
    }
    Err(BackupError::Refused(format!("the files of {} change all the time", path.display())))
}

fn metadata_files(files: &dyn FileSystem, path: &Path) -> Result<Vec<String>, BackupError> {
    let entries = match files.list(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = format!("{} is not there: metadata lies elsewhere", path.display());
            return Err(BackupError::Refused(text));
        }
        entries => entries.map_err(BackupError::at(path))?,
    };
    let wanted = |name: &String| {
        name.ends_with(".log") || name.ends_with(".checkpoint") || name == "partition.metadata"
    };
    let mut names: Vec<String> =
        entries.into_iter().map(|entry| entry.name).filter(wanted).collect();
    names.sort();
    Ok(names)
}

fn metadata_source(files: &dyn FileSystem, path: &Path, name: &str) -> io::Result<Source> {
    let file = files.open(&path.join(name), OpenMode::ReadOnly)?;
    let segment = OpenSegment { name: name.to_owned(), bytes: file.len()?, file };
    prefix(METADATA_DIRECTORY, segment)
}

/// The moment of one directory is not that of another.
fn refuse_others(image: &Image, identity: &MetaProperties) -> Result<(), BackupError> {
    let registered = image.brokers.get(&identity.node_id);
    match registered.map_or(0, |broker| broker.log_dirs.len()) {
        0 | 1 => Ok(()),
        count => Err(BackupError::Refused(format!(
            "the broker has {count} log directories: a backup takes one, and so would miss records"
        ))),
    }
}

/// What the metadata says now, which is at or after what is archived of it.
fn image(files: &dyn FileSystem, directory: &Path, cluster: &str) -> Result<Image, BackupError> {
    let path = directory.join(METADATA_DIRECTORY);
    let loaded = journal::load(files, &path, cluster);
    let loaded = loaded.map_err(|error| BackupError::Refused(error.to_string()))?;
    Ok(loaded.image)
}

/// A topic that was deleted after the moment is none that the restored metadata knows.
fn is_known(image: &Image, directory: &str) -> bool {
    match DirectoryName::parse(directory) {
        DirectoryName::Partition(partition) => image.topic(partition.topic.as_str()).is_some(),
        _ => false,
    }
}

/// Deleted records come back without it.
fn log_starts(files: &dyn FileSystem, directory: &Path) -> Result<Option<Source>, BackupError> {
    let name = Checkpoint::LogStart.file_name();
    let path = directory.join(name);
    let bytes = files.read(&path).map_err(BackupError::at(&path))?;
    Ok(bytes.map(|bytes| Source { path: name.to_owned(), from: From::Held(bytes) }))
}

/// Small files first: they may be gone soon, and are made again.
fn of_log(
    files: &dyn FileSystem,
    directory: &Path,
    log: OpenLog,
) -> Result<Vec<Source>, BackupError> {
    let path = directory.join(&log.name);
    let newest = log.segments.last().map(|segment| segment.name.clone()).unwrap_or_default();
    let newest = newest.trim_end_matches(".log").to_owned();
    let entries = files.list(&path).map_err(BackupError::at(&path))?;
    let is_small = |name: &String| match name.strip_suffix(".snapshot") {
        // State of producers that goes beyond the moment would be thrown away.
        Some(stem) => stem <= newest.as_str(),
        None => name == "leader-epoch-checkpoint" || name == "partition.metadata",
    };
    let mut small: Vec<String> =
        entries.into_iter().map(|entry| entry.name).filter(is_small).collect();
    small.sort();
    let small = small
        .into_iter()
        .map(|name| Source { path: format!("{}/{name}", log.name), from: From::Whole });
    let segments = log.segments.into_iter().map(|segment| prefix(&log.name, segment));
    let segments: io::Result<Vec<Source>> = segments.collect();
    let segments = segments.map_err(BackupError::at(&path))?;
    Ok(small.chain(segments).collect())
}

fn prefix(directory: &str, segment: OpenSegment) -> io::Result<Source> {
    let tail_crc = tail_crc_of(segment.file.as_ref(), segment.bytes)?;
    let from = From::Prefix { bytes: segment.bytes, tail_crc, file: Some(segment.file) };
    Ok(Source { path: format!("{directory}/{}", segment.name), from })
}

/// Batches say their offsets, so no other content of a segment has the same bytes at the same place.
fn tail_crc_of(file: &dyn File, bytes: u64) -> io::Result<u32> {
    let len = bytes.min(TAIL_BYTES);
    let mut tail = vec![0; usize::try_from(len).unwrap_or_default()];
    let read = file.read_at(&mut tail, bytes - len)?;
    if (read as u64) < len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(crc32c::crc32c(&tail))
}

impl Opened {
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Prefix(_, bytes) => *bytes,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
}
