//! When a server that could not be started is tried again. Until then calls that want it fail at once, instead of each
//! trying it in vain.

use tokio::time::Instant;

use crate::limits::{FIRST_REST, MAX_RESTARTS};

/// None, until a start has failed.
#[derive(Default)]
pub(crate) struct Rest {
    /// Starts in a row that have failed.
    failures: u32,
    /// Why the last one did, and when the next may be tried.
    failed: Option<(String, Instant)>,
}

impl Rest {
    /// A start has failed; each one in a row doubles the time until the next.
    pub(crate) fn begin(&mut self, reason: &str) {
        let pause = FIRST_REST * 2_u32.pow(self.failures.min(MAX_RESTARTS));
        self.failures = self.failures.saturating_add(1);
        self.failed = Some((reason.to_owned(), Instant::now() + pause));
    }

    /// Why it is not started now, if it is to be left alone.
    pub(crate) fn reason(&self) -> Option<String> {
        let (reason, until) = self.failed.as_ref()?;
        let left = until.checked_duration_since(Instant::now())?;
        let seconds = left.as_secs() + 1;
        Some(format!("{reason} (it is not started again for {seconds} s)"))
    }

    /// Waits until it is to be tried again without being asked for, for ever if it is not.
    pub(crate) async fn over(&self) {
        match &self.failed {
            Some((_, until)) if self.failures <= MAX_RESTARTS => tokio::time::sleep_until(*until).await,
            _ => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_cannot_be_started_is_tried_again_ever_more_seldom_and_then_no_more() {
        let (begun, mut rest) = (Instant::now(), Rest::default());
        assert_eq!(rest.reason(), None);
        for _ in 0..MAX_RESTARTS {
            rest.begin("it is broken");
            let told = rest.reason().unwrap();
            assert!(
                told.starts_with("it is broken (it is not started again for "),
                "{told}"
            );
            rest.over().await;
        }
        assert_eq!(begun.elapsed().as_secs(), 63);
        rest.begin("it is broken");
        let wait = tokio::time::timeout(Duration::from_secs(3600), rest.over()).await;
        assert!(wait.is_err(), "nobody asks for it any more");
        assert_eq!(rest.reason(), None, "a call may");
    }
}
