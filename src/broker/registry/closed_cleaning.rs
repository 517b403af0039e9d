//! Which compacted logs that are not open are dirty, told from the sizes of their segments and the cleaner's checkpoint. Nobody
//! writes to them, so one look is enough.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{ClosedPartition, PartitionRegistry};
use crate::config::TopicSettings;
use crate::env::FileSystem;
use crate::storage::Checkpoint;
use crate::types::Offset;

impl PartitionRegistry {
    /// The logs to open, which makes the cleaner look at them. Each is named once. Blocks.
    pub fn due_for_cleaning(self: &Arc<Self>, files: &dyn FileSystem) -> Vec<ClosedPartition> {
        let mut due = Vec::new();
        for directory in self.directories().iter().filter(|directory| !directory.is_offline()) {
            let cleaned = directory.checkpoint_at_start(Checkpoint::Cleaner);
            for closed in self.unopened(directory) {
                let name = closed.name();
                let settings = Arc::clone(&closed.topic.policy().settings);
                let compact = settings.cleanup_policy.compact;
                if !compact || !self.cleaning_looks.lock().insert(name.clone()) {
                    continue;
                }
                let path = directory.path().join(name.to_string());
                let cleaned_to = cleaned.get(&name).copied().unwrap_or(Offset::ZERO);
                match segments(files, &path) {
                    Ok(segments) if is_dirty(&segments, cleaned_to, &settings) => due.push(closed),
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(partition = %name, %error, "a log cannot be looked at for cleaning");
                    }
                }
            }
        }
        due
    }
}

/// Base and length of each segment, in order.
fn segments(files: &dyn FileSystem, directory: &Path) -> io::Result<Vec<(Offset, u64)>> {
    let mut segments = Vec::new();
    for entry in files.list(directory)? {
        let base = entry.name.strip_suffix(".log").and_then(|digits| digits.parse().ok());
        if let Some(base) = base
            && let Some(stat) = files.stat(&directory.join(&entry.name))?
        {
            segments.push((Offset::new(base), stat.len_bytes));
        }
    }
    segments.sort_unstable();
    Ok(segments)
}

/// Might the cleaner find enough? The last segment is the active one; the timestamps that a lag goes by are in the log.
fn is_dirty(segments: &[(Offset, u64)], cleaned_to: Offset, settings: &TopicSettings) -> bool {
    let (mut clean_bytes, mut dirty_bytes) = (0, 0);
    for pair in segments.windows(2) {
        let ((base, len), (end, _)) = (pair[0], pair[1]);
        clean_bytes += if base < cleaned_to { len } else { 0 };
        dirty_bytes += if end > cleaned_to { len } else { 0 };
    }
    let total = clean_bytes + dirty_bytes;
    let ratio = if total == 0 { 0.0 } else { dirty_bytes as f64 / total as f64 };
    let has_lag = settings.max_compaction_lag_ms < i64::MAX && dirty_bytes > 0;
    has_lag || ratio > settings.min_cleanable_dirty_ratio
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirty(cleaned_to: i64, ratio: f64, max_compaction_lag_ms: i64) -> bool {
        let segments = [(0, 100), (10, 50), (20, 50), (30, 1_000)];
        let segments = segments.map(|(base, len)| (Offset::new(base), len));
        let settings = TopicSettings {
            min_cleanable_dirty_ratio: ratio,
            max_compaction_lag_ms,
            ..TopicSettings::default()
        };
        is_dirty(&segments, Offset::new(cleaned_to), &settings)
    }

    #[test]
    fn the_share_of_sealed_bytes_behind_the_checkpoint_decides() {
        assert!(dirty(0, 0.5, i64::MAX));
        assert!(!dirty(10, 0.5, i64::MAX), "half is not more than half");
        assert!(dirty(10, 0.4, i64::MAX));
        assert!(!dirty(30, 0.0, i64::MAX), "what the last segment holds is never cleaned");
    }

    #[test]
    fn a_longest_lag_calls_for_a_closer_look_at_anything_dirty() {
        assert!(dirty(20, 1.0, 1_000));
        assert!(!dirty(30, 1.0, 1_000));
    }
}
