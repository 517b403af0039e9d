//! Integers of the protocol as distinct types.

use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $raw:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name($raw);

        impl $name {
            /// Wraps the raw protocol value; any value is representable, also Kafka's negative sentinels.
            pub const fn new(raw: $raw) -> Self {
                Self(raw)
            }

            /// The raw protocol value.
            pub const fn get(self) -> $raw {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// Position of a record in a partition. Ends are exclusive: a log that holds offsets 0..=9 ends at 10.
    Offset,
    i64
);
number!(
    /// Generation of a partition's leadership (KIP-101, KIP-320). −1 where a message leaves it open.
    LeaderEpoch,
    i32
);
number!(
    /// Identity of a producer, assigned from blocks in the metadata journal. −1 for a producer without idempotence.
    ProducerId,
    i64
);
number!(
    /// Generation of a producer id; a higher one fences the lower ones.
    ProducerEpoch,
    i16
);
number!(
    /// Number of a node, Kafka's `node.id`.
    BrokerId,
    i32
);
number!(
    /// Number of a partition within its topic, from 0.
    PartitionIndex,
    i32
);
number!(
    /// Milliseconds since 1970-01-01 UTC, as record timestamps are. −1 means "no timestamp".
    Timestamp,
    i64
);

impl Offset {
    /// The first offset of every log.
    pub const ZERO: Self = Self::new(0);
    /// Kafka's −1: no offset, not found.
    pub const NONE: Self = Self::new(-1);

    /// The offset `count` records further on.
    pub const fn plus(self, count: i64) -> Self {
        Self(self.0 + count)
    }
}

impl LeaderEpoch {
    /// Kafka's −1: epoch unknown or not checked.
    pub const NONE: Self = Self::new(-1);
}

impl ProducerId {
    /// Kafka's −1: the batch has no producer id.
    pub const NONE: Self = Self::new(-1);
}

impl ProducerEpoch {
    /// Kafka's −1: the batch has no producer epoch.
    pub const NONE: Self = Self::new(-1);
}

impl Timestamp {
    /// Kafka's −1: no timestamp.
    pub const NONE: Self = Self::new(-1);
}
