//! What the server counts, in the text that Prometheus reads.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::{Method, StatusCode};

/// The methods that are told apart; others count as the last.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OTHER"];
/// The classes of answers: 1xx to 5xx.
const CLASSES: usize = 5;
/// The upper ends of the buckets of the histogram.
const BUCKETS: [Duration; 10] = [
    Duration::from_millis(1),
    Duration::from_micros(2500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(10),
];

/// See the module.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: [[AtomicU64; CLASSES]; METHODS.len()],
    /// Those that took at most as long as their bucket, and longer than the one before.
    buckets: [AtomicU64; BUCKETS.len()],
    answered: AtomicU64,
    microseconds: AtomicU64,
}

impl Metrics {
    /// A request was answered.
    pub(crate) fn answered(&self, method: &Method, status: StatusCode, time: Duration) {
        let method = METHODS.iter().position(|name| *name == method.as_str());
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES) - 1;
        self.requests[method.unwrap_or(METHODS.len() - 1)][class].fetch_add(1, Ordering::Relaxed);
        if let Some(bucket) = BUCKETS.iter().position(|end| time <= *end) {
            self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        }
        self.answered.fetch_add(1, Ordering::Relaxed);
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    /// Writes what was counted.
    pub(crate) fn write(&self, page: &mut Page) {
        page.head(
            "deft_http_requests_total",
            "counter",
            "Requests that were answered.",
        );
        for (method, classes) in METHODS.iter().zip(&self.requests) {
            for (class, count) in (1..).zip(classes) {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    let status = format!("{class}xx");
                    page.line(
                        "deft_http_requests_total",
                        &[("method", method), ("status", &status)],
                        count,
                    );
                }
            }
        }
        let name = "deft_http_request_duration_seconds";
        page.head(
            name,
            "histogram",
            "How long requests took until their answer began.",
        );
        let mut total = 0;
        for (end, count) in BUCKETS.iter().zip(&self.buckets) {
            total += count.load(Ordering::Relaxed);
            let end = end.as_secs_f64().to_string();
            page.line(&format!("{name}_bucket"), &[("le", &end)], total);
        }
        let answered = self.answered.load(Ordering::Relaxed);
        page.line(&format!("{name}_bucket"), &[("le", "+Inf")], answered);
        let sum = Duration::from_micros(self.microseconds.load(Ordering::Relaxed));
        page.line(&format!("{name}_sum"), &[], sum.as_secs_f64());
        page.line(&format!("{name}_count"), &[], answered);
    }
}

/// The page as it grows.
#[derive(Default)]
pub(crate) struct Page(pub(crate) String);

impl Page {
    /// What the lines that follow are about.
    pub(crate) fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}"); // a text takes all
    }

    /// One number.
    pub(crate) fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let label = |(name, text): &(&str, &str)| {
            let text = text
                .replace('\\', r"\\")
                .replace('"', "\\\"")
                .replace('\n', r"\n");
            format!("{name}=\"{text}\"")
        };
        let labels: Vec<_> = labels.iter().map(label).collect();
        let braces = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", labels.join(","))
        };
        let _ = writeln!(self.0, "{name}{braces} {value}");
    }

    /// A number that has no others beside it.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, "gauge", help);
        self.line(name, &[], value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_method_class_and_time() {
        let metrics = Metrics::default();
        metrics.answered(&Method::GET, StatusCode::OK, Duration::from_millis(2));
        metrics.answered(&Method::GET, StatusCode::OK, Duration::from_secs(60));
        metrics.answered(&Method::TRACE, StatusCode::METHOD_NOT_ALLOWED, Duration::ZERO);
        let mut page = Page::default();
        metrics.write(&mut page);
        for line in [
            "deft_http_requests_total{method=\"GET\",status=\"2xx\"} 2",
            "deft_http_requests_total{method=\"OTHER\",status=\"4xx\"} 1",
            "deft_http_request_duration_seconds_bucket{le=\"0.001\"} 1",
            "deft_http_request_duration_seconds_bucket{le=\"0.0025\"} 2",
            "deft_http_request_duration_seconds_bucket{le=\"10\"} 2",
            "deft_http_request_duration_seconds_bucket{le=\"+Inf\"} 3",
            "deft_http_request_duration_seconds_sum 60.002",
        ] {
            assert!(page.0.lines().any(|found| found == line), "{line}\n{}", page.0);
        }
        page.line("x", &[("a", "b\"\\\n")], 1);
        assert!(page.0.ends_with("x{a=\"b\\\"\\\\\\n\"} 1\n"));
    }
}
