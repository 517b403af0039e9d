//! `highwater restore`: the log directories of a node out of an archive, checked byte for byte, and taken back to an earlier point
//! in time if that is asked for (`rewind`).
//!
//! No directory has a `meta.properties` before everything else is in all of them and synced, so no broker starts on half of it.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use zstd::stream::read::Decoder;

use super::CHUNK_BYTES;
use super::manifest::{self, Manifest, Member};
use super::progress::Shown;
use super::rewind::{Point, RewindError, Rewound, rewind};
use crate::cli::CommandError;
use crate::cli::moment::{moment, written};
use crate::env::{EntryKind, Env, File, FileSystem, OpenMode, write_atomically};
use crate::storage::MetaProperties;
use crate::types::Timestamp;

/// Says which archive an unfinished directory is restored from.
const MARKER: &str = "highwater-restore.json";

/// Bytes at the start of an archive by which it is known again.
const HEAD_BYTES: usize = 64 * 1024;

/// A manifest above this would be of some ten million files.
const HELD_BYTES_MAX: u64 = 1 << 30;

/// Which archive, and where to.
#[derive(Clone, Debug, Args)]
pub struct RestoreArguments {
    /// An archive that `highwater backup` has written
    #[arg(value_name = "ARCHIVE")]
    archive: PathBuf,
    /// The new log directory, once for each that the archive has; must be empty, or the unfinished one of the same archive
    #[arg(long, value_name = "DIR", required_unless_present = "check")]
    data_dir: Vec<PathBuf>,
    /// Leave out what was written or changed after this point in time, such as 2026-05-01T14:02:00 or 2026-05-01T14:02+02:00
    #[arg(long, value_name = "TIME", value_parser = moment)]
    at: Option<Timestamp>,
    /// With --at: go on where the archive does not have everything of that time any more
    #[arg(long, requires = "at")]
    incomplete: bool,
    /// Only read the archive and compare everything with its checksums
    #[arg(long, conflicts_with_all = ["data_dir", "at"])]
    check: bool,
}

