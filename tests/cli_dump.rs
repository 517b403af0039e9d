//! `highwater dump` beside Kafka's own dump tool: whatever that shows of a directory is found here too, byte for byte.

#![allow(clippy::disallowed_methods, reason = "reads the golden data")]

#[path = "support/golden.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod golden;
#[path = "cli_dump/kafkas.rs"]
mod kafkas;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use clap::Parser;
use flate2::read::GzDecoder;
use golden::Golden;
use highwater::cli::{self, Arguments, CommandError};
use serde_json::{Value, json};

/// Lines of JSON by the file that they are of, relative to the root.
type Dump = BTreeMap<String, Vec<Value>>;

fn run(arguments: &[&str]) -> (String, Result<(), CommandError>) {
    let arguments = ["highwater", "dump"].iter().chain(arguments);
    let command =
        Arguments::try_parse_from(arguments).expect("arguments").command.expect("a command");
    let mut out = Vec::new();
    let ended = cli::run(command, &mut out);
    (String::from_utf8(out).expect("text"), ended)
}

/// All of a directory, with every record.
fn dump(root: &Path, more: &[&str]) -> Dump {
    let path = root.to_str().expect("text");
    let (out, _) = run(&[&["--records", "--json", "--secrets", path], more].concat());
    let mut dump = Dump::new();
    for line in out.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let file = Path::new(line["file"].as_str().expect("a file"));
        let file = file.strip_prefix(root).expect("below the root").to_str().expect("text");
        dump.entry(file.to_owned()).or_default().push(line);
    }
    dump
}

fn gunzip(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(path);
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(path).expect("golden"))
        .read_to_end(&mut bytes)
        .expect("gzip");
    bytes
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["kind"] == kind).collect()
}

