//! Which logs that are not open have something that retention would delete, told from names, sizes and ages of their files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{ClosedPartition, PartitionRegistry};
use crate::config::TopicSettings;
use crate::env::{FileStat, FileSystem};
use crate::types::Timestamp;

impl PartitionRegistry {
    /// The logs to open. What nothing is due for is not looked at again before something may be. Blocks.
    pub fn due_for_retention(
        self: &Arc<Self>,
        files: &dyn FileSystem,
        now: Timestamp,
    ) -> Vec<ClosedPartition> {
        let mut due = Vec::new();
        for directory in self.directories().iter().filter(|directory| !directory.is_offline()) {
            for closed in self.unopened(directory) {
                let name = closed.name();
                let next = self.retention_looks.lock().get(&name).copied();
                if next.is_some_and(|next| now < next) {
                    continue;
                }
                let path = directory.path().join(name.to_string());
                match next_look(files, &path, &closed.topic.policy().settings) {
                    Ok(next) if now < next => {
                        self.retention_looks.lock().insert(name, next);
                    }
                    Ok(_) => due.push(closed),
                    Err(error) => {
                        tracing::warn!(partition = %name, %error, "a log cannot be looked at for retention");
                    }
                }
            }
        }
        due
    }
}

/// When retention may have something to delete.
fn next_look(
    files: &dyn FileSystem,
    directory: &Path,
    settings: &TopicSettings,
) -> io::Result<Timestamp> {
    Ok(next_due(&segments(files, directory)?, settings))
}

/// The segments of a log, oldest first.
fn segments(files: &dyn FileSystem, directory: &Path) -> io::Result<Vec<FileStat>> {
    let entries = files.list(directory)?;
    let mut names: Vec<String> = entries.into_iter().map(|entry| entry.name).collect();
    names.retain(|name| name.ends_with(".log"));
    // Zero-padded base offsets: the order of names is that of offsets.
    names.sort_unstable();
    let stats = names.iter().map(|name| files.stat(&directory.join(name)));
    stats.filter_map(Result::transpose).collect()
}

/// The oldest segment goes when the log is too large, or when it is too old itself. Its last change is at or behind its
/// newest record, but for producers that are ahead of the clock.
fn next_due(segments: &[FileStat], settings: &TopicSettings) -> Timestamp {
    let never = Timestamp::new(i64::MAX);
    let Some(oldest) = segments.first().filter(|oldest| oldest.len_bytes > 0) else { return never };
    if !settings.cleanup_policy.delete {
        return never;
    }
    let total: u64 = segments.iter().map(|segment| segment.len_bytes).sum();
    let excess = u64::try_from(settings.retention_bytes).map(|keep| total.saturating_sub(keep));
    if excess.is_ok_and(|excess| excess >= oldest.len_bytes) {
        return Timestamp::new(i64::MIN);
    }
    if settings.retention_ms < 0 {
        return never;
    }
    Timestamp::new(oldest.modified.get().saturating_add(settings.retention_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(lens: &[u64]) -> Vec<FileStat> {
        let modified = (1..).map(|n| Timestamp::new(n * 1000));
        lens.iter()
            .zip(modified)
            .map(|(&len_bytes, modified)| FileStat { len_bytes, modified })
            .collect()
    }

    fn due(lens: &[u64], retention_bytes: i64, retention_ms: i64) -> i64 {
        let settings = TopicSettings { retention_bytes, retention_ms, ..TopicSettings::default() };
        next_due(&segments(lens), &settings).get()
    }

    #[test]
    fn a_log_is_opened_when_its_oldest_segment_is_too_old() {
        assert_eq!(due(&[10, 10], -1, 500), 1500);
        assert_eq!(due(&[10, 10], -1, -1), i64::MAX);
    }

    #[test]
    fn a_log_is_opened_at_once_when_it_is_too_large() {
        assert_eq!(due(&[10, 10], 10, -1), i64::MIN);
        assert_eq!(due(&[10, 10], 11, -1), i64::MAX, "the rest would be too little");
    }

    #[test]
    fn an_empty_log_is_never_opened() {
        assert_eq!(due(&[], 0, 0), i64::MAX);
        assert_eq!(due(&[0], 0, 0), i64::MAX);
    }
}
