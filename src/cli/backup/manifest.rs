//! `highwater-backup.json`, the last file of an archive: what the others are, and their checksums. An archive without it
//! was never finished.
//!
//! One JSON object: `format` "highwater-backup", `version` 2, `release`, `clusterId`, `nodeId`, `taken` (milliseconds since
//! 1970), `directories` (how many log directories), `partitions`, `cleaned`: an object of partition and the offset up to which
//! compaction may have gone, `members`: an array of `[path, bytes, CRC-32C of the bytes]`. The bytes of the object itself are
//! under the checksum of their zstd frame. Version 1 has neither `directories`, which is 1, nor `cleaned`.
//!
//! Of several log directories the members' paths begin with `dir1/`, `dir2/` and so on, which no partition is called.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::types::{Offset, Timestamp};

/// Name in the archive.
pub(in crate::cli) const FILE_NAME: &str = "highwater-backup.json";

const FORMAT: &str = "highwater-backup";

const VERSION: u64 = 2;

/// A file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Member {
    pub path: String,
    pub bytes: u64,
    pub crc: u32,
}

impl Member {
    /// A file that was gone when its turn came, one of those that a broker makes again.
    pub fn absent(path: &str) -> Self {
        Self { path: path.to_owned(), bytes: u64::MAX, crc: 0 }
    }

    pub fn is_absent(&self) -> bool {
        self.bytes == u64::MAX
    }

    pub fn to_json(&self) -> Value {
        json!([self.path, self.bytes, self.crc])
    }

    pub fn of_json(value: &Value) -> Option<Self> {
        let [path, bytes, crc] = value.as_array()?.as_slice() else { return None };
        let crc = u32::try_from(crc.as_u64()?).ok()?;
        Some(Self { path: path.as_str()?.to_owned(), bytes: bytes.as_u64()?, crc })
    }
}

/// What an archive says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Manifest {
    pub cluster_id: String,
    pub node_id: i32,
    /// The moment that the archive shows.
    pub taken: Timestamp,
    /// Log directories.
    pub directories: usize,
    pub partitions: u64,
    /// Of compacted logs, by the name of the partition's directory: keys below the offset may have been superseded by what is
    /// below it too. `None` if the archive does not say.
    pub cleaned: Option<BTreeMap<String, Offset>>,
    /// In the order of the archive.
    pub members: Vec<Member>,
}

impl Manifest {
    pub fn encode(&self) -> Vec<u8> {
        let members: Vec<Value> = self.members.iter().map(Member::to_json).collect();
        json!({
            "format": FORMAT,
            "version": VERSION,
            "release": env!("CARGO_PKG_VERSION"),
            "clusterId": self.cluster_id,
            "nodeId": self.node_id,
            "taken": self.taken.get(),
            "directories": self.directories,
            "partitions": self.partitions,
            "cleaned": self.cleaned.as_ref().map(cleaned_to_json),
            "members": members,
        })
        .to_string()
        .into_bytes()
    }

    /// The text says what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let json: Value = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        if json["format"] != FORMAT {
            return Err("it is no manifest of a backup".to_owned());
        }
        if !matches!(json["version"].as_u64(), Some(1..=VERSION)) {
            return Err(format!("version {} is not known to this release", json["version"]));
        }
        let read = || {
            Some(Self {
                cluster_id: json["clusterId"].as_str()?.to_owned(),
                node_id: i32::try_from(json["nodeId"].as_i64()?).ok()?,
                taken: Timestamp::new(json["taken"].as_i64()?),
                directories: match &json["directories"] {
                    Value::Null => 1,
                    count => usize::try_from(count.as_u64()?).ok()?,
                },
                partitions: json["partitions"].as_u64()?,
                cleaned: match &json["cleaned"] {
                    Value::Null => None,
                    cleaned => Some(cleaned_of_json(cleaned)?),
                },
                members: json["members"]
                    .as_array()?
                    .iter()
                    .map(Member::of_json)
                    .collect::<Option<_>>()?,
            })
        };
        read().ok_or_else(|| "a field is missing or malformed".to_owned())
    }
}

fn cleaned_to_json(cleaned: &BTreeMap<String, Offset>) -> Value {
    cleaned.iter().map(|(name, offset)| (name.clone(), json!(offset.get()))).collect()
}

fn cleaned_of_json(json: &Value) -> Option<BTreeMap<String, Offset>> {
    let entry =
        |(name, offset): (&String, &Value)| Some((name.clone(), Offset::new(offset.as_i64()?)));
    json.as_object()?.iter().map(entry).collect()
}

/// Path in an archive of `directories` log directories of a file in the one at `root`, counted from 0.
pub(in crate::cli) fn archived_path(directories: usize, root: usize, path: &str) -> String {
    match directories {
        1 => path.to_owned(),
        _ => format!("dir{}/{path}", root + 1),
    }
}

/// The reverse, of a path with this first part; `None` for a path of an archive of one directory.
pub(in crate::cli) fn root_of(first: &str) -> Option<usize> {
    first.strip_prefix("dir")?.parse::<usize>().ok()?.checked_sub(1)
}
