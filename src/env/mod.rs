//! Every source of nondeterminism, behind a seam: clock, randomness, files, memory budget, task spawning, shutdown.
//!
//! Nothing outside this module reads a clock, asks for random bytes, touches `std::fs` or spawns (`tests/tidy.rs` and
//! clippy's disallowed methods see to it), so a test can run the whole broker on a manual clock and a simulated disk.

mod budget;
mod clock;
mod disk;
mod files;
mod memory;
mod no_room;
mod overlay;
mod process;
mod random;
mod shutdown;
mod tasks;

use std::sync::Arc;

pub use budget::{ByteBudget, BytePermit};
pub use clock::{Clock, ManualClock, SystemClock};
pub use disk::Disk;
pub use files::{
    Cached, DirEntry, DiskSpace, EntryKind, File, FileLock, FileStat, FileSystem, LockError,
    OpenMode, write_atomically,
};
pub use memory::{bound_allocator, give_memory_back, memory_limit};
pub use no_room::{is_no_room, is_of_a_name};
pub use overlay::{Change, Overlay};
pub use process::{
    ProcessUsage, descriptor_limit, host_name, process_usage, raise_descriptor_limit, variables,
    voluntary_switches,
};
pub use random::{Random, SeededRandom, SystemRandom};
pub use shutdown::Shutdown;
pub use tasks::{give_way, lower_thread_priority, spawn, spawn_blocking, spawn_thread};

/// The seams of one broker; cheap to clone.
#[derive(Clone, Debug)]
pub struct Env {
    /// Wall clock and monotonic clock.
    pub clock: Arc<dyn Clock>,
    /// Random ids and jitter.
    pub random: Arc<dyn Random>,
    /// The disk.
    pub files: Arc<dyn FileSystem>,
}

impl Env {
    /// The real machine.
    pub fn system() -> Self {
        Self {
            clock: Arc::new(SystemClock::default()),
            random: Arc::new(SystemRandom),
            files: Arc::new(Disk),
        }
    }
}
