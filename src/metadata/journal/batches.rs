//! Batches of the metadata log: magic 2, uncompressed, no producer, all timestamps that of the append.
//!
//! A data record has no key, a control record has its type for a key; neither has headers.

use super::control::ControlRecord;
use crate::config::Codec;
use crate::log::batch::HEADER_LEN;
use crate::log::builder::{BatchBuilder, BatchTemplate};
use crate::log::record::{Record, RecordDamage, Records};
use crate::log::scan::StoredBatch;
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// Most bytes of records in one batch (Kafka's `KafkaRaftClient.MAX_BATCH_SIZE_BYTES`).
pub const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Batches being put together for one write.
#[derive(Clone, Debug)]
pub struct BatchWriter {
    epoch: LeaderEpoch,
    now: Timestamp,
    next: Offset,
    bytes: Vec<u8>,
}

/// A batch that the metadata log never holds, under a right checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedBatch {
    /// Kafka writes none.
    #[error("a compressed batch")]
    Compressed,
    /// Fewer records than offsets.
    #[error("a batch without all its records")]
    Gaps,
    /// A record does not follow the format.
    #[error(transparent)]
    Record(#[from] RecordDamage),
}

impl BatchWriter {
    /// The next batch begins at `base`.
    pub fn new(base: Offset, epoch: LeaderEpoch, now: Timestamp) -> Self {
        Self { epoch, now, next: base, bytes: Vec::new() }
    }

    /// Offset that the next record gets.
    pub fn next_offset(&self) -> Offset {
        self.next
    }

    /// The batches so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The batches.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Adds a batch of control records.
    pub fn control(&mut self, records: &[ControlRecord]) {
        let mut batch = self.batch(Kind::Control);
        for record in records {
            let (key, value) = record.encode();
            batch.append(self.now, Some(&key), Some(&value));
        }
        self.close(batch);
    }

    /// Whether [`BatchWriter::data`] would put these values into one batch.
    pub fn fits_one_batch(values: &[Vec<u8>]) -> bool {
        let bytes: usize = values.iter().map(|value| value.len() + RECORD_OVERHEAD).sum();
        bytes <= BATCH_BYTES_MAX
    }

    /// Adds data records with these values, in as few batches as the size limit allows.
    pub fn data(&mut self, values: &[Vec<u8>]) {
        let mut batch = self.batch(Kind::Data);
        for value in values {
            let full = batch.len() + value.len() + RECORD_OVERHEAD > HEADER_LEN + BATCH_BYTES_MAX;
            if full && !batch.is_empty() {
                self.close(batch);
                batch = self.batch(Kind::Data);
            }
            batch.append(self.now, None, Some(value));
        }
        if !batch.is_empty() {
            self.close(batch);
        }
    }

    fn batch(&self, kind: Kind) -> BatchBuilder {
        BatchBuilder::new(BatchTemplate {
            base_offset: self.next,
            partition_leader_epoch: self.epoch,
            control: kind == Kind::Control,
            ..BatchTemplate::default()
        })
    }

    fn close(&mut self, batch: BatchBuilder) {
        self.next = self.next.plus(i64::from(batch.count()));
        self.bytes.extend(batch.build().expect("only compression can fail"));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Control,
    Data,
}

/// Most bytes of a record beside its value: length, attributes, deltas, key and value length, header count.
const RECORD_OVERHEAD: usize = 21;

/// The records of an uncompressed batch, in order.
pub fn records<'a>(batch: &StoredBatch<'a>) -> Result<Vec<Record<'a>>, MalformedBatch> {
    let header = batch.header().ok_or(MalformedBatch::Compressed)?;
    if header.codec() != Ok(Codec::None) {
        return Err(MalformedBatch::Compressed);
    }
    // The metadata log is never compacted, so its offsets have no gaps.
    if header.records_count != header.last_offset_delta.saturating_add(1) {
        return Err(MalformedBatch::Gaps);
    }
    let records = Records::new(&batch.bytes()[HEADER_LEN..], header.records_count);
    Ok(records.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::test_bytes::from_hex as hex;
    use crate::types::BrokerId;

    /// A LEADER_CHANGE batch that Kafka 4.4.0's dump tool accepts: offset 0, epoch 1, leader 1, voters [1].
    const LEADER_CHANGE: &str = "00000000000000000000004f00000001021154eaf90020000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff000000013a0000000800000002260000000000010200000001000200000001000000";

    fn writer() -> BatchWriter {
        BatchWriter::new(Offset::ZERO, LeaderEpoch::new(1), Timestamp::new(1_700_000_000_000))
    }

    #[test]
    fn a_control_batch_is_kafkas() {
        let record = ControlRecord::LeaderChange {
            leader: BrokerId::new(1),
            voters: vec![BrokerId::new(1)],
        };
        let mut writer = writer();
        writer.control(std::slice::from_ref(&record));
        assert_eq!(writer.bytes(), hex(LEADER_CHANGE));
        let bytes = hex(LEADER_CHANGE);
        let batch = StoredBatch::first(&bytes).unwrap();
        let read = records(&batch).unwrap();
        let (key, value) = (read[0].key.unwrap(), read[0].value.unwrap());
        assert_eq!(read.len(), 1);
        assert_eq!(ControlRecord::decode(key, value), Ok(record));
    }

    #[test]
    fn records_beyond_the_size_limit_begin_a_new_batch() {
        let mut writer = writer();
        writer.data(&vec![vec![b'x'; 3 * 1024 * 1024]; 5]);
        assert_eq!(writer.next_offset(), Offset::new(5));
        let mut scan = crate::log::scan::scan(writer.bytes());
        let counts: Vec<usize> = scan.by_ref().map(|(_, b)| records(&b).unwrap().len()).collect();
        assert_eq!(counts, [2, 2, 1]);
    }

    #[test]
    fn every_cut_and_every_changed_length_is_refused() {
        let bytes = hex(LEADER_CHANGE);
        for at in HEADER_LEN..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            // Whatever it is now, reading it ends.
            let _ = records(&StoredBatch::first(&changed).unwrap());
        }
        let mut two = bytes.clone();
        two[60] = 2; // records count
        assert_eq!(records(&StoredBatch::first(&two).unwrap()), Err(MalformedBatch::Gaps));
    }
}
