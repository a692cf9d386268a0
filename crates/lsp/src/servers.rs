//! The servers of one workspace, each started when it is first needed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deft_tools::ToolContext;
use rustix::fs::{Access, access};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::diagnostic::new_errors;
use crate::error::ServerError;
use crate::language::Language;
use crate::server::{self, Server};

/// Servers at the same time: a workspace with more projects has to do without.
const MAX_SERVERS: usize = 8;
/// How long a server that could not be started is left alone.
const PAUSE: Duration = Duration::from_secs(300);
/// How long an edit waits for what a server says of it.
const EDIT_LIMIT: Duration = Duration::from_secs(2);
/// Errors that are told after an edit.
const MAX_NEW_ERRORS: usize = 20;

/// The language servers of one workspace. Cheap to clone.
#[derive(Clone)]
pub struct Servers {
    shared: Arc<Shared>,
}

struct Shared {
    workspace: PathBuf,
    env: Vec<(String, String)>,
    edit_limit: Duration,
    servers: Mutex<HashMap<(&'static str, PathBuf), Slot>>,
    /// Starts that an edit did not wait for.
    starting: TaskTracker,
    closed: CancellationToken,
}

/// A server's place: locked while it is started, so that it is started once.
type Slot = Arc<Mutex<State>>;

enum State {
    New,
    Running(Arc<Server>),
    Failed { why: String, at: Instant },
}

impl Servers {
    /// The servers that are installed where the tools work. Starts none yet.
    pub fn new(context: &ToolContext) -> Self {
        Self::with_edit_limit(context, EDIT_LIMIT)
    }

    /// The same, with how long an edit waits for what a server says of it.
    pub fn with_edit_limit(context: &ToolContext, edit_limit: Duration) -> Self {
        let workspace = context.workspace.canonicalize();
        Self {
            shared: Arc::new(Shared {
                workspace: workspace.unwrap_or_else(|_| context.workspace.clone()),
                env: context.env.clone(),
                edit_limit,
                servers: Mutex::default(),
                starting: TaskTracker::new(),
                closed: CancellationToken::new(),
            }),
        }
    }

    /// The directory that they work in.
    pub(crate) fn workspace(&self) -> &Path {
        &self.shared.workspace
    }

    /// The path of a file as servers know it.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        let path = self.shared.workspace.join(path);
        path.canonicalize().unwrap_or(path)
    }

    /// The server for a file, which is started if it does not run. The error says what to do.
    pub(crate) async fn of(&self, path: &Path) -> Result<Arc<Server>, String> {
        let language = Language::of(path)
            .ok_or_else(|| format!("No language server is known for files like {}.", path.display()))?;
        let root = language.root(path, &self.shared.workspace);
        let slot = self.slot(language, &root).await?;
        let mut state = slot.lock().await;
        match &*state {
            State::Running(server) if !server.has_ended() => return Ok(Arc::clone(server)),
            State::Failed { why, at } if at.elapsed() < PAUSE => return Err(why.clone()),
            State::New | State::Running(_) | State::Failed { .. } => {}
        }
        let closed = self.shared.closed.cancelled();
        let started = tokio::select! {
            biased;
            () = closed => Err("The tools of this workspace are closed.".to_owned()),
            started = self.start(language, &root) => started,
        };
        match started {
            Ok(server) => {
                let server = Arc::new(server);
                *state = State::Running(Arc::clone(&server));
                Ok(server)
            }
            Err(why) => {
                *state = State::Failed {
                    why: why.clone(),
                    at: Instant::now(),
                };
                Err(why)
            }
        }
    }

    async fn slot(&self, language: &'static Language, root: &Path) -> Result<Slot, String> {
        let mut servers = self.shared.servers.lock().await;
        let key = (language.name, root.to_owned());
        if servers.len() >= MAX_SERVERS && !servers.contains_key(&key) {
            return Err(format!(
                "There are {MAX_SERVERS} language servers already; use grep here."
            ));
        }
        let slot = servers
            .entry(key)
            .or_insert_with(|| Arc::new(Mutex::new(State::New)));
        Ok(Arc::clone(slot))
    }

    async fn start(&self, language: &'static Language, root: &Path) -> Result<Server, String> {
        let mut failed = Vec::new();
        for argv in language.commands {
            let Some(program) = argv.first().and_then(|name| self.find(name)) else {
                continue;
            };
            let program = program.to_string_lossy();
            let argv: Vec<_> = [&*program].into_iter().chain(argv[1..].iter().copied()).collect();
            match Server::start(language, &argv, root, &self.shared.env).await {
                Ok(server) => return Ok(server),
                Err(error) => failed.push(error.to_string()),
            }
        }
        Err(if failed.is_empty() {
            let programs = language.programs();
            format!(
                "No language server for {} is installed here: install {programs}, or use grep.",
                language.name
            )
        } else {
            format!("{}. Use grep instead.", failed.join("; "))
        })
    }

    /// Where a program is on the path that the tools have.
    fn find(&self, program: &str) -> Option<PathBuf> {
        let (_, path) = self.shared.env.iter().find(|(name, _)| name == "PATH")?;
        std::env::split_paths(path)
            .map(|directory| directory.join(program))
            .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
    }

    /// The errors that an edit has brought about, as text for the model. Waits a short while at most: a server that
    /// takes longer, or none at all, has nothing to say. `before` is what the file held.
    pub async fn after_edit(&self, path: &Path, before: &str) -> Option<String> {
        let limit = Instant::now() + self.shared.edit_limit;
        let servers = self.clone();
        let path = self.resolve(path);
        Language::of(&path)?;
        let starting = {
            let path = path.clone();
            // It goes on when the edit waits no longer, so that the next one finds a server.
            self.shared.starting.spawn(async move { servers.of(&path).await })
        };
        let server = tokio::time::timeout_at(limit, starting).await.ok()?.ok()?.ok()?;
        self.compare(&server, &path, before, limit).await.ok().flatten()
    }

    async fn compare(
        &self,
        server: &Server,
        path: &Path,
        before: &str,
        limit: Instant,
    ) -> Result<Option<String>, ServerError> {
        let Ok(now) = server::read(path).await else {
            return Ok(None); // deleted
        };
        let old = server.problems(path, before, limit).await?;
        let new = server.problems(path, &now, limit).await?;
        let (Some(old), Some(new)) = (old, new) else {
            return Ok(None);
        };
        let errors = new_errors(&old.diagnostics, &new.diagnostics);
        if errors.is_empty() {
            return Ok(None);
        }
        let name = path
            .strip_prefix(&self.shared.workspace)
            .unwrap_or(path)
            .display()
            .to_string();
        let lines: Vec<_> = errors
            .iter()
            .take(MAX_NEW_ERRORS)
            .map(|error| error.shown(&name))
            .collect();
        let more = errors.len().saturating_sub(MAX_NEW_ERRORS);
        let more = if more > 0 {
            format!("\n… and {more} more")
        } else {
            String::new()
        };
        Ok(Some(format!(
            "New errors after this edit:\n{}{more}",
            lines.join("\n")
        )))
    }

    /// Ends all of them. None is started again.
    pub(crate) async fn close(&self) {
        self.shared.closed.cancel();
        self.shared.starting.close();
        self.shared.starting.wait().await; // at once: none of them goes on
        let slots: Vec<_> = self.shared.servers.lock().await.drain().collect();
        let ends = slots.iter().map(|(_, slot)| async {
            if let State::Running(server) = &*slot.lock().await {
                server.end().await;
            }
        });
        futures::future::join_all(ends).await;
    }
}
