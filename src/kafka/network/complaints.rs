//! Log lines about peers: one per cause and peer in a while, so that a port scanner or a client in a loop does not fill the log.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::env::Clock;

/// The same cause from the same address is logged again after this long.
const REPEATED_AFTER: Duration = Duration::from_secs(60);
/// Causes and addresses remembered; beyond, new ones are only logged at debug level.
const REMEMBERED_MAX: usize = 1024;

/// What a peer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Announced a frame that is too long.
    Length,
    /// Spoke TLS.
    Tls,
    /// Spoke HTTP.
    Http,
    /// Sent what could not be served under this API key; −1 where there is none.
    Request(i16),
    /// Made a handler fail; ours to repair.
    Panic,
    /// Has too many connections.
    Connections,
    /// Waited too long for memory.
    Memory,
    /// There is no room for new ones, whoever they are.
    NoRoom,
    /// The system has no descriptor or memory for new ones.
    NotAccepted,
}

/// Which complaints were made lately.
#[derive(Debug)]
pub struct Complaints {
    clock: Arc<dyn Clock>,
    made: Mutex<HashMap<(IpAddr, Cause), Made>>,
}

#[derive(Debug)]
struct Made {
    at: Duration,
    since: u64,
}

impl Complaints {
    /// None yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, made: Mutex::default() }
    }

    /// Logs that the connection of `peer` is closed and why.
    pub fn closed(&self, peer: SocketAddr, cause: Cause, why: &dyn std::fmt::Display) {
        match self.admit(peer.ip(), cause) {
            Some(unlogged) if cause == Cause::Panic => {
                tracing::error!(%peer, unlogged, "connection closed: {why}");
            }
            Some(0) => tracing::warn!(%peer, "connection closed: {why}"),
            Some(unlogged) => tracing::warn!(%peer, unlogged, "connection closed: {why}"),
            None => tracing::debug!(%peer, "connection closed: {why}"),
        }
    }

    /// Logs that connections are not accepted for now and why.
    pub fn waiting(&self, cause: Cause, why: &dyn std::fmt::Display) {
        const ANYBODY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
        match self.admit(ANYBODY, cause) {
            Some(0) => tracing::error!("{why}"),
            Some(unlogged) => tracing::error!(unlogged, "{why}"),
            None => tracing::debug!("{why}"),
        }
    }

    /// Whether to log, and how many of the kind were not since the last time.
    fn admit(&self, address: IpAddr, cause: Cause) -> Option<u64> {
        let now = self.clock.monotonic();
        let mut made = self.made.lock();
        if let Some(last) = made.get_mut(&(address, cause)) {
            if now.saturating_sub(last.at) < REPEATED_AFTER {
                last.since += 1;
                return None;
            }
            last.at = now;
            return Some(std::mem::take(&mut last.since));
        }
        if made.len() >= REMEMBERED_MAX {
            made.retain(|_, last| now.saturating_sub(last.at) < REPEATED_AFTER);
        }
        if made.len() >= REMEMBERED_MAX {
            return None;
        }
        made.insert((address, cause), Made { at: now, since: 0 });
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::ManualClock;
    use crate::types::Timestamp;

    #[test]
    fn the_same_cause_of_the_same_peer_is_logged_once_in_a_while() {
        let clock = Arc::new(ManualClock::new(Timestamp::new(0)));
        let complaints = Complaints::new(clock.clone());
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        assert_eq!(complaints.admit(one, Cause::Http), Some(0));
        assert_eq!(complaints.admit(one, Cause::Http), None);
        assert_eq!(complaints.admit(one, Cause::Request(3)), Some(0));
        assert_eq!(complaints.admit(other, Cause::Http), Some(0));
        clock.advance_ms(60_000);
        assert_eq!(complaints.admit(one, Cause::Http), Some(1));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let complaints = Complaints::new(Arc::new(ManualClock::new(Timestamp::new(0))));
        for i in 0..10_000_u32 {
            complaints.admit(IpAddr::from(i.to_be_bytes()), Cause::Http);
        }
        assert_eq!(complaints.made.lock().len(), REMEMBERED_MAX);
    }
}
