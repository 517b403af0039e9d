use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;

use super::walk::{Step, Walk};
use super::{DumpArguments, OffsetRange, offset_range, run};
use crate::cli::CommandError;
use crate::env::{Disk, FileSystem, OpenMode, Random, SeededRandom};
use crate::log::batch::set_offset_and_epoch;
use crate::log::builder::{BatchBuilder, BatchTemplate};
use crate::types::{LeaderEpoch, Offset, Timestamp};

#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    dump: DumpArguments,
}

fn dump(path: &Path, flags: &[&str]) -> (String, Result<(), CommandError>) {
    let path = path.to_str().expect("text");
    let arguments = [&["dump", path][..], flags].concat();
    let arguments = Arguments::try_parse_from(arguments).expect("arguments").dump;
    let mut out = Vec::new();
    let ended = run(&arguments, &mut out);
    (String::from_utf8(out).expect("text"), ended)
}

/// A batch of three records.
fn batch(base: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new(BatchTemplate::default());
    for record in 0..3 {
        let at = Timestamp::new(1_700_000_000_000 + base + record);
        builder.append(at, Some(b"key"), Some(b"value"));
    }
    let mut bytes = builder.build().expect("memory");
    set_offset_and_epoch(&mut bytes, Offset::new(base), LeaderEpoch::new(0));
    bytes
}

fn write(directory: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.path().join(name);
    let file = Disk.open(&path, OpenMode::CreateOrTruncate).expect("a file");
    file.write_all_at(bytes, 0).expect("room");
    path
}

/// Base offsets of the right batches, and the gaps.
fn walked(bytes: &[u8]) -> (Vec<i64>, Vec<(u64, u64)>) {
    let directory = tempfile::TempDir::new().expect("a directory");
    let path = write(&directory, "00000000000000000000.log", bytes);
    let file = Disk.open(&path, OpenMode::ReadOnly).expect("there");
    let mut walk = Walk::new(file, None).expect("readable");
    let (mut right, mut gaps) = (Vec::new(), Vec::new());
    while let Some(step) = walk.next().expect("readable") {
        match step {
            Step::Batch { batch, damage: None, .. } => right.push(batch.offset_field().get()),
            Step::Batch { position, batch, .. } => {
                gaps.push((position, position + batch.bytes().len() as u64));
            }
            Step::Gap { from, to, .. } => gaps.push((from, to)),
            Step::TooLarge { .. } | Step::Growing { .. } => panic!("neither"),
        }
    }
    (right, gaps)
}

#[test]
fn what_follows_damage_is_found() {
    let whole = [batch(0), batch(3), batch(6), batch(9)].concat();
    let len = batch(0).len();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        let (right, gaps) = walked(&damaged);
        let hit = (at / len) as i64 * 3;
        // No checksum covers base offset and leader epoch.
        let in_batch = at % len;
        let is_covered = !(0..8).contains(&in_batch) && !(12..16).contains(&in_batch);
        let others: Vec<i64> = [0, 3, 6, 9].into_iter().filter(|base| *base != hit).collect();
        if is_covered {
            assert_eq!(right, others, "byte {at}");
            assert_eq!(gaps.len(), 1, "byte {at}: {gaps:?}");
        } else {
            assert!(others.iter().all(|base| right.contains(base)), "byte {at}: {right:?}");
        }
    }
}

#[test]
fn bytes_between_batches_are_one_gap() {
    let len = batch(0).len() as u64;
    let garbage = vec![0xa7; 5000];
    let zeros = vec![0; 3000];
    for between in [&garbage, &zeros] {
        let bytes = [batch(0), between.clone(), batch(3)].concat();
        let gap = (len, len + between.len() as u64);
        assert_eq!(walked(&bytes), (vec![0, 3], vec![gap]));
    }
    let torn = [batch(0), batch(3)[..50].to_vec()].concat();
    assert_eq!(walked(&torn), (vec![0], vec![(len, len + 50)]));
    assert_eq!(walked(&[]), (vec![], vec![]));
}

