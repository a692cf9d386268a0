//! A server and the task that looks after it: starts it, starts it again when it has died, and follows its tools.

use std::sync::Arc;

use deft_types::{MCPToolObservation, McpPin};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::config::ServerConfig;
use crate::known::{Known, States};
use crate::limits::{Limits, MAX_TOOLS, MAX_WAITING};
use crate::link::{Line, Link, List, Place};
use crate::outputs::Outputs;
use crate::pin::target_of;
use crate::relist::Relist;
use crate::rest::Rest;
use crate::result::failed;
use crate::text::visible;

/// What tools know of their server.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    pub(crate) limits: Limits,
    pub(crate) outputs: Outputs,
    wanted: mpsc::Sender<oneshot::Sender<Result<Line, String>>>,
    states: watch::Receiver<States>,
    index: usize,
}

impl Server {
    /// A server and the task that looks after it, which is to be run.
    pub(crate) fn new(
        config: ServerConfig,
        place: Place,
        limits: Limits,
        states: &watch::Sender<States>,
        index: usize,
    ) -> (Arc<Self>, Keeper) {
        let (wanted, requests) = mpsc::channel(MAX_WAITING);
        let server = Arc::new(Self {
            outputs: Outputs::new(&place.tools.private_dir),
            config,
            limits,
            wanted,
            states: states.subscribe(),
            index,
        });
        let keeper = Keeper {
            server: server.clone(),
            place,
            requests,
            states: states.clone(),
            rest: Rest::default(),
        };
        (server, keeper)
    }

    /// A living connection, made anew if the last one is dead.
    pub(crate) async fn line(&self) -> Result<Line, String> {
        let closed = || "the server was shut down".to_owned();
        let (answer, line) = oneshot::channel();
        self.wanted.send(answer).await.map_err(|_| closed())?;
        line.await.map_err(|_| closed())?
    }

    /// Whether the tool is still the one of this digest.
    pub(crate) fn has(&self, tool: &str, digest: &str) -> bool {
        self.states.borrow()[self.index].has(tool, digest)
    }

    /// The answer to a call of a tool that came to nothing.
    pub(crate) fn failed(&self, tool: &str, what: &str) -> MCPToolObservation {
        let message = format!("The MCP server {:?} {what}", self.config.name);
        failed(tool, &self.config.redact(message))
    }
}

/// Owns the connection to a server.
pub(crate) struct Keeper {
    server: Arc<Server>,
    place: Place,
    requests: mpsc::Receiver<oneshot::Sender<Result<Line, String>>>,
    states: watch::Sender<States>,
    rest: Rest,
}

impl Keeper {
    /// Looks after the server until it is told to stop; then ends it.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let (news, mut changed) = mpsc::channel(1);
        let mut link = None;
        let mut relist = Relist::default();
        let work = async {
            link = self.open(&news).await.ok();
            loop {
                tokio::select! {
                    request = self.requests.recv() => {
                        let Some(answer) = request else { return };
                        let living = self.living(&mut link, &news).await;
                        let _ = answer.send(living); // the call may have been cancelled
                    }
                    () = self.rest.over() => link = self.open(&news).await.ok(),
                    Some(()) = changed.recv() => relist.want(),
                    () = relist.due() => {
                        if let Some(link) = &link {
                            self.list_again(link).await;
                        }
                        relist.done();
                    }
                }
            }
        };
        tokio::select! {
            () = work => {}
            () = stop.cancelled() => {}
        }
        if let Some(link) = link {
            link.close().await;
        }
    }

    /// The line of the connection there is, or of a new one if that is dead. It is tried once, and not right after that
    /// has failed.
    async fn living(&mut self, link: &mut Option<Link>, news: &mpsc::Sender<()>) -> Result<Line, String> {
        if let Some(link) = link.as_ref().filter(|link| !link.line().is_dead()) {
            return Ok(link.line().clone());
        }
        if let Some(dead) = link.take() {
            dead.close().await;
        }
        if let Some(reason) = self.rest.reason() {
            return Err(reason);
        }
        let opened = self.open(news).await?;
        Ok(link.insert(opened).line().clone())
    }

    async fn open(&mut self, news: &mpsc::Sender<()>) -> Result<Link, String> {
        let server = self.server.clone();
        match Link::open(&server.config, &self.place, server.limits.start, news.clone()).await {
            Ok((link, list)) => {
                self.rest = Rest::default();
                self.offer(list);
                Ok(link)
            }
            Err(reason) => {
                let reason = server.config.redact(visible(&reason));
                self.rest.begin(&reason);
                self.know(|known| known.fail(reason.clone()));
                Err(reason)
            }
        }
    }

    async fn list_again(&mut self, link: &Link) {
        match tokio::time::timeout(self.server.limits.start, link.list()).await {
            Ok(Ok(list)) => self.offer(list),
            // What is known stays; a server that is gone is found out by the next call.
            Ok(Err(reason)) => tracing::warn!(server = self.server.config.name, "{reason}"),
            Err(_) => tracing::warn!(
                server = self.server.config.name,
                "it does not list its tools in time"
            ),
        }
    }

    fn offer(&mut self, list: List) {
        let mut notes = Vec::new();
        if list.left_out > 0 {
            notes.push(format!(
                "{} tools were left out: {MAX_TOOLS} can be offered",
                list.left_out
            ));
        }
        let tools = list
            .tools
            .iter()
            .map(|tool| (tool.name.clone(), tool.digest.clone()));
        let pin = McpPin {
            target: target_of(&self.server.config),
            tools: tools.collect(),
        };
        self.know(|known| known.offer(list.tools, pin, notes));
    }

    fn know(&self, news: impl FnOnce(&mut Known)) {
        self.states
            .send_modify(|states| news(&mut states[self.server.index]));
    }
}
