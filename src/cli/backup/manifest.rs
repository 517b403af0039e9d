//! `highwater-backup.json`, the last file of an archive: what the others are, and their checksums. An archive without it
//! was never finished.
//!
//! One JSON object: `format` "highwater-backup", `version` 1, `release`, `clusterId`, `nodeId`, `taken` (milliseconds since
//! 1970), `partitions`, `members`: an array of `[path, bytes, CRC-32C of the bytes]`. The bytes of the object itself are
//! under the checksum of their zstd frame.

use serde_json::{Value, json};

use crate::types::Timestamp;

/// Name in the archive.
pub(in crate::cli) const FILE_NAME: &str = "highwater-backup.json";

const FORMAT: &str = "highwater-backup";

const VERSION: u64 = 1;

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
    pub partitions: u64,
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
            "partitions": self.partitions,
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
        if json["version"] != VERSION {
            return Err(format!("version {} is not known to this release", json["version"]));
        }
        let read = || {
            Some(Self {
                cluster_id: json["clusterId"].as_str()?.to_owned(),
                node_id: i32::try_from(json["nodeId"].as_i64()?).ok()?,
                taken: Timestamp::new(json["taken"].as_i64()?),
                partitions: json["partitions"].as_u64()?,
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
