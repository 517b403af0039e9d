//! `ARCHIVE.progress` beside `ARCHIVE.partial`: what the archive is to hold, and how far that has come.
//!
//! Lines of JSON. The first is the plan: `version` 2, the manifest without its members, `sources`: an array of
//! `[root, path, "prefix", bytes, CRC-32C of the last 4096 of them]`, `[root, path, "whole"]` or `[root, path, "held", base64]`,
//! where `root` says which log directory. Each line after
//! it: `archive`, the synced length, and `members`, those that were added since the line before. A line that is not whole is
//! none.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::manifest::{Manifest, Member};
use super::plan::{From, Plan, Source};
use super::sync_parent;
use crate::env::{File, FileSystem, OpenMode};

const VERSION: u64 = 2;

/// How much is written between two lines.
pub(super) const SYNC_BYTES: u64 = 64 * 1024 * 1024;

/// An archive that is not whole yet.
#[derive(Debug)]
pub(super) struct Resume {
    file: Arc<dyn File>,
    /// End of the last whole line.
    position: u64,
    /// Length of the archive that counts.
    pub archive_bytes: u64,
    /// In it, absent ones included.
    pub done: Vec<Member>,
    recorded: usize,
    pub sources: Vec<Source>,
    pub manifest: Manifest,
}

/// The archive until it is whole.
pub(super) fn partial(archive: &Path) -> PathBuf {
    with_suffix(archive, ".partial")
}

fn progress(archive: &Path) -> PathBuf {
    with_suffix(archive, ".progress")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

impl Resume {
    /// Finds an interrupted backup; one without a plan has not written anything.
    pub fn open(files: &dyn FileSystem, archive: &Path) -> io::Result<Option<Self>> {
        let path = progress(archive);
        let Some(bytes) = files.read(&path)? else { return Ok(None) };
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let whole = |line: &[u8]| -> Option<Value> {
            serde_json::from_slice(line.strip_suffix(b"\n")?).ok()
        };
        let Some((sources, manifest, len)) = lines.next().and_then(|line| {
            let (sources, manifest) = plan_of_json(&whole(line)?)?;
            Some((sources, manifest, line.len()))
        }) else {
            return Ok(None);
        };
        let file = files.open(&path, OpenMode::Existing)?;
        let mut resume = Self {
            file,
            position: len as u64,
            archive_bytes: 0,
            done: Vec::new(),
            recorded: 0,
            sources,
            manifest,
        };
        for line in lines {
            let Some((bytes, members)) = whole(line).and_then(|json| record_of_json(&json)) else {
                break;
            };
            resume.archive_bytes = bytes;
            resume.done.extend(members);
            resume.position += line.len() as u64;
        }
        resume.recorded = resume.done.len();
        Ok(Some(resume))
    }

    /// Writes the plan down before anything else.
    pub fn begin(files: &dyn FileSystem, archive: &Path, plan: &Plan) -> io::Result<Self> {
        let path = progress(archive);
        let file = files.open(&path, OpenMode::CreateOrTruncate)?;
        let mut resume = Self {
            file,
            position: 0,
            archive_bytes: 0,
            done: Vec::new(),
            recorded: 0,
            sources: plan.sources.clone(),
            manifest: plan.manifest.clone(),
        };
        resume.write(&plan_to_json(plan))?;
        sync_parent(files, &path)?;
        Ok(resume)
    }

    /// The first `bytes` of the archive hold `members`, the earlier ones included.
    pub fn record(&mut self, members: &[Member], bytes: u64) -> io::Result<()> {
        let new: Vec<Value> = members[self.recorded..].iter().map(Member::to_json).collect();
        self.write(&json!({ "archive": bytes, "members": new }))?;
        self.recorded = members.len();
        Ok(())
    }

    /// Removes it, and the archive that it is of.
    pub fn forget(files: &dyn FileSystem, archive: &Path) -> io::Result<()> {
        for path in [progress(archive), partial(archive)] {
            files.remove_if_there(&path)?;
        }
        Ok(())
    }

    fn write(&mut self, line: &Value) -> io::Result<()> {
        let line = format!("{line}\n");
        self.file.set_len(self.position)?;
        self.file.write_all_at(line.as_bytes(), self.position)?;
        self.file.sync()?;
        self.position += line.len() as u64;
        Ok(())
    }
}

fn plan_to_json(plan: &Plan) -> Value {
    let source = |source: &Source| match &source.from {
        From::Prefix { bytes, tail_crc, .. } => {
            json!([source.root, source.path, "prefix", bytes, tail_crc])
        }
        From::Whole => json!([source.root, source.path, "whole"]),
        From::Held(held) => json!([source.root, source.path, "held", STANDARD.encode(held)]),
    };
    let manifest = String::from_utf8(plan.manifest.encode()).unwrap_or_default();
    json!({
        "version": VERSION,
        "manifest": manifest,
        "sources": plan.sources.iter().map(source).collect::<Vec<_>>(),
    })
}

fn plan_of_json(json: &Value) -> Option<(Vec<Source>, Manifest)> {
    if json["version"] != VERSION {
        return None;
    }
    let manifest = Manifest::decode(json["manifest"].as_str()?.as_bytes()).ok()?;
    let sources = json["sources"].as_array()?.iter().map(source_of_json).collect::<Option<_>>()?;
    Some((sources, manifest))
}

fn source_of_json(json: &Value) -> Option<Source> {
    let fields = json.as_array()?;
    let root = usize::try_from(fields.first()?.as_u64()?).ok()?;
    let path = fields.get(1)?.as_str()?.to_owned();
    let from = match (fields.get(2)?.as_str()?, &fields[3..]) {
        ("prefix", [bytes, crc]) => From::Prefix {
            bytes: bytes.as_u64()?,
            tail_crc: u32::try_from(crc.as_u64()?).ok()?,
            file: None,
        },
        ("whole", []) => From::Whole,
        ("held", [held]) => From::Held(STANDARD.decode(held.as_str()?).ok()?),
        _ => return None,
    };
    Some(Source { root, path, from })
}

fn record_of_json(json: &Value) -> Option<(u64, Vec<Member>)> {
    let members = json["members"].as_array()?.iter().map(Member::of_json).collect::<Option<_>>()?;
    Some((json["archive"].as_u64()?, members))
}
