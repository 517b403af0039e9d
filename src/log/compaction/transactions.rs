//! Which transactions are open while the cleaner goes through a log from its start (Kafka's `CleanedTransactionMetadata`).
//!
//! Everything below the last stable offset is decided, and the transaction indexes tell ahead which data was aborted: it goes at
//! once. A marker may go once nothing of its transaction is left in front of it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::log::batch::BatchHeader;
use crate::log::format::aborted_index::AbortedEntry;
use crate::log::producers::EndMarker;
use crate::types::{Offset, Outcome, ProducerId};

/// The state at one place of the log.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    committed: HashSet<ProducerId>,
    aborted: HashMap<ProducerId, Aborted>,
    /// Those that begin further on, the first on top.
    coming: BinaryHeap<Reverse<Coming>>,
}

#[derive(Debug)]
struct Aborted {
    entry: AbortedEntry,
    /// There is a batch of it in front of the marker.
    has_data: bool,
}

/// Ordered by first offset.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Coming {
    first_offset: Offset,
    last_offset: Offset,
    producer_id: ProducerId,
    last_stable_offset: Offset,
}

/// What becomes of a control batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkerFate {
    /// Data of its transaction is there.
    Needed,
    /// As `Needed`, and the abort belongs into the transaction index.
    NeededAbort(AbortedEntry),
    /// It may go once its delete horizon has passed.
    Unneeded,
}

impl Transactions {
    /// Aborted transactions whose data may follow. One that several segments announce begins once: what they announce again
    /// is looked at in front of its marker, while it is open.
    pub(super) fn announce(&mut self, entries: impl IntoIterator<Item = AbortedEntry>) {
        for entry in entries {
            self.coming.push(Reverse(Coming {
                first_offset: entry.first_offset,
                last_offset: entry.last_offset,
                producer_id: entry.producer_id,
                last_stable_offset: entry.last_stable_offset,
            }));
        }
    }

    /// Passes a batch of data; true if it was aborted.
    pub(super) fn pass_data(&mut self, header: &BatchHeader) -> bool {
        self.begin_up_to(header.last_offset());
        if !header.is_transactional() {
            return false;
        }
        match self.aborted.get_mut(&header.producer_id) {
            Some(aborted) => {
                aborted.has_data = true;
                true
            }
            None => {
                self.committed.insert(header.producer_id);
                false
            }
        }
    }

    /// Passes a control batch; `marker` is what it says.
    pub(super) fn pass_control(
        &mut self,
        header: &BatchHeader,
        marker: Option<EndMarker>,
    ) -> MarkerFate {
        self.begin_up_to(header.last_offset());
        let outcome = marker.map(|marker| marker.outcome);
        match outcome {
            Some(Outcome::Abort) => match self.aborted.remove(&header.producer_id) {
                Some(Aborted { entry, has_data: true }) => MarkerFate::NeededAbort(entry),
                _ => MarkerFate::Unneeded,
            },
            Some(Outcome::Commit) if self.committed.remove(&header.producer_id) => {
                MarkerFate::Needed
            }
            Some(Outcome::Commit) => MarkerFate::Unneeded,
            // Cleaned before, kept for its producer.
            None if header.records_count == 0 => MarkerFate::Unneeded,
            None => MarkerFate::Needed,
        }
    }

    fn begin_up_to(&mut self, offset: Offset) {
        while let Some(Reverse(next)) = self.coming.peek()
            && next.first_offset <= offset
            && let Some(Reverse(next)) = self.coming.pop()
        {
            let entry = AbortedEntry {
                producer_id: next.producer_id,
                first_offset: next.first_offset,
                last_offset: next.last_offset,
                last_stable_offset: next.last_stable_offset,
            };
            self.aborted.entry(next.producer_id).or_insert(Aborted { entry, has_data: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::test_bytes::{COMMIT_MARKER, from_hex};

    fn header(producer: i64, offset: i64, transactional: bool) -> BatchHeader {
        let marker = BatchHeader::parse(&from_hex(COMMIT_MARKER)).expect("a header");
        BatchHeader {
            base_offset: Offset::new(offset),
            producer_id: ProducerId::new(producer),
            attributes: if transactional { 0x10 } else { 0 },
            ..marker
        }
    }

    fn aborted(producer: i64, first: i64, last: i64) -> AbortedEntry {
        AbortedEntry {
            producer_id: ProducerId::new(producer),
            first_offset: Offset::new(first),
            last_offset: Offset::new(last),
            last_stable_offset: Offset::new(last + 1),
        }
    }

    const ABORT: Option<EndMarker> =
        Some(EndMarker { outcome: Outcome::Abort, coordinator_epoch: 0 });
    const COMMIT: Option<EndMarker> =
        Some(EndMarker { outcome: Outcome::Commit, coordinator_epoch: 0 });

    #[test]
    fn aborted_data_is_known_from_its_first_offset_to_its_marker() {
        let mut open = Transactions::default();
        open.announce([aborted(1, 10, 30)]);
        assert!(!open.pass_data(&header(1, 5, true)), "an earlier transaction of the producer");
        assert_eq!(open.pass_control(&header(1, 6, true), COMMIT), MarkerFate::Needed);
        assert!(open.pass_data(&header(1, 10, true)));
        assert!(!open.pass_data(&header(2, 11, true)), "another producer");
        assert!(!open.pass_data(&header(1, 12, false)), "no part of a transaction");
        let fate = open.pass_control(&header(1, 30, true), ABORT);
        assert_eq!(fate, MarkerFate::NeededAbort(aborted(1, 10, 30)));
        assert!(!open.pass_data(&header(1, 31, true)), "the next one");
    }

    #[test]
    fn markers_without_data_in_front_of_them_are_not_needed() {
        let mut open = Transactions::default();
        open.announce([aborted(1, 10, 30)]);
        assert_eq!(open.pass_control(&header(1, 30, true), ABORT), MarkerFate::Unneeded);
        assert_eq!(open.pass_control(&header(2, 31, true), COMMIT), MarkerFate::Unneeded);
        let emptied = BatchHeader { records_count: 0, ..header(3, 32, true) };
        assert_eq!(open.pass_control(&emptied, None), MarkerFate::Unneeded);
        assert_eq!(open.pass_control(&header(3, 33, true), None), MarkerFate::Needed);
    }

    #[test]
    fn a_transaction_within_a_longer_one_of_another_producer_is_known() {
        let mut open = Transactions::default();
        open.announce([aborted(1, 5, 60)]);
        assert!(open.pass_data(&header(1, 5, true)));
        open.announce([aborted(2, 36, 50), aborted(1, 5, 60)]);
        assert!(open.pass_data(&header(2, 36, true)));
        let fate = open.pass_control(&header(2, 50, true), ABORT);
        assert_eq!(fate, MarkerFate::NeededAbort(aborted(2, 36, 50)));
        let fate = open.pass_control(&header(1, 60, true), ABORT);
        assert_eq!(fate, MarkerFate::NeededAbort(aborted(1, 5, 60)));
    }

    #[test]
    fn a_transaction_that_several_segments_announce_begins_once() {
        let mut open = Transactions::default();
        open.announce([aborted(1, 10, 30)]);
        assert!(open.pass_data(&header(1, 10, true)));
        open.announce([aborted(1, 10, 30), aborted(1, 40, 50)]);
        open.pass_control(&header(1, 30, true), ABORT);
        assert!(!open.pass_data(&header(1, 31, true)));
        assert!(open.pass_data(&header(1, 40, true)));
    }
}
