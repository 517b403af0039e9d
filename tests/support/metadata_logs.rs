//! The metadata logs of the golden directories, without the data: read from each archive once, laid out as often as asked.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use serde_json::Value;
use tempfile::TempDir;

const FIXTURES: [&str; 4] = ["clean-4.4", "clean-4.3", "clean-3.9", "killed-4.4"];

struct Archived {
    files: Vec<(PathBuf, Vec<u8>)>,
    expected: Value,
}

/// A copy of one fixture's identity and metadata log.
pub struct MetadataLog {
    root: TempDir,
    pub expected: &'static Value,
}

impl MetadataLog {
    pub fn copy(fixture: &str) -> Self {
        let archived = archived(fixture);
        let root = TempDir::new().expect("a temporary directory");
        fs::create_dir(root.path().join("__cluster_metadata-0")).expect("it is new");
        for (name, bytes) in &archived.files {
            fs::write(root.path().join(name), bytes).expect("it is writable");
        }
        Self { root, expected: &archived.expected }
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn directory(&self) -> PathBuf {
        self.root().join("__cluster_metadata-0")
    }
}

fn archived(fixture: &str) -> &'static Archived {
    static ARCHIVED: [OnceLock<Archived>; FIXTURES.len()] = [const { OnceLock::new() }; 4];
    let index = FIXTURES.iter().position(|name| *name == fixture).expect("a fixture");
    ARCHIVED[index].get_or_init(|| read(fixture))
}

fn read(fixture: &str) -> Archived {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(fixture);
    let archive = File::open(source.join("data.tar.gz")).expect("part of the project");
    let mut archive = tar::Archive::new(GzDecoder::new(archive));
    let mut files = Vec::new();
    for entry in archive.entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("UTF-8").into_owned();
        if is_wanted(&path) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("its content");
            files.push((path, bytes));
        }
    }
    let expected = fs::read(source.join("expected.json")).expect("part of the project");
    Archived { files, expected: serde_json::from_slice(&expected).expect("JSON") }
}

/// Identity, log, snapshots and state; Kafka's indexes are large, mostly zeros, and of no use here.
fn is_wanted(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let name = name.trim_start_matches("./");
    let wanted = [".log", ".checkpoint", "quorum-state"].iter().any(|end| name.ends_with(end));
    matches!(name, "meta.properties" | "bootstrap.checkpoint")
        || name.starts_with("__cluster_metadata-0/") && wanted
}
