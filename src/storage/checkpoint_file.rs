//! Kafka's text checkpoints (`CheckpointFile`, `OffsetCheckpointFile`).
//!
//! ```text
//! 0                    version
//! 2                    number of entries
//! topic 0 42           one entry a line
//! topic 1 7
//! ```
//!
//! Every line ends with `\n`. An empty file holds no entries. Whoever finds anything else must not guess: Kafka takes the
//! whole log directory offline.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::str::FromStr;

use crate::types::{Offset, PartitionIndex, TopicName, TopicPartition};

const VERSION: &str = "0";

/// Offsets by partition, as `recovery-point-offset-checkpoint` and its siblings hold them.
pub type OffsetCheckpoint = BTreeMap<TopicPartition, Offset>;

/// The bytes are no checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// Not UTF-8.
    #[error("it is not text")]
    NotText,
    /// The first line is not the version.
    #[error("line 1: version `0` is expected, found `{0}`")]
    Version(String),
    /// The second line is no count.
    #[error("line 2: the number of entries is expected, found `{0}`")]
    Count(String),
    /// There are more or fewer entries than the second line says.
    #[error("{found} entries where line 2 says {expected}")]
    WrongCount {
        /// From line 2.
        expected: usize,
        /// Lines that follow.
        found: usize,
    },
    /// An entry cannot be read.
    #[error("line {line}: malformed entry `{text}`")]
    Entry {
        /// Counted from 1.
        line: usize,
        /// The line.
        text: String,
    },
}

/// Reads a checkpoint whose entries `parse` reads line by line.
pub fn decode<T>(
    bytes: &[u8],
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, CheckpointError> {
    let text = str::from_utf8(bytes).map_err(|_| CheckpointError::NotText)?;
    let mut lines = text.lines();
    let Some(version) = lines.next() else {
        return Ok(Vec::new());
    };
    if version.trim() != VERSION {
        return Err(CheckpointError::Version(version.to_owned()));
    }
    let count = lines.next().unwrap_or_default();
    let expected: usize =
        count.trim().parse().map_err(|_| CheckpointError::Count(count.to_owned()))?;
    let entries = lines
        .enumerate()
        .map(|(i, text)| {
            parse(text).ok_or_else(|| CheckpointError::Entry { line: i + 3, text: text.to_owned() })
        })
        .collect::<Result<Vec<T>, _>>()?;
    match entries.len() {
        found if found == expected => Ok(entries),
        found => Err(CheckpointError::WrongCount { expected, found }),
    }
}

/// Writes a checkpoint of `lines`, none of which holds a line break.
pub fn encode(lines: impl ExactSizeIterator<Item = String>) -> Vec<u8> {
    let mut text = format!("{VERSION}\n{}\n", lines.len());
    for line in lines {
        debug_assert!(!line.contains('\n'), "an entry is one line");
        text.push_str(&line);
        text.push('\n');
    }
    text.into_bytes()
}

/// Reads offsets by partition.
pub fn decode_offsets(bytes: &[u8]) -> Result<OffsetCheckpoint, CheckpointError> {
    Ok(decode(bytes, parse_offset)?.into_iter().collect())
}

/// Writes offsets by partition.
pub fn encode_offsets(offsets: &OffsetCheckpoint) -> Vec<u8> {
    encode(offsets.iter().map(|(key, offset)| {
        let mut line = String::with_capacity(key.topic.as_str().len() + 24);
        // Writing to a string cannot fail.
        let _ = write!(line, "{} {} {}", key.topic, key.partition, offset);
        line
    }))
}

fn parse_offset(line: &str) -> Option<(TopicPartition, Offset)> {
    let mut words = line.split_whitespace();
    let topic = TopicName::new(words.next()?).ok()?;
    let partition = PartitionIndex::new(number(words.next()?)?);
    let offset = Offset::new(number(words.next()?)?);
    let whole = words.next().is_none() && partition.get() >= 0 && offset.get() >= 0;
    whole.then_some((TopicPartition { topic, partition }, offset))
}

fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cleaner-offset-checkpoint` of a stopped Kafka 4.4.0, its entries in the order of a sorted map.
    const KAFKA: &str =
        "0\n4\ncompact-delete 0 32\ncompacted 0 32\ncompacted-gone 0 32\ncompacted-txn 0 29\n";

    #[test]
    fn kafkas_checkpoint_is_read_and_written_byte_for_byte() {
        let offsets = decode_offsets(KAFKA.as_bytes()).unwrap();
        let key = |topic: &str| TopicPartition {
            topic: TopicName::new(topic).unwrap(),
            partition: PartitionIndex::new(0),
        };
        assert_eq!(offsets[&key("compacted-txn")], Offset::new(29));
        assert_eq!(offsets.len(), 4);
        assert_eq!(encode_offsets(&offsets), KAFKA.as_bytes());
    }

    #[test]
    fn an_empty_file_and_an_empty_checkpoint_hold_nothing() {
        assert_eq!(decode_offsets(b""), Ok(OffsetCheckpoint::new()));
        assert_eq!(decode_offsets(b"0\n0\n"), Ok(OffsetCheckpoint::new()));
        assert_eq!(encode_offsets(&OffsetCheckpoint::new()), b"0\n0\n");
    }

    #[test]
    fn anything_malformed_is_refused_with_its_line() {
        let refused = |text: &str| decode_offsets(text.as_bytes()).unwrap_err();
        assert_eq!(refused("1\n0\n"), CheckpointError::Version("1".into()));
        assert_eq!(refused("0\nmany\n"), CheckpointError::Count("many".into()));
        assert_eq!(refused("0\n"), CheckpointError::Count(String::new()));
        assert_eq!(refused("0\n2\na 0 1\n"), CheckpointError::WrongCount { expected: 2, found: 1 });
        assert_eq!(refused("0\n0\na 0 1\n"), CheckpointError::WrongCount { expected: 0, found: 1 });
        for entry in ["a 0", "a 0 1 2", "a x 1", "a 0 x", "a -1 1", "a/b 0 1", ""] {
            let text = format!("0\n1\n{entry}\n");
            assert_eq!(refused(&text), CheckpointError::Entry { line: 3, text: entry.into() });
        }
        assert_eq!(decode_offsets(&[0xff, 0xfe]), Err(CheckpointError::NotText));
    }
}
