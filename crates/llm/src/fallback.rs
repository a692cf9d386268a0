//! Asks the next model when one fails for the moment and waiting has not helped.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;

use crate::{Delta, Model, ModelError, ModelProfile, Request};

/// Models in the order in which they are asked. The first one is what the rest of the system sees.
pub(crate) struct Fallback {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
}

impl Fallback {
    /// `first`, and those that stand in for it.
    pub(crate) fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>) -> Self {
        Self { first, others }
    }
}

impl Model for Fallback {
    fn profile(&self) -> &ModelProfile {
        self.first.profile()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let mut models: Vec<_> = std::iter::once(&self.first)
            .chain(&self.others)
            .cloned()
            .collect();
        Box::pin(async_stream::try_stream! {
            let mut attempts = 1;
            loop {
                let model = models.remove(0);
                let mut deltas = model.stream(request.clone());
                let before = attempts;
                let error = loop {
                    match deltas.next().await {
                        Some(Ok(Delta::Retry { attempt, wait, reason })) => {
                            attempts = before + attempt - 1;
                            yield Delta::Retry { attempt: attempts, wait, reason };
                        }
                        // What it cost is a matter of who answered.
                        Some(Ok(Delta::Usage(usage))) => yield Delta::Usage(model.profile().priced(usage)),
                        Some(Ok(delta)) => yield delta,
                        Some(Err(error)) => break error,
                        None => return,
                    }
                };
                if models.is_empty() || !error.is_transient() {
                    Err(error)?;
                } else {
                    attempts += 1;
                    let reason = format!("{error}; going on with {}", models[0].profile().name);
                    yield Delta::Retry { attempt: attempts, wait: Duration::ZERO, reason };
                }
            }
        })
    }
}
