//! A checked cursor over a frame.

use std::str;

use crate::types::Uuid;

/// Why bytes from a peer are refused. Kafka closes the connection in each of these cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A field goes beyond the end.
    #[error("the request ends inside the field at byte {at}")]
    Truncated {
        /// Where the field begins.
        at: usize,
    },
    /// A count that the remaining bytes cannot hold.
    #[error("an array of {count} elements at byte {at} with {remaining} bytes left")]
    Count {
        /// Elements claimed.
        count: usize,
        /// Where the count is.
        at: usize,
        /// Bytes behind the count.
        remaining: usize,
    },
    /// More array elements than one request may have.
    #[error("more than {limit} array elements in one request")]
    TooManyElements {
        /// The most there may be.
        limit: usize,
    },
    /// A negative length or count other than the null marker.
    #[error("the length {length} at byte {at}")]
    NegativeLength {
        /// As on the wire.
        length: i32,
        /// Where it is.
        at: usize,
    },
    /// A string longer than Kafka accepts in any version.
    #[error("a string of {len} bytes at byte {at}")]
    TextTooLong {
        /// Its length.
        len: usize,
        /// Where it is.
        at: usize,
    },
    /// A varint of more than 32 bits.
    #[error("a varint of more than 32 bits at byte {at}")]
    Varint {
        /// Where it is.
        at: usize,
    },
    /// Null where there must be a value.
    #[error("null at byte {at}")]
    Null {
        /// Where it is.
        at: usize,
    },
    /// A string that is not UTF-8.
    #[error("a string that is not UTF-8 at byte {at}")]
    Utf8 {
        /// Where it is.
        at: usize,
    },
}

/// The longest string of any version: what a classic length can say, and what Kafka accepts where the length is compact.
pub const TEXT_BYTES_MAX: usize = i16::MAX as usize;

/// A cursor that never reads beyond its bytes and never allocates.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    flexible: bool,
}

impl<'a> Reader<'a> {
    /// Begins at the first of `bytes`; `flexible` versions have compact lengths and tags.
    pub fn new(bytes: &'a [u8], flexible: bool) -> Self {
        Self { bytes, at: 0, flexible }
    }

    /// Begins at position `at`, which is within `bytes`.
    pub fn at(bytes: &'a [u8], at: usize, flexible: bool) -> Self {
        assert!(at <= bytes.len(), "a reader begins within its bytes");
        Self { bytes, at, flexible }
    }

    /// Position of the next byte.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// True where lengths are compact.
    pub fn is_flexible(&self) -> bool {
        self.flexible
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// A 16-bit integer.
    pub fn int16(&mut self) -> Result<i16, Malformed> {
        self.array().map(i16::from_be_bytes)
    }

    /// A 32-bit integer.
    pub fn int32(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    /// A 64-bit integer.
    pub fn int64(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_be_bytes)
    }

    /// An id.
    pub fn uuid(&mut self) -> Result<Uuid, Malformed> {
        self.array().map(Uuid::from_bytes)
    }

    /// A string that may be null.
    pub fn nullable_text(&mut self) -> Result<Option<&'a str>, Malformed> {
        let at = self.at;
        let Some(len) = self.text_len()? else { return Ok(None) };
        let text = str::from_utf8(self.take(len)?).map_err(|_| Malformed::Utf8 { at })?;
        Ok(Some(text))
    }

    /// A string.
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        let at = self.at;
        self.nullable_text()?.ok_or(Malformed::Null { at })
    }

    /// Length of a string in bytes, 32,767 at most as in Kafka; `None` for null.
    pub fn text_len(&mut self) -> Result<Option<usize>, Malformed> {
        let at = self.at;
        if self.flexible {
            return match self.len()? {
                Some(len) if len > TEXT_BYTES_MAX => Err(Malformed::TextTooLong { len, at }),
                len => Ok(len),
            };
        }
        let length = self.int16()?;
        length_or_null(length.into(), at)
    }

    /// Bytes or records; `None` for null.
    pub fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.len()? {
            Some(len) => self.take(len).map(Some),
            None => Ok(None),
        }
    }

    /// Length of bytes or number of elements; `None` for null. Not yet compared with what remains.
    pub fn len(&mut self) -> Result<Option<usize>, Malformed> {
        if self.flexible {
            return Ok((self.varint()? as usize).checked_sub(1));
        }
        let at = self.at;
        let length = self.int32()?;
        length_or_null(length, at)
    }

    /// The number of elements of an array, 0 for null, refused if the remaining bytes cannot hold so many elements of at
    /// least `least` bytes.
    pub fn elements(&mut self, least: usize) -> Result<usize, Malformed> {
        let at = self.at;
        let count = self.len()?.unwrap_or(0);
        self.fits(count, least, at)
    }

    /// As [`Reader::elements`], for an array that may not be null.
    pub fn elements_not_null(&mut self, least: usize) -> Result<usize, Malformed> {
        let at = self.at;
        let count = self.len()?.ok_or(Malformed::Null { at })?;
        self.fits(count, least, at)
    }

    /// The number of tags, refused if the remaining bytes cannot hold them. 0 where the version has none.
    pub fn tag_count(&mut self) -> Result<usize, Malformed> {
        if !self.flexible {
            return Ok(0);
        }
        let at = self.at;
        let count = self.varint()? as usize;
        // A tag is a number and a size: two bytes at least.
        self.fits(count, 2, at)
    }

    /// Skips one tag.
    pub fn skip_tag(&mut self) -> Result<(), Malformed> {
        self.varint()?;
        let size = self.varint()? as usize;
        self.take(size).map(|_| ())
    }

    /// Skips the tags that end a struct of a flexible version.
    pub fn skip_tags(&mut self) -> Result<(), Malformed> {
        let count = self.tag_count()?;
        (0..count).try_for_each(|_| self.skip_tag())
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..len).ok_or(Malformed::Truncated { at: self.at })?;
        self.at += len;
        Ok(taken)
    }

    /// An unsigned varint of at most 32 bits.
    fn varint(&mut self) -> Result<u32, Malformed> {
        let at = self.at;
        let mut value = 0_u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| Malformed::Varint { at });
            }
        }
        Err(Malformed::Varint { at })
    }

    fn fits(&self, count: usize, least: usize, at: usize) -> Result<usize, Malformed> {
        let remaining = self.remaining();
        match count.checked_mul(least.max(1)) {
            Some(bytes) if bytes <= remaining => Ok(count),
            _ => Err(Malformed::Count { count, at, remaining }),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let array =
            *self.bytes[self.at..].first_chunk().ok_or(Malformed::Truncated { at: self.at })?;
        self.at += N;
        Ok(array)
    }
}

