//! Versions of an API that are newer than what the generated codec knows, for any API.
//!
//! A newer version is mostly an older one with some fields more. So a request is read in two parts ([`request`]): the layout of
//! the guard says which fields are new, they are taken out, and the generated decoder reads the rest as the last version that it
//! knows. What was taken out comes as [`NewFields`], to be read in wire order. Structs of an answer get their new fields behind
//! the generated ones ([`Raised`]); [`encode`] and the list encoders of this folder write what is around them in the
//! last version that is known.
//!
//! To serve a version that the generated codec lacks: raise `versions` in `api_table`, add the new fields of the request to the
//! guard's layout, read with [`request`], wrap the structs of the answer in [`Raised`], and put Kafka's bytes under
//! `tests/golden`. Where a version replaces fields (topic ids for names) a reader of its own stands beside this file.

use std::vec;

use bytes::{Bytes, BytesMut};
use kafka_protocol::protocol::{Decodable, Encodable, Message};

use super::{decode_body, malformed, unencodable};
use crate::kafka::guard::{self, Field};
use crate::kafka::handler::{Disconnect, Outcome, Request, Response};
use crate::kafka::wire::{Malformed, Reader, Writer};

/// The version in which the generated codec writes and reads what there is of `version` in it.
pub fn generated<M: Message>(version: i16) -> i16 {
    version.min(M::VERSIONS.max)
}

/// Reads a request whose version may be newer than the generated decoder; `layout` is that of the guard.
pub fn request<M: Decodable + Message>(
    request: &Request,
    layout: &[Field],
) -> Result<(M, NewFields), Disconnect> {
    body(request.body.clone(), request.version, layout)
}

/// As [`request`], for a body that is at hand.
pub fn body<M: Decodable + Message>(
    body: Bytes,
    version: i16,
    layout: &[Field],
) -> Result<(M, NewFields), Disconnect> {
    let known = generated::<M>(version);
    if known == version {
        return Ok((decode_body(body, version)?, NewFields::default()));
    }
    let lowered = guard::lower(layout, version, known, &body).map_err(malformed)?;
    let message = decode_body(lowered.body.freeze(), known)?;
    Ok((message, NewFields(lowered.cut.into_iter())))
}

/// Values of a request that the generated message has no fields for, in wire order. None in versions that it knows.
#[derive(Debug, Default)]
pub struct NewFields(vec::IntoIter<Bytes>);

impl NewFields {
    /// The next one as `read` reads it; `None` where the version has none.
    pub fn next<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Disconnect> {
        let Some(value) = self.0.next() else { return Ok(None) };
        read(&mut Reader::new(&value, true)).map(Some).map_err(malformed)
    }
}

/// Encodes an answer that is in `version` what it was in the last version that the generated codec knows.
pub fn encode<M: Encodable + Message>(message: &M, version: i16) -> Result<Response, Disconnect> {
    super::encode(message, generated::<M>(version))
}

/// [`encode`] as the outcome of a handler whose answer is ready.
pub fn reply<M: Encodable + Message>(message: &M, version: i16) -> Outcome {
    encode(message, version).into()
}

/// A struct of an answer with fields that the generated one lacks.
#[derive(Debug)]
pub struct Raised<M, F> {
    /// What the generated codec knows. It carries no unknown tags.
    pub message: M,
    /// Writes the fields of versions that are newer than that; older ones have none.
    pub new_fields: F,
}

/// What a list of an answer is made of.
pub trait Element {
    /// Appends the struct as `version` has it.
    fn put(&self, buffer: &mut BytesMut, version: i16) -> Result<(), Disconnect>;
}

impl<M: Encodable> Element for M {
    fn put(&self, buffer: &mut BytesMut, version: i16) -> Result<(), Disconnect> {
        self.encode(buffer, version).map_err(|error| unencodable::<M>(version, &error))
    }
}

impl<M: Encodable + Message, F: Fn(&mut Writer)> Element for Raised<M, F> {
    fn put(&self, buffer: &mut BytesMut, version: i16) -> Result<(), Disconnect> {
        self.message.put(buffer, generated::<M>(version))?;
        if version > M::VERSIONS.max {
            // Every flexible struct ends with its tags.
            let tags = buffer.split_off(buffer.len() - NO_TAGS.len());
            assert_eq!(tags[..], NO_TAGS, "a raised struct carries no tags");
            let mut writer = Writer::new(0, true);
            (self.new_fields)(&mut writer);
            buffer.extend_from_slice(&writer.into_inner());
            buffer.extend_from_slice(&NO_TAGS);
        }
        Ok(())
    }
}

/// The tags of a struct without any.
const NO_TAGS: [u8; 1] = [0];
