//! `partition.metadata`: the topic id of a partition directory (Kafka's `PartitionMetadataFile`).
//!
//! ```text
//! version: 0
//! topic_id: <22 characters>
//! ```
//!
//! No line break at the end. Without this file Kafka sets the directory aside.

use crate::types::TopicId;

/// The bytes are no `partition.metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionMetadataDamage {
    /// Not UTF-8.
    #[error("it is not text")]
    NotText,
    /// The first line is not the version.
    #[error("line 1: `version: 0` is expected")]
    Version,
    /// The second line is no topic id, or the zero id.
    #[error("line 2: `topic_id: ` and an id other than zero are expected")]
    TopicId,
    /// There are more lines.
    #[error("there are more than two lines")]
    MoreLines,
}

/// Writes the file.
///
/// # Panics
/// If the id is zero, which no topic has.
pub fn encode(topic_id: TopicId) -> Vec<u8> {
    assert!(!topic_id.is_zero(), "every topic has an id");
    format!("version: 0\ntopic_id: {topic_id}").into_bytes()
}

/// Reads the file.
pub fn decode(bytes: &[u8]) -> Result<TopicId, PartitionMetadataDamage> {
    let text = str::from_utf8(bytes).map_err(|_| PartitionMetadataDamage::NotText)?;
    let mut lines = text.lines();
    if lines.next() != Some("version: 0") {
        return Err(PartitionMetadataDamage::Version);
    }
    let id = lines.next().and_then(|line| line.strip_prefix("topic_id: ")?.parse::<TopicId>().ok());
    let id = id.filter(|id| !id.is_zero()).ok_or(PartitionMetadataDamage::TopicId)?;
    if lines.next().is_some() { Err(PartitionMetadataDamage::MoreLines) } else { Ok(id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kafkas_file_is_read_and_written_byte_for_byte() {
        let bytes =
            include_bytes!("../../../tests/golden/raw/clean-4.4/trimmed-0/partition.metadata");
        let id = decode(bytes).unwrap();
        assert_eq!(id.to_string(), "4V0qn8_zTPSHIyDhL6BKWQ");
        assert_eq!(encode(id), bytes);
    }

    #[test]
    fn anything_else_is_refused() {
        use PartitionMetadataDamage::{MoreLines, NotText, TopicId, Version};
        let cases: [(&[u8], _); 8] = [
            (b"", Version),
            (b"version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", Version),
            (b"version: 0", TopicId),
            (b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", TopicId),
            (b"version: 0\ntopic_id: AAAA", TopicId),
            (b"version: 0\nid: AAAAAAAAAAAAAAAAAAAAAQ", TopicId),
            (b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\nmore", MoreLines),
            (b"\xff", NotText),
        ];
        for (bytes, error) in cases {
            assert_eq!(decode(bytes), Err(error), "{}", bytes.escape_ascii());
        }
    }
}
