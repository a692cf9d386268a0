//! Carries a batch to the collector.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use reqwest::Client;
use tokio::runtime::Handle;

/// How long one batch may take.
const LIMIT: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug)]
pub(crate) struct Post {
    client: Client,
    /// Batches are sent from a thread without a runtime.
    runtime: Handle,
    /// Whether the last one failed. The first failure is told, and the first success after it.
    is_failing: Arc<AtomicBool>,
}

impl Post {
    pub(crate) fn new(client: Client, runtime: Handle) -> Self {
        Self {
            client,
            runtime,
            is_failing: Arc::default(),
        }
    }

    fn note(&self, failure: Option<&str>) {
        let was_failing = self.is_failing.swap(failure.is_some(), Ordering::Relaxed);
        match failure {
            Some(reason) if !was_failing => {
                tracing::warn!(
                    reason,
                    "traces cannot be sent; those that do not fit into the queue are dropped"
                );
            }
            None if was_failing => tracing::info!("traces can be sent again"),
            Some(_) | None => {}
        }
    }
}

#[async_trait]
impl HttpClient for Post {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let exchange = async move {
            let mut request = reqwest::Request::try_from(request)?;
            *request.timeout_mut() = Some(LIMIT);
            client.execute(request).await
        };
        let answer = match self.runtime.spawn(exchange).await? {
            Ok(answer) => answer,
            Err(error) => {
                self.note(Some(&deft_net::root_cause(&error)));
                return Err(error.into());
            }
        };
        let status = answer.status();
        let failure = (!status.is_success()).then(|| format!("the collector answers with {status}"));
        self.note(failure.as_deref());
        let mut told = Response::new(Bytes::new()); // nobody needs its words
        *told.status_mut() = status;
        *told.headers_mut() = answer.headers().clone();
        Ok(told)
    }
}
