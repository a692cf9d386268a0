//! The MCP servers that a client gives to its agent.

use std::path::Path;
use std::sync::Arc;

use axum::http::StatusCode;
use deft_engine::Mode;
use deft_mcp::{ServerConfig, TokenStore};
use serde_json::Value;

use super::Conversations;
use crate::agent::Agent;
use crate::catalog::Described;
use crate::composition::McpOffer;
use crate::failure::Failure;
use crate::mcp_tokens::McpTokens;

impl Conversations {
    /// Where tokens for MCP servers are kept.
    pub(crate) fn mcp_tokens(&self) -> Arc<dyn TokenStore> {
        Arc::new(McpTokens::new(self.documents()))
    }

    /// Refuses servers that cannot be understood, and addresses to those who may not have the server reach them.
    pub(super) fn check_servers(&self, agent: &Value) -> Result<(), Failure> {
        let Some(config) = Agent::from_stored(agent.clone()).servers().cloned() else {
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

    /// What the servers of an agent offer, beside tools that have these names. An agent that only plans has none.
    pub(super) async fn servers(
        &self,
        described: &Described,
        mode: Mode,
        taken: Vec<String>,
    ) -> Result<McpOffer, Failure> {
        let Some(config) = described.agent.servers().filter(|_| mode == Mode::Act) else {
            return Ok(McpOffer::default());
        };
        let root = Path::new(&described.record.workspace);
        let offered = self
            .composition
            .mcp(described.record.id, root, config, self.mcp_tokens(), taken);
        let refused = |reason| Failure::new(StatusCode::BAD_REQUEST, reason);
        offered.await.map_err(refused)
    }
}
