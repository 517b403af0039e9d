//! The text of Kafka's dump tool, as lines of JSON under the names that `highwater dump --json` uses.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Fields by line by file. Keys and values are there where the tool has decoded them; other bytes are compared elsewhere.
pub fn parse(text: &[u8]) -> BTreeMap<String, Vec<Value>> {
    let mut files: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut file = String::new();
    for line in text.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        if let Some(name) = line.strip_prefix("Dumping ") {
            file = name.to_owned();
            files.insert(file.clone(), Vec::new());
        } else if let Some(fields) = parse_line(&file, &line) {
            files.get_mut(&file).expect("begun").push(fields);
        }
    }
    files
}

fn parse_line(file: &str, line: &str) -> Option<Value> {
    if let Some(record) = line.strip_prefix("| offset: ") {
        return Some(record_of(file, &format!("offset: {record}")));
    }
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| line.starts_with(prefix));
    if begins(&["baseOffset: "]) || (file.ends_with(".log") && begins(&["offset: "])) {
        return Some(batch_of(line));
    }
    let is_entry = begins(&["offset: ", "timestamp: ", "version: ", "producerId: "]);
    (is_entry && !file.ends_with(".log")).then(|| entry_of(line))
}

/// `name: value` pairs, in order; a value has no blank.
fn pairs(line: &str) -> Vec<(&str, &str)> {
    let mut words = line.split(' ');
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        pairs.push((name.trim_end_matches(':'), value));
    }
    pairs
}

fn plain(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))
}

fn optional(value: &str) -> Value {
    let inner = value.strip_prefix("OptionalLong[").and_then(|value| value.strip_suffix(']'));
    inner.map_or(Value::Null, plain)
}

fn batch_of(line: &str) -> Value {
    let mut fields = Map::new();
    let is_legacy = line.starts_with("offset: ");
    for (name, value) in pairs(line) {
        let (name, value) = match name {
            "offset" => ("lastOffset", plain(value)),
            "partitionLeaderEpoch" => ("leaderEpoch", plain(value)),
            "isTransactional" => ("transactional", plain(value)),
            "isControl" => ("control", plain(value)),
            "deleteHorizonMs" => (name, optional(value)),
            "compresscodec" => ("codec", Value::from(value)),
            "isvalid" => ("valid", plain(value)),
            "CreateTime" | "LogAppendTime" | "NoTimestampType" => {
                if !is_legacy {
                    fields.insert("timestampType".to_owned(), name.into());
                }
                ("maxTimestamp", plain(value))
            }
            _ => (name, plain(value)),
        };
        fields.insert(name.to_owned(), value);
    }
    Value::Object(fields)
}

fn entry_of(line: &str) -> Value {
    let mut fields = Map::new();
    for (name, value) in pairs(line) {
        let (name, value) = match name {
            "currentTxnFirstOffset" => ("transactionFirstOffset", optional(value)),
            // Derived, or the same as another.
            "version" | "firstSequence" | "lastTimestamp" => continue,
            _ => (name, plain(value)),
        };
        fields.insert(name.to_owned(), value);
    }
    Value::Object(fields)
}

const CONTROLS: [(&str, &str); 5] = [
    ("LeaderChange: ", "LEADER_CHANGE"),
    ("KRaftVersion ", "KRAFT_VERSION"),
    ("KRaftVoters ", "KRAFT_VOTERS"),
    ("SnapshotHeader ", "SNAPSHOT_HEADER"),
    ("SnapshotFooter ", "SNAPSHOT_FOOTER"),
];

fn record_of(file: &str, line: &str) -> Value {
    let mut fields = Map::new();
    let head = line.split(" headerKeys: ").next().expect("a line");
    for (name, value) in pairs(head) {
        let name = match name {
            "CreateTime" | "LogAppendTime" | "NoTimestampType" => "timestamp",
            // Of a message of magic 0 or 1, whose checksum is that of its batch.
            "isValid" | "crc" | "key" | "payload" => continue,
            name if ["offset", "keySize", "valueSize", "sequence"].contains(&name) => name,
            _ => break,
        };
        fields.insert(name.to_owned(), plain(value));
    }
    if let Some((_, marker)) = line.split_once(" endTxnMarker: ") {
        let (outcome, epoch) = marker.split_once(" coordinatorEpoch: ").expect("a marker");
        fields.insert("control".to_owned(), outcome.into());
        let value = json!({ "coordinatorEpoch": plain(epoch), "version": 0 });
        fields.insert("value".to_owned(), value);
    }
    for (text, name) in CONTROLS {
        if let Some((_, value)) = line.split_once(&format!("] {text}")) {
            fields.insert("control".to_owned(), name.into());
            fields.insert("value".to_owned(), plain(value));
        }
    }
    if file.starts_with("__") && !fields.contains_key("control") {
        decoded(line, &mut fields);
    }
    Value::Object(fields)
}

fn decoded(line: &str, fields: &mut Map<String, Value>) {
    let Some((_, rest)) = line.split_once("] ") else { return };
    let (key, value) = match rest.split_once("payload: ") {
        Some((key, value)) => (key, value),
        None => return,
    };
    // The tool of 3.9 shows those of coordinators in a form of its own, which says less.
    let json = |text: &str| serde_json::from_str(text).ok().filter(Value::is_object);
    if let Some(key) = key.trim().strip_prefix("key: ").and_then(json) {
        fields.insert("key".to_owned(), key);
    }
    let value = if value == "<DELETE>" { Some(Value::Null) } else { json(value) };
    if let Some(value) = value {
        fields.insert("value".to_owned(), value);
    }
}
