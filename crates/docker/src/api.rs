//! Requests to the engine: HTTP over its Unix socket, a connection each.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

use crate::engine::Docker;
use crate::error::DockerError;

/// How long the engine may take to answer: it starts and stops containers within this.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// A longer answer is not read.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// One request. Paths carry no version: each engine then speaks its newest one, and ours are in all of them.
pub(crate) struct Ask {
    /// For errors: "the engine refused to …".
    what: &'static str,
    method: Method,
    path: String,
    content: Option<(&'static str, Bytes)>,
}

impl Ask {
    pub(crate) fn new(what: &'static str, method: Method, path: impl Into<String>) -> Self {
        let path = path.into();
        Self {
            what,
            method,
            path,
            content: None,
        }
    }

    pub(crate) fn get(what: &'static str, path: impl Into<String>) -> Self {
        Self::new(what, Method::GET, path)
    }

    pub(crate) fn post(what: &'static str, path: impl Into<String>) -> Self {
        Self::new(what, Method::POST, path)
    }

    pub(crate) fn query(mut self, parameters: &[(&str, &str)]) -> Self {
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .finish();
        self.path = format!("{}?{query}", self.path);
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.content("application/json", body.to_string().into())
    }

    pub(crate) fn content(mut self, kind: &'static str, bytes: Bytes) -> Self {
        self.content = Some((kind, bytes));
        self
    }
}

/// An answer whose body is still to be read.
pub(crate) struct Answer {
    what: &'static str,
    response: Response<Incoming>,
    /// What carries it.
    connection: AbortOnDropHandle<()>,
}

impl Docker {
    /// Asks, and reads an answer that is a JSON value.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, DockerError> {
        let what = ask.what;
        let bytes = self.send(ask, Connected::Once).await?.bytes().await?;
        serde_json::from_slice(&bytes).map_err(|error| broken(what, &error))
    }

    /// Asks for something to be done that has no answer but that it is done.
    pub(crate) async fn tell(&self, ask: Ask) -> Result<(), DockerError> {
        self.send(ask, Connected::Once).await?.bytes().await.map(drop)
    }

    /// Asks, and takes over the connection as a stream of bytes.
    pub(crate) async fn join(&self, ask: Ask) -> Result<TokioIo<Upgraded>, DockerError> {
        let what = ask.what;
        let answer = self.send(ask, Connected::TakenOver).await?;
        let upgraded = tokio::time::timeout(ANSWER_TIMEOUT, hyper::upgrade::on(answer.response)).await;
        let upgraded = upgraded
            .map_err(|_| DockerError::Slow(what))?
            .map_err(|error| broken(what, &error))?;
        drop(answer.connection); // it has ended by giving the stream away
        Ok(TokioIo::new(upgraded))
    }

    /// Asks, and hands out the answer as soon as it begins.
    pub(crate) async fn stream(&self, ask: Ask) -> Result<Answer, DockerError> {
        self.send(ask, Connected::Once).await
    }

    async fn send(&self, ask: Ask, connected: Connected) -> Result<Answer, DockerError> {
        let what = ask.what;
        let mut request = Request::builder()
            .method(ask.method)
            .uri(ask.path)
            .header(HOST, "localhost");
        if let Connected::TakenOver = connected {
            request = request.header(CONNECTION, "Upgrade").header(UPGRADE, "tcp");
        }
        let (kind, bytes) = ask.content.unwrap_or(("application/json", Bytes::new()));
        let request = request
            .header(CONTENT_TYPE, kind)
            .body(Full::new(bytes))
            .map_err(|error| broken(what, &error))?;

        let stream = UnixStream::connect(self.socket())
            .await
            .map_err(|error| self.unreachable(error))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| broken(what, &error))?;
        let connection = AbortOnDropHandle::new(tokio::spawn(async move {
            let _ = connection.with_upgrades().await; // whoever reads the answer sees the error
        }));
        let response = tokio::time::timeout(ANSWER_TIMEOUT, sender.send_request(request))
            .await
            .map_err(|_| DockerError::Slow(what))?
            .map_err(|error| broken(what, &error))?;
        let status = response.status();
        let answer = Answer {
            what,
            response,
            connection,
        };
        // 304: it is already so.
        if status.is_success() || matches!(status, StatusCode::SWITCHING_PROTOCOLS | StatusCode::NOT_MODIFIED)
        {
            return Ok(answer);
        }
        let message = message(&answer.bytes().await.unwrap_or_default());
        Err(DockerError::full(&message).unwrap_or(DockerError::Refused {
            what,
            status: status.as_u16(),
            message,
        }))
    }

    fn unreachable(&self, error: io::Error) -> DockerError {
        match error.kind() {
            io::ErrorKind::PermissionDenied => DockerError::NoPermission(self.socket().to_owned()),
            _ => DockerError::Down {
                socket: self.socket().to_owned(),
                reason: error,
            },
        }
    }
}

/// What becomes of a connection after the answer.
#[derive(Clone, Copy)]
enum Connected {
    Once,
    TakenOver,
}

impl Answer {
    /// All of it.
    async fn bytes(self) -> Result<Bytes, DockerError> {
        let body = Limited::new(self.response.into_body(), MAX_ANSWER_BYTES).collect();
        match tokio::time::timeout(ANSWER_TIMEOUT, body).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) => Err(broken(self.what, &error)),
            Err(_) => Err(DockerError::Slow(self.what)),
        }
    }

    /// The next piece of it, which may take so long.
    pub(crate) async fn next(&mut self, limit: Duration) -> Result<Option<Bytes>, DockerError> {
        loop {
            let frame = tokio::time::timeout(limit, self.response.frame());
            match frame.await.map_err(|_| DockerError::Slow(self.what))? {
                None => return Ok(None),
                Some(Err(error)) => return Err(broken(self.what, &error)),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}

/// The reason in an answer that refuses.
fn message(bytes: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        message: String,
    }
    let refusal = serde_json::from_slice::<Refusal>(bytes).map(|refusal| refusal.message);
    refusal.unwrap_or_else(|_| String::from_utf8_lossy(bytes).chars().take(500).collect())
}

fn broken(what: &'static str, reason: &impl ToString) -> DockerError {
    DockerError::Broken {
        what,
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_out_of_reach_one_that_is_not_for_us_and_one_whose_disk_is_full_are_told_apart() {
        let docker = Docker::at("/run/docker.sock");
        let why = |kind: io::ErrorKind| docker.unreachable(kind.into()).to_string();
        let refused = why(io::ErrorKind::PermissionDenied);
        assert!(
            refused.contains("no permission") && refused.contains("usermod -aG docker"),
            "{refused}"
        );
        let full = DockerError::full("write /data/x: No space left on device");
        assert!(full.is_some_and(|error| error.to_string().contains("deft images prune")));
        assert!(DockerError::full("conflict").is_none());
        let down = why(io::ErrorKind::ConnectionRefused);
        assert!(down.contains("nothing answers at /run/docker.sock"), "{down}");
    }
}
