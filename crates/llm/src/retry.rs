//! Asks again when that may help: waits as long as the server says, else a random time that doubles.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio::time::{Instant, sleep, timeout_at};

use crate::{Delta, Model, ModelError, ModelProfile, Request, TokenCount};

/// How often a server is asked that may be none of a model at all.
const PROTOCOL_ATTEMPTS: u32 = 2;

/// When and how often to ask again.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// How often to ask at all.
    pub attempts: u32,
    /// The longest first wait; each further one may be twice as long.
    pub first_wait: Duration,
    /// The longest wait of our own choice.
    pub longest_wait: Duration,
    /// The longest wait that a server may ask for. Beyond it the failure is reported instead.
    pub longest_asked_wait: Duration,
    /// How long a call may take in all, waits included.
    pub total_timeout: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_wait: Duration::from_secs(8),
            longest_wait: Duration::from_secs(64),
            longest_asked_wait: Duration::from_secs(300),
            total_timeout: Duration::from_secs(3600),
        }
    }
}

impl RetryPolicy {
    /// How long to wait after a failed attempt (counted from 1); `None`: not to be asked again. `chance` is
    /// between 0 and 1: waits are spread, so that many who failed together do not come back together.
    fn wait_after(&self, attempt: u32, error: &ModelError, chance: f64) -> Option<Duration> {
        let attempts = if matches!(error, ModelError::Protocol { .. }) {
            self.attempts.min(PROTOCOL_ATTEMPTS)
        } else {
            self.attempts
        };
        if attempt >= attempts || !error.is_transient() {
            return None;
        }
        if let Some(asked) = error.retry_after() {
            return (asked <= self.longest_asked_wait).then_some(asked);
        }
        let doubled = self.first_wait.saturating_mul(2_u32.saturating_pow(attempt - 1));
        Some(doubled.min(self.longest_wait).mul_f64(chance.clamp(0.0, 1.0)))
    }
}

/// The same model, asked again when it fails for the moment. Each wait is told by [`Delta::Retry`].
pub fn with_retries(model: Arc<dyn Model>, policy: RetryPolicy) -> Arc<dyn Model> {
    Arc::new(Retrying {
        model,
        policy,
        chance: random,
    })
}

fn random() -> f64 {
    f64::from(uuid::Uuid::new_v4().as_fields().0) / f64::from(u32::MAX)
}

struct Retrying {
    model: Arc<dyn Model>,
    policy: RetryPolicy,
    /// A random number between 0 and 1.
    chance: fn() -> f64,
}

impl Model for Retrying {
    fn profile(&self) -> &ModelProfile {
        self.model.profile()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let (model, policy, chance) = (self.model.clone(), self.policy.clone(), self.chance);
        Box::pin(async_stream::try_stream! {
            let deadline = Instant::now() + policy.total_timeout;
            let mut attempt = 1;
            loop {
                let mut deltas = model.stream(request.clone());
                let error = loop {
                    match timeout_at(deadline, deltas.next()).await {
                        Ok(Some(Ok(delta))) => yield delta,
                        Ok(Some(Err(error))) => break error,
                        Ok(None) => return,
                        Err(_) => Err(took_too_long(policy.total_timeout))?,
                    }
                };
                drop(deltas); // nothing is open while we wait
                match policy.wait_after(attempt, &error, chance()) {
                    Some(wait) if Instant::now() + wait < deadline => {
                        attempt += 1;
                        yield Delta::Retry { attempt, wait, reason: error.to_string() };
                        sleep(wait).await;
                    }
                    _ => Err(error)?,
                }
            }
        })
    }

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        self.model.count(request)
    }
}

fn took_too_long(limit: Duration) -> ModelError {
    ModelError::Timeout {
        detail: format!("the call took longer than {} s in all", limit.as_secs()),
    }
}
