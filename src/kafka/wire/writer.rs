//! Primitive values appended to a growing buffer.

use bytes::{BufMut, BytesMut};

use crate::types::Uuid;

/// Appends values to a buffer. `flexible` versions have compact lengths and tags.
#[derive(Debug)]
pub struct Writer {
    buffer: BytesMut,
    flexible: bool,
}

impl Writer {
    /// An empty buffer with room for `capacity` bytes.
    pub fn new(capacity: usize, flexible: bool) -> Self {
        Self { buffer: BytesMut::with_capacity(capacity), flexible }
    }

    /// A 16-bit integer.
    pub fn int16(&mut self, value: i16) {
        self.buffer.put_i16(value);
    }

    /// A 32-bit integer.
    pub fn int32(&mut self, value: i32) {
        self.buffer.put_i32(value);
    }

    /// A 64-bit integer.
    pub fn int64(&mut self, value: i64) {
        self.buffer.put_i64(value);
    }

    /// An id.
    pub fn uuid(&mut self, value: Uuid) {
        self.buffer.put_slice(&value.to_bytes());
    }

    /// A string, or null. One longer than a classic length can say is cut at a character.
    pub fn text(&mut self, text: Option<&str>) {
        let Some(text) = text else {
            return if self.flexible { self.varint(0) } else { self.int16(-1) };
        };
        let text = &text[..text.floor_char_boundary(usize::from(i16::MAX.unsigned_abs()))];
        if self.flexible {
            self.varint(text.len() as u32 + 1);
        } else {
            self.int16(text.len() as i16);
        }
        self.buffer.put_slice(text.as_bytes());
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.buffer.put_slice(bytes);
    }

    /// The length of bytes or the number of elements that follow; `None` for null.
    pub fn len(&mut self, len: Option<usize>) {
        match (len, self.flexible) {
            (Some(len), true) => self.varint(len as u32 + 1),
            (Some(len), false) => self.int32(len as i32),
            (None, true) => self.varint(0),
            (None, false) => self.int32(-1),
        }
    }

    /// The number of tags that follow; nothing where the version has none.
    pub fn tag_count(&mut self, count: u32) {
        if self.flexible {
            self.varint(count);
        }
    }

    /// Number and size of a tag.
    pub fn tag(&mut self, number: u32, size: u32) {
        self.varint(number);
        self.varint(size);
    }

    /// What was written since the last call. The allocation is shared with what follows.
    pub fn split(&mut self) -> BytesMut {
        self.buffer.split()
    }

    /// The buffer.
    pub fn into_inner(self) -> BytesMut {
        self.buffer
    }

    fn varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.buffer.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.buffer.put_u8(value as u8);
    }
}
