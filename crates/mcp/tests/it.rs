//! Real MCP servers, and one that misbehaves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "it/npm.rs"]
mod npm;
#[path = "it/pypi.rs"]
mod pypi;
#[path = "it/real.rs"]
mod real;
#[path = "it/remote.rs"]
mod remote;
#[path = "it/unruly.rs"]
mod unruly;

use std::sync::Arc;
use std::time::Duration;

use deft_mcp::{Limits, McpServers, Network, Place, ServerConfig, TokenStore};
use deft_tools::{Call, Tool, ToolContext};
use deft_types::{
    Action, MCPToolAction, MCPToolObservation, McpApprovals, McpServerState, McpServerStatus, Observation,
    Secret,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tempfile::TempDir;

/// Long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps tokens in memory.
#[derive(Default)]
struct Tokens(std::sync::Mutex<std::collections::HashMap<String, Secret<String>>>);

impl TokenStore for Tokens {
    fn load<'a>(&'a self, url: &'a str) -> BoxFuture<'a, std::io::Result<Option<Secret<String>>>> {
        let kept = self.0.lock().unwrap().get(url).cloned();
        async move { Ok(kept) }.boxed()
    }

    fn save<'a>(
        &'a self,
        url: &'a str,
        tokens: Option<Secret<String>>,
    ) -> BoxFuture<'a, std::io::Result<()>> {
        let mut kept = self.0.lock().unwrap();
        match tokens {
            Some(tokens) => kept.insert(url.to_owned(), tokens),
            None => kept.remove(url),
        };
        async { Ok(()) }.boxed()
    }
}

/// Servers in a workspace of their own.
struct Started {
    workspace: TempDir,
    servers: McpServers,
}

fn place(workspace: &TempDir) -> Place {
    let root = workspace.path().canonicalize().unwrap();
    Place {
        tools: ToolContext {
            private_dir: root.join(".private"),
            workspace: root,
            env: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
        },
        network: Network::default(),
        tokens: Arc::new(Tokens::default()),
    }
}

fn limits() -> Limits {
    Limits {
        start: PATIENCE,
        call: PATIENCE,
    }
}

impl Started {
    async fn new(config: &Value) -> Self {
        Self::with(config, &limits(), McpApprovals::new()).await
    }

    async fn with(config: &Value, limits: &Limits, approvals: McpApprovals) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let configs = ServerConfig::parse(config).unwrap();
        let servers = McpServers::start(
            configs,
            &place(&workspace),
            limits,
            &approvals,
            ["terminal".to_owned()],
        );
        servers.started().await;
        Self { workspace, servers }
    }

    fn status(&self, server: &str) -> McpServerStatus {
        let mut statuses = self.servers.statuses().into_iter();
        statuses.find(|status| status.name == server).unwrap()
    }

    #[track_caller]
    fn failure(&self, server: &str) -> String {
        match self.status(server).state {
            McpServerState::Failed { reason } => reason,
            other => panic!("it has not failed: {other:?}"),
        }
    }

    fn names(&self) -> Vec<String> {
        let tools = self.servers.tools();
        tools.iter().map(|tool| tool.spec().name().to_owned()).collect()
    }

    #[track_caller]
    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let found = self
            .servers
            .tools()
            .into_iter()
            .find(|tool| tool.spec().name() == name);
        found.unwrap_or_else(|| {
            panic!(
                "no {name} among {:?}: {:?}",
                self.names(),
                self.servers.statuses()
            )
        })
    }

    async fn call(&self, name: &str, arguments: Value) -> MCPToolObservation {
        run(&*self.tool(name), Call::of(action(arguments))).await
    }

    async fn text(&self, name: &str, arguments: Value) -> String {
        deft_types::text_of(&self.call(name, arguments).await.content)
    }
}

fn action(arguments: Value) -> Action {
    let Value::Object(fields) = arguments else {
        panic!("arguments are an object")
    };
    MCPToolAction {
        data: fields.into_iter().collect(),
        ..MCPToolAction::default()
    }
    .into()
}

async fn run(tool: &dyn Tool, call: Call) -> MCPToolObservation {
    let observation = tokio::time::timeout(PATIENCE, tool.run(call))
        .await
        .expect("it hangs")
        .unwrap();
    match observation {
        Observation::MCPTool(observation) => *observation,
        other => panic!("not an MCP tool's answer: {other:?}"),
    }
}

/// Waits until something holds.
async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
