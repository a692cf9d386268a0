//! A server to try things on: a temporary data directory, executors in this process, and clients.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use deft_executor::Executor;
use deft_llm::{ChatGptServers, Finding, Found, Model, ModelSettings};
use deft_server::{
    Accounts, Audit, ClientModel, Composition, Config, Demo, NewAccount, Offer, Place, Quota, Role, Server,
};
use deft_store::{Options, SqliteStore, Store};
use deft_tools::{ToolContext, Toolbox};
use deft_types::{ConversationId, Secret, ToolSpec};
use deft_workspace::{Preparation, Stream, Workspace, WorkspaceError};
use futures::future::BoxFuture;
use futures::{FutureExt, SinkExt, StreamExt};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

pub(crate) const KEY: &str = "k-one";
/// Far longer than anything takes.
const LIMIT: Duration = Duration::from_secs(60);

/// What a workspace tells that is not ready.
pub(crate) const PREPARING: &str = "pulled 5 of 10 MB (50 %)";
/// Where a script ends a task.
pub(crate) const FINISH: &str = "- tool_calls: [{name: finish, arguments: {message: all done}}]\n";

pub(crate) struct Desk {
    pub(crate) root: TempDir,
    pub(crate) address: SocketAddr,
    http: reqwest::Client,
    store: Arc<SqliteStore>,
    executors: Arc<Executors>,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
}

