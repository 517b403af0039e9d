//! Message sets of magic 0 and 1, as old Kafka wrote them (`LegacyRecord`, `AbstractLegacyRecordBatch`). They are read from
//! disk and served as they are; nothing writes them.
//!
//! ```text
//! offset i64 · size i32 · CRC-32 u32 of what follows it · magic i8 · attributes i8 · [timestamp i64, magic 1]
//! · key size i32 (-1 null), key · value size i32 (-1 null), value
//! ```
//!
//! A compressed wrapper is such a message whose value holds others, compressed as one. Its offset is that of the last of them.
//! Inside, magic 0 stores offsets as they are, magic 1 relative to the first; both follow from the wrapper's.

use super::batch::codec_of;
use super::compress::{DecompressError, Decompressor, HeaderChecksum};
use super::cursor::{Cursor, CursorError};
use super::scan::StoredBatch;
use crate::config::{Codec, TimestampType};
use crate::types::{Offset, Timestamp};

#[cfg(test)]
mod tests;

const LOG_APPEND_TIME: i8 = 0x08;

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegacyRecord<'a> {
    /// Its offset in the partition.
    pub offset: Offset,
    /// −1 for magic 0.
    pub timestamp: Timestamp,
    /// `None` is null.
    pub key: Option<&'a [u8]>,
    /// `None` is null.
    pub value: Option<&'a [u8]>,
}

/// Why a message, or what is wrapped in it, cannot be read; the texts are Kafka's where it has one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LegacyDamage {
    /// Batches of magic 2 are no legacy messages.
    #[error("Invalid magic used in LegacyRecord: {0}")]
    Magic(i8),
    /// A length points beyond the message.
    #[error("Record is corrupt: {0}")]
    Field(#[from] CursorError),
    /// Codecs 4 to 7 came later or never.
    #[error("Unknown compression type id: {0}")]
    Codec(u8),
    /// The wrapped messages cannot be decompressed.
    #[error(transparent)]
    Decompress(#[from] DecompressError),
    /// A wrapper wraps nothing.
    #[error("Found invalid compressed record set with null value (magic = {0})")]
    NullValue(i8),
    /// A wrapper wraps nothing.
    #[error("Found invalid compressed record set with no inner records")]
    Empty,
    /// Wrappers hold messages of their own magic.
    #[error("Compressed message magic {inner} does not match wrapper magic {wrapper}")]
    InnerMagic {
        /// Of a wrapped message.
        inner: i8,
        /// Of the wrapper.
        wrapper: i8,
    },
    /// Wrappers do not nest.
    #[error("Inner messages must not be compressed")]
    Nested,
    /// Relative offsets that lead below zero.
    #[error(
        "Found invalid wrapper offset in compressed v1 message set, wrapper offset '{wrapper}' is less than the last inner message offset '{inner}' and it is not zero."
    )]
    WrapperOffset {
        /// Of the wrapper.
        wrapper: i64,
        /// Of its last message.
        inner: i64,
    },
}

/// The messages that one stored message stands for: itself, or those wrapped in it. All were looked at once already, so
/// iterating cannot fail.
#[derive(Clone, Debug)]
pub struct LegacyMessages<'a> {
    single: Option<LegacyRecord<'a>>,
    wrapped: Vec<u8>,
    base: i64,
    timestamp_type: TimestampType,
    /// Stands for the timestamp of each, if the broker set it.
    append_time: Option<Timestamp>,
}

impl<'a> LegacyMessages<'a> {
    /// Reads a stored message of magic 0 or 1; wrapped ones are decompressed to at most `decompressed_bytes_max`. Does not
    /// verify its checksum.
    pub fn read(
        batch: &StoredBatch<'a>,
        decompressed_bytes_max: usize,
    ) -> Result<Self, LegacyDamage> {
        let magic = batch.magic();
        if !matches!(magic, 0 | 1) {
            return Err(LegacyDamage::Magic(magic));
        }
        let (offset, message) = next_message(&mut Cursor::new(batch.bytes()))?;
        let outer = Message::parse(message)?;
        match outer.codec()? {
            Codec::None => Ok(Self::of_one(&outer, offset)),
            codec => Self::unwrap(offset, &outer, codec, decompressed_bytes_max),
        }
    }

