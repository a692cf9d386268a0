//! Where files, repositories and commands of clients are: beneath a conversation's workspace, or beneath the
//! directories that the server may use for anybody. Only executors touch them.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use deft_engine::show_preparation;
use deft_executor::Client;
use deft_store::Search;
use deft_types::ConversationId;
use deft_workspace::{Policy, Stream, WorkspaceError, WorkspaceName};
use ring::digest;
use serde_json::Value;
use uuid::Uuid;

use crate::app::App;
use crate::conversations::root_of;
use crate::failure::Failure;

/// How long the end of an executor may take.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);
/// Where the program around the server keeps what is the user's own.
const USER_DIR: &str = ".deft";
/// Conversations whose workspaces are looked through for a path.
const MAX_LOOKED_AT: usize = 1000;
/// What the server may use for requests that name no conversation.
pub(crate) struct Places {
    /// The only directories that a user may use. None: what follows says.
    pub(crate) folders: Option<Vec<PathBuf>>,
    pub(crate) home: PathBuf,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) data_dir: PathBuf,
    pub(crate) current_dir: PathBuf,
}

/// A directory with its executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    id: ConversationId,
    /// Where its files are.
    pub(crate) root: PathBuf,
    /// What is opened: the same, unless the files are elsewhere.
    workspace: PathBuf,
}

impl Site {
    /// A directory with an executor that nobody else finds: for one piece of work, and closed behind it. Ask first
    /// whether it may be used.
    pub(crate) fn apart(path: &Path) -> Self {
        Self {
            id: ConversationId(Uuid::new_v4()),
            root: path.to_owned(),
            workspace: path.to_owned(),
        }
    }

    /// Whether its files are on this machine, where a path means the same to everybody.
    pub(crate) fn is_here(&self) -> bool {
        let name = self.workspace.to_string_lossy().parse::<WorkspaceName>();
        matches!(name, Ok(WorkspaceName::Local(_) | WorkspaceName::Sandbox(_)))
    }
}

/// A path without `.` and `..`, which must be absolute.
pub(crate) fn absolute(path: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(path);
    if !path.is_absolute() {
        return Err(Failure::new(StatusCode::BAD_REQUEST, "Path must be absolute"));
    }
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    Ok(plain)
}

impl Places {
    /// The same for a path that may be relative: to the workspace of the conversation, or else to where the server was
    /// started.
    pub(crate) async fn resolved(
        &self,
        app: &App,
        conversation: Option<ConversationId>,
        path: &str,
    ) -> Result<PathBuf, Failure> {
        if Path::new(path).is_absolute() {
            return absolute(path);
        }
        let base = match conversation {
            Some(id) => self.of_conversation(app, id).await?.root,
            None => self.current_dir.clone(),
        };
        absolute(&base.join(path).display().to_string())
    }

    /// Where a path may be used. `what` is what the client calls it.
    pub(crate) async fn site(
        &self,
        app: &App,
        conversation: Option<ConversationId>,
        path: &Path,
        what: &str,
    ) -> Result<Site, Failure> {
        if let Some(id) = conversation {
            let site = self.of_conversation(app, id).await?;
            if !path.starts_with(&site.root) {
                let sentence = format!("{what} must be inside the conversation workspace");
                return Err(Failure::refused(sentence));
            }
            if self.is_private(path, &site.root) {
                return Err(forbidden(what));
            }
            return Ok(site);
        }
        let known = self.known(app, path).await?;
        let root = known.into_iter().max_by_key(|root| root.as_os_str().len());
        match root {
            Some(root) if !self.is_private(path, &root) => Ok(Site {
                id: id_of(&root),
                workspace: root.clone(),
                root,
            }),
            _ => Err(forbidden(what)),
        }
    }

    /// The workspace of a conversation.
    pub(crate) async fn of_conversation(&self, app: &App, id: ConversationId) -> Result<Site, Failure> {
        let record = app.conversations.catalog.store.conversation(id).await?;
        let record = record.ok_or_else(Failure::not_found)?;
        Ok(Site {
            id,
            root: root_of(&record.workspace),
            workspace: PathBuf::from(record.workspace),
        })
    }

    /// The directories that may be used and have this path.
    async fn known(&self, app: &App, path: &Path) -> Result<Vec<PathBuf>, Failure> {
        if let Some(folders) = &self.folders {
            let known = folders.iter().filter(|folder| path.starts_with(folder));
            return Ok(known.cloned().collect());
        }
        let mut roots: Vec<_> = self
            .roots
            .iter()
            .filter(|root| path.starts_with(root))
            .cloned()
            .collect();
        let remembered = app.documents.get("workspaces").await?.unwrap_or_default();
        let lists = remembered.as_object().into_iter().flatten();
        let paths = lists.flat_map(|(_, list)| list.as_array().into_iter().flatten());
        roots.extend(
            paths
                .filter_map(|item| item["path"].as_str())
                .map(PathBuf::from)
                .filter(|root| path.starts_with(root)),
        );
        if roots.is_empty() || path.starts_with(&self.data_dir) {
            let store = &app.conversations.catalog.store;
            let recent = store.search(Search::default(), MAX_LOOKED_AT).await?;
            let workspaces = recent.into_iter().map(|record| PathBuf::from(record.workspace));
            roots.extend(workspaces.filter(|root| path.starts_with(root)));
        }
        Ok(roots)
    }

