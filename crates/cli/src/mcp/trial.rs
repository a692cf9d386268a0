//! Tries a server for a client of `deft serve`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use deft_executor::{Client, Outcome, Update};
use deft_mcp::{Login, McpServers, ServerConfig, TokenStore};
use deft_server::{McpCall, McpTrial, McpTried};
use deft_tools::Call;
use deft_types::{
    Action, Content, ConversationId, MCPToolAction, MCPToolObservation, McpApprovals, McpServerStatus,
    Observation, ToolSpec,
};
use deft_workspace::Workspace;
use serde_json::Value;
use tokio::time::timeout;
use uuid::Uuid;

use super::{network, start};
use crate::compose;
use crate::settings::Settings;
use crate::workspace;

/// What is said of a tool that answers with something else than an answer.
const NO_ANSWER: &str = "The tool gave no answer";

/// Tries a server that is started for this alone: a program in a sandbox as in a conversation. None: it took longer
/// than the limit.
pub(crate) async fn one(
    settings: &Settings,
    root: &Path,
    trial: McpTrial<'_>,
) -> anyhow::Result<Option<McpTried>> {
    let servers = ServerConfig::parse(trial.servers)?;
    if servers.is_empty() {
        bail!("it is switched off");
    }
    let call = trial.call.as_ref();
    if servers.iter().all(ServerConfig::is_local) {
        let id = ConversationId(Uuid::new_v4());
        let (workspace, _) = compose::place(settings, id, root)?;
        let tried = program(workspace.as_ref(), &servers, trial.limit, call).await;
        workspace::remove(settings, id)?;
        tried
    } else {
        let servers = start::reached(settings, servers, &McpApprovals::new(), trial.tokens)?;
        let tried = timeout(trial.limit, address(&servers, call)).await;
        servers.close().await;
        Ok(tried.ok().flatten())
    }
}

/// Begins a login to the one server of a client's map.
pub(crate) async fn login(
    settings: &Settings,
    servers: &Value,
    redirect: &str,
    tokens: Arc<dyn TokenStore>,
) -> anyhow::Result<Login> {
    let servers = ServerConfig::parse(servers)?;
    let server = servers.first().context("it is switched off")?;
    Ok(Login::begin(server, redirect, &network(settings), tokens).await?)
}

async fn program(
    workspace: &dyn Workspace,
    servers: &[ServerConfig],
    limit: Duration,
    call: Option<&McpCall>,
) -> anyhow::Result<Option<McpTried>> {
    let client = Client::connect(workspace.open().await?).await?;
    let work = async {
        let statuses = client.start_mcp(ServerConfig::write(servers), McpApprovals::new());
        let status = statuses.await.map_err(anyhow::Error::msg)?.into_iter().next();
        let status = status.context("it was not started")?;
        let answer = match call {
            Some(call) => Some(match tool_of(&status, call) {
                Some(tool) => {
                    let called = client.call("trial".into(), tool, action(call)).await;
                    answer_of(called.end().await)
                }
                None => no_tool(call),
            }),
            None => None,
        };
        Ok(McpTried { status, answer })
    };
    let tried = timeout(limit, work).await;
    workspace::end(workspace, &client).await;
    tried.ok().transpose()
}

async fn address(servers: &McpServers, call: Option<&McpCall>) -> Option<McpTried> {
    servers.started().await;
    let status = servers.statuses().into_iter().next()?;
    let Some(call) = call else {
        return Some(McpTried { status, answer: None });
    };
    let tool = tool_of(&status, call).and_then(|name| servers.tool(&name));
    let answer = match tool {
        Some(tool) => match tool.run(Call::of(action(call))).await {
            Ok(Observation::MCPTool(answer)) => *answer,
            Ok(_) => failed(NO_ANSWER.to_owned()),
            Err(error) => failed(error.to_string()),
        },
        None => no_tool(call),
    };
    Some(McpTried {
        status,
        answer: Some(answer),
    })
}

/// Our name for the tool that the server calls so.
fn tool_of(status: &McpServerStatus, call: &McpCall) -> Option<String> {
    let mut tools = status.state.tools().iter();
    let named = |tool: &&ToolSpec| {
        let original = tool.definition.extra.get("mcp_tool");
        original.is_some_and(|original| original["name"] == call.name)
    };
    tools.find(named).map(|tool| tool.name().to_owned())
}

fn action(call: &McpCall) -> Action {
    let arguments = call.arguments.clone();
    MCPToolAction {
        data: arguments.into_iter().collect(),
        ..MCPToolAction::default()
    }
    .into()
}

fn answer_of(update: Update) -> MCPToolObservation {
    match update {
        Update::Ended(Outcome::Observed { observation }) => match *observation {
            Observation::MCPTool(answer) => *answer,
            _ => failed(NO_ANSWER.to_owned()),
        },
        Update::Ended(Outcome::Failed { message }) => failed(message),
        Update::Output(_) | Update::Unknown | Update::Lost => failed(NO_ANSWER.to_owned()),
    }
}

fn no_tool(call: &McpCall) -> MCPToolObservation {
    failed(format!("The server has no tool {:?}", call.name))
}

fn failed(why: String) -> MCPToolObservation {
    MCPToolObservation {
        content: vec![Content::text(why)],
        is_error: true,
        ..MCPToolObservation::default()
    }
}
