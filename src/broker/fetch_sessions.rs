//! Incremental fetch sessions (KIP-227; Kafka's `FetchSession.scala`).
//!
//! A client that fetches the same partitions again and again tells them once: the broker remembers them in a session, the
//! client sends changes and gets back what is new. A fetch begins with [`FetchSessions::begin`], which says what to read, and
//! ends with [`SessionFetch::finish`], which says what to send.
//!
//! The cache holds a limited number of sessions. A full one gives a place away if its least used session has not been used for
//! two minutes, or if one that is older than that is smaller than the new one; else the client goes without a session.
//!
//! Locks: the cache for begin and finish, each session for itself; both only for the moment, never across a read.

mod cache;
mod session;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use self::cache::SessionCache;
use self::session::Session;
use crate::env::Random;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicId};

/// Id of "no session".
pub const NO_SESSION: i32 = 0;
const INITIAL_EPOCH: i32 = 0;
const FINAL_EPOCH: i32 = -1;

/// A topic as the client names it: by id from Fetch v13 on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SessionTopic {
    /// By name.
    Name(Arc<str>),
    /// By id.
    Id(TopicId),
}

/// A partition as the client names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionPartition {
    /// Its topic.
    pub topic: SessionTopic,
    /// Its number.
    pub partition: PartitionIndex,
}

/// What a client wants from a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionAsk {
    /// First offset wanted.
    pub offset: Offset,
    /// Epoch that the client believes in; −1 for none.
    pub current_leader_epoch: LeaderEpoch,
    /// Epoch of the last record that the client has; −1 for none.
    pub last_fetched_epoch: LeaderEpoch,
    /// Most bytes.
    pub bytes_max: i32,
}

/// The session part of a Fetch request.
#[derive(Clone, Debug)]
pub struct SessionRequest {
    /// 0 for none.
    pub session_id: i32,
    /// 0 for a full fetch that may open a session, −1 for one that closes it, else the next epoch of the session.
    pub epoch: i32,
    /// The request names topics by id.
    pub uses_topic_ids: bool,
    /// Partitions asked for, or changed in the session.
    pub asked: Vec<(SessionPartition, SessionAsk)>,
    /// Partitions that leave the session.
    pub forgotten: Vec<SessionPartition>,
}

/// Why a request does not fit its session; the response carries the error and no topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// FETCH_SESSION_ID_NOT_FOUND: never there, or evicted.
    #[error("there is no such fetch session")]
    NotFound,
    /// INVALID_FETCH_SESSION_EPOCH: a request was lost or repeated.
    #[error("the fetch session is at another epoch")]
    WrongEpoch,
    /// FETCH_SESSION_TOPIC_ID_ERROR: names and ids in one session.
    #[error("the fetch session names topics differently")]
    TopicIds,
}

/// What decides whether a partition is new to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Bytes of records.
    pub bytes: usize,
    /// High watermark; −1 with an error.
    pub high_watermark: Offset,
    /// Log start; −1 with an error.
    pub log_start: Offset,
    /// An error or a diverging epoch: always sent.
    pub must_send: MustSend,
}

/// Whether an answer is sent whatever the client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MustSend {
    /// Only if it is new.
    IfNew,
    /// The client's log diverges.
    Diverging,
    /// An error; what the client knows is forgotten, so that the partition is sent again when the error is gone.
    Error,
}

/// All sessions of a broker.
#[derive(Debug)]
pub struct FetchSessions {
    cache: Mutex<SessionCache>,
}

/// A fetch on its way.
#[derive(Debug)]
pub struct SessionFetch {
    /// What to read, in order.
    pub partitions: Vec<(SessionPartition, SessionAsk)>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Sessionless,
    Full { uses_topic_ids: bool },
    Incremental { session: Arc<Mutex<Session>>, epoch: i32 },
}

/// What to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionReply {
    /// Goes into the response; 0 for none.
    pub session_id: i32,
    /// Whether the partition at this place of [`SessionFetch::partitions`] is part of the response.
    pub included: Included,
}

/// Which partitions are part of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Included {
    /// Every one.
    All,
    /// Those marked.
    Marked(Vec<bool>),
}

impl FetchSessions {
    /// A cache of `slots` sessions; 0 turns sessions off.
    pub fn new(slots: usize) -> Self {
        Self { cache: Mutex::new(SessionCache::new(slots)) }
    }

    /// Resolves the session of a request. `now` is monotonic.
    pub fn begin(
        &self,
        request: SessionRequest,
        now: Duration,
    ) -> Result<SessionFetch, SessionError> {
        let full = request.epoch == INITIAL_EPOCH || request.epoch == FINAL_EPOCH;
        if !full {
            return self.begin_incremental(request, now);
        }
        if request.session_id != NO_SESSION {
            self.cache.lock().remove(request.session_id);
        }
        let kind = if request.epoch == FINAL_EPOCH {
            Kind::Sessionless
        } else {
            Kind::Full { uses_topic_ids: request.uses_topic_ids }
        };
        Ok(SessionFetch { partitions: request.asked, kind })
    }

    /// Number of sessions.
    pub fn len(&self) -> usize {
        self.cache.lock().len()
    }

    /// True without any session.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn begin_incremental(
        &self,
        request: SessionRequest,
        now: Duration,
    ) -> Result<SessionFetch, SessionError> {
        let mut cache = self.cache.lock();
        let session = cache.get(request.session_id).ok_or(SessionError::NotFound)?;
        let mut locked = session.lock();
        if locked.epoch != request.epoch {
            return Err(SessionError::WrongEpoch);
        }
        if locked.uses_topic_ids != request.uses_topic_ids {
            return Err(SessionError::TopicIds);
        }
        locked.update(&request.asked, &request.forgotten);
        if locked.is_empty() {
            drop(locked);
            cache.remove(request.session_id);
            return Ok(SessionFetch { partitions: request.asked, kind: Kind::Sessionless });
        }
        locked.touch(now);
        locked.epoch = next_epoch(locked.epoch);
        let (partitions, epoch) = (locked.asks(), locked.epoch);
        drop(locked);
        Ok(SessionFetch { partitions, kind: Kind::Incremental { session, epoch } })
    }
}

impl SessionFetch {
    /// Takes note of what was read: `answers` belongs to `self.partitions`. Opens a session for a full fetch if there is
    /// room. `now` is monotonic.
    pub fn finish(
        self,
        sessions: &FetchSessions,
        answers: &[Answer],
        now: Duration,
        random: &dyn Random,
    ) -> Result<SessionReply, SessionError> {
        debug_assert_eq!(self.partitions.len(), answers.len(), "one answer for each partition");
        match self.kind {
            Kind::Sessionless => {
                Ok(SessionReply { session_id: NO_SESSION, included: Included::All })
            }
            Kind::Full { uses_topic_ids } => {
                let session = Session::new(self.partitions, answers, uses_topic_ids, now);
                let session_id = sessions.cache.lock().insert(session, now, random);
                Ok(SessionReply { session_id, included: Included::All })
            }
            Kind::Incremental { session, epoch } => {
                let mut session = session.lock();
                // Another request of the session has begun meanwhile: this one was given up by its client.
                if session.epoch != epoch {
                    return Err(SessionError::WrongEpoch);
                }
                let included = Included::Marked(session.take_note(&self.partitions, answers));
                Ok(SessionReply { session_id: session.id, included })
            }
        }
    }
}

/// Epochs go from 1 to the largest number and start again at 1.
fn next_epoch(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}

#[cfg(test)]
mod tests;
