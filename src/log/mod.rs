//! The log engine: batches, segments, indexes, append, read, recovery, retention, producer state.
//!
//! A [`Log`] belongs to one appender at a time (`&mut self`); everyone else reads the [`LogView`] it publishes, which is
//! immutable. Nothing here knows the network, tokio or other partitions.

pub mod batch;
mod check;
pub mod compress;
mod cursor;
pub mod format;
#[allow(clippy::module_inception)]
mod log;
pub mod record;
pub mod scan;
mod slice;
mod tail_pool;
#[cfg(test)]
pub(crate) mod test_bytes;
mod view;

pub use check::{BatchRejection, BatchRules, CheckedBatch, check_batch};
pub use log::{AppendError, Appended, Log, OpenError, OpenLog, StartMode, SyncWork};
pub use slice::{Part, Slice};
pub use tail_pool::TailPool;
pub use view::{
    AbortedTransaction, Isolation, LogView, OffsetAtTime, ReadError, ReadLimit, TimeQuery,
};
