//! Partitions written by Apache Kafka, opened by the engine: equal answers, equal files.
#![allow(missing_docs, clippy::disallowed_methods, clippy::unwrap_used, reason = "looks at files")]

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use highwater::config::{CleanupPolicy, TopicSettings};
use highwater::log::scan::scan;
use highwater::log::{Isolation, Log, LogStartCheckpoint, LogView, OpenLog, StartMode, TimeQuery};
use highwater::types::{Offset, Timestamp};
use serde_json::{Value, json};
use support::consumer::consume;
use support::golden::Golden;
use support::logs::{env, open_args, read_all};

/// The fixtures were written with this `index.interval.bytes`.
const INDEX_INTERVAL: i32 = 256;

fn args(golden: &Golden, partition: &str, start: StartMode) -> OpenLog {
    let compact = partition.starts_with("compact") || partition.starts_with("__");
    let settings = TopicSettings {
        cleanup_policy: CleanupPolicy { delete: !compact, compact },
        index_interval_bytes: INDEX_INTERVAL,
        ..TopicSettings::default()
    };
    let directory = golden.directory(partition);
    let metadata = std::fs::read_to_string(directory.join("partition.metadata")).unwrap();
    let id = metadata.rsplit(' ').next().unwrap();
    OpenLog {
        topic_id: id.parse().expect("a topic id"),
        start,
        log_start: Offset::new(golden.checkpoint("log-start-offset-checkpoint", partition)),
        producer_id_expiration_ms: i64::MAX,
        ..open_args(&env(), &directory, settings)
    }
}

fn unclean(golden: &Golden, partition: &str) -> StartMode {
    let offset = golden.checkpoint("recovery-point-offset-checkpoint", partition);
    StartMode::Unclean { recovery_point: Offset::new(offset) }
}

/// Kafka's answers about one partition, out of `expected.json`.
fn answers<'a>(topics: &'a Value, partition: &str) -> &'a Value {
    let (topic, index) = partition.rsplit_once('-').unwrap();
    &topics[topic]["partitions"][index]
}

/// The same answers from the engine.
fn our_answers(log: &Log, questions: &Value) -> Value {
    let view = log.view();
    let stable = view.first_open.unwrap_or(view.log_end);
    let uncommitted = consume(view, Isolation::ReadUncommitted);
    let committed = consume(view, Isolation::ReadCommitted);
    let list_offsets: BTreeMap<&String, Value> = questions["listOffsets"]
        .as_object()
        .expect("questions")
        .keys()
        .map(|question| (question, list_offsets(view, question, stable)))
        .collect();
    json!({
        "logStartOffset": view.log_start.get(),
        "highWatermark": view.log_end.get(),
        "lastStableOffset": stable.get(),
        "readUncommitted": {"count": uncommitted.offsets.len(), "sha256": uncommitted.sha256},
        "readCommitted": {
            "count": committed.offsets.len(), "offsets": committed.ranges(), "sha256": committed.sha256
        },
        "listOffsets": list_offsets,
        "producers": producers(log),
    })
}

fn list_offsets(view: &LogView, question: &str, stable: Offset) -> Value {
    let (question, end) = match question.strip_suffix(" read_committed") {
        Some(question) => (question, stable),
        None => (question, view.log_end),
    };
    let query = match question {
        "maxTimestamp" => TimeQuery::Max,
        time => TimeQuery::At(Timestamp::new(time.parse().expect("milliseconds"))),
    };
    let hit = view.offset_at(query, end).expect("readable");
    let (offset, timestamp, epoch) = hit.map_or((-1, -1, -1), |hit| {
        (hit.offset.get(), hit.timestamp.get(), hit.leader_epoch.get())
    });
    json!({"offset": offset, "timestamp": timestamp, "leaderEpoch": epoch})
}

fn producers(log: &Log) -> Value {
    let producers = log.active_producers();
    let producers = producers.iter().map(|producer| {
        let start = producer.transaction_start.unwrap_or(Offset::NONE);
        json!({
            "producerId": producer.id.get(),
            "producerEpoch": producer.epoch.get(),
            "lastSequence": producer.last_sequence,
            "lastTimestamp": producer.last_timestamp.get(),
            "coordinatorEpoch": producer.coordinator_epoch,
            "currentTransactionStartOffset": start.get(),
        })
    });
    producers.collect()
}

