//! The check in front of the generated decoder.
//!
//! The decoder reserves memory for as many elements as a count on the wire claims, so five bytes from anybody could end the
//! process. [`check`] walks a request body along its [`Field`]s and refuses counts that the remaining bytes cannot hold,
//! and more elements in one request than [`ELEMENTS_MAX`]. It looks at lengths and counts only; the values, the text and what
//! may be null are the decoder's business. It allocates nothing and is linear in the number of elements.
//!
//! The same walk takes fields out of a body that the generated decoder is too old for ([`lower`], used by `codec::lift`).

mod requests;
mod schema;
mod walk;

pub use requests::*;
pub use schema::{Field, Kind};
pub use walk::{ELEMENTS_MAX, Lowered, check, lower};

#[cfg(test)]
mod tests;
