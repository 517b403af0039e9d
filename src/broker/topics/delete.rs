//! DeleteTopics: by name or by id, one append for all.

use std::collections::HashSet;

use crate::broker::Broker;
use crate::metadata::{Image, MetadataError, TopicRef};
use crate::types::{TopicId, TopicName, Uuid};

/// A topic as a request points at it: by name or by id, never by both.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicToDelete {
    /// By name; the id must be zero.
    pub name: Option<String>,
    /// By id; the name must be missing.
    pub id: TopicId,
}

/// What became of one topic.
#[derive(Debug)]
pub struct DeleteTopicOutcome {
    /// Its name, where it is known.
    pub name: Option<String>,
    /// Its id, where it is known.
    pub id: TopicId,
    /// Deleted, or why not.
    pub result: Result<(), DeleteTopicError>,
}

/// Why a topic is not deleted; the texts are Kafka's.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeleteTopicError {
    /// TOPIC_DELETION_DISABLED; INVALID_REQUEST before version 3.
    #[error("Topic deletion is disabled.")]
    Disabled,
    /// INVALID_REQUEST.
    #[error("Neither topic name nor id were specified.")]
    Neither,
    /// INVALID_REQUEST.
    #[error("You may not specify both topic name and topic id.")]
    Both,
    /// INVALID_REQUEST.
    #[error("Duplicate topic name.")]
    DuplicateName,
    /// INVALID_REQUEST.
    #[error("Duplicate topic id.")]
    DuplicateId,
    /// INVALID_REQUEST: once by name and once by id.
    #[error("The provided topic name maps to an ID that was already supplied.")]
    NameAndIdOfOne,
    /// UNKNOWN_TOPIC_OR_PARTITION.
    #[error("This server does not host this topic-partition.")]
    UnknownName,
    /// UNKNOWN_TOPIC_ID.
    #[error("This server does not host this topic ID.")]
    UnknownId,
    /// KAFKA_STORAGE_ERROR.
    #[error("The metadata log cannot be written: {0}")]
    Storage(String),
}

impl Broker {
    /// Deletes topics in one append to the metadata log; their directories are renamed before this returns. One outcome per
    /// topic, in the order in which the request points at them first. Blocks.
    pub fn delete_topics(&self, topics: Vec<TopicToDelete>) -> Vec<DeleteTopicOutcome> {
        if !self.settings.delete_topic_enable {
            return topics.into_iter().map(disabled).collect();
        }
        let _changes = self.changes.lock();
        let planned = plan(&self.metadata.image(), topics);
        let doomed: Vec<TopicRef> =
            planned.iter().filter(|p| p.result.is_ok()).map(|p| TopicRef::Id(p.id)).collect();
        if doomed.is_empty() {
            return planned;
        }
        let results = self.metadata.delete_topics(doomed);
        self.settle_deletions(planned, results)
    }

    fn settle_deletions(
        &self,
        mut planned: Vec<DeleteTopicOutcome>,
        results: Vec<Result<TopicId, MetadataError>>,
    ) -> Vec<DeleteTopicOutcome> {
        for (topic, result) in planned.iter_mut().filter(|p| p.result.is_ok()).zip(results) {
            topic.result = match result {
                Ok(_) => Ok(()),
                Err(MetadataError::UnknownTopic) => Err(DeleteTopicError::UnknownId),
                Err(
                    error @ (MetadataError::TopicExists(_)
                    | MetadataError::PartitionCountChanged(_)
                    | MetadataError::Journal(_)
                    | MetadataError::NoProducerIds),
                ) => Err(DeleteTopicError::Storage(error.to_string())),
            };
        }
        self.apply_image();
        planned
    }
}

fn disabled(topic: TopicToDelete) -> DeleteTopicOutcome {
    DeleteTopicOutcome { name: topic.name, id: topic.id, result: Err(DeleteTopicError::Disabled) }
}

/// Decides what can be deleted (Kafka's `ControllerApis.deleteTopics`). Pure.
pub(super) fn plan(image: &Image, topics: Vec<TopicToDelete>) -> Vec<DeleteTopicOutcome> {
    let repeated = Repetitions::of(&topics, image);
    let mut told = HashSet::new();
    let unique = topics.into_iter().filter(|topic| told.insert(topic.clone()));
    let judged = unique.filter_map(|topic| match (&topic.name, topic.id.is_zero()) {
        (None, true) => Some(outcome(None, Uuid::ZERO, Err(DeleteTopicError::Neither))),
        (Some(_), false) => Some(outcome(topic.name, topic.id, Err(DeleteTopicError::Both))),
        (Some(name), true) => Some(repeated.judge_name(image, name)),
        (None, false) => repeated.judge_id(image, topic.id),
    });
    judged.collect()
}

fn outcome(
    name: Option<String>,
    id: TopicId,
    result: Result<(), DeleteTopicError>,
) -> DeleteTopicOutcome {
    DeleteTopicOutcome { name, id, result }
}

/// What a request points at more than once.
struct Repetitions {
    names: HashSet<String>,
    ids: HashSet<TopicId>,
    /// Topics that are pointed at by name and by id.
    both_ways: HashSet<TopicId>,
}

impl Repetitions {
    fn of(topics: &[TopicToDelete], image: &Image) -> Self {
        let by_name = topics.iter().filter(|t| t.id.is_zero()).filter_map(|t| t.name.clone());
        let by_id = topics.iter().filter(|t| t.name.is_none() && !t.id.is_zero()).map(|t| t.id);
        let (seen_names, names) = seen_and_repeated(by_name);
        let (seen_ids, ids) = seen_and_repeated(by_id);
        let ids_of_names = seen_names.iter().filter_map(|name| image.topic(name)).map(|t| t.id);
        let both_ways = ids_of_names.filter(|id| seen_ids.contains(id)).collect();
        Self { names, ids, both_ways }
    }

    fn judge_name(&self, image: &Image, name: &str) -> DeleteTopicOutcome {
        let named = |id, result| outcome(Some(name.to_owned()), id, result);
        if self.names.contains(name) {
            return named(Uuid::ZERO, Err(DeleteTopicError::DuplicateName));
        }
        match image.topic(name) {
            None => named(Uuid::ZERO, Err(DeleteTopicError::UnknownName)),
            Some(topic) if self.both_ways.contains(&topic.id) => {
                named(topic.id, Err(DeleteTopicError::NameAndIdOfOne))
            }
            Some(topic) => named(topic.id, Ok(())),
        }
    }

    /// `None` for an id whose topic is answered under its name.
    fn judge_id(&self, image: &Image, id: TopicId) -> Option<DeleteTopicOutcome> {
        if self.ids.contains(&id) {
            return Some(outcome(None, id, Err(DeleteTopicError::DuplicateId)));
        }
        if self.both_ways.contains(&id) {
            return None;
        }
        Some(match image.topic_by_id(id) {
            None => outcome(None, id, Err(DeleteTopicError::UnknownId)),
            Some(topic) => outcome(Some(name_of(&topic.name)), id, Ok(())),
        })
    }
}

fn name_of(name: &TopicName) -> String {
    name.as_str().to_owned()
}

fn seen_and_repeated<T: Clone + Eq + std::hash::Hash>(
    all: impl Iterator<Item = T>,
) -> (HashSet<T>, HashSet<T>) {
    let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
    for one in all {
        if !seen.insert(one.clone()) {
            repeated.insert(one);
        }
    }
    (seen, repeated)
}
