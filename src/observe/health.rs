//! Whether the broker lives and serves.

use std::path::PathBuf;

use parking_lot::Mutex;

/// What the broker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It opens its files.
    Starting,
    /// It serves.
    Ready,
    /// It finishes what it has begun.
    Stopping,
}

/// A log directory that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfflineDirectory {
    /// Which.
    pub path: PathBuf,
    /// What the system said.
    pub reason: String,
}

/// The state of one broker, for probes. Asked and changed rarely, so it sits under one lock.
#[derive(Debug)]
pub struct Health(Mutex<State>);

#[derive(Debug)]
struct State {
    phase: Phase,
    offline: Vec<OfflineDirectory>,
}

impl Default for Health {
    fn default() -> Self {
        Self(Mutex::new(State { phase: Phase::Starting, offline: Vec::new() }))
    }
}

impl Health {
    /// What the broker is doing.
    pub fn phase(&self) -> Phase {
        self.0.lock().phase
    }

    /// Enters a phase. A broker that stops does not become ready again.
    pub fn enter(&self, phase: Phase) {
        let mut state = self.0.lock();
        if state.phase != Phase::Stopping {
            state.phase = phase;
        }
    }

    /// Notes that a log directory failed; once for each.
    pub fn directory_failed(&self, path: PathBuf, reason: String) {
        let mut state = self.0.lock();
        if !state.offline.iter().any(|known| known.path == path) {
            state.offline.push(OfflineDirectory { path, reason });
        }
    }

    /// The log directories that failed.
    pub fn offline(&self) -> Vec<OfflineDirectory> {
        self.0.lock().offline.clone()
    }

    /// Why the process should be replaced; `None` while it is healthy.
    pub fn why_unhealthy(&self) -> Option<String> {
        let state = self.0.lock();
        let failed = state.offline.first()?;
        Some(format!("log directory {} is offline: {}", failed.path.display(), failed.reason))
    }

    /// Why no traffic should be sent here; `None` while there should.
    pub fn why_not_ready(&self) -> Option<String> {
        match self.phase() {
            Phase::Starting => Some("starting".to_owned()),
            Phase::Stopping => Some("stopping".to_owned()),
            Phase::Ready => self.why_unhealthy(),
        }
    }
}
