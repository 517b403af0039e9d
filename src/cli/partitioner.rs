//! Which partition a record goes to: by its key as Kafka's default partitioner does, else round robin by batch.

/// Kafka's `Utils.murmur2`, a 32-bit MurmurHash2 with a fixed seed.
fn murmur2(bytes: &[u8]) -> i32 {
    const SEED: u32 = 0x9747_b28c;
    const MIX: u32 = 0x5bd1_e995;
    let mut hash = SEED ^ bytes.len() as u32;
    let mut words = bytes.chunks_exact(4);
    for word in words.by_ref() {
        let mut mixed = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(MIX);
        mixed ^= mixed >> 24;
        hash = hash.wrapping_mul(MIX) ^ mixed.wrapping_mul(MIX);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
        hash = (hash ^ tail).wrapping_mul(MIX);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MIX);
    (hash ^ hash >> 15) as i32
}

/// The partition of a key among `count`, where any Kafka client would put it.
pub(super) fn partition_of(key: &[u8], count: usize) -> usize {
    let positive = murmur2(key) & i32::MAX;
    positive.unsigned_abs() as usize % count.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of Kafka's `UtilsTest.testMurmur2`.
    #[test]
    fn hashes_are_those_of_kafka() {
        assert_eq!(murmur2(b"21"), -973_932_308);
        assert_eq!(murmur2(b"foobar"), -790_332_482);
        assert_eq!(murmur2(b"a-little-bit-long-string"), -985_981_536);
        assert_eq!(murmur2(b"a-little-bit-longer-string"), -1_486_304_829);
        assert_eq!(murmur2(b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8"), -58_897_971);
        assert_eq!(murmur2(b"abc"), 479_470_107);
    }

    #[test]
    fn a_key_always_goes_to_the_same_partition() {
        assert_eq!(partition_of(b"abc", 64), 479_470_107 % 64);
        assert_eq!(partition_of(b"21", 1), 0);
    }
}
