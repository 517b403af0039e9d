//! Whole brokers on directories that a killed Kafka left incomplete: served, and given back so that Kafka sets nothing aside.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the machine"
)]

mod support;

use std::fs;
use std::path::Path;

use clap::Parser;
use highwater::cli::{self, Arguments};
use serde_json::Value;
use support::golden::Golden;
use support::serving::{open_all, serve};

/// Partitions with records, and how the file that says whose they are was left; `None`: not at all.
const LEFT: [(&str, Option<&[u8]>); 3] =
    [("plain-0", None), ("txn-0", Some(b"")), ("idempotent-0", Some(b"version: 0\ntopic"))];

fn metadata(root: &Path, partition: &str) -> std::path::PathBuf {
    root.join(partition).join("partition.metadata")
}

fn strays(root: &Path) -> Vec<String> {
    let names = fs::read_dir(root).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with("-stray")).collect()
}

fn repairs(root: &Path) -> Vec<String> {
    let words = ["highwater", "check", "--json", root.to_str().unwrap()];
    let mut out = Vec::new();
    cli::run(Arguments::try_parse_from(words).unwrap().command.unwrap(), &mut out).unwrap();
    let found: Value = serde_json::from_slice(&out).unwrap();
    let text = |repair: &Value| repair.as_str().unwrap().to_owned();
    found["repairs"].as_array().unwrap().iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_a_killed_kafka_left_nameless_are_given_back_with_their_names() {
    let golden = Golden::unpack("killed-4.4", "data.tar.gz");
    let root = golden.root();
    let kafkas: Vec<Vec<u8>> =
        LEFT.iter().map(|(name, _)| fs::read(metadata(root, name)).unwrap()).collect();
    for (name, left) in LEFT {
        match left {
            None => fs::remove_file(metadata(root, name)).unwrap(),
            Some(bytes) => fs::write(metadata(root, name), bytes).unwrap(),
        }
    }
    let said = tokio::task::spawn_blocking({
        let root = root.to_owned();
        move || repairs(&root)
    });
    let said = said.await.unwrap();
    for (name, _) in LEFT {
        let wanted = format!("write {}, without which", metadata(root, name).display());
        assert!(said.iter().any(|repair| repair.starts_with(&wanted)), "{wanted}: {said:#?}");
    }

    let running = serve(root).await;
    assert_eq!(open_all(&running), Vec::<String>::new());
    let topic = |name: &str| golden.expected["afterKafkaStart"]["loaded"][name].clone();
    for (name, _) in LEFT {
        let (topic_name, index) = name.rsplit_once('-').unwrap();
        let index = highwater::types::PartitionIndex::new(index.parse().unwrap());
        let highwater::broker::Lookup::Open(partition) =
            running.broker().find_by_name(topic_name, index)
        else {
            panic!("{name} is not open");
        };
        assert_eq!(partition.ends().view.log_end.get(), topic(name)["logEndOffset"], "{name}");
    }
    running.stop().await.unwrap();

    for ((name, _), kafkas) in LEFT.iter().zip(kafkas) {
        assert_eq!(fs::read(metadata(root, name)).unwrap(), kafkas, "{name}");
    }
    assert_eq!(strays(root), Vec::<String>::new());
}
