//! Requests to the API, and what its refusals mean.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::K8sError;

/// How long the API may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Of a refusal's reason, so much is told.
const MAX_REASON_CHARS: usize = 500;

/// One request: what for, how, and where beneath the namespace.
pub(crate) struct Ask<'a> {
    pub(crate) what: &'static str,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<Value>,
}

impl<'a> Ask<'a> {
    pub(crate) fn get(what: &'static str, path: impl Into<String>) -> Self {
        Self {
            what,
            method: Method::GET,
            path: path.into(),
            query: &[],
            body: None,
        }
    }

    pub(crate) fn create(what: &'static str, path: impl Into<String>, body: Value) -> Self {
        Self {
            method: Method::POST,
            body: Some(body),
            ..Self::get(what, path)
        }
    }

    pub(crate) fn delete(what: &'static str, path: impl Into<String>) -> Self {
        Self {
            method: Method::DELETE,
            ..Self::get(what, path)
        }
    }

    pub(crate) fn query(self, query: &'a [(&'a str, &'a str)]) -> Self {
        Self { query, ..self }
    }
}

impl Cluster {
    /// Whether the API answers us, and its version.
    pub async fn version(&self) -> Result<String, K8sError> {
        let answer = self.ask(Ask::get("tell its version", "/version")).await?;
        Ok(answer["gitVersion"].as_str().unwrap_or("unknown").to_owned())
    }

    /// Asks something that must be answered well.
    pub(crate) async fn ask(&self, ask: Ask<'_>) -> Result<Value, K8sError> {
        let request = || {
            let mut url = self.address(&ask.path);
            if !ask.query.is_empty() {
                url.query_pairs_mut().extend_pairs(ask.query);
            }
            let request = self.client.request(ask.method.clone(), url);
            match &ask.body {
                Some(body) => request.json(body),
                None => request,
            }
        };
        let response = self.send(ask.what, request).await?;
        read(ask.what, response).await
    }

    /// Asks for something that may not be there.
    pub(crate) async fn look(&self, what: &'static str, path: String) -> Result<Option<Value>, K8sError> {
        match self.ask(Ask::get(what, path)).await {
            Err(K8sError::Refused { status: 404, .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Makes something, unless it is there.
    pub(crate) async fn make(
        &self,
        what: &'static str,
        path: &'static str,
        body: Value,
    ) -> Result<(), K8sError> {
        match self.ask(Ask::create(what, path, body)).await {
            Err(K8sError::Refused { status: 409, .. }) => Ok(()),
            made => made.map(drop),
        }
    }

    /// Deletes something that may be gone already.
    pub(crate) async fn remove(&self, ask: Ask<'_>) -> Result<(), K8sError> {
        match self.ask(ask).await {
            Err(K8sError::Refused { status: 404, .. }) => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// The address of something in the namespace. A path that begins with a slash names the group of the API too, and a
    /// star in it is the namespace.
    pub(crate) fn address(&self, path: &str) -> url::Url {
        let mut url = self.server.clone();
        let base = self.server.path().trim_end_matches('/');
        let namespace = format!("namespaces/{}", self.namespace);
        let path = if path.starts_with('/') {
            format!("{base}{}", path.replace('*', &namespace))
        } else {
            format!("{base}/api/v1/{namespace}/{path}")
        };
        url.set_path(&path);
        url
    }

    /// Sends a request as ourselves; whatever the answer is, but that we are unknown.
    pub(crate) async fn send(
        &self,
        what: &'static str,
        request: impl Fn() -> RequestBuilder,
    ) -> Result<Response, K8sError> {
        loop {
            let mut request = request();
            if let Some(token) = self.token().await? {
                let value = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
                let mut value = value.map_err(|_| K8sError::Unauthorized(self.server.to_string()))?;
                value.set_sensitive(true);
                request = request.header(AUTHORIZATION, value);
            }
            let sent = tokio::time::timeout(ANSWER_LIMIT, request.send()).await;
            let response =
                sent.map_err(|_| K8sError::Slow("answer"))?
                    .map_err(|error| K8sError::Unreachable {
                        server: self.server.to_string(),
                        reason: innermost(&error.without_url()),
                    })?;
            match response.status() {
                StatusCode::UNAUTHORIZED if self.forget_token() => {} // it may have expired: once more
                StatusCode::UNAUTHORIZED => return Err(K8sError::Unauthorized(self.server.to_string())),
                status if status.is_success() || status == StatusCode::SWITCHING_PROTOCOLS => {
                    return Ok(response);
                }
                status => {
                    let body = deft_net::reason(response).await;
                    return Err(refusal(what, status.as_u16(), &body));
                }
            }
        }
    }
}

async fn read(what: &'static str, response: Response) -> Result<Value, K8sError> {
    let broken = |reason: String| K8sError::Broken { what, reason };
    let body = tokio::time::timeout(ANSWER_LIMIT, response.bytes()).await;
    let body = body.map_err(|_| K8sError::Slow(what))?;
    let body = body.map_err(|error| broken(error.without_url().to_string()))?;
    serde_json::from_slice(&body).map_err(|error| broken(error.to_string()))
}

/// What a refusal means.
fn refusal(what: &'static str, status: u16, body: &str) -> K8sError {
    let told: Value = serde_json::from_str(body).unwrap_or_default();
    let message = told["message"].as_str().unwrap_or(body);
    let message: String = message.chars().take(MAX_REASON_CHARS).collect();
    match status {
        403 if message.contains("exceeded quota") => K8sError::Quota(message),
        403 => K8sError::Forbidden { what, message },
        _ if message.contains("error dialing backend") => K8sError::NodeGone(message),
        _ => K8sError::Refused {
            what,
            status,
            message,
        },
    }
}

/// What an error is about in the end: "connection refused" rather than "error sending request".
fn innermost(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => innermost(source),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_quota_is_told_from_a_missing_right() {
        let quota = r#"{"message": "pods \"x\" is forbidden: exceeded quota: team, requested: memory=2Gi"}"#;
        let quota = refusal("create a pod", 403, quota).to_string();
        assert!(
            quota.contains("quota is used up") && quota.contains("?memory="),
            "{quota}"
        );
        let right = r#"{"message": "pods is forbidden: User \"u\" cannot create resource"}"#;
        let right = refusal("create a pod", 403, right).to_string();
        assert!(
            right.contains("we may not create a pod") && right.contains("rbac"),
            "{right}"
        );
    }
}
