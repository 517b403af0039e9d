//! Records that are kept but not understood: each is held under what a later record replaces or removes it by.

use std::sync::Arc;

use super::wire::{Reader, WireError, Writer};
use crate::types::Uuid;

/// Identity of a kept record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpaqueKey {
    /// A controller by its id.
    Controller(i32),
    /// A quota: its encoded entity, and its name.
    Quota(Vec<u8>, String),
    /// An ACL by its id.
    Acl(Uuid),
    /// A SCRAM credential: user and mechanism.
    Scram(String, i8),
    /// A delegation token by its id.
    Token(String),
}

/// A record that puts one there or takes it away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaqueChange {
    /// Number of the record type.
    pub kind: u32,
    /// Which; `None` for records without lasting effect.
    pub key: Option<OpaqueKey>,
    /// Takes away rather than puts.
    pub removes: bool,
    /// The whole value, frame included.
    pub value: Arc<[u8]>,
}

impl OpaqueChange {
    /// Reads the key and walks over the rest of the body; `value` is the whole frame.
    pub(super) fn decode(kind: u32, value: &[u8], r: &mut Reader<'_>) -> Result<Self, WireError> {
        let (key, removes) = match kind {
            10 => (Some(token(r)?), false),
            26 => (Some(OpaqueKey::Token(r.string()?)), true),
            11 => (Some(scram(r)?), false),
            22 => (Some(OpaqueKey::Scram(r.string()?, r.i8()?)), true),
            14 => {
                let (key, removes) = quota(r)?;
                (Some(key), removes)
            }
            18 => (Some(acl(r)?), false),
            19 => (Some(OpaqueKey::Acl(r.uuid()?)), true),
            27 => (Some(controller(r)?), false),
            29 => {
                let key = OpaqueKey::Controller(r.i32()?);
                skip_rest(r);
                return Ok(Self { kind, key: Some(key), removes: true, value: value.into() });
            }
            _ => (None, false),
        };
        match key {
            Some(_) => r.no_tags()?,
            // Nothing is known of the body, so all of it is the body.
            None => skip_rest(r),
        }
        Ok(Self { kind, key, removes, value: value.into() })
    }
}

fn skip_rest(r: &mut Reader<'_>) {
    *r = Reader::new(&[]);
}

/// `DelegationTokenRecord`: owner, requester, renewers, issue, maximum and expiration time, id.
fn token(r: &mut Reader<'_>) -> Result<OpaqueKey, WireError> {
    r.string()?;
    r.string()?;
    r.array_of(|r| r.string().map(drop))?;
    for _ in 0..3 {
        r.i64()?;
    }
    Ok(OpaqueKey::Token(r.string()?))
}

/// `UserScramCredentialRecord`: name, mechanism, salt, stored key, server key, iterations.
fn scram(r: &mut Reader<'_>) -> Result<OpaqueKey, WireError> {
    let key = OpaqueKey::Scram(r.string()?, r.i8()?);
    for _ in 0..3 {
        r.bytes()?;
    }
    r.i32()?;
    Ok(key)
}

/// `ClientQuotaRecord`: entity, key, value f64, remove. The entity is encoded again in the order of its types, so that the
/// order on the wire does not matter.
fn quota(r: &mut Reader<'_>) -> Result<(OpaqueKey, bool), WireError> {
    let mut entity = r.array_of(|r| {
        let part = (r.string()?, r.nullable_string()?);
        r.no_tags()?;
        Ok(part)
    })?;
    entity.sort();
    let mut encoded = Writer::default();
    encoded.array_of(&entity, |w, (kind, name)| {
        w.string(kind);
        w.nullable_string(name.as_deref());
    });
    let name = r.string()?;
    r.i64()?;
    let removes = r.bool()?;
    Ok((OpaqueKey::Quota(encoded.into_bytes(), name), removes))
}

/// `AccessControlEntryRecord`: id, resource type and name, pattern type, principal, host, operation, permission type.
fn acl(r: &mut Reader<'_>) -> Result<OpaqueKey, WireError> {
    let key = OpaqueKey::Acl(r.uuid()?);
    r.i8()?;
    r.string()?;
    r.i8()?;
    r.string()?;
    r.string()?;
    r.i8()?;
    r.i8()?;
    Ok(key)
}

/// `RegisterControllerRecord`: id, incarnation, migration flag, end points, features.
fn controller(r: &mut Reader<'_>) -> Result<OpaqueKey, WireError> {
    let key = OpaqueKey::Controller(r.i32()?);
    r.uuid()?;
    r.bool()?;
    r.array_of(|r| {
        r.string()?;
        r.string()?;
        r.u16()?;
        r.i16()?;
        r.no_tags()
    })?;
    r.array_of(|r| {
        r.string()?;
        r.i16()?;
        r.i16()?;
        r.no_tags()
    })?;
    Ok(key)
}
