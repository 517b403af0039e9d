//! The log directories of one node.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::BackupError;
use crate::env::FileSystem;
use crate::metadata::Image;
use crate::storage::checkpoint_file::decode_offsets;
use crate::storage::{Checkpoint, METADATA_DIRECTORY, MetaProperties};
use crate::types::Offset;

/// Where a node's data lies, and what each directory says of itself.
#[derive(Debug)]
pub(super) struct Roots {
    pub paths: Vec<PathBuf>,
    pub identities: Vec<MetaProperties>,
    /// The one with the metadata log.
    pub metadata: usize,
}

impl Roots {
    /// Reads who they belong to, which must be one node.
    pub fn look(files: &dyn FileSystem, paths: Vec<PathBuf>) -> Result<Self, BackupError> {
        let identities: Vec<MetaProperties> =
            paths.iter().map(|path| identity(files, path)).collect::<Result<_, _>>()?;
        let of = |meta: &MetaProperties| (meta.cluster_id.clone(), meta.node_id);
        if let Some(at) = identities.iter().position(|meta| of(meta) != of(&identities[0])) {
            return Err(BackupError::Refused(format!(
                "{} and {} belong to different nodes: a backup is of one",
                paths[0].display(),
                paths[at].display()
            )));
        }
        let mut metadata = None;
        for (at, path) in paths.iter().enumerate() {
            let log = path.join(METADATA_DIRECTORY);
            if metadata.is_none() && files.stat(&log).map_err(BackupError::at(&log))?.is_some() {
                metadata = Some(at);
            }
        }
        let metadata = metadata.ok_or_else(|| {
            let named: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            BackupError::Refused(format!(
                "there is no {METADATA_DIRECTORY} in {}: name the directory that has it with another --data-dir",
                named.join(", ")
            ))
        })?;
        Ok(Self { paths, identities, metadata })
    }

    /// Whose they are.
    pub fn identity(&self) -> &MetaProperties {
        &self.identities[self.metadata]
    }

    /// The metadata log.
    pub fn metadata_path(&self) -> PathBuf {
        self.paths[self.metadata].join(METADATA_DIRECTORY)
    }

    /// Records in a directory that is not named would be missing in the archive.
    pub fn refuse_missing(&self, image: &Image) -> Result<(), BackupError> {
        let registered = image.brokers.get(&self.identity().node_id);
        let registered = registered.map(|broker| broker.log_dirs.as_slice()).unwrap_or_default();
        let is_named = |id| self.identities.iter().any(|meta| meta.directory_id == Some(id));
        let missing = registered.iter().filter(|id| !is_named(**id)).count();
        // A directory from before there were ids is the only one.
        if missing == 0 || registered.len() == 1 {
            return Ok(());
        }
        Err(BackupError::Refused(format!(
            "the broker has {} log directories, and {missing} of them are not named: give one --data-dir for each, or --config",
            registered.len()
        )))
    }

    /// How far logs may have been cleaned, by the names of their directories. To be read after the logs: it only grows.
    pub fn cleaned(&self, files: &dyn FileSystem) -> Result<BTreeMap<String, Offset>, BackupError> {
        let mut cleaned = BTreeMap::new();
        for root in &self.paths {
            let path = root.join(Checkpoint::Cleaner.file_name());
            let bytes = files.read(&path).map_err(BackupError::at(&path))?.unwrap_or_default();
            // A damaged one is none to the broker either: it cleans from the beginning.
            let offsets = decode_offsets(&bytes).unwrap_or_default();
            cleaned.extend(offsets.iter().map(|(name, offset)| (name.to_string(), *offset)));
        }
        Ok(cleaned)
    }
}

fn identity(files: &dyn FileSystem, directory: &Path) -> Result<MetaProperties, BackupError> {
    let path = directory.join(MetaProperties::FILE_NAME);
    let refuse = |why: &dyn std::fmt::Display| {
        BackupError::Refused(format!("{} is no log directory: {why}", directory.display()))
    };
    let bytes = match files.read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(refuse(&error)),
        bytes => bytes.map_err(BackupError::at(&path))?,
    };
    let bytes = bytes.ok_or_else(|| refuse(&"it has no meta.properties"))?;
    MetaProperties::decode(&bytes)
        .map_err(|error| BackupError::Refused(format!("{}: {error}", path.display())))
}
