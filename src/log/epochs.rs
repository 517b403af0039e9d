//! Which leader epoch wrote which offsets (Kafka's `LeaderEpochFileCache`).
//!
//! Immutable: a change makes a new list, which the view shares with readers.

use super::format::leader_epochs::EpochStart;
use crate::types::{LeaderEpoch, Offset};

/// Epochs with their starts; both rise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Epochs {
    entries: Vec<EpochStart>,
}

impl Epochs {
    /// From a checkpoint, whose decoder has checked that both rise.
    pub(super) fn new(entries: Vec<EpochStart>) -> Self {
        Self { entries }
    }

    pub(super) fn entries(&self) -> &[EpochStart] {
        &self.entries
    }

    pub(super) fn latest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.epoch)
    }

    /// True if `epoch` is newer than all known ones.
    pub(super) fn is_newer(&self, epoch: LeaderEpoch) -> bool {
        epoch > self.latest().unwrap_or(LeaderEpoch::NONE)
    }

    /// With a newer epoch that begins at `start`. Epochs that wrote nothing below it are forgotten.
    pub(super) fn with(&self, epoch: LeaderEpoch, start: Offset) -> Self {
        debug_assert!(self.is_newer(epoch));
        let before = self.entries.iter().filter(|entry| entry.start < start);
        Self { entries: before.copied().chain([EpochStart { epoch, start }]).collect() }
    }

    /// Cut to `start..end`: the epoch that `start` lies in begins there, and epochs that begin at or behind `end` go.
    pub(super) fn cut(&self, start: Offset, end: Offset) -> Self {
        let first = self.entries.partition_point(|entry| entry.start <= start).saturating_sub(1);
        let kept = self.entries.iter().skip(first).filter(|entry| entry.start < end);
        let moved = kept.map(|entry| EpochStart { start: entry.start.max(start), ..*entry });
        Self { entries: moved.collect() }
    }

    /// The epoch that `offset` was written in.
    pub(super) fn at(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.entries.partition_point(|entry| entry.start <= offset);
        after.checked_sub(1).map(|index| self.entries[index].epoch)
    }

    /// End of the largest known epoch at or below `epoch`, with that epoch (Kafka's `endOffsetFor`). For an epoch before the
    /// first known one: itself, and where the first known one begins.
    pub(super) fn end_of(
        &self,
        epoch: LeaderEpoch,
        log_end: Offset,
    ) -> Option<(LeaderEpoch, Offset)> {
        let latest = self.latest()?;
        if epoch == LeaderEpoch::NONE || epoch > latest {
            return None;
        }
        if epoch == latest {
            return Some((latest, log_end));
        }
        let after = self.entries.partition_point(|entry| entry.epoch <= epoch);
        let end = self.entries[after].start;
        let floor = after.checked_sub(1).map_or(epoch, |index| self.entries[index].epoch);
        Some((floor, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(entries: &[(i32, i64)]) -> Epochs {
        let entries = entries.iter().map(|&(epoch, start)| EpochStart {
            epoch: LeaderEpoch::new(epoch),
            start: Offset::new(start),
        });
        Epochs::new(entries.collect())
    }

    fn end_of(epochs: &Epochs, epoch: i32) -> Option<(i32, i64)> {
        let end = epochs.end_of(LeaderEpoch::new(epoch), Offset::new(100));
        end.map(|(epoch, end)| (epoch.get(), end.get()))
    }

    #[test]
    fn end_of_an_epoch_is_where_the_next_known_one_begins() {
        let epochs = epochs(&[(2, 10), (4, 20), (7, 50)]);
        assert_eq!(end_of(&epochs, 1), Some((1, 10)));
        assert_eq!(end_of(&epochs, 2), Some((2, 20)));
        assert_eq!(end_of(&epochs, 5), Some((4, 50)));
        assert_eq!(end_of(&epochs, 7), Some((7, 100)));
        assert_eq!(end_of(&epochs, 8), None);
        assert_eq!(end_of(&Epochs::default(), 0), None);
    }

    #[test]
    fn an_epoch_without_records_is_forgotten_when_the_next_begins() {
        let next = epochs(&[(0, 0), (2, 10)]).with(LeaderEpoch::new(4), Offset::new(10));
        assert_eq!(next, epochs(&[(0, 0), (4, 10)]));
    }

    #[test]
    fn cutting_moves_the_start_of_the_epoch_it_cuts_through() {
        let all = epochs(&[(0, 0), (2, 10), (4, 20)]);
        assert_eq!(all.cut(Offset::new(12), Offset::new(20)), epochs(&[(2, 12)]));
        assert_eq!(all.cut(Offset::new(0), Offset::new(11)), epochs(&[(0, 0), (2, 10)]));
        assert_eq!(all.cut(Offset::new(30), Offset::new(40)), epochs(&[(4, 30)]));
    }
}
