//! Transactions that have ended, but whose marker consumers do not see yet (Kafka's `ProducerStateManager.unreplicatedTxns`).
//!
//! Where the high watermark follows the disk it may lie between the records of a transaction and its marker. Until the marker is
//! visible as well the last stable offset stays before the records.
//!
//! Owned by the log's appender. Only in memory: a log that was just opened shows everything.

use std::collections::VecDeque;

use crate::types::Offset;

/// In the order of their markers, and of those only the ones that can hold anything back: their first offsets rise as well.
#[derive(Debug, Default)]
pub(super) struct Unseen(VecDeque<Ended>);

#[derive(Debug)]
struct Ended {
    first: Offset,
    marker: Offset,
}

impl Unseen {
    /// A transaction that began at `first` has ended with the marker at `marker`, behind all others.
    pub(super) fn push(&mut self, first: Offset, marker: Offset) {
        // The new one holds back more, and for longer.
        while self.0.pop_back_if(|older| older.first >= first).is_some() {}
        self.0.push_back(Ended { first, marker });
    }

    /// First offset of those whose marker is not below `visible_end`; the others are forgotten.
    pub(super) fn first(&mut self, visible_end: Offset) -> Option<Offset> {
        while self.0.pop_front_if(|oldest| oldest.marker < visible_end).is_some() {}
        self.0.front().map(|oldest| oldest.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unseen(ended: &[(i64, i64)]) -> Unseen {
        let mut unseen = Unseen::default();
        for (first, marker) in ended {
            unseen.push(Offset::new(*first), Offset::new(*marker));
        }
        unseen
    }

    fn firsts(unseen: &mut Unseen, ends: &[i64]) -> Vec<Option<i64>> {
        ends.iter().map(|end| unseen.first(Offset::new(*end)).map(Offset::get)).collect()
    }

    #[test]
    fn each_holds_back_until_its_marker_is_visible() {
        let mut one_by_one = unseen(&[(0, 2), (3, 5), (6, 8)]);
        assert_eq!(
            firsts(&mut one_by_one, &[0, 2, 3, 5, 6, 8, 9]),
            [Some(0), Some(0), Some(3), Some(3), Some(6), Some(6), None]
        );
    }

    #[test]
    fn a_long_one_holds_back_what_ended_within_it() {
        let mut nested = unseen(&[(2, 4), (5, 7), (0, 8)]);
        assert_eq!(nested.0.len(), 1, "the others hold back nothing more");
        assert_eq!(firsts(&mut nested, &[5, 8, 9]), [Some(0), Some(0), None]);
    }
}