impl Desk {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(root.path().join("deft.db"), Options::default()).unwrap();
        let executors = Arc::new(Executors {
            private: root.path().join("executors"),
            running: Mutex::default(),
            fates: Mutex::default(),
            is_ready: watch::Sender::new(true),
            chatgpt: Mutex::new(chatgpt("http://127.0.0.1:9")), // nobody is there
        });
        let _ = rustls::crypto::ring::default_provider().install_default(); // another test may have
        let mut desk = Self {
            root,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            http: reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .unwrap(),
            store: Arc::new(store),
            executors,
            stop: None,
            serving: None,
        };
        desk.start(change).await;
        desk
    }

    /// Starts a server on the same data.
    pub(crate) async fn start(&mut self, change: impl FnOnce(&mut Config)) {
        let data_dir = self.root.path().to_owned();
        let mut config = Config::from_variables(|_| None, data_dir.clone(), data_dir).unwrap();
        config.keys = vec![Secret::new(KEY.to_owned()), Secret::new("k-two".to_owned())];
        config.max_wrong_keys = 10_000;
        change(&mut config);
        let store = self.store();
        let parts = Arc::clone(&self.executors);
        let server = Server::bind(config, store, parts).await.unwrap();
        self.address = server.address();
        let (stop, stopped) = oneshot::channel();
        self.stop = Some(stop);
        self.serving = Some(tokio::spawn(server.serve(async {
            let _ = stopped.await;
        })));
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    /// The users of the server.
    pub(crate) fn accounts(&self) -> Accounts {
        Accounts::new(self.store())
    }

    pub(crate) fn audit(&self) -> Audit {
        Audit::new(self.store())
    }

    /// Adds a user without limits; their key.
    pub(crate) async fn add_user(&self, name: &str, role: Role) -> String {
        let account = NewAccount {
            name: name.to_owned(),
            role,
            email: None,
            sees: None,
            folders: Vec::new(),
            quota: Quota::default(),
        };
        self.accounts().add(account).await.unwrap();
        let key = self.accounts().create_key(name, "", None, None).await;
        key.unwrap().1.expose().clone()
    }

    /// How many documents there are in a folder of the store.
    pub(crate) async fn documents(&self, folder: &str) -> usize {
        self.store.documents(folder).await.unwrap().len()
    }

    /// Stops the server and waits for its end.
    pub(crate) async fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        tokio::time::timeout(LIMIT, self.serving.take().unwrap())
            .await
            .expect("the server does not stop")
            .unwrap();
    }

    /// The executor of a conversation.
    pub(crate) fn executor(&self, talk: &Talk) -> Executor {
        self.executors.running.lock().unwrap()[&(talk.0.parse().unwrap(), "")].clone()
    }

    /// Whose executors run.
    pub(crate) fn executors(&self) -> Vec<String> {
        let running = self.executors.running.lock().unwrap();
        running.keys().map(|(id, _)| id.to_string()).collect()
    }

    /// From now on workspaces are made ready for as long as it is `false`.
    pub(crate) fn set_ready(&self, is_ready: bool) {
        self.executors.is_ready.send_replace(is_ready);
    }

    /// What became of the workspace of a conversation.
    pub(crate) fn fates(&self, talk: &Talk) -> Vec<&'static str> {
        let fates = self.executors.fates.lock().unwrap();
        let of_talk = fates.iter().filter(|(_, id)| id.to_string() == talk.0);
        of_talk.map(|(fate, _)| *fate).collect()
    }

    /// Has people log in to `ChatGPT` here, and finds its models here.
    pub(crate) fn set_chatgpt(&self, address: &str) {
        *self.executors.chatgpt.lock().unwrap() = chatgpt(address);
    }

    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let file = self.root.path().join(name);
        fs::write(&file, text).unwrap();
        format!("script:{}", file.display())
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http
            .request(method, format!("http://{}{path}", self.address))
            .timeout(LIMIT)
    }

    /// Asks somebody else for a page, and follows nobody from there.
    pub(crate) async fn get_elsewhere(&self, url: &str) -> reqwest::Response {
        self.http.get(url).timeout(LIMIT).send().await.unwrap()
    }

    /// Asks with the key, and gives back status and body.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        let mut request = self.request(method, path).header("X-Session-API-Key", KEY);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status();
        (status, answer.json().await.unwrap_or_default())
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask(Method::GET, path, None).await;
        assert_eq!(status, 200, "GET {path}: {body}");
        body
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let (status, body) = self.ask(Method::POST, path, Some(body)).await;
        assert!(status.is_success(), "POST {path}: {status} {body}");
        body
    }

    /// What a client sends to begin a conversation with a scripted model.
    pub(crate) fn start_request(&self, model: &str) -> Value {
        json!({
            "agent": {"kind": "Agent", "llm": {"model": model, "api_key": "sk-fake-key", "usage_id": "agent"},
                "tools": [{"name": "terminal"}, {"name": "file_editor"}, {"name": "task_tracker"}]},
            "workspace": {"kind": "LocalWorkspace", "working_dir": self.work()},
        })
    }

    /// Begins a conversation and gives back its path.
    pub(crate) async fn begin(&self, script: &str) -> Talk {
        let model = self.script("script.yaml", script);
        self.begin_with(self.start_request(&model)).await
    }

    pub(crate) async fn begin_with(&self, request: Value) -> Talk {
        let info = self.post("/api/conversations", request).await;
        Talk(info["id"].as_str().unwrap().to_owned())
    }

    /// Sends a message and runs until the status is one of an end.
    pub(crate) async fn run(&self, talk: &Talk) -> Value {
        self.say(talk, "do it", true).await;
        self.ended(talk).await
    }

    pub(crate) async fn say(&self, talk: &Talk, text: &str, run: bool) {
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}], "run": run});
        self.post(&talk.path("/events"), message).await;
    }

    /// Waits for the end of a run.
    pub(crate) async fn ended(&self, talk: &Talk) -> Value {
        let looking = async {
            loop {
                let info = self.get(&talk.path("")).await;
                if info["execution_status"] != "running" {
                    return info;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LIMIT, looking).await.expect("it never ends")
    }

    /// Asks for something that is refused; gives back status and reason.
    pub(crate) async fn refusal(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let (status, body) = self.ask(method, path, Some(body)).await;
        assert!(!status.is_success(), "{path}: {status} {body}");
        (status.as_u16(), body["detail"].clone())
    }

    pub(crate) async fn events(&self, talk: &Talk) -> Vec<Value> {
        let page = self.get(&talk.path("/events/search")).await;
        page["items"].as_array().unwrap().clone()
    }

    /// Opens a socket with the key in the query.
    pub(crate) async fn socket(&self, path: &str) -> Socket {
        let mark = if path.contains('?') { '&' } else { '?' };
        self.connect(&format!("{path}{mark}session_api_key={KEY}"), &[])
            .await
            .unwrap()
    }

    pub(crate) async fn connect(
        &self,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Socket, SocketError> {
        let mut request = format!("ws://{}{path}", self.address).into_client_request()?;
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let (socket, _) = tokio_tungstenite::connect_async(request).await?;
        Ok(Socket(socket))
    }
}

fn chatgpt(address: &str) -> ChatGptServers {
    ChatGptServers {
        issuer: address.to_owned(),
        backend: format!("{address}/backend-api/codex"),
    }
}

/// A conversation as a client knows it.
#[derive(Clone)]
pub(crate) struct Talk(pub(crate) String);

impl Talk {
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/api/conversations/{}{rest}", self.0)
    }
}

/// A client's end of a socket.
pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// The next frame.
    pub(crate) async fn next(&mut self) -> Value {
        match self.message().await {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Frames up to one that is looked for, that one included.
    pub(crate) async fn until(&mut self, found: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            frames.push(self.next().await);
            if found(frames.last().unwrap()) {
                return frames;
            }
        }
    }

    /// The code and reason by which the server closes it.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Message::Close(Some(frame)) = self.message().await {
                return (frame.code.into(), frame.reason.to_string());
            }
        }
    }

    /// Closes it, and gives back what the server says to that.
    pub(crate) async fn close(&mut self) -> (u16, String) {
        let frame = CloseFrame {
            code: CloseCode::Normal,
            reason: "done".into(),
        };
        self.0.close(Some(frame)).await.unwrap();
        self.closed().await
    }

    pub(crate) async fn send(&mut self, frame: &Value) {
        self.send_text(&frame.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &'static [u8]) {
        self.0.send(Message::binary(bytes)).await.unwrap();
    }

    pub(crate) async fn message(&mut self) -> Message {
        loop {
            let message = tokio::time::timeout(LIMIT, self.0.next()).await;
            match message.expect("no frame comes").expect("it is closed").unwrap() {
                Message::Ping(_) | Message::Pong(_) => {}
                message => return message,
            }
        }
    }
}

