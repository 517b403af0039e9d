//! Members that were given an id (KIP-394) and have not come back with it, the oldest first.
//!
//! Each is forgotten after its session time-out. Kafka hands out ids without bound until then; here a group holds so many at most,
//! and the oldest makes way. Its client, if there is one, is told that nobody knows the id and asks for another.

use std::collections::{BTreeMap, HashMap};

use crate::coordinator::MemberId;

/// Ids that a group has given out and waits for, at most. With its timer one takes about 300 bytes.
pub(super) const PENDING_MAX: usize = 10_000;

/// The pending members of a group.
#[derive(Debug, Default)]
pub(super) struct PendingMembers {
    numbers: HashMap<MemberId, u64>,
    by_age: BTreeMap<u64, MemberId>,
    next_number: u64,
}

impl PendingMembers {
    /// Adds one that is new. If there are too many now, the oldest is taken out and returned.
    pub(super) fn add(&mut self, id: MemberId) -> Option<MemberId> {
        self.numbers.insert(id.clone(), self.next_number);
        self.by_age.insert(self.next_number, id);
        self.next_number += 1;
        if self.numbers.len() <= PENDING_MAX {
            return None;
        }
        let (_, oldest) = self.by_age.pop_first()?;
        self.numbers.remove(&oldest);
        Some(oldest)
    }

    /// True if it was there.
    pub(super) fn remove(&mut self, id: &MemberId) -> bool {
        let number = self.numbers.remove(id);
        number.is_some_and(|number| self.by_age.remove(&number).is_some())
    }

    pub(super) fn get(&self, id: &str) -> Option<&MemberId> {
        self.numbers.get_key_value(id).map(|(id, _)| id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &MemberId> {
        self.by_age.values()
    }
}
