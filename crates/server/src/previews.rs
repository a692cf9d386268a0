//! Programs of workspaces that serve a port, seen in a browser through the server.
//!
//! Their pages are hostile. So each is shown under an origin of its own (`names`), on a listener that knows neither the
//! app nor its keys, and may be framed by the app alone. Who opens one gets a ticket that is good once and for a minute;
//! the first request trades it for a cookie of that origin, which the program never sees (`cookies`, `headers`). Both end with the
//! key that opened them.

mod cookies;
mod headers;
mod listener;
mod names;
mod proxy;

pub(crate) use self::listener::listen;
pub use self::names::PreviewNames;
pub(crate) use self::proxy::router;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deft_executor::{Client, PortStream, RequestError};
use deft_types::ConversationId;
use ring::digest;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accounts::hash;
use crate::app::App;
use crate::failure::Failure;
use crate::security::Caller;
use crate::vault::{self, VaultError};

/// How long a ticket waits for its browser.
const TICKET_LIFE: Duration = Duration::from_mins(1);
/// How long a browser may look before it must be let in anew.
const SESSION_LIFE: Duration = Duration::from_hours(12);
/// Tickets and sessions there are at once; beyond it the oldest end.
const MAX_PASSES: usize = 1000;
/// Connections of one browser to one program at once.
const MAX_STREAMS: usize = 128;
/// How long a workspace that was reached before may take to connect, before it is reached anew: it may sleep.
const PATIENCE: Duration = Duration::from_secs(12);
/// Bytes of the part of a label that cannot be guessed.
const LABEL_BYTES: usize = 16;

/// See the module.
pub(crate) struct Previews {
    pub(crate) names: PreviewNames,
    /// What labels are made from, so that a preview keeps its origin while the server runs.
    seed: String,
    passes: Mutex<HashMap<String, Pass>>,
    pub(crate) stopping: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// What lets a browser in, by the hash of its secret.
struct Pass {
    kind: PassKind,
    preview: Arc<Preview>,
    until: Instant,
}

#[derive(PartialEq, Eq)]
enum PassKind {
    /// Good once.
    Ticket,
    Session,
}

/// A port of a workspace, opened by somebody.
pub(crate) struct Preview {
    label: String,
    caller: Caller,
    conversation: ConversationId,
    port: u16,
    /// The origin whose pages may frame it.
    framed_by: Option<String>,
    client: tokio::sync::Mutex<Option<Client>>,
    room: Arc<Semaphore>,
}

impl Previews {
    pub(crate) fn new(names: PreviewNames) -> Result<Self, VaultError> {
        Ok(Self {
            names,
            seed: vault::new_client_key()?,
            passes: Mutex::default(),
            stopping: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Opens a port to a browser, which goes to the address that this gives.
    pub(crate) fn open(
        &self,
        caller: Caller,
        conversation: ConversationId,
        port: u16,
        framed_by: Option<String>,
    ) -> Result<String, VaultError> {
        let ticket = vault::new_client_key()?;
        let label = self.label(&caller, conversation, port);
        let address = format!("{}{}?ticket={ticket}", self.names.origin(&label), proxy::ENTRANCE);
        let preview = Preview {
            label,
            caller,
            conversation,
            port,
            framed_by,
            client: tokio::sync::Mutex::default(),
            room: Arc::new(Semaphore::new(MAX_STREAMS)),
        };
        self.keep(&ticket, PassKind::Ticket, Arc::new(preview), TICKET_LIFE);
        Ok(address)
    }

    /// No two users, conversations or ports share one.
    fn label(&self, caller: &Caller, conversation: ConversationId, port: u16) -> String {
        let user = caller.place.map(|user| user.hex()).unwrap_or_default();
        let of = format!("{} {user} {} {port}", self.seed, conversation.hex());
        let digest = digest::digest(&digest::SHA256, of.as_bytes());
        let code = digest.as_ref().iter().take(LABEL_BYTES);
        let code: String = code.map(|byte| format!("{byte:02x}")).collect();
        format!("p{port}-{code}")
    }

    /// Takes a ticket for a session; gives what the session's cookie holds.
    fn enter(&self, label: &str, ticket: &str) -> Option<Result<String, VaultError>> {
        let key = hash(ticket);
        let preview = self.find(label, &key, &PassKind::Ticket)?;
        self.passes().remove(&key);
        let session = match vault::new_client_key() {
            Ok(session) => session,
            Err(error) => return Some(Err(error)),
        };
        self.keep(&session, PassKind::Session, preview, SESSION_LIFE);
        Some(Ok(session))
    }

    /// What a session lets its browser see.
    fn admitted(&self, label: &str, session: &str) -> Option<Arc<Preview>> {
        self.find(label, &hash(session), &PassKind::Session)
    }

    fn find(&self, label: &str, key: &str, kind: &PassKind) -> Option<Arc<Preview>> {
        let passes = self.passes();
        let pass = passes.get(key)?;
        let fits = pass.kind == *kind && pass.preview.label == label && pass.counts();
        fits.then(|| Arc::clone(&pass.preview))
    }

    fn keep(&self, secret: &str, kind: PassKind, preview: Arc<Preview>, life: Duration) {
        let mut passes = self.passes();
        passes.retain(|_, pass| pass.counts());
        if passes.len() >= MAX_PASSES {
            let oldest = passes.iter().min_by_key(|(_, pass)| pass.until);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                passes.remove(&oldest);
            }
        }
        let until = Instant::now() + life;
        passes.insert(hash(secret), Pass { kind, preview, until });
    }

    fn passes(&self) -> MutexGuard<'_, HashMap<String, Pass>> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    fn counts(&self) -> bool {
        self.until > Instant::now() && !self.preview.caller.gone.is_cancelled()
    }
}

impl Preview {
    /// A connection to the program.
    async fn connect(&self, app: &App) -> Result<PortStream, Failure> {
        let kept = self.client.lock().await.clone();
        if let Some(client) = kept {
            match tokio::time::timeout(PATIENCE, client.connect_port(self.port)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error @ RequestError::NothingListens { .. })) => return Err(unreachable(&error)),
                Ok(Err(_)) | Err(_) => *self.client.lock().await = None, // it is gone, or sleeps
            }
        }
        let site = app.places.of_conversation(app, self.conversation).await?;
        let client = app.places.reach(app, &site).await?;
        let stream = client.connect_port(self.port).await;
        *self.client.lock().await = Some(client);
        stream.map_err(|error| unreachable(&error))
    }
}

fn unreachable(error: &RequestError) -> Failure {
    Failure::new(axum::http::StatusCode::BAD_GATEWAY, error.to_string())
}
