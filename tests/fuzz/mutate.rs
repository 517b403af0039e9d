//! Changes to inputs that parsers trip over: flipped bits, lying lengths, cuts, repetitions, parts of other inputs.

use crate::harness::Seed;

/// Longest input; longer ones find nothing that shorter do not.
const LEN_MAX: usize = 64 << 10;

/// A small generator (SplitMix64): the same numbers on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, target: &str, case: u64) -> Self {
        let mix = |state: u64, value: u64| Self(state ^ value).next();
        let name = target.bytes().fold(0, |state, byte| mix(state, u64::from(byte)));
        Self(mix(mix(name, seed), case))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// One of the seeds with a few changes, often with its checksums made right again.
pub fn mutated(random: &mut Random, seeds: &[Seed]) -> Vec<u8> {
    let seed = random.pick(seeds);
    let mut input = seed.bytes.clone();
    for _ in 0..=random.below(4) {
        change(random, &mut input, seeds);
    }
    input.truncate(LEN_MAX);
    if random.below(4) > 0 {
        (seed.repair)(&mut input);
    }
    input
}

fn change(random: &mut Random, input: &mut Vec<u8>, seeds: &[Seed]) {
    if input.is_empty() {
        input.push(random.next() as u8);
        return;
    }
    let at = random.below(input.len());
    match random.below(9) {
        0 => input[at] ^= 1 << random.below(8),
        1 => input[at] = random.next() as u8,
        2 => overwrite(input, at, &number(random)),
        3 => input.truncate(at),
        4 => insert(input, at, &number(random)),
        5 => remove(random, input, at),
        6 => repeat(random, input, at),
        7 => {
            let other = &random.pick(seeds).bytes;
            insert(input, at, &other[random.below(other.len() + 1)..]);
        }
        _ => {
            let len = random.below(64);
            let noise: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
            insert(input, at, &noise);
        }
    }
}

/// A number that makes a good lie as a length or count, in one of the encodings of the formats.
fn number(random: &mut Random) -> Vec<u8> {
    const LIES: [i64; 14] = [
        0,
        1,
        -1,
        2,
        13,
        127,
        128,
        255,
        0x7fff,
        0xffff,
        1 << 20,
        i32::MAX as i64,
        i32::MIN as i64,
        i64::MAX,
    ];
    let lie = *random.pick(&LIES);
    match random.below(6) {
        0 => (lie as i16).to_be_bytes().to_vec(),
        1 => (lie as i32).to_be_bytes().to_vec(),
        2 => lie.to_be_bytes().to_vec(),
        3 => (lie as i32).to_le_bytes().to_vec(),
        4 => leb128(((lie << 1) ^ (lie >> 63)) as u64),
        _ => leb128(lie as u64),
    }
}

fn leb128(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn overwrite(input: &mut [u8], at: usize, bytes: &[u8]) {
    for (to, from) in input[at..].iter_mut().zip(bytes) {
        *to = *from;
    }
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    input.splice(at..at, bytes.iter().copied());
}

fn remove(random: &mut Random, input: &mut Vec<u8>, at: usize) {
    let end = at + 1 + random.below(input.len() - at);
    input.drain(at..end);
}

fn repeat(random: &mut Random, input: &mut Vec<u8>, at: usize) {
    let end = at + 1 + random.below((input.len() - at).min(256));
    let part = input[at..end].repeat(1 + random.below(8));
    insert(input, end, &part);
}
