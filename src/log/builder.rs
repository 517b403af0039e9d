//! Builds batches of magic 2, for those who write records themselves: coordinators, the metadata journal, recompression,
//! the command line's producer, tests.

use std::io;

use super::batch::{
    BatchHeader, HEADER_LEN, LENGTH_PREFIX, MAGIC_V2, compute_crc, make_attributes, set_crc,
};
use super::compress::Compression;
use super::cursor::{put_len, put_nullable, put_varint, put_varlong};
use crate::config::{Codec, TimestampType};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

#[cfg(test)]
mod tests;

/// What a batch says beside its records. The default is what a client without idempotence sends, uncompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's message format")]
pub struct BatchTemplate {
    pub base_offset: Offset,
    pub partition_leader_epoch: LeaderEpoch,
    pub compression: Compression,
    pub timestamp_type: TimestampType,
    pub transactional: bool,
    pub control: bool,
    pub producer_id: ProducerId,
    pub producer_epoch: ProducerEpoch,
    pub base_sequence: i32,
}

impl Default for BatchTemplate {
    fn default() -> Self {
        Self {
            base_offset: Offset::ZERO,
            partition_leader_epoch: LeaderEpoch::NONE,
            compression: Compression::default_of(Codec::None),
            timestamp_type: TimestampType::CreateTime,
            transactional: false,
            control: false,
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            base_sequence: -1,
        }
    }
}

/// Key and value of a record header; `None` is null.
pub type HeaderField<'a> = (&'a [u8], Option<&'a [u8]>);

/// Collects records at consecutive offsets.
#[derive(Debug)]
pub struct BatchBuilder {
    template: BatchTemplate,
    /// Room for the header, then the records uncompressed.
    bytes: Vec<u8>,
    body: Vec<u8>,
    count: i32,
    base_timestamp: Timestamp,
    max_timestamp: Timestamp,
}

impl BatchBuilder {
    /// An empty batch.
    pub fn new(template: BatchTemplate) -> Self {
        Self {
            template,
            bytes: vec![0; HEADER_LEN],
            body: Vec::new(),
            count: 0,
            base_timestamp: Timestamp::NONE,
            max_timestamp: Timestamp::NONE,
        }
    }

    /// Adds a record without headers.
    pub fn append(&mut self, timestamp: Timestamp, key: Option<&[u8]>, value: Option<&[u8]>) {
        self.append_with_headers(timestamp, key, value, []);
    }

    /// Adds a record with headers, in the order given; keys may repeat.
    pub fn append_with_headers<'h, H>(
        &mut self,
        timestamp: Timestamp,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: H,
    ) where
        H: IntoIterator<Item = HeaderField<'h>, IntoIter: Clone>,
    {
        if self.count == 0 {
            self.base_timestamp = timestamp;
        }
        let body = &mut self.body;
        body.clear();
        body.push(0);
        put_varlong(body, timestamp.get().wrapping_sub(self.base_timestamp.get()));
        put_varint(body, self.count);
        put_nullable(body, key);
        put_nullable(body, value);
        let headers = headers.into_iter();
        put_len(body, headers.clone().count());
        for (key, value) in headers {
            put_nullable(body, Some(key));
            put_nullable(body, value);
        }
        put_len(&mut self.bytes, self.body.len());
        self.bytes.extend_from_slice(&self.body);
        self.count += 1;
        self.max_timestamp = self.max_timestamp.max(timestamp);
    }

    /// Number of records.
    pub fn count(&self) -> i32 {
        self.count
    }

    /// Bytes so far: what the batch will have if it is not compressed.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if there are no records; such a batch cannot be built.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The whole batch, checksum included. Fails only if compressing does, for want of memory.
    ///
    /// # Panics
    /// If there are no records, or 2 GiB of them.
    pub fn build(mut self) -> io::Result<Vec<u8>> {
        assert!(self.count > 0, "a batch has records");
        if self.template.compression.codec != Codec::None {
            let packed = self.template.compression.compress(&self.bytes[HEADER_LEN..])?;
            self.bytes.truncate(HEADER_LEN);
            self.bytes.extend_from_slice(&packed);
        }
        let mut header = [0; HEADER_LEN];
        self.header().write(&mut header);
        self.bytes[..HEADER_LEN].copy_from_slice(&header);
        let crc = compute_crc(&self.bytes);
        set_crc(&mut self.bytes, crc);
        Ok(self.bytes)
    }

    fn header(&self) -> BatchHeader {
        let length = self.bytes.len() - LENGTH_PREFIX;
        BatchHeader {
            base_offset: self.template.base_offset,
            batch_length: i32::try_from(length).expect("a batch is shorter than 2 GiB"),
            partition_leader_epoch: self.template.partition_leader_epoch,
            magic: MAGIC_V2,
            crc: 0,
            attributes: self.attributes(),
            last_offset_delta: self.count - 1,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            producer_id: self.template.producer_id,
            producer_epoch: self.template.producer_epoch,
            base_sequence: self.template.base_sequence,
            records_count: self.count,
        }
    }

    fn attributes(&self) -> i16 {
        let BatchTemplate { compression, timestamp_type, transactional, control, .. } =
            self.template;
        make_attributes(compression.codec, timestamp_type, transactional, control)
    }
}
