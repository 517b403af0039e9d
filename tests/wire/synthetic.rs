//! Request bodies made from the guard's own notation, so that every array of every version can be reached.

use bytes::{BufMut, Bytes, BytesMut};
use highwater::kafka::api_table::{APIS, Api, Body};
use highwater::kafka::guard::{self, Field, Kind};

/// The layout of an API's requests.
pub(crate) fn layout(api: &Api) -> &'static [Field] {
    match api.body {
        Body::Guarded(fields) => fields,
        Body::OwnReader => guard::PRODUCE,
    }
}

/// Every (API, version) served.
pub(crate) fn versions() -> impl Iterator<Item = (&'static Api, i16)> {
    APIS.iter().flat_map(|api| api.versions.clone().map(move |version| (api, version)))
}

/// A body with two elements in each array.
pub(crate) fn body(api: &Api, version: i16) -> Bytes {
    build(api, version, Arrays::Full).0
}

/// A body that asks about nothing: all arrays are empty.
pub(crate) fn empty(api: &Api, version: i16) -> Bytes {
    build(api, version, Arrays::Empty).0
}

/// The same, once per array on the way through the first elements, with a count there that no body can hold.
pub(crate) fn bodies_with_a_huge_count(api: &Api, version: i16) -> Vec<Bytes> {
    let arrays = build(api, version, Arrays::Full).1;
    (0..arrays).map(|array| build(api, version, Arrays::Huge(array)).0).collect()
}

/// What the arrays of a body are like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrays {
    /// Without elements.
    Empty,
    /// With two elements.
    Full,
    /// As `Full`, but the one with this number claims too many.
    Huge(usize),
}

/// The body and its number of arrays.
fn build(api: &Api, version: i16, kind: Arrays) -> (Bytes, usize) {
    let flexible = api.is_flexible(version);
    let mut builder = Builder { out: BytesMut::new(), version, flexible, arrays: 0, kind };
    builder.fields(layout(api));
    (builder.out.freeze(), builder.arrays)
}

struct Builder {
    out: BytesMut,
    version: i16,
    flexible: bool,
    arrays: usize,
    kind: Arrays,
}

impl Builder {
    fn fields(&mut self, fields: &[Field]) {
        let version = self.version;
        for field in fields.iter().filter(|field| field.is_in(version)) {
            self.value(&field.kind);
        }
        if self.flexible {
            // One unknown tag, 99, of two bytes.
            self.out.put_slice(&[1, 99, 2, 7, 7]);
        }
    }

    fn value(&mut self, kind: &Kind) {
        match kind {
            Kind::Fixed(len) => self.out.put_bytes(0, *len),
            Kind::Text if self.flexible => self.out.put_slice(&[3, b'a', b'b']),
            Kind::Text => self.out.put_slice(&[0, 2, b'a', b'b']),
            Kind::Blob if self.flexible => self.out.put_slice(&[3, 1, 2]),
            Kind::Blob => self.out.put_slice(&[0, 0, 0, 2, 1, 2]),
            Kind::Structs(fields) => self.twice(|builder| builder.fields(fields)),
            Kind::List(element) => self.twice(|builder| builder.value(element)),
            Kind::Optional(fields) => {
                self.out.put_u8(1);
                self.fields(fields);
            }
        }
    }

    fn twice(&mut self, element: impl Fn(&mut Self)) {
        let huge = self.kind == Arrays::Huge(self.arrays);
        let count = if self.kind == Arrays::Empty { 0 } else { 2 };
        self.arrays += 1;
        match (self.flexible, huge) {
            (true, true) => self.out.put_slice(&[0xff, 0xff, 0xff, 0xff, 0x0f]),
            (true, false) => self.out.put_u8(count as u8 + 1),
            (false, true) => self.out.put_i32(i32::MAX),
            (false, false) => self.out.put_i32(count),
        }
        (0..count).for_each(|_| element(self));
    }
}
