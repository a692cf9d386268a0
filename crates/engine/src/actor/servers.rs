//! What MCP servers offer, and how they are doing.

use deft_store::StoreError;
use deft_types::{McpApprovals, McpPin, McpServerStatus, Source, ToolSpec};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use serde_json::{Map, Value, json};

use super::Actor;
use super::work::{Outcome, Work};
use crate::command::CommandError;
use crate::live::Broadcast;
use crate::mode::{Mode, OF_OTHERS};
use crate::servers::{News, Reached, Servers, waited_for};
use crate::state::{self, key};
use crate::turn::Draft;

impl Actor {
    /// Begins to reach the servers elsewhere, which is done once and after approvals; whether it has begun.
    pub(crate) fn reach_servers(&mut self) -> bool {
        let Some(elsewhere) = self
            .outfit
            .elsewhere
            .as_ref()
            .filter(|_| self.news.reached.is_none() || self.news.elsewhere_again)
        else {
            return false;
        };
        let elsewhere = elsewhere.clone();
        self.news.elsewhere_again = false;
        self.tools.serve_elsewhere(Vec::new());
        let host = std::mem::take(&mut self.host);
        self.host = host.only(|tool| tool.definition.action_type != OF_OTHERS);
        let taken = self.tools.names().into_iter().map(str::to_owned).collect();
        let offers = elsewhere.reach(taken, self.state.seen_servers());
        self.work = Some(Work::Reach {
            future: reached(offers, self.live.clone()).boxed(),
        });
        true
    }

    /// Adds servers of plugins, these and no others, to those that run beside the files. Nobody who only plans has any.
    pub(crate) fn add_servers(&mut self, of_plugins: Map<String, Value>) {
        let are_some = self.outfit.servers.is_some() || !of_plugins.is_empty();
        if self.mode == Mode::Plan || !are_some {
            return;
        }
        let mut servers = self.own_servers.clone().unwrap_or_else(|| Servers {
            config: json!({}),
            approvals: McpApprovals::new(),
        });
        if let Value::Object(named) = &mut servers.config {
            for (name, server) in of_plugins {
                named.entry(name).or_insert(server); // what the user has named counts
            }
        }
        let before = self.outfit.servers.as_ref();
        self.news.beside_again |= before.is_some_and(|before| before.config != servers.config);
        self.outfit.servers = Some(servers);
    }

    /// A person agrees to what a server is. What it offers is used from the next step on.
    pub(crate) async fn approve_server(&mut self, name: &str, pin: McpPin) -> Result<(), CommandError> {
        let mut servers = self.state.servers.clone();
        let server = servers.iter_mut().find(|server| server.name == name);
        let Some(server) = server.filter(|server| server.pin.as_ref() == Some(&pin)) else {
            return Err(CommandError::OtherServer(name.to_owned()));
        };
        server.approved = Some(pin);
        let told = state::update(key::SERVERS, json!(servers));
        self.record(vec![Draft::new(Source::Environment, told)]).await?;
        self.news.approved();
        Ok(())
    }

    /// Takes what servers have told meanwhile, if anything: the next request offers what there is now.
    pub(crate) async fn hear_servers(&mut self) -> Result<(), StoreError> {
        while let Some(news) = self.news.next().now_or_never() {
            self.take_news(news).await?;
        }
        Ok(())
    }

    pub(crate) async fn take_news(&mut self, news: News) -> Result<(), StoreError> {
        match news {
            News::Beside(statuses) => self.take_servers(statuses).await,
            News::Elsewhere(reached) => self.take_reached(reached).await,
        }
    }

    /// Offers what servers elsewhere offer, and no longer what they offered before.
    pub(crate) async fn take_reached(&mut self, reached: Reached) -> Result<(), StoreError> {
        let tools = reached.tools.into_iter().filter(|tool| self.offers(&tool.spec()));
        let tools: Vec<_> = tools.collect();
        self.tools
            .serve_elsewhere(tools.iter().map(|tool| tool.spec()).collect());
        // One that is gone stays in the box: it refuses calls that are open, and says why.
        for tool in tools {
            self.host.put(tool);
        }
        let is_beside =
            |server: &&McpServerStatus| !reached.statuses.iter().any(|one| one.name == server.name);
        let beside = self.state.servers.iter().filter(is_beside).cloned().collect();
        self.news.reached = Some(reached.statuses);
        self.tell_servers(beside).await
    }

    /// Offers what servers in the workspace offer.
    pub(crate) async fn take_servers(&mut self, servers: Vec<McpServerStatus>) -> Result<(), StoreError> {
        let offered = servers.iter().flat_map(|server| server.state.tools().to_vec());
        let offered = offered.filter(|tool| self.offers(tool)).collect();
        self.tools.serve(offered);
        self.tell_servers(servers).await
    }

    fn offers(&self, tool: &ToolSpec) -> bool {
        let filter = self.outfit.filter.as_ref();
        filter.is_none_or(|offers| offers(tool.name()))
    }

    /// Notes how all of them are doing, if it is news.
    async fn tell_servers(&mut self, mut all: Vec<McpServerStatus>) -> Result<(), StoreError> {
        all.extend(self.news.reached.iter().flatten().cloned());
        if all == self.state.servers {
            return Ok(());
        }
        let told = state::update(key::SERVERS, json!(all));
        self.record(vec![Draft::new(Source::Environment, told)]).await
    }
}

/// Waits until each server is ready or has failed.
async fn reached(mut offers: BoxStream<'static, Reached>, live: Broadcast) -> Outcome {
    let mut first = offers.next().await.unwrap_or_default();
    if let Some(line) = waited_for(&first.statuses) {
        let told = stream::iter([line]);
        first = live.show_lines(told, offers.next()).await.unwrap_or_default();
    }
    Outcome::Reached(first, offers)
}
