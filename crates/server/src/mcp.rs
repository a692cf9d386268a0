//! The MCP servers that a client names for a conversation.

use std::path::Path;
use std::sync::Arc;

use deft_engine::{Reached, ServersElsewhere};
use deft_tools::SecretSet;
use deft_types::{ConversationId, McpServerState, McpServerStatus};
use futures::future::BoxFuture;
use futures::{FutureExt, future};
use serde_json::{Map, Value};

use crate::composition::{Composition, McpOutfit};

const ADDRESSES: &str =
    "Only an admin may use servers by their addresses: they are reached by the server itself";
/// What all of them are called, where none can be told from the others.
const ALL: &str = "mcp_config";

/// Whether servers may be reached by their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addresses {
    Reached,
    Refused,
}

/// What an agent's `mcp_config` names. What cannot be used is told as a server that failed: it keeps no conversation
/// from being opened. Variables in it are the conversation's secrets, never the environment of this process.
pub(crate) fn outfit(
    composition: &dyn Composition,
    (id, root): (ConversationId, &Path),
    config: &Value,
    secrets: &SecretSet,
    addresses: Addresses,
) -> McpOutfit {
    let servers = config.get("mcpServers").unwrap_or(config);
    let (servers, refused): (Map<_, _>, Map<_, _>) = servers
        .as_object()
        .cloned()
        .unwrap_or_default()
        .into_iter()
        .partition(|(_, server)| addresses == Addresses::Reached || server.get("url").is_none());
    let mut failures: Vec<_> = refused.keys().map(|name| failure(name, ADDRESSES)).collect();
    let variable = |name: &str| {
        let mut secrets = secrets.iter();
        secrets
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.expose().clone())
    };
    let named = if servers.is_empty() {
        Ok(McpOutfit::default())
    } else {
        composition.mcp(id, root, &Value::Object(servers), &variable)
    };
    let named = named.unwrap_or_else(|reason| {
        failures.push(failure(ALL, &reason));
        McpOutfit::default()
    });
    if failures.is_empty() {
        return named;
    }
    let elsewhere = named.elsewhere;
    McpOutfit {
        elsewhere: Some(Arc::new(WithFailures { elsewhere, failures })),
        ..named
    }
}

fn failure(name: &str, reason: &str) -> McpServerStatus {
    McpServerStatus {
        name: name.to_owned(),
        state: McpServerState::Failed {
            reason: reason.to_owned(),
        },
        pin: None,
        notes: Vec::new(),
    }
}

/// Servers some of which are not even tried.
struct WithFailures {
    elsewhere: Option<Arc<dyn ServersElsewhere>>,
    failures: Vec<McpServerStatus>,
}

impl ServersElsewhere for WithFailures {
    fn reach(&self, taken: Vec<String>) -> BoxFuture<'static, Reached> {
        let failures = self.failures.clone();
        let reached = match &self.elsewhere {
            Some(elsewhere) => elsewhere.reach(taken),
            None => future::ready(Reached::default()).boxed(),
        };
        let with_failures = |mut reached: Reached| {
            reached.statuses.extend(failures);
            reached
        };
        reached.map(with_failures).boxed()
    }
}
