//! Spawning. Every task and thread has a name, so that a panic message and a debugger say what it was.

use std::future::Future;
use std::io;
use std::thread;

use tokio::task::JoinHandle;

/// Niceness of background threads: about a tenth of the time of a normal one where both want it all.
const BACKGROUND_PRIORITY: i32 = 10;

/// Runs `task` on the async runtime. The caller owns the handle and with it the task's end; a panic comes out of it.
#[expect(clippy::disallowed_methods, reason = "this is the seam that spawns")]
pub fn spawn<F>(task: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    tokio::spawn(task)
}

/// Runs `work`, which may wait for the disk or compute for long, on the blocking pool.
#[expect(clippy::disallowed_methods, reason = "this is the seam that spawns")]
pub fn spawn_blocking<F, T>(work: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    tokio::task::spawn_blocking(work)
}

/// Lets other threads go before the calling one when both want a processor. Best effort.
pub fn lower_thread_priority() {
    // On Linux the priority is that of the thread, not of the process.
    let _ = rustix::process::setpriority_process(None, BACKGROUND_PRIORITY);
}

/// Lets threads that wait for this processor go first, once. Without it a thread of low priority keeps them waiting until its slice
/// of a few milliseconds is over.
pub fn give_way() {
    thread::yield_now();
}

/// Starts a thread of its own for work that lives as long as the broker.
#[expect(clippy::disallowed_methods, reason = "this is the seam that spawns")]
pub fn spawn_thread<F, T>(name: &str, work: F) -> io::Result<thread::JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    thread::Builder::new().name(name.to_owned()).spawn(work)
}