/// Why there is no directory.
#[derive(Debug, thiserror::Error)]
enum RestoreError {
    /// There is something already.
    #[error("{0}")]
    Refused(String),
    /// It is not what was written.
    #[error("{}: {reason}", .path.display())]
    Damaged {
        /// The archive.
        path: PathBuf,
        /// In words.
        reason: String,
    },
    /// The disk.
    #[error("{}: {source}", .path.display())]
    Io {
        /// What was read or written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl RestoreError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

impl From<RewindError> for RestoreError {
    fn from(error: RewindError) -> Self {
        match error {
            RewindError::Refused(text) => Self::Refused(text),
            RewindError::Io { path, source } => Self::Io { path, source },
        }
    }
}

pub(in crate::cli) fn run(
    arguments: &RestoreArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let env = Env::system();
    let (manifest, rewound) = restore(env.files.as_ref(), arguments)
        .map_err(|error| CommandError::Failed(error.to_string()))?;
    let bytes = manifest.members.iter().map(|member| member.bytes).sum::<u64>();
    let places: Vec<String> =
        arguments.data_dir.iter().map(|path| path.display().to_string()).collect();
    let place =
        if arguments.check { arguments.archive.display().to_string() } else { places.join(", ") };
    writeln!(
        out,
        "{place}: {} partitions, {} files, {bytes} bytes, as of {}, node.id={}",
        manifest.partitions,
        manifest.members.len(),
        written(manifest.taken),
        manifest.node_id
    )?;
    match (arguments.at, rewound) {
        (Some(at), Some(rewound)) => say_rewound(at, &rewound, out).map_err(CommandError::from),
        _ => Ok(()),
    }
}

fn say_rewound(at: Timestamp, rewound: &Rewound, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "taken back to {}: {} records of {} partitions were left out",
        written(at),
        rewound.records,
        rewound.logs
    )?;
    if !rewound.topics.is_empty() {
        let topics: Vec<&str> = rewound.topics.iter().map(String::as_str).collect();
        writeln!(out, "created later, and left out: {}", topics.join(", "))?;
    }
    for line in &rewound.missing {
        writeln!(out, "missing: {line}")?;
    }
    for line in &rewound.doubts {
        writeln!(out, "clocks of producers contradict each other in {line}")?;
    }
    Ok(())
}

fn restore(
    files: &dyn FileSystem,
    arguments: &RestoreArguments,
) -> Result<(Manifest, Option<Rewound>), RestoreError> {
    let (archive, roots) = (arguments.archive.as_path(), arguments.data_dir.as_slice());
    let file = files.open(archive, OpenMode::ReadOnly).map_err(RestoreError::at(archive))?;
    for directory in roots {
        claim(files, archive, &file, directory)?;
    }
    let found = unpack(files, archive, file, roots)?;
    let manifest = verify(&found).map_err(|reason| damaged(archive, reason))?;
    if arguments.check {
        return Ok((manifest, None));
    }
    if manifest.directories != roots.len() {
        return Err(count_of_directories(&manifest, roots));
    }
    if found.identities.len() != roots.len() {
        return Err(damaged(archive, "it has no meta.properties".to_owned()));
    }
    sweep(files, roots, &manifest)?;
    let rewound = match arguments.at {
        Some(at) => {
            let point = Point { at, incomplete: arguments.incomplete };
            Some(rewind(files, roots, &manifest, point)?)
        }
        None => None,
    };
    for directory in roots {
        sync_all(files, directory).map_err(RestoreError::at(directory))?;
    }
    for (root, identity) in &found.identities {
        let path = roots[*root].join(MetaProperties::FILE_NAME);
        write_atomically(files, &path, identity).map_err(RestoreError::at(&path))?;
    }
    // Not before all have theirs, so that a restore that is interrupted here goes on as well.
    for directory in roots {
        let path = directory.join(MARKER);
        files.remove_file(&path).map_err(RestoreError::at(&path))?;
        files.sync_dir(directory).map_err(RestoreError::at(directory))?;
    }
    Ok((manifest, rewound))
}

fn count_of_directories(manifest: &Manifest, roots: &[PathBuf]) -> RestoreError {
    RestoreError::Refused(format!(
        "the archive is of {} log directories, and {} are given: give one --data-dir for each",
        manifest.directories,
        roots.len()
    ))
}

fn damaged(archive: &Path, reason: String) -> RestoreError {
    RestoreError::Damaged { path: archive.to_owned(), reason }
}

/// Takes an empty directory, or the one that was begun with this archive.
fn claim(
    files: &dyn FileSystem,
    archive: &Path,
    file: &Arc<dyn File>,
    directory: &Path,
) -> Result<(), RestoreError> {
    let failed = || RestoreError::at(directory);
    files.create_dir_all(directory).map_err(failed())?;
    let mark = marker(file.as_ref()).map_err(RestoreError::at(archive))?;
    let path = directory.join(MARKER);
    match files.read(&path).map_err(failed())? {
        Some(found) if found == mark => Ok(()),
        Some(_) => Err(RestoreError::Refused(format!(
            "{} holds the unfinished restore of another archive: remove it, or choose an empty directory",
            directory.display()
        ))),
        None if files.list(directory).map_err(failed())?.is_empty() => {
            write_atomically(files, &path, &mark).map_err(failed())
        }
        None => Err(RestoreError::Refused(format!(
            "{} is not empty: choose an empty directory, or one that does not exist",
            directory.display()
        ))),
    }
}

fn marker(file: &dyn File) -> io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD_BYTES];
    let read = file.read_at(&mut head, 0)?;
    let crc = crc32c::crc32c(&head[..read]);
    Ok(json!({ "archiveBytes": file.len()?, "headCrc32c": crc }).to_string().into_bytes())
}

/// What the archive really holds.
#[derive(Debug, Default)]
struct Unpacked {
    members: Vec<Member>,
    manifest: Option<Vec<u8>>,
    /// `meta.properties` of each log directory.
    identities: BTreeMap<usize, Vec<u8>>,
}

