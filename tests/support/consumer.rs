//! What a consumer of a log sees, and its digest as `tests/golden/README.md` defines it.

use std::collections::HashSet;
use std::iter::Peekable;
use std::vec::IntoIter;

use highwater::config::TimestampType;
use highwater::log::batch::{BatchHeader, HEADER_LEN};
use highwater::log::legacy::LegacyMessages;
use highwater::log::reader::RecordReader;
use highwater::log::scan::{StoredBatch, scan};
use highwater::log::{AbortedTransaction, Isolation, LogView};
use highwater::types::{Offset, ProducerId};
use sha2::{Digest, Sha256};

use super::logs::read_all;

/// Records as a consumer gets them, in order, and their digest.
#[derive(Debug, PartialEq, Eq)]
pub struct Consumed {
    pub offsets: Vec<i64>,
    pub sha256: String,
}

impl Consumed {
    /// Runs of offsets, as `0-11`.
    pub fn ranges(&self) -> Vec<String> {
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for &offset in &self.offsets {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == offset => *last = offset,
                _ => runs.push((offset, offset)),
            }
        }
        runs.iter().map(|(first, last)| format!("{first}-{last}")).collect()
    }
}

/// Consumes a log from its start, as clients do: control records are not shown, data of aborted transactions is skipped.
pub fn consume(view: &LogView, isolation: Isolation) -> Consumed {
    let end = match isolation {
        Isolation::ReadUncommitted => view.log_end,
        Isolation::ReadCommitted => view.first_open.unwrap_or(view.log_end),
    };
    let aborted = match isolation {
        Isolation::ReadUncommitted => Vec::new(),
        Isolation::ReadCommitted => view.aborted_between(view.log_start, end).expect("readable"),
    };
    let mut skipping = Skipping::of(aborted);
    let (mut offsets, mut digest) = (Vec::new(), Sha256::new());
    let bytes = read_all(view, view.log_start);
    for (_, batch) in scan(&bytes) {
        let Some(header) = batch.header() else {
            take_messages(&batch, &mut offsets, &mut digest);
            continue;
        };
        if header.base_offset >= end {
            break;
        }
        if skipping.shows(&header) {
            take_batch(&header, batch.bytes(), view.log_start, &mut offsets, &mut digest);
        }
    }
    let sha256 = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Consumed { offsets, sha256 }
}

/// Which batches clients show of an answer that lists these aborted transactions.
pub struct Skipping {
    aborted: Peekable<IntoIter<AbortedTransaction>>,
    skipped: HashSet<ProducerId>,
}

impl Skipping {
    pub fn of(mut aborted: Vec<AbortedTransaction>) -> Self {
        aborted.sort_by_key(|transaction| transaction.first_offset);
        Self { aborted: aborted.into_iter().peekable(), skipped: HashSet::new() }
    }

    /// Asked of every batch, in order.
    pub fn shows(&mut self, header: &BatchHeader) -> bool {
        while let Some(begun) = self.aborted.next_if(|t| t.first_offset <= header.last_offset()) {
            self.skipped.insert(begun.producer_id);
        }
        if header.is_control() {
            self.skipped.remove(&header.producer_id);
            return false;
        }
        !(header.is_transactional() && self.skipped.contains(&header.producer_id))
    }
}

fn take_messages(batch: &StoredBatch<'_>, offsets: &mut Vec<i64>, digest: &mut Sha256) {
    let log_append_time = u8::from(batch.bytes()[17] & 8 != 0);
    let timestamp_type = if batch.magic() == 0 { 0xff } else { log_append_time };
    let messages = LegacyMessages::read(batch, 1 << 30).expect("good messages");
    for message in messages.iter() {
        offsets.push(message.offset.get());
        digest.update(message.offset.get().to_be_bytes());
        digest.update(message.timestamp.get().to_be_bytes());
        digest.update([timestamp_type]);
        put(digest, message.key);
        put(digest, message.value);
        digest.update(0_i32.to_be_bytes());
    }
}

fn take_batch(
    header: &BatchHeader,
    batch: &[u8],
    log_start: Offset,
    offsets: &mut Vec<i64>,
    digest: &mut Sha256,
) {
    let mut records =
        RecordReader::new(header, &batch[HEADER_LEN..], 1 << 30).expect("a known codec");
    while let Some(record) = records.next() {
        let record = record.expect("a good record");
        let offset = record.offset(header);
        if offset < log_start {
            continue;
        }
        offsets.push(offset.get());
        digest.update(offset.get().to_be_bytes());
        digest.update(record.timestamp(header).get().to_be_bytes());
        digest.update([u8::from(header.timestamp_type() == TimestampType::LogAppendTime)]);
        put(digest, record.key);
        put(digest, record.value);
        digest.update((record.headers.len() as i32).to_be_bytes());
        for (key, value) in record.headers.iter() {
            put(digest, Some(key));
            put(digest, value);
        }
    }
}

fn put(digest: &mut Sha256, bytes: Option<&[u8]>) {
    let len = bytes.map_or(-1, |bytes| bytes.len() as i32);
    digest.update(len.to_be_bytes());
    digest.update(bytes.unwrap_or_default());
}
