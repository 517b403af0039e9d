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
use super::roots::Roots;
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
    /// Which log directory.
    pub root: usize,
    /// Relative to it.
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
    pub fn new(env: &Env, roots: &Roots, logs: Vec<OpenLog>) -> Result<Self, BackupError> {
        let (files, taken) = (env.files.as_ref(), env.clock.wall());
        let mut sources = metadata(files, roots)?;
        let image = image(files, roots)?;
        roots.refuse_missing(&image)?;
        for (root, directory) in roots.paths.iter().enumerate() {
            sources.extend(log_starts(files, root, directory)?);
        }
        let mut partitions = 0;
        for log in logs.into_iter().filter(|log| is_known(&image, &log.name)) {
            partitions += 1;
            sources.extend(of_log(files, &roots.paths[log.root], log)?);
        }
        // The last files: without them nobody takes the directories for whole ones.
        for (root, identity) in roots.identities.iter().enumerate() {
            let from = From::Held(identity.encode(taken));
            sources.push(Source { root, path: MetaProperties::FILE_NAME.to_owned(), from });
        }
        let identity = roots.identity();
        let manifest = Manifest {
            cluster_id: identity.cluster_id.clone(),
            node_id: identity.node_id.get(),
            taken,
            directories: roots.paths.len(),
            partitions,
            cleaned: None,
            members: Vec::new(),
        };
        Ok(Self { sources, manifest })
    }

    /// Goes on with a plan: the files that are not in the archive yet must be those that were planned.
    pub fn again(
        files: &dyn FileSystem,
        roots: &Roots,
        resume: &Resume,
    ) -> Result<Self, BackupError> {
        if resume.manifest.directories != roots.paths.len() {
            return Err(BackupError::Refused(format!(
                "the interrupted backup is of {} log directories: name them as before, or --restart begins again",
                resume.manifest.directories
            )));
        }
        let mut sources = resume.sources.clone();
        for source in sources.iter_mut().skip(resume.done.len()) {
            if let From::Prefix { bytes, tail_crc, file } = &mut source.from {
                let path = roots.paths[source.root].join(&source.path);
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
        roots: &Roots,
    ) -> Result<Option<Opened>, BackupError> {
        let path = roots.paths[self.root].join(&self.path);
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
fn metadata(files: &dyn FileSystem, roots: &Roots) -> Result<Vec<Source>, BackupError> {
    let (root, path) = (roots.metadata, roots.metadata_path());
    for _ in 0..LISTINGS_MAX {
        let names = metadata_files(files, &path)?;
        let opened: io::Result<Vec<Source>> =
            names.iter().map(|name| metadata_source(files, root, &path, name)).collect();
        match opened {
            // A snapshot and the segment behind it belong together.
            Ok(sources) if metadata_files(files, &path)? == names => {
                let state = format!("{METADATA_DIRECTORY}/quorum-state");
                return Ok(
                    [sources, vec![Source { root, path: state, from: From::Whole }]].concat()
                );
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(BackupError::at(&path)(error)),
        }
    }
    Err(BackupError::Refused(format!("the files of {} change all the time", path.display())))
}

fn metadata_files(files: &dyn FileSystem, path: &Path) -> Result<Vec<String>, BackupError> {
    let entries = files.list(path).map_err(BackupError::at(path))?;
    let wanted = |name: &String| {
        name.ends_with(".log") || name.ends_with(".checkpoint") || name == "partition.metadata"
    };
    let mut names: Vec<String> =
        entries.into_iter().map(|entry| entry.name).filter(wanted).collect();
    names.sort();
    Ok(names)
}

fn metadata_source(
    files: &dyn FileSystem,
    root: usize,
    path: &Path,
    name: &str,
) -> io::Result<Source> {
    let file = files.open(&path.join(name), OpenMode::ReadOnly)?;
    let segment = OpenSegment { name: name.to_owned(), bytes: file.len()?, file };
    prefix(root, METADATA_DIRECTORY, segment)
}

/// What the metadata says now, which is at or after what is archived of it.
fn image(files: &dyn FileSystem, roots: &Roots) -> Result<Image, BackupError> {
    let loaded = journal::load(files, &roots.metadata_path(), &roots.identity().cluster_id);
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
fn log_starts(
    files: &dyn FileSystem,
    root: usize,
    directory: &Path,
) -> Result<Option<Source>, BackupError> {
    let name = Checkpoint::LogStart.file_name();
    let path = directory.join(name);
    let bytes = files.read(&path).map_err(BackupError::at(&path))?;
    Ok(bytes.map(|bytes| Source { root, path: name.to_owned(), from: From::Held(bytes) }))
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
    let entries = match files.list(&path) {
        // It was moved or deleted since. Its segments are open.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        entries => entries.map_err(BackupError::at(&path))?,
    };
    let is_small = |name: &String| match name.strip_suffix(".snapshot") {
        // State of producers that goes beyond the moment would be thrown away.
        Some(stem) => stem <= newest.as_str(),
        None => name == "leader-epoch-checkpoint" || name == "partition.metadata",
    };
    let mut small: Vec<String> =
        entries.into_iter().map(|entry| entry.name).filter(is_small).collect();
    small.sort();
    let small = small.into_iter().map(|name| format!("{}/{name}", log.name)).map(|path| Source {
        root: log.root,
        path,
        from: From::Whole,
    });
    let segments = log.segments.into_iter().map(|segment| prefix(log.root, &log.name, segment));
    let segments: io::Result<Vec<Source>> = segments.collect();
    let segments = segments.map_err(BackupError::at(&path))?;
    Ok(small.chain(segments).collect())
}

fn prefix(root: usize, directory: &str, segment: OpenSegment) -> io::Result<Source> {
    let tail_crc = tail_crc_of(segment.file.as_ref(), segment.bytes)?;
    let from = From::Prefix { bytes: segment.bytes, tail_crc, file: Some(segment.file) };
    Ok(Source { root, path: format!("{directory}/{}", segment.name), from })
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
