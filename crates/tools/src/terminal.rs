//! Runs commands in a persistent shell on a pseudo-terminal.
//!
//! A command is not typed: it is written to a file, and a short line that reads the file is typed. The shell
//! says by markers within the output (see `marker`) when the command ended and how, so that nothing is guessed
//! from prompts or silence. `shells` are all of them by name, `session` decides what a call does with one, `shell` is
//! the process, `flow` the way of its output.

mod capture;
mod display;
mod exports;
mod flow;
mod guard;
mod jobs;
mod keys;
mod marker;
mod notes;
mod outputs;
mod plain;
mod prompt;
mod pty;
mod reader;
mod session;
mod setup;
mod shell;
mod shells;
mod shown;

use std::time::Duration;

use deft_types::{Action, Observation, TerminalAction, TerminalObservation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::spec::{Reach, spec};
use crate::{Call, Secrets, Tool, ToolContext, ToolError, Touches};
use session::refusal;
use setup::Setup;
use shells::{MAIN, Shells};

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

/// The `terminal` tool. Calls on one shell run one after the other; shells beside each other do not wait.
#[derive(Debug)]
pub struct Terminal {
    shells: Shells,
    closing: CancellationToken,
    quiet_limit: Duration,
}

impl Terminal {
    /// A terminal whose shells start with their first commands, and get the secrets those name.
    pub fn new(context: ToolContext, options: TerminalOptions, secrets: Secrets) -> Self {
        Self {
            shells: Shells::new(Setup::new(context, secrets), options.quiet_limit),
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
        let name = shell_of(action);
        let shell = match self.shells.named(name) {
            Ok(shell) => shell,
            Err(reason) => return Ok(refusal(&action.command, &reason).into()),
        };
        let mut session = tokio::select! {
            biased;
            () = self.closing.cancelled() => return Err(ToolError::Closed),
            () = call.cancel.cancelled() => return Err(ToolError::Cancelled),
            session = shell.lock() => session,
        };
        let seen = tokio::select! {
            biased;
            () = self.closing.cancelled() => return Err(ToolError::ClosedWhileRunning),
            seen = session.handle(action, call.output, &call.cancel) => seen,
        };
        if !session.is_open() {
            self.shells.forget(name);
        }
        drop(session);
        Ok(self.with_shells(seen?, name).into())
    }

    /// Says which shell answered, if that is not plain, and what happens in others.
    fn with_shells(&self, mut seen: TerminalObservation, name: &str) -> TerminalObservation {
        let own = (name != MAIN).then(|| format!("\n[Shell: {name}]"));
        let lines = own.into_iter().chain(self.shells.told_beside(name));
        seen.metadata.suffix.extend(lines);
        seen
    }
}

/// The name of the shell an action is for.
fn shell_of(action: &TerminalAction) -> &str {
    action
        .shell
        .as_deref()
        .filter(|name| !name.is_empty())
        .unwrap_or(MAIN)
}

impl Tool for Terminal {
    fn spec(&self) -> ToolSpec {
        let description = format!(
            "Runs a bash command in a shell that stays: directory, variables and background jobs last from call to call. \
             Several lines, loops and here-documents are fine.\n\
             A command that waits for input, prints nothing for {} seconds, or takes longer than `timeout`, goes on while the call returns with exit code -1. \
             Then send an empty `command` to read on, text or a key with `is_input` to answer it, C-c to stop it.\n\
             For a server or anything else in the background use a `shell` of its own with a short `timeout`; read on and stop it there. \
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
                    "description": "The command. Empty: wait for more output. With `is_input`: text, sent with Enter (without to a full-screen program), or a key: C-c, C-d, ENTER, TAB, ESC, UP, DOWN …",
                },
                "is_input": {
                    "type": "boolean",
                    "description": "Send `command` to the running program. Default: false.",
                },
                "timeout": {
                    "type": "number",
                    "description": "Seconds to wait for the command to end, however quiet it is.",
                },
                "reset": {
                    "type": "boolean",
                    "description": "End the shell and all that runs in it, then run `command`, if any, in a new one. Default: false.",
                },
                "shell": {
                    "type": "string",
                    "description": "Name of a shell beside the main one, with its own directory and variables; it starts in the workspace with its first command.",
                },
            }),
            &["command"],
        )
    }

    fn touches(&self, action: &Action) -> Touches {
        let name = if let Action::Terminal(action) = action {
            shell_of(action)
        } else {
            MAIN
        };
        Touches::Shell(name.to_owned())
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        self.handle(call).boxed()
    }

    /// Ends the running calls, the shells and everything that was started here.
    fn close(&self) -> BoxFuture<'_, ()> {
        async move {
            self.closing.cancel();
            self.shells.close().await;
        }
        .boxed()
    }
}
