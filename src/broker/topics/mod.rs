//! Use cases on topics: create, delete, grow, and creation on first use.
//!
//! Every change is checked against the newest image and then written in one append to the metadata log; both happen under
//! [`Broker::changes`](crate::broker::Broker), so that what was checked is what is changed. All of it blocks on that append and
//! belongs on the blocking pool.
//!
//! The checks, their order and their texts are those of Kafka's `ControllerApis` and `ReplicationControlManager`.

mod auto_create;
mod create;
mod delete;
mod grow;
mod internal;
mod placement;
#[cfg(test)]
mod tests;

pub use auto_create::NotCreated;
pub use create::{CreateTopicError, CreateTopicOutcome, CreateTopics, CreatedTopic, TopicSpec};
pub use delete::{DeleteTopicError, DeleteTopicOutcome, TopicToDelete};
pub use grow::{CreatePartitions, GrowTopicError, GrowTopicOutcome, TopicGrowth};
pub use internal::is_internal;
pub use placement::{Assignment, InvalidAssignment};

/// Most partitions that one request may create, and most records that it may write (Kafka's `MAX_PARTITIONS_PER_BATCH` and
/// `MAX_RECORDS_PER_USER_OP`). A request that asks for more is refused as a whole with POLICY_VIOLATION.
pub const BATCH_RECORDS_MAX: usize = 10_000;

/// Whether a request changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Check and change.
    Apply,
    /// Check only.
    ValidateOnly,
}
