//! What a start, or `highwater check`, understands of the log directories before anything in them is changed.
//!
//! [`Understanding::read`] locks and reads all directories and the metadata in one of them, and refuses what cannot be served.
//! [`Understanding::claim`] then begins a new life of the node.

use std::path::Path;

use super::StartError;
use crate::config::BrokerSettings;
use crate::env::Env;
use crate::metadata::{FoundMetadata, Image, MetadataStore, OpenMetadata, Serving, Understood};
use crate::storage::{FoundDirectory, LogDirectory, MetaProperties, OpenDirectoryError};
use crate::types::BrokerId;

/// A node's directories, understood and unchanged.
#[derive(Debug)]
pub struct Understanding {
    settings: BrokerSettings,
    /// The one with the metadata first.
    directories: Vec<FoundDirectory>,
    metadata: Understood,
}

/// What [`Understanding::claim`] gives.
#[derive(Debug)]
pub struct Claimed {
    /// With the `node.id` of the directories.
    pub settings: BrokerSettings,
    /// Open and locked, the one with the metadata first.
    pub directories: Vec<LogDirectory>,
    /// The metadata, in a new epoch.
    pub metadata: MetadataStore,
}

impl Understanding {
    /// Looks at everything. Blocks.
    pub fn read(env: &Env, mut settings: BrokerSettings) -> Result<Self, StartError> {
        adopt_node_id(env, &mut settings)?;
        let first = std::iter::once(&settings.metadata_log_dir);
        let others = settings.log_dirs.iter().filter(|path| **path != settings.metadata_log_dir);
        let look = |path| FoundDirectory::look(env, path, settings.node_id);
        let directories =
            first.chain(others).map(|path| look(path)).collect::<Result<Vec<_>, _>>()?;
        let known = settings.cluster_id.as_deref();
        let cluster = known.or_else(|| directories.iter().find_map(FoundDirectory::cluster_id));
        directories.iter().try_for_each(|directory| directory.check_cluster(cluster))?;
        let found = FoundMetadata {
            directory: settings.metadata_log_dir.clone(),
            cluster_id: cluster.map(str::to_owned),
            serving: Serving {
                node_id: settings.node_id,
                metadata_directory: directories[0].directory_id(),
                log_directories: directories.iter().map(FoundDirectory::directory_id).collect(),
            },
            partition: directories.iter().find_map(|found| found.partitions().next()).cloned(),
        };
        let metadata = Understood::read(env.files.as_ref(), &found)?;
        Ok(Self { settings, directories, metadata })
    }

    /// The directories, the one with the metadata first.
    pub fn directories(&self) -> &[FoundDirectory] {
        &self.directories
    }

    /// Whose they are.
    pub fn node_id(&self) -> BrokerId {
        self.settings.node_id
    }

    /// The metadata as it was found.
    pub fn image(&self) -> &Image {
        self.metadata.image()
    }

    /// Claims the directories and takes the lead. Blocks.
    pub fn claim(self, env: &Env) -> Result<Claimed, StartError> {
        let Self { settings, directories, metadata } = self;
        let known = settings.cluster_id.clone();
        let found = || directories.iter().find_map(FoundDirectory::cluster_id).map(str::to_owned);
        let mut cluster = known.or_else(found);
        let mut lost_id = metadata.directory_id();
        let mut claimed: Vec<LogDirectory> = Vec::with_capacity(directories.len());
        for directory in directories {
            // Only the directory with the metadata, the first, is known to the quorum.
            let directory = directory.claim(cluster.as_deref(), lost_id.take())?;
            cluster.get_or_insert_with(|| directory.cluster_id().to_owned());
            if !claimed.is_empty() {
                // The names of the first are synced when its metadata log is opened.
                sync_names(&directory)?;
            }
            claimed.push(directory);
        }
        let mut open = OpenMetadata::new(env.clone(), &claimed[0], settings.node_id);
        open.rack.clone_from(&settings.broker_rack);
        open.snapshot_after_bytes = settings.metadata_log_max_record_bytes_between_snapshots;
        open.endpoints = super::endpoints(&settings);
        let metadata = MetadataStore::lead(open, metadata)?;
        Ok(Claimed { settings, directories: claimed, metadata })
    }
}

fn sync_names(directory: &LogDirectory) -> Result<(), OpenDirectoryError> {
    let path = || Path::to_path_buf(directory.path());
    directory.sync_names().map_err(|source| OpenDirectoryError::Io { path: path(), source })
}

/// Where nobody gave a `node.id`, a directory that belongs to a node already says which.
fn adopt_node_id(env: &Env, settings: &mut BrokerSettings) -> Result<(), StartError> {
    if settings.node_id_given {
        return Ok(());
    }
    let path = settings.metadata_log_dir.join(MetaProperties::FILE_NAME);
    let failed = |source| OpenDirectoryError::Io { path: path.clone(), source };
    let found = env.files.read(&path).map_err(failed)?;
    // A damaged file is reported by the look at the directory.
    if let Some(meta) = found.and_then(|bytes| MetaProperties::decode(&bytes).ok()) {
        settings.node_id = meta.node_id;
    }
    Ok(())
}
