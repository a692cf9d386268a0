//! How we get to the executor in a container, and why not.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::DockerWorkspace;
use crate::api::Ask;
use crate::attached::Attached;
use crate::container::{PRIVATE, PROGRAM};
use crate::error::DockerError;

/// How long an executor may take until it answers.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// How a container is doing.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    state: State,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct State {
    #[serde(default, rename = "OOMKilled")]
    pub(super) oom_killed: bool,
    #[serde(default)]
    exit_code: i64,
}

impl DockerWorkspace {
    /// Joins the executor, and waits until it has said something.
    pub(super) async fn attach(&self, id: &str) -> Result<Attached, DockerError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Created {
            id: String,
        }
        let directory = format!("/{PRIVATE}");
        let exec = Ask::post("run a program in a container", format!("/containers/{id}/exec"));
        let exec = exec.json(&json!({
            "AttachStdin": true, "AttachStdout": true, "AttachStderr": true, "Tty": false,
            "Cmd": [format!("/{PROGRAM}"), "executor", "join", "--directory", directory],
        }));
        let exec: Created = match self.docker.ask(exec).await {
            // Podman says so with its general status.
            Err(DockerError::Refused {
                status: 409 | 500,
                message,
                ..
            }) => {
                return Err(self.why_ended(id, message).await);
            }
            created => created?,
        };
        let join = Ask::post(
            "join a program in a container",
            format!("/exec/{}/start", exec.id),
        );
        let join = join.json(&json!({"Detach": false, "Tty": false}));
        let joined = match self.docker.join(join).await {
            // The container has ended since, and with it what was to run in it: engines differ in how they say so.
            Err(DockerError::Refused {
                status: 404 | 409 | 500,
                message,
                ..
            }) => return Err(self.why_ended(id, message).await),
            joined => joined?,
        };
        let mut attached = Attached::new(joined);
        match tokio::time::timeout(START_TIMEOUT, attached.is_answered()).await {
            Ok(Ok(true)) => Ok(attached),
            Ok(_) => Err(self.why_ended(id, attached.complaint()).await),
            Err(_) => Err(DockerError::Slow("let the executor answer")),
        }
    }

    pub(super) async fn inspect(&self, id: &str) -> Result<State, DockerError> {
        let inspect = Ask::get("look at a container", format!("/containers/{id}/json"));
        Ok(self.docker.ask::<Inspected>(inspect).await?.state)
    }

    /// Why there is no talking to the executor.
    async fn why_ended(&self, id: &str, seen: String) -> DockerError {
        let state = match self.inspect(id).await {
            Ok(state) => state,
            Err(error) => return error,
        };
        let log = self.log(id).await.unwrap_or_default();
        let log = if log.is_empty() { seen } else { log };
        DockerError::Ended {
            code: state.exit_code,
            log,
        }
    }

    /// The end of what the executor said about errors.
    async fn log(&self, id: &str) -> Result<String, DockerError> {
        let logs = Ask::get("tell a container's log", format!("/containers/{id}/logs"));
        let mut answer = self
            .docker
            .stream(logs.query(&[("stderr", "true"), ("tail", "20")]))
            .await?;
        let mut frames = Vec::new();
        while let Some(piece) = answer.next(START_TIMEOUT).await? {
            frames.extend_from_slice(&piece);
        }
        let mut attached = Attached::new(std::io::Cursor::new(frames));
        let _ = attached.has_output().await; // only errors were asked for
        Ok(attached.complaint())
    }
}
