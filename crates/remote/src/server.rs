//! An agent server: what is asked of it.

use std::path::Path;
use std::time::Duration;

use deft_types::Secret;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;

use crate::error::RemoteError;
use crate::http::Http;

/// The header that carries the key, in the protocol of agent servers.
const KEY_HEADER: &str = "x-session-api-key";
/// How long anything short may take.
const SHORT_LIMIT: Duration = Duration::from_secs(30);
/// How long our program may take to the other server.
const UPLOAD_LIMIT: Duration = Duration::from_secs(600);
/// How much longer than the command the answer to it may take.
const COMMAND_SLACK: Duration = Duration::from_secs(15);

/// A server with the API of an agent server: another Deft, or an OpenHands one.
#[derive(Clone, Debug)]
pub struct AgentServer {
    pub(crate) http: Http,
}

/// What came of a command.
#[derive(Debug, Deserialize)]
pub(crate) struct Ran {
    pub(crate) exit_code: Option<i64>,
    stdout: Option<String>,
    stderr: Option<String>,
}

impl Ran {
    pub(crate) fn stdout(&self) -> &str {
        self.stdout.as_deref().unwrap_or_default().trim()
    }

    pub(crate) fn stderr(&self) -> &str {
        self.stderr.as_deref().unwrap_or_default().trim()
    }
}

impl AgentServer {
    /// The server at an address, which wants this key. Certificates of a company's own are in `ca_file`.
    pub fn new(url: Url, key: Option<Secret<String>>, ca_file: Option<&Path>) -> Result<Self, RemoteError> {
        Ok(Self {
            http: Http::new(url, KEY_HEADER, key, ca_file)?,
        })
    }

    /// Whether it lets us in.
    pub async fn check_key(&self) -> Result<(), RemoteError> {
        let request = self.http.get("/api/bash/bash_events/search", &[("limit", "1")]);
        let what = "let us in";
        self.http.ask::<Value>(what, request, SHORT_LIMIT).await.map(drop)
    }

    /// Whether it answers.
    pub(crate) async fn ping(&self) -> Result<(), RemoteError> {
        let what = "say that it is well";
        let response = self
            .http
            .send(what, self.http.get("/health", &[]), SHORT_LIMIT)
            .await?;
        self.http.good(what, response).await.map(drop)
    }

    /// Runs a command to its end.
    pub(crate) async fn run(
        &self,
        what: &'static str,
        command: &str,
        limit: Duration,
    ) -> Result<Ran, RemoteError> {
        let body = json!({"command": command, "timeout": limit.as_secs()});
        let request = self.http.post("/api/bash/execute_bash_command", &[]).json(&body);
        self.http.ask(what, request, limit + COMMAND_SLACK).await
    }

    /// Starts a command that may run for so long.
    pub(crate) async fn start(
        &self,
        what: &'static str,
        command: &str,
        limit: Duration,
    ) -> Result<(), RemoteError> {
        let body = json!({"command": command, "timeout": limit.as_secs()});
        let request = self.http.post("/api/bash/start_bash_command", &[]).json(&body);
        self.http.ask::<Value>(what, request, SHORT_LIMIT).await.map(drop)
    }

    /// Puts a file in its place, as one part of a form.
    pub(crate) async fn upload(&self, path: &str, content: &[u8]) -> Result<(), RemoteError> {
        let boundary = Uuid::new_v4().simple().to_string();
        let mut body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"deft\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        )
        .into_bytes();
        body.extend_from_slice(content);
        body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        let request = self.http.post("/api/file/upload", &[("path", path)]);
        let request = request.header(CONTENT_TYPE, format!("multipart/form-data; boundary={boundary}"));
        let what = "take our program";
        let request = request.body(body);
        self.http
            .ask::<Value>(what, request, UPLOAD_LIMIT)
            .await
            .map(drop)
    }
}
