//! The task that works on a shard while there is something to do.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::log::{Append, LogBatch, ShardLogError};
use super::shard::{Burst, Nudges, Queued, Rest, Shard, State};
use super::{Answer, CallError, NewCoordinator, Written};
use crate::coordinator::machine::{Effects, Machine, Now, Token, Turn, TurnParts, Write};
use crate::env;
use crate::metadata::Image;
use crate::types::Uuid;

/// Commands that go into one batch: enough to share its cost, few enough for other tasks to have their turn.
const BURST_MAX: usize = 512;

/// Time after a failure for which commands are refused without another try: a broken disk is not asked for each of them.
const REST_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Time after a failed append for which a shard stays thrown away although nobody asks for it.
const READ_AFTER_FAILED_APPEND: Duration = Duration::from_secs(2);

/// The same after it could not be read, or its runner has panicked.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// An answer whose caller has been found.
type Addressed<M> = (oneshot::Sender<Answer<M>>, <M as Machine>::Reply);

impl<M: Machine> Shard<M> {
    /// Works until the mailbox is empty.
    pub(super) async fn run(self: Arc<Self>) {
        let guard = CrashGuard(&self);
        let mut work = self.wake();
        while let Some(burst) = self.next_burst(BURST_MAX, &mut work) {
            // Changed metadata are no reason to read a log. An alarm is one: the shard had timers before it was thrown away.
            let Nudges { load, timers, .. } = burst.nudges;
            let needed = load || timers || !burst.commands.is_empty();
            if work.state.is_none() && needed {
                work = self.fetch_state(work.failed_at).await;
            }
            match work.state.take() {
                Some(state) => work.state = self.work(state, burst).await,
                None => refuse(burst.commands),
            }
            if work.state.is_none() && needed {
                self.read_again_later(&work);
            }
            // Others are served between two bursts, and more commands gather.
            tokio::task::yield_now().await;
        }
        std::mem::forget(guard);
    }

    /// What is under way must go on although no command may ever come: transactions that are open have to be aborted at their
    /// time, and those that are prepared ended.
    fn read_again_later(&self, work: &Rest<M>) {
        let due = match work.failed_at {
            Some(at) => at.saturating_add(READ_AGAIN_AFTER),
            None => self.now().monotonic.saturating_add(READ_AFTER_FAILED_APPEND),
        };
        self.set_alarm(due);
    }

    /// Reads the shard, unless that has failed just before.
    async fn fetch_state(self: &Arc<Self>, failed_at: Option<Duration>) -> Rest<M> {
        let now = self.now().monotonic;
        if failed_at.is_some_and(|at| now < at + REST_AFTER_FAILURE) {
            return Rest { state: None, failed_at };
        }
        let Some(mut state) = self.read().await else {
            return Rest { state: None, failed_at: Some(now) };
        };
        let mut effects = Effects::default();
        let image = (self.world.parts.image)();
        self.turn(&mut state, &image, &mut effects, |machine, turn| machine.loaded(turn));
        Rest { state: self.finish(state, effects).await, failed_at: None }
    }

    /// Decides everything in the burst, appends, answers. `None` if the append failed.
    async fn work(self: &Arc<Self>, mut state: State<M>, burst: Burst<M>) -> Option<State<M>> {
        let mut effects = Effects::default();
        let image = (self.world.parts.image)();
        let NewCoordinator { metrics, coordinates, .. } = &self.world.parts;
        metrics.coordinator_bursts.of(*coordinates).increment();
        metrics.coordinator_commands.of(*coordinates).add(burst.commands.len() as u64);
        self.heed(&mut state, &image, burst.nudges, &mut effects);
        for Queued { command, sender } in burst.commands {
            if !self.may_carry_out(&state, &command) {
                answer(sender, Err(CallError::NoMemory));
                continue;
            }
            let token = Token(state.next_token);
            state.next_token += 1;
            state.waiting.insert(token, sender);
            self.turn(&mut state, &image, &mut effects, |machine, turn| {
                machine.decide(turn, command, token);
            });
        }
        self.finish(state, effects).await
    }

    /// False for a command that would make the state larger while there is no memory for that.
    fn may_carry_out(&self, state: &State<M>, command: &M::Command) -> bool {
        let NewCoordinator { memory, metrics, coordinates, .. } = &self.world.parts;
        if memory.has_room() || !state.machine.grows(&state.hard, command) {
            return true;
        }
        metrics.coordinator_refusals.of(*coordinates).increment();
        false
    }

    /// Timers and changes of metadata.
    fn heed(&self, state: &mut State<M>, image: &Image, nudges: Nudges, effects: &mut Effects<M>) {
        if nudges.image {
            self.turn(state, image, effects, |machine, turn| machine.image_changed(turn));
        }
        // Whatever woke the shard: a timer that has run out comes before commands that arrived after its time.
        let now = self.now().monotonic;
        while let Some(timer) = state.timers.take_due(now) {
            self.turn(state, image, effects, |machine, turn| machine.expired(turn, timer));
        }
    }

