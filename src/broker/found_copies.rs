//! Copies of partitions (`-future` directories) that an earlier life left: finished, continued or removed, as their state says
//! (see `moves`; Kafka's `LogManager.recoverAbandonedFutureLogs`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::agenda::Job;
use super::data_directory::DataDirectory;
use super::found_partitions::Found;
use super::moves::Move;
use super::open::OpenBroker;
use crate::env::FileSystem;
use crate::log::format::partition_metadata;
use crate::log::moving::{LogCopy, PARTITION_METADATA};
use crate::metadata::{Image, Topic};
use crate::storage::{deleted_name, stray_name};
use crate::types::{DirectoryId, TopicPartition};

/// A `-future` directory.
#[derive(Debug)]
pub(super) struct FoundCopy {
    pub(super) name: TopicPartition,
    pub(super) path: PathBuf,
    pub(super) directory: Arc<DataDirectory>,
}

/// What becomes of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The metadata was told that it is the log.
    TakesThePlace,
    /// It is completed.
    GoesOn,
    /// It is of no use.
    Goes,
    /// Its partition may lie in a directory that does not work: nothing is touched.
    Waits,
}

/// What is known when the fate of a copy is decided.
#[derive(Clone, Copy, Debug)]
struct Circumstances {
    /// The directory that it lies in.
    here: DirectoryId,
    /// The directory with the log, if one has it.
    log_in: Option<DirectoryId>,
    /// The directory that the metadata names.
    named: Option<DirectoryId>,
    /// Some directory could not be looked into.
    some_failed: bool,
}

fn fate(known: Circumstances) -> Fate {
    if known.log_in == Some(known.here) {
        return Fate::Goes;
    }
    if known.named == Some(known.here) {
        return Fate::TakesThePlace;
    }
    match known.log_in {
        Some(_) if known.some_failed => Fate::Waits,
        Some(_) => Fate::GoesOn,
        // Metadata that cannot name directories: the source was renamed and the copy was to follow.
        None if known.named.is_none() && !known.some_failed => Fate::TakesThePlace,
        None => Fate::Waits,
    }
}

/// Settles all copies; the moves that go on.
pub(super) fn settle_copies(
    args: &OpenBroker,
    image: &Image,
    found: &mut Found,
    copies: Vec<FoundCopy>,
    some_failed: bool,
) -> Vec<Arc<Move>> {
    let mut moves = Vec::new();
    let mut going_on = BTreeSet::new();
    for copy in copies {
        let files = args.env.files.as_ref();
        let topic = image.topic(copy.name.topic.as_str());
        let Some(topic) = topic.filter(|topic| is_of(files, &copy, topic)) else {
            if topic.is_some() && is_empty(files, &copy) {
                remove(files, &copy.path);
            } else {
                set_aside(args, &copy);
            }
            continue;
        };
        let state = topic.partition(copy.name.partition);
        let known = Circumstances {
            here: copy.directory.id(),
            log_in: found.get(&copy.name).map(|directory| directory.id()),
            named: state.and_then(|state| state.directory_of(args.settings.node_id)),
            some_failed,
        };
        match fate(known) {
            Fate::TakesThePlace => take_the_place(args, found, &copy),
            Fate::GoesOn if going_on.insert(copy.name.clone()) => {
                moves.push(Move::new(copy.name, topic.id, copy.directory, copy.path));
            }
            Fate::GoesOn | Fate::Goes => remove(files, &copy.path),
            Fate::Waits => {
                tracing::warn!(copy = %copy.path.display(), "the copy of a partition waits for a log directory to come back");
            }
        }
    }
    moves
}

/// A copy says from its first moment on which topic it is of.
fn is_of(files: &dyn FileSystem, copy: &FoundCopy, topic: &Topic) -> bool {
    let read = files.read(&copy.path.join(PARTITION_METADATA));
    let id = read.ok().flatten().and_then(|bytes| partition_metadata::decode(&bytes).ok());
    id == Some(topic.id) && topic.partition(copy.name.partition).is_some()
}

