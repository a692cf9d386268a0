//! Many measurements of the same thing.

use std::time::Duration;

/// Durations, shortest first. Never empty.
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time within which so many of a hundred were done, in milliseconds.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let index = self.0.len().saturating_sub(1) * percent / 100;
        self.0.get(index).map_or(f64::NAN, milliseconds)
    }
}

/// The average, in milliseconds.
#[allow(clippy::cast_precision_loss)] // there are far fewer than 2^52
pub(crate) fn mean(times: &[Duration]) -> f64 {
    milliseconds(&times.iter().sum()) / times.len() as f64
}

fn milliseconds(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
