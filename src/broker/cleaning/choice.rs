//! Which log to clean next: of those that are due one that is overdue, else the dirtiest. Pure.

use std::cmp::Ordering;

use crate::log::compaction::Assessment;

/// Number of the log to clean first.
pub(super) fn first(assessments: &[Assessment]) -> Option<usize> {
    let numbered = assessments.iter().enumerate();
    numbered.max_by(|(_, a), (_, b)| urgency(a, b)).map(|(number, _)| number)
}

fn urgency(a: &Assessment, b: &Assessment) -> Ordering {
    let overdue = |assessment: &Assessment| assessment.overdue_ms > 0;
    overdue(a).cmp(&overdue(b)).then(a.dirty_ratio().total_cmp(&b.dirty_ratio()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::compaction::DirtyRange;
    use crate::types::Offset;

    fn assessment(clean_bytes: u64, cleanable_bytes: u64, overdue_ms: i64) -> Assessment {
        Assessment {
            range: DirtyRange { from: Offset::ZERO, to: Offset::ZERO },
            clean_bytes,
            cleanable_bytes,
            overdue_ms,
            checkpoint_invalid: false,
            next_look: None,
            waits_for_settled: false,
        }
    }

    #[test]
    fn the_dirtiest_goes_first_and_overdue_ones_before_it() {
        let half = assessment(50, 50, 0);
        let most = assessment(10, 90, 0);
        let late = assessment(90, 10, 5);
        assert_eq!(first(&[half, most]), Some(1));
        assert_eq!(first(&[most, half]), Some(0));
        assert_eq!(first(&[late, most, half]), Some(0));
        assert_eq!(first(&[]), None);
    }
}
