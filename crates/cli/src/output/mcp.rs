//! What `deft mcp` prints.

use std::fmt::Write;

use deft_mcp::{Endpoint, ServerConfig};
use deft_types::{McpServerState, McpServerStatus};
use serde::Deserialize as _;
use serde_json::Value;

use super::line::one_line;
use super::style::Style;

/// A line for a server that is set up: its name, and what is run or reached. Values that may be secret are not shown.
pub(crate) fn server_line(server: &ServerConfig, is_approved: bool, style: &Style) -> String {
    let what = match &server.endpoint {
        Endpoint::Stdio(program) => {
            let words = std::iter::once(&program.command).chain(&program.args);
            words.cloned().collect::<Vec<_>>().join(" ")
        }
        Endpoint::Http(remote) => format!("{} (http)", address(&remote.url)),
        Endpoint::Sse(remote) => format!("{} (sse)", address(&remote.url)),
    };
    let (heading, dim) = (style.heading, style.dim);
    let note = if is_approved { "" } else { "  not seen yet" };
    let name = one_line(&server.name);
    format!(
        "{heading}{name}{heading:#}  {}{dim}{note}{dim:#}\n",
        one_line(&what)
    )
}

/// Without a query or a user's name, which may hold keys.
fn address(url: &impl AsRef<str>) -> String {
    let text = url.as_ref();
    let text = text.split(['?', '#']).next().unwrap_or(text);
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => text.to_owned(),
    }
}

/// How a server is doing, with a line for each of its tools.
pub(crate) fn status_lines(status: &McpServerStatus, style: &Style) -> String {
    let (good, bad, warning, dim) = (style.good, style.error, style.warning, style.dim);
    let name = one_line(&status.name);
    let mut text = match &status.state {
        McpServerState::Connecting => format!("{warning}…{warning:#} {name}  is still being started\n"),
        McpServerState::Ready { tools } => format!("{good}✔{good:#} {name}  {} tools\n", tools.len()),
        McpServerState::Failed { reason } => format!("{bad}✘{bad:#} {name}  {}\n", one_line(reason)),
        McpServerState::Changed { what, .. } => {
            let mut text = format!("{warning}!{warning:#} {name}  is not what was approved\n");
            for change in what {
                let _ = writeln!(text, "    {}", one_line(&change.to_string()));
            }
            let _ = writeln!(text, "    → look at it, then run `deft mcp approve {name}`");
            text
        }
    };
    for note in &status.notes {
        let _ = writeln!(text, "    {}", one_line(note));
    }
    for tool in status.state.tools() {
        let description = tool.definition.description.lines().next().unwrap_or_default();
        let _ = writeln!(
            text,
            "    {}  {dim}{}{dim:#}",
            one_line(tool.name()),
            one_line(description)
        );
    }
    text
}

/// The servers of a state update whose tools are not offered, or not all of them.
pub(crate) fn troubled(told: &Value) -> Vec<McpServerStatus> {
    let all = Vec::<McpServerStatus>::deserialize(told).unwrap_or_default();
    all.into_iter().filter(is_troubled).collect()
}

pub(crate) fn is_troubled(status: &McpServerStatus) -> bool {
    matches!(
        status.state,
        McpServerState::Failed { .. } | McpServerState::Changed { .. }
    )
}

/// What is wrong with a server, in a sentence.
pub(crate) fn trouble(status: &McpServerStatus) -> String {
    let name = one_line(&status.name);
    match &status.state {
        McpServerState::Failed { reason } => {
            format!("The MCP server {name} is missing: {}", one_line(reason))
        }
        McpServerState::Changed { .. } | McpServerState::Connecting | McpServerState::Ready { .. } => {
            format!(
                "The MCP server {name} is not what was approved, so some of its tools are missing; `deft mcp test {name}` tells more"
            )
        }
    }
}
