//! Everybody who uses the server, each with an [`App`] of their own: what is not in it does not exist for them.

use std::collections::HashMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use axum::Router;
use deft_engine::Purse;
use deft_store::Store;
use deft_types::{Secret, UserId};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accounts::{Account, Role};
use crate::agent_models::AgentModels;
use crate::allowance::Allowance;
use crate::app::{Activity, App};
use crate::audit::Audit;
use crate::bash::Bash;
use crate::catalog::Catalog;
use crate::cloning::Clonings;
use crate::composition::Composition;
use crate::config::Build;
use crate::conversations::Conversations;
use crate::documents::Documents;
use crate::mcp_logins::McpLogins;
use crate::metrics::Metrics;
use crate::places::Places;
use crate::previews::Previews;
use crate::router::part;
use crate::scoped_store::ScopedStore;
use crate::security::{Directory, Gate, Hosts, Origins};
use crate::sign_in::SignIn;
use crate::vault::Vault;
use crate::webhooks::Webhooks;

/// The directory of the data directory that members' own ones are in. Sandboxes hide it from others.
const HOMES: &str = "homes";

/// What all users share, and what each has.
pub(crate) struct Users {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) audit: Audit,
    pub(crate) vault: Arc<Vault>,
    pub(crate) composition: Arc<dyn Composition>,
    pub(crate) webhooks: Arc<Webhooks>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) runs: Arc<Semaphore>,
    pub(crate) idle_limit: Duration,
    /// How long a request may take until its answer begins.
    pub(crate) request_limit: Duration,
    pub(crate) current_dir: PathBuf,
    pub(crate) data_dir: PathBuf,
    /// Certificates to trust beside the built-in ones.
    pub(crate) ca_file: Option<PathBuf>,
    /// Logins to MCP servers that are under way.
    pub(crate) mcp_logins: McpLogins,
    /// How people sign in with accounts of another server.
    pub(crate) sign_in: Option<SignIn>,
    pub(crate) home: PathBuf,
    pub(crate) file_roots: Vec<PathBuf>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) origins: Arc<Origins>,
    pub(crate) previews: Arc<Previews>,
    pub(crate) build: Build,
    pub(crate) init_key: Option<Secret<String>>,
    pub(crate) sockets: TaskTracker,
    pub(crate) tasks: TaskTracker,
    /// The server has waited long enough for sockets and changes.
    pub(crate) abandoned: CancellationToken,
    pub(crate) started: Instant,
    pub(crate) activity: Arc<Activity>,
    /// The part of whoever owns the server. It knows us, so we must not keep it.
    pub(crate) owner: OnceLock<Weak<App>>,
    pub(crate) homes: Mutex<HashMap<UserId, Home>>,
}

/// A user's own part of the server.
#[derive(Clone)]
pub(crate) struct Home {
    pub(crate) app: Arc<App>,
    pub(crate) service: TowerToHyperService<Router>,
}

impl Users {
    /// Makes the part of whoever owns the server.
    pub(crate) fn owners(self: &Arc<Self>) -> Arc<App> {
        let app = Arc::new(self.app(None));
        let _ = self.owner.set(Arc::downgrade(&app)); // it is made once
        app
    }

    /// A user's own part, which is made when it is first needed. None: there is no such user, or not now.
    pub(crate) fn home(self: &Arc<Self>, id: UserId) -> Option<Home> {
        let account = self.directory.user(id)?;
        let mut homes = self.homes();
        if let Some(home) = homes.get(&id) {
            return Some(home.clone());
        }
        let app = Arc::new(self.app(Some(&account)));
        let service = TowerToHyperService::new(part(Arc::clone(&app)));
        let home = Home { app, service };
        homes.insert(id, home.clone());
        Some(home)
    }

