//! `highwater restore --at`: takes the restored directories of a node back to a point in time that the archive covers.
//!
//! First the metadata, whose log says when it was changed. Then the logs of coordinators, which say what was committed and
//! decided at the point. Then all others, so that nothing that depends on a record is there without it (`point`). What a
//! producer had open is aborted by its coordinator when it starts; where the coordinator of that time knows nothing of it, it is
//! aborted here.
//!
//! Everything can be done again after a crash: a restore that goes on brings the files of the archive back first.

mod coordinators;
mod point;
mod stored_log;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use self::coordinators::{Coordinators, Expectations};
use self::point::{ClockSetBack, End, EndFinder, Knowledge};
use self::stored_log::StoredLog;
use super::manifest::Manifest;
use super::moment::{Role, role};
use crate::cli::moment::written;
use crate::env::{FileSystem, write_atomically};
use crate::log::format::partition_metadata;
use crate::metadata::Image;
use crate::metadata::journal::rewind::{self as journal, RewindError as JournalError};
use crate::storage::checkpoint_file::{decode_offsets, encode_offsets};
use crate::storage::{Checkpoint, DirectoryName, METADATA_DIRECTORY};
use crate::types::{Offset, Timestamp, TopicPartition};

const PARTITION_METADATA: &str = "partition.metadata";

/// Which point, and what may be missing there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub at: Timestamp,
    /// Go on where the archive lacks something of that time.
    pub incomplete: bool,
}

/// Why a point is not gone back to.
#[derive(Debug, thiserror::Error)]
pub(super) enum RewindError {
    /// It is not in the archive, or not all of it; the text says what.
    #[error("{0}")]
    Refused(String),
    /// The disk failed.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What was left out.
#[derive(Debug, Default)]
pub(super) struct Rewound {
    pub records: u64,
    /// That records were left out of.
    pub logs: u64,
    /// Created after the point.
    pub topics: BTreeSet<String>,
    /// Logs where clocks of producers contradict each other.
    pub doubts: Vec<String>,
    /// What the archive does not have any more.
    pub missing: Vec<String>,
}

/// Takes the log directories `roots` back.
pub(super) fn rewind(
    files: &dyn FileSystem,
    roots: &[PathBuf],
    manifest: &Manifest,
    point: Point,
) -> Result<Rewound, RewindError> {
    if point.at > manifest.taken {
        let taken = written(manifest.taken);
        return Err(RewindError::Refused(format!("the archive is as of {taken}, not later")));
    }
    let metadata = rewind_metadata(files, roots, manifest, point.at)?;
    let mut work = Work {
        files,
        at: point.at,
        cleaned: manifest.cleaned.as_ref(),
        rewound: Rewound { missing: deleted(&metadata), ..Rewound::default() },
    };
    let logs = work.sort_out(roots, &metadata.image)?;
    if manifest.cleaned.is_none() {
        work.rewound
            .missing
            .push("an archive of version 1 does not say what was compacted".to_owned());
    }
    work.rewind_all(&logs)?;
    for root in roots {
        trim_log_starts(files, root, &logs).map_err(failed(root))?;
    }
    let Rewound { missing, .. } = &work.rewound;
    if !missing.is_empty() && !point.incomplete {
        return Err(RewindError::Refused(format!(
            "the archive does not have all of {}:\n  {}\nUse an archive from before, or --incomplete to do without",
            written(point.at),
            missing.join("\n  ")
        )));
    }
    Ok(work.rewound)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RewindError + '_ {
    move |source| RewindError::Io { path: path.to_owned(), source }
}

fn rewind_metadata(
    files: &dyn FileSystem,
    roots: &[PathBuf],
    manifest: &Manifest,
    at: Timestamp,
) -> Result<journal::Rewound, RewindError> {
    let mut directory = roots[0].join(METADATA_DIRECTORY);
    for root in roots {
        let path = root.join(METADATA_DIRECTORY);
        if files.stat(&path).map_err(failed(&path))?.is_some() {
            directory = path;
        }
    }
    journal::rewind(files, &directory, &manifest.cluster_id, at).map_err(|error| match error {
        JournalError::Load(error) => RewindError::Refused(error.to_string()),
        JournalError::TooEarly { from } => RewindError::Refused(format!(
            "the archive covers {} to {}",
            written(from),
            written(manifest.taken)
        )),
        JournalError::ClockSetBack { before, after } => set_back(before, after),
        JournalError::Io { path, source } => RewindError::Io { path, source },
    })
}

fn set_back(before: Timestamp, after: Timestamp) -> RewindError {
    RewindError::Refused(format!(
        "the clock of the node was set back from {} to {}: choose a point before or after both",
        written(before),
        written(after)
    ))
}

/// Topics of the point whose records were gone when the backup was made.
fn deleted(metadata: &journal::Rewound) -> Vec<String> {
    let topics = metadata.image.topics.values();
    let gone = topics.filter(|topic| metadata.latest.topic_by_id(topic.id).is_none());
    let mut gone: Vec<String> = gone
        .map(|topic| match metadata.removed.get(&topic.id) {
            Some(time) => format!(
                "topic {} was deleted at {}, and its records with it",
                topic.name,
                written(*time)
            ),
            None => format!("topic {} was deleted, and its records with it", topic.name),
        })
        .collect();
    gone.sort();
    gone
}

/// A partition that was there at the point.
struct Kept {
    name: TopicPartition,
    root: PathBuf,
    directory: PathBuf,
    role: Role,
}

struct Work<'a> {
    files: &'a dyn FileSystem,
    at: Timestamp,
    cleaned: Option<&'a BTreeMap<String, Offset>>,
    rewound: Rewound,
}

