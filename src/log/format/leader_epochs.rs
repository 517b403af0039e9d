//! `leader-epoch-checkpoint` of a partition: from which offset on each leader epoch wrote (Kafka's
//! `LeaderEpochCheckpointFile`).
//!
//! A text checkpoint (see [`crate::storage::checkpoint_file`]) of lines `epoch start-offset`, both increasing strictly.

use crate::storage::checkpoint_file::{self, CheckpointError};
use crate::types::{LeaderEpoch, Offset};

/// Where a leader epoch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochStart {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// Its first offset; the epoch before ends here.
    pub start: Offset,
}

/// The bytes are no leader epoch checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaderEpochsDamage {
    /// Not even a checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Epochs or offsets do not increase.
    #[error("epoch {} at {} follows epoch {} at {}", .after.epoch, .after.start, .before.epoch, .before.start)]
    Order {
        /// An entry.
        before: EpochStart,
        /// The one behind it.
        after: EpochStart,
    },
}

/// Writes the checkpoint.
pub fn encode(epochs: &[EpochStart]) -> Vec<u8> {
    checkpoint_file::encode(epochs.iter().map(|entry| format!("{} {}", entry.epoch, entry.start)))
}

/// Reads the checkpoint.
pub fn decode(bytes: &[u8]) -> Result<Vec<EpochStart>, LeaderEpochsDamage> {
    let epochs = checkpoint_file::decode(bytes, parse)?;
    let disorder = epochs.array_windows().find(|[a, b]| a.epoch >= b.epoch || a.start >= b.start);
    match disorder {
        Some(&[before, after]) => Err(LeaderEpochsDamage::Order { before, after }),
        None => Ok(epochs),
    }
}

fn parse(line: &str) -> Option<EpochStart> {
    let (epoch, start) = line.split_once(' ')?;
    let (epoch, start): (i32, i64) = (epoch.parse().ok()?, start.trim().parse().ok()?);
    let possible = epoch >= 0 && start >= 0;
    possible.then_some(EpochStart { epoch: LeaderEpoch::new(epoch), start: Offset::new(start) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(epoch: i32, start: i64) -> EpochStart {
        EpochStart { epoch: LeaderEpoch::new(epoch), start: Offset::new(start) }
    }

    #[test]
    fn kafkas_checkpoint_is_read_and_written_byte_for_byte() {
        let bytes =
            include_bytes!("../../../tests/golden/raw/clean-4.4/trimmed-0/leader-epoch-checkpoint");
        let epochs = decode(bytes).unwrap();
        assert_eq!(epochs, [at(0, 11), at(4, 20)]);
        assert_eq!(encode(&epochs), bytes);
    }

    #[test]
    fn an_empty_file_holds_nothing() {
        assert_eq!(decode(b""), Ok(vec![]));
        assert_eq!(encode(&[]), b"0\n0\n");
    }

    #[test]
    fn malformed_lines_are_refused() {
        for line in ["1", "1 2 3", "x 1", "1 x", "-1 0", "0 -1", "99999999999 0", ""] {
            let text = format!("0\n1\n{line}\n");
            assert!(
                matches!(decode(text.as_bytes()), Err(LeaderEpochsDamage::Checkpoint(_))),
                "{line}"
            );
        }
    }

    #[test]
    fn epochs_and_offsets_increase() {
        for (first, second) in
            [(at(1, 5), at(1, 6)), (at(2, 5), at(1, 6)), (at(1, 5), at(2, 5)), (at(1, 5), at(2, 4))]
        {
            let error = LeaderEpochsDamage::Order { before: first, after: second };
            assert_eq!(decode(&encode(&[first, second])), Err(error));
        }
    }
}
