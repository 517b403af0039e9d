//! `highwater backup` and `restore` of directories that Apache Kafka wrote, interrupted in the middle, and of damaged archives.

#![allow(
    clippy::disallowed_methods,
    reason = "looks at real files, and kills the command as a process"
)]

#[path = "support/golden.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod golden;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use golden::Golden;
use highwater::env::{Random as _, SeededRandom};
use tempfile::TempDir;

fn highwater(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_highwater")).args(arguments).output().expect("it runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

#[track_caller]
fn succeed(arguments: &[&str]) -> String {
    let ended = highwater(arguments);
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{arguments:?}: {said}");
    said
}

#[track_caller]
fn fail(arguments: &[&str]) -> String {
    let ended = highwater(arguments);
    assert_eq!(ended.status.code(), Some(1), "{arguments:?}");
    String::from_utf8(ended.stderr).expect("text")
}

/// Files below a directory that a restored one has too, relative to it.
fn archived(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(archived(&path));
        } else {
            let name = path.file_name().expect("a name").to_str().expect("text").to_owned();
            let made_again = [".index", ".timeindex", ".txnindex", ".snapshot"];
            let is_log = name.ends_with(".log") || name.ends_with(".checkpoint");
            let is_state =
                ["partition.metadata", "leader-epoch-checkpoint", "log-start-offset-checkpoint"];
            if is_log || is_state.contains(&name.as_str()) {
                assert!(!made_again.iter().any(|suffix| name.ends_with(suffix)));
                found.push(path);
            }
        }
    }
    found
}

#[track_caller]
fn assert_same(root: &Path, restored: &Path) {
    let files = archived(root);
    assert!(files.len() > 50, "{}", files.len());
    for path in files {
        let relative = path.strip_prefix(root).expect("below");
        if relative == Path::new("__cluster_metadata-0/leader-epoch-checkpoint") {
            continue;
        }
        let copy =
            fs::read(restored.join(relative)).unwrap_or_else(|e| panic!("{relative:?}: {e}"));
        assert!(copy == fs::read(&path).expect("readable"), "{relative:?}");
    }
    assert!(restored.join("meta.properties").exists());
    assert!(!restored.join("highwater-restore.json").exists());
}

#[test]
fn a_directory_comes_back_as_it_was() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    let work = TempDir::new().expect("a directory");
    let (archive, restored) = (work.path().join("a.tar.zst"), work.path().join("restored"));
    succeed(&["backup", text(&archive), "--data-dir", text(golden.root())]);
    succeed(&["restore", text(&archive), "--check"]);
    succeed(&["restore", text(&archive), "--data-dir", text(&restored)]);
    assert_same(golden.root(), &restored);
    // Nothing but the archive is left beside it, and neither is written over.
    let names = fs::read_dir(work.path()).expect("readable").count();
    assert_eq!(names, 2);
    assert!(
        fail(&["backup", text(&archive), "--data-dir", text(golden.root())]).contains("already")
    );
    assert!(
        fail(&["restore", text(&archive), "--data-dir", text(&restored)]).contains("not empty")
    );
}

#[test]
fn others_can_read_an_archive() {
    let golden = Golden::unpack("clean-3.9", "data.tar.gz");
    let work = TempDir::new().expect("a directory");
    let archive = work.path().join("a.tar.zst");
    succeed(&["backup", text(&archive), "--data-dir", text(golden.root())]);
    let decoder = zstd::Decoder::new(fs::File::open(&archive).expect("there")).expect("zstd");
    let mut tar = tar::Archive::new(decoder);
    let names: Vec<String> = tar
        .entries()
        .expect("a tar")
        .map(|entry| entry.expect("whole").path().expect("a path").display().to_string())
        .collect();
    assert_eq!(names.last().expect("some"), "highwater-backup.json");
    assert!(names.contains(&"plain-0/00000000000000000000.log".to_owned()));
}

