//! Just enough of the protocol to load a broker: frames, topics, pre-encoded produce requests, fetches.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{
    CreateTopicsRequest, CreateTopicsResponse, FetchRequest, FetchResponse, ListOffsetsRequest,
    ListOffsetsResponse, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

const PRODUCE: (i16, i16) = (0, 9);
const FETCH: (i16, i16) = (1, 12);
const LIST_OFFSETS: (i16, i16) = (2, 6);
const CREATE_TOPICS: (i16, i16) = (19, 5);
const ACKS_ALL: i16 = -1;
const TIMEOUT_MS: i32 = 30_000;

pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    answer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::with_capacity(1 << 16, stream), answer: Vec::new() })
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        let stream = self.stream.get_ref().try_clone()?;
        Ok(Self { stream: BufReader::with_capacity(1 << 16, stream), answer: Vec::new() })
    }

    pub(crate) fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(frame)
    }

    /// One response without its length.
    pub(crate) fn receive(&mut self) -> io::Result<&[u8]> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        self.answer.resize(u32::from_be_bytes(length) as usize, 0);
        self.stream.read_exact(&mut self.answer)?;
        Ok(&self.answer)
    }

    /// Sends a request of a flexible version and decodes its answer.
    pub(crate) fn ask<R: Decodable>(
        &mut self,
        api: (i16, i16),
        body: &impl Encodable,
    ) -> io::Result<R> {
        self.send(&request(api, body)?)?;
        // Correlation id and the tag section of a flexible header.
        let mut answer = Bytes::copy_from_slice(&self.receive()?[5..]);
        R::decode(&mut answer, api.1).map_err(io::Error::other)
    }

    pub(crate) fn create_topic(&mut self, topic: &str, partitions: i32) -> io::Result<()> {
        let new = CreatableTopic::default()
            .with_name(name(topic))
            .with_num_partitions(partitions)
            .with_replication_factor(1);
        let request =
            CreateTopicsRequest::default().with_topics(vec![new]).with_timeout_ms(TIMEOUT_MS);
        let response: CreateTopicsResponse = self.ask(CREATE_TOPICS, &request)?;
        let code = response.topics.first().map_or(-1, |topic| topic.error_code);
        if code == 0 {
            Ok(())
        } else {
            Err(io::Error::other(format!("CreateTopics: error {code}")))
        }
    }

    /// Records in the topic, by the ends of its partitions.
    pub(crate) fn records_in(&mut self, topic: &str, partitions: i32) -> io::Result<u64> {
        let latest = |p| ListOffsetsPartition::default().with_partition_index(p).with_timestamp(-1);
        let asked = ListOffsetsTopic::default()
            .with_name(name(topic))
            .with_partitions((0..partitions).map(latest).collect());
        let request =
            ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![asked]);
        let response: ListOffsetsResponse = self.ask(LIST_OFFSETS, &request)?;
        let ends = response
            .topics
            .iter()
            .flat_map(|t| &t.partitions)
            .map(|p| p.offset.max(0).unsigned_abs());
        Ok(ends.sum())
    }

    /// Fetches from one partition; the bytes of records and the offset to go on from.
    pub(crate) fn fetch(
        &mut self,
        topic: &str,
        partition: i32,
        offset: i64,
    ) -> io::Result<(usize, i64)> {
        let wanted = FetchPartition::default()
            .with_partition(partition)
            .with_fetch_offset(offset)
            .with_partition_max_bytes(8 << 20);
        let asked = FetchTopic::default().with_topic(name(topic)).with_partitions(vec![wanted]);
        let request = FetchRequest::default()
            .with_max_wait_ms(500)
            .with_min_bytes(1)
            .with_max_bytes(64 << 20)
            .with_topics(vec![asked]);
        let response: FetchResponse = self.ask(FETCH, &request)?;
        let answered = response.responses.first().and_then(|t| t.partitions.first());
        let answered =
            answered.ok_or_else(|| io::Error::other("Fetch: no partition in the answer"))?;
        if answered.error_code != 0 {
            return Err(io::Error::other(format!("Fetch: error {}", answered.error_code)));
        }
        let records = answered.records.clone().unwrap_or_default();
        Ok((records.len(), next_offset(&records).unwrap_or(offset)))
    }
}

/// The frame of a request of a flexible version.
pub(crate) fn request(api: (i16, i16), body: &impl Encodable) -> io::Result<Vec<u8>> {
    let mut encoded = BytesMut::new();
    body.encode(&mut encoded, api.1).map_err(io::Error::other)?;
    Ok(frame(api, &encoded))
}

pub(crate) fn name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}

/// Length, header of version 2 with a fixed correlation id and client id, body.
fn frame(api: (i16, i16), body: &[u8]) -> Vec<u8> {
    let client = b"load";
    let mut frame = Vec::with_capacity(body.len() + 32);
    frame.put_u32((2 + 2 + 4 + 2 + client.len() + 1 + body.len()) as u32);
    frame.put_i16(api.0);
    frame.put_i16(api.1);
    frame.put_i32(1);
    frame.put_i16(client.len() as i16);
    frame.put_slice(client);
    frame.put_u8(0);
    frame.put_slice(body);
    frame
}