/// Reads it once, writing what is missing in the directory.
fn unpack(
    files: &dyn FileSystem,
    archive: &Path,
    file: Arc<dyn File>,
    roots: &[PathBuf],
) -> Result<Unpacked, RestoreError> {
    let len = file.len().map_err(RestoreError::at(archive))?;
    let shown = Shown::new(if roots.is_empty() { "checked" } else { "restored" }, len);
    let reader = BufReader::with_capacity(CHUNK_BYTES, ArchiveReader { file, position: 0, shown });
    let broken = |error: io::Error| damaged(archive, format!("it is damaged or cut off: {error}"));
    let decoder = Decoder::with_buffer(reader).map_err(broken)?;
    let mut tar = tar::Archive::new(decoder);
    let mut unpacked = Unpacked::default();
    for entry in tar.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.into_owned();
        if unpacked.manifest.is_some() {
            return Err(damaged(archive, format!("{} does not belong there", path.display())));
        }
        let Some((root, inside)) = split(&path) else {
            return Err(damaged(archive, format!("{} does not belong there", path.display())));
        };
        let target = match roots {
            [] => None,
            // Verified once the archive has said how many there are.
            roots => roots.get(root).map(|root| root.join(inside)),
        };
        let place = Place { root, inside, target };
        member(files, archive, &place, &path, &mut entry, &mut unpacked)?;
    }
    Ok(unpacked)
}

/// Where a member belongs.
struct Place<'a> {
    root: usize,
    /// In the log directory.
    inside: &'a Path,
    /// `None` if nothing is to be written.
    target: Option<PathBuf>,
}

/// The log directory of a path, and the path in it: a file of the directory or of a partition in it, and nowhere else.
fn split(path: &Path) -> Option<(usize, &Path)> {
    let first = path.components().next()?.as_os_str();
    let root = first.to_str().and_then(manifest::root_of);
    let inside = if root.is_some() { path.strip_prefix(first).ok()? } else { path };
    let parts = inside.components().count();
    let is_plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && (1..=2).contains(&parts)).then_some((root.unwrap_or(0), inside))
}

fn member(
    files: &dyn FileSystem,
    archive: &Path,
    place: &Place<'_>,
    path: &Path,
    entry: &mut impl Read,
    unpacked: &mut Unpacked,
) -> Result<(), RestoreError> {
    let broken = |error: io::Error| damaged(archive, format!("{}: {error}", path.display()));
    let name = path.display().to_string();
    let is_identity = place.inside == Path::new(MetaProperties::FILE_NAME);
    if name == manifest::FILE_NAME || is_identity {
        let mut held = Vec::new();
        entry.take(HELD_BYTES_MAX).read_to_end(&mut held).map_err(broken)?;
        if !is_identity {
            unpacked.manifest = Some(held);
            return Ok(());
        }
        let (bytes, crc) = (held.len() as u64, crc32c::crc32c(&held));
        unpacked.members.push(Member { path: name, bytes, crc });
        unpacked.identities.insert(place.root, held);
        return Ok(());
    }
    let mut sink = Sink::open(files, place.target.as_deref()).map_err(RestoreError::at(path))?;
    let mut piece = vec![0; CHUNK_BYTES];
    loop {
        let read = entry.read(&mut piece).map_err(broken)?;
        if read == 0 {
            break;
        }
        sink.write(&piece[..read]).map_err(RestoreError::at(path))?;
    }
    let (bytes, crc) = sink.finish(files).map_err(RestoreError::at(path))?;
    unpacked.members.push(Member { path: name, bytes, crc });
    Ok(())
}

/// Where the bytes of a member go: into a new file, or nowhere if an earlier attempt has written it.
struct Sink {
    target: Option<Target>,
    position: u64,
    crc: u32,
}

struct Target {
    path: PathBuf,
    file: Arc<dyn File>,
    /// Has its name already: what comes is compared, and written where it differs.
    is_there: bool,
}