#[test]
fn a_damaged_archive_is_refused_and_leaves_nothing_to_start_on() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    let work = TempDir::new().expect("a directory");
    let archive = work.path().join("a.tar.zst");
    succeed(&["backup", text(&archive), "--data-dir", text(golden.root())]);
    let whole = fs::read(&archive).expect("there");
    let seed = 20_261_130;
    println!("seed {seed}");
    let random = SeededRandom::new(seed);
    for round in 0..12 {
        let at = (random.next_u64() % whole.len() as u64) as usize;
        let mut bytes = whole.clone();
        match round % 2 {
            0 => bytes[at] ^= 0x10,
            _ => bytes.truncate(at),
        }
        let damaged = work.path().join("damaged.tar.zst");
        fs::write(&damaged, &bytes).expect("room");
        let target = work.path().join(format!("restored-{round}"));
        let said = fail(&["restore", text(&damaged), "--data-dir", text(&target)]);
        assert!(said.contains("damaged.tar.zst"), "{said}");
        assert!(!target.join("meta.properties").exists(), "byte {at}: {said}");
        fail(&["restore", text(&damaged), "--check"]);
    }
}

/// A directory of some hundred megabytes that do not get smaller.
fn large() -> Golden {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    let random = SeededRandom::new(7);
    for segment in 1..=12 {
        let path = golden.directory("plain-0").join(format!("{:020}.log", segment * 1_000));
        let mut file = fs::File::create(path).expect("a file");
        for _ in 0..10 {
            let words = (0..131_072).flat_map(|_| random.next_u64().to_le_bytes());
            file.write_all(&words.collect::<Vec<u8>>()).expect("room");
        }
    }
    golden
}

/// Starts the command and kills it once it has said how far it is so often.
fn kill_after(arguments: &[&str], lines: usize) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_highwater"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let said = BufReader::new(process.stderr.take().expect("piped"));
    let count = said.lines().take(lines).filter(Result::is_ok).count();
    assert_eq!(count, lines, "it was killed in the middle");
    process.kill().expect("SIGKILL");
    process.wait().expect("it ends");
}

#[test]
fn an_interrupted_backup_and_an_interrupted_restore_go_on() {
    let golden = large();
    let work = TempDir::new().expect("a directory");
    let archive = work.path().join("a.tar.zst");
    let backup = ["backup", text(&archive), "--data-dir", text(golden.root())];
    kill_after(&backup, 9);
    assert!(!archive.exists());
    let partial = work.path().join("a.tar.zst.partial");
    assert!(partial.exists(), "there is something to go on with");
    let said = succeed(&backup);
    assert!(said.contains("goes on"), "{said}");
    assert!(archive.exists() && !partial.exists());
    let restored = work.path().join("restored");
    let restore = ["restore", text(&archive), "--data-dir", text(&restored)];
    kill_after(&restore, 5);
    assert!(!restored.join("meta.properties").exists(), "nothing starts on half of it");
    succeed(&restore);
    assert_same(golden.root(), &restored);
}

#[test]
fn a_backup_does_not_go_on_with_other_files() {
    let golden = large();
    let work = TempDir::new().expect("a directory");
    let archive = work.path().join("a.tar.zst");
    let backup = ["backup", text(&archive), "--data-dir", text(golden.root())];
    kill_after(&backup, 9);
    // As compaction does: another file in the place of one that was planned.
    fs::write(golden.directory("timed-0").join("00000000000000000000.log"), b"other")
        .expect("room");
    let said = fail(&backup);
    assert!(said.contains("timed-0") && said.contains("--restart"), "{said}");
    succeed(&[&backup[..], &["--restart"]].concat());
    succeed(&["restore", text(&archive), "--check"]);
}

/// When a topic was created or deleted, in the order of the metadata log: time, id, name of a new topic.
type History = Vec<(i64, String, Option<String>)>;