    /// Appends what the turns have written and lets their answers go. `None` if the append failed.
    async fn finish(
        self: &Arc<Self>,
        mut state: State<M>,
        effects: Effects<M>,
    ) -> Option<State<M>> {
        let address = |(token, reply)| Some((state.waiting.remove(&token)?, reply));
        let answers: Vec<Addressed<M>> = effects.replies.into_iter().filter_map(address).collect();
        if !effects.writes.is_empty() {
            match self.append(effects.writes).await {
                Ok(written) => state.written = Some(written),
                Err(error) => {
                    let (coordinator, shard) = (self.coordinates(), self.number.get());
                    tracing::error!(coordinator, shard, %error, "the coordinator's log cannot be written, the shard is read again");
                    answers
                        .into_iter()
                        .for_each(|(sender, _)| answer(sender, Err(CallError::NotAvailable)));
                    return None;
                }
            }
        }
        let written = state.written;
        answers.into_iter().for_each(|(sender, reply)| answer(sender, Ok((reply, written))));
        self.send_out(effects.errands, written);
        if let Some(due) = state.timers.next_due() {
            self.set_alarm(due);
        }
        Some(state)
    }

    /// Lets errands go when the log is durable up to `written`.
    fn send_out(self: &Arc<Self>, errands: Vec<M::Errand>, written: Option<Written>) {
        if errands.is_empty() {
            return;
        }
        let Some(durable) = written.and_then(|written| self.log().durable(written)) else {
            let send = &self.world.parts.errands;
            return errands.into_iter().for_each(|errand| send(self.number, errand));
        };
        let shard = Arc::clone(self);
        // Detached: it ends with the sync. If that fails the directory is offline, and so is the shard.
        drop(env::spawn(async move {
            if durable.await.is_ok() {
                let send = &shard.world.parts.errands;
                errands.into_iter().for_each(|errand| send(shard.number, errand));
            }
        }));
    }

    async fn append(&self, writes: Vec<Write<M::Record>>) -> Result<Written, ShardLogError> {
        let NewCoordinator { metrics, coordinates, .. } = &self.world.parts;
        let count = writes.len() as u64;
        let appended = match self.log().append(into_batches::<M>(writes), self.now().wall) {
            Append::Done(result) => result,
            Append::Blocking(append) => append.await,
        };
        if appended.is_ok() {
            metrics.coordinator_batches.of(*coordinates).increment();
            metrics.coordinator_records.of(*coordinates).add(count);
        } else {
            metrics.coordinator_append_failures.of(*coordinates).increment();
        }
        appended
    }

    fn turn(
        &self,
        state: &mut State<M>,
        image: &Image,
        effects: &mut Effects<M>,
        step: impl FnOnce(&mut M, &mut Turn<'_, M>),
    ) {
        let ids = || -> Uuid { self.world.parts.env.random.uuid() };
        let mut turn = Turn::new(TurnParts {
            now: self.now(),
            image,
            ids: &ids,
            hard: &mut state.hard,
            effects,
            timers: &mut state.timers,
        });
        step(&mut state.machine, &mut turn);
        state.memory.set(state.machine.state_bytes(&state.hard));
    }

    fn now(&self) -> Now {
        let clock = &self.world.parts.env.clock;
        Now { wall: clock.wall(), monotonic: clock.monotonic() }
    }
}

/// Neighbours of one kind share a batch.
fn into_batches<M: Machine>(writes: Vec<Write<M::Record>>) -> Vec<LogBatch> {
    let mut batches = Vec::new();
    for write in writes {
        let (producer, record) = match write {
            Write::Marker(marker) => {
                batches.push(LogBatch::Marker(marker));
                continue;
            }
            Write::Record(record) => (None, M::encode(&record)),
            Write::Pending(producer, record) => (Some(producer), M::encode(&record)),
        };
        match batches.last_mut() {
            Some(LogBatch::Records(of, records)) if *of == producer => records.push(record),
            _ => batches.push(LogBatch::Records(producer, vec![record])),
        }
    }
    batches
}

fn refuse<M: Machine>(commands: impl IntoIterator<Item = Queued<M>>) {
    commands.into_iter().for_each(|queued| answer(queued.sender, Err(CallError::NotAvailable)));
}

/// Who no longer listens has nothing to be told.
fn answer<T>(sender: oneshot::Sender<T>, value: T) {
    drop(sender.send(value));
}

/// Frees a shard whose runner panics. Forgotten by a runner that ends as it should.
struct CrashGuard<'a, M: Machine>(&'a Arc<Shard<M>>);

impl<M: Machine> Drop for CrashGuard<'_, M> {
    fn drop(&mut self) {
        // Dropped without a panic, it is the runtime that goes away.
        if std::thread::panicking() {
            let (coordinator, shard) = (self.0.coordinates(), self.0.number.get());
            tracing::error!(coordinator, shard, "a coordinator panicked, its shard is read again");
            self.0.set_alarm(self.0.now().monotonic.saturating_add(READ_AGAIN_AFTER));
        }
        self.0.crashed();
    }
}
