//! The first pass of a round: the newest offset of each key in the dirty part of a log (Kafka's `buildOffsetMap`).

use super::key_map::{Full, KEYS_AT_A_TIME, KeyHash, KeyMap};
use super::source::{CleaningSource, SegmentScan};
use super::superseded::Superseded;
use super::transactions::Transactions;
use super::{CleanError, DirtyRange, Pace};
use crate::log::aborted;
use crate::log::batch::{BatchHeader, HEADER_LEN};
use crate::log::legacy::LegacyMessages;
use crate::log::marker::read_marker;
use crate::log::reader::{STORED_BYTES_MAX, each_record};
use crate::log::record::Record;
use crate::log::scan::StoredBatch;
use crate::log::segment::Segment;
use crate::types::Offset;

/// Fills the map.
pub(super) struct Mapping<'m> {
    pub(super) source: &'m CleaningSource,
    pub(super) range: DirtyRange,
    pub(super) keys: &'m mut KeyMap,
    pub(super) superseded: &'m mut Superseded,
    pub(super) read_bytes: usize,
    pub(super) pace: &'m dyn Pace,
    /// Keys of one batch; here for its memory.
    pub(super) found: Vec<(KeyHash, Offset)>,
}

/// The map got full within a batch.
struct Stopped(Full);

/// A place in the log.
struct Place {
    /// Behind the last batch whose keys are all in the map.
    end: Offset,
    transactions: Transactions,
}

impl Mapping<'_> {
    /// Goes through the range, or as far as the keys fit; the offset behind the last batch whose keys are all in the map.
    /// Blocks.
    pub(super) fn run(mut self) -> Result<Offset, CleanError> {
        let DirtyRange { from, to } = self.range;
        let mut place = Place { end: from, transactions: Transactions::default() };
        let segments = &self.source.view.segments;
        let aborted = aborted::entries_between(segments, from, to).map_err(CleanError::of_read)?;
        place.transactions.announce(aborted);
        for (segment, end) in self.source.segments_between(from, to) {
            if let Some(Stopped(full)) = self.map_segment(&segment, end, &mut place)? {
                return match full {
                    _ if place.end > from => Ok(place.end),
                    Full::Limit => Err(CleanError::KeysDoNotFit { offset: place.end }),
                    Full::Memory => Err(CleanError::NoMemory),
                };
            }
            // There may be nothing left up to where the next one begins.
            place.end = place.end.max(end);
            segment.files.close();
        }
        Ok(place.end)
    }

    fn map_segment(
        &mut self,
        segment: &Segment,
        end: Offset,
        place: &mut Place,
    ) -> Result<Option<Stopped>, CleanError> {
        let mut scan = SegmentScan::begin(segment, end, self.range.from, self.read_bytes)?;
        loop {
            let Some(batch) = scan.next()? else { return Ok(None) };
            let (len, last_offset) = (batch.bytes().len(), batch.last_offset());
            self.pace.has_read(len as u64);
            self.pace.go_on(len as u64).map_err(|_| CleanError::Stopped)?;
            if let Err(damage) = batch.verify() {
                return Err(scan.damaged(len, damage));
            }
            let stopped = match batch.header() {
                None => self.map_messages(&batch),
                Some(header) if header.is_control() => {
                    let marker = read_marker(&header, batch.bytes());
                    place.transactions.pass_control(&header, marker);
                    Ok(None)
                }
                Some(header) if place.transactions.pass_data(&header) => Ok(None),
                Some(header) => self.map_records(&header, &batch),
            };
            match stopped {
                Ok(None) => place.end = place.end.max(last_offset.plus(1)),
                Ok(stopped) => return Ok(stopped),
                Err(reason) => return Err(scan.damaged(len, reason)),
            }
        }
    }

    fn map_records(
        &mut self,
        header: &BatchHeader,
        batch: &StoredBatch<'_>,
    ) -> Result<Option<Stopped>, String> {
        let records = &batch.bytes()[HEADER_LEN..];
        self.found.clear();
        let found = |record: &Record<'_>| self.found(record.offset(header), record.key);
        each_record(header, records, STORED_BYTES_MAX, found)
            .map_err(|problem| problem.to_string())?;
        Ok(self.put_found().err().map(Stopped))
    }

    fn map_messages(&mut self, batch: &StoredBatch<'_>) -> Result<Option<Stopped>, String> {
        let messages =
            LegacyMessages::read(batch, STORED_BYTES_MAX).map_err(|problem| problem.to_string())?;
        self.found.clear();
        for message in messages.iter() {
            self.found(message.offset, message.key);
        }
        Ok(self.put_found().err().map(Stopped))
    }

    #[inline]
    fn found(&mut self, offset: Offset, key: Option<&[u8]>) {
        if let Some(key) = key
            && offset >= self.range.from
        {
            self.found.push((self.keys.hash(key), offset));
        }
    }

    fn put_found(&mut self) -> Result<(), Full> {
        for found in self.found.chunks(KEYS_AT_A_TIME) {
            self.keys.fetch(found.iter().map(|(hash, _)| *hash));
            for (hash, offset) in found {
                if let Some(older) = self.keys.put(*hash, *offset)? {
                    self.superseded.mark(older);
                }
            }
        }
        Ok(())
    }
}
