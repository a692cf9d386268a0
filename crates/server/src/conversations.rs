//! The conversations that clients have to do with: each is loaded when it is needed, by one actor, and leaves
//! memory when it has been idle.

mod allowing;
mod budget;
mod context;
mod creating;
mod goal;
mod hosts;
mod loading;
mod mcp;
mod models;
mod plan;
mod queue;
mod relatives;
mod removal;
mod review;
mod running;
mod steering;
mod titles;
mod upkeep;

pub(crate) use self::budget::BudgetLimits;
pub(crate) use self::creating::Creation;
pub(crate) use self::relatives::ForkRequest;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use deft_engine::{CommandError, Conversation, ExecutorFate, Live};
use deft_llm::{Model, Reach, Subscription};
use deft_store::{Owner, StoreError};
use deft_types::ConversationId;
use deft_workspace::{Workspace, WorkspaceName};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::allowance::Allowance;
use crate::catalog::Catalog;
use crate::composition::{ClientModel, Composition};
use crate::documents::Documents;
use crate::failure::Failure;
use crate::once::Requests;
use crate::resident::{Farewell, Resident};
use crate::subscription::ChatGptLogin;
use crate::tool_choices::{ToolChoice, choices};
use crate::webhooks::Webhooks;

/// How long a conversation may take to end what it is doing when it is deleted or the server stops.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);

/// See the module.
pub(crate) struct Conversations {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) composition: Arc<dyn Composition>,
    pub(crate) webhooks: Arc<Webhooks>,
    /// The login to `ChatGPT`, which can pay for models.
    pub(crate) chatgpt: Arc<ChatGptLogin>,
    owner: Owner,
    residents: Mutex<HashMap<ConversationId, Arc<Resident>>>,
    runs: Arc<Semaphore>,
    allowance: Allowance,
    idle_limit: Duration,
    /// What relative paths of clients start from.
    current_dir: PathBuf,
    goals: goal::Goals,
    pub(crate) requests: Requests,
    /// The tasks that tell what engines do.
    watchers: TaskTracker,
}

