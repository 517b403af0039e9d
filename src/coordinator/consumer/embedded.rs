//! What consumers of the classic protocol say to each other inside JoinGroup and SyncGroup (Kafka's `ConsumerProtocol`).
//!
//! ```text
//! subscription: version i16 | topics: count i32, (length i16, name)… | user data: length i32 (−1 null), bytes
//!               | 1+: owned: count i32, (topic, partitions)… | 2+: generation i32 | 3+: rack: length i16 (−1 null), text
//! assignment:   version i16 | count i32, (topic, partitions)… | user data
//! partitions:   count i32, i32…
//! ```
//!
//! Versions above 3 add fields at the end. Nothing is reserved for what a count promises.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The newest version that is known here.
const NEWEST: i16 = 3;

/// The bytes are not what a consumer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the consumer protocol")]
pub(super) struct Malformed;

/// Partitions of a topic by its name.
pub(super) type NamedPartitions = (String, Vec<i32>);

/// What a member subscribes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) topics: Vec<String>,
    pub(super) owned: Vec<NamedPartitions>,
    pub(super) rack: Option<String>,
}

/// What a member was assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) partitions: Vec<NamedPartitions>,
    pub(super) has_user_data: bool,
}

pub(super) fn read_subscription(mut bytes: &[u8]) -> Result<Subscription, Malformed> {
    let version = read_version(&mut bytes)?;
    let topics = read_list(&mut bytes, read_text)?;
    read_user_data(&mut bytes)?;
    let owned = if version >= 1 { read_list(&mut bytes, read_topic)? } else { Vec::new() };
    if version >= 2 {
        bytes.try_get_i32().map_err(|_| Malformed)?;
    }
    let rack = if version >= 3 { read_nullable_text(&mut bytes)? } else { None };
    Ok(Subscription { topics, owned, rack })
}

pub(super) fn read_assignment(mut bytes: &[u8]) -> Result<Assignment, Malformed> {
    read_version(&mut bytes)?;
    let partitions = read_list(&mut bytes, read_topic)?;
    let has_user_data = read_user_data(&mut bytes)? > 0;
    Ok(Assignment { partitions, has_user_data })
}

/// In the version in which the member said what it subscribes to.
pub(super) fn write_assignment(subscription: &[u8], partitions: &[NamedPartitions]) -> Bytes {
    let version = read_version(&mut &*subscription).unwrap_or(0);
    let mut bytes = BytesMut::new();
    bytes.put_i16(version);
    bytes.put_i32(count(partitions.len()));
    for (topic, partitions) in partitions {
        bytes.put_i16(i16::try_from(topic.len()).unwrap_or(i16::MAX));
        bytes.put_slice(topic.as_bytes());
        bytes.put_i32(count(partitions.len()));
        partitions.iter().for_each(|partition| bytes.put_i32(*partition));
    }
    bytes.put_i32(-1);
    bytes.freeze()
}

fn read_version(bytes: &mut &[u8]) -> Result<i16, Malformed> {
    let version = bytes.try_get_i16().map_err(|_| Malformed)?;
    if version < 0 { Err(Malformed) } else { Ok(version.min(NEWEST)) }
}

fn read_list<T>(
    bytes: &mut &[u8],
    item: fn(&mut &[u8]) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = bytes.try_get_i32().map_err(|_| Malformed)?;
    if count < 0 {
        return Err(Malformed);
    }
    (0..count).map(|_| item(bytes)).collect::<Result<Vec<T>, Malformed>>()
}

fn read_topic(bytes: &mut &[u8]) -> Result<NamedPartitions, Malformed> {
    let partition = |bytes: &mut &[u8]| bytes.try_get_i32().map_err(|_| Malformed);
    Ok((read_text(bytes)?, read_list(bytes, partition)?))
}

fn read_text(bytes: &mut &[u8]) -> Result<String, Malformed> {
    read_nullable_text(bytes)?.ok_or(Malformed)
}

fn read_nullable_text(bytes: &mut &[u8]) -> Result<Option<String>, Malformed> {
    let length = bytes.try_get_i16().map_err(|_| Malformed)?;
    let Ok(length) = usize::try_from(length) else { return Ok(None) };
    let (text, rest) = bytes.split_at_checked(length).ok_or(Malformed)?;
    *bytes = rest;
    std::str::from_utf8(text).map(|text| Some(text.to_owned())).map_err(|_| Malformed)
}

/// Its length; null counts as none.
fn read_user_data(bytes: &mut &[u8]) -> Result<usize, Malformed> {
    let length = bytes.try_get_i32().map_err(|_| Malformed)?;
    let Ok(length) = usize::try_from(length) else { return Ok(0) };
    let (_, rest) = bytes.split_at_checked(length).ok_or(Malformed)?;
    *bytes = rest;
    Ok(length)
}

/// An assignment is of partitions that exist: far fewer than 2^31.
fn count(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}
