//! What every handler can reach.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deft_types::UserId;

use tokio_util::task::TaskTracker;

use crate::agent_models::AgentModels;
use crate::bash::Bash;
use crate::cloning::Clonings;
use crate::config::Build;
use crate::conversations::Conversations;
use crate::documents::Documents;
use crate::exposure::ClientSeal;
use crate::failure::Failure;
use crate::metrics::Metrics;
use crate::places::Places;
use crate::security::{Gate, Hosts, Origins};
use crate::users::Users;

/// See the module. Each user has one of their own, which knows nothing of the others' conversations and settings.
pub(crate) struct App {
    /// Whose it is. None: of whoever owns the server.
    pub(crate) user: Option<UserId>,
    pub(crate) users: Arc<Users>,
    pub(crate) conversations: Conversations,
    pub(crate) documents: Documents,
    pub(crate) places: Places,
    pub(crate) bash: Bash,
    pub(crate) clonings: Clonings,
    pub(crate) agent_models: AgentModels,
    pub(crate) gate: Arc<Gate>,
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) origins: Arc<Origins>,
    pub(crate) build: Build,
    pub(crate) metrics: Arc<Metrics>,
    /// The sockets that are open.
    pub(crate) sockets: TaskTracker,
    /// The changes that are being made.
    pub(crate) tasks: TaskTracker,
    pub(crate) started: Instant,
    pub(crate) activity: Arc<Activity>,
}

impl App {
    /// The part of the server that somebody has to do with, by the place that their key leads to. None: there is none
    /// (any more), or no way to it from here; then nothing else may stand in for it.
    pub(crate) fn at(self: &Arc<Self>, place: Option<UserId>) -> Option<Arc<Self>> {
        match place {
            None => self.user.is_none().then(|| Arc::clone(self)),
            Some(user) => self.users.home(user).map(|home| home.app),
        }
    }

    /// What secrets are sealed with that this user's clients are shown.
    pub(crate) fn client_seal(&self) -> ClientSeal<'_> {
        ClientSeal {
            vault: &self.conversations.catalog.vault,
            user: self.user,
        }
    }

    /// Refuses what concerns everybody to those whom it is none of the business of.
    pub(crate) fn for_all(&self) -> Result<(), Failure> {
        if self.users.may_see_all(self.user) {
            Ok(())
        } else {
            Err(Failure::not_found())
        }
    }
}

/// When somebody last wanted something done.
pub(crate) struct Activity(Mutex<Instant>);

impl Activity {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    pub(crate) fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn idle(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}
