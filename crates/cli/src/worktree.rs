//! A copy of the repository for a conversation that works on a branch of its own.
//!
//! Like the copies of agents (`agents/own_branch.rs`) it is a clone that borrows the objects, and no linked worktree:
//! whoever may write to a shared `.git` can leave hooks behind. What was committed is brought to the repository as a
//! branch when the conversation rests, and everything when it is deleted.

mod orphans;
mod scripts;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use deft_engine::Ran;
use deft_executor::Client;
use deft_server::{Worktree, WorktreeBase};
use deft_types::ConversationId;
use deft_workspace::remove_tree;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub(crate) use self::orphans::collect;
use self::scripts::{CLONE, COMMIT, FETCH, FIND, NO_COMMIT, NO_REPOSITORY, NOT_SEEN};
use crate::agents::own_branch::git;
use crate::compose;
use crate::settings::{Settings, Surroundings};
use crate::workspace;

/// The directory that copies are in, by the ids of their conversations.
const COPIES: &str = "worktrees";
/// The directory of the user that has it. Not ours, which no sandbox shows.
const CACHE: &str = ".cache/deft";

/// What is remembered of a copy, where no agent can change it.
#[derive(Serialize, Deserialize)]
struct Copy {
    place: PathBuf,
    /// The repository that it was made of.
    source: PathBuf,
    /// The repository that its branch comes to: the same, unless that is a copy itself.
    home: PathBuf,
    branch: String,
    /// The folder of the user's that has both, where their sandboxes see nothing else.
    folder: Option<PathBuf>,
}

/// Makes the copy of the repository that a directory is in, beneath a folder or in a directory of the user's. None: it is
/// in no repository.
pub(crate) async fn make(
    settings: &Settings,
    id: ConversationId,
    directory: &Path,
    wanted: &Worktree,
    beneath: Option<&Path>,
) -> anyhow::Result<Option<PathBuf>> {
    let Some((commit, source)) = find(settings, directory, wanted).await? else {
        return Ok(None);
    };
    let copies = match beneath {
        Some(folder) => folder.join(COPIES),
        None => home()?.join(CACHE).join(COPIES),
    };
    let copy = Copy {
        place: copies.join(id.hex()),
        branch: format!("{}{}", wanted.branch_prefix, &id.hex()[..8]),
        folder: beneath
            .filter(|folder| source.starts_with(folder))
            .map(Path::to_owned),
        home: home_of(settings, &source)?,
        source,
    };
    std::fs::create_dir_all(&copy.place).with_context(|| format!("cannot make {}", copy.place.display()))?;
    let made = async {
        copy.clone_source(settings, id, &commit).await?;
        copy.remember(settings, id)
    };
    if let Err(error) = made.await {
        copy.clear(settings, id);
        return Err(error);
    }
    Ok(Some(copy.place))
}

/// Where the branches of copies of a repository come to.
fn home_of(settings: &Settings, source: &Path) -> anyhow::Result<PathBuf> {
    let id = source.file_name().and_then(|name| name.to_str()?.parse().ok());
    let copy = id.map_or(Ok(None), |id| Copy::of(settings, id))?;
    let copy = copy.filter(|copy| copy.place == source);
    Ok(copy.map_or_else(|| source.to_owned(), |copy| copy.home))
}

/// The commit to begin with, and where the repository is that a directory is in.
async fn find(
    settings: &Settings,
    directory: &Path,
    wanted: &Worktree,
) -> anyhow::Result<Option<(String, PathBuf)>> {
    let (base, reference) = match &wanted.base {
        WorktreeBase::DefaultBranch => ("default_branch", ""),
        WorktreeBase::Head => ("head", ""),
        WorktreeBase::Ref(name) => ("ref", name.as_str()),
    };
    let ran = run_once(settings, directory, FIND, &[("BASE", base), ("REF", reference)]).await?;
    match ran.exit_code {
        0 => {
            let found = ran.stdout.trim_end().split_once('\n');
            let (commit, top) = found.context("git does not say where the repository is")?;
            Ok(Some((commit.to_owned(), PathBuf::from(top))))
        }
        NO_REPOSITORY => Ok(None),
        NO_COMMIT => bail!("the repository has no commit to begin with; name another base"),
        _ => bail!("git says: {}", ran.stderr.trim()),
    }
}

/// Brings what was committed in a conversation's copy to the repository.
pub(crate) async fn keep(settings: &Settings, id: ConversationId) -> anyhow::Result<()> {
    match Copy::of(settings, id)? {
        Some(copy) => copy.bring_over(settings).await,
        None => Ok(()),
    }
}

