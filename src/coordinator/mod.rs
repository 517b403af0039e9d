//! Coordinators: pure state machines of groups and transactions, and the runtime that gives each shard of them a log, a mailbox and timers.
//!
//! A shard is one partition of an internal topic. Its hard state is what the records of that partition add up to; whatever
//! else it needs (who waits for whom, deadlines) is soft and lost with the process. A command is decided in one [`Turn`](machine::Turn):
//! it writes records, which change the hard state at once and through the same function that reads them back after a
//! restart, answers callers, sets timers. The runtime appends the records of a burst of commands as one batch and lets the
//! answers go when the log has it as safely as its durability asks. If the append fails, the shard is read again from its log.
//!
//! The state machines know no clock, no task, no lock and no file; `machine` is all they see of the world.

mod classic;
mod consumer;
mod footprint;
pub mod groups;
mod ids;
pub mod machine;
mod offsets;
pub mod pattern;
pub mod records;
pub mod runtime;
#[cfg(test)]
mod schedule;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod stepped;
#[cfg(test)]
mod stepper;
mod timers;
pub mod transactions;

pub use footprint::Footprint;
pub use ids::{GroupId, InstanceId, MemberId, TransactionalId};
