//! Random ids.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::types::Uuid;

/// A source of random bits.
pub trait Random: Send + Sync + Debug {
    /// 64 random bits.
    fn next_u64(&self) -> u64;

    /// A random (version 4) id whose text form has no leading `-` and is not one of Kafka's reserved ids.
    fn uuid(&self) -> Uuid {
        loop {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&self.next_u64().to_be_bytes());
            bytes[8..].copy_from_slice(&self.next_u64().to_be_bytes());
            bytes[6] = (bytes[6] & 0x0f) | 0x40;
            bytes[8] = (bytes[8] & 0x3f) | 0x80;
            let id = Uuid::from_bytes(bytes);
            if !id.to_string().starts_with('-') {
                return id;
            }
        }
    }
}

/// The operating system's random numbers.
#[derive(Debug)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn next_u64(&self) -> u64 {
        // A broker without random ids could hand out the same topic id twice; there is nothing sensible to go on with.
        getrandom::u64().expect("the operating system provides random bytes")
    }
}

/// A reproducible sequence (SplitMix64) for tests and simulations.
#[derive(Debug)]
pub struct SeededRandom(AtomicU64);

impl SeededRandom {
    /// The sequence that belongs to `seed`.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Random for SeededRandom {
    fn next_u64(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
