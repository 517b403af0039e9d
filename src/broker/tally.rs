//! What the use cases count.

use std::time::Duration;

use super::Broker;
use super::fetch::{FetchError, Fetched};
use crate::log::Appended;
use crate::observe::{Gauge, Metrics};

/// The appends of one request: summed first, so that each counter, which all threads share, is touched once.
#[derive(Debug, Default)]
pub(super) struct Appends {
    records: u64,
    bytes: u64,
    batches: u64,
    duplicates: u64,
    failed: u64,
    rejected_bytes: u64,
}

impl Appends {
    /// Adds an append of `bytes`, or that there was none.
    pub(super) fn add(&mut self, bytes: usize, appended: Option<&Appended>) {
        match appended {
            None => {
                self.failed += 1;
                self.rejected_bytes += as_u64(bytes);
            }
            Some(appended) if appended.duplicate => self.duplicates += 1,
            Some(appended) => {
                let records = appended.end_offset.get() - appended.base_offset.get();
                self.records += u64::try_from(records).unwrap_or(0);
                self.bytes += as_u64(bytes);
                self.batches += 1;
            }
        }
    }

    /// Counts them.
    pub(super) fn count_in(self, metrics: &Metrics) {
        metrics.produce_requests.add(self.batches + self.duplicates + self.failed);
        metrics.messages_in.add(self.records);
        metrics.bytes_in.add(self.bytes);
        metrics.append_batches.add(self.batches);
        if self.duplicates > 0 {
            metrics.append_duplicates.add(self.duplicates);
        }
        if self.failed > 0 {
            metrics.produce_failed.add(self.failed);
            metrics.bytes_rejected.add(self.rejected_bytes);
        }
    }
}

/// Counts what a fetch answers.
pub(super) fn fetched(metrics: &Metrics, answers: &[Result<Fetched, FetchError>]) {
    let failed = answers.iter().filter(|answer| answer.is_err()).count();
    let bytes: usize = answers.iter().flatten().map(|fetched| fetched.records.len).sum();
    metrics.fetch_requests.add(as_u64(answers.len()));
    metrics.bytes_out.add(as_u64(bytes));
    if failed > 0 {
        metrics.fetch_failed.add(as_u64(failed));
    }
}

/// Something that waits now; counted until it is dropped.
pub(super) struct Waiting<'a>(&'a Gauge);

impl<'a> Waiting<'a> {
    pub(super) fn begin(gauge: &'a Gauge) -> Self {
        gauge.increment();
        Self(gauge)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.decrement();
    }
}

/// A fetch that waits for data; how long it waited is counted when it is dropped.
pub(super) struct FetchWaiting<'a> {
    broker: &'a Broker,
    since: Duration,
    _waiting: Waiting<'a>,
}

impl<'a> FetchWaiting<'a> {
    pub(super) fn begin(broker: &'a Broker) -> Self {
        let _waiting = Waiting::begin(&broker.metrics.fetches_waiting);
        Self { broker, since: broker.env.clock.monotonic(), _waiting }
    }
}

impl Drop for FetchWaiting<'_> {
    fn drop(&mut self) {
        let waited = self.broker.env.clock.monotonic().saturating_sub(self.since);
        self.broker.metrics.fetch_wait_seconds.observe(waited);
    }
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
