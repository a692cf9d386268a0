//! A place to try things: a temporary workspace with its executor, and a store.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use deft_engine::{
    Conversation, Extensions, Limits, Memory, Outfit, Parts, Progress, RealWorld, Safety, State, Supervision,
    load,
};
use deft_executor::Executor;
use deft_llm::{Delta, Model, ModelError, ModelProfile, ModelSettings, Request, RetryPolicy, with_retries};
use deft_store::{NewConversation, Options, Owner, SqliteStore, Store};
use deft_tools::{ToolContext, Toolbox};
use deft_types::{ConversationId, Event, EventBody, EventId, Message, Money, Role, Seq, Tokens, ToolSpec};
use deft_workspace::{Stream, Workspace, WorkspaceError};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) struct Desk {
    root: TempDir,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) id: ConversationId,
    pub(crate) executors: Arc<Executors>,
    pub(crate) model: Arc<Recorder>,
}

impl Desk {
    /// A desk whose model follows a script.
    pub(crate) async fn new(script: &str) -> Self {
        Self::with_window(script, 1_000_000).await
    }

    /// A desk whose model can read so many tokens.
    pub(crate) async fn with_window(script: &str, window: u64) -> Self {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("script.yaml");
        fs::write(&file, script).unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(root.path().join("deft.db"), Options::default()).unwrap());
        let id = ConversationId(Uuid::new_v4());
        let conversation = NewConversation {
            id,
            created_at: SystemTime::now(),
            workspace: String::new(),
            settings: serde_json::json!({}),
            owner: None,
        };
        store.create(conversation).await.unwrap();
        let model = scripted(&file, script, window);
        let executors = Arc::new(Executors {
            work: root.path().join("work"),
            private: root.path().join("p"),
            running: Mutex::default(),
            connections: Mutex::default(),
        });
        executors.start();
        Self {
            root,
            store,
            id,
            executors,
            model,
        }
    }

    /// The same desk, whose model follows another script.
    pub(crate) fn with_script(mut self, script: &str) -> Self {
        let file = self.root.path().join("other.yaml");
        fs::write(&file, script).unwrap();
        self.model = scripted(&file, script, 1_000_000);
        self
    }

    pub(crate) fn limits() -> Limits {
        Limits {
            max_steps: 100,
            parallel_calls: 8,
            stuck_detection: true,
            ..Limits::default()
        }
    }

    pub(crate) async fn open(&self) -> Conversation {
        self.open_with(Self::limits()).await
    }

    pub(crate) async fn open_with(&self, limits: Limits) -> Conversation {
        Conversation::open(self.parts(limits).await).await.unwrap()
    }

    pub(crate) async fn parts(&self, limits: Limits) -> Parts {
        Parts {
            store: self.store.clone(),
            lease: self.store.acquire(self.id, &Owner::this_process()).await.unwrap(),
            model: self.model.clone(),
            model_name: "scripted".to_owned(),
            models: None,
            agents: None,
            workspace: self.executors.clone(),
            directory: self.executors.work.display().to_string(),
            tools: self.executors.specs(),
            host: Toolbox::host(),
            responses: BTreeMap::new(),
            world: Arc::new(RealWorld),
            limits,
            safety: Safety::default(),
            memory: Memory::default(),
            outfit: Outfit::default(),
            extensions: Extensions::default(),
            supervision: Supervision::default(),
            external: None,
        }
    }

    /// Sends a task, runs it to its end, and gives back how it ended.
    pub(crate) async fn run(&self, conversation: &Conversation) -> Progress {
        say(conversation, "do it").await;
        conversation.run().await.unwrap();
        settled(conversation).await
    }

    pub(crate) async fn events(&self) -> Vec<Event> {
        let events = self.store.read(self.id, Seq::FIRST, 10_000).await.unwrap();
        events.into_iter().map(|(_, event)| event).collect()
    }

    pub(crate) async fn rebuilt(&self) -> State {
        load(self.store.as_ref(), self.id).await.unwrap()
    }

    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.executors.work.join(name)).unwrap_or_default()
    }

    pub(crate) async fn wait_for_file(&self, name: &str) {
        while self.file(name).is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// A model that follows a script and can read so many tokens.
fn scripted(file: &std::path::Path, script: &str, window: u64) -> Arc<Recorder> {
    let model = deft_llm::open(&format!("script:{}", file.display()), &ModelSettings::default()).unwrap();
    let policy = RetryPolicy {
        attempts: 2,
        first_wait: Duration::from_millis(10),
        ..RetryPolicy::default()
    };
    let profile = ModelProfile {
        context_window: Some(Tokens(window)),
        ..model.profile().clone()
    };
    Arc::new(Recorder {
        profile,
        model: if script.contains("# retried") {
            with_retries(model, policy)
        } else {
            model
        },
        requests: Mutex::default(),
    })
}

pub(crate) async fn say(conversation: &Conversation, text: &str) {
    conversation
        .send(EventId::from(Uuid::new_v4()), Message::text(Role::User, text))
        .await
        .unwrap();
}

/// The last message of the user.
pub(crate) async fn said_last(conversation: &Conversation) -> EventId {
    let state = conversation.inspect().await.unwrap();
    state.last_user_message_id.unwrap()
}

pub(crate) async fn settled(conversation: &Conversation) -> Progress {
    tokio::time::timeout(Duration::from_secs(60), conversation.settled())
        .await
        .expect("it never settles")
}

/// Every call has exactly one result, and every result a call before it.
#[track_caller]
pub(crate) fn assert_paired(events: &[Event]) {
    let mut results: HashMap<&str, usize> = HashMap::new();
    for event in events {
        match &event.body {
            EventBody::Action(action) => {
                let before = results.insert(&action.tool_call_id, 0);
                assert_eq!(before, None, "two actions for call {}", action.tool_call_id);
            }
            EventBody::Observation(result) => *results.get_mut(result.tool_call_id.as_str()).unwrap() += 1,
            EventBody::AgentError(result) => *results.get_mut(result.tool_call_id.as_str()).unwrap() += 1,
            EventBody::UserReject(result) => *results.get_mut(result.tool_call_id.as_str()).unwrap() += 1,
            _ => {}
        }
    }
    assert!(results.values().all(|count| *count == 1), "{results:?}");
}

/// Executors in this process, which can be replaced as if one had died.
pub(crate) struct Executors {
    pub(crate) work: std::path::PathBuf,
    private: std::path::PathBuf,
    running: Mutex<Option<Executor>>,
    connections: Mutex<Vec<tokio::task::AbortHandle>>,
}

impl Executors {
    pub(crate) fn start(&self) {
        let context = ToolContext {
            workspace: self.work.clone(),
            private_dir: self.private.clone(),
            env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        };
        let executor = Executor::new(
            Toolbox::standard(context).unwrap(),
            self.work.display().to_string(),
        );
        *self.running.lock().unwrap() = Some(executor);
    }

    /// The executor is gone at once, and all it knew with it; the next connection finds a new one.
    pub(crate) fn die(&self) {
        self.connections
            .lock()
            .unwrap()
            .drain(..)
            .for_each(|connection| connection.abort());
        self.start();
    }

    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        let context = ToolContext {
            workspace: self.work.clone(),
            private_dir: self.private.clone(),
            env: Vec::new(),
        };
        Toolbox::standard(context).unwrap().specs()
    }
}

impl Workspace for Executors {
    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        self.open().map(Result::ok).boxed()
    }

    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        async {
            let (near, far) = tokio::io::duplex(1 << 16);
            let running = || self.running.lock().unwrap().clone().unwrap();
            if running().shutdown_requested().now_or_never().is_some() {
                self.start();
            }
            let executor = running();
            let connection = tokio::spawn(async move {
                let closed = async {
                    executor.shutdown_requested().await;
                    executor.close().await;
                };
                tokio::select! {
                    () = executor.serve(far) => {}
                    () = closed => {}
                }
            });
            self.connections.lock().unwrap().push(connection.abort_handle());
            Ok(Box::new(near) as Box<dyn Stream>)
        }
        .boxed()
    }
}

/// Keeps what a model was asked.
pub(crate) struct Recorder {
    profile: ModelProfile,
    model: Arc<dyn Model>,
    pub(crate) requests: Mutex<Vec<Request>>,
}

impl Recorder {
    pub(crate) fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Model for Recorder {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        self.requests.lock().unwrap().push(request.clone());
        self.model.stream(request)
    }
}

pub(crate) fn budget(dollars: f64) -> Limits {
    Limits {
        max_cost: Money::try_from(dollars).ok(),
        ..Desk::limits()
    }
}
