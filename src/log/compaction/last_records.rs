//! The batches from which the state of producers is known, so that a recovery finds it again (Kafka's `LastRecord`).

use std::collections::HashMap;

use crate::log::batch::BatchHeader;
use crate::types::{Offset, ProducerEpoch, ProducerId};

/// Of each producer that a log remembers, where its newest batch lies.
#[derive(Clone, Debug, Default)]
pub struct LastRecords(HashMap<ProducerId, LastRecord>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) enum LastRecord {
    /// Last offset of its newest batch of data, which has its last sequence.
    Data(Offset),
    /// Only markers of this epoch are known.
    Marker(ProducerEpoch),
}

impl LastRecords {
    /// Is the state of a producer known from this batch?
    pub(super) fn need(&self, header: &BatchHeader) -> bool {
        header.has_producer_id()
            && match self.0.get(&header.producer_id) {
                Some(LastRecord::Data(offset)) => header.last_offset() == *offset,
                Some(LastRecord::Marker(epoch)) => {
                    header.is_control() && header.producer_epoch == *epoch
                }
                None => false,
            }
    }
}

impl FromIterator<(ProducerId, LastRecord)> for LastRecords {
    fn from_iter<I: IntoIterator<Item = (ProducerId, LastRecord)>>(records: I) -> Self {
        Self(records.into_iter().collect())
    }
}
