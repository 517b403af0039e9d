//! `highwater check`: what a stopped node's directory holds, what a start here would do about it, and what it cannot serve.
//!
//! It starts the broker, without its ports, on an overlay of the disk: the very code of a start reads everything, and what it
//! writes stays in memory. So there is one understanding of a directory, and nothing is written.

mod report;
mod trial;
mod written_by;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::CommandError;
use super::arguments::{BrokerArguments, key_and_value};
use crate::config::BrokerSettings;
use crate::env::{Disk, FileSystem};
use crate::storage::METADATA_DIRECTORY;

/// Which directories.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is written. The exit code is 0 if a start would serve everything, and 1 if there is something that it would not serve.

Examples:
  highwater check /var/lib/kafka                      a stopped node with one log directory
  highwater check /disk1/kafka /disk2/kafka           a node with two; the one with the metadata may be any of them
  highwater check --config server.properties          the log.dirs that the file names")]
pub struct CheckArguments {
    /// The log directories of one node; those of the configuration unless given
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Kafka's server.properties
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting; may be repeated
    #[arg(long = "set", short = 's', value_name = "KEY=VALUE", value_parser = key_and_value)]
    set: Vec<(String, String)>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How it is known which of the directories are for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kinds {
    /// Settings tell.
    Told,
    /// Directories were named, and one of them may hold nothing but the metadata.
    Found,
}

pub(super) fn run(arguments: &CheckArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let disk: Arc<dyn FileSystem> = Arc::new(Disk);
    let settings = arguments.settings(disk.as_ref())?;
    for directory in &settings.log_dirs {
        let there = disk.stat(directory).is_ok_and(|stat| stat.is_some());
        if !there {
            let text = format!("{} does not exist, or cannot be read", directory.display());
            return Err(CommandError::Failed(text));
        }
    }
    let kinds = if arguments.directories.is_empty() { Kinds::Told } else { Kinds::Found };
    let report = trial::run(disk, settings, kinds)?;
    if arguments.json {
        report.write_json(out)?
    } else {
        report.write_text(out)?
    }
    match report.verdict() {
        Ok(()) => Ok(()),
        Err(verdict) => {
            // What was found goes first.
            out.flush()?;
            Err(CommandError::Failed(verdict))
        }
    }
}

impl CheckArguments {
    fn settings(&self, files: &dyn FileSystem) -> Result<BrokerSettings, CommandError> {
        let mut set = self.set.clone();
        if !self.directories.is_empty() {
            let named = |path: &PathBuf| path.to_string_lossy().into_owned();
            let metadata = self.directories.iter().find(|path| {
                files.stat(&path.join(METADATA_DIRECTORY)).is_ok_and(|stat| stat.is_some())
            });
            let all: Vec<String> = self.directories.iter().map(named).collect();
            set.push(("log.dirs".to_owned(), all.join(",")));
            set.extend(metadata.map(|path| ("metadata.log.dir".to_owned(), named(path))));
        }
        let arguments = BrokerArguments { config: self.config.clone(), set, ..Default::default() };
        let loaded = arguments.load(files).map_err(|e| CommandError::Usage(e.to_string()))?;
        Ok(loaded.settings)
    }
}