    /// The parts that have been made, the owner's first.
    pub(crate) fn apps(&self) -> Vec<Arc<App>> {
        let homes = self.homes();
        let others = homes.values().map(|home| Arc::clone(&home.app));
        let owners = self.owner.get().and_then(Weak::upgrade);
        owners.into_iter().chain(others).collect()
    }

    /// Has a user's part made anew when it is next needed: from now on they may do something else.
    pub(crate) async fn renew(&self, id: UserId) {
        let before = self.homes().remove(&id);
        if let Some(home) = before {
            home.app.bash.stop().await;
            home.app.conversations.stop().await;
        }
    }

    /// Stops what runs for users who may not use the server any more, whoever has said so. Nobody waits for it.
    pub(crate) fn stop_disabled(self: &Arc<Self>) {
        let made: Vec<_> = self.homes().keys().copied().collect();
        for id in made {
            if self.directory.user(id).is_none() {
                let users = Arc::clone(self);
                self.tasks.spawn(async move { users.renew(id).await });
            }
        }
    }

    /// Forgets them all: they know us, and would never go.
    pub(crate) fn forget(&self) {
        self.homes().clear();
    }

    /// Whether somebody may see what concerns everybody: the owner and the admins.
    pub(crate) fn may_see_all(&self, user: Option<UserId>) -> bool {
        let is_admin = |id| {
            self.directory
                .user(id)
                .is_some_and(|account| account.role == Role::Admin)
        };
        user.is_none_or(is_admin)
    }

    fn app(self: &Arc<Self>, account: Option<&Account>) -> App {
        let user = account.map(|account| account.id);
        let store = ScopedStore::new(Arc::clone(&self.store), user, Arc::clone(&self.directory));
        let store: Arc<dyn Store> = Arc::new(store);
        let catalog = Arc::new(Catalog::new(
            Arc::clone(&store),
            Arc::clone(&self.vault),
            self.data_dir.clone(),
        ));
        let member = account.filter(|account| account.role != Role::Admin);
        let folders = member.map(|member| self.folders(member));
        let own = folders.as_ref().and_then(|folders| folders.first());
        let current_dir = own.unwrap_or(&self.current_dir).clone();
        let allowance = Allowance {
            store: Arc::clone(&self.store),
            directory: Arc::clone(&self.directory),
            user,
            folders: folders.clone(),
            purse: Purse::shared(),
            beginning: tokio::sync::Mutex::default(),
        };
        App {
            user,
            users: Arc::clone(self),
            places: Places {
                home: own.unwrap_or(&self.home).clone(),
                folders,
                roots: self.file_roots.clone(),
                data_dir: self.data_dir.clone(),
                current_dir: current_dir.clone(),
            },
            bash: Bash::new(store),
            clonings: Clonings::default(),
            agent_models: AgentModels::default(),
            documents: Documents::new(Arc::clone(&catalog)),
            conversations: Conversations::new(
                catalog,
                Arc::clone(&self.composition),
                Arc::clone(&self.webhooks),
                Arc::clone(&self.runs),
                allowance,
                self.idle_limit,
                current_dir,
            ),
            gate: Arc::clone(&self.gate),
            hosts: Arc::clone(&self.hosts),
            origins: Arc::clone(&self.origins),
            build: self.build.clone(),
            metrics: Arc::clone(&self.metrics),
            sockets: self.sockets.clone(),
            tasks: self.tasks.clone(),
            started: self.started,
            activity: Arc::clone(&self.activity),
        }
    }

    /// Where somebody may work: first a directory of their own, then those that an admin named.
    fn folders(&self, member: &Account) -> Vec<PathBuf> {
        let own = self.data_dir.join(HOMES).join(&member.name);
        if let Err(error) = make_private(&own) {
            tracing::warn!(%error, user = member.name, "the directory of a user cannot be made");
        }
        [own].into_iter().chain(member.folders.iter().cloned()).collect()
    }

    fn homes(&self) -> MutexGuard<'_, HashMap<UserId, Home>> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn make_private(directory: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}
