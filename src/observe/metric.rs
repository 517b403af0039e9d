//! What a metric is made of: plain atomics, changed without a lock or a look-up.
//!
//! All orderings are relaxed: a metric orders nothing, and a scrape may see one counter a moment before another.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::api_names::{API_SLOTS, api_name};

/// A number that only rises.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn increment(&self) {
        self.add(1);
    }

    /// More by `count`.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    /// The number now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A number that rises and falls.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// One more.
    pub fn increment(&self) {
        self.add(1);
    }

    /// One less.
    pub fn decrement(&self) {
        self.add(-1);
    }

    /// More by `change`, or less if it is negative.
    pub fn add(&self, change: i64) {
        self.0.fetch_add(change, Relaxed);
    }

    /// The number from now on.
    pub fn set(&self, value: i64) {
        self.0.store(value, Relaxed);
    }

    /// The number now.
    pub fn get(&self) -> i64 {
        self.0.load(Relaxed)
    }
}

/// Upper bounds of the buckets of a [`Durations`], in microseconds; one more bucket takes the rest.
const BOUNDS_MICROS: [u64; 17] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// A histogram of durations from 50 microseconds to 10 seconds.
#[derive(Debug, Default)]
pub struct Durations {
    buckets: [AtomicU64; BOUNDS_MICROS.len() + 1],
    sum_micros: AtomicU64,
}

impl Durations {
    /// Takes one duration in.
    pub fn observe(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_MICROS.partition_point(|&bound| bound < micros);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.sum_micros.fetch_add(micros, Relaxed);
    }

    /// How many were taken in.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Relaxed)).sum()
    }
}

/// One metric for each API of the Kafka protocol, found by its key as an index.
#[derive(Debug)]
pub struct PerApi<T>([T; API_SLOTS]);

impl<T: Default> Default for PerApi<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| T::default()))
    }
}

impl<T> PerApi<T> {
    /// The metric of an API. Keys that no API of the table has share one.
    pub fn of(&self, api_key: i16) -> &T {
        let slot = usize::try_from(api_key).unwrap_or(usize::MAX).min(API_SLOTS - 1);
        &self.0[slot]
    }
}

/// Versions of one API that have a counter of their own; one more takes the rest. The highest that Kafka 4.4 has is 18.
const VERSION_SLOTS: usize = 32;

/// A counter for each version of each API: what still speaks an old one is seen by its number.
#[derive(Debug, Default)]
pub struct PerVersion(PerApi<[Counter; VERSION_SLOTS]>);

impl PerVersion {
    /// The counter of an API in a version. Versions that no API has share one.
    pub fn of(&self, api_key: i16, version: i16) -> &Counter {
        let slot = usize::try_from(version).unwrap_or(usize::MAX).min(VERSION_SLOTS - 1);
        &self.0.of(api_key)[slot]
    }
}

/// One metric for each value of a label that has few.
#[derive(Debug)]
pub struct PerLabel<L, T> {
    values: Vec<T>,
    label: std::marker::PhantomData<fn(L)>,
}

/// A label with a fixed set of values.
pub trait Label: Copy + 'static {
    /// Its name in the exposition.
    const NAME: &'static str;
    /// All values, each at the place of its [`Label::index`].
    const ALL: &'static [Self];
    /// Place in [`Label::ALL`].
    fn index(self) -> usize;
    /// The value as text.
    fn text(self) -> &'static str;
}

impl<L: Label, T: Default> Default for PerLabel<L, T> {
    fn default() -> Self {
        let values = L::ALL.iter().map(|_| T::default()).collect();
        Self { values, label: std::marker::PhantomData }
    }
}

impl<L: Label> PerLabel<L, Gauge> {
    /// The sum over all values of the label.
    pub fn of_all(&self) -> i64 {
        self.values.iter().map(Gauge::get).sum()
    }
}

impl<L: Label, T> PerLabel<L, T> {
    /// The metric of a value.
    pub fn of(&self, label: L) -> &T {
        &self.values[label.index()]
    }
}

/// A metric that can be written in the text format of Prometheus.
pub(super) trait Expose {
    /// `counter`, `gauge` or `histogram`.
    const TYPE: &'static str;
    /// Writes its samples; `labels` is empty or like `api="Fetch"`.
    fn expose(&self, name: &str, labels: &str, out: &mut String);
}

impl Expose for Counter {
    const TYPE: &'static str = "counter";

    fn expose(&self, name: &str, labels: &str, out: &mut String) {
        sample(out, name, labels, self.get());
    }
}

impl Expose for Gauge {
    const TYPE: &'static str = "gauge";

    fn expose(&self, name: &str, labels: &str, out: &mut String) {
        sample(out, name, labels, self.get());
    }
}

impl Expose for Durations {
    const TYPE: &'static str = "histogram";

    fn expose(&self, name: &str, labels: &str, out: &mut String) {
        let comma = if labels.is_empty() { "" } else { "," };
        let mut below = 0;
        let bucket_name = format!("{name}_bucket");
        for (bucket, bound) in
            self.buckets.iter().zip(BOUNDS_MICROS.map(Some).into_iter().chain([None]))
        {
            below += bucket.load(Relaxed);
            let bound =
                bound.map_or_else(|| "+Inf".to_owned(), |micros| seconds(micros).to_string());
            sample(out, &bucket_name, &format!("{labels}{comma}le=\"{bound}\""), below);
        }
        sample(out, &format!("{name}_sum"), labels, seconds(self.sum_micros.load(Relaxed)));
        sample(out, &format!("{name}_count"), labels, below);
    }
}

impl<T: Expose + Quiet> Expose for PerApi<T> {
    const TYPE: &'static str = T::TYPE;

    /// APIs that were never used are left out: most clients use a dozen of ninety.
    fn expose(&self, name: &str, _labels: &str, out: &mut String) {
        for (slot, metric) in self.0.iter().enumerate().filter(|(_, metric)| !metric.is_quiet()) {
            metric.expose(name, &format!("api=\"{}\"", api_name(slot)), out);
        }
    }
}

impl Expose for PerVersion {
    const TYPE: &'static str = Counter::TYPE;

    /// Versions that were never used are left out.
    fn expose(&self, name: &str, _labels: &str, out: &mut String) {
        for (api, versions) in self.0.0.iter().enumerate() {
            for (version, counter) in versions.iter().enumerate().filter(|(_, c)| !c.is_quiet()) {
                let version =
                    if version == VERSION_SLOTS - 1 { "other".into() } else { version.to_string() };
                let labels = format!("api=\"{}\",version=\"{version}\"", api_name(api));
                counter.expose(name, &labels, out);
            }
        }
    }
}

impl<L: Label, T: Expose> Expose for PerLabel<L, T> {
    const TYPE: &'static str = T::TYPE;

    fn expose(&self, name: &str, _labels: &str, out: &mut String) {
        for label in L::ALL {
            self.of(*label).expose(name, &format!("{}=\"{}\"", L::NAME, label.text()), out);
        }
    }
}

/// A metric that knows whether anything ever happened to it.
pub(super) trait Quiet {
    fn is_quiet(&self) -> bool;
}

impl Quiet for Counter {
    fn is_quiet(&self) -> bool {
        self.get() == 0
    }
}

impl Quiet for Durations {
    fn is_quiet(&self) -> bool {
        self.count() == 0
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 285 years")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// One line of the text format. Writing to a string cannot fail.
pub(super) fn sample(out: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    let _ = if labels.is_empty() {
        writeln!(out, "{name} {value}")
    } else {
        writeln!(out, "{name}{{{labels}}} {value}")
    };
}
