//! A copy of the repository for an agent that works on a branch of its own.
//!
//! It is a clone that borrows the objects of the repository, and no linked worktree: those share `.git`, and whoever may
//! write there can leave hooks and settings behind that git obeys later, outside of any sandbox.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use deft_engine::{OwnBranch, Ran, run_command};
use deft_executor::{Client, ShellCommand};
use deft_types::ConversationId;
use deft_workspace::{Workspace, WorkspaceName, remove_tree};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::output::one_sentence;
use crate::settings::{Settings, Surroundings};
use crate::workspace;

/// How long git may take for one thing.
const GIT_LIMIT: Duration = Duration::from_secs(120);
/// Bytes of what it prints that are kept.
const MAX_OUTPUT: usize = 8 * 1024;
/// Where copies lie in the user's directory. Not in ours, which no sandbox shows.
const COPIES: &str = ".cache/deft/worktrees";
/// What the copy began with.
const BASE: &str = "refs/deft/base";

/// The copy of one agent.
pub(super) struct Copy {
    place: PathBuf,
    branch: String,
    /// Where the agent works.
    own: Arc<dyn Workspace>,
    /// Where the repository is.
    repository: Arc<dyn Workspace>,
    root: PathBuf,
}

/// Where the agent of a task works, as it is kept with its conversation.
pub(super) fn workspace_of(parent: &WorkspaceName, id: ConversationId) -> anyhow::Result<WorkspaceName> {
    let home = Surroundings::of_this_process()?.home;
    let home = home.context("there is no home directory for the agent's copy of the repository")?;
    let place = home.join(COPIES).join(id.hex());
    match parent {
        WorkspaceName::Sandbox(_) => Ok(WorkspaceName::Sandbox(place)),
        WorkspaceName::Local(_) => Ok(WorkspaceName::Local(place)),
        other => {
            bail!("an agent can have a branch of its own only in a directory of this machine, not in {other}")
        }
    }
}

impl Copy {
    /// Whether a conversation works in such a copy.
    pub(super) fn is_place_of(kept: &str, id: ConversationId) -> bool {
        kept.ends_with(&format!("/{COPIES}/{}", id.hex()))
    }

    /// Makes the copy, or makes it again for an agent that goes on, unless that has not given it up.
    pub(super) async fn make(
        settings: &Settings,
        parent: (&str, ConversationId),
        own: (&str, ConversationId),
        task: &str,
    ) -> anyhow::Result<Self> {
        let name: WorkspaceName = own.0.parse()?;
        let place = name.root();
        std::fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        let repository = workspace::open(parent.0, settings, parent.1)?;
        let copy = Self {
            place,
            branch: format!("deft/{task}"),
            own: workspace::open(own.0, settings, own.1)?.workspace,
            repository: repository.workspace,
            root: repository.root,
        };
        let made = copy.clone_repository().await;
        if made.is_err() {
            copy.remove();
        }
        made.map(|()| copy)
    }

    async fn clone_repository(&self) -> anyhow::Result<()> {
        let script = format!(
            "[ -d .git ] || {{ top=$(git -C \"$ROOT\" rev-parse --show-toplevel) && git clone -q --shared \"$top\" . && \
             {{ git checkout -q \"$BRANCH\" 2>/dev/null || git checkout -q -b \"$BRANCH\"; }} && \
             git update-ref {BASE} HEAD; }}"
        );
        let cloned = self.git(self.own.as_ref(), &script).await;
        cloned
            .context("the agent's copy of the repository cannot be made")
            .map(drop)
    }

    /// What changed, as git sums it up, now that it is in the repository; nothing if there is nothing.
    async fn take_over(&self) -> anyhow::Result<Option<String>> {
        let script = format!(
            "git add -A && {{ git diff --cached --quiet || git -c user.name=Deft -c user.email=deft@localhost commit -q \
             --no-verify -m \"Keep the work of $BRANCH\"; }} && git diff --stat {BASE} HEAD"
        );
        let stat = self.git(self.own.as_ref(), &script).await?;
        if stat.trim().is_empty() {
            return Ok(None);
        }
        let fetch = "git fetch -q \"$PLACE\" \"HEAD:refs/heads/$BRANCH\"";
        self.git(self.repository.as_ref(), fetch).await?;
        Ok(Some(stat))
    }

    /// Runs a line beside the files, under the rules that count there.
    async fn git(&self, workspace: &dyn Workspace, script: &str) -> anyhow::Result<String> {
        let client = Client::connect(workspace.open().await?).await?;
        let (root, place) = (self.root.display().to_string(), self.place.display().to_string());
        let env = [
            ("ROOT", root.as_str()),
            ("PLACE", &place),
            ("BRANCH", &self.branch),
        ];
        let ran = git(&client, script, env).await?;
        ensure!(ran.exit_code == 0, "git says: {}", ran.stderr.trim());
        Ok(ran.stdout)
    }

    fn remove(&self) {
        if let Err(error) = remove_tree(&self.place) {
            tracing::warn!(%error, place = %self.place.display(), "a copy of a repository cannot be removed");
        }
    }
}

/// Runs a script with git in it beside the files.
pub(crate) async fn git(
    client: &Client,
    script: &str,
    env: impl IntoIterator<Item = (&str, &str)>,
) -> anyhow::Result<Ran> {
    let env = env.into_iter().chain([("GIT_TERMINAL_PROMPT", "0")]);
    let line = ShellCommand {
        command: script.to_owned(),
        env: env
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        ..ShellCommand::default()
    };
    Ok(run_command(client, line, GIT_LIMIT, MAX_OUTPUT, &CancellationToken::new()).await?)
}

impl OwnBranch for Copy {
    fn keep(&self) -> BoxFuture<'_, String> {
        async move {
            match self.take_over().await {
                Ok(stat) => {
                    self.remove();
                    stat.map_or_else(
                        || "It changed no file.".to_owned(),
                        |stat| format!("Its work is on the branch {}:\n{}", self.branch, stat.trim_end()),
                    )
                }
                Err(error) => format!(
                    "Its work could not be taken over ({}) and is left in {}.",
                    one_sentence(&error),
                    self.place.display()
                ),
            }
        }
        .boxed()
    }
}
