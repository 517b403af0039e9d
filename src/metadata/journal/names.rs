//! Names of the files in `__cluster_metadata-0`.

use crate::types::{LeaderEpoch, Offset};

/// Identity of a snapshot: it holds everything below `end`, the last of it written in `epoch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapshotId {
    /// Exclusive end.
    pub end: Offset,
    /// Epoch of the last record in it.
    pub epoch: LeaderEpoch,
}

/// What a file in the directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `<base>.log`.
    Segment(Offset),
    /// `<base>.index`, `.timeindex`, `.txnindex` or `<offset>.snapshot` of the log below or at that offset.
    BesideSegment(Offset),
    /// `<end>-<epoch>.checkpoint`.
    Snapshot(SnapshotId),
    /// Left by a crash: `.part`, `.deleted`, `.tmp`.
    Leftover,
    /// Anything else.
    Other,
}

impl FileKind {
    /// Reads a name.
    pub fn parse(name: &str) -> Self {
        let leftover = [".part", ".deleted", ".tmp", ".cleaned", ".swap"];
        if leftover.iter().any(|suffix| name.ends_with(suffix)) {
            return Self::Leftover;
        }
        let Some((stem, extension)) = name.rsplit_once('.') else {
            return Self::Other;
        };
        let parsed = match extension {
            "log" => offset(stem).map(Self::Segment),
            "index" | "timeindex" | "txnindex" | "snapshot" => {
                offset(stem).map(Self::BesideSegment)
            }
            "checkpoint" => snapshot(stem).map(Self::Snapshot),
            _ => None,
        };
        parsed.unwrap_or(Self::Other)
    }
}

/// `00000000000000000042.log`.
pub fn segment(base: Offset) -> String {
    format!("{:020}.log", base.get())
}

impl SnapshotId {
    /// `00000000000000000042-0000000003.checkpoint`.
    pub fn file_name(self) -> String {
        format!("{:020}-{:010}.checkpoint", self.end.get(), self.epoch.get())
    }
}

fn offset(stem: &str) -> Option<Offset> {
    let value: i64 = stem.parse().ok()?;
    (stem.len() == 20 && value >= 0).then_some(Offset::new(value))
}

fn snapshot(stem: &str) -> Option<SnapshotId> {
    let (end, epoch) = stem.split_once('-')?;
    let value: i32 = epoch.parse().ok()?;
    let whole = epoch.len() == 10 && value >= 0;
    Some(SnapshotId { end: offset(end)?, epoch: LeaderEpoch::new(value) }).filter(|_| whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kafkas() {
        let id = SnapshotId { end: Offset::new(42), epoch: LeaderEpoch::new(3) };
        assert_eq!(id.file_name(), "00000000000000000042-0000000003.checkpoint");
        assert_eq!(segment(Offset::new(42)), "00000000000000000042.log");
        let cases = [
            ("00000000000000000042-0000000003.checkpoint", FileKind::Snapshot(id)),
            ("00000000000000000042.log", FileKind::Segment(Offset::new(42))),
            ("00000000000000000042.snapshot", FileKind::BesideSegment(Offset::new(42))),
            ("00000000000000000042-0000000003.checkpoint.part", FileKind::Leftover),
            ("00000000000000000042.log.deleted", FileKind::Leftover),
            ("quorum-state", FileKind::Other),
            ("42.log", FileKind::Other),
            ("leader-epoch-checkpoint", FileKind::Other),
        ];
        for (name, kind) in cases {
            assert_eq!(FileKind::parse(name), kind, "{name}");
        }
    }
}
