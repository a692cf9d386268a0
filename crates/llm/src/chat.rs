//! Models behind the OpenAI chat API, which most servers speak.

mod body;
mod chunk;
mod client;
mod failure;
mod reader;

use std::time::Duration;

use bytes::Bytes;
use deft_types::Secret;
use futures::stream::BoxStream;
use reqwest::{Client, Response, Url, header};
use tokio::time::timeout;

pub(crate) use self::client::{address, new_client};
pub(crate) use self::failure::failure_of;
use self::failure::{MAX_FAILURE_BYTES, retry_after};
use self::reader::ReplyReader;
use crate::provider::Dialect;
use crate::{Delta, Model, ModelError, ModelProfile, Request};

/// How long to wait for what is nice to have: token counts after a whole reply, the text of a failure.
const AFTERMATH_TIMEOUT: Duration = Duration::from_secs(10);

/// A model behind the OpenAI chat API.
#[derive(Clone)]
pub(crate) struct ChatModel {
    pub(crate) profile: ModelProfile,
    /// The name that the server knows it by.
    pub(crate) wire_name: String,
    pub(crate) dialect: Dialect,
    pub(crate) client: Client,
    /// Where requests go.
    pub(crate) url: Url,
    pub(crate) api_key: Option<Secret<String>>,
    pub(crate) idle_timeout: Duration,
}

impl Model for ChatModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let model = self.clone();
        Box::pin(async_stream::try_stream! {
            let mut response = model.send(&request).await?;
            let mut reader = ReplyReader::default();
            while !reader.is_done() {
                let patience = if reader.is_whole() { AFTERMATH_TIMEOUT } else { model.idle_timeout };
                let bytes = match model.next_bytes(&mut response, patience).await {
                    Ok(Some(bytes)) => bytes,
                    Ok(None) => break,
                    // What is missing is only the bookkeeping.
                    Err(_) if reader.is_whole() => break,
                    Err(error) => Err(error)?,
                };
                for delta in reader.feed(&bytes).map_err(|error| model.redact(error))? {
                    yield delta;
                }
            }
            for delta in reader.finish().map_err(|error| model.redact(error))? {
                yield delta;
            }
        })
    }
}

impl ChatModel {
    /// Sends the request and waits for the answer's head.
    async fn send(&self, request: &Request) -> Result<Response, ModelError> {
        let mut post = self
            .client
            .post(self.url.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .body(body::of(self, request)?);
        if let Some(key) = &self.api_key {
            post = post.bearer_auth(key.expose());
        }
        let response = timeout(self.idle_timeout, post.send())
            .await
            .map_err(|_| silent(self.idle_timeout))?
            .map_err(|error| self.transport_failure(error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let wait = retry_after(response.headers());
        let text = self.failure_text(response).await;
        Err(self.redact(failure_of(Some(status), wait, &text)))
    }

    /// The next bytes of the answer; `None` at its end.
    async fn next_bytes(
        &self,
        response: &mut Response,
        patience: Duration,
    ) -> Result<Option<Bytes>, ModelError> {
        timeout(patience, response.chunk())
            .await
            .map_err(|_| silent(patience))?
            .map_err(|error| self.transport_failure(error))
    }

    /// The body of a failure, as far as it comes.
    async fn failure_text(&self, mut response: Response) -> String {
        let mut body = Vec::new();
        while body.len() < MAX_FAILURE_BYTES
            && let Ok(Some(bytes)) = self.next_bytes(&mut response, AFTERMATH_TIMEOUT).await
        {
            body.extend_from_slice(&bytes);
        }
        body.truncate(MAX_FAILURE_BYTES);
        String::from_utf8_lossy(&body).into_owned()
    }

    /// A failure of the connection. The address is reduced to host and port: the rest may hold a secret.
    fn transport_failure(&self, error: reqwest::Error) -> ModelError {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port_or_known_default().unwrap_or_default();
        let timed_out = error.is_timeout();
        let mut detail = format!("{host}:{port}: {}", root_cause(&error.without_url()));
        if timed_out {
            return ModelError::Timeout { detail };
        }
        if host == "localhost" || host == "127.0.0.1" {
            detail.push_str(". Is the server running?");
        }
        ModelError::Network { detail }
    }

    /// Takes the key out, should the server have echoed it.
    fn redact(&self, mut error: ModelError) -> ModelError {
        if let Some(key) = &self.api_key {
            let detail = error.detail_mut();
            *detail = detail.replace(key.expose(), "**********");
        }
        error
    }
}

fn silent(patience: Duration) -> ModelError {
    ModelError::Timeout {
        detail: format!("nothing came for {} s", patience.as_secs_f32()),
    }
}

/// The innermost error says what happened; those around it only where.
fn root_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => root_cause(source),
        None => error.to_string(),
    }
}
