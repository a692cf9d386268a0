//! The protocol by which hosted sandboxes are started, put to sleep, woken and ended.

use std::path::{Path, PathBuf};
use std::time::Duration;

use deft_types::{ConversationId, Secret};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use url::Url;

use crate::error::RemoteError;
use crate::http::Http;
use crate::server::AgentServer;

const KEY_HEADER: &str = "x-api-key";
/// How long a request may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(60);
/// How long a sandbox may take until its server answers.
const READY_LIMIT: Duration = Duration::from_secs(300);
/// How often it is looked whether a sandbox is ready: at first, and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// How the server is started in a sandbox, where nobody says otherwise: as in the images of the OpenHands server.
const COMMAND: &str = "/usr/local/bin/openhands-agent-server --port 60000";
const USER: u32 = 10001;

/// A service that keeps sandboxes.
#[derive(Clone, Debug)]
pub struct RuntimeApi {
    http: Http,
    ca_file: Option<PathBuf>,
}

/// What a sandbox is to be.
#[derive(Clone, Debug)]
pub struct SandboxSpec {
    /// The image, with an agent server in it.
    pub image: String,
    /// The command that starts that server, if not the usual one.
    pub command: Option<String>,
    /// How it is shut in, by the service's name for that.
    pub runtime_class: Option<String>,
    /// How many times the usual resources it gets: 1, 2, 4 or 8.
    pub resource_factor: u8,
}

/// A sandbox, as the service tells of it.
#[derive(Clone, Debug, Deserialize)]
pub struct Sandbox {
    /// The service's name for it.
    #[serde(alias = "id")]
    pub runtime_id: String,
    /// Where its server is.
    #[serde(default)]
    pub url: Option<String>,
    #[serde(default)]
    session_api_key: Option<Secret<String>>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    pod_status: Option<String>,
}

impl Sandbox {
    /// Whether it is awake.
    pub fn is_running(&self) -> bool {
        self.status.as_deref() == Some("running")
    }

    fn is_paused(&self) -> bool {
        self.status.as_deref() == Some("paused")
    }
}

impl RuntimeApi {
    /// The service at an address, which wants this key.
    pub fn new(url: Url, key: Option<Secret<String>>, ca_file: Option<&Path>) -> Result<Self, RemoteError> {
        Ok(Self {
            http: Http::new(url, KEY_HEADER, key, ca_file)?,
            ca_file: ca_file.map(Path::to_owned),
        })
    }

    /// The sandbox of a conversation, if it has one.
    pub async fn find(&self, conversation: ConversationId) -> Result<Option<Sandbox>, RemoteError> {
        let request = self.http.get(&format!("/sessions/{}", conversation.hex()), &[]);
        match self
            .http
            .ask("tell of its sandboxes", request, REQUEST_LIMIT)
            .await
        {
            Err(RemoteError::Refused { status: 404, .. }) => Ok(None),
            Ok(Sandbox {
                status: Some(status), ..
            }) if status == "stopped" => Ok(None),
            found => found.map(Some),
        }
    }

    /// Makes a sandbox for a conversation.
    pub async fn start(
        &self,
        spec: &SandboxSpec,
        conversation: ConversationId,
    ) -> Result<Sandbox, RemoteError> {
        let mut body = json!({
            "image": spec.image,
            "command": spec.command.as_deref().unwrap_or(COMMAND),
            "working_dir": "/",
            "environment": {},
            "session_id": conversation.hex(),
            "run_as_user": USER,
            "fs_group": USER,
        });
        let optional = [
            ("runtime_class", spec.runtime_class.clone().map(Value::from)),
            (
                "resource_factor",
                (spec.resource_factor != 1).then(|| spec.resource_factor.into()),
            ),
        ];
        if let Some(body) = body.as_object_mut() {
            let given = optional
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?)));
            body.extend(given.collect::<Map<String, Value>>());
        }
        let request = self.http.post("/start", &[]).json(&body);
        self.http.ask("start a sandbox", request, REQUEST_LIMIT).await
    }

    /// Puts a sandbox to sleep.
    pub async fn pause(&self, sandbox: &Sandbox) -> Result<(), RemoteError> {
        self.order("put a sandbox to sleep", "/pause", sandbox).await
    }

    /// Wakes a sandbox.
    pub async fn resume(&self, sandbox: &Sandbox) -> Result<(), RemoteError> {
        self.order("wake a sandbox", "/resume", sandbox).await
    }

    /// Ends a sandbox for good.
    pub async fn stop(&self, sandbox: &Sandbox) -> Result<(), RemoteError> {
        self.order("end a sandbox", "/stop", sandbox).await
    }

    async fn order(&self, what: &'static str, path: &str, sandbox: &Sandbox) -> Result<(), RemoteError> {
        let request = self.http.post(path, &[]);
        let request = request.json(&json!({"runtime_id": sandbox.runtime_id}));
        let response = self.http.send(what, request, REQUEST_LIMIT).await?;
        self.http.good(what, response).await.map(drop)
    }

    /// The server in the sandbox of a conversation, which is started or woken if need be.
    pub(crate) async fn ready(
        &self,
        spec: &SandboxSpec,
        conversation: ConversationId,
    ) -> Result<AgentServer, RemoteError> {
        let mut started = match self.find(conversation).await? {
            None => self.start(spec, conversation).await?,
            Some(sandbox) if sandbox.is_paused() => {
                self.resume(&sandbox).await?;
                sandbox
            }
            Some(sandbox) => sandbox,
        };
        let deadline = Instant::now() + READY_LIMIT;
        let mut pause = FIRST_PAUSE;
        loop {
            match started.pod_status.as_deref() {
                Some(status @ ("failed" | "unknown" | "crashloopbackoff")) => {
                    return Err(RemoteError::Sandbox {
                        server: self.http.name(),
                        status: status.to_owned(),
                    });
                }
                Some("ready") => {
                    let server = self.server(&started)?;
                    if server.ping().await.is_ok() {
                        return Ok(server);
                    }
                }
                Some(_) | None => {}
            }
            if Instant::now() >= deadline {
                return Err(self.http.slow("have the sandbox ready"));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
            if let Some(now) = self.find(conversation).await? {
                started = now;
            }
        }
    }

    /// The server in a sandbox.
    pub(crate) fn server(&self, sandbox: &Sandbox) -> Result<AgentServer, RemoteError> {
        let url = sandbox.url.as_ref().and_then(|url| url.parse().ok());
        let url = url.ok_or_else(|| self.http.broken("tell of its sandboxes", &"it names no address"))?;
        let key = sandbox.session_api_key.clone();
        AgentServer::new(url, key, self.ca_file.as_deref())
    }
}
