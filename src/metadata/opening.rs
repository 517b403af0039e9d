//! Opens a metadata log: reads or formats it, checks that this node may go on with it, and writes what a start writes.

use std::path::Path;
use std::sync::Arc;

use super::apply::{ApplyError, ImageBuilder, Replay};
use super::image::Image;
use super::journal::{self, BatchWriter, ControlRecord, Journal, LoadError, Loaded};
use super::lifecycle::{self, Formatted, Node};
use super::records::{MetadataRecord, OLDEST_LEVEL};
use super::store::{MetadataError, OpenMetadata, put};
use crate::env::EntryKind;
use crate::storage::{DirectoryName, METADATA_DIRECTORY};
use crate::types::{LeaderEpoch, Offset};

/// Features of a directory that Kafka 4.0 to 4.3 formatted and never started on.
const BOOTSTRAP_CHECKPOINT: &str = "bootstrap.checkpoint";

/// A log that this node leads.
pub struct Opened {
    pub journal: Journal,
    pub image: Image,
    pub node: Node,
    pub broker_epoch: i64,
}

/// Opens the log. One sync for a log that was there; three for a new one, the log directory's own names included.
pub fn open(args: &OpenMetadata) -> Result<Opened, MetadataError> {
    let files = &args.env.files;
    let directory = args.directory.join(METADATA_DIRECTORY);
    let mut loaded = journal::load(files.as_ref(), &directory, &args.cluster_id)?;
    let node = Node {
        id: args.node_id,
        directory_id: args.directory_id,
        rack: args.rack.clone(),
        endpoints: args.endpoints.clone(),
    };
    check_quorum(&loaded.image, &node, &directory)?;
    let is_unwritten = loaded.image.end_offset == Offset::ZERO;
    if is_unwritten {
        refuse_orphans(args)?;
    }
    // The first start on a log may have ended right after its first batch.
    let lacks_features = is_unwritten || loaded.image.metadata_version() == 0;
    let mut election = node.election();
    if lacks_features {
        let formatted = read_formatted(args, &mut loaded)?;
        if is_unwritten {
            election.extend(node.new_quorum(&loaded.image.quorum, formatted));
        }
    }
    check_level(&loaded.image)?;
    let mut transition = Vec::new();
    if loaded.transaction_open {
        transition.push(MetadataRecord::AbortTransaction { reason: None });
    }
    if lacks_features {
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
) -> Result<Opened, MetadataError> {
    let image = loaded.image.clone();
    let epoch = LeaderEpoch::new(loaded.last_epoch.get().saturating_add(1));
    let directory = args.directory.join(METADATA_DIRECTORY);
    let mut journal = Journal::resume(Arc::clone(&args.env.files), directory, loaded, epoch)
        .map_err(journal_error)?;
    let now = args.env.clock.wall();
    let mut start = Start { batches: journal.writer(now), image };
    start.elect(election)?;
    start.put(transition)?;
    let broker_epoch = start.batches.next_offset().get();
    start.put(vec![node.registration(&start.image, args.env.random.uuid(), broker_epoch)])?;
    start.put(node.take_lead(&start.image, broker_epoch))?;
    journal.append(&start.batches, now).map_err(journal_error)?;
    Ok(Opened { journal, image: start.image, node, broker_epoch })
}

/// The batches of a start and the image that they lead to.
struct Start {
    batches: BatchWriter,
    image: Image,
}

impl Start {
    fn elect(&mut self, records: Vec<ControlRecord>) -> Result<(), MetadataError> {
        self.batches.control(&records);
        let mut builder = ImageBuilder::new(std::mem::take(&mut self.image));
        for record in records {
            builder.apply_control(record);
        }
        self.image = builder.finish(self.batches.next_offset()).map_err(contradiction)?;
        Ok(())
    }

    fn put(&mut self, records: Vec<MetadataRecord>) -> Result<(), MetadataError> {
        let mut builder = ImageBuilder::new(std::mem::take(&mut self.image));
        records.iter().try_for_each(|record| builder.apply(record)).map_err(contradiction)?;
        let level = builder.image_but_topics().metadata_version();
        put(&mut self.batches, records, level);
        self.image = builder.finish(self.batches.next_offset()).map_err(contradiction)?;
        Ok(())
    }
}

/// Takes over the features of a formatted directory, if that is what it is.
fn read_formatted(args: &OpenMetadata, loaded: &mut Loaded) -> Result<Formatted, MetadataError> {
    let path = args.directory.join(BOOTSTRAP_CHECKPOINT);
    let Some(bytes) = args.env.files.read(&path).map_err(|e| unreadable(&path, &e))? else {
        return Ok(Formatted::ByUs);
    };
    let end = loaded.image.end_offset;
    let mut replay = Replay::new(std::mem::take(&mut loaded.image));
    journal::replay_snapshot(&bytes, &mut replay).map_err(|reason| {
        MetadataError::Unusable(format!(
            "{}: {reason}; remove it to start at the feature levels of Kafka 4.0",
            path.display()
        ))
    })?;
    loaded.image = replay.finish(end).map_err(contradiction)?;
    Ok(Formatted::ByKafka)
}

/// A node that is not the only voter cannot know what is committed.
fn check_quorum(image: &Image, node: &Node, directory: &Path) -> Result<(), MetadataError> {
    let quorum = &image.quorum;
    let voters: Vec<_> = match quorum.kraft_version {
        0 => quorum.electors.clone(),
        _ => quorum.voters.iter().map(|voter| voter.id).collect(),
    };
    if voters.iter().any(|id| *id != node.id) {
        let names: Vec<String> = voters.iter().map(ToString::to_string).collect();
        return Err(MetadataError::Unusable(format!(
            "{} belongs to a quorum of the controllers {}: this node ({}) must be the only one. Shrink the quorum to it with kafka-metadata-quorum.sh remove-controller, stop Kafka and start again",
            directory.display(),
            names.join(", "),
            node.id
        )));
    }
    match quorum.voters.first() {
        Some(voter) if voter.directory_id != node.directory_id => {
            Err(MetadataError::Unusable(format!(
                "{} belongs to the directory {}, but meta.properties says directory.id={}: put the former into meta.properties",
                directory.display(),
                voter.directory_id,
                node.directory_id
            )))
        }
        _ => Ok(()),
    }
}

fn check_level(image: &Image) -> Result<(), MetadataError> {
    match image.metadata_version() {
        // A log that is about to be formatted.
        0 => Ok(()),
        level if level < OLDEST_LEVEL => Err(MetadataError::Unusable(format!(
            "metadata.version is at level {level}, older than Kafka 3.3: upgrade the cluster with Kafka 3.9 first"
        ))),
        _ => Ok(()),
    }
}

/// A new metadata log would disown the partitions that lie beside it.
fn refuse_orphans(args: &OpenMetadata) -> Result<(), MetadataError> {
    let listed = args.env.files.list(&args.directory);
    let entries = listed.map_err(|e| unreadable(&args.directory, &e))?;
    let orphan = entries.into_iter().find(|entry| {
        let meaning = DirectoryName::parse(&entry.name);
        entry.kind == EntryKind::Directory && matches!(meaning, DirectoryName::Partition(_))
    });
    match orphan {
        None => Ok(()),
        Some(entry) => Err(MetadataError::Unusable(format!(
            "{} holds partitions such as {} but no metadata log: restore {METADATA_DIRECTORY} from a backup, or choose an empty directory",
            args.directory.display(),
            entry.name
        ))),
    }
}

fn unreadable(path: &Path, e: &std::io::Error) -> MetadataError {
    MetadataError::Unusable(format!("{} cannot be read: {e}", path.display()))
}

fn journal_error(e: std::io::Error) -> MetadataError {
    MetadataError::Journal(Arc::new(e))
}

fn contradiction(e: ApplyError) -> MetadataError {
    MetadataError::Unusable(format!(
        "the metadata log contradicts itself: {e}; restore it from a backup"
    ))
}

impl From<LoadError> for MetadataError {
    fn from(e: LoadError) -> Self {
        Self::Unusable(e.to_string())
    }
}
