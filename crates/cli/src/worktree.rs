//! A copy of the repository for a conversation that works on a branch of its own.
//!
//! Like the copies of agents (`agents/own_branch.rs`) it is a clone that borrows the objects, and no linked worktree:
//! whoever may write to a shared `.git` can leave hooks behind. What was committed is brought to the repository as a
//! branch when the conversation rests, and everything when it is deleted.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use deft_executor::Client;
use deft_server::{Worktree, WorktreeBase};
use deft_types::ConversationId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::agents::own_branch::git;
use crate::compose;
use crate::settings::{Settings, Surroundings};
use crate::workspace;

/// The directory that copies are in, by the ids of their conversations.
const COPIES: &str = "worktrees";
/// The directory of the user that has it. Not ours, which no sandbox shows.
const CACHE: &str = ".cache/deft";
/// What the script ends with where there is no repository, and where there is no such commit.
const NO_REPOSITORY: i32 = 3;
const NO_COMMIT: i32 = 4;

/// Finds the commit to begin with, clones, and lets `origin` be what it is for the repository. Objects are borrowed; but
/// a copy of a copy has its own, since the other may be deleted.
const CLONE: &str = r#"
top=$(git -C "$ROOT" rev-parse --show-toplevel 2>/dev/null) || exit 3
case "$BASE" in
head) start=HEAD ;;
ref) start=$REF ;;
*) start=$(git -C "$top" symbolic-ref -q refs/remotes/origin/HEAD) || start=HEAD ;;
esac
commit=$(git -C "$top" rev-parse -q --verify "$start^{commit}") || exit 4
how=--shared
[ ! -e "$top/.git/objects/info/alternates" ] || how=--no-hardlinks
git clone -q "$how" --no-checkout "$top" . && git checkout -q -b "$BRANCH" "$commit" || exit 1
if url=$(git -C "$top" remote get-url origin 2>/dev/null); then git remote set-url origin "$url"; else git remote remove origin; fi
"#;
/// Commits what is left.
const COMMIT: &str = r#"
git add -A && { git diff --cached --quiet || git -c user.name=Deft -c user.email=deft@localhost commit -q --no-verify \
    -m "Keep the work of $BRANCH"; }
"#;
/// Brings the branch over, unless it has nothing of its own.
const FETCH: &str = r#"
tip=$(git -C "$PLACE" rev-parse -q --verify HEAD) || exit 0
[ -z "$(git branch -a --contains "$tip" 2>/dev/null)" ] || exit 0
git fetch -q "$PLACE" "+HEAD:refs/heads/$BRANCH"
"#;

/// What is remembered of a copy, where no agent can change it.
#[derive(Serialize, Deserialize)]
struct Copy {
    place: PathBuf,
    /// The directory of the repository that was named.
    source: PathBuf,
    branch: String,
}

/// Makes the copy of the repository that a directory is in, in `beneath` or in a directory of the user's. None: it is in
/// none.
pub(crate) async fn make(
    settings: &Settings,
    id: ConversationId,
    source: &Path,
    wanted: &Worktree,
    beneath: Option<&Path>,
) -> anyhow::Result<Option<PathBuf>> {
    let copies = match beneath {
        Some(folder) => folder.join(COPIES),
        None => home()?.join(CACHE).join(COPIES),
    };
    let copy = Copy {
        place: copies.join(id.hex()),
        source: source.to_owned(),
        branch: format!("{}{}", wanted.branch_prefix, &id.hex()[..8]),
    };
    std::fs::create_dir_all(&copy.place).with_context(|| format!("cannot make {}", copy.place.display()))?;
    let made = copy.clone_source(settings, id, wanted).await;
    match made {
        Ok(true) => {
            copy.remember(settings, id)?;
            Ok(Some(copy.place))
        }
        other => {
            copy.clear(settings, id);
            other.map(|_| None)
        }
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
    copy.run(settings, id, &copy.place, COMMIT, &[]).await?;
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
        let removed = std::fs::remove_dir_all(&self.place);
        if let Err(error) =
            removed.and_then(|()| workspace::remove(settings, id).map_err(std::io::Error::other))
        {
            tracing::warn!(%error, place = %self.place.display(), "a copy of a repository cannot be removed");
        }
        let _ = std::fs::remove_file(note(settings, id)); // it may never have been written
    }

    /// False: there is no repository.
    async fn clone_source(
        &self,
        settings: &Settings,
        id: ConversationId,
        wanted: &Worktree,
    ) -> anyhow::Result<bool> {
        let (base, reference) = match &wanted.base {
            WorktreeBase::DefaultBranch => ("default_branch", ""),
            WorktreeBase::Head => ("head", ""),
            WorktreeBase::Ref(name) => ("ref", name.as_str()),
        };
        let more = [("BASE", base), ("REF", reference)];
        match self.end_of(settings, id, &self.place, CLONE, &more).await? {
            (0, _) => Ok(true),
            (NO_REPOSITORY, _) => Ok(false),
            (NO_COMMIT, _) => bail!("the repository has no commit to begin with; name another base"),
            (_, said) => bail!("the copy of the repository cannot be made: {said}"),
        }
    }

    /// Fetches as the repository itself, whose sandbox may write there and nowhere else.
    async fn bring_over(&self, settings: &Settings) -> anyhow::Result<()> {
        let id = ConversationId(Uuid::new_v4());
        let ran = self.run(settings, id, &self.source, FETCH, &[]).await;
        workspace::remove(settings, id)?;
        ran.with_context(|| {
            format!(
                "{} could not be brought to {}",
                self.branch,
                self.source.display()
            )
        })
    }

    async fn run(
        &self,
        settings: &Settings,
        id: ConversationId,
        root: &Path,
        script: &str,
        more: &[(&str, &str)],
    ) -> anyhow::Result<()> {
        match self.end_of(settings, id, root, script, more).await? {
            (0, _) => Ok(()),
            (_, said) => bail!("git says: {said}"),
        }
    }

    /// Runs a script beside the files, under the rules that count there: how it ended, and what it complained of.
    async fn end_of(
        &self,
        settings: &Settings,
        id: ConversationId,
        root: &Path,
        script: &str,
        more: &[(&str, &str)],
    ) -> anyhow::Result<(i32, String)> {
        let (workspace, _) = compose::place(settings, id, root)?;
        let client = Client::connect(workspace.open().await?).await?;
        let (source, place) = (
            self.source.display().to_string(),
            self.place.display().to_string(),
        );
        let env = [
            ("ROOT", source.as_str()),
            ("PLACE", &place),
            ("BRANCH", &self.branch),
        ];
        let ran = git(&client, script, env.iter().chain(more).copied()).await;
        client.shutdown().await;
        let ran = ran?;
        Ok((ran.exit_code, ran.stderr.trim().to_owned()))
    }
}

/// Where it is remembered.
fn note(settings: &Settings, id: ConversationId) -> PathBuf {
    settings
        .data_dir
        .value
        .join(COPIES)
        .join(format!("{}.json", id.hex()))
}

fn home() -> anyhow::Result<PathBuf> {
    let home = Surroundings::of_this_process()?.home;
    home.context("there is no home directory for a copy of the repository; set HOME")
}