/// Brings everything to the repository and removes the copy. It stays where that does not work.
pub(crate) async fn remove(settings: &Settings, id: ConversationId) -> anyhow::Result<()> {
    let Some(copy) = Copy::of(settings, id)? else {
        return Ok(());
    };
    let left = run_in(settings, id, &copy.place, COMMIT, &copy.variables()).await?;
    ensure!(left.exit_code == 0, "git says: {}", left.stderr.trim());
    copy.bring_over(settings).await?;
    copy.clear(settings, id);
    Ok(())
}

impl Copy {
    fn of(settings: &Settings, id: ConversationId) -> anyhow::Result<Option<Self>> {
        match std::fs::read(note(settings, id)) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn remember(&self, settings: &Settings, id: ConversationId) -> anyhow::Result<()> {
        let note = note(settings, id);
        if let Some(folder) = note.parent() {
            std::fs::create_dir_all(folder)?;
        }
        Ok(std::fs::write(&note, serde_json::to_vec(self)?)?)
    }

    fn clear(&self, settings: &Settings, id: ConversationId) {
        let removed = remove_tree(&self.place);
        if let Err(error) =
            removed.and_then(|()| workspace::remove(settings, id).map_err(std::io::Error::other))
        {
            tracing::warn!(%error, place = %self.place.display(), "a copy of a repository cannot be removed");
        }
        let _ = std::fs::remove_file(note(settings, id)); // it may never have been written
    }

    async fn clone_source(
        &self,
        settings: &Settings,
        id: ConversationId,
        commit: &str,
    ) -> anyhow::Result<()> {
        let apart = if self.folder.is_some() { "1" } else { "" };
        let mut variables = self.variables().to_vec();
        variables
            .extend([("COMMIT", commit), ("APART", apart)].map(|(name, value)| (name, value.to_owned())));
        let ran = match &self.folder {
            Some(folder) => run_once(settings, folder, CLONE, &variables).await?,
            None => run_in(settings, id, &self.place, CLONE, &variables).await?,
        };
        match ran.exit_code {
            0 => Ok(()),
            NOT_SEEN => bail!(
                "{} cannot be seen from the sandbox of a copy; move it out of the temporary directory, or do without a worktree",
                self.source.display()
            ),
            _ => bail!("the copy of the repository cannot be made: {}", ran.stderr.trim()),
        }
    }

    /// Fetches as the repository itself, whose sandbox may write there and nowhere else.
    async fn bring_over(&self, settings: &Settings) -> anyhow::Result<()> {
        let root = self.folder.as_ref().unwrap_or(&self.home);
        let ran = run_once(settings, root, FETCH, &self.variables()).await?;
        let (branch, home) = (&self.branch, self.home.display());
        ensure!(
            ran.exit_code == 0,
            "{branch} could not be brought to {home}: {}",
            ran.stderr.trim()
        );
        Ok(())
    }

    fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("HOME_OF_BRANCH", self.home.display().to_string()),
            ("SOURCE", self.source.display().to_string()),
            ("PLACE", self.place.display().to_string()),
            ("BRANCH", self.branch.clone()),
        ]
    }
}

/// Runs a script in a directory, by an executor that is started for this alone.
async fn run_once<V: AsRef<str>>(
    settings: &Settings,
    root: &Path,
    script: &str,
    variables: &[(&str, V)],
) -> anyhow::Result<Ran> {
    let id = ConversationId(Uuid::new_v4());
    let ran = run_in(settings, id, root, script, variables).await;
    workspace::remove(settings, id)?;
    ran
}

/// Runs a script beside the files, under the rules that count there.
async fn run_in<V: AsRef<str>>(
    settings: &Settings,
    id: ConversationId,
    root: &Path,
    script: &str,
    variables: &[(&str, V)],
) -> anyhow::Result<Ran> {
    let (workspace, _) = compose::place(settings, id, root)?;
    let client = Client::connect(workspace.open().await?).await?;
    let variables = variables.iter().map(|(name, value)| (*name, value.as_ref()));
    let ran = git(&client, script, variables).await;
    workspace::end(workspace.as_ref(), &client).await;
    ran
}

/// Where copies are remembered.
fn notes(settings: &Settings) -> PathBuf {
    settings.data_dir.value.join(COPIES)
}

fn note(settings: &Settings, id: ConversationId) -> PathBuf {
    notes(settings).join(format!("{}.json", id.hex()))
}

fn home() -> anyhow::Result<PathBuf> {
    let home = Surroundings::of_this_process()?.home;
    home.context("there is no home directory for a copy of the repository; set HOME")
}
