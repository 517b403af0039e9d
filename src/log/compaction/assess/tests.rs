use super::*;

/// Segments of ten offsets each, from 0 on: length, largest timestamp, timestamp of the first batch.
fn facts(segments: &[(u64, i64, i64)]) -> Vec<SegmentFacts> {
    let numbered = (0..).zip(segments);
    numbered
        .map(|(number, &(len, largest, first_batch))| SegmentFacts {
            base: Offset::new(number * 10),
            end: Offset::new(number * 10 + 10),
            len,
            largest: Timestamp::new(largest),
            first_batch: Timestamp::new(first_batch),
        })
        .collect()
}

fn plan(
    segments: &[(u64, i64, i64)],
    from: i64,
    settled: i64,
    settings: &TopicSettings,
) -> Assessment {
    let facts = facts(segments);
    let standing =
        Standing { checkpoint: None, settled: Offset::new(settled), now: Timestamp::new(10_000) };
    let active_base = Offset::new(segments.len() as i64 * 10);
    let from = Offset::new(from);
    Plan { facts: &facts, active_base, settings, standing: &standing, from }.make()
}

fn settings(ratio: f64, min_lag: i64, max_lag: i64) -> TopicSettings {
    TopicSettings {
        min_cleanable_dirty_ratio: ratio,
        min_compaction_lag_ms: min_lag,
        max_compaction_lag_ms: max_lag,
        ..TopicSettings::default()
    }
}

const THREE: [(u64, i64, i64); 3] = [(100, 1_000, 900), (50, 2_000, 1_900), (50, 3_000, 2_900)];

fn range(from: i64, to: i64) -> DirtyRange {
    DirtyRange { from: Offset::new(from), to: Offset::new(to) }
}

#[test]
fn everything_sealed_is_dirty_at_first() {
    let settings = settings(0.5, 0, i64::MAX);
    let found = plan(&THREE, 0, 100, &settings);
    assert_eq!((found.range, found.clean_bytes, found.cleanable_bytes), (range(0, 30), 0, 200));
    assert!(found.is_due(&settings));
    assert_eq!((found.next_look, found.waits_for_settled), (None, false));
}

#[test]
fn the_share_of_dirty_bytes_must_exceed_the_ratio() {
    let found = plan(&THREE, 10, 100, &settings(0.5, 0, i64::MAX));
    assert_eq!((found.clean_bytes, found.cleanable_bytes), (100, 100));
    assert!(!found.is_due(&settings(0.5, 0, i64::MAX)), "exactly so dirty is not enough");
    assert!(found.is_due(&settings(0.49, 0, i64::MAX)));
}

#[test]
fn a_clean_log_is_never_due() {
    for ratio in [0.0, 0.5] {
        let settings = settings(ratio, 0, 1);
        let found = plan(&THREE, 30, 100, &settings);
        assert_eq!((found.range, found.cleanable_bytes), (range(30, 30), 0));
        assert!(!found.is_due(&settings));
    }
    assert!(!plan(&[], 0, 0, &settings(0.0, 0, 1)).is_due(&settings(0.0, 0, 1)));
}

#[test]
fn nothing_that_is_undecided_or_not_on_disk_is_cleaned() {
    let settings = settings(0.0, 0, i64::MAX);
    let found = plan(&THREE, 0, 25, &settings);
    assert_eq!((found.range, found.cleanable_bytes), (range(0, 20), 150), "whole segments only");
    assert!(found.waits_for_settled);
    let found = plan(&THREE, 0, 30, &settings);
    assert_eq!((found.range, found.waits_for_settled), (range(0, 30), false));
}

#[test]
fn a_round_that_ended_within_a_segment_goes_on_there() {
    let settings = settings(0.0, 0, i64::MAX);
    let found = plan(&THREE, 15, 100, &settings);
    assert_eq!((found.range, found.cleanable_bytes), (range(15, 30), 100));
    let held_back = plan(&THREE, 15, 12, &settings);
    assert_eq!((held_back.range, held_back.cleanable_bytes), (range(15, 15), 0));
    assert!(!held_back.is_due(&settings), "it would be cleaned for ever");
}

#[test]
fn young_segments_and_all_behind_them_wait_for_the_min_lag() {
    let settings = settings(0.0, 8_500, i64::MAX);
    let found = plan(&THREE, 0, 100, &settings);
    assert_eq!(found.range, range(0, 10), "2000 is not yet 8500 old");
    assert_eq!(found.next_look, Some(Timestamp::new(10_501)));
    assert!(!found.waits_for_settled);
    let out_of_order = [(100, 9_000, 1), (100, 1_000, 1)];
    assert_eq!(plan(&out_of_order, 0, 100, &settings).range, range(0, 0));
}

#[test]
fn what_is_older_than_the_max_lag_is_due_whatever_the_ratio() {
    let settings = settings(1.0, 0, 9_000);
    let found = plan(&THREE, 0, 100, &settings);
    assert_eq!(found.overdue_ms, 100);
    assert!(found.is_due(&settings));
    let found = plan(&THREE, 10, 100, &settings);
    assert_eq!((found.overdue_ms, found.next_look), (0, Some(Timestamp::new(10_901))));
    assert!(!found.is_due(&settings));
    let unknown = [(100, -1, -1), (100, 0, 0)];
    assert_eq!(plan(&unknown, 0, 100, &settings).overdue_ms, 0, "no timestamp says nothing");
}