fn history(root: &Path) -> History {
    let log = root.join("__cluster_metadata-0/00000000000000000000.log");
    let dumped = highwater(&["dump", "-r", "--json", text(&log)]);
    let mut history = Vec::new();
    for line in String::from_utf8(dumped.stdout).expect("text").lines() {
        let json: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let (time, record) = (json["timestamp"].as_i64(), &json["value"]);
        let id = || record["data"]["topicId"].as_str().expect("an id").to_owned();
        match record["type"].as_str() {
            Some("TOPIC_RECORD") => {
                let name = record["data"]["name"].as_str().expect("a name").to_owned();
                history.push((time.expect("a time"), id(), Some(name)));
            }
            Some("REMOVE_TOPIC_RECORD") => history.push((time.expect("a time"), id(), None)),
            _ => {}
        }
    }
    history
}

fn topics_at(history: &History, at: i64) -> BTreeSet<String> {
    let mut topics = BTreeMap::new();
    for (_, id, name) in history.iter().filter(|(time, ..)| *time <= at) {
        match name {
            Some(name) => topics.insert(id, name.clone()),
            None => topics.remove(id),
        };
    }
    topics.into_values().collect()
}

/// Names of the topics that have a directory of a partition.
fn topics_in(root: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(root).expect("readable").map(|entry| entry.expect("one").file_name());
    let names = names.filter_map(|name| {
        let name = name.into_string().expect("text");
        let (topic, partition) = name.rsplit_once('-')?;
        partition.parse::<u32>().ok()?;
        (topic != "__cluster_metadata").then(|| topic.to_owned())
    });
    names.collect()
}

fn iso(millis: i64) -> String {
    let seconds = format!("@{}.{:03}", millis / 1000, millis % 1000);
    let said =
        Command::new("date").args(["-u", "-d", &seconds, "+%Y-%m-%dT%H:%M:%S.%3NZ"]).output();
    String::from_utf8(said.expect("date").stdout).expect("text").trim().to_owned()
}

#[test]
fn a_directory_of_kafkas_comes_back_as_of_any_time_that_its_metadata_tells() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    let work = TempDir::new().expect("a directory");
    let archive = work.path().join("a.tar.zst");
    succeed(&["backup", text(&archive), "--data-dir", text(golden.root())]);
    let history = history(golden.root());
    let all = topics_in(golden.root());
    let times: BTreeSet<i64> = history.iter().map(|(time, ..)| *time).collect();
    assert!(times.len() > 3, "{times:?}");
    for (number, at) in times.into_iter().enumerate() {
        let restored = work.path().join(format!("restored-{number}"));
        let at_text = iso(at);
        let restore = ["restore", text(&archive), "--data-dir", text(&restored), "--at", &at_text];
        if topics_at(&history, at).contains("doomed") {
            let said = fail(&restore);
            assert!(said.contains("topic doomed was deleted at 2026-"), "{said}");
            assert!(said.contains("--incomplete"), "{said}");
            assert!(!restored.join("meta.properties").exists(), "nothing starts on it");
        }
        succeed(&[&restore[..], &["--incomplete"]].concat());
        let expected: BTreeSet<String> =
            topics_at(&history, at).intersection(&all).cloned().collect();
        assert_eq!(topics_in(&restored), expected, "as of {at_text}");
        // What an attempt has left behind, whole or half, makes no difference.
        let fresh = work.path().join(format!("fresh-{number}"));
        let fresh_restore = ["restore", text(&archive), "--data-dir", text(&fresh), "--at"];
        succeed(&[&fresh_restore[..], &[&at_text, "--incomplete"]].concat());
        let relative = |root: &Path| -> Vec<(PathBuf, Vec<u8>)> {
            let mut files = archived(root);
            files.sort();
            let read = |path: PathBuf| {
                let bytes = fs::read(&path).expect("readable");
                (path.strip_prefix(root).expect("below").to_owned(), bytes)
            };
            files.into_iter().map(read).collect()
        };
        assert!(relative(&restored) == relative(&fresh), "as of {at_text}");
        succeed(&["dump", "--verify", text(&restored)]);
        succeed(&["check", text(&restored)]);
    }
    let restored = work.path().join("early");
    let early = ["restore", text(&archive), "--data-dir", text(&restored), "--at", "2020-01-01"];
    let said = fail(&early);
    assert!(said.contains("covers 2026-"), "{said}");
    let said = fail(&[&early[..5], &["2100-01-01"]].concat());
    assert!(said.contains("not later"), "{said}");
}

