//! Idle connections: first their buffers go, then they do (`connections.max.idle.ms`).
//!
//! Activity only sets a flag. The timer is set when it runs out and when a connection that had given its buffers back wakes
//! up, never per request; a connection is closed when it has been idle for the configured time or up to half as long again.
//! In the middle of a frame the buffer cannot go: such a connection is looked at each time the timer runs out.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::{Sleep, sleep};

/// A connection without traffic for this long gives its buffers back.
const BUFFERS_KEPT: Duration = Duration::from_secs(5);

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The next request.
    AtRest,
    /// The rest of one.
    InFrame,
    /// Replies are to come: it is not idle.
    Owed,
}

/// What has become due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// See whether what has arrived since the last look was enough.
    Look,
    /// Give the buffers back.
    Release,
    /// Close the connection.
    Close,
}

/// The idle timer of one connection.
#[derive(Debug)]
pub struct Idle {
    timer: Pin<Box<Sleep>>,
    /// Something was read or written since the timer was set.
    active: bool,
    /// The buffers are given back.
    cold: bool,
    buffers_kept: Duration,
    /// Further idle time after which the connection is closed; `None` for never.
    then_closed: Option<Duration>,
    /// Without activity in the middle of a frame.
    silent: Duration,
    /// The timer has run out and is not to be asked again.
    off: bool,
    /// The timer was set and not yet polled, which is what makes it wake the task.
    armed: bool,
}

impl Idle {
    /// Begins now. `max_idle` of `None` means that idle connections are kept.
    pub fn new(max_idle: Option<Duration>) -> Self {
        let buffers_kept = max_idle.map_or(BUFFERS_KEPT, |max| BUFFERS_KEPT.min(max / 2));
        Self {
            timer: Box::pin(sleep(buffers_kept)),
            active: false,
            cold: false,
            buffers_kept,
            then_closed: max_idle.map(|max| max - buffers_kept),
            silent: Duration::ZERO,
            off: false,
            armed: false,
        }
    }

    /// Notes activity.
    pub fn touch(&mut self) {
        self.active = true;
        if self.cold {
            self.cold = false;
            self.set(Some(self.buffers_kept));
        }
    }

    /// What is due; `Pending` until the timer runs out. To be polled again after a look, which sets the timer.
    pub fn poll(&mut self, standing: Standing, cx: &mut Context<'_>) -> Poll<Due> {
        // Polled once each time it is set: asking an armed timer again costs more than this look.
        if self.off || (self.armed && !self.timer.is_elapsed()) {
            return Poll::Pending;
        }
        self.armed = true;
        // Whatever the task's share of this turn is: a poll that is refused would not arm the timer.
        if pin!(unconstrained(self.timer.as_mut())).poll(cx).is_pending() {
            return Poll::Pending;
        }
        if std::mem::take(&mut self.active) || standing == Standing::Owed {
            self.silent = Duration::ZERO;
            self.set(Some(if self.cold {
                self.then_closed.unwrap_or(self.buffers_kept)
            } else {
                self.buffers_kept
            }));
            return Poll::Ready(Due::Look);
        }
        if self.cold {
            return Poll::Ready(Due::Close);
        }
        if standing == Standing::InFrame {
            self.silent += self.buffers_kept;
            if self.then_closed.is_some_and(|then| self.silent > then) {
                return Poll::Ready(Due::Close);
            }
            self.set(Some(self.buffers_kept));
            return Poll::Ready(Due::Look);
        }
        self.cold = true;
        self.set(self.then_closed);
        Poll::Ready(Due::Release)
    }

    fn set(&mut self, after: Option<Duration>) {
        self.off = after.is_none();
        self.armed = false;
        if let Some(after) = after {
            self.timer.set(sleep(after));
        }
    }
}