/// Asserts that the engine gives all answers that Kafka gave.
fn assert_answers(log: &Log, expected: &Value, partition: &str) {
    let ours = our_answers(log, expected);
    for (question, answer) in expected.as_object().expect("answers") {
        assert_eq!(&ours[question], answer, "{partition}: {question}");
    }
}

fn check_answers(golden: &Golden, topics: &Value, start: fn(&Golden, &str) -> StartMode) {
    let mut checked = 0;
    for partition in golden.partitions() {
        let expected = answers(topics, &partition);
        if expected.is_null() {
            continue;
        }
        let log = Log::open(args(golden, &partition, start(golden, &partition))).expect("opens");
        assert_answers(&log, expected, &partition);
        checked += 1;
    }
    assert!(checked > 10, "the fixture was not read");
}

#[test]
fn a_clean_directory_of_any_release_gives_kafkas_answers() {
    for fixture in ["clean-4.4", "clean-4.3", "clean-3.9"] {
        let golden = Golden::unpack(fixture, "data.tar.gz");
        check_answers(&golden, &golden.expected["topics"], |_, _| StartMode::Clean);
    }
}

#[test]
fn full_recovery_of_a_clean_directory_gives_the_same_answers() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    let from_zero = |_: &Golden, _: &str| StartMode::Unclean { recovery_point: Offset::ZERO };
    check_answers(&golden, &golden.expected["topics"], from_zero);
}

/// Names and contents of the files in a directory.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect()
}

#[test]
fn opening_and_closing_changes_no_file() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    for partition in golden.partitions() {
        let directory = golden.directory(&partition);
        let before = files(&directory);
        let mut log = Log::open(args(&golden, &partition, StartMode::Clean)).expect("opens");
        log.close().expect("closes");
        let after = files(&directory);
        for (name, bytes) in &before {
            match after.get(name) {
                Some(now) => assert!(now == bytes, "{partition}/{name}"),
                // Kafka removes at its next load, too, a snapshot that is neither a segment's nor the newest.
                None => assert!(name.ends_with(".snapshot"), "{partition}/{name}"),
            }
        }
        for (name, bytes) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
            // So that a transaction index that is lost later shows.
            assert!(name.ends_with(".txnindex") && bytes.is_empty(), "{partition}/{name}");
        }
    }
}

#[test]
fn rebuilt_indexes_are_kafkas_byte_for_byte() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    let mut compared = 0;
    for partition in golden.partitions() {
        let directory = golden.directory(&partition);
        let before = files(&directory);
        let start = StartMode::Unclean { recovery_point: Offset::ZERO };
        drop(Log::open(args(&golden, &partition, start)).expect("opens"));
        let after = files(&directory);
        for (name, log) in before.iter().filter(|(name, _)| name.ends_with(".log")) {
            let stem = name.trim_end_matches(".log");
            // Kafka starts the index rhythm anew at each restart, which nothing in the log tells but the leader epoch.
            let epochs = scan(log).map(|(_, batch)| batch.leader_epoch());
            let one_life = epochs.collect::<std::collections::BTreeSet<_>>().len() == 1;
            let kinds: &[&str] =
                if one_life { &["index", "timeindex", "txnindex"] } else { &["txnindex"] };
            for kind in kinds {
                let file = format!("{stem}.{kind}");
                let now = after.get(&file).filter(|now| *kind != "txnindex" || !now.is_empty());
                assert_eq!(now, before.get(&file), "{partition}/{file}");
                compared += usize::from(before.contains_key(&file));
            }
        }
    }
    assert!(compared > 30, "only {compared} files compared");
}

#[test]
fn a_killed_directory_recovers_to_what_kafka_recovers_to() {
    let golden = Golden::unpack("killed-4.4", "data.tar.gz");
    let loaded = golden.expected["afterKafkaStart"]["loaded"].clone();
    for partition in golden.partitions() {
        let before = files(&golden.directory(&partition));
        let mut log = Log::open(args(&golden, &partition, unclean(&golden, &partition))).unwrap();
        let view = log.view();
        let expected = &loaded[&partition];
        assert_eq!(expected["logStartOffset"], view.log_start.get(), "{partition}");
        assert_eq!(expected["logEndOffset"], view.log_end.get(), "{partition}");
        let kept = read_all(view, view.log_start);
        assert!(before.values().any(|file| kept.starts_with(file) || file.starts_with(&kept)));
        log.close().expect("closes");
    }
    let topics = &golden.expected["afterKafkaStart"]["answers"]["topics"];
    for partition in golden.partitions() {
        let expected = answers(topics, &partition);
        // Kafka's cleaner ran before it was asked about this one.
        if expected.is_null() || partition == "compacted-0" {
            continue;
        }
        let log = Log::open(args(&golden, &partition, StartMode::Clean)).expect("opens");
        assert_answers(&log, expected, &partition);
    }
}