    /// Whether a path holds our own state, which is nobody's workspace, or other secrets that nobody works among.
    pub(crate) fn is_private(&self, path: &Path, root: &Path) -> bool {
        let is_state = path.starts_with(&self.data_dir);
        let is_workspace_within = root.starts_with(&self.data_dir) && root != self.data_dir;
        let mut hidden = Policy::secrets_of_home(&self.home).chain([self.home.join(USER_DIR)]);
        let is_hidden = |private: PathBuf| path.starts_with(&private) && !root.starts_with(&private);
        (is_state && !is_workspace_within) || hidden.any(is_hidden)
    }

    /// The executor there, if it runs.
    pub(crate) async fn find(&self, app: &App, site: &Site) -> Result<Option<Box<dyn Stream>>, Failure> {
        let workspace = app.conversations.workspace(site.id, &site.workspace)?;
        Ok(workspace.find().await)
    }

    /// A way to the executor there. Who watches the conversation sees how its workspace is made ready.
    pub(crate) async fn reach(&self, app: &App, site: &Site) -> Result<Client, Failure> {
        let workspace = app.conversations.workspace(site.id, &site.workspace)?;
        let show = |live| app.conversations.show(site.id, live);
        let opened = show_preparation(workspace.as_ref(), workspace.open(), show).await;
        let stream = opened.map_err(|error| unreachable(&error))?;
        let connected = Client::connect(stream).await;
        connected.map_err(|error| Failure::new(StatusCode::BAD_GATEWAY, error.to_string()))
    }

    /// A way to the executor of a conversation in memory that works in this directory, if one runs.
    pub(crate) async fn at_work_in(&self, app: &App, path: &Path) -> Result<Option<Client>, Failure> {
        for id in app.conversations.in_memory() {
            let Ok(site) = self.of_conversation(app, id).await else {
                continue; // it was deleted
            };
            if site.workspace == path
                && let Some(client) = self.at_work_on(app, &site).await?
            {
                return Ok(Some(client));
            }
        }
        Ok(None)
    }

    /// A way to the executor there, if one runs.
    pub(crate) async fn at_work_on(&self, app: &App, site: &Site) -> Result<Option<Client>, Failure> {
        let Some(stream) = self.find(app, site).await? else {
            return Ok(None);
        };
        Ok(Client::connect(stream).await.ok())
    }

    /// Has something done by an executor in this directory that ends behind it.
    pub(crate) async fn briefly<T>(
        &self,
        app: &App,
        path: &Path,
        work: impl AsyncFnOnce(&Client) -> T,
    ) -> Result<T, Failure> {
        let site = Site::apart(path);
        let client = self.reach(app, &site).await?;
        let done = work(&client).await;
        self.close(app, &site, &client).await;
        Ok(done)
    }

    /// Ends an executor that nobody needs any more, and removes what was kept for it.
    pub(crate) async fn close(&self, app: &App, site: &Site, client: &Client) {
        let ended = tokio::time::timeout(CLOSE_LIMIT, client.shutdown()).await;
        let (composition, id) = (Arc::clone(&app.conversations.composition), site.id);
        let forgotten = tokio::task::spawn_blocking(move || composition.forget(id)).await;
        if ended.is_err() || !matches!(forgotten, Ok(Ok(()))) {
            tracing::warn!(root = %site.root.display(), ?forgotten, "an executor for one piece of work stays");
        }
    }
}

fn forbidden(what: &str) -> Failure {
    Failure::new(
        StatusCode::FORBIDDEN,
        format!("{what} is outside of the directories that this server may use"),
    )
}

/// A directory that belongs to no conversation has an executor of its own, always under the same id.
fn id_of(root: &Path) -> ConversationId {
    let digest = digest::digest(&digest::SHA256, root.as_os_str().as_encoded_bytes());
    let mut bytes = [0; 16];
    bytes
        .iter_mut()
        .zip(digest.as_ref())
        .for_each(|(byte, from)| *byte = *from);
    ConversationId(Uuid::from_bytes(bytes))
}

/// The path that a query names.
pub(crate) fn asked_path(query: &crate::extract::Query) -> Result<&str, crate::validation::Issue> {
    let missing = || crate::validation::Issue::missing(&["query", "path"], &Value::Null);
    query.get("path").ok_or_else(missing)
}

/// What a person can do something about is told; what is about our own files is for the log.
fn unreachable(error: &WorkspaceError) -> Failure {
    match error {
        WorkspaceError::Kind(_) | WorkspaceError::Missing(_) | WorkspaceError::Policy(_) => {
            Failure::new(StatusCode::BAD_GATEWAY, error.to_string())
        }
        WorkspaceError::Directory(_) | WorkspaceError::Start { .. } => Failure::internal(
            "the workspace cannot be reached; the server's log says why",
            error,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_absolute_and_has_no_way_back() {
        assert!(absolute("relative").is_err());
        assert_eq!(absolute("/a/../b/./c").unwrap(), Path::new("/b/c"));
        assert_eq!(absolute("/../../etc").unwrap(), Path::new("/etc"));
    }

    #[test]
    fn keys_and_our_own_state_are_private_unless_somebody_works_there() {
        let places = Places {
            folders: None,
            home: "/home/u".into(),
            roots: vec!["/home/u".into()],
            data_dir: "/home/u/data".into(),
            current_dir: "/home/u".into(),
        };
        let home = Path::new("/home/u");
        assert!(places.is_private(Path::new("/home/u/.ssh/id_ed25519"), home));
        assert!(places.is_private(Path::new("/home/u/data/vault-key"), home));
        assert!(!places.is_private(Path::new("/home/u/project/a"), home));
        let workspace = Path::new("/home/u/data/work");
        assert!(!places.is_private(Path::new("/home/u/data/work/a"), workspace));
        let state = Path::new("/home/u/data");
        assert!(
            places.is_private(Path::new("/home/u/data/vault-key"), state),
            "nobody works among our state"
        );
    }
}
