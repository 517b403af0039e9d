//! Ends transactions in partitions: a control batch in each, all of them at once (Kafka's `KafkaApis.handleWriteTxnMarkersRequest`).
//!
//! Appends happen first, as far as they may on an async thread; then every partition is listed for its sync, so that those of
//! one transaction, and of all that end at the same time, form one group.

use std::sync::Arc;

use crate::broker::Broker;
use crate::broker::groups::CONSUMER_OFFSETS;
use crate::broker::partition::{Partition, PartitionAppendError, SyncNeed};
use crate::broker::registry::{Lookup, OpenPartitionError};
use crate::broker::step::{BoxFuture, off_thread};
use crate::broker::sync_wait::SyncWait;
use crate::coordinator::groups::{GroupCommand, GroupReply, MarkerError};
use crate::coordinator::runtime::CallError;
use crate::log::AppendError;
use crate::types::{Marker, Offset, PartitionIndex, Timestamp, TopicPartition};

/// Why a marker is not in its partition.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// UNKNOWN_TOPIC_OR_PARTITION: nothing is left to be ended.
    #[error("there is no such partition")]
    Gone,
    /// KAFKA_STORAGE_ERROR: the log could not be opened.
    #[error(transparent)]
    Open(#[from] OpenPartitionError),
    /// The log refused.
    #[error(transparent)]
    Append(#[from] PartitionAppendError),
    /// The shard of groups refused.
    #[error(transparent)]
    Refused(#[from] MarkerError),
    /// NOT_LEADER_OR_FOLLOWER: the shard of groups did not answer.
    #[error(transparent)]
    Shard(#[from] CallError),
    /// UNKNOWN_SERVER_ERROR, as in Kafka: there is no such producer.
    #[error("no producer has a negative id, or no epoch")]
    NoProducer,
    /// KAFKA_STORAGE_ERROR: the log directory went offline before the marker was synced.
    #[error("the log directory went offline")]
    Offline,
}

impl MarkError {
    /// True if the marker will never be taken: there is no partition, or somebody newer has been there.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Gone | Self::NoProducer | Self::Refused(MarkerError::ProducerEpoch) => true,
            Self::Refused(MarkerError::CoordinatorFenced) => true,
            Self::Append(PartitionAppendError::Retired) => true,
            Self::Append(PartitionAppendError::Log(refusal)) => match refusal {
                AppendError::InvalidProducerEpoch(_) | AppendError::CoordinatorFenced(_) => true,
                AppendError::OutOfOrderSequence(_) | AppendError::InvalidTransactionState(_) => {
                    true
                }
                AppendError::NoRoom(_) | AppendError::Io(_) => false,
            },
            Self::Append(PartitionAppendError::Offline)
            | Self::Open(_)
            | Self::Shard(_)
            | Self::Offline => false,
        }
    }
}

/// One marker on its way.
enum Marking {
    /// Answered.
    Done(Result<(), MarkError>),
    /// In the log; to be synced up to there.
    Appended(Arc<Partition>, Offset),
    /// A log that is not open, or may keep the thread waiting.
    Slow(Lookup),
    /// With the groups, whose shard writes it itself.
    Group(BoxFuture<Result<(), MarkError>>),
}

impl Broker {
    /// Ends a producer's transaction in partitions, those of the groups among them; one verdict for each, in order, when those
    /// that are written are durable.
    pub(in crate::broker) async fn write_markers(
        self: &Arc<Self>,
        marker: &Marker,
        partitions: &[TopicPartition],
    ) -> Vec<Result<(), MarkError>> {
        let mut markings: Vec<Marking> =
            partitions.iter().map(|partition| self.begin_marking(marker, partition)).collect();
        let wait = SyncWait::new();
        hold(&markings, &wait);
        let slow = take_slow(&mut markings);
        if !slow.is_empty() {
            let (env, marker) = (self.env.clone(), *marker);
            let mark = move || {
                let now = env.clock.wall();
                let marked = slow.into_iter().map(|(at, lookup)| (at, mark(lookup, &marker, now)));
                marked.collect::<Vec<_>>()
            };
            for (at, marking) in off_thread(mark).await {
                hold(std::slice::from_ref(&marking), &wait);
                markings[at] = marking;
            }
        }
        wait.settled().await;
        let mut verdicts = Vec::with_capacity(markings.len());
        for marking in markings {
            verdicts.push(verdict(marking).await);
        }
        verdicts
    }

    fn begin_marking(&self, marker: &Marker, partition: &TopicPartition) -> Marking {
        let found = self.find_by_name(partition.topic.as_str(), partition.partition);
        if partition.topic.as_str() == CONSUMER_OFFSETS && !matches!(found, Lookup::Unknown) {
            return Marking::Group(self.mark_group(marker, partition.partition));
        }
        let is_quick = match &found {
            Lookup::Open(open) => open.takes_inline(0, self.env.clock.monotonic()),
            Lookup::Closed(_) => false,
            Lookup::Unknown => true,
        };
        if is_quick { mark(found, marker, self.env.clock.wall()) } else { Marking::Slow(found) }
    }

    fn mark_group(
        &self,
        marker: &Marker,
        shard: PartitionIndex,
    ) -> BoxFuture<Result<(), MarkError>> {
        let answer = self.groups.call(shard, GroupCommand::EndTransaction(*marker));
        Box::pin(async move {
            match answer.await? {
                GroupReply::EndTransaction(taken) => Ok(taken?),
                other => unreachable!("a shard answers with the reply of the command: {other:?}"),
            }
        })
    }
}

/// Appends; may block where the partition is not open.
fn mark(found: Lookup, marker: &Marker, now: Timestamp) -> Marking {
    let partition = match found {
        Lookup::Open(partition) => partition,
        Lookup::Closed(closed) => match closed.open() {
            Ok(partition) => partition,
            Err(error) => return Marking::Done(Err(error.into())),
        },
        Lookup::Unknown => return Marking::Done(Err(MarkError::Gone)),
    };
    match partition.end_transaction(marker, now) {
        Err(error) => Marking::Done(Err(error.into())),
        Ok((appended, need)) => {
            if need > SyncNeed::None {
                partition.queue_sync();
            }
            if need < SyncNeed::AcksAll {
                return Marking::Done(Ok(()));
            }
            Marking::Appended(partition, appended.end_offset)
        }
    }
}

fn hold(markings: &[Marking], wait: &Arc<SyncWait>) {
    for marking in markings {
        if let Marking::Appended(partition, end) = marking {
            partition.hold_until_synced(*end, wait);
        }
    }
}

/// Takes those out that need a thread which may wait, with their places.
fn take_slow(markings: &mut [Marking]) -> Vec<(usize, Lookup)> {
    let take = |(at, marking): (usize, &mut Marking)| match marking {
        Marking::Slow(lookup) => Some((at, std::mem::replace(lookup, Lookup::Unknown))),
        Marking::Done(_) | Marking::Appended(..) | Marking::Group(_) => None,
    };
    markings.iter_mut().enumerate().filter_map(take).collect()
}

async fn verdict(marking: Marking) -> Result<(), MarkError> {
    match marking {
        Marking::Done(verdict) => verdict,
        Marking::Appended(partition, end) if partition.synced_end() >= end => Ok(()),
        Marking::Appended(partition, _) if partition.is_retired() => Err(MarkError::Gone),
        Marking::Appended(..) => Err(MarkError::Offline),
        Marking::Group(answer) => answer.await,
        Marking::Slow(_) => unreachable!("every slow one has been marked"),
    }
}
