//! What every tool is.

use std::io;

use deft_types::{Action, ActionId, EventId, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{OutputSink, Touches};

/// Something an agent can do.
pub trait Tool: Send + Sync {
    /// How the tool is shown to a model.
    fn spec(&self) -> ToolSpec;

    /// What that would touch. A call waits for earlier ones that touch the same.
    fn touches(&self, action: &Action) -> Touches;

    /// Does what the action asks.
    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>>;

    /// Whether a call of which nobody knows whether it ran may be made again.
    fn may_repeat(&self) -> bool {
        self.spec().is_idempotent()
    }

    /// Ends running calls and everything the tool has started. There is no way back.
    fn close(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

/// One use of a tool.
#[derive(Debug)]
pub struct Call {
    /// The id of the action.
    pub id: ActionId,
    /// What to do.
    pub action: Action,
    /// Where output goes while the tool works.
    pub output: OutputSink,
    /// Ends the call early; what was done so far is still reported where the tool can.
    pub cancel: CancellationToken,
}

impl Call {
    /// A call that nobody watches and nobody cancels.
    pub fn of(action: impl Into<Action>) -> Self {
        Self {
            id: EventId(String::new()),
            action: action.into(),
            output: OutputSink::none(),
            cancel: CancellationToken::new(),
        }
    }
}

/// Runs work that blocks on a thread for such, unless its call is cancelled already.
pub(crate) async fn blocking<T: Send + 'static>(
    cancel: &CancellationToken,
    doing: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    if cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ToolError::io(doing)(error.into()))
}

/// Why a tool could not work at all. The message goes to the model.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The action belongs to another tool, or its arguments did not fit its schema.
    #[error(
        "The tool `{tool}` cannot run {kind}: check the tool's name and its arguments, then call it again."
    )]
    WrongAction {
        /// The tool that was asked.
        tool: &'static str,
        /// The kind of the action it was given.
        kind: String,
    },
    /// The call was cancelled before it did anything.
    #[error("The call was cancelled before it started; nothing was changed.")]
    Cancelled,
    /// The toolbox is closed.
    #[error("The tools of this workspace are closed; nothing was run.")]
    Closed,
    /// The toolbox was closed in the middle of the call.
    #[error(
        "The tools of this workspace were closed while the call ran, and what it had started was ended. It may have \
         done a part of its work: look before you repeat it."
    )]
    ClosedWhileRunning,
    /// There is no shell to run commands in. Images made for one program often have none.
    #[error(
        "There is no `bash` in this workspace, and commands run in one. The user can install it; into the image of a \
         container it comes with docker:IMAGE?packages=bash."
    )]
    NoShell,
    /// The operating system refused something the tool cannot do without.
    #[error("Could not {doing}: {source}.")]
    Io {
        /// What was tried, as it follows "could not".
        doing: String,
        /// What the system said.
        source: io::Error,
    },
}

impl ToolError {
    /// The action is not one of the tool's.
    pub(crate) fn wrong_action(tool: &'static str, action: &Action) -> Self {
        Self::WrongAction {
            tool,
            kind: action.kind().to_owned(),
        }
    }

    /// Says what was tried when the system refused.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}
