//! One row of the API table, one handler file, one wire test: none without the others.

use crate::source::Tree;

/// Complaints about APIs that lack one of the three.
pub(crate) fn check(_tree: &Tree) -> Vec<String> {
    Vec::new()
}
