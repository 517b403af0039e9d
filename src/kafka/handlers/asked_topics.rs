//! Topics and partitions of which some are refused before the coordinator is asked: those that do not exist.

use crate::kafka::codec::TopicKey;
use crate::kafka::{ErrorCode, codec};
use crate::metadata::{Image, Topic};
use crate::types::PartitionIndex;

/// One topic as a request names it.
#[derive(Debug)]
pub(super) struct AskedTopic {
    /// Its name; empty if the request names it by an id that there is not.
    pub(super) name: kafka_protocol::messages::TopicName,
    /// Its id; zero if the request names it by a name that there is not.
    pub(super) id: uuid::Uuid,
    /// Its partitions, in the order of the request, with the reason why one is refused.
    pub(super) partitions: Vec<(i32, Option<ErrorCode>)>,
    exists: bool,
}

impl AskedTopic {
    /// Looks up what a request names.
    pub(super) fn of(
        image: &Image,
        key: TopicKey<'_>,
        partitions: impl Iterator<Item = i32>,
    ) -> Self {
        let (topic, unknown) = match key {
            TopicKey::Name(name) => (image.topic(name), ErrorCode::UnknownTopicOrPartition),
            TopicKey::Id(id) => (image.topic_by_id(id), ErrorCode::UnknownTopicId),
        };
        let refusal = |index| match topic {
            Some(topic) => refusal_of(topic, index),
            None => Some(unknown),
        };
        let partitions = partitions.map(|index| (index, refusal(index))).collect();
        let (name, id) = match (topic, key) {
            (Some(topic), _) => {
                (codec::topic_name(topic.name.as_str()), codec::id_to_wire(topic.id))
            }
            (None, TopicKey::Name(name)) => (codec::topic_name(name), uuid::Uuid::nil()),
            (None, TopicKey::Id(id)) => (codec::topic_name(""), codec::id_to_wire(id)),
        };
        Self { name, id, partitions, exists: topic.is_some() }
    }

    /// Kafka's answers leave out a topic that is there and that nothing was asked about.
    pub(super) fn is_answered(&self) -> bool {
        !self.exists || !self.partitions.is_empty()
    }

    /// Leaves in `partitions`, which are those of the request, only those that are not refused.
    pub(super) fn retain_existing<P>(&self, partitions: &mut Vec<P>) {
        let mut verdicts = self.partitions.iter();
        partitions.retain(|_| matches!(verdicts.next(), Some((_, None))));
    }

    /// The code of each partition: that of its refusal, else the next of `codes`.
    pub(super) fn codes(&self, mut codes: impl FnMut() -> i16) -> impl Iterator<Item = (i32, i16)> {
        self.partitions.iter().map(move |(index, refusal)| {
            (*index, refusal.map_or_else(&mut codes, ErrorCode::number))
        })
    }
}

fn refusal_of(topic: &Topic, index: i32) -> Option<ErrorCode> {
    match topic.partition(PartitionIndex::new(index)) {
        Some(_) => None,
        None => Some(ErrorCode::UnknownTopicOrPartition),
    }
}
