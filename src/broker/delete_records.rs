//! DeleteRecords: raises the log start. Unlike in Kafka the new start is on disk before the answer, so that a crash does not
//! bring deleted records back.

use std::sync::Arc;
use std::time::Duration;

use super::Broker;
use super::partition::Partition;
use super::registry::Lookup;
use super::step::{Step, off_thread};
use super::sync_wait::SyncWait;
use crate::storage::Checkpoint;
use crate::types::Offset;

/// What is to be deleted from one partition.
#[derive(Clone, Debug)]
pub struct DeleteRecords {
    /// Which.
    pub partition: Lookup,
    /// First offset to stay; −1 for the high watermark.
    pub before: Offset,
}

/// Why nothing was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteRecordsError {
    /// There is no such partition.
    #[error("there is no such partition")]
    UnknownPartition,
    /// An internal topic.
    #[error("records of internal topics cannot be deleted")]
    InternalTopic,
    /// The topic's `cleanup.policy` has no `delete`.
    #[error("the topic's cleanup policy does not allow deletion")]
    Policy,
    /// Beyond the high watermark.
    #[error("the offset is out of range")]
    OutOfRange,
    /// The disk failed.
    #[error("the log directory failed")]
    Storage,
    /// The sync took longer than the request allows.
    #[error("the request timed out")]
    TimedOut,
}

/// New log starts in the order of the request.
pub type DeletedRecords = Vec<Result<Offset, DeleteRecordsError>>;

impl Broker {
    /// Raises log starts.
    pub fn delete_records(
        self: &Arc<Self>,
        asked: Vec<DeleteRecords>,
        timeout: Duration,
    ) -> Step<DeletedRecords> {
        let broker = Arc::clone(self);
        Step::serial(async move {
            let (opened, wait) = off_thread(move || open_all(asked)).await;
            let in_time = tokio::time::timeout(timeout, wait.settled()).await.is_ok();
            Step::Now(off_thread(move || broker.raise_all(&opened, in_time)).await)
        })
    }

    fn raise_all(&self, opened: &[Opened], in_time: bool) -> DeletedRecords {
        let mut results: DeletedRecords = opened.iter().map(|one| raise(one, in_time)).collect();
        for directory in self.partitions.directories() {
            let inside = |one: &Opened| {
                one.as_ref()
                    .is_ok_and(|(partition, _)| Arc::ptr_eq(&partition.directory(), directory))
            };
            if !opened.iter().any(inside) {
                continue;
            }
            if self.partitions.write_checkpoint(directory, Checkpoint::LogStart).is_err() {
                let failed = results.iter_mut().zip(opened).filter(|(_, one)| inside(one));
                failed.for_each(|(result, _)| *result = Err(DeleteRecordsError::Storage));
            }
        }
        results
    }
}

type Opened = Result<(Arc<Partition>, Offset), DeleteRecordsError>;

fn open_all(asked: Vec<DeleteRecords>) -> (Vec<Opened>, Arc<SyncWait>) {
    let wait = SyncWait::new();
    let open = |one: DeleteRecords| {
        let partition = match one.partition {
            Lookup::Open(partition) => partition,
            Lookup::Closed(closed) => closed.open().map_err(|_| DeleteRecordsError::Storage)?,
            Lookup::Unknown => return Err(DeleteRecordsError::UnknownPartition),
        };
        partition.hold_until_visible(&wait);
        Ok((partition, one.before))
    };
    (asked.into_iter().map(open).collect(), wait)
}

fn raise(opened: &Opened, in_time: bool) -> Result<Offset, DeleteRecordsError> {
    let (partition, before) = opened.as_ref().map_err(|error| *error)?;
    check(partition)?;
    let high_watermark = partition.high_watermark();
    let to = if *before == Offset::NONE { high_watermark } else { *before };
    if to < Offset::ZERO {
        return Err(DeleteRecordsError::OutOfRange);
    }
    if to > high_watermark {
        let error =
            if in_time { DeleteRecordsError::OutOfRange } else { DeleteRecordsError::TimedOut };
        return Err(error);
    }
    let mut appender = partition.lock();
    if appender.log.raise_log_start(to) {
        partition.log_start_raised(&mut appender);
        partition.directory().mark_changed();
    }
    Ok(appender.log.view().log_start)
}

fn check(partition: &Partition) -> Result<(), DeleteRecordsError> {
    if partition.is_retired() {
        return Err(DeleteRecordsError::UnknownPartition);
    }
    if partition.directory().is_offline() {
        return Err(DeleteRecordsError::Storage);
    }
    let topic = partition.topic();
    if matches!(
        topic.name.as_str(),
        "__consumer_offsets" | "__transaction_state" | "__share_group_state"
    ) {
        return Err(DeleteRecordsError::InternalTopic);
    }
    if !topic.policy().settings.cleanup_policy.delete {
        return Err(DeleteRecordsError::Policy);
    }
    Ok(())
}
