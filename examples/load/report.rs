//! What a case has measured: named figures, whose names end in their units.

use std::fmt;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Report {
    figures: Vec<(String, f64)>,
}

impl Report {
    pub(crate) fn add(&mut self, name: impl Into<String>, value: f64) {
        self.figures.push((name.into(), value));
    }

    pub(crate) fn with(mut self, name: impl Into<String>, value: f64) -> Self {
        self.add(name, value);
        self
    }

    pub(crate) fn millis(self, name: impl Into<String>, value: Duration) -> Self {
        self.with(name, millis(value))
    }

    /// Percentiles in milliseconds, each name after `prefix`.
    pub(crate) fn percentiles(mut self, prefix: &str, mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
            self.add(format!("{prefix}{name}_ms"), millis(at(&times, share)));
        }
        self
    }

    pub(crate) fn json(&self) -> String {
        let figures = self.figures.iter().map(|(name, value)| (name.clone(), (*value).into()));
        serde_json::Value::Object(figures.collect()).to_string()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.figures {
            let digits = if *value >= 1000.0 { 0 } else { 3 };
            writeln!(f, "{name:<32} {value:>14.digits$}")?;
        }
        Ok(())
    }
}

/// The value below which a share of `sorted` lies.
fn at(sorted: &[Duration], share: f64) -> Duration {
    let index = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}

/// The value in the middle.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    at(&times, 0.5)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
