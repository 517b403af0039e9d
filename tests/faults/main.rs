//! A whole broker while its disk fails: power cuts, no room, errors and damage at every step. Every test runs the same life (see
//! `life`), and every one asks the same of the next life: what clients were told still holds.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

#[path = "../support/mod.rs"]
mod support;

mod broken;
mod cleaning;
mod clocks;
mod damaged;
mod full_volume;
mod life;
mod moves;
mod no_room;
mod panics;
mod power_cuts;
mod removed;
mod told;
