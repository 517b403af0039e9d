//! Ends transactions in their partitions (Kafka's `TransactionMarkerChannelManager`, without the network).

use std::sync::Arc;
use std::time::Duration;

use super::TRANSACTION_STATE;
use crate::broker::Broker;
use crate::broker::groups::CONSUMER_OFFSETS;
use crate::broker::partition::{Partition, PartitionAppendError, SyncNeed};
use crate::broker::registry::{Lookup, OpenPartitionError};
use crate::broker::step::off_thread;
use crate::broker::sync_wait::SyncWait;
use crate::coordinator::groups::{GroupCommand, GroupReply, MarkerError};
use crate::coordinator::runtime::CallError;
use crate::coordinator::transactions::{TransactionCommand, TransactionErrand, WriteMarkers};
use crate::env;
use crate::types::{Marker, PartitionIndex, TopicPartition};

/// Wait before a marker that could not be written is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why a marker is not in its partition.
#[derive(Debug, thiserror::Error)]
pub(in crate::broker) enum MarkError {
    /// There is no such partition any more: nothing is left to be ended.
    #[error("there is no such partition")]
    Gone,
    /// The log could not be opened.
    #[error(transparent)]
    Open(#[from] OpenPartitionError),
    /// The log refused.
    #[error(transparent)]
    Append(#[from] PartitionAppendError),
    /// The shard of groups refused.
    #[error(transparent)]
    Refused(#[from] MarkerError),
    /// The shard of groups did not answer.
    #[error(transparent)]
    Shard(#[from] CallError),
    /// The log directory went offline before the marker was synced.
    #[error("the log directory went offline")]
    Offline,
}

impl Broker {
    /// Carries out what a shard of transactions asks for.
    pub(in crate::broker) fn run_transaction_errand(
        self: Arc<Self>,
        shard: PartitionIndex,
        errand: TransactionErrand,
    ) {
        let TransactionErrand::WriteMarkers(asked) = errand;
        // Detached: it ends when all markers are written, or with the broker.
        drop(env::spawn(async move { self.write_markers(shard, asked).await }));
    }

    async fn write_markers(self: Arc<Self>, shard: PartitionIndex, asked: WriteMarkers) {
        let marker = Marker {
            producer: asked.producer,
            outcome: asked.outcome,
            coordinator_epoch: self.coordinator_epoch(shard),
            version: asked.version,
        };
        for partition in &asked.partitions {
            self.write_marker_until_done(partition, &marker).await;
        }
        let WriteMarkers { id, errand, partitions, .. } = asked;
        let written = TransactionCommand::MarkersWritten { id, errand, partitions };
        // A shard that was thrown away meanwhile sends the errand out again when it is read.
        let _ = self.transactions.call(shard, written).await;
    }

    async fn write_marker_until_done(
        self: &Arc<Self>,
        partition: &TopicPartition,
        marker: &Marker,
    ) {
        while let Err(error) = self.write_marker(partition, marker).await {
            match error {
                MarkError::Gone => return,
                MarkError::Refused(_) => {
                    tracing::warn!(%partition, %error, "a transaction marker is not taken");
                    return;
                }
                _ if self.shutdown.is_requested() => return,
                error => {
                    tracing::warn!(%partition, %error, "a transaction marker cannot be written and is tried again");
                    tokio::time::sleep(RETRY_AFTER).await;
                }
            }
        }
    }

    /// Ends a transaction in one partition; done when it is durable.
    pub(in crate::broker) async fn write_marker(
        self: &Arc<Self>,
        partition: &TopicPartition,
        marker: &Marker,
    ) -> Result<(), MarkError> {
        if partition.topic.as_str() == CONSUMER_OFFSETS {
            let end = GroupCommand::EndTransaction(*marker);
            return match self.groups.call(partition.partition, end).await? {
                GroupReply::EndTransaction(taken) => Ok(taken?),
                other => unreachable!("a shard answers with the reply of the command: {other:?}"),
            };
        }
        let found = self.find_by_name(partition.topic.as_str(), partition.partition);
        let (env, marker) = (self.env.clone(), *marker);
        let mark =
            move |partition: &Arc<Partition>| partition.end_transaction(&marker, env.clock.wall());
        let (partition, (appended, need)) = match found {
            Lookup::Unknown => return Err(MarkError::Gone),
            Lookup::Open(partition) if partition.takes_inline(0, self.env.clock.monotonic()) => {
                let appended = mark(&partition)?;
                (partition, appended)
            }
            Lookup::Open(partition) => {
                off_thread(move || mark(&partition).map(|appended| (partition, appended))).await?
            }
            Lookup::Closed(closed) => {
                off_thread(move || -> Result<_, MarkError> {
                    let partition = closed.open()?;
                    let appended = mark(&partition)?;
                    Ok((partition, appended))
                })
                .await?
            }
        };
        if need > SyncNeed::None {
            partition.queue_sync();
        }
        if need < SyncNeed::AcksAll {
            return Ok(());
        }
        let wait = SyncWait::new();
        partition.hold_until_synced(appended.end_offset, &wait);
        wait.settled().await;
        let synced = partition.synced_end() >= appended.end_offset;
        if synced { Ok(()) } else { Err(MarkError::Offline) }
    }

    /// Epoch of the shard as the coordinator of its transactions.
    fn coordinator_epoch(&self, shard: PartitionIndex) -> i32 {
        let image = self.metadata.image();
        let topic = image.topic(TRANSACTION_STATE);
        let partition = topic.and_then(|topic| topic.partition(shard));
        partition.map_or(-1, |partition| partition.leader_epoch.get())
    }
}
