//! `highwater restore`: a log directory out of an archive, checked byte for byte.
//!
//! The directory has no `meta.properties` before everything else is in it and synced, so no broker starts on half of it.

use std::collections::BTreeSet;
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use zstd::stream::read::Decoder;

use super::CHUNK_BYTES;
use super::manifest::{self, Manifest, Member};
use super::progress::Shown;
use crate::cli::CommandError;
use crate::env::{Env, File, FileSystem, OpenMode, write_atomically};
use crate::storage::MetaProperties;

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
    /// The new log directory; must be empty, or the unfinished one of the same archive
    #[arg(long, value_name = "DIR", required_unless_present = "check")]
    data_dir: Option<PathBuf>,
    /// Only read the archive and compare everything with its checksums
    #[arg(long, conflicts_with = "data_dir")]
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

pub(in crate::cli) fn run(
    arguments: &RestoreArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let env = Env::system();
    let manifest = restore(env.files.as_ref(), &arguments.archive, arguments.data_dir.as_deref())
        .map_err(|error| CommandError::Failed(error.to_string()))?;
    let bytes = manifest.members.iter().map(|member| member.bytes).sum::<u64>();
    writeln!(
        out,
        "{}: {} partitions, {} files, {bytes} bytes, as of {}, node.id={}",
        arguments.data_dir.as_deref().unwrap_or(&arguments.archive).display(),
        manifest.partitions,
        manifest.members.len(),
        crate::cli::moment::written(manifest.taken),
        manifest.node_id
    )?;
    Ok(())
}

fn restore(
    files: &dyn FileSystem,
    archive: &Path,
    directory: Option<&Path>,
) -> Result<Manifest, RestoreError> {
    let file = files.open(archive, OpenMode::ReadOnly).map_err(RestoreError::at(archive))?;
    if let Some(directory) = directory {
        claim(files, archive, &file, directory)?;
    }
    let found = unpack(files, archive, file, directory)?;
    let manifest = verify(&found).map_err(|reason| damaged(archive, reason))?;
    if let Some(directory) = directory {
        let identity = found
            .identity
            .as_deref()
            .ok_or_else(|| damaged(archive, "it has no meta.properties".to_owned()))?;
        settle(files, directory, &manifest, identity).map_err(RestoreError::at(directory))?;
    }
    Ok(manifest)
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
    identity: Option<Vec<u8>>,
}

/// Reads it once, writing what is missing in the directory.
fn unpack(
    files: &dyn FileSystem,
    archive: &Path,
    file: Arc<dyn File>,
    directory: Option<&Path>,
) -> Result<Unpacked, RestoreError> {
    let len = file.len().map_err(RestoreError::at(archive))?;
    let shown = Shown::new(if directory.is_some() { "restored" } else { "checked" }, len);
    let reader = BufReader::with_capacity(CHUNK_BYTES, ArchiveReader { file, position: 0, shown });
    let broken = |error: io::Error| damaged(archive, format!("it is damaged or cut off: {error}"));
    let decoder = Decoder::with_buffer(reader).map_err(broken)?;
    let mut tar = tar::Archive::new(decoder);
    let mut unpacked = Unpacked::default();
    for entry in tar.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.into_owned();
        if unpacked.manifest.is_some() || !is_plain(&path) {
            return Err(damaged(archive, format!("{} does not belong there", path.display())));
        }
        member(files, archive, directory, &path, &mut entry, &mut unpacked)?;
    }
    Ok(unpacked)
}

/// A file of a log directory or of a partition in it, and nowhere else.
fn is_plain(path: &Path) -> bool {
    let parts = path.components().count();
    path.components().all(|part| matches!(part, Component::Normal(_))) && (1..=2).contains(&parts)
}

fn member(
    files: &dyn FileSystem,
    archive: &Path,
    directory: Option<&Path>,
    path: &Path,
    entry: &mut impl Read,
    unpacked: &mut Unpacked,
) -> Result<(), RestoreError> {
    let broken = |error: io::Error| damaged(archive, format!("{}: {error}", path.display()));
    let name = path.display().to_string();
    if name == manifest::FILE_NAME || name == MetaProperties::FILE_NAME {
        let mut held = Vec::new();
        entry.take(HELD_BYTES_MAX).read_to_end(&mut held).map_err(broken)?;
        if name == manifest::FILE_NAME {
            unpacked.manifest = Some(held);
            return Ok(());
        }
        let (bytes, crc) = (held.len() as u64, crc32c::crc32c(&held));
        unpacked.members.push(Member { path: name, bytes, crc });
        unpacked.identity = Some(held);
        return Ok(());
    }
    let target = directory.map(|directory| directory.join(path));
    let mut sink = Sink::open(files, target.as_deref()).map_err(RestoreError::at(path))?;
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

/// Makes everything durable, then makes it a log directory.
fn settle(
    files: &dyn FileSystem,
    directory: &Path,
    manifest: &Manifest,
    identity: &[u8],
) -> io::Result<()> {
    let mut directories = BTreeSet::new();
    for member in manifest.members.iter().filter(|m| m.path != MetaProperties::FILE_NAME) {
        let path = directory.join(&member.path);
        files.open(&path, OpenMode::Existing)?.sync()?;
        directories.extend(path.parent().map(Path::to_owned));
    }
    for directory in &directories {
        files.sync_dir(directory)?;
    }
    files.sync_dir(directory)?;
    write_atomically(files, &directory.join(MetaProperties::FILE_NAME), identity)?;
    files.remove_file(&directory.join(MARKER))?;
    files.sync_dir(directory)
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