impl Conversations {
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        composition: Arc<dyn Composition>,
        webhooks: Arc<Webhooks>,
        runs: Arc<Semaphore>,
        allowance: Allowance,
        idle_limit: Duration,
        current_dir: PathBuf,
    ) -> Self {
        let documents = Documents::new(Arc::clone(&catalog));
        let chatgpt = ChatGptLogin::new(documents, Arc::clone(&composition));
        Self {
            catalog,
            composition,
            chatgpt: Arc::new(chatgpt),
            webhooks,
            owner: Owner::this_process(),
            residents: Mutex::default(),
            runs,
            allowance,
            idle_limit,
            current_dir,
            goals: goal::Goals::default(),
            requests: Requests::default(),
            watchers: TaskTracker::new(),
        }
    }

    /// The conversation in memory; it is put there if it is not.
    pub(crate) async fn resident(&self, id: ConversationId) -> Result<Arc<Resident>, Failure> {
        let there = self.residents().get(&id).map(Arc::clone);
        if let Some(resident) = there {
            resident.touch();
            let is_at_work = resident.is_running() || self.goals.all().contains_key(&id);
            if !resident.is_outdated() || is_at_work {
                return Ok(resident);
            }
            self.reload(&resident, ExecutorFate::Keep).await;
        }
        let described = self.catalog.find(id).await?.ok_or_else(Failure::not_found)?;
        let mut residents = self.residents();
        let resident = residents
            .entry(id)
            .or_insert_with(|| Arc::new(Resident::new(id, &described.agent)));
        Ok(Arc::clone(resident))
    }

    /// The engine of a conversation, which is started if it does not run.
    async fn engine<'a>(&self, resident: &'a Resident) -> Result<&'a Conversation, Failure> {
        resident.touch();
        let running = resident.engine.get_or_try_init(|| self.load(resident)).await?;
        Ok(&running.conversation)
    }

    /// What an engine answered. One that has failed is taken out of memory: the next request finds a new one.
    fn checked<T>(&self, resident: &Resident, answer: Result<T, CommandError>) -> Result<T, Failure> {
        if let Err(CommandError::Closed | CommandError::Store(StoreError::Fenced(_))) = &answer {
            self.forget(resident);
            resident.farewell.send_replace(Some(Farewell::Reloaded));
        }
        Ok(answer?)
    }

    /// Takes this one out of memory, and not another that has taken its place.
    fn forget(&self, resident: &Resident) {
        let mut residents = self.residents();
        let there = residents.get(&resident.id).map(Arc::as_ptr);
        if there.is_some_and(|there| std::ptr::eq(there, resident)) {
            residents.remove(&resident.id);
        }
    }

    /// Opens a model to see whether it can be.
    pub(crate) fn try_model(&self, llm: &Value) -> Result<Arc<dyn Model>, String> {
        self.composition.model(&self.client_model(llm))
    }

    /// A model as a client names it, for whoever opens it.
    pub(crate) fn client_model(&self, llm: &Value) -> ClientModel {
        ClientModel {
            llm: llm.clone(),
            subscription: self.subscription(),
            reach: self.reach(),
        }
    }

    /// Where addresses of models may be that clients name: they are reached by the server itself.
    fn reach(&self) -> Reach {
        if self.may_reach_anything() {
            Reach::Anywhere
        } else {
            Reach::Public
        }
    }

    /// Whether the server itself may be led to any address.
    pub(crate) fn may_reach_anything(&self) -> bool {
        self.allowance.elsewhere().is_ok()
    }

    /// What pays for models that name it.
    fn subscription(&self) -> Arc<dyn Subscription> {
        Arc::clone(&self.chatgpt) as Arc<dyn Subscription>
    }

    /// Where a conversation's tools run, or those of a directory that has an id like one.
    pub(crate) fn workspace(&self, id: ConversationId, root: &Path) -> Result<Arc<dyn Workspace>, Failure> {
        let place = self.composition.place(id, root);
        let refused = |reason| Failure::new(StatusCode::BAD_REQUEST, reason);
        Ok(place.map_err(refused)?.workspace)
    }

    /// Shows those who watch a conversation something that its engine does not know of.
    pub(crate) fn show(&self, id: ConversationId, live: Live) {
        if let Some(resident) = self.residents().get(&id) {
            resident.show_live(live);
        }
    }

    /// For how long nothing has happened in any of those that are in memory.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        let residents = self.residents();
        residents.values().map(|resident| resident.idle_for()).min()
    }

    /// Those that are in memory.
    pub(crate) fn in_memory(&self) -> Vec<ConversationId> {
        self.residents().keys().copied().collect()
    }

    /// How many are in memory, and how many of them run.
    pub(crate) fn load_figures(&self) -> (usize, usize) {
        let residents = self.residents();
        let running = residents
            .values()
            .filter(|resident| resident.is_running())
            .count();
        (residents.len(), running)
    }

    /// The tools that clients can choose from; the default is that of a model.
    pub(crate) fn tool_choices(&self, model: &str) -> Vec<ToolChoice> {
        choices(&self.composition.tools(), model)
    }

    /// Their names.
    pub(crate) fn tool_names(&self) -> Vec<String> {
        let all = self.tool_choices("").into_iter();
        all.map(|choice| choice.name).collect()
    }

    /// What is kept beside the conversations.
    fn documents(&self) -> Documents {
        Documents::new(Arc::clone(&self.catalog))
    }

    fn residents(&self) -> MutexGuard<'_, HashMap<ConversationId, Arc<Resident>>> {
        self.residents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the files of a workspace are, as its tools and clients see it.
pub(crate) fn root_of(workspace: &str) -> PathBuf {
    let name = workspace.parse::<WorkspaceName>();
    name.map_or_else(|_| PathBuf::from(workspace), |name| name.root())
}
