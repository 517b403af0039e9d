//! The directory of a log and the file that says whose it is: no kill and no power cut leaves one that Kafka sets aside.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine"
)]

mod support;

use std::path::{Path, PathBuf};

use highwater::config::TopicSettings;
use highwater::env::{FileSystem, write_atomically};
use highwater::log::{Log, OpenError, OpenLog, StartMode};
use highwater::storage::DirectoryName;
use highwater::types::{LeaderEpoch, Offset, Uuid};
use support::batches::{checked, one};
use support::logs::{NOW, open, open_args, topic_id};
use support::simulated_disk::SimulatedDisk;

const EPOCH: LeaderEpoch = LeaderEpoch::new(3);
/// What Kafka writes for the topic id of these tests.
const METADATA: &[u8] = b"version: 0\ntopic_id: BwcHBwcHBwcHBwcHBwcHBw";

/// What Kafka writes for an epoch that begins with the log.
const EPOCHS: &[u8] = b"0\n1\n3 0\n";

fn directory() -> PathBuf {
    PathBuf::from("/data/t-0")
}

fn metadata() -> PathBuf {
    directory().join("partition.metadata")
}

fn args(disk: &SimulatedDisk) -> OpenLog {
    let start = StartMode::Unclean { recovery_point: Offset::ZERO };
    OpenLog { start, ..open_args(&disk.env(1), &directory(), TopicSettings::default()) }
}

fn epochs() -> PathBuf {
    directory().join("leader-epoch-checkpoint")
}

/// As a broker opens it, which knows the epoch before the first append.
fn args_of_broker(disk: &SimulatedDisk) -> OpenLog {
    OpenLog { leader_epoch: Some(EPOCH), ..args(disk) }
}

fn append(log: &mut Log) {
    log.append(&checked(&one(1, NOW.get())), EPOCH, NOW).expect("appended");
}

fn sync(log: &mut Log, disk: &SimulatedDisk) {
    let work = log.take_sync_work().expect("something was appended");
    work.files.iter().for_each(|file| file.sync().unwrap());
    work.directories.iter().for_each(|path| disk.sync_dir(path).unwrap());
    log.synced(&work);
}

/// Names in the log directory.
fn names(disk: &SimulatedDisk) -> Vec<String> {
    disk.list(Path::new("/data")).unwrap().into_iter().map(|entry| entry.name).collect()
}

#[test]
fn whoever_dies_while_a_directory_is_made_leaves_none_that_is_nobodys() {
    let mut failed = 0;
    for step in 0.. {
        let disk = SimulatedDisk::new();
        disk.fail_after(step);
        let opened = Log::open(args_of_broker(&disk));
        for name in names(&disk) {
            match DirectoryName::parse(&name) {
                DirectoryName::Partition(_) => {
                    assert_eq!(disk.read(&metadata()).unwrap().unwrap(), METADATA);
                    assert_eq!(disk.read(&epochs()).unwrap().unwrap(), EPOCHS);
                }
                DirectoryName::Delete => {}
                other => panic!("{name} is {other:?}"),
            }
        }
        if opened.is_ok() {
            break;
        }
        failed += 1;
    }
    assert!(failed >= 4, "writing and syncing the files can fail");
}

#[test]
fn a_new_log_has_all_on_disk_that_stands_before_its_first_record() {
    for seed in 0..200 {
        println!("seed {seed}");
        let disk = SimulatedDisk::new();
        let mut log = open(&args_of_broker(&disk));
        assert!(!log.is_prepared(EPOCH), "the name of its directory may get lost");
        log.prepare(EPOCH).unwrap();
        assert!(log.is_prepared(EPOCH));
        let after = disk.crashed(seed);
        assert_eq!(after.read(&metadata()).unwrap().as_deref(), Some(METADATA));
        assert_eq!(after.read(&epochs()).unwrap().as_deref(), Some(EPOCHS));
        append(&mut log);
        assert_eq!(log.view().log_end, Offset::new(1));
    }
}

#[test]
fn an_epoch_that_is_over_before_the_first_record_leaves_no_trace() {
    let disk = SimulatedDisk::new();
    let mut log = open(&OpenLog { leader_epoch: Some(LeaderEpoch::new(2)), ..args(&disk) });
    append(&mut log);
    assert_eq!(disk.read(&epochs()).unwrap().as_deref(), Some(EPOCHS));
}

#[test]
fn an_acknowledged_record_keeps_its_directory_over_a_power_cut_in_its_second_life() {
    for args in [args, args_of_broker] {
        for seed in 0..200 {
            println!("seed {seed}");
            let disk = SimulatedDisk::new();
            // Made in a life that dies before it writes anything.
            drop(open(&args(&disk)));
            let mut log = open(&args(&disk));
            append(&mut log);
            sync(&mut log, &disk);
            let after = disk.crashed(seed);
            assert_eq!(after.read(&metadata()).unwrap().as_deref(), Some(METADATA));
            assert_eq!(after.read(&epochs()).unwrap().as_deref(), Some(EPOCHS));
            assert_eq!(open(&args(&after)).view().log_end, Offset::new(1));
        }
    }
}

#[test]
fn a_missing_or_torn_file_is_written_when_the_log_is_opened_and_stays() {
    for left in [None, Some(&b""[..]), Some(&METADATA[..30]), Some(&[0; 33])] {
        for records in [0, 2] {
            let disk = SimulatedDisk::new();
            let mut log = open(&args(&disk));
            for _ in 0..records {
                append(&mut log);
                sync(&mut log, &disk);
            }
            drop(log);
            match left {
                None => disk.remove_file(&metadata()).unwrap(),
                Some(bytes) => write_atomically(&disk, &metadata(), bytes).unwrap(),
            }
            disk.sync_dir(&directory()).unwrap();
            disk.sync_dir(Path::new("/data")).unwrap();
            let log = open(&args(&disk));
            assert_eq!(log.view().log_end, Offset::new(records));
            for seed in 0..20 {
                let after = disk.crashed(seed);
                let found = after.read(&metadata()).unwrap();
                assert_eq!(found.as_deref(), Some(METADATA), "{left:?}, {records} records");
            }
        }
    }
}

#[test]
fn a_disk_without_room_for_the_file_keeps_nobody_from_reading() {
    let disk = SimulatedDisk::new();
    let mut log = open(&args(&disk));
    append(&mut log);
    sync(&mut log, &disk);
    log.close().unwrap();
    disk.remove_file(&metadata()).unwrap();
    disk.limit(disk.used_bytes());
    // A recovery would want room for indexes as well.
    let mut log = open(&OpenLog { start: StartMode::Clean, ..args(&disk) });
    assert_eq!(log.view().log_end, Offset::new(1));
    assert_eq!(disk.read(&metadata()).unwrap(), None);
    disk.limit(1 << 20);
    append(&mut log);
    assert_eq!(disk.read(&metadata()).unwrap().as_deref(), Some(METADATA));
}

#[test]
fn a_directory_of_another_topic_is_refused_and_keeps_its_file() {
    let disk = SimulatedDisk::new();
    let other = Uuid::from_bytes([8; 16]);
    drop(open(&OpenLog { topic_id: other, ..args(&disk) }));
    let before = disk.read(&metadata()).unwrap();
    let refused = Log::open(args(&disk)).unwrap_err();
    assert!(matches!(refused, OpenError::OtherTopic { found, .. } if found == other), "{refused}");
    assert_ne!(topic_id(), other);
    assert_eq!(disk.read(&metadata()).unwrap(), before);
}
