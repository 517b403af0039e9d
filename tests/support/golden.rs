//! Data directories written by Apache Kafka, unpacked, with Kafka's own answers about them.

#![allow(clippy::disallowed_methods, reason = "unpacks real files")]

use std::fs::File;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;
use tempfile::TempDir;

/// One fixture of `tests/golden`.
pub struct Golden {
    root: TempDir,
    pub expected: Value,
}

/// Unpacks `archive` of a fixture.
pub fn unpack(fixture: &str, archive: &str) -> TempDir {
    let root = TempDir::new().expect("a temporary directory");
    let archive =
        File::open(folder(fixture).join(archive)).expect("the archive is part of the project");
    tar::Archive::new(GzDecoder::new(archive)).unpack(root.path()).expect("it unpacks");
    root
}

fn folder(fixture: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(fixture)
}

impl Golden {
    /// Unpacks `archive` of a fixture.
    pub fn unpack(fixture: &str, archive: &str) -> Self {
        let root = unpack(fixture, archive);
        let source = folder(fixture);
        let expected = std::fs::read(source.join("expected.json")).expect("so are the answers");
        Self { root, expected: serde_json::from_slice(&expected).expect("JSON") }
    }

    /// The directory, for whoever keeps it longer, and Kafka's answers.
    pub fn into_parts(self) -> (TempDir, Value) {
        (self.root, self.expected)
    }

    pub fn directory(&self, partition: &str) -> PathBuf {
        self.root.path().join(partition)
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Names of all partition directories but the metadata log, sorted.
    pub fn partitions(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.path()).expect("unpacked");
        let entries = entries.map(|entry| entry.expect("readable"));
        let directories = entries.filter(|entry| entry.path().is_dir());
        let names = directories.map(|entry| entry.file_name().into_string().expect("ASCII"));
        let mut names: Vec<String> = names.filter(|name| name != "__cluster_metadata-0").collect();
        names.sort();
        names
    }

    /// The offset that a checkpoint of the fixture's root has for a partition.
    pub fn checkpoint(&self, file: &str, partition: &str) -> i64 {
        let Ok(text) = std::fs::read_to_string(self.root.path().join(file)) else { return 0 };
        let (topic, index) = partition.rsplit_once('-').expect("topic-partition");
        let line = text.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            (fields.len() == 3 && fields[0] == topic && fields[1] == index)
                .then(|| fields[2].parse())
        });
        line.map_or(0, |offset| offset.expect("a number"))
    }
}
