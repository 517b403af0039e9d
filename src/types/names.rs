//! Topic names and what is built of them.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use super::PartitionIndex;

/// A legal topic name: 1 to 249 of `[a-zA-Z0-9._-]`, neither `.` nor `..` (Kafka's `Topic.validate`). Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicName(Arc<str>);

/// Why a topic name is refused; the text is Kafka's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTopicName {
    /// The empty name.
    #[error("the empty string is not allowed")]
    Empty,
    /// `.` or `..`.
    #[error("'{0}' is not allowed")]
    Dots(String),
    /// More than 249 characters: the directory name would not fit.
    #[error("the length of '{0}' is longer than the max allowed length 249")]
    TooLong(String),
    /// A character outside the legal set.
    #[error(
        "'{0}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    )]
    Character(String),
}

impl TopicName {
    /// Longest legal name, in bytes.
    pub const LENGTH_MAX: usize = 249;

    /// Checks `name` and copies it.
    pub fn new(name: &str) -> Result<Self, InvalidTopicName> {
        if name.is_empty() {
            return Err(InvalidTopicName::Empty);
        }
        if name == "." || name == ".." {
            return Err(InvalidTopicName::Dots(name.to_owned()));
        }
        if name.len() > Self::LENGTH_MAX {
            return Err(InvalidTopicName::TooLong(name.to_owned()));
        }
        let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if !name.bytes().all(legal) {
            return Err(InvalidTopicName::Character(name.to_owned()));
        }
        Ok(Self(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for TopicName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One partition of one topic, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic.
    pub topic: TopicName,
    /// The partition in it.
    pub partition: PartitionIndex,
}

impl fmt::Display for TopicPartition {
    /// The directory name of the partition, `topic-0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}
