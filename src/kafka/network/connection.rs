//! One connection, one task.
//!
//! A wake-up goes round until nothing more can be done: start every request that is here as a whole, move the replies that are
//! ready to the outbox, write, read. A request whose reply is ready costs one read and one write: the runtime knows from a
//! short read that the socket is empty, the reply is copied into a buffer that is already there, and nothing is queued,
//! locked, timed or handed to another task. A read that got all it asked for leaves more in the socket, the next request of a peer
//! that pipelines: short replies then wait for the one behind them and share its write.
//!
//! Requests are started in the order in which they came, also while replies to earlier ones are still to come; replies leave in
//! that order. What is not read while the limits of [`super::replies`] are reached, or while the peer does not take its replies,
//! stays in the socket.

use std::any::Any;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::control::{Control, Wish};
use super::dispatch::{Dispatch, FindApi};
use super::frame::{FrameError, FrameLimits, FrameReader};
use super::idle::{Due, Idle, Standing};
use super::outbox::Outbox;
use super::replies::{Progress, Replies};
use super::tally::Tally;
use crate::broker::Broker;
use crate::env::{ByteBudget, BytePermit};
use crate::kafka::api_table::Api;
use crate::kafka::handler::{Disconnect, Peer};

/// No request is started while so many bytes wait for the peer to take them.
const UNSENT_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of replies that a connection may hold for a peer that does not take them without counting them.
const UNSENT_BYTES_FREE: usize = 16 * 1024;

/// Replies of so many bytes may wait for those of the requests behind them: acknowledgements, not records.
const KEPT_BACK_BYTES_MAX: usize = 4 * 1024;

/// What such bytes are taken out of the budget by.
const UNSENT_BYTES_STEP: usize = 64 * 1024;

/// Bytes read before other tasks of the thread get their turn.
const TURN_BYTES: usize = 128 * 1024;

/// A connection that waits longer than this for room in the byte budget is closed. It may keep what others wait for, since requests that
/// it has begun hold their memory until they are answered; those who wait for the memory of a long answer, 30 seconds, outlast it.
const MEMORY_WAIT: Duration = Duration::from_secs(15);

/// While others wait for memory, so much of a frame that holds some must arrive between two looks of [`Idle`], five seconds.
const ARRIVING_BYTES_MIN: usize = 64 * 1024;

/// Why a connection has ended.
#[derive(Debug, thiserror::Error)]
pub enum End {
    /// The peer closed it.
    #[error("the peer closed it")]
    Peer,
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Nothing happened for `connections.max.idle.ms`.
    #[error("idle for connections.max.idle.ms")]
    Idle,
    /// The broker stops.
    #[error("the broker stops")]
    Stopped,
    /// The bytes are no frames.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// A request is answered by closing.
    #[error("{1}")]
    Request(Option<&'static Api>, Disconnect),
    /// A handler panicked.
    #[error("a request handler panicked: {0}")]
    Panic(String),
    /// There was no memory for the next request.
    #[error("no room in the byte budget for a request (highwater.memory.bytes)")]
    Memory,
    /// What had arrived of a frame kept memory from others.
    #[error("a frame came too slowly while others waited for memory (highwater.memory.bytes)")]
    Slow,
}

/// A connection only ends, it yields nothing.
type PollEnd = Poll<Result<Infallible, End>>;

/// A connection and all it holds.
pub struct Connection {
    stream: TcpStream,
    frames: FrameReader,
    dispatch: Dispatch,
    replies: Replies,
    outbox: Outbox,
    idle: Idle,
    control: Arc<Control>,
    budget: Arc<ByteBudget>,
    /// Covers replies that the peer has not taken.
    unsent: Option<BytePermit>,
    /// The read buffer waits for room in the budget.
    memory: Option<Pin<Box<dyn Future<Output = Option<BytePermit>> + Send>>>,
    /// Nothing is read or started any more; the end once the outbox is empty.
    ending: Option<End>,
    /// Read since the last look.
    read_bytes: usize,
    /// Something of a frame was here then, and the connection was reading on.
    held_part: bool,
}

impl Connection {
    /// Takes over an accepted socket.
    pub fn new(
        stream: TcpStream,
        peer: Peer,
        broker: Arc<Broker>,
        control: Arc<Control>,
        find: FindApi,
    ) -> Self {
        let settings = &broker.settings;
        let max_idle =
            u64::try_from(settings.connections_max_idle_ms).ok().map(Duration::from_millis);
        Self {
            stream,
            frames: FrameReader::new(FrameLimits {
                frame_bytes: settings.socket_request_max_bytes,
                budget_bytes: broker.budget.limit_bytes(),
            }),
            replies: Replies::new(Tally::new(
                Arc::clone(&broker.metrics),
                Arc::clone(&broker.env.clock),
            )),
            outbox: Outbox::default(),
            idle: Idle::new(max_idle),
            control,
            budget: Arc::clone(&broker.budget),
            unsent: None,
            memory: None,
            ending: None,
            read_bytes: 0,
            held_part: false,
            dispatch: Dispatch::new(broker, Arc::new(peer), find),
        }
    }

