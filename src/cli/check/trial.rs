//! A start that changes nothing, and what it finds.

use std::path::Path;
use std::sync::Arc;

use super::Kinds;
use super::report::{DirectoryFound, GroupFound, Metadata, Report, TransactionFound};
use super::written_by::written_by;
use crate::app::{self, StartError, Understanding};
use crate::broker::{Broker, Lookup, Partition};
use crate::cli::CommandError;
use crate::config::BrokerSettings;
use crate::env::{Change, Env, FileSystem, Overlay};
use crate::log::moving::PARTITION_METADATA;
use crate::metadata::{Image, OpaqueKey, OpenMetadataError};
use crate::storage::{Checkpoint, LastStop};
use crate::types::{Offset, PartitionIndex};

/// Where Kafka keeps the state of share groups.
const SHARE_GROUP_STATE: &str = "__share_group_state";

/// Understands the directories, opens them on an overlay, and asks the broker that comes of it.
pub(super) fn run(
    disk: Arc<dyn FileSystem>,
    settings: BrokerSettings,
    kinds: Kinds,
) -> Result<Report, CommandError> {
    let overlay = Arc::new(Overlay::new(disk));
    let env = Env { files: Arc::clone(&overlay) as Arc<dyn FileSystem>, ..Env::system() };
    let understanding = match understand(&env, settings, kinds) {
        Ok(understanding) => understanding,
        Err(refused) => return Ok(Report::refused(reasons(refused))),
    };
    let mut report = understood(&understanding);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let opened: Result<(), StartError> = runtime.block_on(async {
        let broker = app::open_understood(env, understanding).await?;
        let looked = Arc::clone(&broker);
        let found = crate::env::spawn_blocking(move || open_partitions(&looked)).await;
        report.opened(found.expect("a panic here is one of the code that was tried"));
        ask_coordinators(&broker, &mut report).await;
        Ok(())
    });
    runtime.shutdown_background();
    if let Err(refused) = opened {
        report.refusals.extend(reasons(refused));
    }
    add_changes(&overlay, &mut report)?;
    Ok(report)
}

fn understand(
    env: &Env,
    settings: BrokerSettings,
    kinds: Kinds,
) -> Result<Understanding, StartError> {
    let understanding = Understanding::read(env, settings.clone())?;
    if kinds == Kinds::Told || !understanding.has_metadata_where_no_logs_are() {
        return Ok(understanding);
    }
    // Let go of its locks first.
    drop(understanding);
    let mut settings = settings;
    settings.log_dirs.retain(|path| *path != settings.metadata_log_dir);
    Understanding::read(env, settings)
}

fn reasons(refused: StartError) -> Vec<String> {
    match refused {
        StartError::Metadata(OpenMetadataError::CannotServe { refusals, .. }) => refusals,
        other => vec![other.to_string()],
    }
}

/// What is known before anything is opened.
fn understood(understanding: &Understanding) -> Report {
    let image = understanding.image();
    let directory = |(at, found): (usize, &crate::storage::FoundDirectory)| DirectoryFound {
        path: found.path().to_owned(),
        id: found.directory_id(),
        stop: match found.last_stop() {
            // Marks are of logs.
            _ if at == 0 && understanding.is_metadata_alone() => "metadata only",
            LastStop::Fresh => "empty",
            LastStop::Clean(_) => "clean",
            LastStop::Unclean => "unclean",
        },
        partitions: found.partitions().count(),
    };
    let kept = |which: fn(&OpaqueKey) -> bool| image.opaque.keys().filter(|key| which(key)).count();
    Report {
        metadata: Some(Metadata {
            cluster_id: image.cluster_id.clone(),
            node_id: understanding.node_id(),
            written_by: written_by(image, understanding.node_id()),
            features: image.finalized_features(),
            topics: image.topics.len(),
            share_groups: image.topic(SHARE_GROUP_STATE).is_some(),
            acls: kept(|key| matches!(key, OpaqueKey::Acl(_))),
            scram_credentials: kept(|key| matches!(key, OpaqueKey::Scram(..))),
            quotas: kept(|key| matches!(key, OpaqueKey::Quota(..))),
            tokens: kept(|key| matches!(key, OpaqueKey::Token(_))),
        }),
        directories: understanding.directories().iter().enumerate().map(directory).collect(),
        ..Report::default()
    }
}

