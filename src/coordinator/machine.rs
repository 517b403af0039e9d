//! What a state machine sees of the world: one turn for each command.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

pub use super::timers::Timers;
use crate::metadata::Image;
pub use crate::types::Outcome;
use crate::types::{Marker, ProducerId, ProducerIdAndEpoch, Timestamp, Uuid};

/// The state machine of one shard. `self` is its soft state and its settings; what must survive is `Hard`.
pub trait Machine: Debug + Send + Sized + 'static {
    /// What callers ask for.
    type Command: Debug + Send + 'static;
    /// What they are answered.
    type Reply: Debug + Send + 'static;
    /// What is written to the log.
    type Record: Debug + Send + 'static;
    /// What the records add up to.
    type Hard: Debug + Default + Send + 'static;
    /// Names a timer: setting one that is set already moves it.
    type Timer: Clone + Debug + Eq + Hash + Send + 'static;
    /// What it has others do, who come back with a command.
    type Errand: Debug + Send + 'static;

    /// Carries out a command. The answer is given in this turn, or `token` is kept and answered in a later one.
    fn decide(&mut self, turn: &mut Turn<'_, Self>, command: Self::Command, token: Token);

    /// A timer has run out.
    fn expired(&mut self, turn: &mut Turn<'_, Self>, timer: Self::Timer);

    /// What the log knows of producers, told once, before [`Machine::loaded`]: it refuses writes that contradict it.
    fn restore_producers(&mut self, producers: &[LogProducer]) {
        let _ = producers;
    }

    /// The hard state has just been read from the log: makes the soft state that belongs to it and sets its timers.
    fn loaded(&mut self, turn: &mut Turn<'_, Self>);

    /// Topics were created, deleted, grown or configured; `turn.image` is the newest.
    fn image_changed(&mut self, turn: &mut Turn<'_, Self>);

    /// Gives an entry of the log its meaning: the only way in which hard state changes, live and when it is read back.
    fn apply(hard: &mut Self::Hard, entry: &Entry<Self::Record>);

    /// Key and value of a record.
    fn encode(record: &Self::Record) -> KeyValue;

    /// The reverse; `None` for a kind of record that this version does not know, which is left alone.
    fn decode(key: &[u8], value: Option<&[u8]>) -> Result<Option<Self::Record>, InvalidRecord>;

    /// About how many bytes of memory hard and soft state take. Asked after every turn: counted as they change, never by a
    /// walk over them.
    fn state_bytes(&self, hard: &Self::Hard) -> usize;

    /// True if the command would make the state larger: something new, or more than a little of what is known. Such commands
    /// are refused while the byte budget has no room for coordinators. Asked only then.
    fn grows(&self, hard: &Self::Hard, command: &Self::Command) -> bool;
}

/// A caller that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// The time of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// For what is written down.
    pub wall: Timestamp,
    /// For time-outs.
    pub monotonic: Duration,
}

/// What a shard's log knows of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogProducer {
    /// The producer; records and markers of a smaller epoch are refused.
    pub producer: ProducerIdAndEpoch,
    /// Leader epoch of the coordinator that wrote the last marker; −1 before the first.
    pub coordinator_epoch: i32,
    /// True while a transaction of its is open.
    pub in_transaction: bool,
}

/// What a record looks like in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// The key.
    pub key: Vec<u8>,
    /// The value; `None` is a tombstone.
    pub value: Option<Vec<u8>>,
}

/// The bytes of a record are not what its type and version promise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRecord(pub String);

/// One entry of a shard's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry<R> {
    /// A record outside any transaction.
    Record(R),
    /// A record of a transaction that is open.
    Pending {
        /// Whose transaction.
        producer: ProducerId,
        /// Counts once the transaction is committed.
        record: R,
    },
    /// The end of a transaction.
    Ended {
        /// Whose transaction.
        producer: ProducerId,
        /// How it ended.
        outcome: Outcome,
    },
}

/// What goes into the log; applied already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write<R> {
    /// A record outside any transaction.
    Record(R),
    /// A record of a transaction of this producer.
    Pending(ProducerIdAndEpoch, R),
    /// The end of a transaction.
    Marker(Marker),
}

