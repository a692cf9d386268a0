//! A tool that edits files, with what the edit broke added to its answer.

use std::path::PathBuf;
use std::sync::Arc;

use deft_tools::{Call, Files, Tool, ToolError, Touches};
use deft_types::{Action, Content, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::Servers;
use crate::language::Language;
use crate::server::read;

/// Files of one edit that are looked at.
const MAX_FILES: usize = 4;

/// A tool whose edits are checked. What it does, and when it fails, is as before.
pub struct Checked {
    tool: Arc<dyn Tool>,
    servers: Servers,
}

impl Checked {
    /// Stands around a tool.
    pub fn new(tool: Arc<dyn Tool>, servers: Servers) -> Self {
        Self { tool, servers }
    }

    /// The files that a call will write and that a server may know, with what they hold now.
    async fn before(&self, action: &Action) -> Vec<(PathBuf, String)> {
        let Touches::Writes(Files::These(paths)) = self.tool.touches(action) else {
            return Vec::new();
        };
        let mut files = Vec::new();
        for path in paths
            .into_iter()
            .filter(|path| Language::of(path).is_some())
            .take(MAX_FILES)
        {
            // A file that is not there yet holds nothing.
            let text = if path.exists() {
                read(&path).await
            } else {
                Ok(String::new())
            };
            files.extend(text.ok().map(|text| (path, text)));
        }
        files
    }
}

impl Tool for Checked {
    fn spec(&self) -> ToolSpec {
        self.tool.spec()
    }

    fn touches(&self, action: &Action) -> Touches {
        self.tool.touches(action)
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let cancel = call.cancel.clone();
            let before = self.before(&call.action).await;
            let mut observation = self.tool.run(call).await?;
            if observation.is_error() {
                return Ok(observation);
            }
            let looks = before
                .iter()
                .map(|(path, text)| self.servers.after_edit(path, text));
            tokio::select! {
                found = futures::future::join_all(looks) => {
                    for text in found.into_iter().flatten() {
                        observation.add(Content::text(text));
                    }
                }
                () = cancel.cancelled() => {}
            }
            Ok(observation)
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.tool.close()
    }
}