impl<'a> Work<'a> {
    /// The partitions of the point; those that came later go.
    fn sort_out(&mut self, roots: &[PathBuf], image: &Image) -> Result<Vec<Kept>, RewindError> {
        let mut kept = Vec::new();
        for root in roots {
            for entry in self.files.list(root).map_err(failed(root))? {
                let Some(name) = DirectoryName::parse(&entry.name).partition() else { continue };
                let directory = root.join(&entry.name);
                if was_there(self.files, &directory, &name, image).map_err(failed(&directory))? {
                    let role = role(&entry.name);
                    kept.push(Kept { name, root: root.clone(), directory, role });
                } else {
                    self.files.remove_dir_all(&directory).map_err(failed(&directory))?;
                    self.rewound.topics.insert(name.topic.to_string());
                }
            }
        }
        Ok(kept)
    }

    fn rewind_all(&mut self, logs: &[Kept]) -> Result<(), RewindError> {
        let mut coordinators = Coordinators::default();
        for kept in logs.iter().filter(|kept| kept.role != Role::Records) {
            let log = self.cut(kept, &Expectations::default())?;
            let read = match kept.role {
                Role::Transactions => coordinators.read_transactions(&log),
                Role::Groups | Role::Records => coordinators.read_groups(&log),
            };
            read.map_err(failed(&kept.directory))?;
        }
        let expected = coordinators.expectations();
        for kept in logs {
            let log = match kept.role {
                Role::Records => self.cut(kept, &expected)?,
                Role::Groups | Role::Transactions => self.find(kept)?,
            };
            self.settle(kept, &log, &expected).map_err(failed(&kept.directory))?;
        }
        Ok(())
    }