/// Executors in this process, one for each conversation.
pub(crate) struct Executors {
    private: PathBuf,
    /// Those that only plan have one of their own.
    running: Mutex<HashMap<(ConversationId, &'static str), Executor>>,
    /// What became of workspaces: what was done, and whose it is.
    pub(crate) fates: Mutex<Vec<(&'static str, ConversationId)>>,
    chatgpt: Mutex<ChatGptServers>,
    /// Whether workspaces can be opened at once.
    is_ready: watch::Sender<bool>,
}

impl Executors {
    fn toolbox(&self, id: ConversationId, root: &Path) -> Toolbox {
        let context = ToolContext {
            workspace: root.to_owned(),
            private_dir: self.private.join(id.hex()),
            env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        };
        Toolbox::standard(context).unwrap()
    }

    fn place_at(&self, mode: &'static str, id: ConversationId, root: &Path) -> Place {
        let mut running = self.running.lock().unwrap();
        let executor = running
            .entry((id, mode))
            .or_insert_with(|| Executor::new(self.toolbox(id, root), root.display().to_string()));
        Place {
            workspace: Arc::new(Near {
                executor: executor.clone(),
                is_ready: self.is_ready.subscribe(),
                preparation: Preparation::default(),
            }),
            tools: self.toolbox(id, root).specs(),
        }
    }
}

impl Composition for Executors {
    fn model(&self, wanted: &ClientModel) -> Result<Arc<dyn Model>, String> {
        let name = wanted.llm["model"].as_str().unwrap();
        let is_paid = wanted.llm["auth_type"] == "subscription";
        let said = |field: &str| wanted.llm[field].as_str().map(str::to_owned);
        let settings = ModelSettings {
            base_url: said("base_url"),
            api_key: said("api_key").map(Secret::new),
            subscription: is_paid.then(|| Arc::clone(&wanted.subscription)),
            ..ModelSettings::default()
        };
        deft_llm::open(name, &settings).map_err(|error| error.to_string())
    }

    fn chatgpt(&self) -> ChatGptServers {
        self.chatgpt.lock().unwrap().clone()
    }

    fn place(&self, id: ConversationId, root: &Path) -> Result<Place, String> {
        Ok(self.place_at("", id, root))
    }

    fn forget(&self, id: ConversationId) -> Result<(), String> {
        self.running.lock().unwrap().retain(|(of, _), _| *of != id);
        Ok(())
    }

    fn remove<'a>(&'a self, id: ConversationId, _: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        self.fates.lock().unwrap().push(("removed", id));
        async { Ok(()) }.boxed()
    }

    fn pause<'a>(&'a self, id: ConversationId, _: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        self.fates.lock().unwrap().push(("paused", id));
        async { Ok(()) }.boxed()
    }

    fn place_to_plan(&self, id: ConversationId, root: &Path) -> Result<Place, String> {
        Ok(self.place_at("plan", id, root))
    }

    fn tools(&self) -> Vec<ToolSpec> {
        self.toolbox(ConversationId(uuid::Uuid::nil()), Path::new("/"))
            .specs()
    }

    fn offer(&self) -> Offer {
        Offer {
            model: None,
            models: Vec::new(),
            folder: self.private.display().to_string(),
        }
    }

    fn check<'a>(&'a self, wanted: &'a ClientModel) -> BoxFuture<'a, Result<Vec<Finding>, String>> {
        let name = wanted.llm["model"].as_str().unwrap().to_owned();
        async move {
            let mut findings = Vec::new();
            deft_llm::check(&name, &ModelSettings::default(), |finding| {
                findings.push(finding.clone());
            })
            .await;
            Ok(findings)
        }
        .boxed()
    }

    fn local_models(&self) -> BoxFuture<'_, Vec<Found>> {
        async { Vec::new() }.boxed()
    }

    fn demo(&self) -> Result<Demo, String> {
        Err("there is no demo here".to_owned())
    }
}

/// An executor that lives as long as the test.
struct Near {
    executor: Executor,
    is_ready: watch::Receiver<bool>,
    preparation: Preparation,
}

impl Workspace for Near {
    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        self.open().map(Result::ok).boxed()
    }

    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        let (near, far) = tokio::io::duplex(1 << 16);
        let executor = self.executor.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = executor.serve(far) => {}
                () = executor.shutdown_requested() => {}
            }
        });
        async move {
            let mut is_ready = self.is_ready.clone();
            if !*is_ready.borrow_and_update() {
                self.preparation.tell(PREPARING.to_owned());
                let _ = is_ready.wait_for(|ready| *ready).await; // the desk is gone: so is who waits
            }
            Ok(Box::new(near) as Box<dyn Stream>)
        }
        .boxed()
    }

    fn preparation(&self) -> Option<&Preparation> {
        Some(&self.preparation)
    }
}
