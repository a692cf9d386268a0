//! Logins to MCP servers that are under way: begun by a client, finished by whoever the browser is sent back to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deft_mcp::Login;
use deft_types::{McpServerState, Secret, UserId};
use serde_json::{Value, json};

use crate::app::App;
use crate::composition::{McpCall, McpTrial, McpTried};
use crate::routes::mcp::tool_result;

/// How long somebody may take to agree.
const PATIENCE: Duration = Duration::from_secs(600);
/// Logins that are remembered.
const MAX_LOGINS: usize = 100;

/// One login.
pub(crate) struct McpLogin {
    pub(crate) id: String,
    /// Whose it is.
    pub(crate) user: Option<UserId>,
    /// Where the person agrees.
    pub(crate) url: String,
    /// How the server is tried when they have.
    tested: Secret<Tested>,
    /// Where the browser is sent back to.
    pub(crate) redirect: String,
    begun: Instant,
    login: Mutex<Option<Login>>,
    outcome: Mutex<Outcome>,
}

/// What a server is tried with.
pub(crate) struct Tested {
    /// A map with this one.
    pub(crate) servers: Value,
    pub(crate) limit: Duration,
    pub(crate) call: Option<McpCall>,
}

/// How far it is.
#[derive(Clone)]
enum Outcome {
    Waiting,
    Finishing,
    Done { tools: Vec<String>, result: Value },
    Failed { reason: String, kind: &'static str },
}

impl McpLogin {
    pub(crate) fn new(
        id: String,
        user: Option<UserId>,
        tested: Tested,
        redirect: String,
        login: Login,
    ) -> Self {
        Self {
            id,
            user,
            url: login.url().to_owned(),
            tested: Secret::new(tested),
            redirect,
            begun: Instant::now(),
            login: Mutex::new(Some(login)),
            outcome: Mutex::new(Outcome::Waiting),
        }
    }

    /// Turns the address that the browser was sent back to into a token, once, and tries the server with it.
    pub(crate) async fn finish(&self, app: &App, callback: &str) {
        let login = self.login.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(login) = login else {
            return; // it is or was finished already
        };
        *self.outcome() = Outcome::Finishing;
        let outcome = match login.finish(callback).await {
            Ok(()) => self.tried(app).await,
            Err(error) => Outcome::Failed {
                reason: error.to_string(),
                kind: "unknown",
            },
        };
        *self.outcome() = outcome;
    }

    async fn tried(&self, app: &App) -> Outcome {
        let composition = &app.conversations.composition;
        let tested = self.tested.expose();
        let failed = |reason: String, kind| Outcome::Failed { reason, kind };
        let trial = McpTrial {
            servers: &tested.servers,
            limit: tested.limit,
            tokens: app.conversations.mcp_tokens(),
            call: tested.call.clone(),
        };
        match composition.try_mcp(&app.places.current_dir, trial).await {
            Ok(Some(McpTried { status, answer })) => match status.state {
                McpServerState::Failed { reason } => failed(reason, "connection"),
                _ => Outcome::Done {
                    tools: status.pin.unwrap_or_default().tools.into_keys().collect(),
                    result: tool_result(answer.as_ref()),
                },
            },
            Ok(None) => failed("it was not ready in time".to_owned(), "timeout"),
            Err(reason) => failed(reason, "unknown"),
        }
    }

    /// In the words of the contract. The tokens themselves stay here.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({"ok": true, "status": "authorizing", "job_id": self.id, "authorization_url": self.url,
            "callback_ready": false, "tools": null, "tool_result": null, "oauth_state": null, "error": null,
            "error_kind": null});
        match self.outcome().clone() {
            Outcome::Waiting => status["callback_ready"] = true.into(),
            Outcome::Finishing => {}
            Outcome::Done { tools, result } => {
                status["status"] = "succeeded".into();
                status["tool_result"] = result;
                status["tools"] = tools.into();
            }
            Outcome::Failed { reason, kind } => {
                status["ok"] = false.into();
                status["status"] = "failed".into();
                status["error"] = reason.into();
                status["error_kind"] = kind.into();
            }
        }
        status
    }

    fn outcome(&self) -> MutexGuard<'_, Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All of them, by their ids.
#[derive(Default)]
pub(crate) struct McpLogins(Mutex<HashMap<String, Arc<McpLogin>>>);

impl McpLogins {
    /// None: there are too many.
    pub(crate) fn add(&self, login: McpLogin) -> Option<Arc<McpLogin>> {
        let mut all = self.all();
        all.retain(|_, login| login.begun.elapsed() < PATIENCE);
        if all.len() >= MAX_LOGINS {
            return None;
        }
        let login = Arc::new(login);
        all.insert(login.id.clone(), Arc::clone(&login));
        Some(login)
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<McpLogin>> {
        let found = self.all().get(id).cloned();
        found.filter(|login| login.begun.elapsed() < PATIENCE)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<McpLogin>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
