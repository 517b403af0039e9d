//! What the coordinators of the broker share: their parts, which shard keeps a name and the way there, which shards there are.

use std::sync::{Arc, Weak};

use super::Broker;
use super::coordinator_log::CoordinatorLog;
use super::registry::PartitionRegistry;
use super::step::{BoxFuture, Step, off_thread};
use super::topics::CreateTopicError;
use crate::coordinator::machine::Machine;
use crate::coordinator::runtime::{CallError, Coordinator, NewCoordinator, ShardLog, StateMemory};
use crate::env::Env;
use crate::metadata::{Image, MetadataStore};
use crate::observe::{CoordinatorOf, Metrics};
use crate::types::PartitionIndex;

/// What every coordinator is made of.
#[derive(Clone)]
pub(super) struct CoordinatorParts {
    pub(super) env: Env,
    pub(super) metadata: Arc<MetadataStore>,
    pub(super) partitions: Arc<PartitionRegistry>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) memory: Arc<StateMemory>,
    /// Carries out errands.
    pub(super) broker: Weak<Broker>,
}

impl CoordinatorParts {
    /// The coordinator of a state machine.
    pub(super) fn start<M: Coordinated>(
        self,
        coordinates: CoordinatorOf,
        machine: impl Fn() -> M + Send + Sync + 'static,
        run_errand: fn(Arc<Broker>, PartitionIndex, M::Errand),
    ) -> Arc<Coordinator<M>> {
        let Self { env, metadata, partitions, metrics, memory, broker } = self;
        let store = Arc::clone(&metadata);
        let log = CoordinatorLog {
            env: env.clone(),
            metadata,
            partitions,
            topic: M::TOPIC,
            index: PartitionIndex::new(0),
        };
        Coordinator::new(NewCoordinator {
            env,
            metrics,
            coordinates,
            memory,
            image: Box::new(move || store.image()),
            machine: Box::new(machine),
            log: Box::new(move |index| {
                Arc::new(CoordinatorLog { index, ..log.clone() }) as Arc<dyn ShardLog>
            }),
            errands: Box::new(move |shard, errand| {
                if let Some(broker) = broker.upgrade() {
                    run_errand(broker, shard, errand);
                }
            }),
        })
    }
}

/// A state machine that the broker has a coordinator of.
pub(super) trait Coordinated: Machine {
    /// The topic whose partitions are its shards.
    const TOPIC: &'static str;

    /// Its coordinator.
    fn coordinator(broker: &Broker) -> &Arc<Coordinator<Self>>;
}

/// Why a shard cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// The internal topic could not be made.
    #[error("{topic} cannot be created: {source}")]
    NoTopic {
        /// Which one.
        topic: &'static str,
        /// Why.
        source: CreateTopicError,
    },
    /// The shard did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Broker {
    /// Makes sure that the shards of a coordinator have a place: creates its topic when it is first needed.
    pub(super) fn ensure_topic_of<M: Coordinated>(
        self: &Arc<Self>,
    ) -> Step<Result<(), CoordinatorError>> {
        let topic = M::TOPIC;
        if self.metadata.image().topic(topic).is_some() {
            return Step::Now(Ok(()));
        }
        let broker = Arc::clone(self);
        Step::later(off_thread(move || {
            let made = broker.create_internal_topic(topic);
            made.map_err(|source| CoordinatorError::NoTopic { topic, source })
        }))
    }

    /// Sends a command to the shard that keeps `name`. It is queued, behind those that came earlier, before this returns,
    /// unless the very first one must create the topic.
    pub(super) fn call_shard_of<M: Coordinated>(
        self: &Arc<Self>,
        name: &str,
        command: M::Command,
    ) -> BoxFuture<Result<M::Reply, CoordinatorError>> {
        if let Some(shard) = self.shard_of::<M>(name) {
            let answer = M::coordinator(self).call(shard, command);
            return Box::pin(async move { Ok(answer.await?) });
        }
        let (broker, name) = (Arc::clone(self), name.to_owned());
        Box::pin(async move {
            broker.ensure_topic_of::<M>().finish().await?;
            let shard = broker.shard_of::<M>(&name).ok_or(CallError::NotAvailable)?;
            Ok(M::coordinator(&broker).call(shard, command).await?)
        })
    }

    /// Sends a command to every shard that has a log; the answers in order of the shards.
    pub(super) fn call_each_shard_of<M: Coordinated>(
        &self,
        command: impl Fn() -> M::Command,
    ) -> BoxFuture<Vec<Result<M::Reply, CoordinatorError>>> {
        let coordinator = M::coordinator(self);
        let shards = shards_on_disk(&self.metadata.image(), &self.partitions, M::TOPIC);
        let answers: Vec<_> =
            shards.into_iter().map(|shard| coordinator.call(shard, command())).collect();
        Box::pin(async move {
            let mut replies = Vec::with_capacity(answers.len());
            for answer in answers {
                replies.push(answer.await.map_err(CoordinatorError::from));
            }
            replies
        })
    }

    /// About how much memory the shard that keeps `name` takes: nothing that it knows of `name` takes more.
    pub(super) fn state_bytes_of<M: Coordinated>(&self, name: &str) -> usize {
        self.shard_of::<M>(name).map_or(0, |shard| M::coordinator(self).state_bytes(shard))
    }

    /// Shards that have a log are read at once, in the background, so that time-outs and expiry go on after a restart and
    /// transactions that are prepared end.
    pub(super) fn load_shards_of<M: Coordinated>(&self) {
        for shard in shards_on_disk(&self.metadata.image(), &self.partitions, M::TOPIC) {
            M::coordinator(self).load(shard);
        }
    }

    /// The partition of the coordinator's topic that keeps `name`; `None` before the topic exists.
    pub(super) fn shard_of<M: Coordinated>(&self, name: &str) -> Option<PartitionIndex> {
        Some(partition_for(name, self.metadata.image().topic(M::TOPIC)?.partitions.len()))
    }
}

/// The partitions of an internal topic that something was written to.
fn shards_on_disk(
    image: &Image,
    partitions: &PartitionRegistry,
    topic: &str,
) -> Vec<PartitionIndex> {
    let Some(topic) = image.topic(topic) else { return Vec::new() };
    let all = (0..topic.partitions.len()).filter_map(|index| i32::try_from(index).ok());
    all.map(PartitionIndex::new).filter(|index| partitions.holds(topic, *index)).collect()
}

/// Kafka's choice: the absolute value of Java's hash of the name, modulo the number of partitions.
fn partition_for(name: &str, partitions: usize) -> PartitionIndex {
    let hash = name
        .encode_utf16()
        .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    // Kafka's `Utils.abs`: the smallest number has no absolute value and counts as 0.
    let positive = hash.checked_abs().unwrap_or(0);
    let count = i32::try_from(partitions).unwrap_or(i32::MAX).max(1);
    PartitionIndex::new(positive % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_go_to_the_partitions_where_kafka_keeps_them() {
        assert_eq!(partition_for("g1", 50), PartitionIndex::new(42));
        assert_eq!(partition_for("my-group", 50), PartitionIndex::new(12));
        // Java: "polygenelubricants".hashCode() == Integer.MIN_VALUE.
        assert_eq!(partition_for("polygenelubricants", 50), PartitionIndex::new(0));
    }
}
