//! The replies of one connection that are still to come, in the order of their requests.

use std::collections::VecDeque;
use std::task::{Context, Poll};
use std::time::Duration;

use super::connection::End;
use super::dispatch::Started;
use super::header::ResponseHead;
use super::outbox::Outbox;
use super::tally::Tally;
use crate::env::BytePermit;
use crate::kafka::api_table::Api;
use crate::kafka::handler::{Disconnect, Effect, Outcome, Pending, Response};

/// Most requests whose reply is still to come.
const WAITING_MAX: usize = 64;
/// Most bytes of such requests.
const WAITING_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Most bytes of replies that are ready and wait for an earlier one, but for one more reply.
const READY_BYTES_MAX: usize = 64 * 1024;

/// Replies in order. Only the first one is polled: the effects have happened, and a later one could not leave before it.
pub struct Replies {
    tally: Tally,
    waiting: VecDeque<Waiting>,
    /// An effect that must end before the next request starts; its reply comes behind all others.
    effect: Option<(Request, Effect)>,
    /// Bytes of the requests in `waiting`.
    bytes: usize,
    /// Bytes of the replies in `waiting` that are ready.
    ready_bytes: usize,
    /// Why the connection ends when the replies before it have left.
    end: Option<End>,
}

/// What is remembered of a request.
#[derive(Clone, Copy, Debug)]
struct Request {
    api: Option<&'static Api>,
    head: ResponseHead,
    bytes: usize,
    /// For its duration.
    read_at: Duration,
}

struct Waiting {
    request: Request,
    reply: Reply,
    /// Of read buffers that requests up to this one may still be using.
    retained: Vec<BytePermit>,
}

enum Reply {
    Ready(Response),
    Later(Pending),
}

/// What came of polling.
#[derive(Debug)]
pub enum Progress {
    /// Something was done: more requests may be startable.
    Some,
    /// All waits for something.
    None,
    /// The connection ends for this reason once the outbox is empty.
    End(End),
}

impl Replies {
    /// None yet; counted by `tally`.
    pub fn new(tally: Tally) -> Self {
        Self { tally, waiting: VecDeque::new(), effect: None, bytes: 0, ready_bytes: 0, end: None }
    }

    /// True if another request may be started.
    pub fn have_room(&self) -> bool {
        self.effect.is_none()
            && self.end.is_none()
            && self.waiting.len() < WAITING_MAX
            && self.bytes < WAITING_BYTES_MAX
            && self.ready_bytes < READY_BYTES_MAX
    }

    /// True if none is still to come.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.effect.is_none() && self.end.is_none()
    }

    /// True if the next reply to leave is one that waits for data to come.
    pub fn is_long_poll(&self) -> bool {
        self.waiting
            .front()
            .is_some_and(|waiting| waiting.request.api.is_some_and(Api::is_long_poll))
    }

    /// Keeps the permit of memory that the requests so far may still be using until they are answered.
    pub fn retain(&mut self, permit: BytePermit) {
        if let Some(last) = self.waiting.back_mut() {
            last.retained.push(permit);
        }
    }

    /// Ends the connection behind the replies so far.
    pub fn end(&mut self, end: End) {
        self.end = Some(end);
    }

    /// Takes what a handler returned for a request of `bytes`.
    pub fn push(&mut self, started: Started, bytes: usize, outbox: &mut Outbox) {
        let Started { api, version, head, read_at, outcome } = started;
        self.tally.read(api, version, bytes);
        let request = Request { api, head, bytes, read_at };
        self.settle(request, outcome, outbox);
    }

    /// Moves replies to `outbox` as they become ready, in order.
    pub fn poll(&mut self, outbox: &mut Outbox, cx: &mut Context<'_>) -> Progress {
        let mut progress = Progress::None;
        if let Some((request, effect)) = &mut self.effect
            && let Poll::Ready(outcome) = effect.as_mut().poll(cx)
        {
            let request = *request;
            self.effect = None;
            self.settle(request, outcome, outbox);
            progress = Progress::Some;
        }
        while let Some(first) = self.waiting.front_mut() {
            let response = match &mut first.reply {
                Reply::Ready(response) => {
                    self.ready_bytes -= response.uncovered_len();
                    Ok(std::mem::take(response))
                }
                Reply::Later(pending) => match pending.as_mut().poll(cx) {
                    Poll::Ready(response) => response,
                    Poll::Pending => return progress,
                },
            };
            let request = first.request;
            self.waiting.pop_front();
            self.bytes -= request.bytes;
            progress = Progress::Some;
            if let Err(disconnect) =
                response.and_then(|response| send(&self.tally, request, response, outbox))
            {
                return Progress::End(End::Request(request.api, disconnect));
            }
        }
        self.end.take().map_or(progress, Progress::End)
    }

    fn settle(&mut self, request: Request, outcome: Outcome, outbox: &mut Outbox) {
        match outcome {
            // The hot path: nothing is queued when nothing waits.
            Outcome::Ready(response) if self.waiting.is_empty() => {
                if let Err(disconnect) = send(&self.tally, request, response, outbox) {
                    self.end(End::Request(request.api, disconnect));
                }
            }
            Outcome::Ready(response) => {
                self.ready_bytes += response.uncovered_len();
                self.wait(request, Reply::Ready(response));
            }
            Outcome::Later(pending) => self.wait(request, Reply::Later(pending)),
            Outcome::Serial(effect) => self.effect = Some((request, effect)),
            Outcome::NoReply => {}
            Outcome::Close(disconnect) => self.end(End::Request(request.api, disconnect)),
        }
    }

    fn wait(&mut self, request: Request, reply: Reply) {
        self.bytes += request.bytes;
        self.waiting.push_back(Waiting { request, reply, retained: Vec::new() });
    }
}

fn send(
    tally: &Tally,
    request: Request,
    response: Response,
    outbox: &mut Outbox,
) -> Result<(), Disconnect> {
    let too_long = || Disconnect(format!("a response of {} bytes is too long", response.len()));
    let (head, len) = request.head.encode(response.len()).ok_or_else(too_long)?;
    tally.answered(request.api, request.read_at, len + response.len());
    outbox.push(&head[..len], response);
    Ok(())
}

impl std::fmt::Debug for Replies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replies")
            .field("waiting", &self.waiting.len())
            .field("effect", &self.effect.is_some())
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}
