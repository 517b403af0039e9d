//! What lies in the log directories when the broker starts, and which of it belongs there.
//!
//! - A partition that the metadata does not know is set aside (`-stray`), as Kafka does.
//! - Of two directories of one partition the one counts that the metadata names; the other is set aside.
//! - Where the metadata names another directory than the one that holds the partition, it is told (Kafka's
//!   `ReplicaManager.maybeUpdateTopicAssignment`).

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::agenda::{Agenda, Job};
use super::data_directory::{DataDirectory, DirectoryFailures};
use super::found_copies::{FoundCopy, settle_copies};
use super::moves::Move;
use super::open::OpenBroker;
use super::registry::{FailedDirectory, Placement};
use crate::env::Env;
use crate::metadata::{DirectoryAssignment, Image};
use crate::storage::{LogDirectory, OpenDirectoryError, stray_name};
use crate::types::{BrokerId, TopicPartition};

/// What there is.
#[derive(Debug)]
pub(super) struct FoundPartitions {
    /// Where the partitions lie.
    pub(super) placement: Placement,
    /// Moves that go on.
    pub(super) moves: Vec<Arc<Move>>,
}

/// Partitions by the directory that holds them.
pub(super) type Found = HashMap<TopicPartition, Arc<DataDirectory>>;

/// Takes note of what lies in the log directories, and starts the threads that sync them. A directory that fails here is left
/// out, unless it holds the metadata. Blocks.
pub(super) fn start_directories(
    args: &mut OpenBroker,
    image: &Image,
    agenda: &Arc<Agenda>,
) -> Result<FoundPartitions, OpenDirectoryError> {
    let failures = DirectoryFailures::new(
        args.directories.len(),
        Arc::clone(&args.metadata),
        args.shutdown.clone(),
        Arc::clone(&args.health),
        Arc::clone(&args.metrics),
    );
    let node = args.settings.node_id;
    let mut failed = std::mem::take(&mut args.failed_directories);
    for failed in &failed {
        args.health.directory_failed(failed.path.clone(), failed.reason.clone());
    }
    let mut directories = Vec::with_capacity(args.directories.len());
    let mut found = Found::new();
    let mut copies = Vec::new();
    for directory in args.directories.drain(..) {
        let held = known_partitions(&args.env, &directory, image);
        let futures = directory.futures().to_vec();
        for name in directory.being_deleted() {
            agenda.plan(0, Job::RemoveDirectory(directory.path().join(name)));
        }
        let path = directory.path().to_owned();
        let (agenda, failures) = (Arc::clone(agenda), Arc::clone(&failures));
        match DataDirectory::start(&args.env, directory, agenda, Arc::clone(&failures)) {
            Ok(directory) => {
                take_in(&mut found, held, &directory, image, node);
                copies.extend(futures.into_iter().map(|(name, directory_name)| FoundCopy {
                    name,
                    path: directory.path().join(directory_name),
                    directory: Arc::clone(&directory),
                }));
                directories.push(directory);
            }
            Err(error) if path != args.metadata.directory() => {
                failed.push(FailedDirectory::of(path, &error));
                failures.start_failed(failed.last().expect("just pushed"));
            }
            Err(error) => return Err(error),
        }
    }
    let moves = settle_copies(args, image, &mut found, copies, !failed.is_empty());
    tell_metadata(args, image, &found);
    Ok(FoundPartitions { placement: Placement::new(directories, failed, found), moves })
}

/// Adds the partitions of one directory.
fn take_in(
    found: &mut Found,
    held: Vec<TopicPartition>,
    directory: &Arc<DataDirectory>,
    image: &Image,
    node: BrokerId,
) {
    for name in held {
        let Some(other) = found.get(&name) else {
            found.insert(name, Arc::clone(directory));
            continue;
        };
        let topic = image.topic(name.topic.as_str());
        let named = topic.and_then(|topic| topic.partition(name.partition)?.directory_of(node));
        let (kept, left) = match named == Some(directory.id()) {
            true => (Arc::clone(directory), Arc::clone(other)),
            false => (Arc::clone(other), Arc::clone(directory)),
        };
        tracing::error!(
            partition = %name,
            served = %kept.path().display(),
            "two log directories hold the partition"
        );
        set_stray(left.env(), left.path(), &name);
        if let Err(error) = left.sync_names() {
            tracing::warn!(directory = %left.path().display(), %error, "a renamed stray is not synced");
        }
        found.insert(name, kept);
    }
}

/// Corrects what the metadata says about the places of logs.
fn tell_metadata(args: &OpenBroker, image: &Image, found: &Found) {
    let node = args.settings.node_id;
    let wrong = found.iter().filter_map(|(name, directory)| {
        let topic = image.topic(name.topic.as_str())?;
        let named = topic.partition(name.partition)?.directory_of(node);
        (named != Some(directory.id())).then(|| DirectoryAssignment {
            topic: topic.id,
            partition: name.partition,
            directory: directory.id(),
        })
    });
    let mut wrong: Vec<DirectoryAssignment> = wrong.collect();
    if wrong.is_empty() {
        return;
    }
    wrong.sort_unstable_by_key(|wrong| (wrong.topic, wrong.partition));
    tracing::info!(partitions = wrong.len(), "the metadata is told where partitions lie");
    // Without it everything is served all the same, and the next start tells again.
    if let Err(error) = args.metadata.assign_directories(wrong) {
        tracing::warn!(%error, "the metadata does not know where partitions lie");
    }
}

/// The partitions of a directory that the image knows; the others are set aside.
fn known_partitions(env: &Env, directory: &LogDirectory, image: &Image) -> Vec<TopicPartition> {
    let mut known = Vec::with_capacity(directory.partitions().len());
    let mut strays = false;
    for name in directory.partitions() {
        let topic = image.topic(name.topic.as_str());
        if topic.is_some_and(|topic| topic.partition(name.partition).is_some()) {
            known.push(name.clone());
        } else {
            strays |= set_stray(env, directory.path(), name);
        }
    }
    if strays && let Err(error) = directory.sync_names() {
        tracing::warn!(directory = %directory.path().display(), %error, "renamed strays are not synced");
    }
    known
}

/// Renames the directory of a partition that the metadata does not know, as Kafka does; true if it was renamed.
pub(super) fn set_stray(env: &Env, directory: &Path, name: &TopicPartition) -> bool {
    let to = stray_name(name, env.random.uuid());
    match env.files.rename(&directory.join(name.to_string()), &directory.join(&to)) {
        Ok(()) => {
            tracing::warn!(partition = %name, renamed = to, "the metadata does not know this partition, set aside");
            true
        }
        Err(error) => {
            tracing::error!(partition = %name, %error, "the metadata does not know this partition, and it cannot be set aside");
            false
        }
    }
}
