//! Records inside a batch of magic 2 (Kafka's `DefaultRecord`): reading them where they lie.
//!
//! ```text
//! length varint · attributes i8 · timestamp delta varlong · offset delta varint
//! · key length varint (-1 null), key · value length varint (-1 null), value
//! · header count varint · per header: key length varint, key · value length varint (-1 null), value
//! ```
//!
//! Nothing is copied or allocated. Every length is checked against the bytes that are there, so a count that the bytes
//! cannot hold ends the walk at once.

use super::batch::BatchHeader;
use super::cursor::{
    Cursor, CursorError, put_len, put_nullable, put_varint, put_varlong, varlong_len,
};
use crate::config::TimestampType;
use crate::types::{Offset, Timestamp};

#[cfg(test)]
mod tests;

/// One record, borrowed from its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// No bit is defined.
    pub attributes: i8,
    /// To be added to the batch's base timestamp.
    pub timestamp_delta: i64,
    /// To be added to the batch's base offset.
    pub offset_delta: i32,
    /// `None` is null.
    pub key: Option<&'a [u8]>,
    /// `None` is null: a tombstone in a compacted topic.
    pub value: Option<&'a [u8]>,
    /// Ordered; keys may repeat.
    pub headers: Headers<'a>,
}

/// Headers of a record; walked once already, so iterating cannot fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers<'a> {
    count: usize,
    bytes: &'a [u8],
}

/// What a record cannot be like; the texts are Kafka's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordDamage {
    /// The records end before their count does.
    #[error("Incorrect declared batch size, premature EOF reached")]
    Missing,
    /// Bytes follow the last record.
    #[error("Incorrect declared batch size, records still remaining in file")]
    Trailing,
    /// The batch says it holds fewer than no records.
    #[error("Found invalid record count {0} in magic v2 batch")]
    Count(i32),
    /// The length of a record is below zero.
    #[error("Invalid record size: {0} is negative.")]
    NegativeSize(i32),
    /// The length of a record points beyond the records.
    #[error(
        "Invalid record size: expected {size} bytes in record payload, but instead the buffer has only {remaining} remaining bytes."
    )]
    BeyondEnd {
        /// As declared.
        size: i32,
        /// Bytes left.
        remaining: usize,
    },
    /// The fields take fewer bytes than the length says.
    #[error(
        "Invalid record size: expected to read {size} bytes in record payload, but instead read {read}"
    )]
    Size {
        /// As declared.
        size: i32,
        /// Bytes of the fields.
        read: usize,
    },
    /// A field goes beyond the length of the record, or is no number.
    #[error("Found invalid record structure: {0}")]
    Field(#[from] CursorError),
    /// Fewer than no headers, or more than the bytes can hold.
    #[error("Found invalid number of record headers {0}")]
    HeaderCount(i32),
    /// Header keys are never null.
    #[error("Invalid negative header key size {0}")]
    HeaderKey(i32),
}

impl<'a> Record<'a> {
    /// Reads the record at the cursor.
    #[inline(always)]
    pub(super) fn read(from: &mut Cursor<'a>) -> Result<Self, RecordDamage> {
        if from.rest().is_empty() {
            return Err(RecordDamage::Missing);
        }
        let size = from.varint()?;
        let Ok(len) = usize::try_from(size) else {
            return Err(RecordDamage::NegativeSize(size));
        };
        let remaining = from.rest().len();
        let body = from.take(len).map_err(|_| RecordDamage::BeyondEnd { size, remaining })?;
        let mut body = Cursor::new(body);
        let record = Self {
            attributes: body.i8()?,
            timestamp_delta: body.varlong()?,
            offset_delta: body.varint()?,
            key: nullable(&mut body)?,
            value: nullable(&mut body)?,
            headers: Headers::read(&mut body)?,
        };
        match body.rest().len() {
            0 => Ok(record),
            rest => Err(RecordDamage::Size { size, read: len - rest }),
        }
    }

