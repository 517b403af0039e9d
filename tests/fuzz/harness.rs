//! Runs a target on mutated seeds and reports what goes wrong so that it can be repeated.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::allocator::peak_of;
use crate::mutate::{Random, mutated};

const CASES_VARIABLE: &str = "HIGHWATER_FUZZ_CASES";
const SEED_VARIABLE: &str = "HIGHWATER_FUZZ_SEED";
const CASES_DEFAULT: u64 = 1000;
const SEED_DEFAULT: u64 = 1;

/// No case takes so long, even on a busy machine without optimization.
const TIME_MAX: Duration = Duration::from_secs(5);

/// A parser, wrapped so that it asserts what must hold of every input.
pub struct Target {
    pub name: &'static str,
    pub seeds: Vec<Seed>,
    pub run: fn(&[u8]) -> Allowance,
}

/// An input to mutate.
pub struct Seed {
    pub bytes: Vec<u8>,
    /// Makes checksums right again, so that mutations reach what lies behind them.
    pub repair: fn(&mut [u8]),
}

/// Most bytes that the run may have held at a time.
#[derive(Clone, Copy)]
pub struct Allowance(pub usize);

pub fn fuzz(target: &Target) {
    assert!(!target.seeds.is_empty(), "{} has seeds", target.name);
    let (cases, seed) =
        (setting(CASES_VARIABLE, CASES_DEFAULT), setting(SEED_VARIABLE, SEED_DEFAULT));
    println!("{}: {SEED_VARIABLE}={seed} {CASES_VARIABLE}={cases}", target.name);
    for original in &target.seeds {
        run(target, &original.bytes, "an unchanged seed");
    }
    for case in 0..cases {
        let mut random = Random::new(seed, target.name, case);
        let input = mutated(&mut random, &target.seeds);
        run(target, &input, &format!("case {case} of seed {seed}"));
    }
}

fn run(target: &Target, input: &[u8], case: &str) {
    let begin = now();
    let (result, peak) = peak_of(|| catch_unwind(AssertUnwindSafe(|| (target.run)(input))));
    let taken = now() - begin;
    let fault = match result {
        Err(_) => "panicked".to_owned(),
        Ok(Allowance(allowed)) if peak > allowed => {
            format!("held {peak} bytes where {allowed} are allowed")
        }
        Ok(_) if taken > TIME_MAX => format!("took {taken:?}"),
        Ok(_) => return,
    };
    let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
    panic!("{}: {case} {fault}; {} bytes of input: {hex}", target.name, input.len());
}

#[expect(clippy::disallowed_methods, reason = "measures the code under test")]
fn now() -> Instant {
    Instant::now()
}

fn setting(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is a number")),
        Err(_) => default,
    }
}
