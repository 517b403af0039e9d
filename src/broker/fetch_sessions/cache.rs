//! The bounded set of sessions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::NO_SESSION;
use super::session::Session;
use crate::env::Random;

/// A session that was not used for this long gives its place to any other, and one that is older than this to a larger one
/// (Kafka's `min.incremental.fetch.session.eviction.ms`).
const EVICTION_AGE: Duration = Duration::from_secs(120);

/// Sessions by id, at most `slots`.
#[derive(Debug)]
pub(super) struct SessionCache {
    slots: usize,
    sessions: HashMap<i32, Arc<Mutex<Session>>>,
}

impl SessionCache {
    pub(super) fn new(slots: usize) -> Self {
        Self { slots, sessions: HashMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn get(&self, id: i32) -> Option<Arc<Mutex<Session>>> {
        self.sessions.get(&id).cloned()
    }

    pub(super) fn remove(&mut self, id: i32) {
        self.sessions.remove(&id);
    }

    /// Gives the session a place and an id; 0 if there is no place.
    pub(super) fn insert(
        &mut self,
        mut session: Session,
        now: Duration,
        random: &dyn Random,
    ) -> i32 {
        if self.slots == 0 {
            return NO_SESSION;
        }
        if self.sessions.len() >= self.slots && !self.evict_for(session.len(), now) {
            return NO_SESSION;
        }
        session.id = self.new_id(random);
        let id = session.id;
        self.sessions.insert(id, Arc::new(Mutex::new(session)));
        id
    }

    /// Random, so that a client cannot hit the session of another by counting.
    fn new_id(&self, random: &dyn Random) -> i32 {
        loop {
            let id = (random.next_u64() & 0x7fff_ffff) as i32;
            if id != NO_SESSION && !self.sessions.contains_key(&id) {
                return id;
            }
        }
    }

    /// Makes room for a session of `partitions`. Looks at all sessions, but only when the cache is full.
    fn evict_for(&mut self, partitions: usize, now: Duration) -> bool {
        let mut least_used: Option<(Duration, i32)> = None;
        let mut smallest_old: Option<(usize, i32)> = None;
        for (&id, session) in &self.sessions {
            let session = session.lock();
            let used = (session.last_used, id);
            least_used = Some(least_used.map_or(used, |least| least.min(used)));
            if session.last_used.saturating_sub(session.created) > EVICTION_AGE {
                let size = (session.len(), id);
                smallest_old = Some(smallest_old.map_or(size, |smallest| smallest.min(size)));
            }
        }
        let stale = least_used.filter(|(used, _)| now.saturating_sub(*used) > EVICTION_AGE);
        let smaller = smallest_old.filter(|(size, _)| *size < partitions);
        let victim = stale.map(|(_, id)| id).or(smaller.map(|(_, id)| id));
        victim.is_some_and(|id| self.sessions.remove(&id).is_some())
    }
}
