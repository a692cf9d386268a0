//! Asks the next model when one fails for the moment and waiting has not helped.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::{Delta, Model, ModelError, ModelProfile, Request, TokenCount};

/// A model with those that stand in for it, in the order in which they are asked.
pub fn with_stand_ins(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>) -> Arc<dyn Model> {
    if others.is_empty() {
        first
    } else {
        Arc::new(Fallback { first, others })
    }
}

/// Models in the order in which they are asked. The first one is what the rest of the system sees.
struct Fallback {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
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

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        self.first.count(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FinishReason, Prices, Usage, complete};
    use futures::stream;

    struct Given(ModelProfile, Vec<Result<Delta, ModelError>>);

    impl Model for Given {
        fn profile(&self) -> &ModelProfile {
            &self.0
        }

        fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
            stream::iter(self.1.clone()).boxed()
        }
    }

    #[tokio::test]
    async fn the_price_of_the_first_is_not_that_of_a_stand_in() {
        let priced = ModelProfile {
            prices: Some(Prices::FREE),
            ..ModelProfile::unknown("priced")
        };
        let detail = "gone".to_owned();
        let failing = Given(priced, vec![Err(ModelError::Unavailable { detail })]);
        let answer = [
            Delta::Usage(Usage::default()),
            Delta::Finished(FinishReason::Stop),
        ];
        let unpriced = Given(ModelProfile::unknown("other"), answer.map(Ok).to_vec());
        let model = with_stand_ins(Arc::new(failing), vec![Arc::new(unpriced)]);
        let reply = complete(model.as_ref(), Request::default(), |_| ())
            .await
            .unwrap();
        assert_eq!(reply.cost, None);
    }
}
