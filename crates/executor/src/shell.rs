//! Plain commands, beside the agent's terminal: started, followed, stopped; what they wrote and how they ended is
//! kept until it is acknowledged, whichever connections come and go.

mod command;
mod log;
mod output;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deft_tools::{Family, Secrets};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::files::Roots;
use crate::frame::Reply;
use crate::request_error::RequestError;
use crate::stream::Pipe;
use crate::work::{blocking, value};
use command::Leftovers;
use log::OutputLog;

pub use output::{OutputChannel, OutputChunk};

/// Commands that run or have not been acknowledged.
const MAX_COMMANDS: usize = 128;
/// How much of a command's text is listed.
const MAX_LISTED_CHARS: usize = 2000;
/// How long the end of all commands may take.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// What can be asked about plain commands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ShellRequest {
    /// Start a command, unless one of this id was started before. Answered when it runs.
    Start {
        /// Its name from now on.
        id: Uuid,
        /// What, how and where.
        command: ShellCommand,
    },
    /// What a command has written and writes, as a stream. Answered with its [`Ended`].
    Follow {
        /// The command.
        id: Uuid,
        /// Where to begin: pieces of a lower order are left out.
        from: u64,
    },
    /// End a command and all it started.
    Stop {
        /// The command.
        id: Uuid,
    },
    /// Which commands run or have not been acknowledged? Answered with a list of [`CommandInfo`]s.
    List,
    /// Forget a command, now or as soon as it has ended.
    Acknowledge {
        /// The command.
        id: Uuid,
    },
}

/// A line for the shell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShellCommand {
    /// For `/bin/sh`.
    pub command: String,
    /// Where it runs: absolute or relative to the workspace, which is where it runs without.
    pub directory: Option<String>,
    /// What is added to the environment of the workspace.
    pub env: BTreeMap<String, String>,
    /// When it is ended.
    pub timeout_ms: Option<u64>,
    /// What it can read from its standard input.
    #[serde(default)]
    pub input: Option<String>,
}

/// What is known of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandInfo {
    /// Its name.
    pub id: Uuid,
    /// What runs, or the beginning of it.
    pub command: String,
    /// How it ended, if it has.
    pub ended: Option<Ended>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// What the shell returned; below zero, the signal that ended it.
    pub exit_code: i32,
    /// Why.
    pub reason: EndReason,
}

/// Why a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// By itself.
    Exited,
    /// It took too long.
    TimedOut,
    /// Somebody asked for it, or the executor ended.
    Stopped,
}

/// A command that was started here.
#[derive(Clone)]
struct Running {
    text: String,
    log: Arc<OutputLog>,
    stop: CancellationToken,
    /// Nobody waits for its end.
    unwanted: bool,
}

type Table = Arc<Mutex<HashMap<Uuid, Running>>>;

/// The plain commands of one workspace.
pub(crate) struct Shells {
    roots: Arc<Roots>,
    env: Vec<(String, String)>,
    secrets: Secrets,
    /// In the environment of all that is started here, before the command's id.
    mark: String,
    commands: Table,
    leftovers: Arc<Leftovers>,
    tasks: TaskTracker,
}

impl Shells {
    pub(crate) fn new(roots: Arc<Roots>, env: Vec<(String, String)>, secrets: Secrets) -> Self {
        Self {
            roots,
            env,
            secrets,
            mark: Uuid::new_v4().to_string(),
            commands: Table::default(),
            leftovers: Arc::default(),
            tasks: TaskTracker::new(),
        }
    }

    pub(crate) async fn perform(
        &self,
        request: ShellRequest,
        pipe: &Pipe<Reply>,
    ) -> Result<Value, RequestError> {
        match request {
            ShellRequest::Start { id, command } => value(self.start(id, command).await?),
            ShellRequest::Follow { id, from } => {
                let mut follower = self.find(id)?.log.follow(from);
                while let Some(chunk) = follower.next().await {
                    pipe.send(chunk.to_piece())
                        .await
                        .map_err(|_| RequestError::Lost)?;
                }
                value(follower.ended())
            }
            ShellRequest::Stop { id } => {
                let running = self.find(id)?;
                running.stop.cancel();
                running.log.wait_for_end().await;
                value(())
            }
            ShellRequest::List => {
                let commands = lock(&self.commands);
                let infos = commands.iter().map(|(id, running)| CommandInfo {
                    id: *id,
                    command: running.text.clone(),
                    ended: running.log.ended(),
                });
                value(infos.collect::<Vec<_>>())
            }
            ShellRequest::Acknowledge { id } => {
                let mut commands = lock(&self.commands);
                let running = commands.get_mut(&id).ok_or(RequestError::UnknownCommand)?;
                running.unwanted = true;
                if running.log.ended().is_some() {
                    commands.remove(&id);
                }
                value(())
            }
        }
    }

    /// Ends all commands and all they left behind.
    pub(crate) async fn close(&self) {
        lock(&self.commands)
            .values()
            .for_each(|running| running.stop.cancel());
        self.tasks.close();
        let _ = tokio::time::timeout(CLOSE_LIMIT, self.tasks.wait()).await;
        let all = Family {
            name: self.mark.clone(),
            shell: None,
        };
        all.kill().await;
    }

    async fn start(&self, id: Uuid, command: ShellCommand) -> Result<(), RequestError> {
        let running = Running {
            text: command.command.chars().take(MAX_LISTED_CHARS).collect(),
            log: Arc::default(),
            stop: CancellationToken::new(),
            unwanted: false,
        };
        {
            let mut commands = lock(&self.commands);
            if commands.contains_key(&id) {
                return Ok(());
            }
            if self.tasks.is_closed() {
                return Err(RequestError::failed(
                    "the executor is about to end; connect to a new one",
                ));
            }
            if commands.len() >= MAX_COMMANDS {
                let what = "commands that run or wait to be acknowledged".to_owned();
                return Err(RequestError::Busy {
                    what,
                    limit: MAX_COMMANDS,
                });
            }
            commands.insert(id, running.clone());
        }
        let started = self.spawn(id, command, running).await;
        if started.is_err() {
            lock(&self.commands).remove(&id);
        }
        started
    }

    async fn spawn(&self, id: Uuid, command: ShellCommand, running: Running) -> Result<(), RequestError> {
        let path = self.roots.absolute(command.directory.as_deref().unwrap_or(""))?;
        let roots = self.roots.clone();
        let directory = blocking(move || roots.directory(&path)).await?;
        self.leftovers.collect();
        let mark = format!("{}/{id}", self.mark);
        let mut env = self.env.clone();
        env.extend(command.env);
        let timeout = command.timeout_ms.map(Duration::from_millis);
        let child = command::Child::spawn(&command.command, &directory, env, mark, command.input)?;
        let (table, leftovers, secrets) = (
            self.commands.clone(),
            self.leftovers.clone(),
            self.secrets.clone(),
        );
        self.tasks.spawn(async move {
            let ended = child
                .run(&running.log, &secrets, timeout, &running.stop, &leftovers)
                .await;
            let mut commands = lock(&table);
            running.log.end(ended);
            if commands.get(&id).is_some_and(|running| running.unwanted) {
                commands.remove(&id);
            }
        });
        Ok(())
    }

    fn find(&self, id: Uuid) -> Result<Running, RequestError> {
        let commands = lock(&self.commands);
        commands.get(&id).cloned().ok_or(RequestError::UnknownCommand)
    }
}

fn lock(table: &Table) -> MutexGuard<'_, HashMap<Uuid, Running>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}
