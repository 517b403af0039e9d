//! The primitive types of Kafka's messages, as far as records use them: metadata records and those of the coordinators.
//!
//! Integers are big-endian. In flexible versions the lengths of compact strings, bytes and arrays are unsigned varints of
//! length + 1, where 0 stands for null, and every struct ends with its tagged fields: a count, then tag, size and bytes of
//! each. In the older, inflexible versions strings have an `i16` length, bytes and arrays an `i32` length, -1 for null, and
//! there are no tagged fields.

use crate::types::Uuid;

/// The bytes do not follow the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// They end within a field, or a length claims more than there is.
    #[error("it ends within a field")]
    Truncated,
    /// A varint of more than 32 bits.
    #[error("a varint is longer than 32 bits")]
    Varint,
    /// A length below that of null.
    #[error("a length is negative")]
    NegativeLength,
    /// Null where the schema allows none.
    #[error("a field is null that may not be")]
    Null,
    /// A string that is not UTF-8.
    #[error("a string is not UTF-8")]
    NotText,
    /// A tagged field is not as long as its size says.
    #[error("tagged field {0} has a wrong size")]
    TagSize(u32),
}

/// The longest string of an inflexible version, and of any request, in bytes.
pub const TEXT_BYTES_MAX: usize = i16::MAX as usize;

type Result<T> = std::result::Result<T, WireError>;

/// Reads fields from the front of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    flexible: bool,
}

impl<'a> Reader<'a> {
    /// Starts at the front of `bytes`, which are of a flexible version.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, flexible: true }
    }

    /// Starts at the front of `bytes`, which are of an inflexible version.
    pub fn inflexible(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, flexible: false }
    }

    /// What is left.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (front, rest) = self.rest.split_at_checked(len).ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(front)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (front, rest) = self.rest.split_first_chunk().ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(*front)
    }

    /// One byte.
    pub fn i8(&mut self) -> Result<i8> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    /// Two bytes.
    pub fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// Two bytes without sign.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Four bytes.
    pub fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// Eight bytes.
    pub fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// One byte; anything but 0 is true, as in Kafka.
    pub fn bool(&mut self) -> Result<bool> {
        Ok(self.i8()? != 0)
    }

    /// Sixteen bytes.
    pub fn uuid(&mut self) -> Result<Uuid> {
        Ok(Uuid::from_bytes(self.array()?))
    }

    /// Up to five bytes, seven bits each, the lowest first.
    pub fn unsigned_varint(&mut self) -> Result<u32> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let [byte] = self.array()?;
            let bits = u32::from(byte & 0x7f);
            if shift == 28 && bits > 0x0f {
                return Err(WireError::Varint);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError::Varint)
    }

    /// Length of bytes or of an array; `None` for null.
    fn len(&mut self) -> Result<Option<usize>> {
        if self.flexible {
            let encoded = self.unsigned_varint()?;
            return Ok(encoded.checked_sub(1).map(|len| len as usize));
        }
        length_or_null(self.i32()?)
    }

    /// Length of a string; `None` for null.
    fn text_len(&mut self) -> Result<Option<usize>> {
        if self.flexible { self.len() } else { length_or_null(self.i16()?.into()) }
    }

    /// Bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        self.nullable_bytes()?.ok_or(WireError::Null)
    }

    /// Bytes or null.
    pub fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>> {
        self.len()?.map(|len| self.take(len)).transpose()
    }

    /// A string, not copied.
    pub fn text(&mut self) -> Result<&'a str> {
        self.nullable_text()?.ok_or(WireError::Null)
    }

    /// A string or null, not copied.
    pub fn nullable_text(&mut self) -> Result<Option<&'a str>> {
        let Some(len) = self.text_len()? else {
            return Ok(None);
        };
        str::from_utf8(self.take(len)?).map(Some).map_err(|_| WireError::NotText)
    }

    /// A string.
    pub fn string(&mut self) -> Result<String> {
        self.text().map(str::to_owned)
    }

    /// A string or null.
    pub fn nullable_string(&mut self) -> Result<Option<String>> {
        Ok(self.nullable_text()?.map(str::to_owned))
    }

    /// An array whose elements `element` reads, each of one byte or more.
    pub fn array_of<T>(&mut self, element: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.nullable_array_of(element)?.ok_or(WireError::Null)
    }

    /// An array or null.
    pub fn nullable_array_of<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Option<Vec<T>>> {
        let Some(count) = self.len()? else {
            return Ok(None);
        };
        if count > self.rest.len() {
            return Err(WireError::Truncated);
        }
        // Not reserved: an element may be larger in memory than on disk, and the count comes from outside.
        let mut elements = Vec::new();
        for _ in 0..count {
            elements.push(element(self)?);
        }
        Ok(Some(elements))
    }

    /// The tagged fields at the end of a struct: `field` gets the tag and a reader of its bytes, and says whether it knows
    /// the tag. Unknown ones are skipped. Nothing in inflexible versions.
    pub fn tags(
        &mut self,
        mut field: impl FnMut(u32, &mut Reader<'a>) -> Result<TagUse>,
    ) -> Result<()> {
        if !self.flexible {
            return Ok(());
        }
        for _ in 0..self.unsigned_varint()? {
            let tag = self.unsigned_varint()?;
            let len = self.unsigned_varint()? as usize;
            let mut inner = Reader::new(self.take(len)?);
            if field(tag, &mut inner)? == TagUse::Read && !inner.rest.is_empty() {
                return Err(WireError::TagSize(tag));
            }
        }
        Ok(())
    }

    /// The end of a struct without tagged fields of its own.
    pub fn no_tags(&mut self) -> Result<()> {
        self.tags(|_, _| Ok(TagUse::Unknown))
    }
}

