//! The directory of one partition, and the file in it that says which topic it is of (Kafka's `PartitionMetadataFile`).
//!
//! A Kafka that starts sets a directory without `partition.metadata` aside as a stray, records or not, and one with a malformed
//! file keeps it from starting at all. So a new directory gets its name only once that file is in it: a process that is killed
//! meanwhile leaves a `-delete` directory, which every start removes. What a killed Kafka or a power cut has left without the
//! file, or with a torn one, gets it when the log is opened.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::append::{LEADER_EPOCHS, PARTITION_METADATA};
use super::format::leader_epochs::{self, EpochStart};
use super::format::partition_metadata;
use super::log::Log;
use super::open::{OpenError, OpenLog};
use super::sweep::base_of;
use crate::env::{DirEntry, EntryKind, FileSystem, OpenMode, is_no_room};
use crate::storage::{DirectoryName, deleted_name};
use crate::types::{Offset, Uuid};

/// A directory as opening found or made it.
pub(super) struct PartitionDirectory {
    /// Names of the files in it.
    pub(super) names: BTreeSet<String>,
    pub(super) is_new: bool,
    /// It says that it is of this topic.
    pub(super) has_metadata: bool,
}

impl PartitionDirectory {
    /// Makes the directory if it is not there. One of another topic is refused.
    pub(super) fn find_or_make(args: &OpenLog) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Io { directory: args.directory.clone(), source };
        match args.env.files.list(&args.directory) {
            Ok(entries) => Ok(Self {
                names: names_of_files(args, entries)?,
                is_new: false,
                has_metadata: names_topic(args)?,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(args).map_err(failed)?;
                let names = BTreeSet::from([PARTITION_METADATA.to_owned()]);
                Ok(Self { names, is_new: true, has_metadata: true })
            }
            Err(error) => Err(failed(error)),
        }
    }
}

impl Log {
    /// Writes the file that says whose the directory is, where that is missing. A disk without room keeps nobody from reading:
    /// the first append tries again.
    pub(super) fn mend_metadata(&mut self) -> io::Result<()> {
        if self.has_metadata {
            return Ok(());
        }
        match self.write_metadata() {
            Ok(()) => {
                tracing::warn!(directory = %self.directory.display(), "partition.metadata is written anew: Kafka would have set the partition aside");
                Ok(())
            }
            Err(error) if is_no_room(&error) => {
                tracing::warn!(directory = %self.directory.display(), %error, "no room for partition.metadata");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn write_metadata(&mut self) -> io::Result<()> {
        self.sync_new_directory()?;
        self.write_together(&[(PARTITION_METADATA, partition_metadata::encode(self.topic_id))])?;
        self.has_metadata = true;
        Ok(())
    }
}

/// A directory in the place of a segment's file is damage: nothing is read or written around it.
fn names_of_files(args: &OpenLog, entries: Vec<DirEntry>) -> Result<BTreeSet<String>, OpenError> {
    let is_no_file =
        |entry: &&DirEntry| entry.kind == EntryKind::Directory && base_of(&entry.name).is_some();
    if let Some(entry) = entries.iter().find(is_no_file) {
        let (file, reason) = (args.directory.join(&entry.name), "it is a directory".to_owned());
        return Err(OpenError::Damaged { file, reason });
    }
    Ok(entries.into_iter().map(|entry| entry.name).collect())
}

/// Under a name that nobody serves, until it is complete.
fn make(args: &OpenLog) -> io::Result<()> {
    let files = args.env.files.as_ref();
    let making = name_while_made(&args.directory, args.env.random.uuid());
    let made = fill(files, &making, args).and_then(|()| files.rename(&making, &args.directory));
    if made.is_err() {
        // What failed is told; the next start removes what cannot be removed now.
        let _ = files.remove_dir_all(&making);
    }
    made
}

/// Before the first record of a partition stand this, the rename and the sync of the directory above: a disk has to finish two things
/// one after the other, where each file and name on its own would make it four.
fn fill(files: &dyn FileSystem, making: &Path, args: &OpenLog) -> io::Result<()> {
    files.create_dir_all(making)?;
    let mut contents = vec![(PARTITION_METADATA, partition_metadata::encode(args.topic_id))];
    if let Some(epoch) = args.leader_epoch {
        let first = EpochStart { epoch, start: Offset::ZERO };
        contents.push((LEADER_EPOCHS, leader_epochs::encode(&[first])));
    }
    let write = |(name, bytes): &(&str, Vec<u8>)| {
        let file = files.open(&making.join(name), OpenMode::CreateOrTruncate)?;
        file.write_all_at(bytes, 0)?;
        file.begin_sync();
        Ok(file)
    };
    let written = contents.iter().map(write).collect::<io::Result<Vec<_>>>()?;
    written.iter().try_for_each(|file| file.sync())?;
    files.sync_dir(making)
}

fn name_while_made(directory: &Path, id: Uuid) -> PathBuf {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    match DirectoryName::parse(&name).partition() {
        Some(partition) => directory.with_file_name(deleted_name(&partition, id)),
        // Nobody looks for partitions beside a directory of any other name.
        None => directory.with_file_name(format!("{name}.{id}-delete")),
    }
}

/// Is there a `partition.metadata`? It must name this topic; an unreadable one counts as missing.
fn names_topic(args: &OpenLog) -> Result<bool, OpenError> {
    let file = args.directory.join(PARTITION_METADATA);
    let io = |source| OpenError::Io { directory: args.directory.clone(), source };
    let Some(bytes) = args.env.files.read(&file).map_err(io)? else { return Ok(false) };
    match partition_metadata::decode(&bytes) {
        Ok(id) if id == args.topic_id => Ok(true),
        Ok(found) => Err(OpenError::OtherTopic { directory: args.directory.clone(), found }),
        Err(damage) => {
            tracing::warn!(file = %file.display(), %damage, "a damaged partition.metadata counts as missing");
            Ok(false)
        }
    }
}
