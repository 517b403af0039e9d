//! What connections count.

use std::sync::Arc;
use std::time::Duration;

use super::connection::End;
use crate::env::Clock;
use crate::kafka::api_table::Api;
use crate::observe::{CloseCause, Metrics};

/// Bytes of a frame's length field.
const LENGTH_BYTES: usize = 4;

/// Counts the requests of one connection. Two readings of the clock and a few relaxed additions for each.
#[derive(Debug)]
pub struct Tally {
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
}

impl Tally {
    /// Counts into `metrics`.
    pub fn new(metrics: Arc<Metrics>, clock: Arc<dyn Clock>) -> Self {
        Self { metrics, clock }
    }

    /// A request of `bytes` has been read, in that version of its API.
    pub fn read(&self, api: Option<&Api>, version: i16, bytes: usize) {
        self.metrics.requests.of(key(api), version).increment();
        self.metrics.request_bytes.add(as_u64(bytes + LENGTH_BYTES));
    }

    /// The response to a request that was read at `read_at` goes out, `bytes` with its length.
    pub fn answered(&self, api: Option<&Api>, read_at: Duration, bytes: usize) {
        let took = self.clock.monotonic().saturating_sub(read_at);
        self.metrics.request_seconds.of(key(api)).observe(took);
        self.metrics.response_bytes.add(as_u64(bytes));
    }
}

/// Counts an ended connection if it was the broker that closed it.
pub fn closed(metrics: &Metrics, end: &End) {
    let cause = match end {
        End::Peer | End::Io(_) | End::Stopped => return,
        End::Idle => CloseCause::Idle,
        End::Frame(_) => CloseCause::Frame,
        End::Request(None, _) => CloseCause::Header,
        End::Request(Some(_), _) => CloseCause::Request,
        End::Panic(_) => CloseCause::Panic,
        End::Memory | End::Slow => CloseCause::Memory,
    };
    metrics.connections_closed.of(cause).increment();
}

fn key(api: Option<&Api>) -> i16 {
    api.map_or(-1, |api| api.key)
}

fn as_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