fn length_or_null(length: i32) -> Result<Option<usize>> {
    match length {
        -1 => Ok(None),
        _ => usize::try_from(length).map(Some).map_err(|_| WireError::NegativeLength),
    }
}

/// Whether a tagged field was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagUse {
    /// It was read to its end.
    Read,
    /// It is to be skipped.
    Unknown,
}

/// Writes fields to the end of a buffer.
#[derive(Clone, Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    flexible: bool,
}

impl Default for Writer {
    /// Writes a flexible version.
    fn default() -> Self {
        Self { bytes: Vec::new(), flexible: true }
    }
}

impl Writer {
    /// Writes an inflexible version.
    pub fn inflexible() -> Self {
        Self { flexible: false, ..Self::default() }
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Bytes as they are, without a length.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// One byte.
    pub fn i8(&mut self, value: i8) {
        self.raw(&value.to_be_bytes());
    }

    /// Two bytes.
    pub fn i16(&mut self, value: i16) {
        self.raw(&value.to_be_bytes());
    }

    /// Two bytes without sign.
    pub fn u16(&mut self, value: u16) {
        self.raw(&value.to_be_bytes());
    }

    /// Four bytes.
    pub fn i32(&mut self, value: i32) {
        self.raw(&value.to_be_bytes());
    }

    /// Eight bytes.
    pub fn i64(&mut self, value: i64) {
        self.raw(&value.to_be_bytes());
    }

    /// One byte.
    pub fn bool(&mut self, value: bool) {
        self.i8(i8::from(value));
    }

    /// Sixteen bytes.
    pub fn uuid(&mut self, value: Uuid) {
        self.raw(&value.to_bytes());
    }

    /// One to five bytes.
    pub fn unsigned_varint(&mut self, mut value: u32) {
        while value > 0x7f {
            // Masked to seven bits.
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn len(&mut self, len: usize) {
        if self.flexible {
            let encoded = u32::try_from(len + 1).expect("records are far smaller than 4 GiB");
            self.unsigned_varint(encoded);
        } else {
            self.i32(i32::try_from(len).expect("records are far smaller than 2 GiB"));
        }
    }

    /// Bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.len(bytes.len());
        self.raw(bytes);
    }

    /// A string. What an inflexible version cannot hold is cut off: no request brings a string of more than
    /// 32,767 bytes, as in Kafka.
    pub fn string(&mut self, text: &str) {
        if self.flexible {
            return self.bytes(text.as_bytes());
        }
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        // At most `TEXT_BYTES_MAX`.
        self.i16(text.len() as i16);
        self.raw(text.as_bytes());
    }

    /// A string or null.
    pub fn nullable_string(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.string(text),
            None if self.flexible => self.unsigned_varint(0),
            None => self.i16(-1),
        }
    }

    /// An array whose elements `element` writes.
    pub fn array_of<T>(&mut self, elements: &[T], mut element: impl FnMut(&mut Self, &T)) {
        self.len(elements.len());
        for e in elements {
            element(self, e);
        }
    }

    /// Null in the place of an array.
    pub fn null_array(&mut self) {
        match self.flexible {
            true => self.unsigned_varint(0),
            false => self.i32(-1),
        }
    }

    /// The end of a struct with tagged fields, which only flexible versions have.
    pub fn tags(&mut self, tags: Tags) {
        assert!(self.flexible, "inflexible versions have no tagged fields");
        self.unsigned_varint(tags.count);
        self.raw(&tags.fields.bytes);
    }

    /// The end of a struct without tagged fields.
    pub fn no_tags(&mut self) {
        if self.flexible {
            self.unsigned_varint(0);
        }
    }
}

/// Tagged fields being written, in ascending order of their tags.
#[derive(Clone, Debug, Default)]
pub struct Tags {
    count: u32,
    fields: Writer,
}

impl Tags {
    /// Adds a field whose bytes `write` writes.
    pub fn put(&mut self, tag: u32, write: impl FnOnce(&mut Writer)) {
        let mut inner = Writer::default();
        write(&mut inner);
        self.count += 1;
        self.fields.unsigned_varint(tag);
        let len = u32::try_from(inner.bytes.len()).expect("records are far smaller than 4 GiB");
        self.fields.unsigned_varint(len);
        self.fields.raw(&inner.bytes);
    }

