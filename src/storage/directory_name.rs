//! Names of the directories in a log directory (Kafka's `LocalLog.parseTopicPartitionName`).
//!
//! | name | meaning |
//! |---|---|
//! | `topic-0` | a partition |
//! | `topic-0.<32 hex>-delete` | a partition being deleted; the topic may be cut |
//! | `topic-0.<32 hex>-future` | target of a move between directories |
//! | `topic-0.<32 hex>-stray` | a partition that the metadata did not know; the topic may be cut |
//!
//! The partition is what follows the last `-`.

use crate::types::{PartitionIndex, TopicName, TopicPartition, Uuid};

/// Directory of the metadata log.
pub const METADATA_DIRECTORY: &str = "__cluster_metadata-0";

/// Longest name of a directory on common file systems, in bytes.
pub const NAME_LENGTH_MAX: usize = 255;

/// What the name of a directory says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryName {
    /// `__cluster_metadata-0`.
    Metadata,
    /// A partition that may be served.
    Partition(TopicPartition),
    /// Waits to be removed.
    Delete,
    /// Target of an unfinished move.
    Future(TopicPartition),
    /// Set aside by Kafka.
    Stray,
    /// Kafka's cache of indexes of a remote tier.
    RemoteIndexCache,
    /// Nothing that Kafka knows; Kafka would refuse to start.
    Alien,
}

impl DirectoryName {
    /// Reads a name.
    pub fn parse(name: &str) -> Self {
        match name {
            METADATA_DIRECTORY => return Self::Metadata,
            "remote-log-index-cache" => return Self::RemoteIndexCache,
            _ => {}
        }
        if let Some(stem) = name.strip_suffix("-future") {
            // Never cut, so that it names the whole partition.
            let partition = stem.rsplit_once('.').map(|(partition, _)| partition);
            let partition =
                partition.filter(|_| is_marked_partition(stem)).and_then(parse_partition);
            return partition.map_or(Self::Alien, Self::Future);
        }
        for (suffix, meaning) in [("-delete", Self::Delete), ("-stray", Self::Stray)] {
            if let Some(stem) = name.strip_suffix(suffix) {
                return if is_marked_partition(stem) { meaning } else { Self::Alien };
            }
        }
        parse_partition(name).map_or(Self::Alien, Self::Partition)
    }

    /// The partition that may be served, if it is one.
    pub fn partition(self) -> Option<TopicPartition> {
        match self {
            Self::Partition(partition) => Some(partition),
            _ => None,
        }
    }
}

/// Name that a partition's directory gets when it is to be deleted; `id` keeps it unlike every other.
pub fn deleted_name(partition: &TopicPartition, id: Uuid) -> String {
    marked_name(partition, id, "delete")
}

/// Name of the directory that a partition is copied to. Not cut, as in Kafka: it may be longer than [`NAME_LENGTH_MAX`].
pub fn future_name(partition: &TopicPartition, id: Uuid) -> String {
    format!("{partition}.{}-future", hex(id))
}

/// Name that the directory of a partition gets which the metadata does not know.
pub fn stray_name(partition: &TopicPartition, id: Uuid) -> String {
    marked_name(partition, id, "stray")
}

fn marked_name(partition: &TopicPartition, id: Uuid, mark: &str) -> String {
    let suffix = format!("-{}.{}-{mark}", partition.partition, hex(id));
    let topic = partition.topic.as_str();
    // Topic names are ASCII, so any length is a character boundary.
    let kept = topic.len().min(NAME_LENGTH_MAX - suffix.len());
    format!("{}{suffix}", &topic[..kept])
}

fn hex(id: Uuid) -> String {
    id.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `topic-partition.id`, no white space anywhere.
fn is_marked_partition(stem: &str) -> bool {
    let Some((partition, id)) = stem.rsplit_once('.') else {
        return false;
    };
    let whole = !id.is_empty() && !stem.contains(char::is_whitespace);
    whole && split_partition(partition).is_some()
}

fn split_partition(name: &str) -> Option<(&str, i32)> {
    let (topic, partition) = name.rsplit_once('-')?;
    let partition = partition.parse().ok()?;
    (!topic.is_empty()).then_some((topic, partition))
}

/// Only the spelling that Kafka itself writes: of `t-1` and `t-01`, the second is another directory.
fn parse_partition(name: &str) -> Option<TopicPartition> {
    let (topic, partition) = split_partition(name)?;
    let partition = TopicPartition {
        topic: TopicName::new(topic).ok()?,
        partition: PartitionIndex::new(partition),
    };
    (partition.to_string() == name).then_some(partition)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(topic: &str, index: i32) -> TopicPartition {
        TopicPartition {
            topic: TopicName::new(topic).unwrap(),
            partition: PartitionIndex::new(index),
        }
    }

    #[test]
    fn names_mean_what_they_mean_to_kafka() {
        let hex = "0123456789abcdef0123456789abcdef";
        let live = |topic, index| DirectoryName::Partition(partition(topic, index));
        let cases = [
            ("plain-0".to_owned(), live("plain", 0)),
            ("a-b-12".to_owned(), live("a-b", 12)),
            ("a-delete-0".to_owned(), live("a-delete", 0)),
            ("name.with_all-legal.CHARS_0-0".to_owned(), live("name.with_all-legal.CHARS_0", 0)),
            ("__cluster_metadata-0".to_owned(), DirectoryName::Metadata),
            ("remote-log-index-cache".to_owned(), DirectoryName::RemoteIndexCache),
            (format!("t-0.{hex}-delete"), DirectoryName::Delete),
            (format!("t-0.{hex}-future"), DirectoryName::Future(partition("t", 0))),
            (format!("t-0.{hex}-stray"), DirectoryName::Stray),
        ];
        for (name, meaning) in cases {
            assert_eq!(DirectoryName::parse(&name), meaning, "{name}");
        }
    }

    #[test]
    fn other_names_are_alien() {
        for name in [
            "lost+found",
            "",
            "-",
            "-0",
            "a-",
            "a-x",
            "a-01",
            "a-+1",
            "a b-0",
            "t-delete",
            "t-0-delete",
        ] {
            assert_eq!(DirectoryName::parse(name), DirectoryName::Alien, "{name}");
        }
    }

    #[test]
    fn a_deleted_name_is_parsed_back_and_never_too_long() {
        let id = Uuid::from_bytes([0xab; 16]);
        let short = deleted_name(&partition("t", 3), id);
        assert_eq!(short, format!("t-3.{}-delete", "ab".repeat(16)));
        let long = deleted_name(&partition(&"x".repeat(249), 2_147_483_647), id);
        assert_eq!(long.len(), 255);
        assert_eq!(DirectoryName::parse(&long), DirectoryName::Delete);
    }
}