#[test]
fn any_bytes_under_any_name_end_in_an_answer() {
    let seed = 20_261_130;
    println!("seed {seed}");
    let random = SeededRandom::new(seed);
    let names = [
        "00000000000000000000.log",
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "00000000000000000000.txnindex",
        "00000000000000000009.snapshot",
        "00000000000000000009-0000000001.checkpoint",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "meta.properties",
        "quorum-state",
        ".kafka_cleanshutdown",
        "recovery-point-offset-checkpoint",
        "what",
    ];
    let directory = tempfile::TempDir::new().expect("a directory");
    for round in 0..40 {
        let words = (0..round * 5).map(|_| random.next_u64().to_le_bytes());
        let mut bytes: Vec<u8> = words.flatten().collect();
        // Batches whose records are nonsense under a right checksum, too.
        if round % 2 == 0 {
            bytes = [batch(0), bytes, batch(3)].concat();
        }
        for name in names {
            write(&directory, name, &bytes);
        }
        for flags in [&["--records"][..], &["--records", "--json"], &["--verify"]] {
            for decode in ["none", "offsets", "transactions", "share-groups", "metadata"] {
                let flags = [flags, &["--decode", decode]].concat();
                // Most are damaged. What counts is that it ends, and with a sentence.
                let (_, ended) = dump(directory.path(), &flags);
                assert!(ended.is_err() || round < 2, "round {round}");
            }
        }
    }
}

#[test]
fn offsets_choose_batches_and_records() {
    let directory = tempfile::TempDir::new().expect("a directory");
    let path = write(&directory, "00000000000000000000.log", &[batch(0), batch(3)].concat());
    let (out, _) = dump(&path, &["-r", "--offsets", "4"]);
    assert_eq!(out.matches("  batch ").count(), 1, "{out}");
    assert_eq!(out.matches("    record offset=4 ").count(), 1, "{out}");
    assert_eq!(out.matches("record ").count(), 1, "{out}");
    let (out, _) = dump(&path, &["-r", "--offsets", "1..5"]);
    assert_eq!(out.matches("record ").count(), 4, "{out}");
    let range = |from, to| Ok(OffsetRange { from: Offset::new(from), to: Offset::new(to) });
    assert_eq!(offset_range("7.."), range(7, i64::MAX));
    assert_eq!(offset_range("7"), range(7, 8));
    for wrong in ["", "..", "x", "-1", "1..x"] {
        assert!(offset_range(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_limit_of_bytes_ends_a_log_without_complaint() {
    let directory = tempfile::TempDir::new().expect("a directory");
    let path = write(&directory, "00000000000000000000.log", &[batch(0), batch(3)].concat());
    let (out, ended) = dump(&path, &["--max-bytes", &(batch(0).len() + 10).to_string()]);
    ended.expect("nothing is wrong");
    assert_eq!(out.matches("  batch ").count(), 1, "{out}");
    assert!(out.contains("bytes were read"), "{out}");
}

#[test]
fn an_index_that_disagrees_with_its_log_is_found() {
    let directory = tempfile::TempDir::new().expect("a directory");
    write(&directory, "00000000000000000000.log", &[batch(0), batch(3), batch(6)].concat());
    let position = batch(0).len() as u32;
    let offsets = |offset: u32, position: u32| {
        let bytes = [offset.to_be_bytes(), position.to_be_bytes()].concat();
        let path = write(&directory, "00000000000000000000.index", &bytes);
        dump(&path, &["--verify"]).1.is_ok()
    };
    assert!(offsets(5, position), "the batch at {position} ends with 5");
    assert!(!offsets(4, position) && !offsets(5, position + 1) && !offsets(9, 100_000));
    let times = |timestamp: u64, offset: u32| {
        let bytes = [&timestamp.to_be_bytes()[..], &offset.to_be_bytes()].concat();
        let path = write(&directory, "00000000000000000000.timeindex", &bytes);
        dump(&path, &["--verify"]).1.is_ok()
    };
    assert!(times(1_700_000_000_005, 5), "the largest up to offset 5");
    assert!(!times(1_700_000_000_004, 5) && !times(1_700_000_000_005, 4));
}

#[test]
fn a_file_that_grows_is_no_damage() {
    let directory = tempfile::TempDir::new().expect("a directory");
    let second = batch(3);
    let path =
        write(&directory, "00000000000000000000.log", &[batch(0), second[..20].to_vec()].concat());
    let file: Arc<dyn crate::env::File> = Disk.open(&path, OpenMode::Existing).expect("there");
    let mut walk = Walk::new(file.clone(), None).expect("readable");
    assert!(matches!(walk.next(), Ok(Some(Step::Batch { damage: None, .. }))));
    file.write_all_at(&second[20..], batch(0).len() as u64 + 20).expect("room");
    assert!(matches!(walk.next(), Ok(Some(Step::Growing { .. }))));
    assert!(matches!(walk.next(), Ok(None)));
}

#[test]
fn a_path_that_is_not_there_is_a_wrong_question() {
    let error = dump(Path::new("/nowhere/at/all"), &[]).1.expect_err("no such file");
    assert_eq!(error.exit_code(), 2);
    let full = CommandError::from(io::Error::from(io::ErrorKind::StorageFull));
    assert_eq!(full.exit_code(), 1);
}
