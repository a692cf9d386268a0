//! Runs commands in a persistent shell on a pseudo-terminal.
//!
//! A command is not typed: it is written to a file, and a short line that reads the file is typed. The shell
//! says by markers within the output (see `marker`) when the command ended and how, so that nothing is guessed
//! from prompts or silence. `shell` is one shell, `session` decides what a call does with it.

mod capture;
mod guard;
mod keys;
mod marker;
mod notes;
mod session;
mod setup;
mod shell;
mod shown;

use std::time::Duration;

use deft_types::{Action, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::spec::{Reach, spec};
use crate::{Call, Tool, ToolContext, ToolError, Touches};
use session::Session;
use setup::Setup;

/// How long a command without `timeout` may be silent before the call returns, unless the options say otherwise.
const QUIET_LIMIT: Duration = Duration::from_secs(30);

/// How a terminal behaves.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions {
    /// How long a command without `timeout` may be silent before the call returns.
    pub quiet_limit: Duration,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        Self {
            quiet_limit: QUIET_LIMIT,
        }
    }
}

/// The `terminal` tool. Calls run one after the other, because they share one shell.
#[derive(Debug)]
pub struct Terminal {
    /// Held for the whole of a call: that is what makes the next one wait.
    session: Mutex<Session>,
    closing: CancellationToken,
    quiet_limit: Duration,
}

impl Terminal {
    /// A terminal whose shell starts with the first command.
    pub fn new(context: ToolContext, options: TerminalOptions) -> Self {
        Self {
            session: Mutex::new(Session::new(Setup::new(context), options.quiet_limit)),
            closing: CancellationToken::new(),
            quiet_limit: options.quiet_limit,
        }
    }

    async fn handle(&self, call: Call) -> Result<Observation, ToolError> {
        let Action::Terminal(action) = &call.action else {
            return Err(ToolError::WrongAction {
                tool: "terminal",
                kind: call.action.kind().to_owned(),
            });
        };
        let mut session = tokio::select! {
            biased;
            () = self.closing.cancelled() => return Err(ToolError::Closed),
            () = call.cancel.cancelled() => return Err(ToolError::Cancelled),
            session = self.session.lock() => session,
        };
        tokio::select! {
            biased;
            () = self.closing.cancelled() => Err(ToolError::ClosedWhileRunning),
            seen = session.handle(action, call.output, &call.cancel) => Ok(seen?.into()),
        }
    }
}

impl Tool for Terminal {
    fn spec(&self) -> ToolSpec {
        let description = format!(
            "Runs a bash command in a shell that stays: directory, variables and background jobs last from call to call. \
             Several lines, loops and here-documents are fine.\n\
             A command that prints nothing for {} seconds, or takes longer than `timeout`, goes on running while the call returns with exit code -1. \
             Then send an empty `command` to read on, text or a key with `is_input` to answer it, C-c to stop it. \
             Start servers in the background, with their output in a file: `server > log 2>&1 &`. \
             Of a long output the beginning and the end are shown; all of it is in the file that is named.",
            self.quiet_limit.as_secs_f64(),
        );
        spec(
            "terminal",
            "Terminal",
            Reach::World,
            &description,
            &json!({
                "command": {
                    "type": "string",
                    "description": "The command. Empty: wait for more output of the running one. With `is_input`: text, sent with Enter, or a key: C-c, C-d, C-z, ENTER, TAB, ESC, UP, DOWN …",
                },
                "is_input": {
                    "type": "boolean",
                    "description": "Send `command` as input to the running program. Default: false.",
                },
                "timeout": {
                    "type": "number",
                    "description": "Seconds to wait for the command to end, however quiet it is.",
                },
                "reset": {
                    "type": "boolean",
                    "description": "Begin with a new shell and end what runs in the old one; `command` may be empty then. Default: false.",
                },
            }),
            &["command"],
        )
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Shell(String::new())
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        self.handle(call).boxed()
    }

    /// Ends the running call, the shell and everything that was started here.
    fn close(&self) -> BoxFuture<'_, ()> {
        async move {
            self.closing.cancel();
            self.session.lock().await.close().await;
        }
        .boxed()
    }
}
