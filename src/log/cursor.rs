//! Reads integers off the front of bytes; every read is checked against what is left.

/// What a [`Cursor`] cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// The bytes end before the value does.
    #[error("the bytes end too early")]
    Short,
    /// A variable-length integer that does not fit its type.
    #[error("a variable-length integer is too long")]
    Varint,
}

/// The bytes not yet read.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Reads from the start of `bytes`.
    #[inline(always)]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What is left.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `len` bytes.
    #[inline(always)]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], CursorError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(CursorError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], CursorError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(CursorError::Short)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// One byte.
    #[inline(always)]
    pub fn i8(&mut self) -> Result<i8, CursorError> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    /// Four bytes, big-endian.
    #[inline(always)]
    pub fn i32(&mut self) -> Result<i32, CursorError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// Eight bytes, big-endian.
    #[inline(always)]
    pub fn i64(&mut self) -> Result<i64, CursorError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// Zig-zag LEB128 of 32 bits: at most 5 bytes, and no bits that do not fit.
    #[inline(always)]
    pub fn varint(&mut self) -> Result<i32, CursorError> {
        // Most varints of a record are one byte long.
        if let [first @ 0..=0x7f, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(i32::from(first >> 1) ^ -i32::from(first & 1));
        }
        let raw = self.leb128(5)?;
        let raw = u32::try_from(raw).map_err(|_| CursorError::Varint)?;
        Ok((raw >> 1) as i32 ^ -((raw & 1) as i32))
    }

    /// Zig-zag LEB128 of 64 bits: at most 10 bytes, and no bits that do not fit.
    #[inline(always)]
    pub fn varlong(&mut self) -> Result<i64, CursorError> {
        if let [first @ 0..=0x7f, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(i64::from(first >> 1) ^ -i64::from(first & 1));
        }
        let raw = self.leb128(10)?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    #[inline]
    fn leb128(&mut self, len_max: usize) -> Result<u64, CursorError> {
        let mut value = 0u64;
        for (at, &byte) in self.rest.iter().take(len_max).enumerate() {
            let (low, shift) = (u64::from(byte & 0x7f), 7 * at as u32);
            if low << shift >> shift != low {
                return Err(CursorError::Varint);
            }
            value |= low << shift;
            if byte < 0x80 {
                self.rest = &self.rest[at + 1..];
                return Ok(value);
            }
        }
        Err(if self.rest.len() < len_max { CursorError::Short } else { CursorError::Varint })
    }
}

/// Appends zig-zag LEB128.
pub fn put_varint(to: &mut Vec<u8>, value: i32) {
    put_leb128(to, u64::from(((value << 1) ^ (value >> 31)) as u32));
}

/// Appends zig-zag LEB128.
pub fn put_varlong(to: &mut Vec<u8>, value: i64) {
    put_leb128(to, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends a length.
///
/// # Panics
/// If it has more than 31 bits: no part of a batch does.
pub fn put_len(to: &mut Vec<u8>, len: usize) {
    put_varint(to, i32::try_from(len).expect("no part of a batch has 2 GiB"));
}

/// Appends bytes behind their length, which is −1 for null.
pub fn put_nullable(to: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            put_len(to, bytes.len());
            to.extend_from_slice(bytes);
        }
        None => put_varint(to, -1),
    }
}

/// Bytes that [`put_varlong`] appends, and [`put_varint`] for values of 32 bits.
pub fn varlong_len(value: i64) -> usize {
    let raw = ((value << 1) ^ (value >> 63)) as u64;
    (64 - (raw | 1).leading_zeros()).div_ceil(7) as usize
}

fn put_leb128(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_those_of_protocol_buffers() {
        let cases: [(i64, &[u8]); 9] = [
            (0, &[0]),
            (-1, &[1]),
            (1, &[2]),
            (63, &[0x7e]),
            (-64, &[0x7f]),
            (64, &[0x80, 0x01]),
            (8192, &[0x80, 0x80, 0x01]),
            (i64::from(i32::MAX), &[0xfe, 0xff, 0xff, 0xff, 0x0f]),
            (i64::from(i32::MIN), &[0xff, 0xff, 0xff, 0xff, 0x0f]),
        ];
        for (value, bytes) in cases {
            assert_eq!(Cursor::new(bytes).varint(), Ok(value as i32));
            assert_eq!(Cursor::new(bytes).varlong(), Ok(value));
            let (mut int, mut long) = (Vec::new(), Vec::new());
            put_varint(&mut int, value as i32);
            put_varlong(&mut long, value);
            assert_eq!((&int[..], &long[..]), (bytes, bytes));
            assert_eq!(varlong_len(value), bytes.len());
        }
        let longest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Cursor::new(&longest).varlong(), Ok(i64::MIN));
    }

    #[test]
    fn varints_that_do_not_fit_are_refused() {
        let int = |bytes: &[u8]| Cursor::new(bytes).varint();
        assert_eq!(int(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x01]), Err(CursorError::Varint));
        assert_eq!(int(&[0xff, 0xff, 0xff, 0xff, 0x1f]), Err(CursorError::Varint));
        assert_eq!(int(&[]), Err(CursorError::Short));
        assert_eq!(int(&[0x80, 0x80]), Err(CursorError::Short));
        let long = |bytes: &[u8]| Cursor::new(bytes).varlong();
        assert_eq!(long(&[0xff; 10]), Err(CursorError::Varint));
        assert_eq!(
            long(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]),
            Err(CursorError::Varint)
        );
        assert_eq!(long(&[0xff; 9]), Err(CursorError::Short));
    }

    #[test]
    fn takes_end_with_the_bytes() {
        let mut cursor = Cursor::new(&[1, 2, 3]);
        assert_eq!(cursor.take(2), Ok(&[1, 2][..]));
        assert_eq!(cursor.take(2), Err(CursorError::Short));
        assert_eq!(cursor.i8(), Ok(3));
        assert_eq!(cursor.i32(), Err(CursorError::Short));
        assert_eq!(cursor.take(usize::MAX), Err(CursorError::Short));
    }
}
