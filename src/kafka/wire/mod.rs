//! The protocol's primitive types over plain bytes: what the hand-written codecs and the guard are built of.

mod reader;
mod writer;

pub use reader::{Malformed, Reader};
pub use writer::Writer;
