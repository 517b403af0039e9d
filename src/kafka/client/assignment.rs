//! The assignment of a classic consumer (Kafka's `ConsumerProtocolAssignment`).
//!
//! An `i16` version, an array of topics with an `i16` name length and an array of `i32` partitions, then user data. The bytes come
//! from whatever member led the group: nothing in them is believed without a check.

use crate::kafka::wire::{Malformed, Reader};
use crate::types::PartitionIndex;

/// Bytes of the shortest topic: an empty name and no partitions.
const TOPIC_LEN_MIN: usize = 6;
/// Bytes of a partition.
const PARTITION_LEN: usize = 4;

/// The partitions assigned, sorted. No bytes at all are an empty assignment: a member that has not been assigned anything yet.
pub(super) fn assigned_partitions(
    bytes: &[u8],
) -> Result<Vec<(String, PartitionIndex)>, Malformed> {
    let mut partitions = Vec::new();
    if bytes.is_empty() {
        return Ok(partitions);
    }
    let mut reader = Reader::new(bytes, false);
    // Later versions add fields at the end only, so that whoever knows fewer of them reads what it knows.
    reader.int16()?;
    for _ in 0..reader.elements(TOPIC_LEN_MIN)? {
        let topic = reader.text()?;
        for _ in 0..reader.elements(PARTITION_LEN)? {
            partitions.push((topic.to_owned(), PartitionIndex::new(reader.int32()?)));
        }
    }
    partitions.sort();
    Ok(partitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Kafka 4.4's `ConsumerProtocol.serializeAssignment` writes `t-0, t-2, u-1`: version 3, null user data.
    const KAFKA: &[u8] = b"\0\x03\0\0\0\x02\0\x01t\0\0\0\x02\0\0\0\0\0\0\0\x02\0\x01u\0\0\0\x01\0\0\0\x01\xff\xff\xff\xff";

    fn partition(topic: &str, index: i32) -> (String, PartitionIndex) {
        (topic.to_owned(), PartitionIndex::new(index))
    }

    #[test]
    fn partitions_are_read_and_user_data_is_left_alone() {
        let expected = [partition("t", 0), partition("t", 2), partition("u", 1)];
        assert_eq!(assigned_partitions(KAFKA).unwrap(), expected);
        assert_eq!(assigned_partitions(b"").unwrap(), []);
    }

    #[test]
    fn bytes_that_end_too_early_are_an_error() {
        let before_user_data = KAFKA.len() - 4;
        for len in 1..before_user_data {
            assert!(assigned_partitions(&KAFKA[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn counts_that_the_bytes_cannot_hold_are_an_error() {
        let mut bytes = KAFKA.to_vec();
        bytes[2..6].copy_from_slice(&i32::MAX.to_be_bytes());
        assert!(assigned_partitions(&bytes).is_err());
        let mut bytes = KAFKA.to_vec();
        bytes[9..13].copy_from_slice(&(1_i32 << 30).to_be_bytes());
        assert!(assigned_partitions(&bytes).is_err());
    }
}