#[test]
fn messages_of_magic_0_and_1_are_served_as_kafka_serves_them() {
    // Only the `.log` files were planted: after a clean stop, too, missing indexes are built.
    let planted = Golden::unpack("legacy-magic01", "as-planted.tar.gz");
    check_answers(&planted, &planted.expected["asPlanted"]["topics"], |_, _| StartMode::Clean);
    let appended = Golden::unpack("legacy-magic01", "data.tar.gz");
    let topics = &appended.expected["withAppendedMagic2"]["topics"];
    check_answers(&appended, topics, |_, _| StartMode::Clean);
    check_answers(&appended, topics, unclean);
}

#[test]
fn damage_after_a_kill_is_repaired_as_kafka_repairs_it() {
    let golden = Golden::unpack("torn-4.4", "data.tar.gz");
    let after = golden.expected["afterKafkaStart"].clone();
    for partition in golden.partitions() {
        let mut log = Log::open(args(&golden, &partition, unclean(&golden, &partition))).unwrap();
        let expected = &after["loaded"][&partition];
        assert_eq!(expected["logStartOffset"], log.view().log_start.get(), "{partition}");
        assert_eq!(expected["logEndOffset"], log.view().log_end.get(), "{partition}");
        let answers = answers(&after["answers"]["topics"], &partition);
        // Kafka's cleaner ran before it was asked about the first; in the second a base offset is flipped to near 2^44, from
        // where a consumer goes on as its buffers happen to be.
        let comparable = partition != "compacted-0" && partition != "timed-0";
        if !answers.is_null() && comparable {
            assert_answers(&log, answers, &partition);
        }
        log.close().expect("closes");
    }
    let saved = std::fs::read_dir(golden.root()).unwrap().map(|entry| entry.unwrap().file_name());
    let saved = saved.filter(|name| name.to_string_lossy().starts_with("highwater-cut.")).count();
    assert_eq!(saved, 4, "all that was cut off is kept, but zeros");
}

/// Damage after a clean stop that changes what is served, whoever serves it.
const LOST: [&str; 5] = [
    "idempotent-0", // the last batch is cut
    "txn-0",        // a bit of the last batch is flipped
    "three-1",      // the only `.log` is gone
    "timed-0",      // a bit of a base offset is flipped, which no checksum covers
    "plain-0",      // a bit in the middle is flipped
];

#[test]
fn damage_after_a_clean_stop_loses_only_what_is_lost() {
    let undamaged = Golden::unpack("clean-4.4", "data.tar.gz").expected;
    let golden = Golden::unpack("torn-after-clean-stop-4.4", "data.tar.gz");
    let kafka = golden.expected["afterKafkaStart"]["loaded"].clone();
    for partition in golden.partitions() {
        let mut log = Log::open(args(&golden, &partition, StartMode::Clean)).expect("opens");
        let expected = answers(&undamaged["topics"], &partition);
        if LOST.contains(&partition.as_str()) {
            assert_eq!(kafka[&partition]["logEndOffset"], log.view().log_end.get(), "{partition}");
        } else if !expected.is_null() {
            // Stricter than Kafka, which serves segments-0 up to 148 only, answers timestamp questions on logappend-0
            // wrongly and forgets the producers of compacted-0.
            assert_answers(&log, expected, &partition);
        }
        log.close().expect("closes");
        let Some(path) = last_log(&golden.directory(&partition)) else {
            assert_eq!(partition, "three-1", "its segments are there");
            continue;
        };
        let log = std::fs::read(path).unwrap();
        let mut batches = scan(&log);
        batches.by_ref().last();
        assert_eq!(batches.position(), log.len(), "{partition} ends with a whole batch");
    }
}

fn last_log(directory: &Path) -> Option<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|e| e == "log")).max()
}

