//! APPEND and SUBTRACT of IncrementalAlterConfigs.

use super::setting::{Kind, Setting};
use super::value::{InvalidValue, Value};

/// Why a list operation is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListChangeError {
    /// INVALID_CONFIG: the setting is no list.
    #[error("Can't {verb} to key {name} because its type is not LIST.")]
    NotAList {
        /// `APPEND` or `SUBTRACT`.
        verb: &'static str,
        /// The setting.
        name: String,
    },
    /// INVALID_CONFIG.
    #[error(transparent)]
    Value(#[from] InvalidValue),
}

/// The value after APPEND: entries that are there already are not added again. `current` is what is set now, or in force.
pub fn append(setting: &Setting, current: &str, entries: &str) -> Result<String, ListChangeError> {
    let mut list = list(setting, "APPEND", current)?;
    for entry in split(entries) {
        if !list.contains(&entry) {
            list.push(entry);
        }
    }
    Ok(list.join(","))
}

/// The value after SUBTRACT.
pub fn subtract(
    setting: &Setting,
    current: &str,
    entries: &str,
) -> Result<String, ListChangeError> {
    let mut list = list(setting, "SUBTRACT", current)?;
    let gone: Vec<String> = split(entries).collect();
    list.retain(|entry| !gone.contains(entry));
    Ok(list.join(","))
}

fn list(
    setting: &Setting,
    verb: &'static str,
    current: &str,
) -> Result<Vec<String>, ListChangeError> {
    if setting.kind != Kind::List {
        return Err(ListChangeError::NotAList { verb, name: setting.name.to_owned() });
    }
    match setting.parse(current)? {
        Value::List(list) => Ok(list),
        other => unreachable!("a list setting parses to a list, not to {other:?}"),
    }
}

fn split(entries: &str) -> impl Iterator<Item = String> {
    entries.split(',').map(|entry| entry.trim().to_owned()).filter(|entry| !entry.is_empty())
}