    /// Adds a field where there is a value.
    pub fn put_some<T>(&mut self, tag: u32, value: Option<T>, write: impl FnOnce(&mut Writer, T)) {
        if let Some(value) = value {
            self.put(tag, |w| write(w, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsigned_varints_are_kafkas() {
        for (value, bytes) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
            (u32::MAX, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
        ] {
            let mut writer = Writer::default();
            writer.unsigned_varint(value);
            assert_eq!(writer.into_bytes(), bytes);
            assert_eq!(Reader::new(bytes).unsigned_varint(), Ok(value));
        }
        let long = [0xff, 0xff, 0xff, 0xff, 0x1f];
        assert_eq!(Reader::new(&long).unsigned_varint(), Err(WireError::Varint));
        assert_eq!(Reader::new(&[0x80; 6]).unsigned_varint(), Err(WireError::Varint));
        assert_eq!(Reader::new(&[0x80]).unsigned_varint(), Err(WireError::Truncated));
    }

    #[test]
    fn a_length_beyond_the_bytes_is_refused_before_anything_is_reserved() {
        let huge = [0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2];
        assert_eq!(Reader::new(&huge).bytes(), Err(WireError::Truncated));
        assert_eq!(Reader::new(&huge).string(), Err(WireError::Truncated));
        assert_eq!(Reader::new(&huge).array_of(Reader::i8), Err(WireError::Truncated));
    }

    #[test]
    fn inflexible_lengths_are_kafkas() {
        let mut writer = Writer::inflexible();
        writer.string("ab");
        writer.nullable_string(None);
        writer.bytes(&[7]);
        writer.array_of(&[1, 2], |w, n| w.i8(*n));
        writer.no_tags();
        let bytes = writer.into_bytes();
        assert_eq!(bytes, [0, 2, b'a', b'b', 0xff, 0xff, 0, 0, 0, 1, 7, 0, 0, 0, 2, 1, 2]);
        let mut reader = Reader::inflexible(&bytes);
        assert_eq!(reader.text(), Ok("ab"));
        assert_eq!(reader.nullable_text(), Ok(None));
        assert_eq!(reader.bytes(), Ok(&[7][..]));
        assert_eq!(reader.array_of(Reader::i8), Ok(vec![1, 2]));
        assert_eq!((reader.no_tags(), reader.rest()), (Ok(()), &[][..]));
        assert_eq!(Reader::inflexible(&[0xff, 0xfe]).text(), Err(WireError::NegativeLength));
        assert_eq!(Reader::inflexible(&[0x7f; 8]).bytes(), Err(WireError::Truncated));
    }

    #[test]
    fn unknown_tags_are_skipped_and_wrong_sizes_refused() {
        let bytes = [2, 7, 1, 0xaa, 9, 2, 0, 5];
        let mut seen = None;
        let read = Reader::new(&bytes).tags(|tag, r| {
            if tag != 9 {
                return Ok(TagUse::Unknown);
            }
            seen = Some(r.i16()?);
            Ok(TagUse::Read)
        });
        assert_eq!((read, seen), (Ok(()), Some(5)));
        let short = Reader::new(&bytes).tags(|_, r| r.i8().map(|_| TagUse::Read));
        assert_eq!(short, Err(WireError::TagSize(9)));
    }
}
