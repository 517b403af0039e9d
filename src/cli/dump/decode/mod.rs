//! What the records of the internal topics and of the metadata log say, under the names of Kafka's message definitions.
//!
//! The engine's own decoders keep what the engine needs; here every field is shown, also of records that the engine keeps
//! as bytes or skips (share groups, tokens, quotas), so each type has its fields in a table ([`schema`]). Whether the engine
//! can read a record is asked of the engine's decoders, and said if it cannot.

mod groups;
mod metadata;
mod schema;
mod transactions;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::ValueEnum;
use serde_json::{Value, json};

use self::schema::{Field, Secrets};
use crate::metadata::records::wire::{Reader, WireError};
use crate::storage::DirectoryName;

/// What the records of a log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Decoding {
    /// By the name of the directory
    Auto,
    /// Keys and values of a topic: shown as they are
    None,
    /// __consumer_offsets
    Offsets,
    /// __transaction_state
    Transactions,
    /// __share_group_state
    ShareGroups,
    /// __cluster_metadata
    Metadata,
}

impl Decoding {
    pub fn of(self, directory: &DirectoryName) -> Self {
        match (self, directory) {
            (Self::Auto, DirectoryName::Metadata) => Self::Metadata,
            (Self::Auto, DirectoryName::Partition(partition)) => match partition.topic.as_str() {
                "__consumer_offsets" => Self::Offsets,
                "__transaction_state" => Self::Transactions,
                "__share_group_state" => Self::ShareGroups,
                _ => Self::None,
            },
            (Self::Auto, _) => Self::None,
            (chosen, _) => chosen,
        }
    }
}

/// What a record says, or why that is not known.
pub(super) struct Decoded {
    pub key: Option<Value>,
    pub value: Option<Value>,
    /// The engine's complaint.
    pub damage: Option<String>,
}

/// A record of a log of this kind; `None` if its keys and values are not to be decoded.
pub(super) fn record(
    decoding: Decoding,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    secrets: bool,
) -> Option<Decoded> {
    let secrets = if secrets { Secrets::Shown } else { Secrets::Hidden };
    match decoding {
        Decoding::Auto | Decoding::None => None,
        Decoding::Offsets => Some(groups::decode(key, value)),
        Decoding::ShareGroups => Some(groups::decode_share_state(key, value)),
        Decoding::Transactions => Some(transactions::decode(key, value)),
        Decoding::Metadata => Some(metadata::decode(value, secrets)),
    }
}

/// A record of a control batch: its type, and what it says.
pub(super) fn control(key: Option<&[u8]>, value: Option<&[u8]>) -> Option<(&'static str, Value)> {
    metadata::decode_control(key?, value?)
}

/// As Kafka's tools show bytes.
pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// A type of record of a coordinator.
struct RecordType {
    number: i16,
    key: &'static [Field],
    value: &'static [Field],
    /// Newest version of the value that the table knows, and the first that is flexible.
    newest: i16,
    first_flexible: i16,
}

/// Key and value of a coordinator's record by its type; `None` for a type that the table does not have.
fn coordinator_record(
    types: &'static [RecordType],
    key: &[u8],
    value: Option<&[u8]>,
) -> Result<Option<(Value, Value)>, WireError> {
    let mut reader = Reader::inflexible(key);
    let number = reader.i16()?;
    let Some(kind) = types.iter().find(|kind| kind.number == number) else { return Ok(None) };
    let fields = schema::read(kind.key, 0, &mut reader, Secrets::Hidden)?;
    let key = json!({ "type": number.to_string(), "data": fields });
    let Some(value) = value else { return Ok(Some((key, Value::Null))) };
    let version = Reader::new(value).i16()?;
    if !(0..=kind.newest).contains(&version) {
        return Ok(None);
    }
    // The version was just read.
    let body = &value[size_of::<i16>()..];
    let is_flexible = version >= kind.first_flexible;
    let mut reader = if is_flexible { Reader::new(body) } else { Reader::inflexible(body) };
    let fields = schema::read(kind.value, version, &mut reader, Secrets::Hidden)?;
    Ok(Some((key, json!({ "version": version.to_string(), "data": fields }))))
}

/// The same with the verdict of the engine.
fn decoded_with<E: ToString>(
    types: &'static [RecordType],
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    engine: impl FnOnce(&[u8], Option<&[u8]>) -> Result<(), E>,
) -> Decoded {
    let Some(key) = key else {
        let damage = Some("a record without a key".to_owned());
        return Decoded { key: None, value: None, damage };
    };
    let shown = coordinator_record(types, key, value);
    let damage = engine(key, value).err().map(|error| error.to_string());
    match shown {
        Ok(Some((key, value))) => Decoded { key: Some(key), value: Some(value), damage },
        Ok(None) => Decoded { key: None, value: None, damage },
        Err(error) => {
            Decoded { key: None, value: None, damage: damage.or(Some(error.to_string())) }
        }
    }
}