/// Everything that one command may do.
pub struct Turn<'a, M: Machine> {
    /// The time.
    pub now: Now,
    /// The newest metadata.
    pub image: &'a Image,
    ids: &'a dyn Fn() -> Uuid,
    hard: &'a mut M::Hard,
    effects: &'a mut Effects<M>,
    timers: &'a mut Timers<M::Timer>,
}

/// What the turns of a burst have left to be done.
#[derive(Debug)]
pub struct Effects<M: Machine> {
    /// To be appended in this order.
    pub writes: Vec<Write<M::Record>>,
    /// To be answered once what was written is as safe as it must be.
    pub replies: Vec<(Token, M::Reply)>,
    /// To be done by others, in this order, once what was written is as safe as answers need it.
    pub errands: Vec<M::Errand>,
}

impl<M: Machine> Default for Effects<M> {
    fn default() -> Self {
        Self { writes: Vec::new(), replies: Vec::new(), errands: Vec::new() }
    }
}

/// The parts of a shard that a turn works on.
pub struct TurnParts<'a, M: Machine> {
    /// The time.
    pub now: Now,
    /// The newest metadata.
    pub image: &'a Image,
    /// Makes random ids.
    pub ids: &'a dyn Fn() -> Uuid,
    /// The hard state.
    pub hard: &'a mut M::Hard,
    /// Where effects go.
    pub effects: &'a mut Effects<M>,
    /// The timers of the shard.
    pub timers: &'a mut Timers<M::Timer>,
}

impl<'a, M: Machine> Turn<'a, M> {
    /// A turn on a shard.
    pub fn new(parts: TurnParts<'a, M>) -> Self {
        let TurnParts { now, image, ids, hard, effects, timers } = parts;
        Self { now, image, ids, hard, effects, timers }
    }

    /// The hard state, records of this turn included.
    pub fn hard(&self) -> &M::Hard {
        self.hard
    }

    /// Writes a record: applies it and has it appended.
    pub fn write(&mut self, record: M::Record) {
        let entry = Entry::Record(record);
        M::apply(self.hard, &entry);
        if let Entry::Record(record) = entry {
            self.effects.writes.push(Write::Record(record));
        }
    }

    /// Writes a record that counts once the transaction of `producer` is committed.
    pub fn write_pending(&mut self, producer: ProducerIdAndEpoch, record: M::Record) {
        let entry = Entry::Pending { producer: producer.id, record };
        M::apply(self.hard, &entry);
        if let Entry::Pending { record, .. } = entry {
            self.effects.writes.push(Write::Pending(producer, record));
        }
    }

    /// Ends a transaction in this shard.
    pub fn write_marker(&mut self, marker: Marker) {
        let ended = Entry::Ended { producer: marker.producer.id, outcome: marker.outcome };
        M::apply(self.hard, &ended);
        self.effects.writes.push(Write::Marker(marker));
    }

    /// Has others do something once everything written so far is as safe as answers need it.
    pub fn send_out(&mut self, errand: M::Errand) {
        self.effects.errands.push(errand);
    }

    /// Answers a caller, once.
    pub fn answer(&mut self, token: Token, reply: M::Reply) {
        self.effects.replies.push((token, reply));
    }

    /// Sets or moves a timer to run out in `delay_ms` milliseconds; negative counts as 0.
    pub fn set_timer(&mut self, timer: M::Timer, delay_ms: i64) {
        let delay = Duration::from_millis(u64::try_from(delay_ms).unwrap_or(0));
        self.timers.set(timer, self.now.monotonic.saturating_add(delay));
    }

    /// True if the timer is set.
    pub fn has_timer(&self, timer: &M::Timer) -> bool {
        self.timers.is_set(timer)
    }

    /// Forgets a timer; nothing happens if it is not set.
    pub fn cancel_timer(&mut self, timer: &M::Timer) {
        self.timers.cancel(timer);
    }

    /// A random id that no one else has.
    pub fn new_id(&self) -> Uuid {
        (self.ids)()
    }
}
