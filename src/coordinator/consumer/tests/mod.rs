//! Groups of the new protocol, stepped through with a manual clock.

mod assign;
mod metadata_hash;
mod pattern;