/// Bytes of a key or value, as `segments.json` writes them.
fn hex(line: &Value, name: &str) -> Value {
    use base64::Engine as _;
    let bytes = match (&line[name], &line[format!("{name}Base64")]) {
        (Value::String(text), _) => text.as_bytes().to_vec(),
        (_, Value::String(text)) => {
            base64::engine::general_purpose::STANDARD.decode(text).expect("base64")
        }
        _ => return Value::Null,
    };
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

/// Every batch, and every record of topics that are not internal, is as Kafka's own classes read it.
#[track_caller]
fn batches_and_records_are_kafkas(fixture: &str) {
    let golden = Golden::unpack(fixture, "data.tar.gz");
    let dump = dump(golden.root(), &[]);
    let expected: Value =
        serde_json::from_slice(&gunzip(&format!("{fixture}/segments.json.gz"))).expect("JSON");
    let mut batches = 0;
    for (partition, segments) in expected.as_object().expect("partitions") {
        for segment in segments.as_array().expect("segments") {
            let file = format!("{partition}/{}", segment["file"].as_str().expect("a name"));
            let wanted = segment["batches"].as_array().expect("batches");
            compare_batches(&file, wanted, &of_kind(&dump[&file], "batch"));
            let wanted = wanted.iter().flat_map(|b| b["records"].as_array().into_iter().flatten());
            if !partition.starts_with("__") {
                compare_records(
                    &file,
                    &wanted.collect::<Vec<_>>(),
                    &of_kind(&dump[&file], "record"),
                );
            }
            batches += segment["batches"].as_array().expect("batches").len();
        }
    }
    assert!(batches > 50, "{fixture}: {batches} batches were compared");
}

#[track_caller]
fn compare_batches(file: &str, wanted: &[Value], found: &[&Value]) {
    assert_eq!(found.len(), wanted.len(), "{file}");
    for (wanted, found) in wanted.iter().zip(found) {
        for (name, value) in wanted.as_object().expect("fields") {
            let is_legacy = wanted["magic"] != 2;
            let is_derived = ["records", "leaderEpoch", "baseOffset", "count"]
                .contains(&name.as_str())
                || ![
                    "position",
                    "size",
                    "lastOffset",
                    "magic",
                    "codec",
                    "maxTimestamp",
                    "crc",
                    "valid",
                ]
                .contains(&name.as_str());
            if name == "records" || (is_legacy && is_derived) {
                continue;
            }
            assert_eq!(&found[name], value, "{file} at {}: {name}", wanted["position"]);
        }
    }
}

#[track_caller]
fn compare_records(file: &str, wanted: &[&Value], found: &[&Value]) {
    assert_eq!(found.len(), wanted.len(), "{file}");
    for (wanted, found) in wanted.iter().zip(found) {
        assert_eq!(found["offset"], wanted["offset"], "{file}");
        assert_eq!(found["timestamp"], wanted["timestamp"], "{file} {found}");
        if found["control"].is_null() {
            assert_eq!(hex(found, "key"), wanted["key"], "{file} {found}");
            assert_eq!(hex(found, "value"), wanted["value"], "{file} {found}");
        }
        let headers = wanted.get("headers").and_then(Value::as_array).map_or(0, Vec::len);
        assert_eq!(found["headers"].as_array().map_or(0, Vec::len), headers, "{file} {found}");
    }
}

#[test]
fn batches_and_records_of_4_4_are_kafkas() {
    batches_and_records_are_kafkas("clean-4.4");
}

#[test]
fn batches_and_records_of_3_9_are_kafkas() {
    batches_and_records_are_kafkas("clean-3.9");
}

#[test]
fn batches_and_records_of_a_killed_broker_are_kafkas() {
    batches_and_records_are_kafkas("killed-4.4");
}

#[test]
fn messages_of_the_old_formats_are_kafkas() {
    batches_and_records_are_kafkas("legacy-magic01");
}

/// Every line of Kafka's dump tool has its counterpart, in the same order.
#[track_caller]
fn what_kafkas_tool_shows_is_shown(fixture: &str, at_least: usize) {
    let golden = Golden::unpack(fixture, "data.tar.gz");
    let dump = dump(golden.root(), &[]);
    let mut compared = 0;
    for (file, wanted) in kafkas::parse(&gunzip(&format!("{fixture}/dump.txt.gz"))) {
        let found = of_kinds(&dump[&file]);
        assert_eq!(found.len(), wanted.len(), "{file}");
        for (wanted, found) in wanted.iter().zip(found) {
            for (name, value) in wanted.as_object().expect("fields") {
                assert_eq!(&found[name], value, "{file}: {name} of {wanted}\nin {found}");
                compared += 1;
            }
        }
    }
    assert!(compared > at_least, "{fixture}: {compared} fields were compared");
}

fn of_kinds(lines: &[Value]) -> Vec<&Value> {
    let shown = ["batch", "record", "entry", "aborted", "producer"];
    lines.iter().filter(|line| shown.iter().any(|kind| line["kind"] == *kind)).collect()
}

#[test]
fn what_kafkas_tool_shows_of_4_4_is_shown() {
    what_kafkas_tool_shows_is_shown("clean-4.4", 20_000);
}

#[test]
fn what_kafkas_tool_shows_of_3_9_is_shown() {
    what_kafkas_tool_shows_is_shown("clean-3.9", 20_000);
}

#[test]
fn what_kafkas_tool_shows_of_the_old_formats_is_shown() {
    what_kafkas_tool_shows_is_shown("legacy-magic01", 1_000);
}

#[test]
fn nothing_is_wrong_with_what_kafka_left_behind() {
    for fixture in ["clean-4.4", "clean-4.3", "clean-3.9", "legacy-magic01"] {
        let golden = Golden::unpack(fixture, "data.tar.gz");
        let (out, ended) = run(&["--verify", golden.root().to_str().expect("text")]);
        assert_eq!(out, "", "{fixture}");
        ended.expect(fixture);
    }
}

/// The damage of `torn-4.4` that a look at the files can find, by partition.
#[test]
fn every_damage_is_found_where_it_is() {
    let golden = Golden::unpack("torn-4.4", "data.tar.gz");
    let root = golden.root();
    let (out, ended) = run(&["--verify", "--json", root.to_str().expect("text")]);
    assert_eq!(ended.expect_err("damage").exit_code(), 1);
    let problems: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let at = |partition: &str, name: &str| -> Vec<Option<u64>> {
        let file = root.join(partition).join(name);
        let of_file = |p: &&Value| p["kind"] == "problem" && p["file"] == json!(file.to_str());
        problems.iter().filter(of_file).map(|problem| problem["position"].as_u64()).collect()
    };
    let first = "00000000000000000000.log";
    assert_eq!(at("idempotent-0", first), [Some(6878)], "cut in its last batch");
    assert_eq!(at("idempotent-1", first), [Some(6817)], "garbage behind its last batch");
    assert_eq!(at("three-0", first), [Some(732)], "zeros behind its last batch");
    assert_eq!(at("plain-0", first), [Some(72)], "a bit in the middle");
    assert_eq!(at("txn-0", "00000000000000000070.log").len(), 1, "a bit in the last batch");
    assert_eq!(
        at("timed-0", first),
        [Some(98)],
        "a bit in a base offset, which no checksum covers"
    );
    assert!(!at("segments-0", "00000000000000000000.index").is_empty(), "entries behind the end");
    assert_eq!(at("recompressed-0", "00000000000000000000.snapshot"), [None]);
    assert_eq!(at("three-1", "00000000000000000000.index").len(), 1, "its log is gone");
}