    /// In offset order.
    pub fn iter(&self) -> impl Iterator<Item = LegacyRecord<'_>> {
        let mut from = Cursor::new(&self.wrapped);
        let wrapped = std::iter::from_fn(move || {
            let (offset, message) = next_message(&mut from).ok()?;
            let record = Message::parse(message).ok()?.record(self.base.saturating_add(offset));
            Some(LegacyRecord { timestamp: self.append_time.unwrap_or(record.timestamp), ..record })
        });
        self.single.into_iter().chain(wrapped)
    }

    /// Offset of the first.
    pub fn base_offset(&self) -> Offset {
        self.iter().next().map_or(Offset::NONE, |record| record.offset)
    }

    /// Whose clock the timestamps show; the producer's for magic 0, which has none.
    pub fn timestamp_type(&self) -> TimestampType {
        self.timestamp_type
    }

    fn of_one(message: &Message<'a>, offset: i64) -> Self {
        Self {
            single: Some(message.record(offset)),
            wrapped: Vec::new(),
            base: 0,
            timestamp_type: message.timestamp_type(),
            append_time: None,
        }
    }

    fn unwrap(
        wrapper_offset: i64,
        outer: &Message<'_>,
        codec: Codec,
        limit: usize,
    ) -> Result<Self, LegacyDamage> {
        let value = outer.value.ok_or(LegacyDamage::NullValue(outer.magic))?;
        let stream = match (codec, outer.magic) {
            (Codec::Lz4, 0) => Decompressor::lz4(value, HeaderChecksum::RightOrWithMagic)?,
            _ => Decompressor::new(codec, value)?,
        };
        let wrapped = stream.read_all(limit)?;
        let last = last_wrapped_offset(&wrapped, outer.magic)?;
        let timestamp_type = outer.timestamp_type();
        let append_time =
            (timestamp_type == TimestampType::LogAppendTime).then_some(outer.timestamp);
        let base = if outer.magic == 0 { 0 } else { base_of(wrapper_offset, last)? };
        Ok(Self { single: None, wrapped, base, timestamp_type, append_time })
    }
}

/// What the relative offsets of magic 1 are relative to. Old librdkafka sent wrappers with offset 0.
fn base_of(wrapper: i64, last_inner: i64) -> Result<i64, LegacyDamage> {
    if wrapper == 0 {
        return Ok(0);
    }
    let base = wrapper.checked_sub(last_inner).filter(|base| *base >= 0);
    base.ok_or(LegacyDamage::WrapperOffset { wrapper, inner: last_inner })
}

/// Looks at every wrapped message; the offset field of the last. A cut one at the end is left out, as in Kafka.
fn last_wrapped_offset(wrapped: &[u8], magic: i8) -> Result<i64, LegacyDamage> {
    let mut from = Cursor::new(wrapped);
    let mut last = None;
    while let Ok((offset, message)) = next_message(&mut from) {
        let inner = Message::parse(message)?;
        if inner.magic != magic {
            return Err(LegacyDamage::InnerMagic { inner: inner.magic, wrapper: magic });
        }
        if inner.codec()? != Codec::None {
            return Err(LegacyDamage::Nested);
        }
        last = Some(offset);
    }
    last.ok_or(LegacyDamage::Empty)
}

/// Offset field and bytes, from the checksum on, of the message at the cursor.
fn next_message<'a>(from: &mut Cursor<'a>) -> Result<(i64, &'a [u8]), CursorError> {
    let offset = from.i64()?;
    let size = usize::try_from(from.i32()?).map_err(|_| CursorError::Short)?;
    Ok((offset, from.take(size)?))
}

struct Message<'a> {
    magic: i8,
    attributes: i8,
    timestamp: Timestamp,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
}

impl<'a> Message<'a> {
    fn parse(message: &'a [u8]) -> Result<Self, LegacyDamage> {
        let mut from = Cursor::new(message);
        from.take(4)?; // checksum
        let magic = from.i8()?;
        if !matches!(magic, 0 | 1) {
            return Err(LegacyDamage::Magic(magic));
        }
        let attributes = from.i8()?;
        let timestamp = if magic == 0 { Timestamp::NONE } else { Timestamp::new(from.i64()?) };
        Ok(Self {
            magic,
            attributes,
            timestamp,
            key: nullable(&mut from)?,
            value: nullable(&mut from)?,
        })
    }

    fn codec(&self) -> Result<Codec, LegacyDamage> {
        match codec_of(i16::from(self.attributes)) {
            Ok(Codec::Zstd) => Err(LegacyDamage::Codec(4)),
            Ok(codec) => Ok(codec),
            Err(unknown) => Err(LegacyDamage::Codec(unknown.0)),
        }
    }

    fn timestamp_type(&self) -> TimestampType {
        if self.magic == 1 && self.attributes & LOG_APPEND_TIME != 0 {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        }
    }

    fn record(&self, offset: i64) -> LegacyRecord<'a> {
        LegacyRecord {
            offset: Offset::new(offset),
            timestamp: self.timestamp,
            key: self.key,
            value: self.value,
        }
    }
}

/// Any negative size is null, as in Kafka.
fn nullable<'a>(from: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, CursorError> {
    match usize::try_from(from.i32()?) {
        Ok(len) => from.take(len).map(Some),
        Err(_) => Ok(None),
    }
}
