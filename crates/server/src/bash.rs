//! Commands that clients run themselves, beside the agent: started in executors, and remembered here.

mod history;
mod kept;
mod run;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use deft_executor::ShellCommand;
use deft_store::{Store, StoreError};
use deft_types::{BashCommand, BashOutput, ConversationId, Extra};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

pub(crate) use self::history::{Filter, History, id as event_id};
use self::kept::Kept;
use self::run::Run;
use crate::app::App;
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Others, Table};
use crate::info::utc;

/// Seconds that a command may take where nobody says otherwise, and at most.
const DEFAULT_TIMEOUT: u64 = 300;
const MAX_TIMEOUT: u64 = 24 * 60 * 60;
/// Conversations whose commands are in memory; beyond it those leave that nobody needs there.
const MAX_HISTORIES: usize = 1000;

/// What a client says of a command.
const COMMAND: &Table = &[
    ("command", Kind::Text, Gap::None),
    ("cwd", Kind::Text, Gap::Null),
    ("timeout", Kind::Integer { least: None }, Gap::Absent),
];

/// A command that a client sent.
pub(crate) struct BashRequest {
    command: String,
    cwd: Option<String>,
    timeout: u64,
}

impl BashRequest {
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let fields = fields::read_body(body, COMMAND, Others::Kept)?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let timeout = fields.get("timeout").map(|seconds| seconds.as_u64().unwrap_or(0));
        let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT);
        Ok(Self {
            command: text("command").unwrap_or_default(),
            cwd: text("cwd"),
            timeout: timeout.clamp(1, MAX_TIMEOUT),
        })
    }
}

/// See the module.
pub(crate) struct Bash {
    store: Arc<dyn Store>,
    histories: Mutex<HashMap<Option<ConversationId>, Arc<History>>>,
    /// The commands that are followed.
    following: TaskTracker,
    pub(crate) stopping: CancellationToken,
}

impl Bash {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            histories: Mutex::default(),
            following: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// The commands of a conversation, or those that belong to none.
    pub(crate) async fn history(&self, scope: Option<ConversationId>) -> Result<Arc<History>, StoreError> {
        if let Some(history) = self.histories().get(&scope) {
            return Ok(Arc::clone(history));
        }
        let opened = History::open(Kept::new(Arc::clone(&self.store), scope)).await?;
        let mut histories = self.histories();
        if histories.len() >= MAX_HISTORIES {
            histories.retain(|_, history| history.is_in_use());
        }
        // Another request may have been faster.
        Ok(Arc::clone(histories.entry(scope).or_insert(Arc::new(opened))))
    }

    /// Whether a conversation has commands under way.
    pub(crate) fn is_running(&self, id: ConversationId) -> bool {
        let histories = self.histories();
        histories
            .get(&Some(id))
            .is_some_and(|history| history.is_running())
    }

    /// Lets the commands of a conversation leave memory, unless somebody needs them there.
    pub(crate) fn unload(&self, id: ConversationId) {
        let mut histories = self.histories();
        if histories
            .get(&Some(id))
            .is_some_and(|history| !history.is_in_use())
        {
            histories.remove(&Some(id));
        }
    }

    /// Forgets the commands of a conversation that is deleted.
    pub(crate) async fn forget(&self, id: ConversationId) -> Result<(), StoreError> {
        let history = self.history(Some(id)).await?;
        history.abandon();
        history.clear().await;
        self.histories().remove(&Some(id));
        Ok(())
    }

    /// Takes away what is too old.
    pub(crate) async fn tidy(&self) -> Result<(), StoreError> {
        kept::tidy(self.store.as_ref()).await
    }

    /// Starts a command. Its whole output comes when it has ended.
    pub(crate) async fn start(
        &self,
        app: &App,
        scope: Option<ConversationId>,
        request: BashRequest,
    ) -> Result<(BashCommand, oneshot::Receiver<BashOutput>), Failure> {
        app.activity.note();
        let (site, cwd) = match (scope, &request.cwd) {
            (Some(id), None) => (app.places.of_conversation(app, id).await?, None),
            (scope, cwd) => {
                let cwd = cwd.as_deref().unwrap_or("."); // where the server was started
                let cwd = app.places.resolved(app, scope, cwd).await?;
                (app.places.site(app, scope, &cwd, "cwd").await?, Some(cwd))
            }
        };
        let client = app.places.reach(app, &site).await?;
        let command = BashCommand {
            command: request.command,
            cwd: request.cwd,
            timeout: request.timeout,
            id: Uuid::new_v4(),
            timestamp: utc(SystemTime::now()),
            extra: Extra::new(),
        };
        let shell = ShellCommand {
            command: command.command.clone(),
            directory: cwd.map(|cwd| cwd.display().to_string()),
            env: BTreeMap::new(),
            timeout_ms: Some(command.timeout.saturating_mul(1000)),
            input: None,
        };
        let (sender, ended) = oneshot::channel();
        let history = self.history(scope).await?;
        history.add(command.clone().into()).await;
        history.begin(&self.following, command.id, |stop| {
            let run = Run::new(command.id, Arc::clone(&history), client, stop);
            async move {
                let output = run.carry_out(shell).await;
                let _ = sender.send(output); // nobody may be waiting
            }
        });
        Ok((command, ended))
    }

    /// Stops to follow commands; they go on in their executors.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.histories().values().for_each(|history| history.abandon());
        self.following.close();
        self.following.wait().await;
    }

    fn histories(&self) -> MutexGuard<'_, HashMap<Option<ConversationId>, Arc<History>>> {
        self.histories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
