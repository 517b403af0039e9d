//! A hash over what a group's subscribed topics look like (Kafka's `Utils.computeTopicHash` and `computeGroupHash`).
//!
//! It is in the record of the group's epoch; when it changes, partitions have come or gone and the group needs a new target.
//! XXH3-64 with seed 0 over, little-endian:
//!
//! ```text
//! topic: 0 u8 | most, least significant bits of the id i64 i64 | name utf-16, its length i32 | partitions i32
//!        | for each: index i32, for each rack in order: length i32, rack utf-16, its length i32
//! group: hash of each topic that exists, in order of their names; 0 if there is none
//! ```

use std::sync::Arc;

use twox_hash::XxHash3_64;

use crate::metadata::{Image, PartitionState, Topic};

/// Of a group with these topics, which exist.
pub(super) fn of_group<'a>(image: &Image, topics: impl Iterator<Item = &'a Arc<Topic>>) -> i64 {
    let mut topics: Vec<_> = topics.collect();
    if topics.is_empty() {
        return 0;
    }
    topics.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let hashes = topics.iter().flat_map(|topic| of_topic(image, topic).to_le_bytes());
    hash(&hashes.collect::<Vec<u8>>())
}

fn of_topic(image: &Image, topic: &Topic) -> i64 {
    let mut bytes = vec![0];
    let id = u128::from_be_bytes(topic.id.to_bytes());
    bytes.extend_from_slice(&((id >> 64) as u64).to_le_bytes());
    bytes.extend_from_slice(&(id as u64).to_le_bytes());
    put_text(&mut bytes, topic.name.as_str());
    put_count(&mut bytes, topic.partitions.len());
    for (index, partition) in topic.partitions.iter().enumerate() {
        put_count(&mut bytes, index);
        for rack in racks(image, partition) {
            put_count(&mut bytes, rack.encode_utf16().count());
            put_text(&mut bytes, rack);
        }
    }
    hash(&bytes)
}

/// Racks of the replicas whose brokers have one, in order.
fn racks<'a>(image: &'a Image, partition: &'a PartitionState) -> Vec<&'a str> {
    let rack = |id| image.broker(id).and_then(|broker| broker.rack.as_deref());
    let mut racks: Vec<_> = partition.replicas.iter().filter_map(|id| rack(*id)).collect();
    racks.sort_unstable();
    racks
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    put_count(bytes, text.encode_utf16().count());
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    bytes.extend_from_slice(&count.to_le_bytes());
}

fn hash(bytes: &[u8]) -> i64 {
    XxHash3_64::oneshot(bytes).cast_signed()
}
