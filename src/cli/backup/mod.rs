//! `highwater backup`: the log directories of a node, as they were at one moment, in one archive, beside the running broker.
//!
//! `moment` finds lengths of all logs that belong together, `plan` says which files that makes, `archive` writes them,
//! `resume` keeps on disk how far that has come. docs/decisions/11-backup.md says why it is done so.

mod archive;
pub(super) mod manifest;
mod moment;
mod plan;
mod progress;
pub(super) mod restore;
mod resume;
mod rewind;
mod roots;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use self::archive::ArchiveWriter;
use self::manifest::{Manifest, archived_path};
use self::plan::Plan;
use self::progress::Shown;
use self::resume::Resume;
use self::roots::Roots;
use super::CommandError;
use super::arguments::BrokerArguments;
use crate::env::{Env, FileSystem, raise_descriptor_limit};

/// Bytes copied at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// What to back up, and where to.
#[derive(Clone, Debug, Args)]
pub struct BackupArguments {
    /// The archive to write: a tar file compressed with zstd
    #[arg(value_name = "ARCHIVE")]
    archive: PathBuf,
    /// A log directory of the broker, which may be running; once for each that it has
    #[arg(long, value_name = "DIR", default_value = "highwater-data")]
    data_dir: Vec<PathBuf>,
    /// Kafka's server.properties, which names the log directories
    #[arg(long, short, value_name = "FILE", conflicts_with = "data_dir")]
    config: Option<PathBuf>,
    /// How hard to compress, 1 to 19; records that producers compressed gain nothing from a high one
    #[arg(long, value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(i32).range(1..=19))]
    level: i32,
    /// How long to look for a moment between two transactions
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience: u64,
    /// Forget what an interrupted backup has written, and begin again
    #[arg(long)]
    restart: bool,
}

/// Why there is no archive.
#[derive(Debug, thiserror::Error)]
enum BackupError {
    /// Not a directory that can be backed up.
    #[error("{0}")]
    Refused(String),
    /// No moment was found.
    #[error(
        "the logs of transactions never stood still for as long as it takes to look at {logs} logs, in {attempts} attempts: \
         --patience SECONDS tries longer; else hold the transactional producers for a second"
    )]
    Restless {
        /// Logs looked at.
        logs: usize,
        /// How often.
        attempts: u64,
    },
    /// What was planned is not there any more.
    #[error(
        "{path} has changed since the backup was interrupted, so it cannot go on: --restart begins again"
    )]
    Changed {
        /// The file.
        path: String,
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

impl BackupError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

impl From<BackupError> for CommandError {
    fn from(error: BackupError) -> Self {
        Self::Failed(error.to_string())
    }
}

pub(super) fn run(arguments: &BackupArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let env = Env::system();
    // More files than allowed are said when they cannot be opened.
    let _ = raise_descriptor_limit();
    let made = back_up(&env, arguments)?;
    let bytes = made.members.iter().map(|member| member.bytes).sum::<u64>();
    writeln!(
        out,
        "{}: {} partitions, {} files, {bytes} bytes, as of {}",
        arguments.archive.display(),
        made.partitions,
        made.members.len(),
        super::moment::written(made.taken)
    )?;
    Ok(())
}

fn back_up(env: &Env, arguments: &BackupArguments) -> Result<Manifest, BackupError> {
    let files = env.files.as_ref();
    let archive = &arguments.archive;
    if files.stat(archive).map_err(BackupError::at(archive))?.is_some() {
        return Err(BackupError::Refused(format!("{} is there already", archive.display())));
    }
    let roots = Roots::look(files, arguments.directories(files)?)?;
    if arguments.restart {
        Resume::forget(files, archive).map_err(BackupError::at(archive))?;
    }
    let (plan, resume) = match Resume::open(files, archive).map_err(BackupError::at(archive))? {
        Some(resume) => {
            let plan = Plan::again(files, &roots, &resume)?;
            progress::say(&format!(
                "an interrupted backup goes on behind {} files",
                resume.done.len()
            ));
            (plan, resume)
        }
        None => {
            let patience = Duration::from_secs(arguments.patience);
            let logs = moment::find(env, &roots.paths, patience)?;
            let plan = Plan::new(env, &roots, logs)?;
            let begun = Resume::begin(files, archive, &plan).map_err(BackupError::at(archive))?;
            (plan, begun)
        }
    };
    let manifest = write(env, arguments, &roots, &plan, resume)?;
    finish(files, archive).map_err(BackupError::at(archive))?;
    Ok(manifest)
}

impl BackupArguments {
    /// As given, or as the configuration says.
    fn directories(&self, files: &dyn FileSystem) -> Result<Vec<PathBuf>, BackupError> {
        let Some(config) = &self.config else { return Ok(self.data_dir.clone()) };
        let arguments = BrokerArguments { config: Some(config.clone()), ..Default::default() };
        let loaded = arguments.load(files).map_err(|e| BackupError::Refused(e.to_string()))?;
        let mut directories = loaded.settings.log_dirs;
        let metadata = loaded.settings.metadata_log_dir;
        if !directories.contains(&metadata) {
            directories.push(metadata);
        }
        Ok(directories)
    }
}

/// Writes what the archive lacks.
fn write(
    env: &Env,
    arguments: &BackupArguments,
    roots: &Roots,
    plan: &Plan,
    mut resume: Resume,
) -> Result<Manifest, BackupError> {
    let partial = resume::partial(&arguments.archive);
    let failed = || BackupError::at(&partial);
    let mut shown = Shown::new("backed up", plan.bytes());
    let mut archive =
        ArchiveWriter::open(env.files.as_ref(), &partial, resume.archive_bytes, arguments.level)
            .map_err(failed())?;
    let mut members = std::mem::take(&mut resume.done);
    for member in members.iter().filter(|member| !member.is_absent()) {
        shown.add(member.bytes);
    }
    for source in &plan.sources[members.len().min(plan.sources.len())..] {
        let path = archived_path(roots.paths.len(), source.root, &source.path);
        let Some(opened) = source.open(env.files.as_ref(), roots)? else {
            members.push(manifest::Member::absent(&path));
            continue;
        };
        let taken = plan.manifest.taken;
        let member = archive.member(&path, &opened, taken, &mut shown).map_err(failed())?;
        members.push(member);
        if archive.unsynced() >= resume::SYNC_BYTES {
            let bytes = archive.sync().map_err(failed())?;
            resume.record(&members, bytes).map_err(failed())?;
        }
    }
    members.retain(|member| !member.is_absent());
    let cleaned = Some(roots.cleaned(env.files.as_ref())?);
    let manifest = Manifest { members, cleaned, ..plan.manifest.clone() };
    archive.finish(&manifest).map_err(failed())?;
    Ok(manifest)
}

/// The archive gets its name once it is whole.
fn finish(files: &dyn FileSystem, archive: &Path) -> io::Result<()> {
    files.rename(&resume::partial(archive), archive)?;
    Resume::forget(files, archive)?;
    sync_parent(files, archive)
}

fn sync_parent(files: &dyn FileSystem, path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => files.sync_dir(Path::new(".")),
        Some(parent) => files.sync_dir(parent),
        None => Ok(()),
    }
}
