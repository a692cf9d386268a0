//! Requests, and what their failures mean.

use std::path::Path;
use std::time::Duration;

use deft_types::Secret;
use deft_workspace::says_disk_is_full;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::error::RemoteError;

/// Of a refusal's reason, so much is told.
const MAX_REASON_CHARS: usize = 500;

/// Connections that are kept for further requests.
const MAX_IDLE_CONNECTIONS: usize = 4;

/// A server that answers requests, and the key it wants.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    client: Client,
    /// For requests that ask for a socket: a server that refuses may close the connection without a word, which
    /// therefore nobody must use again.
    for_sockets: Client,
    base: Url,
    key: Option<(HeaderName, Secret<String>)>,
}

impl Http {
    /// Certificates of a file are trusted beside the built-in ones.
    pub(crate) fn new(
        base: Url,
        header: &'static str,
        key: Option<Secret<String>>,
        ca_file: Option<&Path>,
    ) -> Result<Self, RemoteError> {
        let unusable = |reason: &dyn std::fmt::Display| RemoteError::Client(reason.to_string());
        let mut tls = deft_net::tls(ca_file).map_err(|error| unusable(&error))?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()]; // what sockets need
        let client = |idle: usize| {
            let client = deft_net::builder_with(tls.clone(), &base)
                .http1_only()
                .pool_max_idle_per_host(idle);
            client.build().map_err(|error| unusable(&error))
        };
        let (client, for_sockets) = (client(MAX_IDLE_CONNECTIONS)?, client(0)?);
        Ok(Self {
            client,
            for_sockets,
            base,
            key: key.map(|key| (HeaderName::from_static(header), key)),
        })
    }

    /// The server, for people: without anything that may be secret.
    pub(crate) fn name(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        let port = self
            .base
            .port()
            .map_or_else(String::new, |port| format!(":{port}"));
        format!("{}://{host}{port}", self.base.scheme())
    }

    pub(crate) fn get(&self, path: &str, query: &[(&str, &str)]) -> RequestBuilder {
        self.with_key(self.client.get(self.address(path, query)))
    }

    /// A request for a socket.
    pub(crate) fn get_socket(&self, path: &str, query: &[(&str, &str)]) -> RequestBuilder {
        self.with_key(self.for_sockets.get(self.address(path, query)))
    }

    pub(crate) fn post(&self, path: &str, query: &[(&str, &str)]) -> RequestBuilder {
        self.with_key(self.client.post(self.address(path, query)))
    }

    fn address(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url.set_query(None);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    fn with_key(&self, request: RequestBuilder) -> RequestBuilder {
        let Some((name, key)) = &self.key else {
            return request;
        };
        match HeaderValue::from_str(key.expose()) {
            Ok(mut value) => {
                value.set_sensitive(true);
                request.header(name, value)
            }
            Err(_) => request, // it will be refused for want of a key
        }
    }

    /// Sends a request; whatever the answer is.
    pub(crate) async fn send(
        &self,
        what: &'static str,
        request: RequestBuilder,
        limit: Duration,
    ) -> Result<Response, RemoteError> {
        let sent = tokio::time::timeout(limit, request.send()).await;
        sent.map_err(|_| self.slow(what))?
            .map_err(|error| RemoteError::Unreachable {
                server: self.name(),
                reason: innermost(&error.without_url()),
            })
    }

    /// Sends a request that must succeed, and reads the answer's JSON.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        what: &'static str,
        request: RequestBuilder,
        limit: Duration,
    ) -> Result<T, RemoteError> {
        let response = self.send(what, request, limit).await?;
        let response = self.good(what, response).await?;
        let body = tokio::time::timeout(limit, response.bytes()).await;
        let body = body.map_err(|_| self.slow(what))?;
        let body = body.map_err(|error| self.broken(what, &error.without_url()))?;
        serde_json::from_slice(&body).map_err(|error| self.broken(what, &error))
    }

    /// The answer, if it is a good one.
    pub(crate) async fn good(&self, what: &'static str, response: Response) -> Result<Response, RemoteError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::UNAUTHORIZED {
            return Err(self.denied());
        }
        let body = deft_net::reason(response).await;
        let told: Value = serde_json::from_str(&body).unwrap_or_default();
        // What went wrong inside a server is not in its `detail`.
        let reason = told["exception"].as_str().or(told["detail"].as_str());
        // With a key that is good for something else, or for others' things, servers say so.
        if status == StatusCode::FORBIDDEN && reason.is_none() {
            return Err(self.denied());
        }
        let message: String = reason.unwrap_or(&body).chars().take(MAX_REASON_CHARS).collect();
        Err(self.full(what, &message).unwrap_or(RemoteError::Refused {
            server: self.name(),
            what,
            status: status.as_u16(),
            message,
        }))
    }

    pub(crate) fn denied(&self) -> RemoteError {
        RemoteError::Denied(self.name())
    }

    pub(crate) fn slow(&self, what: &'static str) -> RemoteError {
        RemoteError::Slow {
            server: self.name(),
            what,
        }
    }

    pub(crate) fn broken(&self, what: &'static str, reason: &dyn std::fmt::Display) -> RemoteError {
        let reason = reason.to_string();
        self.full(what, &reason).unwrap_or(RemoteError::Broken {
            server: self.name(),
            what,
            reason,
        })
    }

    /// The server has told why it cannot open the workspace.
    pub(crate) fn unopened(&self, reason: &str) -> RemoteError {
        self.full("open the workspace", reason)
            .unwrap_or_else(|| RemoteError::Workspace {
                server: self.name(),
                reason: reason.to_owned(),
            })
    }

    /// The error for these words of the server, if they are about its disk.
    fn full(&self, what: &'static str, words: &str) -> Option<RemoteError> {
        says_disk_is_full(words).then(|| RemoteError::NoSpace {
            server: self.name(),
            what,
            reason: words.to_owned(),
        })
    }
}

/// What an error is about in the end: "connection refused" rather than "error sending request".
fn innermost(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => innermost(source),
        None => error.to_string(),
    }
}
