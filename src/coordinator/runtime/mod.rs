//! Gives each shard its log, its mailbox and its timers.
//!
//! # Threads
//! Whoever calls puts a command into the mailbox of the shard (a short lock) and gets a future of the answer. A mailbox that
//! was empty starts a task, the runner, which owns the shard's state while it runs: it takes what has gathered in the
//! mailbox, lets the state machine decide command after command, appends all their records as one batch, and ends when the
//! mailbox is empty. The task switch is what makes bursts: the commands of connections that are ready at the same time meet
//! in one batch. An idle shard is a few words; it has no task.
//!
//! Answers leave the runner with the log position that they depend on, which is the end of everything the shard had
//! appended; the caller's future waits until that is durable. The runner goes on meanwhile. Errands leave in the same way.
//!
//! After each turn the shard publishes what its state takes (`memory`). While the byte budget has no room for more, commands
//! that would make the state larger are refused.
//!
//! A shard is read from its log when its first command comes, on the blocking pool. If an append fails, state and log
//! disagree: the state is thrown away, everyone who waits is sent away, and the next command has the log read again, or an alarm
//! if none comes: what is under way must go on.

mod alarms;
mod load;
mod log;
mod memory;
mod runner;
mod shard;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::RwLock;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use self::alarms::Alarms;
pub use self::log::{
    Append, LogBatch, LogFuture, Logged, LoggedEntry, ShardLog, ShardLogError, Written,
};
pub use self::memory::StateMemory;
use self::shard::Shard;
use super::machine::Machine;
use crate::env::{self, Env};
use crate::metadata::Image;
use crate::observe::{CoordinatorOf, Metrics};
use crate::types::PartitionIndex;

#[cfg(test)]
mod tests;

/// The shards of one internal topic.
pub struct Coordinator<M: Machine> {
    world: Arc<World<M>>,
    shards: RwLock<Vec<Arc<Shard<M>>>>,
    alarm_task: JoinHandle<()>,
}

/// What a coordinator needs.
pub struct NewCoordinator<M: Machine> {
    /// Clocks and random ids.
    pub env: Env,
    /// Where its work is counted.
    pub metrics: Arc<Metrics>,
    /// What it is counted as.
    pub coordinates: CoordinatorOf,
    /// What its state takes of the byte budget, shared by all coordinators of the broker.
    pub memory: Arc<StateMemory>,
    /// The newest metadata.
    pub image: Box<dyn Fn() -> Arc<Image> + Send + Sync>,
    /// Makes the state machine of a shard.
    pub machine: Box<dyn Fn() -> M + Send + Sync>,
    /// The log of a shard.
    pub log: Box<dyn Fn(PartitionIndex) -> Arc<dyn ShardLog> + Send + Sync>,
    /// Takes the errands of a shard, whose number it is told; never blocks.
    pub errands: Box<dyn Fn(PartitionIndex, M::Errand) + Send + Sync>,
}

/// What all shards share.
struct World<M: Machine> {
    parts: NewCoordinator<M>,
    alarms: Arc<Alarms>,
}

/// Why a command was not answered by the state machine. All of it passes: clients ask for the coordinator again and retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The shard's log cannot be read or written.
    #[error("the coordinator's log cannot be used at the moment")]
    NotAvailable,
    /// More commands wait for the shard than it takes.
    #[error("the coordinator has more requests than it can take")]
    Overloaded,
    /// The command would make the state larger, and the byte budget has no room for that.
    #[error("the coordinator has no memory for more (highwater.memory.bytes)")]
    NoMemory,
    /// The broker stops, or the shard was thrown away while the command waited.
    #[error("the coordinator has given the request up")]
    GivenUp,
}

/// An answer on its way, with what must be durable before it leaves.
type Answer<M> = Result<(<M as Machine>::Reply, Option<Written>), CallError>;

impl<M: Machine> Coordinator<M> {
    /// A coordinator whose shards are read when they are first used. Called inside the async runtime.
    pub fn new(parts: NewCoordinator<M>) -> Arc<Self> {
        let alarms = Arc::new(Alarms::new(Arc::clone(&parts.env.clock)));
        let world = Arc::new(World { parts, alarms: Arc::clone(&alarms) });
        Arc::new_cyclic(|this: &std::sync::Weak<Self>| {
            let this = this.clone();
            let ring = async move {
                loop {
                    let due = alarms.next().await;
                    let Some(coordinator) = this.upgrade() else { return };
                    due.into_iter().for_each(|number| coordinator.shard(number).ring());
                }
            };
            Self { world, shards: RwLock::default(), alarm_task: env::spawn(ring) }
        })
    }

    /// Sends a command to a shard. It is queued before this returns, behind those that came earlier; the future may be
    /// dropped, the command is carried out nevertheless.
    pub fn call(
        &self,
        shard: PartitionIndex,
        command: M::Command,
    ) -> impl Future<Output = Result<M::Reply, CallError>> + Send + use<M> {
        let shard = self.shard(shard);
        let (sender, receiver) = oneshot::channel();
        shard.queue(command, sender);
        async move {
            // A sender that was dropped belonged to a state that was thrown away.
            let (reply, written) = receiver.await.unwrap_or(Err(CallError::GivenUp))?;
            if let Some(durable) = written.and_then(|written| shard.log().durable(written)) {
                durable.await.map_err(|_| CallError::NotAvailable)?;
            }
            Ok(reply)
        }
    }

    /// About how much memory the state of a shard takes; 0 while it is not there.
    pub fn state_bytes(&self, shard: PartitionIndex) -> usize {
        let index = usize::try_from(shard.get()).ok();
        let shards = self.shards.read();
        let shard = index.and_then(|index| shards.get(index));
        shard.map_or(0, |shard| shard.state_bytes.load(Ordering::Relaxed))
    }

    /// Reads a shard's log now rather than with its first command, so that its timers run.
    pub fn load(&self, shard: PartitionIndex) {
        self.shard(shard).load();
    }

    /// Tells the shards that are in memory of changed metadata.
    pub fn image_changed(&self) {
        let shards = self.shards.read().clone();
        shards.iter().for_each(|shard| shard.image_changed());
    }

    /// Refuses further commands and sends everyone away who waits.
    pub fn close(&self) {
        self.alarm_task.abort();
        let shards = self.shards.read().clone();
        shards.iter().for_each(|shard| shard.close());
    }

    fn shard(&self, number: PartitionIndex) -> Arc<Shard<M>> {
        let index = usize::try_from(number.get()).expect("partitions are numbered from 0");
        if let Some(shard) = self.shards.read().get(index) {
            return Arc::clone(shard);
        }
        let mut shards = self.shards.write();
        while shards.len() <= index {
            let next = i32::try_from(shards.len()).expect("a topic has fewer than 2^31 partitions");
            shards.push(Shard::new(PartitionIndex::new(next), Arc::clone(&self.world)));
        }
        Arc::clone(&shards[index])
    }
}

impl<M: Machine> Drop for Coordinator<M> {
    fn drop(&mut self) {
        self.alarm_task.abort();
    }
}

impl<M: Machine> std::fmt::Debug for Coordinator<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Coordinator").field("shards", &self.shards.read().len()).finish()
    }
}
