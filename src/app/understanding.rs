//! What a start, or `highwater check`, understands of the log directories before anything in them is changed.
//!
//! [`Understanding::read`] locks and reads all directories and the metadata in one of them, and refuses what cannot be served.
//! [`Understanding::claim`] then begins a new life of the node.

use std::path::Path;

use super::StartError;
use super::directories::{is_failure_of_disk, refuse_repeated};
use crate::broker::FailedDirectory;
use crate::config::BrokerSettings;
use crate::env::Env;
use crate::metadata::{FoundMetadata, Image, MetadataStore, OpenMetadata, Serving, Understood};
use crate::storage::{FoundDirectory, LogDirectory, MetaProperties, OpenDirectoryError};
use crate::types::{BrokerId, DirectoryId};

/// A node's directories, understood and unchanged.
#[derive(Debug)]
pub struct Understanding {
    settings: BrokerSettings,
    /// The one with the metadata first.
    directories: Vec<FoundDirectory>,
    /// That one is not among `log.dirs`: no partition is looked for in it.
    metadata_alone: bool,
    /// Those that cannot be looked into.
    failed: Vec<FailedDirectory>,
    metadata: Understood,
}

/// What [`Understanding::claim`] gives.
#[derive(Debug)]
pub struct Claimed {
    /// With the `node.id` of the directories.
    pub settings: BrokerSettings,
    /// Those of `log.dirs`, open and locked; if the metadata lies in one of them, that one first.
    pub directories: Vec<LogDirectory>,
    /// Those that cannot be used: their partitions are offline.
    pub failed: Vec<FailedDirectory>,
    /// The metadata, in a new epoch.
    pub metadata: MetadataStore,
}

impl Understanding {
    /// Looks at everything. Blocks.
    pub fn read(env: &Env, mut settings: BrokerSettings) -> Result<Self, StartError> {
        adopt_node_id(env, &mut settings)?;
        let (directories, failed) = look_at_all(env, &settings)?;
        refuse_repeated(&directories)?;
        let known = settings.cluster_id.as_deref();
        let cluster = known.or_else(|| directories.iter().find_map(FoundDirectory::cluster_id));
        directories.iter().try_for_each(|directory| directory.check_cluster(cluster))?;
        let metadata_alone = !settings.log_dirs.contains(&settings.metadata_log_dir);
        let log_directories = &directories[usize::from(metadata_alone)..];
        let found = FoundMetadata {
            directory: settings.metadata_log_dir.clone(),
            cluster_id: cluster.map(str::to_owned),
            serving: Serving {
                node_id: settings.node_id,
                metadata_directory: directories[0].directory_id(),
                log_directories: ids(log_directories, &failed),
            },
            partition: log_directories.iter().find_map(|found| found.partitions().next()).cloned(),
        };
        let metadata = Understood::read(env.files.as_ref(), &found)?;
        Ok(Self { settings, directories, metadata_alone, failed, metadata })
    }

    /// The directories, the one with the metadata first.
    pub fn directories(&self) -> &[FoundDirectory] {
        &self.directories
    }

    /// Whether the first holds nothing but the metadata.
    pub fn is_metadata_alone(&self) -> bool {
        self.metadata_alone
    }

    /// Whether the first is none of the log directories that the node had in its last life.
    pub fn has_metadata_where_no_logs_are(&self) -> bool {
        let registered = self.image().broker(self.node_id()).map(|broker| &broker.log_dirs);
        let (Some(registered), Some(id)) = (registered, self.directories[0].directory_id()) else {
            return false;
        };
        self.directories.len() > 1 && !registered.is_empty() && !registered.contains(&id)
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
        let Self { settings, directories, metadata_alone, mut failed, metadata } = self;
        let known = settings.cluster_id.clone();
        let found = || directories.iter().find_map(FoundDirectory::cluster_id).map(str::to_owned);
        let mut cluster = known.or_else(found);
        let mut lost_id = metadata.directory_id();
        let mut claimed: Vec<LogDirectory> = Vec::with_capacity(directories.len());
        for directory in directories {
            // Only the directory with the metadata, the first, is known to the quorum.
            let path = directory.path().to_owned();
            let directory = directory.claim(cluster.as_deref(), lost_id.take());
            let directory = match directory.and_then(|directory| {
                // The names of the first are synced when its metadata log is opened.
                if claimed.is_empty() { Ok(directory) } else { sync_names(directory) }
            }) {
                Ok(directory) => directory,
                Err(error) if !claimed.is_empty() && is_failure_of_disk(&error) => {
                    failed.push(FailedDirectory::of(path, &error));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            cluster.get_or_insert_with(|| directory.cluster_id().to_owned());
            claimed.push(directory);
        }
        let mut open = OpenMetadata::new(env.clone(), &claimed[0], settings.node_id);
        open.holds_partitions = !metadata_alone;
        open.other_directories = claimed[1..].iter().map(LogDirectory::directory_id).collect();
        open.rack.clone_from(&settings.broker_rack);
        open.snapshot_after_bytes = settings.metadata_log_max_record_bytes_between_snapshots;
        open.endpoints = super::endpoints(&settings);
        refuse_none(&claimed[usize::from(metadata_alone)..], &failed)?;
        let mut metadata = MetadataStore::lead(open, metadata)?;
        if metadata_alone {
            metadata.hold(claimed.remove(0));
        }
        Ok(Claimed { settings, directories: claimed, failed, metadata })
    }
}

/// The directories, the one with the metadata first, and those that cannot be looked into.
fn look_at_all(
    env: &Env,
    settings: &BrokerSettings,
) -> Result<(Vec<FoundDirectory>, Vec<FailedDirectory>), OpenDirectoryError> {
    let look = |path: &Path| FoundDirectory::look(env, path, settings.node_id);
    let mut directories = vec![look(&settings.metadata_log_dir)?];
    let mut failed = Vec::new();
    // That one stands among the others once.
    let mut has_metadata = true;
    for path in &settings.log_dirs {
        if *path == settings.metadata_log_dir && std::mem::take(&mut has_metadata) {
            continue;
        }
        match look(path) {
            Ok(directory) => directories.push(directory),
            Err(error) if is_failure_of_disk(&error) => {
                failed.push(FailedDirectory::of(path.clone(), &error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((directories, failed))
}

/// A node without any log directory serves nothing.
fn refuse_none(
    claimed: &[LogDirectory],
    failed: &[FailedDirectory],
) -> Result<(), OpenDirectoryError> {
    match (claimed, failed) {
        ([], [first, ..]) => Err(OpenDirectoryError::Io {
            path: first.path.clone(),
            source: std::io::Error::other(first.reason.clone()),
        }),
        _ => Ok(()),
    }
}

/// As far as they are known.
fn ids(directories: &[FoundDirectory], failed: &[FailedDirectory]) -> Vec<Option<DirectoryId>> {
    let found = directories.iter().map(FoundDirectory::directory_id);
    found.chain(failed.iter().map(|_| None)).collect()
}

fn sync_names(directory: LogDirectory) -> Result<LogDirectory, OpenDirectoryError> {
    let path = directory.path().to_owned();
    directory.sync_names().map_err(|source| OpenDirectoryError::Io { path, source })?;
    Ok(directory)
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
