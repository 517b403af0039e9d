//! From bytes to messages and back: the generated codec behind the guard, hand-written ones on the hot paths.

mod arrays;
mod convert;
pub mod fetch;
pub mod lift;
pub mod offsets;
pub mod produce;
pub mod txn_markers;
pub mod txn_offsets;

pub use convert::{broker, brokers, names, optional_text, topic_name};

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::protocol::{Decodable, Encodable, Message, StrBytes};

use self::lift::Element;
use super::handler::{Disconnect, Outcome, Request, Response};
use super::wire::{Malformed, Writer};
use crate::types::{BrokerId, LeaderEpoch, TopicId, Uuid};

/// Decodes the body of `request` with the generated decoder. The connection has checked the body with the guard before the
/// handler was called. Strings and bytes of the message are slices that keep the whole frame alive: copy what is kept.
pub fn decode<M: Decodable>(request: &Request) -> Result<M, Disconnect> {
    decode_body(request.body.clone(), request.version)
}

/// As [`decode`], for a body that is at hand.
pub fn decode_body<M: Decodable>(mut body: Bytes, version: i16) -> Result<M, Disconnect> {
    M::decode(&mut body, version).map_err(|error| Disconnect(format!("malformed body: {error:#}")))
}

/// Encodes `message` into one buffer of exactly its size. An error means that the handler set a field that `version` does not
/// have: a fault of ours, answered by closing the connection.
pub fn encode<M: Encodable>(message: &M, version: i16) -> Result<Response, Disconnect> {
    let unencodable = |error| unencodable::<M>(version, &error);
    let mut buffer = BytesMut::with_capacity(message.compute_size(version).map_err(unencodable)?);
    message.encode(&mut buffer, version).map_err(unencodable)?;
    Ok(Response::from(buffer))
}

/// Encodes a response of a throttle time of zero and one list, element by element, so that memory holds the answer once and in
/// its encoded form. `element` makes the next one and is told how many bytes there are so far.
pub fn encode_list<E: Element>(
    version: i16,
    flexible_from: i16,
    len: usize,
    mut element: impl FnMut(usize, usize) -> E,
) -> Result<Response, Disconnect> {
    let flexible = version >= flexible_from;
    let mut head = Writer::new(16, flexible);
    head.int32(0);
    head.len(Some(len));
    let mut buffer = head.into_inner();
    for number in 0..len {
        let next = element(number, buffer.len());
        next.put(&mut buffer, version)?;
    }
    if flexible {
        buffer.put_u8(0);
    }
    Ok(Response::from(buffer))
}

/// Where the list of a message ends in its encoded form.
#[derive(Clone, Copy, Debug)]
pub struct LongList {
    /// Version of the API.
    pub version: i16,
    /// First version with compact lengths and tags.
    pub flexible_from: i16,
    /// Bytes behind the list, tags included.
    pub behind: usize,
}

/// Encodes a message whose list is long: `around` has everything but the list, of which one element at a time is made and
/// encoded. The buffer begins with room for `capacity` bytes. What is around the list has no fields that are newer than the
/// generated codec.
pub fn encode_around<M: Encodable + Message, E: Element>(
    around: &M,
    list: LongList,
    capacity: usize,
    elements: impl ExactSizeIterator<Item = E>,
) -> Result<Response, Disconnect> {
    let LongList { version, flexible_from, behind } = list;
    let flexible = version >= flexible_from;
    let mut frame = BytesMut::new();
    around.put(&mut frame, lift::generated::<M>(version))?;
    let end = frame.split_off(frame.len() - behind);
    // The length of the empty list.
    frame.truncate(frame.len() - if flexible { 1 } else { 4 });
    let mut writer = Writer::new(capacity.max(frame.len()), flexible);
    writer.raw(&frame);
    writer.len(Some(elements.len()));
    let mut buffer = writer.into_inner();
    for element in elements {
        element.put(&mut buffer, version)?;
    }
    buffer.extend_from_slice(&end);
    Ok(Response::from(buffer))
}

/// [`encode`] as the outcome of a handler whose answer is ready.
pub fn reply<M: Encodable>(message: &M, version: i16) -> Outcome {
    encode(message, version).into()
}

/// A protocol string with a copy of `text`.
pub fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// An id as the generated messages have it.
pub fn id_to_wire(id: Uuid) -> uuid::Uuid {
    uuid::Uuid::from_bytes(id.to_bytes())
}

/// An id of a generated message.
pub fn id_from_wire(id: uuid::Uuid) -> Uuid {
    Uuid::from_bytes(id.into_bytes())
}

/// How a request names a topic: by name, or since its latest versions by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopicKey<'a> {
    /// By name.
    Name(&'a str),
    /// By id.
    Id(TopicId),
}

impl TopicKey<'_> {
    fn write(self, writer: &mut Writer) {
        match self {
            Self::Name(name) => writer.text(Some(name)),
            Self::Id(id) => writer.uuid(id),
        }
    }
}

/// The leader of a partition, as NOT_LEADER_OR_FOLLOWER names it (KIP-951).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderIdAndEpoch {
    /// Its node id.
    pub id: BrokerId,
    /// Its epoch.
    pub epoch: LeaderEpoch,
}

impl LeaderIdAndEpoch {
    fn write_tag(self, writer: &mut Writer, number: u32) {
        const BYTES: u32 = 4 + 4 + 1;
        writer.tag(number, BYTES);
        writer.int32(self.id.get());
        writer.int32(self.epoch.get());
        writer.tag_count(0);
    }
}

/// How far a response with topics and partitions is written: tells where a struct ends, and holds the caller to the counts
/// that it announced, without which the client could not read on.
#[derive(Debug)]
struct Progress {
    topics_left: usize,
    partitions_left: usize,
}

impl Progress {
    fn new(topics: usize) -> Self {
        Self { topics_left: topics, partitions_left: 0 }
    }

    /// Begins a topic; true if it ends at once.
    fn topic(&mut self, partitions: usize) -> bool {
        assert!(self.topics_left > 0 && self.partitions_left == 0, "a topic out of turn");
        self.topics_left -= 1;
        self.partitions_left = partitions;
        partitions == 0
    }

    /// Counts a partition; true if its topic ends with it.
    fn partition(&mut self) -> bool {
        assert!(self.partitions_left > 0, "more partitions than announced");
        self.partitions_left -= 1;
        self.partitions_left == 0
    }

    fn finish(&self) {
        assert!(self.topics_left == 0 && self.partitions_left == 0, "fewer than announced");
    }
}

fn malformed(malformed: Malformed) -> Disconnect {
    Disconnect(format!("malformed body: {malformed}"))
}

fn unencodable<M>(version: i16, error: &dyn std::fmt::Display) -> Disconnect {
    Disconnect(format!("{} v{version} cannot be encoded: {error:#}", type_name::<M>()))
}

fn type_name<M>() -> &'static str {
    let name = std::any::type_name::<M>();
    name.rsplit("::").next().unwrap_or(name)
}
