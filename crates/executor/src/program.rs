//! Programs that somebody talks to over their standard streams, such as agents that are programs of their own.
//!
//! One lives as long as whoever talks to it: when the stream ends, it and all that it has started end.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use deft_tools::{Family, SHELL_VARIABLE, Secrets};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use uuid::Uuid;

use crate::frame::Reply;
use crate::leash::Leash;
use crate::ports::carry;
use crate::program_files::{OwnFolder, ProgramFiles, SecretFile};
use crate::request_error::RequestError;
use crate::stream::Pipe;
use crate::work::value;

/// The first piece of a stream says that the program was started.
const STARTED: Bytes = Bytes::from_static(b"started");
/// How much of the end of its standard error is kept.
const MAX_LAST_WORDS: usize = 4096;
/// How long what it has written is waited for after its end.
const DRAIN_GRACE: Duration = Duration::from_millis(250);
/// How long a program whose streams have ended may take to end.
const END_GRACE: Duration = Duration::from_secs(2);

/// A program to start, in the workspace and its environment. Every secret of the workspace is a variable of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The program and its arguments, exactly.
    pub command: Vec<String>,
    /// Secrets that it has as files, and not as variables.
    #[serde(default)]
    pub files: Vec<SecretFile>,
    /// A folder for what it keeps.
    #[serde(default)]
    pub own_folder: Option<OwnFolder>,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramEnd {
    /// With which status; none if it had to be ended.
    pub status: Option<String>,
    /// The end of what it wrote to its standard error.
    pub last_words: String,
}

/// Starts programs in one workspace.
pub(crate) struct Programs {
    workspace: PathBuf,
    env: Vec<(String, String)>,
    secrets: Secrets,
    files: ProgramFiles,
}

impl Programs {
    pub(crate) fn new(workspace: PathBuf, env: Vec<(String, String)>, secrets: Secrets) -> Self {
        let temporary = env.iter().find(|(name, _)| name == "TMPDIR");
        let temporary = temporary.map_or_else(std::env::temp_dir, |(_, path)| path.into());
        Self {
            workspace,
            env,
            secrets,
            files: ProgramFiles::new(temporary),
        }
    }

    /// Runs a program until it ends or nobody talks to it any more.
    pub(crate) async fn perform(
        &self,
        program: &Program,
        pipe: &mut Pipe<Reply>,
    ) -> Result<Value, RequestError> {
        let (mut child, _leash) = self.start(program)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(RequestError::failed("its standard streams are not connected"));
        };
        let words = LastWords::default();
        let listening = words.listen(stderr);
        let told = pipe.send(STARTED).await;
        told.map_err(|_| RequestError::Lost)?;
        let talk = async {
            let mut carried = std::pin::pin!(carry(pipe, tokio::io::join(stdout, stdin)));
            tokio::select! {
                status = child.wait() => {
                    let _ = timeout(DRAIN_GRACE, &mut carried).await; // what it left open is not waited for
                    status.ok()
                }
                () = &mut carried => timeout(END_GRACE, child.wait()).await.ok().and_then(Result::ok),
            }
        };
        let status = tokio::select! {
            status = talk => status,
            () = listening => None, // never ends
        };
        value(ProgramEnd {
            status: status.map(|status| status.to_string()),
            last_words: self.secrets.mask().hide(&words.text()).into_owned(),
        })
    }

    fn start(&self, program: &Program) -> Result<(Child, Leash), RequestError> {
        let Some((name, arguments)) = program.command.split_first() else {
            return Err(RequestError::failed("no program is named"));
        };
        let secrets = self.secrets.variables();
        let prepared = self.files.prepare(program, &secrets).map_err(|error| {
            RequestError::failed(format!("what {name:?} needs cannot be written: {error}"))
        })?;
        let as_variables = secrets
            .iter()
            .filter(|(name, _)| !prepared.secrets.contains(name));
        let mark = Uuid::new_v4().to_string();
        let child = Command::new(name)
            .args(arguments)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .envs(as_variables.map(|(name, value)| (name, value.expose())))
            .envs(prepared.variables)
            .env(SHELL_VARIABLE, &mark)
            .current_dir(&self.workspace)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                RequestError::failed(format!(
                    "{name:?} cannot be started in {}: {error}",
                    self.workspace.display()
                ))
            })?;
        let family = Family {
            name: mark,
            shell: child.id(),
        };
        Ok((child, Leash(family)))
    }
}

/// The end of what a program wrote to its standard error.
#[derive(Clone, Default)]
struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    /// Never returns: the program's end is noticed elsewhere.
    async fn listen(&self, mut stderr: impl AsyncRead + Unpin) {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&buffer[..count]);
            let surplus = kept.len().saturating_sub(MAX_LAST_WORDS);
            kept.drain(..surplus);
        }
        std::future::pending::<()>().await;
    }

    fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}