impl Sink {
    fn open(files: &dyn FileSystem, target: Option<&Path>) -> io::Result<Self> {
        let open = |path: &Path| {
            if let Some(parent) = path.parent() {
                files.create_dir_all(parent)?;
            }
            let is_there = files.stat(path)?.is_some();
            let (name, mode) = match is_there {
                true => (path.to_owned(), OpenMode::Existing),
                false => (temporary(path), OpenMode::CreateOrTruncate),
            };
            let file = files.open(&name, mode)?;
            Ok::<_, io::Error>(Target { path: path.to_owned(), file, is_there })
        };
        Ok(Self { target: target.map(open).transpose()?, position: 0, crc: 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(target) = &self.target {
            let mut found = vec![0; if target.is_there { bytes.len() } else { 0 }];
            target.file.read_at(&mut found, self.position)?;
            if found != bytes {
                target.file.write_all_at(bytes, self.position)?;
            }
        }
        self.crc = crc32c::crc32c_append(self.crc, bytes);
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Length and checksum of what came.
    fn finish(self, files: &dyn FileSystem) -> io::Result<(u64, u32)> {
        if let Some(target) = &self.target {
            target.file.set_len(self.position)?;
            if !target.is_there {
                files.rename(&temporary(&target.path), &target.path)?;
            }
        }
        Ok((self.position, self.crc))
    }
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    name.into()
}

/// The manifest, if the archive holds just what it says.
fn verify(found: &Unpacked) -> Result<Manifest, String> {
    let Some(bytes) = &found.manifest else {
        return Err(format!("it is not whole: there is no {}", manifest::FILE_NAME));
    };
    let manifest = Manifest::decode(bytes).map_err(|e| format!("{}: {e}", manifest::FILE_NAME))?;
    for (said, is) in manifest.members.iter().zip(&found.members) {
        if said != is {
            return Err(format!(
                "{} is not what was written: expected {said:?}, found {is:?}",
                is.path
            ));
        }
    }
    match manifest.members.len() == found.members.len() {
        true => Ok(manifest),
        false => Err("there are more or fewer files than were written".to_owned()),
    }
}

/// Removes what an interrupted restore left that is not in the archive.
fn sweep(
    files: &dyn FileSystem,
    roots: &[PathBuf],
    manifest: &Manifest,
) -> Result<(), RestoreError> {
    let members: HashSet<&str> =
        manifest.members.iter().map(|member| member.path.as_str()).collect();
    for (at, root) in roots.iter().enumerate() {
        for partition in directories(files, root).map_err(RestoreError::at(root))? {
            let path = root.join(&partition);
            for entry in files.list(&path).map_err(RestoreError::at(&path))? {
                let inside = format!("{partition}/{}", entry.name);
                let member = manifest::archived_path(manifest.directories, at, &inside);
                if !members.contains(member.as_str()) {
                    let left = path.join(&entry.name);
                    files.remove_file(&left).map_err(RestoreError::at(&left))?;
                }
            }
        }
    }
    Ok(())
}

fn directories(files: &dyn FileSystem, root: &Path) -> io::Result<Vec<String>> {
    let entries = files.list(root)?.into_iter();
    Ok(entries.filter(|e| e.kind == EntryKind::Directory).map(|entry| entry.name).collect())
}

/// Makes a log directory durable with all partitions in it.
fn sync_all(files: &dyn FileSystem, root: &Path) -> io::Result<()> {
    let mut paths = vec![root.to_owned()];
    paths.extend(directories(files, root)?.into_iter().map(|name| root.join(name)));
    for path in &paths {
        for entry in files.list(path)?.into_iter().filter(|e| e.kind == EntryKind::File) {
            files.open(&path.join(entry.name), OpenMode::Existing)?.sync()?;
        }
        files.sync_dir(path)?;
    }
    Ok(())
}

/// The archive from its start on.
struct ArchiveReader {
    file: Arc<dyn File>,
    position: u64,
    shown: Shown,
}

impl Read for ArchiveReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.position)?;
        self.position += read as u64;
        self.shown.add(read as u64);
        Ok(read)
    }
}
