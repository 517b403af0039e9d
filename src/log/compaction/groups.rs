//! Which segments become one: neighbours that together are no larger than a segment may be, so that segments do not shrink to
//! nothing with each cleaning (Kafka's `groupSegmentsBySize`). Pure.

use std::ops::Range;

use crate::config::TopicSettings;
use crate::log::format::{offset_index, time_index};
use crate::log::index::EntryCounts;
use crate::types::Offset;

/// A segment as grouping sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentSize {
    pub(super) base: Offset,
    /// At or above its last offset and one.
    pub(super) end: Offset,
    pub(super) len: u64,
    pub(super) entries: EntryCounts,
}

#[derive(Clone, Copy, Debug)]
struct Sum {
    base: Offset,
    len: u64,
    entries: EntryCounts,
}

/// Ranges of segments, in order and without gaps.
pub(super) fn group(segments: &[SegmentSize], settings: &TopicSettings) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut sum: Option<Sum> = None;
    for (number, segment) in segments.iter().enumerate() {
        match (&mut sum, groups.last_mut()) {
            (Some(sum), Some(group)) if fits(sum, segment, settings) => {
                group.end = number + 1;
                sum.len += segment.len;
                sum.entries.offsets += segment.entries.offsets;
                sum.entries.times += segment.entries.times;
            }
            _ => {
                groups.push(number..number + 1);
                sum = Some(Sum { base: segment.base, len: segment.len, entries: segment.entries });
            }
        }
    }
    groups
}

fn fits(sum: &Sum, next: &SegmentSize, settings: &TopicSettings) -> bool {
    let segment_bytes = u64::try_from(settings.segment_bytes).unwrap_or(0);
    let index_bytes = usize::try_from(settings.segment_index_bytes).unwrap_or(0);
    let offsets = sum.entries.offsets + next.entries.offsets;
    let times = sum.entries.times + next.entries.times;
    let reach = next.end.get() - 1 - sum.base.get();
    sum.len + next.len <= segment_bytes
        && offsets * offset_index::ENTRY_LEN <= index_bytes
        && times * time_index::ENTRY_LEN <= index_bytes
        // Nothing to be found needs no entry.
        && (next.len == 0 || reach <= i64::from(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(base: i64, end: i64, len: u64) -> SegmentSize {
        let (base, end) = (Offset::new(base), Offset::new(end));
        SegmentSize { base, end, len, entries: EntryCounts { offsets: 2, times: 3 } }
    }

    fn settings(segment_bytes: i32, segment_index_bytes: i32) -> TopicSettings {
        TopicSettings { segment_bytes, segment_index_bytes, ..TopicSettings::default() }
    }

    /// Where the groups end; each begins where the one before it ends.
    fn ends(segments: &[SegmentSize], settings: &TopicSettings) -> Vec<usize> {
        let groups = group(segments, settings);
        let starts = [0].into_iter().chain(groups.iter().map(|group| group.end));
        assert!(groups.iter().map(|group| group.start).eq(starts.take(groups.len())));
        groups.iter().map(|group| group.end).collect()
    }

    #[test]
    fn neighbours_join_up_to_the_size_of_a_segment() {
        let segments = [segment(0, 10, 40), segment(10, 20, 60), segment(20, 30, 1)];
        assert_eq!(ends(&segments, &settings(100, 1000)), [2, 3]);
        assert_eq!(ends(&segments, &settings(101, 1000)), [3]);
        assert_eq!(ends(&segments, &settings(10, 1000)), [1, 2, 3], "each has its place");
        assert!(group(&[], &settings(10, 1000)).is_empty());
    }

    #[test]
    fn the_indexes_of_a_group_fit_one_segment() {
        let segments = [segment(0, 10, 1), segment(10, 20, 1), segment(20, 30, 1)];
        assert_eq!(ends(&segments, &settings(100, 3 * 3 * 12)), [3]);
        assert_eq!(ends(&segments, &settings(100, 3 * 3 * 12 - 1)), [2, 3]);
        assert_eq!(ends(&segments, &settings(100, 2 * 3 * 12 - 1)), [1, 2, 3]);
    }

    #[test]
    fn offsets_of_a_group_fit_its_index() {
        let far = i64::from(i32::MAX);
        let fits = [segment(0, 10, 1), segment(10, far + 1, 1)];
        assert_eq!(ends(&fits, &settings(100, 1000)), [2]);
        let too_far = [segment(0, 10, 1), segment(10, far + 2, 1)];
        assert_eq!(ends(&too_far, &settings(100, 1000)), [1, 2]);
        let empty = [segment(0, 10, 1), segment(10, far + 2, 0)];
        assert_eq!(ends(&empty, &settings(100, 1000)), [2]);
    }
}
