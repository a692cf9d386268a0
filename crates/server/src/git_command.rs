//! Git as the server runs it beside the files: without anybody's configuration, and never asking a person.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use deft_executor::{Client, CommandUpdate, EndReason, RequestError, ShellCommand};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::failure::Failure;
use crate::forge::Account;
use crate::routes::files::refused;

/// The most of what git says that is kept.
const MAX_SAID: usize = 64 * 1024;
/// The lines of it that are told when it fails.
const LINES_TOLD: usize = 12;
/// What stands for the token, should anything repeat it.
const MASK: &str = "**********";

/// What git may know of its surroundings.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("GIT_ALLOW_PROTOCOL", "https:http"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_VALUE_0", "*"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C.UTF-8"),
];

/// A script for the shell in which git runs.
pub(crate) struct GitCommand(ShellCommand);

/// How it ended.
pub(crate) struct Said {
    pub(crate) succeeded: bool,
    /// What was written, as far as it is kept.
    pub(crate) text: String,
}

impl GitCommand {
    pub(crate) fn new(script: &str, directory: &str, timeout_ms: u64) -> Self {
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self(ShellCommand {
            command: script.to_owned(),
            directory: Some(directory.to_owned()),
            env: BTreeMap::from(ENVIRONMENT.map(own)),
            timeout_ms: Some(timeout_ms),
            input: None,
        })
    }

    /// What the script finds in its variables.
    pub(crate) fn with<const N: usize>(mut self, variables: [(&str, &str); N]) -> Self {
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.0.env.extend(variables);
        self
    }

    /// Gives the answer to git's question for a password to the standard input: it is in no address, no argument, no
    /// variable and no log.
    pub(crate) fn with_account(mut self, account: &Account) -> Self {
        let (user, token) = (account.forge.user(), account.token.expose());
        self.0.input = Some(format!("username={user}\npassword={token}\n"));
        self
    }

    /// Runs it to its end, and remembers nothing of it.
    pub(crate) async fn run(self, client: &Client) -> Result<Said, Failure> {
        self.watched(client, &CancellationToken::new(), |_| {}).await
    }

    /// The same; `hear` is told what it writes, and it can be stopped.
    pub(crate) async fn watched(
        self,
        client: &Client,
        stop: &CancellationToken,
        mut hear: impl FnMut(&[u8]),
    ) -> Result<Said, Failure> {
        let id = Uuid::new_v4();
        let asked = async {
            client.start_command(id, self.0).await?;
            let mut following = client.follow_command(id, 0).await?;
            let mut said = Vec::new();
            let mut is_stopped = false;
            let ended = loop {
                let update = tokio::select! {
                    update = following.next() => update?,
                    () = stop.cancelled(), if !is_stopped => {
                        is_stopped = true;
                        client.stop_command(id).await?;
                        continue;
                    }
                };
                match update {
                    CommandUpdate::Output(chunk) => {
                        hear(&chunk.bytes);
                        if said.len() < MAX_SAID {
                            said.extend_from_slice(&chunk.bytes);
                        }
                    }
                    CommandUpdate::Ended(ended) => break ended,
                }
            };
            client.acknowledge_command(id).await?;
            Ok::<_, RequestError>((ended, said))
        };
        let (ended, said) = asked.await.map_err(|error| refused(&error))?;
        match ended.reason {
            EndReason::TimedOut => Err(Failure::new(
                StatusCode::GATEWAY_TIMEOUT,
                "git took too long and was stopped",
            )),
            EndReason::Exited | EndReason::Stopped => Ok(Said {
                succeeded: ended.exit_code == 0,
                text: String::from_utf8_lossy(&said).into_owned(),
            }),
        }
    }
}

impl Said {
    /// The last lines of it, without a token.
    pub(crate) fn complaint(&self, account: Option<&Account>) -> String {
        let text = match account {
            Some(account) => self.text.replace(account.token.expose(), MASK),
            None => self.text.clone(),
        };
        // What a carriage return has overwritten is progress.
        let lines = text.lines().map(|line| line.rsplit('\r').next().unwrap_or(line));
        let lines: Vec<_> = lines.filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LINES_TOLD)..].join("\n")
    }
}
