//! One session: the partitions that the client and the broker both know of, in the order in which they are served.

use std::collections::HashMap;
use std::time::Duration;

use super::{Answer, MustSend, SessionAsk, SessionPartition, next_epoch};
use crate::types::Offset;

/// What the broker remembers for one client.
#[derive(Debug)]
pub(super) struct Session {
    /// Its id; set by the cache.
    pub(super) id: i32,
    /// Epoch that the next request must carry.
    pub(super) epoch: i32,
    pub(super) uses_topic_ids: bool,
    pub(super) created: Duration,
    pub(super) last_used: Duration,
    /// Places in `cached`; partitions that were sent records go to the end, so that a small limit starves nobody.
    order: Vec<u32>,
    places: HashMap<SessionPartition, u32>,
    cached: Vec<Option<Cached>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Cached {
    partition: SessionPartition,
    ask: SessionAsk,
    /// As last sent; −1 before.
    high_watermark: Offset,
    log_start: Offset,
}

impl Session {
    /// The session of a full fetch that was answered with `answers`.
    pub(super) fn new(
        partitions: Vec<(SessionPartition, SessionAsk)>,
        answers: &[Answer],
        uses_topic_ids: bool,
        now: Duration,
    ) -> Self {
        let mut session = Self {
            id: super::NO_SESSION,
            epoch: next_epoch(super::INITIAL_EPOCH),
            uses_topic_ids,
            created: now,
            last_used: now,
            order: Vec::with_capacity(partitions.len()),
            places: HashMap::with_capacity(partitions.len()),
            cached: Vec::with_capacity(partitions.len()),
            free: Vec::new(),
        };
        for ((partition, ask), answer) in partitions.into_iter().zip(answers) {
            session.set(partition, ask, answer.high_watermark, answer.log_start);
        }
        session
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn touch(&mut self, now: Duration) {
        self.last_used = now;
    }

    /// Applies the changes that a request brings.
    pub(super) fn update(
        &mut self,
        asked: &[(SessionPartition, SessionAsk)],
        forgotten: &[SessionPartition],
    ) {
        for (partition, ask) in asked {
            match self.places.get(partition) {
                Some(&place) => {
                    if let Some(cached) = &mut self.cached[place as usize] {
                        cached.ask = *ask;
                    }
                }
                None => self.set(partition.clone(), *ask, Offset::NONE, Offset::NONE),
            }
        }
        self.forget(forgotten);
    }

    /// What to read, in order.
    pub(super) fn asks(&self) -> Vec<(SessionPartition, SessionAsk)> {
        let cached = self.order.iter().filter_map(|&place| self.cached[place as usize].as_ref());
        cached.map(|cached| (cached.partition.clone(), cached.ask)).collect()
    }

    /// Which answers are new to the client; remembers them as sent.
    pub(super) fn take_note(
        &mut self,
        partitions: &[(SessionPartition, SessionAsk)],
        answers: &[Answer],
    ) -> Vec<bool> {
        let mut served = Vec::new();
        let mut included = Vec::with_capacity(answers.len());
        for ((partition, _), answer) in partitions.iter().zip(answers) {
            let place = self.places.get(partition).copied();
            let cached = place.and_then(|place| self.cached[place as usize].as_mut());
            included.push(cached.is_some_and(|cached| cached.is_new(answer)));
            if let Some(place) = place.filter(|_| answer.bytes > 0) {
                served.push(place);
            }
        }
        self.move_to_end(&served);
        included
    }

    fn set(
        &mut self,
        partition: SessionPartition,
        ask: SessionAsk,
        high_watermark: Offset,
        log_start: Offset,
    ) {
        let cached = Cached { partition: partition.clone(), ask, high_watermark, log_start };
        if let Some(&place) = self.places.get(&partition) {
            self.cached[place as usize] = Some(cached);
            return;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.cached.push(None);
            // A request holds far fewer partitions: each costs tens of bytes in a frame that is capped.
            u32::try_from(self.cached.len() - 1).expect("fewer than 2^32 partitions in a session")
        });
        self.cached[place as usize] = Some(cached);
        self.places.insert(partition, place);
        self.order.push(place);
    }

    fn forget(&mut self, forgotten: &[SessionPartition]) {
        let places: Vec<u32> = forgotten.iter().filter_map(|p| self.places.remove(p)).collect();
        for &place in &places {
            self.cached[place as usize] = None;
        }
        if !places.is_empty() {
            let cached = &self.cached;
            self.order.retain(|&place| cached[place as usize].is_some());
            self.free.extend(places);
        }
    }

    fn move_to_end(&mut self, served: &[u32]) {
        if served.is_empty() || served.len() == self.order.len() {
            return;
        }
        let mut is_served = vec![false; self.cached.len()];
        for &place in served {
            is_served[place as usize] = true;
        }
        self.order.retain(|&place| !is_served[place as usize]);
        self.order.extend_from_slice(served);
    }
}

impl Cached {
    /// Kafka's `maybeUpdateResponseData`.
    fn is_new(&mut self, answer: &Answer) -> bool {
        let moved =
            self.high_watermark != answer.high_watermark || self.log_start != answer.log_start;
        self.high_watermark = answer.high_watermark;
        self.log_start = answer.log_start;
        if answer.must_send == MustSend::Error {
            // Differs from whatever comes when the error is gone.
            self.high_watermark = Offset::NONE;
        }
        moved || answer.bytes > 0 || answer.must_send != MustSend::IfNew
    }
}
