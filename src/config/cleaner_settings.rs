//! The settings of the log cleaner that are the broker's; those of a topic are in `TopicSettings`.

use super::layers::Layers;

/// Sizes in bytes, times in ms; fields are named as Kafka's keys behind `log.cleaner.`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CleanerSettings {
    /// Off: nothing is compacted.
    pub enable: bool,
    /// Logs that are cleaned at a time.
    pub threads: usize,
    /// Time between a change and the look at it.
    pub backoff_ms: i64,
    /// For the maps of all threads together.
    pub dedupe_buffer_bytes: usize,
    /// For reading and writing in all threads together.
    pub io_buffer_bytes: usize,
    /// Fullest that a map gets.
    pub io_buffer_load_factor: f64,
    /// Read and written together, by all threads.
    pub io_max_bytes_per_second: f64,
}

impl CleanerSettings {
    /// The settings that `layers` give.
    pub fn resolve(layers: Layers<'_>) -> Self {
        let size = |name| usize::try_from(layers.number(name)).unwrap_or(0);
        Self {
            enable: layers.flag("log.cleaner.enable"),
            threads: size("log.cleaner.threads"),
            backoff_ms: layers.number("log.cleaner.backoff.ms"),
            dedupe_buffer_bytes: size("log.cleaner.dedupe.buffer.size"),
            io_buffer_bytes: size("log.cleaner.io.buffer.size"),
            io_buffer_load_factor: layers.double("log.cleaner.io.buffer.load.factor"),
            io_max_bytes_per_second: layers.double("log.cleaner.io.max.bytes.per.second"),
        }
    }
}
