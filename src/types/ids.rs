//! 128-bit ids in Kafka's text form: URL-safe base64 of the 16 bytes without padding, 22 characters.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A 128-bit id, big-endian (Kafka's `Uuid`).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

/// Identity of a topic; a topic created again under the same name has another one (KIP-516).
pub type TopicId = Uuid;

/// Identity of a log directory, `directory.id` of `meta.properties` (KIP-858).
pub type DirectoryId = Uuid;

/// The text is no 22-character base64url id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no id: 22 characters of URL-safe base64 are expected")]
pub struct InvalidUuid(String);

impl Uuid {
    /// All zero: "no id".
    pub const ZERO: Self = Self([0; 16]);

    /// From the 16 bytes as on the wire.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes as on the wire.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// True for the all-zero id.
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Uuid {
    type Err = InvalidUuid;

    fn from_str(text: &str) -> Result<Self, InvalidUuid> {
        let invalid = || InvalidUuid(text.to_owned());
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid())?;
        Ok(Self(bytes.try_into().map_err(|_| invalid())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_is_kafkas() {
        let metadata_topic = Uuid::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(metadata_topic.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!("AAAAAAAAAAAAAAAAAAAAAQ".parse(), Ok(metadata_topic));
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "AAAA", "AAAAAAAAAAAAAAAAAAAAAQ==", "not base64 at all!!!!!"] {
            assert!(text.parse::<Uuid>().is_err(), "{text}");
        }
    }
}