    /// Serves the peer until the connection ends.
    pub async fn run(mut self) -> End {
        poll_fn(|cx| {
            // A panic ends this connection and no other. What it leaves half done goes away with the connection.
            let polled = catch_unwind(AssertUnwindSafe(|| self.poll(cx)));
            let polled = polled
                .unwrap_or_else(|panic| Poll::Ready(Err(End::Panic(text_of(panic.as_ref())))));
            polled.map(|Err(end)| end)
        })
        .await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> PollEnd {
        let (mut read, mut has_more) = (0, false);
        loop {
            // Asked each time that something was read: what a peer sends after a stop was asked for is not started.
            if self.control.wish(cx) != Wish::Serve {
                return self.poll_stop(cx);
            }
            let all_started = self.ending.is_some() || self.poll_requests(cx);
            let turn_is_over = read >= TURN_BYTES;
            let keeps_back = has_more
                && !turn_is_over
                && all_started
                && self.ending.is_none()
                && self.outbox.len() <= KEPT_BACK_BYTES_MAX;
            let flushed = if keeps_back { Poll::Ready(()) } else { self.poll_flush(cx)? };
            if self.ending.is_some() {
                return self.poll_ending(flushed, cx);
            }
            if !all_started {
                if flushed.is_ready() && self.replies.have_room() {
                    continue;
                }
                return self.poll_idle(cx);
            }
            if turn_is_over {
                cx.waker().wake_by_ref();
                return self.poll_idle(cx);
            }
            match self.poll_fill(cx)? {
                Poll::Pending | Poll::Ready(0) if keeps_back => {
                    // Nothing was there after all, or nothing comes any more: first what was kept back.
                    has_more = false;
                    continue;
                }
                Poll::Ready(0) => return Poll::Ready(Err(End::Peer)),
                Poll::Ready(bytes) => {
                    read += bytes;
                    self.read_bytes += bytes;
                }
                Poll::Pending => return self.poll_idle(cx),
            }
            has_more = self.frames.was_filled();
            self.idle.touch();
        }
    }

    /// Starts what is here and settles what is ready, until neither goes on; true if no whole request is left.
    fn poll_requests(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            let all_started = self.start_requests();
            match self.replies.poll(&mut self.outbox, cx) {
                Progress::Some if !all_started => {}
                Progress::Some | Progress::None => return all_started,
                Progress::End(end) => {
                    self.ending = Some(end);
                    return true;
                }
            }
        }
    }

    /// Calls the handlers of the requests that are here as a whole; true if none is left.
    fn start_requests(&mut self) -> bool {
        loop {
            let is_slow = self.outbox.len() > UNSENT_BYTES_MAX || !self.covers_unsent();
            if is_slow || !self.replies.have_room() {
                return false;
            }
            match self.frames.next_frame() {
                Ok(Some(frame)) => {
                    let bytes = frame.len();
                    let started = self.dispatch.start(frame);
                    self.replies.push(started, bytes, &mut self.outbox);
                }
                Ok(None) => return true,
                Err(error) => self.replies.end(error.into()),
            }
        }
    }

