//! Reading a shard from its log.

use std::collections::HashMap;
use std::sync::Arc;

use super::NewCoordinator;
use super::log::{Logged, LoggedEntry, ShardLogError};
use super::shard::{Shard, State};
use crate::coordinator::machine::{Entry, LogProducer, Machine, Timers};
use crate::env::spawn_blocking;

impl<M: Machine> Shard<M> {
    /// Reads the log on the blocking pool; `None` if it cannot be read, which has been logged.
    pub(super) async fn read(self: &Arc<Self>) -> Option<State<M>> {
        if !self.log().exists() {
            return Some(self.state(Replay::default()));
        }
        let log = Arc::clone(self.log());
        let NewCoordinator { env, metrics, coordinates, .. } = &self.world.parts;
        let (coordinator, shard) = (self.coordinates(), self.number.get());
        let began = env.clock.monotonic();
        let read = spawn_blocking(move || {
            let mut replay = Replay::<M>::default();
            log.read(&mut |entry| replay.take(coordinator, shard, entry))?;
            replay.producers = log.producers()?;
            Ok(replay)
        });
        match read.await {
            Ok(Ok(replay)) => {
                let took = env.clock.monotonic().saturating_sub(began);
                metrics.coordinator_load_seconds.of(*coordinates).observe(took);
                tracing::info!(
                    coordinator,
                    shard,
                    entries = replay.entries,
                    "coordinator shard loaded"
                );
                Some(self.state(replay))
            }
            Ok(Err(ShardLogError(error))) => {
                tracing::error!(coordinator, shard, error, "the coordinator's log cannot be read");
                None
            }
            Err(panic) if panic.is_panic() => std::panic::resume_unwind(panic.into_panic()),
            // The runtime is going away.
            Err(_) => None,
        }
    }

    fn state(&self, replay: Replay<M>) -> State<M> {
        let mut machine = (self.world.parts.machine)();
        machine.restore_producers(&replay.producers);
        State {
            machine,
            hard: replay.hard,
            timers: Timers::new(),
            waiting: HashMap::new(),
            next_token: 0,
            written: None,
            memory: self.world.parts.memory.share(&self.state_bytes),
        }
    }
}

struct Replay<M: Machine> {
    hard: M::Hard,
    producers: Vec<LogProducer>,
    entries: u64,
}

impl<M: Machine> Default for Replay<M> {
    fn default() -> Self {
        Self { hard: M::Hard::default(), producers: Vec::new(), entries: 0 }
    }
}

impl<M: Machine> Replay<M> {
    fn take(&mut self, coordinator: &str, shard: i32, logged: LoggedEntry<'_>) {
        self.entries += 1;
        let entry = match logged.entry {
            Logged::Marker { producer, outcome } => Entry::Ended { producer, outcome },
            Logged::Record { key, value, transaction } => match M::decode(key, value) {
                Ok(Some(record)) => match transaction {
                    Some(producer) => Entry::Pending { producer, record },
                    None => Entry::Record(record),
                },
                // Of a kind that only others know: it stays in the log.
                Ok(None) => return,
                // One record that nobody can read must not take every group of the shard with it.
                Err(error) => {
                    tracing::error!(coordinator, shard, offset = logged.offset.get(), %error, "a record of the coordinator's log makes no sense and is skipped");
                    return;
                }
            },
        };
        M::apply(&mut self.hard, &entry);
    }
}