#[test]
fn a_zero_tail_after_a_clean_stop_is_cut_off() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    let expected = answers(&golden.expected["topics"], "three-0").clone();
    let path = last_log(&golden.directory("three-0")).expect("a segment");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, [whole.as_slice(), &[0; 4096]].concat()).unwrap();
    let log = Log::open(args(&golden, "three-0", StartMode::Clean)).expect("Kafka does not start");
    assert_answers(&log, &expected, "three-0");
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}

/// Removes every file of these kinds that lies beside a log.
fn remove_all(golden: &Golden, kinds: &[&str]) {
    for partition in golden.partitions() {
        for entry in std::fs::read_dir(golden.directory(&partition)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|kind| kinds.iter().any(|gone| kind == *gone)) {
                std::fs::remove_file(path).unwrap();
            }
        }
    }
}

/// Of an emptied batch only its producer is known, and of that producer other batches were cleaned away: a replay of the log
/// gives less than the snapshot did, to Kafka as well (`log-engine` 1.10).
const NOT_IN_THE_LOG: &str = "compacted-txn-0";

#[test]
fn what_is_missing_after_a_clean_stop_is_made_anew() {
    let files: [&[&str]; 5] = [
        &["txnindex"],
        &["snapshot"],
        &["timeindex"],
        &["index"],
        &["index", "timeindex", "txnindex", "snapshot"],
    ];
    for fixture in ["clean-4.4", "clean-4.3", "clean-3.9"] {
        for kinds in files {
            let golden = Golden::unpack(fixture, "data.tar.gz");
            remove_all(&golden, kinds);
            for partition in golden.partitions() {
                let expected = answers(&golden.expected["topics"], &partition);
                let replayed = kinds.contains(&"index") || kinds.contains(&"snapshot");
                if expected.is_null() || (replayed && partition == NOT_IN_THE_LOG) {
                    continue;
                }
                println!("{fixture} {kinds:?} {partition}");
                let mut log = Log::open(args(&golden, &partition, StartMode::Clean)).unwrap();
                assert_answers(&log, expected, &partition);
                log.close().unwrap();
            }
        }
    }
}

/// With an index in each of them, the segments of a log are not looked through for aborted transactions again.
#[test]
fn a_lost_transaction_index_is_looked_for_once() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    remove_all(&golden, &["txnindex"]);
    for partition in ["txn-0", "txn-1", "compacted-txn-0"] {
        let mut log = Log::open(args(&golden, partition, StartMode::Clean)).unwrap();
        log.close().unwrap();
        let names = files(&golden.directory(partition));
        let count = |kind: &str| names.keys().filter(|name| name.ends_with(kind)).count();
        assert_eq!(count(".txnindex"), count(".log"), "{partition}");
    }
    let plain = files(&golden.directory("plain-0"));
    assert!(!plain.keys().any(|name| name.ends_with(".txnindex")), "no transaction was there");
}

#[test]
fn deleted_records_do_not_come_back_without_the_checkpoint() {
    for fixture in ["clean-4.4", "clean-4.3", "clean-3.9"] {
        let golden = Golden::unpack(fixture, "data.tar.gz");
        for partition in golden.partitions() {
            let expected = answers(&golden.expected["topics"], &partition);
            if expected.is_null() {
                continue;
            }
            let args = OpenLog {
                log_start: Offset::ZERO,
                log_start_checkpoint: LogStartCheckpoint::Lost,
                ..args(&golden, &partition, StartMode::Clean)
            };
            let log = Log::open(args).unwrap();
            assert_answers(&log, expected, &partition);
        }
    }
}

/// Epochs that were lost and written anew begin in the midst of the log as well, but not in the midst of their own batches.
#[test]
fn epochs_that_were_lost_do_not_hide_records() {
    let golden = Golden::unpack("clean-4.4", "data.tar.gz");
    let expected = answers(&golden.expected["topics"], "plain-0").clone();
    std::fs::write(golden.directory("plain-0").join("leader-epoch-checkpoint"), "0\n1\n4 13\n")
        .unwrap();
    let args = OpenLog {
        log_start_checkpoint: LogStartCheckpoint::Lost,
        ..args(&golden, "plain-0", StartMode::Clean)
    };
    let log = Log::open(args).unwrap();
    assert_eq!(expected["logStartOffset"], log.view().log_start.get());
    assert_eq!(
        expected["readUncommitted"]["sha256"],
        consume(log.view(), Isolation::ReadUncommitted).sha256
    );
}