    fn find(&self, kept: &Kept) -> Result<StoredLog<'a>, RewindError> {
        StoredLog::find(self.files, &kept.directory).map_err(failed(&kept.directory))
    }

    /// Cuts a log off where it ended.
    fn cut(&mut self, kept: &Kept, expected: &Expectations) -> Result<StoredLog<'a>, RewindError> {
        let log = self.find(kept)?;
        let mut finder = EndFinder::new(Knowledge {
            at: self.at,
            is_coordinators: kept.role != Role::Records,
            committed: expected.committed(&kept.name),
            decided: expected.decided(&kept.name),
        });
        log.walk(|place, batch| finder.see(place, batch).map_err(WalkError::Clock)).map_err(
            |error| match error {
                WalkError::Io(source) => failed(&kept.directory)(source),
                WalkError::Clock(step) => set_back(step.before, step.after),
            },
        )?;
        let end = finder.end();
        if end.left_out == 0 {
            return Ok(log);
        }
        self.note(kept, &log, end).map_err(failed(&kept.directory))?;
        log.cut(end.place).map_err(failed(&kept.directory))?;
        self.find(kept)
    }

    fn note(&mut self, kept: &Kept, log: &StoredLog<'_>, end: End) -> io::Result<()> {
        self.rewound.logs += 1;
        self.rewound.records += end.left_out;
        let name = &kept.name;
        if end.kept_later > 0 || end.left_out_earlier > 0 {
            self.rewound.doubts.push(format!(
                "{name}: {} records with later times were kept, and {} with earlier ones left out",
                end.kept_later, end.left_out_earlier
            ));
        }
        let cleaned = self.cleaned.and_then(|cleaned| cleaned.get(&name.to_string()).copied());
        let lost = match cleaned {
            Some(cleaned) => log.superseded(end.place, cleaned)?,
            None => 0,
        };
        if lost > 0 {
            self.rewound.missing.push(format!(
                "{name}: {lost} keys were written again, and compaction has taken what they may have been"
            ));
        }
        Ok(())
    }

    /// Ends what nobody else will end, and takes what lies beside the log back with it.
    fn settle(&self, kept: &Kept, log: &StoredLog<'_>, expected: &Expectations) -> io::Result<()> {
        let mut ending = log.ending()?;
        let open = std::mem::take(&mut ending.open).into_values();
        let orphans = open.filter(|open| !expected.is_cared_for(&kept.name, open));
        let orphans: Vec<_> = orphans.map(|open| open.producer).collect();
        if !orphans.is_empty() && kept.role != Role::Transactions {
            log.abort(&mut ending, &orphans, self.at)?;
        }
        log.trim_beside(ending.next)?;
        // Deleted records stay deleted.
        let start = self.log_start(kept)?;
        if start > ending.next { log.begin_at(start) } else { Ok(()) }
    }

    fn log_start(&self, kept: &Kept) -> io::Result<Offset> {
        let path = kept.root.join(Checkpoint::LogStart.file_name());
        let bytes = self.files.read(&path)?.unwrap_or_default();
        let starts = decode_offsets(&bytes).unwrap_or_default();
        Ok(starts.get(&kept.name).copied().unwrap_or(Offset::ZERO))
    }
}

#[derive(Debug)]
enum WalkError {
    Io(io::Error),
    Clock(ClockSetBack),
}

impl From<io::Error> for WalkError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Of a topic with this id, and not added to it later.
fn was_there(
    files: &dyn FileSystem,
    directory: &Path,
    name: &TopicPartition,
    image: &Image,
) -> io::Result<bool> {
    let Some(topic) = image.topic(name.topic.as_str()) else { return Ok(false) };
    let bytes = files.read(&directory.join(PARTITION_METADATA))?;
    let id = bytes.and_then(|bytes| partition_metadata::decode(&bytes).ok());
    Ok(topic.partition(name.partition).is_some() && id.is_none_or(|id| id == topic.id))
}

/// Only of what is there.
fn trim_log_starts(files: &dyn FileSystem, root: &Path, logs: &[Kept]) -> io::Result<()> {
    let path = root.join(Checkpoint::LogStart.file_name());
    let Some(bytes) = files.read(&path)? else { return Ok(()) };
    // A damaged one counts as lost to the broker as well.
    let Ok(mut starts) = decode_offsets(&bytes) else { return Ok(()) };
    starts.retain(|name, _| logs.iter().any(|log| log.root == root && log.name == *name));
    write_atomically(files, &path, &encode_offsets(&starts))
}
