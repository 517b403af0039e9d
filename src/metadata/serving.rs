//! What of a cluster's metadata this release cannot serve: each with its name and the way out.
//!
//! Pure: from the image that was found to the reasons. The start refuses a directory for any of them before it has changed
//! anything, and `highwater check` prints them.

use std::collections::BTreeSet;

use super::image::{ConfigResource, Image, PartitionState, Topic};
use super::records::{OLDEST_LEVEL, newest_level_of};
use crate::types::{BrokerId, DirectoryId};

/// Topics or partitions that a refusal names; of more it says how many there are.
const NAMED_MAX: usize = 3;

/// The node that is to serve, as far as its log directories tell.
#[derive(Clone, Debug)]
pub struct Serving {
    /// `node.id`.
    pub node_id: BrokerId,
    /// `directory.id` of the metadata directory; `None` where it was lost, or is still to be made.
    pub metadata_directory: Option<DirectoryId>,
    /// `directory.id` of each log directory, in their order.
    pub log_directories: Vec<Option<DirectoryId>>,
}

/// All reasons not to serve `image`; empty if there are none.
pub fn refusals(image: &Image, serving: &Serving) -> Vec<String> {
    let found = [
        other_voters(image, serving),
        other_directory(image, serving),
        kraft_version(image),
        old_level(image),
        unknown_features(image),
        tiered_topics(image),
        foreign_partitions(image, serving),
        missing_directories(image, serving),
    ];
    found.into_iter().flatten().collect()
}

/// A node that is not the only voter cannot know what is committed.
fn other_voters(image: &Image, serving: &Serving) -> Option<String> {
    let quorum = &image.quorum;
    let voters: Vec<_> = match quorum.kraft_version {
        0 => quorum.electors.clone(),
        _ => quorum.voters.iter().map(|voter| voter.id).collect(),
    };
    voters.iter().any(|id| *id != serving.node_id).then(|| {
        format!(
            "the metadata belongs to a quorum of the controllers {}: this node ({}) must be the only one. Shrink the quorum to it with kafka-metadata-quorum.sh remove-controller, stop Kafka and start again",
            listed(&voters),
            serving.node_id
        )
    })
}

fn other_directory(image: &Image, serving: &Serving) -> Option<String> {
    let voter = image.quorum.voters.first()?;
    let ours = serving.metadata_directory?;
    (voter.id == serving.node_id && voter.directory_id != ours).then(|| {
        format!(
            "the metadata belongs to the directory {}, but meta.properties says directory.id={ours}: put the former into meta.properties",
            voter.directory_id
        )
    })
}

fn kraft_version(image: &Image) -> Option<String> {
    let version = image.quorum.kraft_version;
    (!(0..=1).contains(&version)).then(|| {
        format!("kraft.version is at level {version}, and this release knows 0 and 1: go on with the Kafka that raised it")
    })
}

fn old_level(image: &Image) -> Option<String> {
    let level = image.metadata_version();
    // 0: a log that is about to be formatted.
    (level != 0 && level < OLDEST_LEVEL).then(|| {
        format!("metadata.version is at level {level}, older than Kafka 3.3: upgrade the cluster with Kafka 3.9 first")
    })
}

fn unknown_features(image: &Image) -> Option<String> {
    let unknown = image
        .features
        .iter()
        .filter(|(name, level)| newest_level_of(name).is_none_or(|newest| **level > newest));
    let named: Vec<String> = unknown
        .map(|(name, level)| match newest_level_of(name) {
            Some(newest) => format!("{name} at level {level} (known up to {newest})"),
            None => format!("{name} at level {level} (not known)"),
        })
        .collect();
    (!named.is_empty()).then(|| {
        format!(
            "features of a newer Kafka than 4.4 are finalized: {}. Lower them with kafka-features.sh downgrade under the Kafka that serves them, or go on with that Kafka",
            named.join(", ")
        )
    })
}

/// Part of their records lies where nothing here reads it.
fn tiered_topics(image: &Image) -> Option<String> {
    let is_tiered = |topic: &&Topic| {
        let overrides = image.overrides(&ConfigResource::Topic(topic.name.clone()));
        overrides.get("remote.storage.enable").is_some_and(|value| value == "true")
    };
    let tiered: BTreeSet<&str> = topics(image).filter(is_tiered).map(|t| t.name.as_str()).collect();
    (!tiered.is_empty()).then(|| {
        format!(
            "tiered storage is on for {}: older records lie in a remote tier, which is not served here. Under Kafka, bring them back or let them go: kafka-configs.sh --alter --add-config remote.storage.enable=false,remote.log.delete.on.disable=true, or delete the topics",
            some_of(&tiered)
        )
    })
}

/// Partitions that only other brokers have.
fn foreign_partitions(image: &Image, serving: &Serving) -> Option<String> {
    let foreign: BTreeSet<String> = partitions(image)
        .filter(|(_, _, state)| !state.replicas.contains(&serving.node_id))
        .map(|(topic, index, _)| format!("{}-{index}", topic.name))
        .collect();
    (!foreign.is_empty()).then(|| {
        format!(
            "this node ({}) has no replica of {}: move them here with kafka-reassign-partitions.sh first",
            serving.node_id,
            some_of(&foreign)
        )
    })
}

/// A log directory that the node had and that nobody names now: what was in it would be missed by nobody.
fn missing_directories(image: &Image, serving: &Serving) -> Option<String> {
    let registered = &image.broker(serving.node_id)?.log_dirs;
    if registered.len() <= serving.log_directories.len() {
        // One that was replaced, or whose disk is broken: its partitions alone suffer.
        return None;
    }
    let missing = |id: &&DirectoryId| !serving.log_directories.contains(&Some(**id));
    let ids: Vec<DirectoryId> = registered.iter().filter(missing).copied().collect();
    let affected: BTreeSet<String> = partitions(image)
        .filter(|(_, _, state)| lies_in(state, serving.node_id, &ids))
        .map(|(topic, index, _)| format!("{}-{index}", topic.name))
        .collect();
    (!affected.is_empty()).then(|| {
        format!(
            "log directories of this node are missing ({}), and in them lie {}: name all of them in log.dirs. In place of one that is lost for good name an empty directory: its partitions are then offline until their topics are deleted",
            listed(&ids),
            some_of(&affected)
        )
    })
}

fn lies_in(state: &PartitionState, node: BrokerId, ids: &[DirectoryId]) -> bool {
    let replica = state.replicas.iter().position(|id| *id == node);
    let directory = replica.and_then(|replica| state.directories.get(replica));
    directory.is_some_and(|directory| ids.contains(directory))
}

fn topics(image: &Image) -> impl Iterator<Item = &Topic> {
    image.topics.values().map(AsRef::as_ref)
}

fn partitions(image: &Image) -> impl Iterator<Item = (&Topic, usize, &PartitionState)> {
    topics(image).flat_map(|topic| {
        topic.partitions.iter().enumerate().map(move |(index, state)| (topic, index, state))
    })
}

fn listed<T: ToString>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// The first names, and how many more there are.
fn some_of<T: AsRef<str>>(names: &BTreeSet<T>) -> String {
    let first: Vec<&str> = names.iter().take(NAMED_MAX).map(AsRef::as_ref).collect();
    match names.len().checked_sub(NAMED_MAX) {
        Some(more) if more > 0 => format!("{} and {more} more", first.join(", ")),
        _ => first.join(", "),
    }
}
