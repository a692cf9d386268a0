//! What MCP servers offer, and how they are doing.

use deft_store::StoreError;
use deft_tools::Toolbox;
use deft_types::{McpServerStatus, Source};
use futures::FutureExt;
use serde_json::json;

use super::Actor;
use super::work::{Outcome, Work};
use crate::servers::Reached;
use crate::state::{self, key};
use crate::turn::Draft;

impl Actor {
    /// Begins to reach the servers elsewhere, which is done once; whether it has begun.
    pub(crate) fn reach_servers(&mut self) -> bool {
        let Some(elsewhere) = self
            .outfit
            .elsewhere
            .as_ref()
            .filter(|_| self.elsewhere.is_none())
        else {
            return false;
        };
        let taken = self.tools.names().into_iter().map(str::to_owned).collect();
        self.work = Some(Work::Reach {
            future: elsewhere.reach(taken).map(Outcome::Reached).boxed(),
        });
        true
    }

    /// Offers what servers elsewhere offer.
    pub(crate) async fn take_reached(&mut self, reached: Reached) -> Result<(), StoreError> {
        self.tools.add(reached.tools.iter().map(|tool| tool.spec()));
        self.host = reached
            .tools
            .into_iter()
            .fold(std::mem::take(&mut self.host), Toolbox::with);
        let is_beside =
            |server: &&McpServerStatus| !reached.statuses.iter().any(|one| one.name == server.name);
        let beside = self.state.servers.iter().filter(is_beside).cloned().collect();
        self.elsewhere = Some(reached.statuses);
        self.tell_servers(beside).await
    }

    /// Offers what servers in the workspace offer.
    pub(crate) async fn take_servers(&mut self, servers: Vec<McpServerStatus>) -> Result<(), StoreError> {
        let offered = servers.iter().flat_map(|server| server.state.tools().to_vec());
        self.tools.serve(offered.collect());
        self.tell_servers(servers).await
    }

    /// Notes how all of them are doing, if it is news.
    async fn tell_servers(&mut self, mut all: Vec<McpServerStatus>) -> Result<(), StoreError> {
        all.extend(self.elsewhere.iter().flatten().cloned());
        if all == self.state.servers {
            return Ok(());
        }
        let told = state::update(key::SERVERS, json!(all));
        self.record(vec![Draft::new(Source::Environment, told)]).await
    }
}
