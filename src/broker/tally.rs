//! What the use cases count.

use std::time::Duration;

use super::Broker;
use super::fetch::{FetchError, Fetched};
use crate::log::Appended;
use crate::observe::{Gauge, Metrics};

/// Counts an append of `bytes`, or that there was none.
pub(super) fn appended(metrics: &Metrics, bytes: usize, appended: Option<&Appended>) {
    metrics.produce_requests.increment();
    let bytes = as_u64(bytes);
    match appended {
        None => {
            metrics.produce_failed.increment();
            metrics.bytes_rejected.add(bytes);
        }
        Some(appended) if appended.duplicate => metrics.append_duplicates.increment(),
        Some(appended) => {
            let records = appended.end_offset.get() - appended.base_offset.get();
            metrics.messages_in.add(u64::try_from(records).unwrap_or(0));
            metrics.bytes_in.add(bytes);
            metrics.append_batches.increment();
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