#[test]
fn directories_are_archived_together_or_not_at_all() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    let work = TempDir::new().expect("a directory");
    let (second, archive) = (work.path().join("second"), work.path().join("a.tar.zst"));
    // Partitions that lie on another disk, as an operator moves them there.
    fs::create_dir(&second).expect("a directory");
    let identity = fs::read_to_string(golden.directory("meta.properties")).expect("there");
    let lines = identity.lines().map(|line| match line.starts_with("directory.id=") {
        true => "directory.id=AAAAAAAAAAAAAAAAAAAAZg",
        false => line,
    });
    let lines: Vec<&str> = lines.collect();
    fs::write(second.join("meta.properties"), lines.join("\n")).expect("room");
    for name in ["plain-0", "three-1"] {
        fs::rename(golden.directory(name), second.join(name)).expect("it moves");
    }
    let (first, second) = (text(golden.root()), text(&second));
    let said = fail(&["backup", text(&archive), "--data-dir", second]);
    assert!(said.contains("__cluster_metadata-0") && said.contains("--data-dir"), "{said}");
    succeed(&["backup", text(&archive), "--data-dir", second, "--data-dir", first]);
    let (a, b) = (work.path().join("a"), work.path().join("b"));
    let said = fail(&["restore", text(&archive), "--data-dir", text(&a)]);
    assert!(said.contains("2 log directories, and 1"), "{said}");
    succeed(&["restore", text(&archive), "--data-dir", text(&a), "--data-dir", text(&b)]);
    assert_same(golden.root(), &b);
    for name in ["plain-0", "three-1"] {
        let log = format!("{name}/00000000000000000000.log");
        let read = |root: &Path| fs::read(root.join(&log)).expect("there");
        assert_eq!(read(&a), read(Path::new(second)));
        assert!(!b.join(name).exists());
    }
    succeed(&["check", text(&a), text(&b)]);
}

#[test]
fn a_node_of_kafkas_whose_metadata_has_a_directory_of_its_own_is_understood_and_comes_back() {
    let golden = golden::unpack("metadata-alone-4.4", "data.tar.gz");
    let found = ["m", "a", "b"].map(|name| golden.path().join(name));
    let work = TempDir::new().expect("a directory");
    let (archive, restored) = (work.path().join("a.tar.zst"), ["m", "a", "b"]);
    let restored = restored.map(|name| work.path().join(name));
    let named = |paths: &[PathBuf; 3]| -> Vec<String> {
        paths.iter().flat_map(|path| ["--data-dir".to_owned(), text(path).to_owned()]).collect()
    };
    for (verb, paths) in [("backup", &found), ("restore", &restored)] {
        let named = named(paths);
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        succeed(&[&[verb, text(&archive)][..], &named].concat());
    }
    for [m, a, b] in [&found, &restored] {
        let checked = highwater(&["check", text(m), text(a), text(b)]);
        let said = String::from_utf8(checked.stdout).expect("text");
        assert!(checked.status.success(), "{said}");
        assert!(said.contains("2 topics with 5 partitions, 2007 offsets"), "{said}");
        assert!(said.contains("4 SCRAM credentials"), "{said}");
        for (path, holds) in [(m, "no log"), (a, "3 partitions"), (b, "2 partitions")] {
            let mut lines =
                said.lines().filter(|line| line.starts_with(&format!("{}: ", text(path))));
            assert!(lines.next().is_some_and(|line| line.contains(holds)), "{said}");
        }
        succeed(&["dump", "--verify", text(m), text(a), text(b)]);
    }
}
