//! Opens a metadata log in two steps: [`Understood::read`] reads it and checks that this node may go on with it, and changes
//! nothing; [`open`] writes what a start writes, formatting a log that is new.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::apply::{ApplyError, ImageBuilder, Replay};
use super::image::Image;
use super::journal::{self, BatchWriter, ControlRecord, Journal, LoadError, Loaded};
use super::lifecycle::{self, Formatted, Node};
use super::records::MetadataRecord;
use super::serving::{self, Serving};
use super::store::{OpenMetadata, put};
use crate::env::FileSystem;
use crate::storage::METADATA_DIRECTORY;
use crate::types::{DirectoryId, LeaderEpoch, Offset, TopicPartition};

/// Features of a directory that Kafka 4.0 to 4.3 formatted and never started on.
const BOOTSTRAP_CHECKPOINT: &str = "bootstrap.checkpoint";

/// Why a metadata log is not gone on with.
#[derive(Debug, thiserror::Error)]
pub enum OpenMetadataError {
    /// It could not be written.
    #[error("the metadata log cannot be written: {0}")]
    Journal(io::Error),
    /// Files found cannot be used; the text says what to do.
    #[error("{0}")]
    Unusable(String),
    /// The log is in order, but holds what this release does not serve.
    #[error("{} cannot be served, and nothing was changed: {}", .directory.display(), .refusals.join("; "))]
    CannotServe {
        /// The metadata log.
        directory: PathBuf,
        /// What, and the way out of each.
        refusals: Vec<String>,
    },
}

/// A log that this node leads.
pub struct Opened {
    pub journal: Journal,
    pub image: Image,
    pub node: Node,
    pub broker_epoch: i64,
}

/// Where a metadata log may lie, and whose it must be.
#[derive(Clone, Debug)]
pub struct FoundMetadata {
    /// The directory with `__cluster_metadata-0`.
    pub directory: PathBuf,
    /// `cluster.id` from `meta.properties`, or the one to format with; `None` if that is still to be made.
    pub cluster_id: Option<String>,
    /// This node and its log directories.
    pub serving: Serving,
    /// A partition that has a directory in any of them.
    pub partition: Option<TopicPartition>,
}

/// A metadata log that this node may go on with. Nothing was changed yet.
#[derive(Debug)]
pub struct Understood {
    loaded: Loaded,
    /// `None` for a log that has features already.
    formatted: Option<Formatted>,
}

impl Understood {
    /// Reads the log and refuses it for whatever cannot be served. Blocks.
    pub fn read(files: &dyn FileSystem, found: &FoundMetadata) -> Result<Self, OpenMetadataError> {
        let directory = found.directory.join(METADATA_DIRECTORY);
        let cluster_id = found.cluster_id.as_deref().unwrap_or_default();
        let mut loaded = journal::load(files, &directory, cluster_id)?;
        if loaded.image.end_offset == Offset::ZERO {
            refuse_orphans(found)?;
        }
        // The first start on a log may have ended right after its first batch.
        let lacks_features =
            loaded.image.end_offset == Offset::ZERO || loaded.image.metadata_version() == 0;
        let formatted = match lacks_features {
            true => Some(read_formatted(files, &found.directory, &mut loaded)?),
            false => None,
        };
        let refusals = serving::refusals(&loaded.image, &found.serving);
        if !refusals.is_empty() {
            return Err(OpenMetadataError::CannotServe { directory, refusals });
        }
        Ok(Self { loaded, formatted })
    }

    /// The state that was found.
    pub fn image(&self) -> &Image {
        &self.loaded.image
    }

    /// The id that the quorum knows the metadata directory by, for a `meta.properties` that has lost it.
    pub fn directory_id(&self) -> Option<DirectoryId> {
        self.image().quorum.voters.first().map(|voter| voter.directory_id)
    }
}

/// Goes on with a log that was understood. One sync for a log that was there; three for a new one, the log directory's own
/// names included.
pub fn open(args: &OpenMetadata, understood: Understood) -> Result<Opened, OpenMetadataError> {
    let Understood { mut loaded, formatted } = understood;
    loaded.image.cluster_id.clone_from(&args.cluster_id);
    let node = Node {
        id: args.node_id,
        metadata_directory: args.directory_id,
        log_directories: args.log_directories(),
        rack: args.rack.clone(),
        endpoints: args.endpoints.clone(),
    };
    let mut election = node.election();
    let mut transition = Vec::new();
    if loaded.transaction_open {
        transition.push(MetadataRecord::AbortTransaction { reason: None });
    }
    if let Some(formatted) = formatted {
        if loaded.image.end_offset == Offset::ZERO {
            election.extend(node.new_quorum(&loaded.image.quorum, formatted));
        }
        transition.extend(lifecycle::bootstrap(&loaded.image));
    }
    lead(args, node, loaded, election, transition)
}

