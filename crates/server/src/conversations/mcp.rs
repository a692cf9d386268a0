//! The MCP servers that a client gives to its agent.

use std::path::Path;
use std::sync::Arc;

use axum::http::StatusCode;
use deft_engine::{Reached, ServersElsewhere};
use deft_mcp::{ServerConfig, TokenStore};
use deft_tools::SecretSet;
use deft_types::{McpApprovals, McpPin, McpServerState, McpServerStatus};
use futures::StreamExt;
use futures::future;
use futures::stream::{self, BoxStream};
use serde_json::Value;

use super::Conversations;
use crate::agent::Agent;
use crate::catalog::Described;
use crate::failure::Failure;
use crate::mcp_outfit::McpOutfit;
use crate::mcp_tokens::McpTokens;
use crate::resident::Resident;
use crate::skills::of_project;

impl Conversations {
    /// Where tokens for MCP servers are kept.
    pub(crate) fn mcp_tokens(&self) -> Arc<dyn TokenStore> {
        Arc::new(McpTokens::new(self.documents()))
    }

    /// Refuses servers that cannot be understood, and addresses to those who may not have the server reach them.
    pub(super) fn check_servers(&self, agent: &Value) -> Result<(), Failure> {
        let Some(config) = Agent::from_stored(agent.clone()).servers() else {
            return Ok(());
        };
        let refused = |error: deft_mcp::ConfigError| Failure::refused(error.to_string());
        let servers = ServerConfig::parse(&config).map_err(refused)?;
        if self.allowance.folders.is_some() && !servers.iter().all(ServerConfig::is_local) {
            let sentence =
                "Only an admin may use MCP servers by address: they are reached by the server itself";
            return Err(Failure::new(StatusCode::FORBIDDEN, sentence));
        }
        Ok(())
    }

    /// Agrees to what a server of a conversation is now.
    pub(crate) async fn approve_server(
        &self,
        resident: &Resident,
        name: &str,
        pin: McpPin,
    ) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.approve_server(name.to_owned(), pin).await)
    }

    /// The servers of an agent. Where they cannot be used that is told as one that failed: it keeps no conversation from
    /// being opened. Variables in them are the conversation's secrets, never the environment of this process.
    pub(super) fn servers(&self, described: &Described, secrets: &SecretSet) -> McpOutfit {
        let of_project = of_project(&described.agent);
        let Some(config) = described.agent.servers() else {
            return McpOutfit {
                of_project,
                ..McpOutfit::default()
            };
        };
        let variable = |name: &str| secret_named(secrets, name);
        let place = (described.record.id, Path::new(&described.record.workspace));
        let named = self.composition.mcp(place, &config, &variable, self.mcp_tokens());
        let named = named.unwrap_or_else(|reason| McpOutfit {
            elsewhere: Some(Arc::new(Unusable(reason))),
            ..McpOutfit::default()
        });
        McpOutfit {
            filter: described.agent.filter(),
            of_project,
            ..named
        }
    }
}

/// The value of a secret.
pub(super) fn secret_named(secrets: &SecretSet, name: &str) -> Option<String> {
    let mut secrets = secrets.iter();
    let known = secrets.find(|(known, _)| *known == name);
    known.map(|(_, value)| value.expose().clone())
}

/// Servers that are not even tried.
struct Unusable(String);

impl ServersElsewhere for Unusable {
    fn reach(&self, _taken: Vec<String>, _seen: McpApprovals) -> BoxStream<'static, Reached> {
        let status = McpServerStatus {
            name: "mcp_config".to_owned(),
            state: McpServerState::Failed {
                reason: self.0.clone(),
            },
            pin: None,
            approved: None,
            notes: Vec::new(),
        };
        let reached = Reached {
            tools: Vec::new(),
            statuses: vec![status],
        };
        stream::once(future::ready(reached)).boxed()
    }
}