/// What came of opening each partition.
#[derive(Debug, Default)]
pub(super) struct Opened {
    pub(super) partitions: usize,
    /// Offsets between start and end of the logs.
    pub(super) offsets: u64,
    pub(super) bytes: u64,
    /// Records that were on disk once and are not any more.
    pub(super) losses: Vec<String>,
    /// Partitions that cannot be served, and why.
    pub(super) failures: Vec<String>,
}

fn open_partitions(broker: &Arc<Broker>) -> Opened {
    let image: Arc<Image> = broker.metadata.image();
    let mut opened = Opened::default();
    let mut topics: Vec<_> = image.topics.values().collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    for topic in topics {
        for index in (0..).map(PartitionIndex::new).take(topic.partitions.len()) {
            opened.partitions += 1;
            // One that nothing was ever written to has no directory yet, and gets none here.
            if !broker.partitions.holds(topic, index) {
                continue;
            }
            let partition = match broker.partitions.find(topic, index) {
                Lookup::Open(partition) => Ok(partition),
                Lookup::Closed(closed) => closed.open(),
                Lookup::Unknown => continue,
            };
            match partition {
                Ok(partition) => {
                    let view = partition.ends().view;
                    let offsets = view.log_end.get() - view.log_start.get();
                    opened.offsets += u64::try_from(offsets).unwrap_or(0);
                    opened.bytes += view.size_bytes();
                    opened.losses.extend(lost_records(&partition, view.log_end));
                }
                Err(error) => opened.failures.push(format!("{}-{index}: {error}", topic.name)),
            }
        }
    }
    opened
}

/// What was synced once must be there.
fn lost_records(partition: &Partition, log_end: Offset) -> Option<String> {
    let name = partition.name();
    let directory = partition.directory();
    let checkpoint = directory.checkpoint_at_start(Checkpoint::RecoveryPoint);
    let synced = *checkpoint.get(&name)?;
    (synced > log_end).then(|| {
        format!("{name} has lost records: it ends at offset {log_end}, and was once synced up to {synced}")
    })
}

async fn ask_coordinators(broker: &Arc<Broker>, report: &mut Report) {
    let lags = broker.group_lags().await;
    report.groups = lags
        .groups
        .iter()
        .map(|group| GroupFound {
            name: group.group.to_string(),
            group_type: group.group_type,
            state: group.state,
            members: group.members,
            offsets: group.partitions.len(),
        })
        .collect();
    let open = broker.open_transactions().await;
    report.transactions = open
        .transactions
        .iter()
        .map(|open| TransactionFound {
            id: open.id.to_string(),
            state: open.state.name().to_owned(),
        })
        .collect();
    report.transactions.sort_by(|a, b| a.id.cmp(&b.id));
    let failed = [("groups", lags.shards_failed), ("transactions", open.shards_failed)];
    for (what, shards) in failed.into_iter().filter(|(_, shards)| *shards > 0) {
        report.failures.push(format!("{shards} partitions with {what} cannot be read"));
    }
}

/// What the start would have done to the files beside its own book-keeping.
fn add_changes(overlay: &Overlay, report: &mut Report) -> Result<(), CommandError> {
    let killed = report.directories.iter().any(|directory| directory.stop == "unclean");
    for (path, change) in overlay.changes()? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = path.display();
        match change {
            Change::Cut(before, after) if is_log(&name) => report.repairs.push(format!(
                "cut {} bytes off the end of {path}, which is {before} bytes long",
                before - after
            )),
            Change::RenamedTo(to) if is_log(&name) || to.to_string_lossy().ends_with("-stray") => {
                report.repairs.push(format!("set {path} aside as {}", to.display()));
            }
            Change::Created(_) | Change::Rewritten(..) if name == PARTITION_METADATA => {
                report
                    .repairs
                    .push(format!("write {path}, without which Kafka sets the partition aside"));
            }
            Change::Removed if name.ends_with("-checkpoint") => {
                report.repairs.push(format!("take {path} away, which is damaged"));
            }
            // An empty index of transactions only says that there are none.
            Change::Created(0) => {}
            Change::Created(_) | Change::Rewritten(..) if is_index(&name) => {
                // After a kill the end of every log is looked through, and its indexes are made anew.
                if killed {
                    report.rebuilt += 1
                } else {
                    report.repairs.push(format!("rebuild {path}"))
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    Path::new(name).extension().is_some_and(|e| extensions.iter().any(|wanted| e == *wanted))
}

fn is_log(name: &str) -> bool {
    has_extension(name, &["log"])
}

fn is_index(name: &str) -> bool {
    has_extension(name, &["index", "timeindex", "txnindex"])
}