/// Killed before it said so, it holds no records yet.
fn is_empty(files: &dyn FileSystem, copy: &FoundCopy) -> bool {
    let listed = files.list(&copy.path);
    listed.is_ok_and(|entries| entries.iter().all(|entry| !entry.name.contains(".log")))
}

/// The source is renamed first: a Kafka that finds two directories of one partition does not start.
fn take_the_place(args: &OpenBroker, found: &mut Found, copy: &FoundCopy) {
    let files = args.env.files.as_ref();
    if let Some(source) = found.get(&copy.name) {
        let gone = source.path().join(deleted_name(&copy.name, args.env.random.uuid()));
        let renamed = files.rename(&source.path().join(copy.name.to_string()), &gone);
        if let Err(error) = renamed.and_then(|()| source.sync_names()) {
            source.fail(&format!("moving {} away failed: {error}", copy.name));
            found.insert(copy.name.clone(), Arc::clone(source));
            return;
        }
        source.plan(Job::RemoveDirectory(gone));
    }
    let place = copy.directory.path().join(copy.name.to_string());
    let renamed = files.rename(&copy.path, &place).and_then(|()| copy.directory.sync_names());
    found.insert(copy.name.clone(), Arc::clone(&copy.directory));
    match renamed {
        Ok(()) => {
            tracing::info!(partition = %copy.name, to = %copy.directory.path().display(), "a move was finished")
        }
        Err(error) => {
            copy.directory.fail(&format!("taking {} in failed: {error}", copy.name));
        }
    }
}

fn set_aside(args: &OpenBroker, copy: &FoundCopy) {
    let to = copy.directory.path().join(stray_name(&copy.name, args.env.random.uuid()));
    let renamed = args.env.files.rename(&copy.path, &to).and_then(|()| copy.directory.sync_names());
    match renamed {
        Ok(()) => {
            tracing::warn!(copy = %copy.path.display(), renamed = %to.display(), "the metadata does not know this partition, set aside")
        }
        Err(error) => {
            tracing::error!(copy = %copy.path.display(), %error, "a copy of an unknown partition cannot be set aside")
        }
    }
}

fn remove(files: &dyn FileSystem, path: &Path) {
    if let Err(error) = LogCopy::remove(files, path) {
        tracing::warn!(copy = %path.display(), %error, "a useless copy could not be removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Uuid;

    const A: DirectoryId = Uuid::from_bytes([0xaa; 16]);
    const B: DirectoryId = Uuid::from_bytes([0xbb; 16]);

    fn fate_of(log_in: Option<DirectoryId>, named: Option<DirectoryId>, some_failed: bool) -> Fate {
        fate(Circumstances { here: B, log_in, named, some_failed })
    }

    /// The rows of the table in `moves`.
    #[test]
    fn each_state_of_a_move_is_continued_from_where_it_is() {
        assert_eq!(fate_of(Some(A), Some(A), false), Fate::GoesOn, "copying");
        assert_eq!(fate_of(Some(A), Some(B), false), Fate::TakesThePlace, "committed");
        assert_eq!(fate_of(None, Some(B), false), Fate::TakesThePlace, "source gone");
        assert_eq!(fate_of(Some(B), Some(B), false), Fate::Goes, "done, and left over");
    }

    #[test]
    fn metadata_without_directories_leaves_the_names_to_tell() {
        assert_eq!(fate_of(Some(A), None, false), Fate::GoesOn);
        assert_eq!(fate_of(None, None, false), Fate::TakesThePlace);
    }

    #[test]
    fn a_copy_may_be_all_that_is_left_while_a_directory_is_missing() {
        assert_eq!(fate_of(None, Some(A), true), Fate::Waits);
        assert_eq!(fate_of(None, Some(A), false), Fate::Waits, "the named one was replaced");
        assert_eq!(fate_of(None, None, true), Fate::Waits);
        assert_eq!(fate_of(Some(A), Some(A), true), Fate::Waits);
        assert_eq!(fate_of(None, Some(B), true), Fate::TakesThePlace, "it was committed");
    }
}
