//! What people see of a running broker: metrics, log lines, health.
//!
//! [`Metrics`] is one struct of atomics, shared by everything that counts; the hot path adds to a field and nothing else. A
//! scrape walks the table. [`Health`] answers probes.

mod api_names;
mod health;
mod logging;
mod metric;
mod metrics;
#[cfg(test)]
mod tests;

pub use health::{Health, OfflineDirectory, Phase};
pub use logging::{InvalidLogFilter, Logging, check_log_filter, log_panics, start_logging};
pub use metric::{Counter, Durations, Gauge, Label, PerApi, PerLabel, PerVersion};
pub use metrics::{
    AbortCause, CleaningFailure, CloseCause, CoordinatorOf, Metrics, ReadFrom, header,
};