    /// Appends it, with its length in front.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        let lens = [self.key, self.value].map(|field| nullable_len(field));
        let len = 1
            + varlong_len(self.timestamp_delta)
            + varlong_len(self.offset_delta.into())
            + lens.iter().sum::<usize>()
            + varlong_len(self.headers.count as i64)
            + self.headers.bytes.len();
        put_len(to, len);
        to.push(self.attributes.cast_unsigned());
        put_varlong(to, self.timestamp_delta);
        put_varint(to, self.offset_delta);
        put_nullable(to, self.key);
        put_nullable(to, self.value);
        put_len(to, self.headers.count);
        to.extend_from_slice(self.headers.bytes);
    }

    /// Its offset in the partition.
    #[inline]
    pub fn offset(&self, batch: &BatchHeader) -> Offset {
        Offset::new(batch.base_offset.get().saturating_add(i64::from(self.offset_delta)))
    }

    /// Its timestamp: the batch's, if the broker set it. Wraps as Kafka's sum does.
    #[inline]
    pub fn timestamp(&self, batch: &BatchHeader) -> Timestamp {
        match batch.timestamp_type() {
            TimestampType::CreateTime => {
                Timestamp::new(batch.base_timestamp.get().wrapping_add(self.timestamp_delta))
            }
            TimestampType::LogAppendTime => batch.max_timestamp,
        }
    }
}

impl<'a> Headers<'a> {
    /// No headers.
    pub const NONE: Headers<'static> = Headers { count: 0, bytes: &[] };

    /// How many.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Key and value of each, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + Clone {
        let mut from = Cursor::new(self.bytes);
        (0..self.count).map_while(move |_| Self::read_one(&mut from).ok())
    }

    #[inline(always)]
    fn read(from: &mut Cursor<'a>) -> Result<Self, RecordDamage> {
        let count = from.varint()?;
        if count == 0 {
            return Ok(Self::NONE);
        }
        Self::read_some(from, count)
    }

    fn read_some(from: &mut Cursor<'a>, count: i32) -> Result<Self, RecordDamage> {
        let bytes = from.rest();
        // A header has two bytes or more.
        let possible = usize::try_from(count).ok().filter(|count| *count <= bytes.len() / 2);
        let count = possible.ok_or(RecordDamage::HeaderCount(count))?;
        for _ in 0..count {
            Self::read_one(from)?;
        }
        Ok(Self { count, bytes: &bytes[..bytes.len() - from.rest().len()] })
    }

    fn read_one(from: &mut Cursor<'a>) -> Result<(&'a [u8], Option<&'a [u8]>), RecordDamage> {
        let len = from.varint()?;
        let len = usize::try_from(len).map_err(|_| RecordDamage::HeaderKey(len))?;
        let key = from.take(len)?;
        Ok((key, nullable(from)?))
    }
}

/// Any negative length is null, as in Kafka.
#[inline(always)]
fn nullable<'a>(from: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, CursorError> {
    match usize::try_from(from.varint()?) {
        Ok(len) => from.take(len).map(Some),
        Err(_) => Ok(None),
    }
}

/// Bytes of a length and what it is the length of.
fn nullable_len(field: Option<&[u8]>) -> usize {
    field.map_or(1, |bytes| varlong_len(bytes.len() as i64) + bytes.len())
}

/// The records in uncompressed bytes, which they must fill exactly. Ends behind the first error.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    from: Cursor<'a>,
    left: i32,
    ended: bool,
}

impl<'a> Records<'a> {
    /// `count` records in `bytes`.
    pub fn new(bytes: &'a [u8], count: i32) -> Self {
        Self { from: Cursor::new(bytes), left: count, ended: false }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordDamage>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left > 0 && !self.ended {
            self.left -= 1;
            let record = Record::read(&mut self.from);
            self.ended = record.is_err();
            return Some(record);
        }
        end_of_records(&mut self.ended, self.left, self.from.rest()).map(Err)
    }
}

/// What is wrong behind the last record, said once.
pub(super) fn end_of_records(ended: &mut bool, left: i32, rest: &[u8]) -> Option<RecordDamage> {
    if std::mem::replace(ended, true) {
        return None;
    }
    if left < 0 {
        return Some(RecordDamage::Count(left));
    }
    (!rest.is_empty()).then_some(RecordDamage::Trailing)
}
