//! Sends requests to providers and reads their answers: the part that is the same for all of them.

mod client;
mod failure;
mod fetch;
mod proxies;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use deft_types::Tokens;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use reqwest::{Client, Response, header};
use tokio::time::timeout;

pub(crate) use self::client::{base_address, new_client};
pub(crate) use self::failure::{CUT, excerpt, failure_of};
use self::failure::{MAX_FAILURE_BYTES, retry_after};
pub(crate) use self::fetch::fetch;
pub use self::proxies::Proxies;
use crate::api::{Api, Post};
use crate::count::{Answer, COUNT_TIMEOUT, count_here};
use crate::secrets::Secrets;
use crate::{CountSource, Delta, Model, ModelError, ModelProfile, Request, Subscription, TokenCount};

/// How long to wait for what is nice to have: token counts after a whole reply, the text of a failure.
const AFTERMATH_TIMEOUT: Duration = Duration::from_secs(10);

/// A model behind HTTP.
#[derive(Clone)]
pub(crate) struct HttpModel {
    pub(crate) profile: ModelProfile,
    pub(crate) api: Arc<dyn Api>,
    pub(crate) client: Client,
    /// How long a server may be silent within its answer.
    pub(crate) idle_timeout: Duration,
    /// How long it may be silent before its answer.
    pub(crate) head_timeout: Duration,
    /// Taken out of whatever a server echoes.
    pub(crate) secrets: Secrets,
    /// Who lets us in, where no key does.
    pub(crate) subscription: Option<Arc<dyn Subscription>>,
}

impl Model for HttpModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let model = self.clone();
        Box::pin(async_stream::try_stream! {
            let (mut response, server, secrets) = model.send(&request).await?;
            let mut reader = model.api.reader();
            let failure = loop {
                if reader.is_done() {
                    break None;
                }
                let patience = if reader.is_whole() { AFTERMATH_TIMEOUT } else { model.idle_timeout };
                let bytes = match next_bytes(&mut response, patience, &server).await {
                    Ok(Some(bytes)) => bytes,
                    Ok(None) => break None,
                    // What is missing is only the bookkeeping.
                    Err(_) if reader.is_whole() => break None,
                    Err(error) => break Some(error),
                };
                match reader.feed(&bytes) {
                    Ok(deltas) => {
                        for delta in deltas {
                            yield model.profile.priced(delta);
                        }
                    }
                    Err(error) => break Some(error),
                }
            };
            match failure.map_or_else(|| reader.finish(), Err) {
                Ok(deltas) => {
                    for delta in deltas {
                        yield model.profile.priced(delta);
                    }
                }
                Err(error) => {
                    // What came to nothing has its price too.
                    if let Some(usage) = reader.usage() {
                        yield model.profile.priced(Delta::Usage(usage));
                    }
                    Err(secrets.redact(error))?;
                }
            }
        })
    }

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        let model = self.clone();
        let count = async move {
            match model.ask_to_count(&request).await {
                Some(count) => count,
                None => count_here(model.profile.name, request).await,
            }
        };
        count.boxed()
    }
}

impl HttpModel {
    /// What the server counts, if it does.
    async fn ask_to_count(&self, request: &Request) -> Option<TokenCount> {
        let mut question = self.api.count(request)?;
        loop {
            let Post { url, headers, body } = question.post;
            let post = self.client.post(url).headers(headers);
            let post = post.header(header::CONTENT_TYPE, "application/json");
            let answer = fetch(post.body(body), COUNT_TIMEOUT).await.ok()?;
            match (question.read)(&answer) {
                Answer::Tokens(0) | Answer::None => return None,
                Answer::Tokens(count) => {
                    return Some(TokenCount {
                        tokens: Tokens(count),
                        source: CountSource::Server,
                    });
                }
                Answer::Ask(next) => question = *next,
            }
        }
    }

    /// Sends the request and waits for the answer's head. Gives back the server's name too, and what its messages must
    /// not show.
    async fn send(&self, request: &Request) -> Result<(Response, Server, Secrets), ModelError> {
        let mut post = self.api.post(request)?;
        let mut secrets = self.secrets.clone();
        if let Some(subscription) = &self.subscription {
            let pass = subscription.pass().await?;
            post.headers.extend(pass.headers()?);
            secrets = pass.secrets();
        }
        let server = Server::of(&post.url);
        let sending = self
            .client
            .post(post.url)
            .header(header::CONTENT_TYPE, "application/json")
            .headers(post.headers)
            .body(post.body)
            .send();
        let response = timeout(self.head_timeout, sending)
            .await
            .map_err(|_| silent(self.head_timeout))?
            .map_err(|error| server.failure(error))?;
        if response.status().is_success() {
            return match response.headers().get(header::CONTENT_ENCODING) {
                Some(encoding) if encoding != "identity" => Err(ModelError::Protocol {
                    detail: format!("the answer is encoded as {encoding:?}, which nobody asked for"),
                }),
                Some(_) | None => Ok((response, server, secrets)),
            };
        }
        let status = response.status().as_u16();
        let wait = retry_after(response.headers());
        let text = failure_text(response, &server).await;
        let failure = secrets.redact(failure_of(Some(status), wait, &text));
        Err(match failure {
            ModelError::Authentication { detail } if self.subscription.is_some() => ModelError::Login {
                detail: format!("{detail}; log in again"),
            },
            failure => failure,
        })
    }
}

/// The next bytes of the answer; `None` at its end.
async fn next_bytes(
    response: &mut Response,
    patience: Duration,
    server: &Server,
) -> Result<Option<Bytes>, ModelError> {
    timeout(patience, response.chunk())
        .await
        .map_err(|_| silent(patience))?
        .map_err(|error| server.failure(error))
}

/// The body of a failure, as far as it comes.
async fn failure_text(mut response: Response, server: &Server) -> String {
    let mut body = Vec::new();
    while body.len() < MAX_FAILURE_BYTES
        && let Ok(Some(bytes)) = next_bytes(&mut response, AFTERMATH_TIMEOUT, server).await
    {
        body.extend_from_slice(&bytes);
    }
    body.truncate(MAX_FAILURE_BYTES);
    String::from_utf8_lossy(&body).into_owned()
}

/// A server as messages name it: host and port. The rest of an address may hold a secret.
struct Server(String);

impl Server {
    fn of(url: &reqwest::Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or_default();
        Self(format!("{host}:{port}"))
    }

    /// A failure of the connection.
    fn failure(&self, error: reqwest::Error) -> ModelError {
        let timed_out = error.is_timeout();
        let mut detail = format!("{}: {}", self.0, deft_net::root_cause(&error.without_url()));
        if timed_out {
            return ModelError::Timeout { detail };
        }
        if self.0.starts_with("localhost:") || self.0.starts_with("127.0.0.1:") {
            detail.push_str(". Is the server running?");
        }
        ModelError::Network { detail }
    }
}

fn silent(patience: Duration) -> ModelError {
    ModelError::Timeout {
        detail: format!("nothing came for {} s", patience.as_secs_f32()),
    }
}
