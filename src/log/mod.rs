//! The log engine: batches, segments, indexes, append, read, recovery, retention, producer state.
//!
//! A [`Log`] belongs to one appender at a time (`&mut self`); everyone else reads the [`LogView`] it publishes, which is
//! immutable. Nothing here knows the network, tokio or other partitions.

mod aborted;
mod aborted_writer;
mod access;
mod active;
mod append;
pub mod batch;
mod batch_reader;
mod batch_start;
pub mod builder;
mod check;
mod chunk;
pub mod compaction;
pub mod compress;
mod cursor;
mod cut;
mod entries;
mod epochs;
pub mod format;
mod found;
mod index;
mod joins;
pub mod legacy;
#[allow(clippy::module_inception)]
mod log;
mod lost;
mod marker;
pub mod moving;
mod open;
mod partition_directory;
mod producer_checks;
mod producers;
mod progress;
mod read;
pub mod reader;
pub mod record;
mod record_time;
mod recovery;
mod replay;
mod retention;
pub mod scan;
mod segment;
mod slice;
mod snapshots;
mod stored_records;
mod sweep;
mod tail;
mod tail_check;
mod tail_pool;
#[cfg(test)]
pub(crate) mod test_bytes;
mod time_search;
mod unseen;
mod view;
mod words;

pub use append::{AppendError, Appended};
pub use check::{
    Admission, BatchRejection, BatchRules, CheckedBatch, Origin, begins_transactional, check_batch,
    check_batch_inline, check_form,
};
pub use entries::{LogEntry, LogEntryKind};
pub use joins::JoinGuard;
pub use log::{ActiveProducer, Log, SyncWork};
pub use marker::build_marker;
pub use open::{LogStartCheckpoint, OpenError, OpenLog, StartMode};
pub use progress::RecoveryProgress;
pub use retention::Deleted;
pub use slice::{Part, Slice};
pub use tail_pool::TailPool;
pub use view::{
    AbortedTransaction, Isolation, LogView, OffsetAtTime, ReadError, ReadLimit, TimeQuery,
};
