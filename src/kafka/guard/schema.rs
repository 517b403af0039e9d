//! The notation for request bodies: Kafka's message definitions reduced to what decides about lengths.

/// The layout of one value.
#[derive(Debug)]
pub enum Kind {
    /// So many bytes, whatever they mean.
    Fixed(usize),
    /// A string, nullable or not: 16-bit length, or a varint in flexible versions.
    Text,
    /// Bytes or records, nullable or not: 32-bit length, or a varint in flexible versions.
    Blob,
    /// An array of structs: 32-bit count, or a varint in flexible versions, where each struct ends with its tags.
    Structs(&'static [Field]),
    /// An array of plain values.
    List(&'static Kind),
    /// One struct that may be null: a byte that is negative for null.
    Optional(&'static [Field]),
}

/// A field of a struct, with the versions that carry it. Fields that exist as tags only are not listed: tags are skipped by
/// their size, and none of a request served here holds an array.
#[derive(Debug)]
pub struct Field {
    /// First version.
    pub from: i16,
    /// Last version.
    pub to: i16,
    /// Its layout.
    pub kind: Kind,
}

impl Field {
    /// True if `version` carries it.
    pub const fn is_in(&self, version: i16) -> bool {
        self.from <= version && version <= self.to
    }
}

/// A field of every version.
pub(super) const fn always(kind: Kind) -> Field {
    between(0, i16::MAX, kind)
}

/// A field since version `from`.
pub(super) const fn since(from: i16, kind: Kind) -> Field {
    between(from, i16::MAX, kind)
}

/// A field up to version `to`.
pub(super) const fn until(to: i16, kind: Kind) -> Field {
    between(0, to, kind)
}

/// A field of versions `from` to `to`.
pub(super) const fn between(from: i16, to: i16, kind: Kind) -> Field {
    Field { from, to, kind }
}
