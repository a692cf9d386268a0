//! `deft mcp`: the servers that are set up, and whether they work.

pub(crate) mod kept;
mod login;
pub(crate) mod offer;
mod start;
pub(crate) mod trial;

use std::io::Write;

use anyhow::{Context, bail};
use deft_mcp::{Network, ServerConfig, put_variables};
use deft_types::{McpServerState, McpServerStatus};
use serde_json::Value;

use crate::args::{Mcp, McpServersNamed};
use crate::exit::Exit;
use crate::output::{Style, server_line, status_lines};
use crate::settings::{Settings, Surroundings, prepare_data_dir};

/// The longest file of servers that is read.
const MAX_CONFIG: u64 = 1024 * 1024;

pub(crate) async fn mcp(args: Mcp) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let load = |flags| Settings::load(flags, &surroundings, &surroundings.current_dir);
    match args {
        Mcp::List(args) => list(&load(&args.flags)?, args.json),
        Mcp::Test(args) => test(&load(&args.listing.flags)?, &args, kept::Approval::Checked).await,
        Mcp::Approve(args) => test(&load(&args.listing.flags)?, &args, kept::Approval::Given).await,
        Mcp::Login(args) => login::login(&load(&args.flags)?, &args.name).await,
    }
}

/// The servers that the user has set up: their own file's, then those of `--mcp-config`, which win.
pub(crate) fn configured(settings: &Settings) -> anyhow::Result<Vec<ServerConfig>> {
    let mut servers = settings.mcp_servers.expose().clone();
    if let Some(path) = &settings.mcp_config.value {
        let place = || format!("cannot use {} as a list of MCP servers", path.display());
        let size = std::fs::metadata(path).with_context(place)?.len();
        if size > MAX_CONFIG {
            bail!("{}: it has more than {MAX_CONFIG} bytes", place());
        }
        let text = std::fs::read_to_string(path).with_context(place)?;
        // What is wrong with the text is told by line and column: a part of it could be a secret.
        let config: Value = serde_json::from_str(&text).with_context(place)?;
        let named = ServerConfig::parse(&config).with_context(place)?;
        let Value::Object(named) = ServerConfig::write(&named) else {
            return Ok(named);
        };
        servers.extend(named);
    }
    put_variables(&mut servers, &|name| std::env::var(name).ok())?;
    Ok(ServerConfig::parse(&Value::Object(servers))?)
}

/// How servers elsewhere are reached.
fn network(settings: &Settings) -> Network {
    Network {
        ca_file: settings.ca_file.value.clone(),
    }
}

fn list(settings: &Settings, json: bool) -> anyhow::Result<Exit> {
    let servers = configured(settings)?;
    let approvals = kept::approvals(&settings.data_dir.value)?;
    let mut out = anstream::AutoStream::auto(std::io::stdout()).lock();
    if json {
        let names: Vec<_> = servers.iter().map(|server| &server.name).collect();
        writeln!(out, "{:#}", serde_json::json!(names))?;
    } else if servers.is_empty() {
        writeln!(
            out,
            "No MCP server is set up: add [mcpServers.NAME] with `command` or `url` to ~/.deft/deft.toml"
        )?;
    } else {
        for server in &servers {
            let line = server_line(server, approvals.contains_key(&server.name), &Style::coloured());
            write!(out, "{line}")?;
        }
    }
    Ok(Exit::Finished)
}

async fn test(settings: &Settings, args: &McpServersNamed, approval: kept::Approval) -> anyhow::Result<Exit> {
    let mut servers = configured(settings)?;
    for name in &args.names {
        if !servers.iter().any(|server| server.name == *name) {
            bail!("no MCP server is called {name:?}; `deft mcp list` shows them all");
        }
    }
    if !args.names.is_empty() {
        servers.retain(|server| args.names.contains(&server.name));
    }
    prepare_data_dir(&settings.data_dir.value)?;
    let mut approvals = kept::approvals(&settings.data_dir.value)?;
    if approval == kept::Approval::Given {
        approvals.retain(|name, _| !servers.iter().any(|server| server.name == *name));
    }
    let statuses = start::all(settings, servers, &approvals).await?;
    kept::remember(&settings.data_dir.value, &statuses, approval)?;
    let mut out = anstream::AutoStream::auto(std::io::stdout()).lock();
    if args.listing.json {
        writeln!(out, "{:#}", serde_json::to_value(&statuses)?)?;
    } else {
        for status in &statuses {
            write!(out, "{}", status_lines(status, &Style::coloured()))?;
        }
    }
    let works = |status: &McpServerStatus| matches!(status.state, McpServerState::Ready { .. });
    Ok(if statuses.iter().all(works) {
        Exit::Finished
    } else {
        Exit::Failed
    })
}
