//! Runs git on a repository that nobody has to trust.
//!
//! A repository's own configuration can name programs in many places. Each has its answer:
//!
//! | what a repository sets | why it does not run |
//! | --- | --- |
//! | hooks, `core.hooksPath` | overridden; and no command that we use has hooks |
//! | `core.fsmonitor` | overridden |
//! | `diff.external`, `diff.*.command`, `diff.*.textconv` | `--no-ext-diff --no-textconv` |
//! | `filter.*.clean`, `.smudge`, `.process` | every one that the configuration names is overridden by nothing |
//! | `core.sshCommand`, `ext::` remotes, credential helpers (a partial clone fetches on its own) | no lazy fetches, no protocol allowed |
//! | `core.pager`, `core.editor`, `core.askPass`, `gpg.program` | no pager, no terminal, signatures never looked at |
//! | `core.worktree`, `.git` files and `commondir` that lead elsewhere | the work tree is given; a repository outside of the roots is refused |
//! | a submodule with any of these | git never looks into submodules |
//! | a directory that looks like a bare repository | the repository is named, never searched for by git |
//!
//! Configuration of the user and the machine is not read, the environment is not passed on.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::Semaphore;

use crate::files::shown;
use crate::request_error::RequestError;

/// How long one question to git may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The most that git may answer. In JSON it can become seven times as long, which still fits into a frame.
const MAX_OUTPUT_BYTES: u64 = 8 * 1024 * 1024;
/// The most of its complaints that are passed on.
const MAX_COMPLAINT_BYTES: u64 = 2000;
/// Questions at the same time; others wait.
const MAX_AT_ONCE: usize = 4;

const SETTINGS: &[(&str, &str)] = &[
    ("core.alternateRefsCommand", "false"),
    ("core.askPass", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.bare", "false"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.splitIndex", "false"), // or an index elsewhere would have its larger part in the repository
    ("core.sshCommand", "false"),
    ("credential.helper", ""),
    ("diff.renames", "false"),
    ("gpg.program", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ASKPASS", "false"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C.UTF-8"),
];

/// Where git works.
pub(super) struct Place<'a> {
    /// `.git` of the repository.
    pub(super) git_dir: &'a Path,
    /// The directory of its files.
    pub(super) top: &'a Path,
    /// The directory to run in.
    pub(super) directory: &'a Path,
    /// Names of filters to override.
    pub(super) filters: &'a [String],
    /// Another index than that of the repository.
    pub(super) index: Option<PathBuf>,
}

/// How it answered.
pub(super) struct Answer {
    pub(super) succeeded: bool,
    pub(super) stdout: Vec<u8>,
    pub(super) complaint: String,
}

/// The git program of the workspace.
pub(super) struct Program {
    path: String,
    turns: Semaphore,
}

impl Program {
    pub(super) fn new(env: &[(String, String)]) -> Self {
        let path = env.iter().find(|(name, _)| name == "PATH");
        Self {
            path: path.map_or_else(
                || "/usr/local/bin:/usr/bin:/bin".to_owned(),
                |(_, path)| path.clone(),
            ),
            turns: Semaphore::new(MAX_AT_ONCE),
        }
    }

    pub(super) async fn run(&self, place: &Place<'_>, arguments: &[&OsStr]) -> Result<Answer, RequestError> {
        let _turn = self.turns.acquire().await.map_err(RequestError::failed)?;
        let failed = |reason: String| RequestError::Git { reason };
        let mut child = self.command(place, arguments).spawn().map_err(|error| {
            failed(format!(
                "the program cannot be started ({error}); is git installed?"
            ))
        })?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let run = async {
            let (stdout, complaint) = tokio::join!(
                read(stdout, MAX_OUTPUT_BYTES + 1),
                read(stderr, MAX_COMPLAINT_BYTES)
            );
            let stdout = stdout?;
            if stdout.len() as u64 > MAX_OUTPUT_BYTES {
                return Err(RequestError::TooLarge {
                    what: "git's answer".to_owned(),
                    limit: MAX_OUTPUT_BYTES,
                });
            }
            Ok(Answer {
                succeeded: child.wait().await?.success(),
                stdout,
                complaint: String::from_utf8_lossy(&complaint?).trim().to_owned(),
            })
        };
        // The child is killed when it is dropped.
        let ended = tokio::time::timeout(TIME_LIMIT, run).await;
        ended.unwrap_or_else(|_| {
            Err(failed(format!(
                "no answer within {} seconds",
                TIME_LIMIT.as_secs()
            )))
        })
    }

    fn command(&self, place: &Place<'_>, arguments: &[&OsStr]) -> Command {
        let top = shown(place.top);
        let own = [("safe.directory".to_owned(), top)];
        let fixed = SETTINGS
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let filters = place.filters.iter().flat_map(|filter| {
            let settings = [
                ("clean", ""),
                ("smudge", ""),
                ("process", ""),
                ("required", "false"),
            ];
            settings.map(|(key, value)| (format!("filter.{filter}.{key}"), value.to_owned()))
        });
        let mut command = Command::new("git");
        command
            .arg("--no-pager")
            .args(arguments)
            .current_dir(place.directory)
            .env_clear()
            .env("PATH", &self.path)
            .env("GIT_DIR", place.git_dir)
            .env("GIT_WORK_TREE", place.top)
            .envs(ENVIRONMENT.iter().copied())
            .envs(place.index.iter().map(|index| ("GIT_INDEX_FILE", index)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut count = 0;
        for (name, value) in fixed.chain(own).chain(filters) {
            command.env(format!("GIT_CONFIG_KEY_{count}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        command
    }
}

async fn read(stream: Option<impl AsyncRead + Unpin>, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(limit).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
