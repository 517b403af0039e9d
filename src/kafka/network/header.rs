//! Request and response headers (Kafka's `RequestHeader.json`, `ResponseHeader.json`).
//!
//! ```text
//! request   key i16, version i16, correlation id i32, client id (16-bit length, nullable, also in flexible versions),
//!           tags if the version is flexible
//! response  correlation id i32, tags if the version is flexible (never for ApiVersions)
//! ```

use crate::kafka::wire::{Malformed, Reader};

/// The part of a request header that every version has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// API key.
    pub key: i16,
    /// Version of the API.
    pub version: i16,
    /// What the response carries back.
    pub correlation_id: i32,
}

impl RequestHead {
    /// Bytes on the wire.
    const LEN: usize = 8;

    /// Reads the first bytes of a frame.
    pub fn parse(frame: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(frame, false);
        Ok(Self { key: reader.int16()?, version: reader.int16()?, correlation_id: reader.int32()? })
    }

    /// The client id as on the wire (empty for null) and where the body begins.
    pub fn parse_rest(frame: &[u8], flexible: bool) -> Result<(&[u8], usize), Malformed> {
        let mut reader = Reader::at(frame, Self::LEN, false);
        let len = reader.text_len()?.unwrap_or(0);
        let client_id = reader.take(len)?;
        let mut tags = Reader::at(frame, reader.position(), flexible);
        tags.skip_tags()?;
        Ok((client_id, tags.position()))
    }
}

/// What goes before the body of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// From the request.
    pub correlation_id: i32,
    /// True if the header has a tag section.
    pub tagged: bool,
}

impl ResponseHead {
    const LENGTH_BYTES: usize = 4;

    /// Frame length and header for a body of `body_len` bytes: an array and how much of it counts. `None` if the frame would
    /// be longer than a length can say.
    pub fn encode(self, body_len: usize) -> Option<([u8; 9], usize)> {
        let header_len = Self::LENGTH_BYTES + usize::from(self.tagged);
        let frame_len = i32::try_from(body_len.checked_add(header_len)?).ok()?;
        let mut bytes = [0; 9];
        bytes[..4].copy_from_slice(&frame_len.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.correlation_id.to_be_bytes());
        Some((bytes, Self::LENGTH_BYTES + header_len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_id_keeps_its_classic_length_in_flexible_versions() {
        // Metadata v12, correlation id 7, client id "ab", one unknown tag (5) of one byte, then the body.
        let frame = [0, 3, 0, 12, 0, 0, 0, 7, 0, 2, b'a', b'b', 1, 5, 1, 0xee, 0x77];
        let head = RequestHead::parse(&frame);
        assert_eq!(head, Ok(RequestHead { key: 3, version: 12, correlation_id: 7 }));
        assert_eq!(RequestHead::parse_rest(&frame, true), Ok((&b"ab"[..], 16)));
    }

    #[test]
    fn a_null_client_id_is_empty() {
        let frame = [0, 3, 0, 1, 0, 0, 0, 7, 0xff, 0xff, 0x77];
        assert_eq!(RequestHead::parse_rest(&frame, false), Ok((&b""[..], 10)));
    }

    #[test]
    fn headers_cut_anywhere_are_refused() {
        let frame = [0, 3, 0, 12, 0, 0, 0, 7, 0, 2, b'a', b'b', 1, 5, 1, 0xee];
        for len in 0..frame.len() {
            let cut = &frame[..len];
            let parsed = RequestHead::parse(cut).and_then(|_| RequestHead::parse_rest(cut, true));
            assert!(parsed.is_err(), "{len}");
        }
    }

    #[test]
    fn the_frame_length_counts_header_and_body() {
        let tagged = ResponseHead { correlation_id: 1, tagged: true };
        assert_eq!(tagged.encode(10), Some(([0, 0, 0, 15, 0, 0, 0, 1, 0], 9)));
        let plain = ResponseHead { correlation_id: 1, tagged: false };
        assert_eq!(plain.encode(10), Some(([0, 0, 0, 14, 0, 0, 0, 1, 0], 8)));
        assert_eq!(plain.encode(i32::MAX as usize), None);
    }
}
