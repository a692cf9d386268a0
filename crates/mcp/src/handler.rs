//! Our side of a connection: what we tell a server about us, and how we answer what it asks.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deft_tools::OutputSink;
use reqwest::Url;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorCode, ErrorData, Implementation, ProgressNotificationParam,
    ProgressToken, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::mpsc;

use crate::text::{beginning, visible};

/// The longest report of progress.
const MAX_PROGRESS: usize = 500;

/// What answers a server. A question to a person is declined, which is the SDK's own answer.
pub(crate) struct Handler {
    /// The workspace, for servers that run in it.
    root: Option<Url>,
    progress: Progress,
    /// One place: a second change before the first was looked at is the same news.
    changed: mpsc::Sender<()>,
}

impl Handler {
    pub(crate) fn new(workspace: Option<&Path>, progress: Progress, changed: mpsc::Sender<()>) -> Self {
        Self {
            root: workspace.and_then(|path| Url::from_directory_path(path).ok()),
            progress,
            changed,
        }
    }
}

#[allow(deprecated)] // by a later version of the protocol, but servers of today ask for roots and for samples
impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = self.root.as_ref().map(|_| RootsCapabilities::default());
        ClientConfig::new(
            capabilities,
            Implementation::new("deft", env!("CARGO_PKG_VERSION")),
        )
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        let roots = self.root.iter().map(|root| rmcp::model::Root::new(root.as_str()));
        Ok(rmcp::model::ListRootsResult::new(roots.collect()))
    }

    async fn create_message(
        &self,
        _: rmcp::model::CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::CreateMessageResult, ErrorData> {
        let message = "This client lends its model to no server; do without, please.";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.tell(&progress);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.changed.try_send(());
    }
}

/// Who wants to hear how far which call is.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<Mutex<HashMap<ProgressToken, OutputSink>>>);

/// Ends the interest in a call when it is dropped.
pub(crate) struct Watching {
    progress: Progress,
    token: ProgressToken,
}

impl Progress {
    pub(crate) fn watch(&self, token: ProgressToken, output: OutputSink) -> Watching {
        self.lock().insert(token.clone(), output);
        Watching {
            progress: self.clone(),
            token,
        }
    }

    fn tell(&self, progress: &ProgressNotificationParam) {
        let Some(output) = self.lock().get(&progress.progress_token).cloned() else {
            return;
        };
        let far = match progress.total {
            Some(total) => format!("{} of {total}", progress.progress),
            None => progress.progress.to_string(),
        };
        let message = progress.message.as_deref().map(visible).unwrap_or_default();
        let line = format!("{far} {message}");
        output.send(format!("{}\n", beginning(line.trim(), MAX_PROGRESS)).as_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, OutputSink>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.progress.lock().remove(&self.token);
    }
}
