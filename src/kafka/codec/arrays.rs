//! Arrays and texts of the messages that are read by hand.

use kafka_protocol::protocol::StrBytes;

use super::text;
use crate::kafka::wire::{Malformed, Reader};

/// What reads one element of an array.
pub(super) type Element<'a, T> = fn(&mut Reader<'a>) -> Result<T, Malformed>;

/// A string that may be null.
pub(super) fn nullable_text(reader: &mut Reader<'_>) -> Result<Option<StrBytes>, Malformed> {
    Ok(reader.nullable_text()?.map(text))
}

/// An array that must be there.
pub(super) fn array<'a, T>(
    reader: &mut Reader<'a>,
    element: Element<'a, T>,
) -> Result<Vec<T>, Malformed> {
    let at = reader.position();
    nullable_array(reader, element)?.ok_or(Malformed::Null { at })
}

/// An array that may be null.
pub(super) fn nullable_array<'a, T>(
    reader: &mut Reader<'a>,
    element: Element<'a, T>,
) -> Result<Option<Vec<T>>, Malformed> {
    let is_null = { *reader }.len()?.is_none();
    // The vector grows with what is really there: an element of one byte on the wire may take a hundred here.
    let count = reader.elements(1)?;
    let elements: Result<Vec<T>, Malformed> = (0..count).map(|_| element(reader)).collect();
    Ok(Some(elements?).filter(|_| !is_null))
}
