//! One shard: its mailbox, and its state while nobody works on it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::log::ShardLog;
use super::memory::StateShare;
use super::{Answer, CallError, World, Written};
use crate::coordinator::machine::{Machine, Timers, Token};
use crate::env;
use crate::observe::Label as _;
use crate::types::PartitionIndex;

/// Commands that may wait for one shard; a further one is refused with an error that clients retry.
const MAILBOX_MAX: usize = 16_384;

/// One shard.
pub(super) struct Shard<M: Machine> {
    pub(super) number: PartitionIndex,
    pub(super) world: Arc<World<M>>,
    log: Arc<dyn ShardLog>,
    mailbox: Mutex<Mailbox<M>>,
    /// About what its state takes of memory, for whoever is about to ask it for much of that.
    pub(super) state_bytes: Arc<AtomicUsize>,
    /// Here while no runner has it.
    resting: Mutex<Rest<M>>,
}

/// What is left of a shard between two runners.
pub(super) struct Rest<M: Machine> {
    /// `None` before it was read and after it was thrown away.
    pub(super) state: Option<State<M>>,
    /// When reading it failed, if it did.
    pub(super) failed_at: Option<Duration>,
}

/// What waits for the runner.
pub(super) struct Mailbox<M: Machine> {
    commands: VecDeque<Queued<M>>,
    nudges: Nudges,
    running: bool,
    closed: bool,
    /// The earliest alarm that is set for the shard.
    alarm: Option<Duration>,
}

/// Work that is no command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Nudges {
    /// Timers may have run out.
    pub(super) timers: bool,
    /// The metadata has changed.
    pub(super) image: bool,
    /// The log shall be read.
    pub(super) load: bool,
}

/// A command and who asked.
pub(super) struct Queued<M: Machine> {
    pub(super) command: M::Command,
    pub(super) sender: oneshot::Sender<Answer<M>>,
}

/// What a runner takes at a time.
pub(super) struct Burst<M: Machine> {
    pub(super) commands: VecDeque<Queued<M>>,
    pub(super) nudges: Nudges,
}

/// A shard in memory.
pub(super) struct State<M: Machine> {
    pub(super) machine: M,
    pub(super) hard: M::Hard,
    pub(super) timers: Timers<M::Timer>,
    pub(super) waiting: HashMap<Token, oneshot::Sender<Answer<M>>>,
    pub(super) next_token: u64,
    /// What answers depend on: everything appended so far.
    pub(super) written: Option<Written>,
    /// What it takes of the byte budget.
    pub(super) memory: StateShare,
}

impl<M: Machine> Shard<M> {
    pub(super) fn new(number: PartitionIndex, world: Arc<World<M>>) -> Arc<Self> {
        let log = (world.parts.log)(number);
        let mailbox = Mutex::new(Mailbox {
            commands: VecDeque::new(),
            nudges: Nudges::default(),
            running: false,
            closed: false,
            alarm: None,
        });
        Arc::new(Self {
            number,
            world,
            log,
            mailbox,
            state_bytes: Arc::default(),
            resting: Mutex::new(Rest { state: None, failed_at: None }),
        })
    }

    pub(super) fn log(&self) -> &Arc<dyn ShardLog> {
        &self.log
    }

    /// What it coordinates, for log lines: shards of all coordinators have the same numbers.
    pub(super) fn coordinates(&self) -> &'static str {
        self.world.parts.coordinates.text()
    }

    /// Queues a command; one that cannot be queued is answered at once.
    pub(super) fn queue(self: &Arc<Self>, command: M::Command, sender: oneshot::Sender<Answer<M>>) {
        let mut mailbox = self.mailbox.lock();
        let refusal = if mailbox.closed {
            Some(CallError::GivenUp)
        } else if mailbox.commands.len() >= MAILBOX_MAX {
            Some(CallError::Overloaded)
        } else {
            None
        };
        if let Some(refusal) = refusal {
            // Who no longer listens has nothing to be told.
            let _ = sender.send(Err(refusal));
            return;
        }
        mailbox.commands.push_back(Queued { command, sender });
        self.start(&mut mailbox);
    }

    /// Has the log read.
    pub(super) fn load(self: &Arc<Self>) {
        self.nudge(|mailbox| mailbox.nudges.load = true);
    }

    /// An alarm has gone off.
    pub(super) fn ring(self: &Arc<Self>) {
        self.nudge(|mailbox| {
            mailbox.alarm = None;
            mailbox.nudges.timers = true;
        });
    }

    /// The metadata has changed.
    pub(super) fn image_changed(self: &Arc<Self>) {
        self.nudge(|mailbox| mailbox.nudges.image = true);
    }

    /// Refuses further commands and drops the state: whoever waits hears that it was given up.
    pub(super) fn close(self: &Arc<Self>) {
        let mut mailbox = self.mailbox.lock();
        mailbox.closed = true;
        mailbox.commands.clear();
        if !mailbox.running {
            self.resting.lock().state = None;
        }
    }

    /// Sets an alarm for the next timer, unless there is one in time.
    pub(super) fn set_alarm(&self, due: Duration) {
        let mut mailbox = self.mailbox.lock();
        if mailbox.alarm.is_none_or(|alarm| due < alarm) {
            mailbox.alarm = Some(due);
            self.world.alarms.set(due, self.number);
        }
    }

    /// What has gathered, at most `commands_max` commands of it; with nothing left the state comes to rest and the runner
    /// ends. A closed shard has no state to rest.
    pub(super) fn next_burst(&self, commands_max: usize, rest: &mut Rest<M>) -> Option<Burst<M>> {
        let mut mailbox = self.mailbox.lock();
        if mailbox.commands.is_empty() && mailbox.nudges == Nudges::default() || mailbox.closed {
            mailbox.running = false;
            let state = rest.state.take().filter(|_| !mailbox.closed);
            *self.resting.lock() = Rest { state, failed_at: rest.failed_at };
            return None;
        }
        let nudges = std::mem::take(&mut mailbox.nudges);
        let commands = if mailbox.commands.len() <= commands_max {
            std::mem::take(&mut mailbox.commands)
        } else {
            mailbox.commands.drain(..commands_max).collect()
        };
        Some(Burst { commands, nudges })
    }

    /// A runner begins: the state is its own until it ends.
    pub(super) fn wake(&self) -> Rest<M> {
        let mut resting = self.resting.lock();
        Rest { state: resting.state.take(), failed_at: resting.failed_at }
    }

    /// A runner has panicked and the state with it: whoever waits is sent away, the next command reads the log.
    pub(super) fn crashed(&self) {
        let mut mailbox = self.mailbox.lock();
        mailbox.running = false;
        mailbox.commands.clear();
    }

    fn nudge(self: &Arc<Self>, set: impl FnOnce(&mut Mailbox<M>)) {
        let mut mailbox = self.mailbox.lock();
        set(&mut mailbox);
        if !mailbox.closed {
            self.start(&mut mailbox);
        }
    }

    fn start(self: &Arc<Self>, mailbox: &mut Mailbox<M>) {
        if !mailbox.running {
            mailbox.running = true;
            // Detached: it ends with the mailbox, and a panic in it is seen by the guard that it holds.
            drop(env::spawn(Arc::clone(self).run()));
        }
    }
}
