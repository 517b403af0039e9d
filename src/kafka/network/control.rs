//! What the server wishes of a connection.

use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Waker};

use parking_lot::Mutex;

/// In rising order of haste.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// Go on.
    Serve,
    /// Answer what was begun, then end.
    Finish,
    /// End now.
    Abort,
}

/// Shared by the server and one connection.
#[derive(Debug, Default)]
pub struct Control {
    wish: AtomicU8,
    /// The connection's task; registered once, since a task has one waker for all its life.
    task: Mutex<Option<Waker>>,
    registered: std::sync::atomic::AtomicBool,
}

impl Control {
    /// What is wished now; from the first call on a change wakes the task of `cx`.
    pub fn wish(&self, cx: &Context<'_>) -> Wish {
        if !self.registered.load(Ordering::Relaxed) {
            *self.task.lock() = Some(cx.waker().clone());
            self.registered.store(true, Ordering::Relaxed);
        }
        match self.wish.load(Ordering::Acquire) {
            0 => Wish::Serve,
            1 => Wish::Finish,
            _ => Wish::Abort,
        }
    }

    /// Wishes something else and wakes the task.
    pub fn ask(&self, wish: Wish) {
        self.wish.fetch_max(wish as u8, Ordering::Release);
        if let Some(task) = &*self.task.lock() {
            task.wake_by_ref();
        }
    }
}
