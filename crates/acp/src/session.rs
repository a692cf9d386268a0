//! A session with an agent.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::error::{AUTH_REQUIRED, AgentError};
use crate::incoming::{Choice, Incoming, Permission};
use crate::models::Models;
use crate::peer::{Clean, Peer};

/// The version of the protocol that is spoken here.
const PROTOCOL_VERSION: u64 = 1;
/// How long choosing a model or a mode may take.
const CHOICE_LIMIT: Duration = Duration::from_secs(30);

/// How a session is to begin.
#[derive(Clone, Debug)]
pub struct Start {
    /// The directory to work in.
    pub directory: String,
    /// MCP servers that the agent is to use, in the protocol's form.
    pub servers: Vec<Value>,
    /// The session to take up, if the agent can.
    pub resume: Option<String>,
    /// The mode to be in.
    pub mode: Option<String>,
    /// The model to use.
    pub model: Option<String>,
    /// How long all of that may take.
    pub limit: Duration,
}

/// What an agent says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The models that it can use.
    pub models: Models,
    /// Whether it can look at images.
    pub reads_images: bool,
    /// Whether the session is the one that was to be taken up.
    pub resumed: bool,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEnd {
    /// Why: `end_turn`, `max_tokens`, `max_turn_requests`, `refusal` or `cancelled`.
    pub reason: String,
    /// What the turn used, where the agent says.
    pub usage: Option<Usage>,
}

/// Tokens that a turn has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub thought: u64,
}

/// A turn under way: resolves when it has ended.
pub type Prompting = BoxFuture<'static, Result<TurnEnd, AgentError>>;

/// See the module. Dropping it ends the stream to the agent.
pub struct Session {
    peer: Arc<Peer>,
    incoming: mpsc::Receiver<Incoming>,
    id: String,
    about: About,
}

impl Session {
    /// Greets the agent at the other end of a stream and begins a session, or takes one up.
    pub async fn begin(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        clean: Clean,
        start: Start,
    ) -> Result<Self, AgentError> {
        let limit = start.limit;
        let mute = |_| AgentError::Mute {
            method: "initialize and session/new".to_owned(),
            limit,
        };
        timeout(limit, Self::greet(stream, clean, start))
            .await
            .map_err(mute)?
    }

    async fn greet(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        clean: Clean,
        start: Start,
    ) -> Result<Self, AgentError> {
        let (peer, incoming) = Peer::new(stream, clean);
        let mut session = Self {
            peer: Arc::new(peer),
            incoming,
            id: String::new(),
            about: About::default(),
        };
        let hello = json!({
            "protocolVersion": PROTOCOL_VERSION,
            // It reads and writes files and runs commands by itself, where it is.
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "deft", "title": "Deft", "version": env!("CARGO_PKG_VERSION")},
        });
        let agent = session.ask("initialize", hello).await?;
        if agent["protocolVersion"] != PROTOCOL_VERSION {
            return Err(AgentError::Odd {
                method: "initialize".to_owned(),
                reason: format!(
                    "it speaks version {} of the protocol, and this program version {PROTOCOL_VERSION}",
                    agent["protocolVersion"]
                ),
            });
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        session.about.name = text(&agent["agentInfo"]["name"]);
        session.about.version = text(&agent["agentInfo"]["version"]);
        let can = &agent["agentCapabilities"];
        session.about.reads_images = can["promptCapabilities"]["image"] == true;
        let begun = match session.take_up(can, &start).await? {
            Some(begun) => begun,
            None => session.start_new(&agent["authMethods"], &start).await?,
        };
        session.about.models = Models::read(&begun);
        if let Some(mode) = start
            .mode
            .as_ref()
            .filter(|mode| begun["modes"]["currentModeId"] != mode.as_str())
        {
            let choice = json!({"sessionId": session.id, "modeId": mode});
            session.ask("session/set_mode", choice).await?;
        }
        if let Some(model) = start
            .model
            .filter(|model| session.about.models.current.as_ref() != Some(model))
        {
            session.choose_model(&model).await?;
        }
        Ok(session)
    }

