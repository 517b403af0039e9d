//! The walk along a request body.

use super::schema::{Field, Kind};

/// Most array elements and tags in one request. A decoded element takes up to a few hundred bytes, so this also bounds what
/// decoding one request may take. A request over 100,000 partitions stays below it.
pub const ELEMENTS_MAX: usize = 262_144;

/// Why a body is refused. Kafka closes the connection in each of these cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A field goes beyond the end.
    #[error("the body ends inside a field at byte {at}")]
    Truncated {
        /// Where in the body the field begins.
        at: usize,
    },
    /// A count that the remaining bytes cannot hold.
    #[error("an array of {count} elements at byte {at} with {remaining} bytes left")]
    Count {
        /// Elements claimed.
        count: usize,
        /// Where in the body the count is.
        at: usize,
        /// Bytes behind the count.
        remaining: usize,
    },
    /// More than [`ELEMENTS_MAX`].
    #[error("more than {ELEMENTS_MAX} array elements in one request")]
    TooManyElements,
    /// A negative length or count other than the null marker.
    #[error("the length {length} at byte {at}")]
    NegativeLength {
        /// As on the wire.
        length: i32,
        /// Where in the body.
        at: usize,
    },
    /// A varint of more than 32 bits.
    #[error("a varint of more than 32 bits at byte {at}")]
    Varint {
        /// Where in the body.
        at: usize,
    },
}

/// Checks the lengths and counts of `body`, a request of `version` with the layout `fields`; `flexible` versions have compact
/// lengths and tags. Bytes behind the last field are not looked at, as in Kafka.
pub fn check(fields: &[Field], version: i16, flexible: bool, body: &[u8]) -> Result<(), Malformed> {
    Walk { body, at: 0, version, flexible, elements: 0 }.fields(fields)
}

struct Walk<'a> {
    body: &'a [u8],
    at: usize,
    version: i16,
    flexible: bool,
    elements: usize,
}

impl Walk<'_> {
    fn fields(&mut self, fields: &[Field]) -> Result<(), Malformed> {
        let version = self.version;
        for field in fields.iter().filter(|field| field.is_in(version)) {
            self.value(&field.kind)?;
        }
        if self.flexible { self.tags() } else { Ok(()) }
    }

    fn value(&mut self, kind: &Kind) -> Result<(), Malformed> {
        match kind {
            Kind::Fixed(len) => self.skip(*len),
            Kind::Text => self.text(),
            Kind::Blob => {
                let len = self.count()?;
                self.skip(len)
            }
            Kind::Structs(fields) => {
                let least = self.least_of_fields(fields);
                let count = self.elements(least)?;
                (0..count).try_for_each(|_| self.fields(fields))
            }
            Kind::List(element) => {
                let count = self.elements(self.least(element))?;
                match element {
                    // Fits: `elements` has compared the product with the remaining bytes.
                    Kind::Fixed(len) => self.skip(count * len),
                    _ => (0..count).try_for_each(|_| self.value(element)),
                }
            }
            Kind::Optional(fields) => match self.byte()? {
                0x80.. => Ok(()),
                _ => self.fields(fields),
            },
        }
    }

    fn text(&mut self) -> Result<(), Malformed> {
        if self.flexible {
            let len = self.count()?;
            return self.skip(len);
        }
        let at = self.at;
        let length = i16::from_be_bytes(self.array()?);
        self.skip(length_or_null(length.into(), at)?)
    }

    /// The elements of an array, each of at least `least` bytes.
    fn elements(&mut self, least: usize) -> Result<usize, Malformed> {
        let at = self.at;
        let count = self.count()?;
        let remaining = self.body.len() - self.at;
        if count.checked_mul(least.max(1)).is_none_or(|bytes| bytes > remaining) {
            return Err(Malformed::Count { count, at, remaining });
        }
        self.admit(count)?;
        Ok(count)
    }

    fn admit(&mut self, elements: usize) -> Result<(), Malformed> {
        self.elements = self.elements.saturating_add(elements);
        if self.elements > ELEMENTS_MAX { Err(Malformed::TooManyElements) } else { Ok(()) }
    }

    /// A 32-bit length or count, compact in flexible versions; null counts as 0.
    fn count(&mut self) -> Result<usize, Malformed> {
        let at = self.at;
        if self.flexible {
            return Ok((self.varint()? as usize).saturating_sub(1));
        }
        length_or_null(i32::from_be_bytes(self.array()?), at)
    }

    fn tags(&mut self) -> Result<(), Malformed> {
        let at = self.at;
        let count = self.varint()? as usize;
        let remaining = self.body.len() - self.at;
        // A tag is a number and a size: two bytes at least.
        if count > remaining / 2 {
            return Err(Malformed::Count { count, at, remaining });
        }
        self.admit(count)?;
        for _ in 0..count {
            self.varint()?;
            let size = self.varint()? as usize;
            self.skip(size)?;
        }
        Ok(())
    }

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

    fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let bytes =
            self.body[self.at..].first_chunk().ok_or(Malformed::Truncated { at: self.at })?;
        self.at += N;
        Ok(*bytes)
    }

    fn skip(&mut self, len: usize) -> Result<(), Malformed> {
        if len > self.body.len() - self.at {
            return Err(Malformed::Truncated { at: self.at });
        }
        self.at += len;
        Ok(())
    }

    /// Fewest bytes that a value of this kind takes.
    fn least(&self, kind: &Kind) -> usize {
        match kind {
            Kind::Fixed(len) => *len,
            Kind::Optional(_) => 1,
            Kind::Text | Kind::Blob | Kind::Structs(_) | Kind::List(_) if self.flexible => 1,
            Kind::Text => 2,
            Kind::Blob | Kind::Structs(_) | Kind::List(_) => 4,
        }
    }

    fn least_of_fields(&self, fields: &[Field]) -> usize {
        let present = fields.iter().filter(|field| field.is_in(self.version));
        present.map(|field| self.least(&field.kind)).sum::<usize>() + usize::from(self.flexible)
    }
}

fn length_or_null(length: i32, at: usize) -> Result<usize, Malformed> {
    match length {
        -1 => Ok(0),
        _ => usize::try_from(length).map_err(|_| Malformed::NegativeLength { length, at }),
    }
}