    /// Counts replies that the peer has not taken, if they are many; false without room for them in the budget: then nothing
    /// more is answered before the peer takes some.
    fn covers_unsent(&mut self) -> bool {
        let unsent = self.outbox.uncovered_len();
        if unsent <= UNSENT_BYTES_FREE {
            // The hot path, on which replies leave as they come.
            self.unsent = None;
            return true;
        }
        if self.unsent.as_ref().is_some_and(|permit| permit.bytes() >= unsent) {
            return true;
        }
        self.unsent = None;
        self.unsent = self.budget.try_take(unsent.next_multiple_of(UNSENT_BYTES_STEP));
        self.unsent.is_some()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let before = self.outbox.len();
        let flushed = self.outbox.poll_flush(&mut self.stream, cx);
        if self.outbox.len() < before {
            self.idle.touch();
        }
        flushed
    }

    /// The last replies leave; a peer that does not take them is an idle one.
    fn poll_ending(&mut self, flushed: Poll<()>, cx: &mut Context<'_>) -> PollEnd {
        match self.ending.take_if(|_| flushed.is_ready()) {
            Some(end) => Poll::Ready(Err(end)),
            None => self.poll_idle(cx),
        }
    }

    /// Reads what has arrived.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, End>> {
        if self.frames.is_released() {
            // A connection that says nothing holds no buffer.
            ready!(self.stream.poll_read_ready(cx))?;
        }
        while let Some(size) = self.frames.room() {
            let permit = ready!(self.poll_permit(size, cx))?;
            if let Some(old) = self.frames.grow(permit) {
                self.replies.retain(old);
            }
        }
        self.frames.poll_read(&mut self.stream, cx).map_err(End::from)
    }

    /// Takes memory for the read buffer out of the budget, waiting for it if there is none now.
    fn poll_permit(&mut self, size: usize, cx: &mut Context<'_>) -> Poll<Result<BytePermit, End>> {
        let Some(waiting) = &mut self.memory else {
            if let Some(permit) = self.budget.try_take(size) {
                return Poll::Ready(Ok(permit));
            }
            let budget = Arc::clone(&self.budget);
            let take = async move { timeout(MEMORY_WAIT, budget.take(size)).await.ok().flatten() };
            self.memory = Some(Box::pin(take));
            return self.poll_permit(size, cx);
        };
        let permit = ready!(waiting.as_mut().poll(cx));
        self.memory = None;
        Poll::Ready(permit.ok_or(End::Memory))
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> PollEnd {
        loop {
            match ready!(self.idle.poll(self.standing(), cx)) {
                Due::Look if self.is_slow() => return Poll::Ready(Err(End::Slow)),
                Due::Look => {}
                Due::Close => return Poll::Ready(Err(End::Idle)),
                Due::Release => {
                    self.frames.release();
                    self.outbox.release();
                }
            }
        }
    }

    fn standing(&self) -> Standing {
        if self.ending.is_none() && !self.replies.is_empty() {
            Standing::Owed
        } else if self.frames.holds_part() {
            Standing::InFrame
        } else {
            Standing::AtRest
        }
    }

    /// True if others wait for memory that a frame holds whose peer sends next to nothing.
    fn is_slow(&mut self) -> bool {
        // Not if the connection itself keeps the peer from sending.
        let reads = self.memory.is_none()
            && self.replies.have_room()
            && self.outbox.len() <= UNSENT_BYTES_MAX;
        let holds = reads && self.frames.holds_part();
        let held = std::mem::replace(&mut self.held_part, holds);
        let read = std::mem::take(&mut self.read_bytes);
        held && holds && read < ARRIVING_BYTES_MIN && self.budget.is_wanted()
    }

    /// The broker stops: replies that are owed leave, nothing new is started. A fetch that waits for data is owed nothing.
    fn poll_stop(&mut self, cx: &mut Context<'_>) -> PollEnd {
        if self.control.wish(cx) == Wish::Abort {
            return Poll::Ready(Err(End::Stopped));
        }
        let progress = self.replies.poll(&mut self.outbox, cx);
        let flushed = self.outbox.poll_flush(&mut self.stream, cx)?;
        let owed = !self.replies.is_empty() && !self.replies.is_long_poll();
        if flushed.is_pending() || (owed && !matches!(progress, Progress::End(..))) {
            return Poll::Pending;
        }
        Poll::Ready(Err(End::Stopped))
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
