//! `highwater backup` and `restore` of directories that Apache Kafka wrote, interrupted in the middle, and of damaged archives.

#![allow(
    clippy::disallowed_methods,
    reason = "looks at real files, and kills the command as a process"
)]

#[path = "support/golden.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod golden;

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
