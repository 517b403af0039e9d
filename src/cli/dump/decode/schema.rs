//! Tables of fields, and the reading of bytes by them: the part of Kafka's message definitions that records use.

use serde_json::{Map, Number, Value};

use super::base64;
use crate::coordinator::transactions::TransactionState;
use crate::metadata::records::wire::{Reader, TagUse, WireError};

/// Whether fields of the kind [`Kind::Secret`] are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrets {
    Shown,
    Hidden,
}

/// One field: its name in Kafka's definition, its type, and the versions that have it.
#[derive(Debug)]
pub(super) struct Field {
    name: &'static str,
    kind: Kind,
    since: i16,
    until: i16,
    tag: Option<u32>,
}

/// Type of a field.
#[derive(Debug)]
pub(super) enum Kind {
    Bool,
    I8,
    I16,
    U16,
    I32,
    I64,
    F64,
    Text,
    NullableText,
    Bytes,
    NullableBytes,
    /// Bytes that may stand for a password.
    Secret,
    Uuid,
    Array(&'static Kind),
    NullableArray(&'static Kind),
    Struct(&'static [Field]),
    /// A byte or a varint says whether it is there.
    NullableStruct(&'static [Field]),
    /// A byte that stands for a state of transactions.
    TransactionState,
    /// Bytes that are a message of an older protocol: its version, then these fields in the inflexible encoding.
    Message(&'static [Field]),
}

/// A field of all versions.
pub(super) const fn field(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, since: 0, until: i16::MAX, tag: None }
}

impl Field {
    pub const fn since(self, version: i16) -> Self {
        Self { since: version, ..self }
    }

    /// The last version that has it.
    pub const fn until(self, version: i16) -> Self {
        Self { until: version, ..self }
    }

    /// A tagged field: shown where it is there.
    pub const fn tagged(self, tag: u32) -> Self {
        Self { tag: Some(tag), ..self }
    }

    fn is_in(&self, version: i16) -> bool {
        (self.since..=self.until).contains(&version)
    }
}

/// Reads a struct and its tagged fields. Tagged fields that the table lacks are left out.
pub(super) fn read(
    fields: &'static [Field],
    version: i16,
    r: &mut Reader<'_>,
    secrets: Secrets,
) -> Result<Value, WireError> {
    let mut shown = Map::new();
    let present = || fields.iter().filter(|field| field.is_in(version));
    for field in present().filter(|field| field.tag.is_none()) {
        shown.insert(field.name.to_owned(), value(&field.kind, version, r, secrets)?);
    }
    r.tags(|tag, r| {
        let Some(field) = present().find(|field| field.tag == Some(tag)) else {
            return Ok(TagUse::Unknown);
        };
        shown.insert(field.name.to_owned(), value(&field.kind, version, r, secrets)?);
        Ok(TagUse::Read)
    })?;
    Ok(Value::Object(shown))
}

fn value(
    kind: &'static Kind,
    version: i16,
    r: &mut Reader<'_>,
    secrets: Secrets,
) -> Result<Value, WireError> {
    Ok(match kind {
        Kind::Bool => r.bool()?.into(),
        Kind::I8 => r.i8()?.into(),
        Kind::I16 => r.i16()?.into(),
        Kind::U16 => r.u16()?.into(),
        Kind::I32 => r.i32()?.into(),
        Kind::I64 => r.i64()?.into(),
        Kind::F64 => real(f64::from_bits(r.i64()?.cast_unsigned())),
        Kind::Text => r.string()?.into(),
        Kind::NullableText => r.nullable_string()?.into(),
        Kind::Bytes => base64(r.bytes()?).into(),
        Kind::NullableBytes => {
            r.nullable_bytes()?.map_or(Value::Null, |bytes| base64(bytes).into())
        }
        Kind::Secret => {
            let bytes = r.bytes()?;
            if secrets == Secrets::Shown { base64(bytes).into() } else { "hidden".into() }
        }
        Kind::Uuid => r.uuid()?.to_string().into(),
        Kind::Array(of) => Value::Array(r.array_of(|r| value(of, version, r, secrets))?),
        Kind::NullableArray(of) => r
            .nullable_array_of(|r| value(of, version, r, secrets))?
            .map_or(Value::Null, Value::Array),
        Kind::Struct(fields) => read(fields, version, r, secrets)?,
        Kind::NullableStruct(fields) => match r.unsigned_varint()? {
            0 => Value::Null,
            _ => read(fields, version, r, secrets)?,
        },
        Kind::TransactionState => state(r.i8()?),
        Kind::Message(fields) => message(fields, r.bytes()?, secrets),
    })
}

/// JSON knows no infinity.
fn real(value: f64) -> Value {
    Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number)
}

fn state(id: i8) -> Value {
    let known = usize::try_from(id).ok().and_then(|id| TransactionState::ALL.get(id));
    known.map_or(id.into(), |state| state.name().into())
}

/// Bytes that a client made up are shown as they are.
fn message(fields: &'static [Field], bytes: &[u8], secrets: Secrets) -> Value {
    let mut r = Reader::inflexible(bytes);
    let whole = r.i16().and_then(|version| read(fields, version.max(0), &mut r, secrets));
    whole.unwrap_or_else(|_| base64(bytes).into())
}