/// Takes the lead in a new epoch: election, `transition`, registration, partitions, all in one write.
fn lead(
    args: &OpenMetadata,
    node: Node,
    loaded: Loaded,
    election: Vec<ControlRecord>,
    transition: Vec<MetadataRecord>,
) -> Result<Opened, OpenMetadataError> {
    let image = loaded.image.clone();
    let epoch = LeaderEpoch::new(loaded.last_epoch.get().saturating_add(1));
    let directory = args.directory.join(METADATA_DIRECTORY);
    let mut journal = Journal::resume(Arc::clone(&args.env.files), directory, loaded, epoch)
        .map_err(OpenMetadataError::Journal)?;
    let now = args.env.clock.wall();
    let mut start = Start { batches: journal.writer(now), image };
    start.elect(election)?;
    start.put(transition)?;
    let broker_epoch = start.batches.next_offset().get();
    start.put(vec![node.registration(&start.image, args.env.random.uuid(), broker_epoch)])?;
    start.put(node.take_lead(&start.image, broker_epoch))?;
    journal.append(&start.batches, now).map_err(|e| OpenMetadataError::Journal(e.into()))?;
    journal.reserve();
    Ok(Opened { journal, image: start.image, node, broker_epoch })
}

/// The batches of a start and the image that they lead to.
struct Start {
    batches: BatchWriter,
    image: Image,
}

impl Start {
    fn elect(&mut self, records: Vec<ControlRecord>) -> Result<(), OpenMetadataError> {
        self.batches.control(&records);
        let mut builder = ImageBuilder::new(std::mem::take(&mut self.image));
        for record in records {
            builder.apply_control(record);
        }
        self.image = builder.finish(self.batches.next_offset()).map_err(contradiction)?;
        Ok(())
    }

    fn put(&mut self, records: Vec<MetadataRecord>) -> Result<(), OpenMetadataError> {
        let mut builder = ImageBuilder::new(std::mem::take(&mut self.image));
        records.iter().try_for_each(|record| builder.apply(record)).map_err(contradiction)?;
        let level = builder.image_but_topics().metadata_version();
        put(&mut self.batches, records, level);
        self.image = builder.finish(self.batches.next_offset()).map_err(contradiction)?;
        Ok(())
    }
}

/// Takes over the features of a formatted directory, if that is what it is.
fn read_formatted(
    files: &dyn FileSystem,
    directory: &Path,
    loaded: &mut Loaded,
) -> Result<Formatted, OpenMetadataError> {
    let path = directory.join(BOOTSTRAP_CHECKPOINT);
    let Some(bytes) = files.read(&path).map_err(|e| unreadable(&path, &e))? else {
        return Ok(Formatted::ByUs);
    };
    let end = loaded.image.end_offset;
    let mut replay = Replay::new(std::mem::take(&mut loaded.image));
    journal::replay_snapshot(&bytes, &mut replay).map_err(|reason| {
        OpenMetadataError::Unusable(format!(
            "{}: {reason}; remove it to start at the feature levels of Kafka 4.0",
            path.display()
        ))
    })?;
    loaded.image = replay.finish(end).map_err(contradiction)?;
    Ok(Formatted::ByKafka)
}

/// A new metadata log would disown the partitions that lie there.
fn refuse_orphans(found: &FoundMetadata) -> Result<(), OpenMetadataError> {
    match &found.partition {
        None => Ok(()),
        Some(partition) => Err(OpenMetadataError::Unusable(format!(
            "{} holds no metadata log, but there are partitions such as {partition}: restore {METADATA_DIRECTORY} from a backup, set metadata.log.dir to the directory that has it, or choose an empty directory",
            found.directory.display(),
        ))),
    }
}

fn unreadable(path: &Path, e: &io::Error) -> OpenMetadataError {
    OpenMetadataError::Unusable(format!("{} cannot be read: {e}", path.display()))
}

fn contradiction(e: ApplyError) -> OpenMetadataError {
    OpenMetadataError::Unusable(format!(
        "the metadata log contradicts itself: {e}; restore it from a backup"
    ))
}

impl From<LoadError> for OpenMetadataError {
    fn from(e: LoadError) -> Self {
        Self::Unusable(e.to_string())
    }
}
