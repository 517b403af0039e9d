//! `highwater check` on directories that Apache Kafka left: what it finds, and that it writes nothing.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the machine"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clap::Parser;
use highwater::cli::{self, Arguments};
use serde_json::Value;
use support::golden::Golden;

/// The answer, and whether everything would be served.
fn check(directories: &[&Path], more: &[&str]) -> (String, bool) {
    let words = ["highwater", "check"].into_iter();
    let words = words.chain(directories.iter().map(|path| path.to_str().unwrap()));
    let arguments = Arguments::try_parse_from(words.chain(more.iter().copied())).unwrap();
    let mut out = Vec::new();
    let ran = cli::run(arguments.command.unwrap(), &mut out);
    if let Err(error) = &ran {
        assert_eq!(error.exit_code(), 1, "{error}");
    }
    (String::from_utf8(out).unwrap(), ran.is_ok())
}

fn check_json(directory: &Path) -> Value {
    let (text, served) = check(&[directory], &["--json"]);
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["served"], served);
    found
}

/// Every name below a directory, with content and time of change of files.
fn everything(root: &Path) -> BTreeMap<String, Option<(Vec<u8>, std::time::SystemTime)>> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                found.insert(name, None);
                left.push(path);
            } else {
                let changed = fs::metadata(&path).unwrap().modified().unwrap();
                found.insert(name, Some((fs::read(&path).unwrap(), changed)));
            }
        }
    }
    found
}

#[test]
fn every_golden_directory_is_served_and_stays_as_it_is() {
    let clean = ["clean-4.4", "clean-4.3", "clean-3.9", "legacy-magic01"];
    for fixture in clean.into_iter().chain(["killed-4.4", "torn-4.4", "torn-after-clean-stop-4.4"])
    {
        let golden = Golden::unpack(fixture, "data.tar.gz");
        let before = everything(golden.root());
        let found = check_json(golden.root());
        assert!(everything(golden.root()) == before, "{fixture} was changed");
        assert_eq!(found["served"], true, "{fixture}: {found:#}");
        if clean.contains(&fixture) {
            assert_eq!(
                (&found["repairs"], &found["losses"]),
                (&Value::Array(vec![]), &Value::Array(vec![])),
                "{fixture}"
            );
        }
    }
}

#[test]
fn what_kafka_says_of_the_cluster_is_found() {
    for (fixture, release) in [("clean-4.4", "4.4"), ("clean-4.3", "4.3"), ("clean-3.9", "3.9")] {
        let golden = Golden::unpack(fixture, "data.tar.gz");
        let found = check_json(golden.root());
        let (metadata, kafka) = (&found["metadata"], &golden.expected);
        assert_eq!(metadata["writtenBy"], format!("Apache Kafka {release}"));
        assert_eq!(metadata["clusterId"], kafka["cluster"]["clusterId"]);
        assert_eq!(metadata["features"], kafka["cluster"]["finalizedFeatures"]);
        assert_eq!(metadata["acls"], kafka["acls"].as_array().unwrap().len());
        assert_eq!(metadata["quotas"], kafka["quotas"].as_object().unwrap().len());
        // Kafka lost one of alice's two at its restart; both are in its log.
        assert_eq!(metadata["scramCredentials"], 2);
        let topics = kafka["topics"].as_object().unwrap();
        assert_eq!(metadata["topics"], topics.len());
        let partitions = topics.values().flat_map(|topic| topic["partitions"].as_object().unwrap());
        let offsets: i64 = partitions
            .map(|(_, answer)| {
                answer["highWatermark"].as_i64().unwrap()
                    - answer["logStartOffset"].as_i64().unwrap()
            })
            .sum();
        assert_eq!(found["offsets"], offsets, "{fixture}");
        let groups = kafka["groups"].as_object().unwrap();
        let named = |group: &Value| group["name"].as_str().unwrap().to_owned();
        let mut names: Vec<String> =
            found["groups"].as_array().unwrap().iter().map(named).collect();
        names.sort();
        let expected: Vec<&String> = groups
            .iter()
            .filter(|(_, group)| group["type"] != "Share")
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names.iter().collect::<Vec<_>>(), expected, "{fixture}");
        let open = kafka["transactions"].as_object().unwrap().iter();
        let open: Vec<&String> =
            open.filter(|(_, one)| one["state"] == "Ongoing").map(|(id, _)| id).collect();
        assert_eq!(open, [found["openTransactions"][0]["id"].as_str().unwrap()]);
    }
}

#[test]
fn damage_is_named_with_what_a_start_would_do() {
    let golden = Golden::unpack("torn-after-clean-stop-4.4", "data.tar.gz");
    let (text, served) = check(&[golden.root()], &[]);
    assert!(served);
    for words in [
        "stopped cleanly",
        "cut 65 bytes off the end of",
        "cut 128 bytes off the end of",
        "rebuild",
        "three-1 has lost records: it ends at offset 0, and was once synced up to 12",
    ] {
        assert!(text.contains(words), "{words:?} is missing:\n{text}");
    }
}

#[test]
fn a_directory_that_a_start_refuses_ends_with_1_and_the_reason() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    let meta = golden.root().join("meta.properties");
    let text = fs::read_to_string(&meta).unwrap();
    fs::write(&meta, text.replace("version=1", "version=0")).unwrap();
    let (text, served) = check(&[golden.root()], &[]);
    assert!(!served);
    assert!(text.contains("ZooKeeper") && text.contains("migrate"), "{text}");
}

#[test]
fn one_bad_partition_is_named_and_the_others_are_served() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    let log = golden.root().join("plain-0/00000000000000000000.log");
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    let found = check_json(golden.root());
    assert_eq!(found["notServed"].as_array().unwrap().len(), 1, "{found:#}");
    assert!(found["notServed"][0].as_str().unwrap().starts_with("plain-0: "), "{found:#}");
}

/// Kafka takes the whole log directory offline for it.
#[test]
fn a_damaged_checkpoint_of_epochs_is_a_repair() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    fs::write(golden.root().join("plain-0/leader-epoch-checkpoint"), "nonsense\n").unwrap();
    let found = check_json(golden.root());
    assert_eq!(found["notServed"], serde_json::json!([]), "{found:#}");
    let file = golden.root().join("plain-0/leader-epoch-checkpoint");
    let told = format!("take {} away, which is damaged", file.display());
    assert_eq!(found["repairs"], serde_json::json!([told]), "{found:#}");
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let (text, served) = check(&[Path::new("/does/not/exist")], &[]);
    assert!(!served && text.is_empty());
}
