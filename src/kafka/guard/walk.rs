//! The walk along a request body.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::schema::{Field, Kind};
use crate::kafka::wire::{Malformed, Reader};

/// Most array elements and tags in one request. A decoded element takes up to a few hundred bytes, so this also bounds what
/// decoding one request may take. A request over 100,000 partitions stays below it.
pub const ELEMENTS_MAX: usize = 262_144;

/// Checks the lengths and counts of `body`, a request of `version` with the layout `fields`; `flexible` versions have compact
/// lengths and tags. Bytes behind the last field are not looked at, as in Kafka. Returns the number of array elements.
pub fn check(
    fields: &[Field],
    version: i16,
    flexible: bool,
    body: &[u8],
) -> Result<usize, Malformed> {
    let mut walk = Walk::new(body, version, flexible, None);
    walk.fields(fields)?;
    Ok(walk.elements)
}

/// A request body as an older version has it, and what that version lacks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lowered {
    /// The fields of the older version, every struct with its tags.
    pub body: BytesMut,
    /// Encoded values of the fields that it lacks, in wire order.
    pub cut: Vec<Bytes>,
}

/// Makes of `body`, a request of the flexible `version`, one of the older flexible version `to`: takes out the fields that came
/// since. A field that `to` has and `version` has no more cannot be made up.
pub fn lower(fields: &[Field], version: i16, to: i16, body: &Bytes) -> Result<Lowered, Malformed> {
    let lowering = Lowering { to, whole: body, kept_from: 0, lowered: Lowered::default() };
    let mut walk = Walk::new(body, version, true, Some(lowering));
    walk.fields(fields)?;
    let end = walk.reader.position();
    Ok(walk.lowering.map(|lowering| lowering.finish(end)).unwrap_or_default())
}

struct Walk<'a> {
    reader: Reader<'a>,
    version: i16,
    elements: usize,
    lowering: Option<Lowering<'a>>,
}

/// A lowered body in the making.
struct Lowering<'a> {
    to: i16,
    whole: &'a Bytes,
    /// Where in `whole` those bytes begin that stay and are not yet in `lowered`.
    kept_from: usize,
    lowered: Lowered,
}

impl Lowering<'_> {
    /// Looks at a field that lies at `range`.
    fn passed(&mut self, field: &Field, range: Range<usize>) {
        if !field.is_in(self.to) {
            self.lowered.body.extend_from_slice(&self.whole[self.kept_from..range.start]);
            self.kept_from = range.end;
            self.lowered.cut.push(self.whole.slice(range));
        }
    }

    fn finish(mut self, end: usize) -> Lowered {
        self.lowered.body.extend_from_slice(&self.whole[self.kept_from..end]);
        self.lowered
    }
}

impl<'a> Walk<'a> {
    fn new(body: &'a [u8], version: i16, flexible: bool, lowering: Option<Lowering<'a>>) -> Self {
        Self { reader: Reader::new(body, flexible), version, elements: 0, lowering }
    }

    fn fields(&mut self, fields: &[Field]) -> Result<(), Malformed> {
        let version = self.version;
        for field in fields.iter().filter(|field| field.is_in(version)) {
            let start = self.reader.position();
            self.value(&field.kind)?;
            let end = self.reader.position();
            if let Some(lowering) = &mut self.lowering {
                lowering.passed(field, start..end);
            }
        }
        self.tags()
    }

    fn value(&mut self, kind: &Kind) -> Result<(), Malformed> {
        match kind {
            Kind::Fixed(len) => self.skip(*len),
            Kind::Text => {
                let len = self.reader.text_len()?;
                self.skip(len.unwrap_or(0))
            }
            Kind::Blob => self.reader.nullable_bytes().map(|_| ()),
            Kind::Structs(fields) => {
                let count = self.elements(self.least_of_fields(fields))?;
                (0..count).try_for_each(|_| self.fields(fields))
            }
            Kind::List(element) => {
                let count = self.elements(self.least(element))?;
                match element {
                    // Cannot overflow: `elements` compared the product with the remaining bytes.
                    Kind::Fixed(len) => self.skip(count * len),
                    _ => (0..count).try_for_each(|_| self.value(element)),
                }
            }
            Kind::Optional(fields) => match self.reader.byte()? {
                0x80.. => Ok(()),
                _ => self.fields(fields),
            },
        }
    }

    /// The count of an array with elements of at least `least` bytes.
    fn elements(&mut self, least: usize) -> Result<usize, Malformed> {
        let count = self.reader.elements(least)?;
        self.admit(count)?;
        Ok(count)
    }

    fn tags(&mut self) -> Result<(), Malformed> {
        let count = self.reader.tag_count()?;
        self.admit(count)?;
        (0..count).try_for_each(|_| self.reader.skip_tag())
    }

    fn admit(&mut self, elements: usize) -> Result<(), Malformed> {
        self.elements = self.elements.saturating_add(elements);
        if self.elements > ELEMENTS_MAX {
            return Err(Malformed::TooManyElements { limit: ELEMENTS_MAX });
        }
        Ok(())
    }

    fn skip(&mut self, len: usize) -> Result<(), Malformed> {
        self.reader.take(len).map(|_| ())
    }

    /// Fewest bytes that a value of this kind takes.
    fn least(&self, kind: &Kind) -> usize {
        match kind {
            Kind::Fixed(len) => *len,
            Kind::Optional(_) => 1,
            Kind::Text | Kind::Blob | Kind::Structs(_) | Kind::List(_)
                if self.reader.is_flexible() =>
            {
                1
            }
            Kind::Text => 2,
            Kind::Blob | Kind::Structs(_) | Kind::List(_) => 4,
        }
    }

    fn least_of_fields(&self, fields: &[Field]) -> usize {
        let present = fields.iter().filter(|field| field.is_in(self.version));
        let tags = usize::from(self.reader.is_flexible());
        present.map(|field| self.least(&field.kind)).sum::<usize>() + tags
    }
}