    /// Takes up the session of before, if there is one and the agent can; one that it does not know is not taken up.
    async fn take_up(&mut self, can: &Value, start: &Start) -> Result<Option<Value>, AgentError> {
        let method = match (&can["loadSession"], &can["sessionCapabilities"]["resume"]) {
            (Value::Bool(true), _) => "session/load",
            (_, Value::Object(_)) => "session/resume",
            _ => return Ok(None),
        };
        let Some(id) = &start.resume else { return Ok(None) };
        let which = json!({"sessionId": id, "cwd": start.directory, "mcpServers": start.servers});
        match self.ask(method, which).await {
            Ok(begun) => {
                self.id.clone_from(id);
                self.about.resumed = true;
                Ok(Some(begun))
            }
            Err(AgentError::Refused { message, .. }) => {
                tracing::info!(message, "an agent does not know its session any more");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Begins a session. An agent that wants somebody to sign in is told to use the key in its environment, if it can.
    async fn start_new(&mut self, methods: &Value, start: &Start) -> Result<Value, AgentError> {
        let method = "session/new";
        let wanted = json!({"cwd": start.directory, "mcpServers": start.servers});
        let begun = match self.ask(method, wanted.clone()).await {
            Err(AgentError::Refused {
                code: AUTH_REQUIRED, ..
            }) => {
                self.sign_in(methods).await?;
                self.ask(method, wanted).await?
            }
            begun => begun?,
        };
        match begun["sessionId"].as_str() {
            Some(id) => id.clone_into(&mut self.id),
            None => {
                return Err(AgentError::Odd {
                    method: method.to_owned(),
                    reason: "it names no session".to_owned(),
                });
            }
        }
        Ok(begun)
    }

    async fn sign_in(&mut self, methods: &Value) -> Result<(), AgentError> {
        let ids: Vec<_> = methods
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|method| method["id"].as_str())
            .collect();
        let wanted = || AgentError::SignIn {
            methods: ids.join(", "),
        };
        let by_key = ids.iter().find(|id| id.contains("api-key")).ok_or_else(wanted)?;
        let signed_in = self.ask("authenticate", json!({"methodId": by_key})).await;
        signed_in.map(drop).map_err(|error| match error {
            AgentError::Refused { .. } => wanted(),
            other => other,
        })
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the agent says of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Lets the agent use another model.
    pub async fn choose_model(&mut self, model: &str) -> Result<(), AgentError> {
        let (method, params) = self.about.models.choose(&self.id, model);
        let mute = |_| AgentError::Mute {
            method: method.to_owned(),
            limit: CHOICE_LIMIT,
        };
        timeout(CHOICE_LIMIT, self.ask(method, params))
            .await
            .map_err(mute)??;
        self.about.models.current = Some(model.to_owned());
        Ok(())
    }

    /// Begins a turn. What the agent told since the last one is of no use any more.
    pub fn prompt(&mut self, content: Vec<Value>) -> Prompting {
        while self.incoming.try_recv().is_ok() {}
        let (peer, id) = (Arc::clone(&self.peer), self.id.clone());
        async move {
            let prompt = json!({"sessionId": id, "prompt": content});
            let end = peer.request("session/prompt", prompt).await?;
            Ok(TurnEnd {
                reason: end["stopReason"].as_str().unwrap_or("end_turn").to_owned(),
                usage: usage(&end["usage"]),
            })
        }
        .boxed()
    }

    /// The next thing that the agent tells; none once its stream has ended.
    pub async fn next(&mut self) -> Option<Incoming> {
        self.incoming.recv().await
    }

    /// Answers a question of the agent's.
    pub async fn answer(&self, permission: &Permission, choice: Choice) {
        self.peer.answer(&permission.id, permission.outcome(choice)).await;
    }

    /// Asks the agent to end its turn.
    pub async fn cancel(&self) {
        self.peer
            .notify("session/cancel", json!({"sessionId": self.id}))
            .await;
    }

    /// Asks outside of a turn, when nobody listens to what else the agent tells.
    async fn ask(&mut self, method: &str, params: Value) -> Result<Value, AgentError> {
        let peer = Arc::clone(&self.peer);
        let mut answer = std::pin::pin!(peer.request(method, params));
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                Some(told) = self.incoming.recv() => if let Incoming::Permission(permission) = told {
                    self.answer(&permission, Choice::Cancel).await;
                },
            }
        }
    }
}

fn usage(usage: &Value) -> Option<Usage> {
    let count = |name: &str| usage[name].as_u64().unwrap_or_default();
    usage.is_object().then(|| Usage {
        input: count("inputTokens"),
        output: count("outputTokens"),
        cache_read: count("cachedReadTokens"),
        cache_write: count("cachedWriteTokens"),
        thought: count("thoughtTokens"),
    })
}