fn length_or_null(length: i32, at: usize) -> Result<Option<usize>, Malformed> {
    match length {
        -1 => Ok(None),
        _ => {
            usize::try_from(length).map(Some).map_err(|_| Malformed::NegativeLength { length, at })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classic_and_compact_lengths_know_null_and_empty() {
        let classic = [0xff, 0xff, 0, 0, 0, 1, b'a', 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        let mut reader = Reader::new(&classic, false);
        assert_eq!(reader.nullable_text(), Ok(None));
        assert_eq!(reader.text(), Ok(""));
        assert_eq!(reader.text(), Ok("a"));
        assert_eq!(reader.nullable_bytes(), Ok(None));
        assert_eq!(reader.nullable_bytes(), Ok(Some(&[][..])));
        assert_eq!(reader.remaining(), 0);

        let compact = [0, 1, 2, b'a', 0, 1];
        let mut reader = Reader::new(&compact, true);
        assert_eq!(reader.nullable_text(), Ok(None));
        assert_eq!(reader.text(), Ok(""));
        assert_eq!(reader.text(), Ok("a"));
        assert_eq!(reader.nullable_bytes(), Ok(None));
        assert_eq!(reader.nullable_bytes(), Ok(Some(&[][..])));
    }

    #[test]
    fn a_compact_string_is_no_longer_than_a_classic_one() {
        let with_length = |len: usize| {
            // The length plus one, in three groups of seven bits.
            let varint = [len as u8 | 0x80, (len >> 7) as u8 | 0x80, (len >> 14) as u8];
            [&varint[..], &vec![b'a'; len - 1]].concat()
        };
        assert!(Reader::new(&with_length(TEXT_BYTES_MAX + 1), true).text().is_ok());
        let error = Malformed::TextTooLong { len: TEXT_BYTES_MAX + 1, at: 0 };
        let too_long = with_length(TEXT_BYTES_MAX + 2);
        assert_eq!(Reader::new(&too_long, true).text(), Err(error));
    }

    #[test]
    fn counts_beyond_the_remaining_bytes_are_refused() {
        let body = [0x7f, 0xff, 0xff, 0xff];
        let error = Malformed::Count { count: 0x7fff_ffff, at: 0, remaining: 0 };
        assert_eq!(Reader::new(&body, false).elements(1), Err(error));
        let body = [0xff, 0xff, 0xff, 0xff, 0x0f];
        let error = Malformed::Count { count: 0xffff_fffe, at: 0, remaining: 0 };
        assert_eq!(Reader::new(&body, true).elements(1), Err(error));
        let two_of_three_bytes = [3, 0, 0, 0, 0, 0];
        assert!(Reader::new(&two_of_three_bytes, true).elements(3).is_err());
        assert_eq!(Reader::new(&two_of_three_bytes, true).elements(2), Ok(2));
    }

    #[test]
    fn varints_longer_than_32_bits_and_negative_lengths_are_refused() {
        let too_long = [0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Reader::new(&too_long, true).len(), Err(Malformed::Varint { at: 0 }));
        let too_large = [0xff, 0xff, 0xff, 0xff, 0x1f];
        assert_eq!(Reader::new(&too_large, true).len(), Err(Malformed::Varint { at: 0 }));
        let negative = [0xff, 0xff, 0xff, 0xfe];
        let error = Malformed::NegativeLength { length: -2, at: 0 };
        assert_eq!(Reader::new(&negative, false).len(), Err(error));
    }
}