/// A produce request with one batch of `records` values of `size` bytes for each of `partitions`.
pub(crate) fn produce_request(
    topic: &str,
    partitions: &[i32],
    records: usize,
    size: usize,
) -> Vec<u8> {
    produce_as(&Writer::NOBODY, PRODUCE, topic, partitions, records, size)
}

/// Who produces.
pub(crate) struct Writer<'a> {
    pub(crate) transactional_id: Option<&'a str>,
    pub(crate) id: i64,
    pub(crate) epoch: i16,
    /// Of the first record in each partition.
    pub(crate) sequence: i32,
}

impl Writer<'_> {
    /// A producer that is not idempotent.
    const NOBODY: Self = Self { transactional_id: None, id: -1, epoch: -1, sequence: -1 };
}

/// As [`produce_request`], by `writer` and in that version of Produce, 9 to 12.
pub(crate) fn produce_as(
    writer: &Writer<'_>,
    api: (i16, i16),
    topic: &str,
    partitions: &[i32],
    records: usize,
    size: usize,
) -> Vec<u8> {
    let batch = batch(writer, records, size);
    let mut body = Vec::new();
    match writer.transactional_id {
        None => body.put_u8(0),
        Some(id) => {
            put_length(&mut body, id.len());
            body.put_slice(id.as_bytes());
        }
    }
    body.put_i16(ACKS_ALL);
    body.put_i32(TIMEOUT_MS);
    put_length(&mut body, 1);
    put_length(&mut body, topic.len());
    body.put_slice(topic.as_bytes());
    put_length(&mut body, partitions.len());
    for partition in partitions {
        body.put_i32(*partition);
        put_length(&mut body, batch.len());
        body.put_slice(&batch);
        body.put_u8(0);
    }
    body.put_slice(&[0, 0]);
    frame(api, &body)
}

/// Error code of the first partition in the answer to [`produce_request`].
pub(crate) fn produce_error(answer: &[u8], topic: &str) -> i16 {
    // Correlation id, tags, topics, name with its length, partitions, index.
    let at = 4 + 1 + 1 + 1 + topic.len() + 1 + 4;
    answer.get(at..at + 2).map_or(-1, |code| i16::from_be_bytes([code[0], code[1]]))
}

/// Compact lengths are one more than what they count.
fn put_length(out: &mut Vec<u8>, length: usize) {
    put_unsigned(out, length as u64 + 1);
}

fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, ((value << 1) ^ (value >> 63)).unsigned_abs());
}

/// A magic-2 batch without key and headers, uncompressed, created "now".
fn batch(writer: &Writer<'_>, records: usize, size: usize) -> Vec<u8> {
    const TRANSACTIONAL: i16 = 0x10;
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("a clock after 1970");
    let mut after_checksum = Vec::new();
    after_checksum.put_i16(if writer.transactional_id.is_some() { TRANSACTIONAL } else { 0 });
    after_checksum.put_i32(records as i32 - 1);
    after_checksum.put_i64(now.as_millis() as i64);
    after_checksum.put_i64(now.as_millis() as i64);
    after_checksum.put_i64(writer.id);
    after_checksum.put_i16(writer.epoch);
    after_checksum.put_i32(writer.sequence);
    after_checksum.put_i32(records as i32);
    let value: Vec<u8> =
        (0..size).map(|i| (i as u64).wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
    for index in 0..records {
        let mut record = vec![0, 0]; // attributes, timestamp delta
        put_signed(&mut record, index as i64);
        put_signed(&mut record, -1);
        put_signed(&mut record, size as i64);
        record.extend_from_slice(&value);
        record.push(0);
        put_signed(&mut after_checksum, record.len() as i64);
        after_checksum.extend_from_slice(&record);
    }
    let mut batch = Vec::with_capacity(after_checksum.len() + 21);
    batch.put_i64(0);
    batch.put_i32(4 + 1 + 4 + after_checksum.len() as i32);
    batch.put_i32(-1);
    batch.put_u8(2);
    batch.put_u32(crc32c::crc32c(&after_checksum));
    batch.put_slice(&after_checksum);
    batch
}

/// The offset after the last whole batch of a fetch answer.
fn next_offset(records: &[u8]) -> Option<i64> {
    let mut rest = records;
    let mut next = None;
    while let Some(header) = rest.get(..27) {
        let base = i64::from_be_bytes(header[..8].try_into().ok()?);
        let length = 12 + u32::from_be_bytes(header[8..12].try_into().ok()?) as usize;
        let last = i32::from_be_bytes(header[23..27].try_into().ok()?);
        // The last batch of an answer may be cut.
        let Some(after) = rest.get(length..) else { break };
        rest = after;
        next = Some(base + i64::from(last) + 1);
    }
    next
}
