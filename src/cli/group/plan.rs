//! Where a reset takes a partition: a pure function.

use std::fmt;

use crate::types::{Offset, PartitionIndex};

/// What a reset aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The first record there is.
    Earliest,
    /// The end.
    Latest,
    /// This offset.
    Offset(i64),
    /// What is committed, so many records further on, or back.
    Shift(i64),
    /// What is committed; the end where nothing is.
    Current,
    /// The first record at or after a time, `None` if there is none.
    FirstSince(Option<Offset>),
}

/// What is known of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Topic.
    pub(super) topic: String,
    /// Partition.
    pub(super) partition: PartitionIndex,
    /// First offset there is.
    pub(super) first: Offset,
    /// End of the log.
    pub(super) end: Offset,
    /// What the group has committed.
    pub(super) committed: Option<Offset>,
}

/// A partition and where it is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// Topic and partition, and what is committed now.
    pub(super) place: Place,
    /// The new offset, within the log.
    pub(super) offset: Offset,
    /// What a person should know about it.
    pub(super) warning: Option<Warning>,
}

/// Why the new offset is another one than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Warning {
    /// It lies before the first record, which is taken.
    BeforeFirst(i64),
    /// It lies beyond the end, which is taken.
    BeyondEnd(i64),
    /// There is no record since the time asked for; the end is taken.
    NoneSince,
    /// Nothing is committed; the end is taken.
    NoneCommitted,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeforeFirst(offset) => write!(f, "{offset} is before the first record"),
            Self::BeyondEnd(offset) => write!(f, "{offset} is beyond the end"),
            Self::NoneSince => f.write_str("no record since then: the end"),
            Self::NoneCommitted => f.write_str("nothing is committed: the end"),
        }
    }
}

/// A partition cannot be shifted from where it is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{topic}-{partition} cannot be shifted: the group has committed no offset for it")]
pub(super) struct NothingToShift {
    topic: String,
    partition: PartitionIndex,
}

/// Where `target` takes a partition.
pub(super) fn plan(place: Place, target: Target) -> Result<Planned, NothingToShift> {
    let end = |warning| (place.end.get(), Some(warning));
    let (wanted, warning) = match target {
        Target::Earliest => (place.first.get(), None),
        Target::Latest => (place.end.get(), None),
        Target::Offset(offset) => (offset, None),
        Target::Shift(by) => match place.committed {
            Some(committed) => (committed.get().saturating_add(by), None),
            None => {
                let Place { topic, partition, .. } = place;
                return Err(NothingToShift { topic, partition });
            }
        },
        Target::Current => match place.committed {
            Some(committed) => (committed.get(), None),
            None => end(Warning::NoneCommitted),
        },
        Target::FirstSince(Some(offset)) => (offset.get(), None),
        Target::FirstSince(None) => end(Warning::NoneSince),
    };
    let (offset, clamped) = clamp(&place, wanted);
    Ok(Planned { place, offset, warning: warning.or(clamped) })
}

fn clamp(place: &Place, wanted: i64) -> (Offset, Option<Warning>) {
    if wanted < place.first.get() {
        return (place.first, Some(Warning::BeforeFirst(wanted)));
    }
    if wanted > place.end.get() {
        return (place.end, Some(Warning::BeyondEnd(wanted)));
    }
    (Offset::new(wanted), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records 10 to 19.
    fn place(committed: Option<i64>) -> Place {
        Place {
            topic: "t".to_owned(),
            partition: PartitionIndex::new(3),
            first: Offset::new(10),
            end: Offset::new(20),
            committed: committed.map(Offset::new),
        }
    }

    fn planned(committed: Option<i64>, target: Target) -> (i64, Option<Warning>) {
        let planned = plan(place(committed), target).unwrap();
        assert_eq!(planned.place, place(committed));
        (planned.offset.get(), planned.warning)
    }

    #[test]
    fn the_ends_are_those_of_the_log() {
        for committed in [None, Some(0), Some(15), Some(99)] {
            assert_eq!(planned(committed, Target::Earliest), (10, None));
            assert_eq!(planned(committed, Target::Latest), (20, None));
        }
    }

    #[test]
    fn an_offset_within_the_log_is_taken_as_it_is() {
        for offset in 10..=20 {
            assert_eq!(planned(None, Target::Offset(offset)), (offset, None));
        }
    }

    #[test]
    fn an_offset_outside_the_log_is_clamped_and_said_to_be() {
        for (offset, expected, warning) in [
            (9, 10, Warning::BeforeFirst(9)),
            (-1, 10, Warning::BeforeFirst(-1)),
            (i64::MIN, 10, Warning::BeforeFirst(i64::MIN)),
            (21, 20, Warning::BeyondEnd(21)),
            (i64::MAX, 20, Warning::BeyondEnd(i64::MAX)),
        ] {
            assert_eq!(planned(None, Target::Offset(offset)), (expected, Some(warning)));
        }
    }

    #[test]
    fn a_shift_counts_from_what_is_committed() {
        assert_eq!(planned(Some(15), Target::Shift(3)), (18, None));
        assert_eq!(planned(Some(15), Target::Shift(-5)), (10, None));
        assert_eq!(planned(Some(15), Target::Shift(0)), (15, None));
        let before = Warning::BeforeFirst(9);
        assert_eq!(planned(Some(15), Target::Shift(-6)), (10, Some(before)));
        assert_eq!(planned(Some(15), Target::Shift(6)), (20, Some(Warning::BeyondEnd(21))));
        let beyond = Warning::BeyondEnd(i64::MAX);
        assert_eq!(planned(Some(15), Target::Shift(i64::MAX)), (20, Some(beyond)));
        let before = Warning::BeforeFirst(i64::MIN + 15);
        assert_eq!(planned(Some(15), Target::Shift(i64::MIN)), (10, Some(before)));
    }

    #[test]
    fn nothing_committed_cannot_be_shifted() {
        let error = plan(place(None), Target::Shift(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "t-3 cannot be shifted: the group has committed no offset for it"
        );
    }

    #[test]
    fn the_current_offset_stays_unless_the_log_has_left_it_behind() {
        assert_eq!(planned(Some(15), Target::Current), (15, None));
        assert_eq!(planned(Some(5), Target::Current), (10, Some(Warning::BeforeFirst(5))));
        assert_eq!(planned(Some(25), Target::Current), (20, Some(Warning::BeyondEnd(25))));
        assert_eq!(planned(None, Target::Current), (20, Some(Warning::NoneCommitted)));
    }

    #[test]
    fn a_time_after_the_last_record_means_the_end() {
        let at = |offset| Target::FirstSince(Some(Offset::new(offset)));
        assert_eq!(planned(Some(15), at(12)), (12, None));
        assert_eq!(planned(Some(15), Target::FirstSince(None)), (20, Some(Warning::NoneSince)));
    }

    #[test]
    fn an_empty_log_has_one_place_to_go() {
        let empty = Place { first: Offset::new(7), end: Offset::new(7), ..place(Some(7)) };
        for target in [Target::Earliest, Target::Latest, Target::Current, Target::Shift(-1)] {
            assert_eq!(plan(empty.clone(), target).unwrap().offset, Offset::new(7), "{target:?}");
        }
    }
}
