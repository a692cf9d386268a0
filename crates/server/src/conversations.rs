//! The conversations that clients have to do with: each is loaded when it is needed, by one actor, and leaves
//! memory when it has been idle.

mod allowing;
mod budget;
mod goal;
mod hosts;
mod loading;
mod mcp;
mod plan;
mod queue;
mod relatives;
mod removal;
mod review;
mod steering;
mod titles;
mod upkeep;

pub(crate) use self::budget::BudgetLimits;
pub(crate) use self::relatives::ForkRequest;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use deft_engine::{Begun, CommandError, Conversation};
use deft_llm::Model;
use deft_store::{Owner, StoreError};
use deft_types::{ConversationId, EventId, Message};
use deft_workspace::{Workspace, WorkspaceName};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::allowance::Allowance;
use crate::catalog::Catalog;
use crate::composition::Composition;
use crate::documents::Documents;
use crate::failure::Failure;
use crate::new_directory;
use crate::once::Requests;
use crate::request::StartRequest;
use crate::resident::{Farewell, Resident};
use crate::tool_choices::{ToolChoice, choices};
use crate::wanted::Wanted;
use crate::webhooks::Webhooks;

/// How long a conversation may take to end what it is doing when it is deleted or the server stops.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);
const RUN_LIMIT: &str = "Conversation run limit reached. Retry the request later.";

/// See the module.
pub(crate) struct Conversations {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) composition: Arc<dyn Composition>,
    pub(crate) webhooks: Arc<Webhooks>,
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

/// Whether a conversation was made for this request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    New,
    Existing,
}

/// The place among the runs that a request counts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// It has taken one.
    Own,
    /// That of a run which is under way.
    Others,
}

impl Claim {
    /// No run has begun for this request.
    fn give_back(self, resident: &Resident) {
        if self == Self::Own {
            resident.begin_no_run();
        }
    }
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
        Self {
            catalog,
            composition,
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

    /// Begins a conversation. The same id again changes nothing.
    pub(crate) async fn create(
        &self,
        mut request: StartRequest,
    ) -> Result<(ConversationId, Creation), Failure> {
        let id = request.id.unwrap_or_else(|| ConversationId(Uuid::new_v4()));
        let store = &self.catalog.store;
        if store.conversation(id).await?.is_some() {
            return Ok((id, Creation::Existing));
        }
        if let Some(parent) = request.parent
            && store.conversation(parent).await?.is_none()
        {
            return Err(Failure::refused(format!(
                "Parent conversation {parent} not found"
            )));
        }
        let root = match &request.place {
            Wanted::Directory(directory) => self.allowance.place(self.current_dir.join(directory))?,
            Wanted::Named(name) => {
                self.allowance.elsewhere()?;
                PathBuf::from(name.to_string())
            }
        };
        let turn = self.allowance.begin(&root).await?;
        self.check_servers(request.kept.get("agent").unwrap_or(&Value::Null))?;
        let place = match request.initial_message {
            Some(_) => {
                self.allowance.left().await?;
                Some(self.place_to_run()?) // nothing is stored where there is none
            }
            None => None,
        };
        let workspace = match request.place {
            Wanted::Directory(_) => {
                let make = match request.worktree {
                    Some(_) => new_directory::make_plain, // there would be nothing to copy
                    None => new_directory::make,
                };
                make_directory(&root, make).await?;
                let root = self.own_copy(id, root, &mut request).await?;
                root.display().to_string()
            }
            Wanted::Named(_) if request.worktree.is_some() => {
                return Err(Failure::refused(
                    "Only a directory of this machine can have a worktree",
                ));
            }
            Wanted::Named(name) => self.composition.resolve(name).map_err(Failure::refused)?,
        };
        let ready = || self.composition.ready(&workspace).unwrap_or(id);
        let id = match &request.worktree {
            Some(_) => id, // the copy was made for it
            None => request.id.unwrap_or_else(ready),
        };
        let created = self
            .catalog
            .create(id, workspace, &request.kept, &request.tags)
            .await;
        if created.is_err() && store.conversation(id).await?.is_some() {
            return Ok((id, Creation::Existing)); // another request was faster
        }
        if created.is_err() && request.worktree.is_some() {
            let _ = self.composition.remove(id, Path::new("/")).await; // nobody will use the copy
        }
        created?;
        drop(turn);
        if let (Some(message), Some(place)) = (request.initial_message, place) {
            let resident = self.resident(id).await?;
            self.store_message(&resident, Uuid::new_v4().into(), message)
                .await?;
            resident.begin_run(place);
            self.run_engine(&resident, Claim::Own).await?;
        }
        self.webhooks.notice(id).await;
        Ok((id, Creation::New))
    }

    /// Stores a message of the user's, and lets the agent go on if it is to.
    pub(crate) async fn send(
        &self,
        resident: &Resident,
        id: EventId,
        message: Message,
        run: bool,
    ) -> Result<(), Failure> {
        if run {
            self.allowance.left().await?;
        }
        self.store_message(resident, id, message).await?;
        if !run {
            return Ok(());
        }
        let Ok(claim) = self.take_place(resident) else {
            let id = resident.id;
            return Err(Failure::new(
                StatusCode::TOO_MANY_REQUESTS,
                format!(
                    "Message saved, but the conversation run limit was reached. \
                     Retry POST /api/conversations/{id}/run without resending the message."
                ),
            ));
        };
        self.run_engine(resident, claim).await?; // what runs already picks it up
        Ok(())
    }

    /// Lets the agent go on.
    pub(crate) async fn run(&self, resident: &Resident) -> Result<(), Failure> {
        self.allowance.left().await?;
        let claim = self.take_place(resident)?;
        match self.run_engine(resident, claim).await? {
            Begun::Now => Ok(()),
            Begun::Before => Err(Failure::new(
                StatusCode::CONFLICT,
                "Conversation already running. Wait for completion or pause first.",
            )),
            Begun::NothingToDo => {
                resident.tell_state();
                Ok(())
            }
        }
    }

    async fn store_message(&self, resident: &Resident, id: EventId, message: Message) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        let stored = engine.send(id, message).await;
        self.checked(resident, stored)
    }

    /// Runs in the place that was taken before: the end of a run may come before we hear of its beginning.
    async fn run_engine(&self, resident: &Resident, claim: Claim) -> Result<Begun, Failure> {
        let begun = match self.engine(resident).await {
            Ok(engine) => self.checked(resident, engine.run().await),
            Err(failure) => Err(failure),
        };
        if !matches!(begun, Ok(Begun::Now)) {
            claim.give_back(resident);
        }
        resident.answered();
        begun
    }

    fn take_place(&self, resident: &Resident) -> Result<Claim, Failure> {
        match self.place_to_run() {
            Ok(place) => {
                resident.begin_run(place);
                Ok(Claim::Own)
            }
            Err(_) if resident.is_running() => Ok(Claim::Others),
            Err(full) => Err(full),
        }
    }

    /// Stops at the next safe boundary.
    pub(crate) async fn pause(&self, resident: &Resident) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.pause().await)?;
        resident.tell_state();
        self.webhooks.notice(resident.id).await;
        Ok(())
    }

    /// Stops now. Where nothing runs it is the same as a pause.
    pub(crate) async fn interrupt(&self, resident: &Resident) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.interrupt().await)?;
        self.checked(resident, engine.pause().await)?;
        resident.tell_state();
        self.webhooks.notice(resident.id).await;
        Ok(())
    }

    /// The conversation in memory; it is put there if it is not.
    pub(crate) async fn resident(&self, id: ConversationId) -> Result<Arc<Resident>, Failure> {
        if let Some(resident) = self.residents().get(&id) {
            resident.touch();
            return Ok(Arc::clone(resident));
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
            self.residents().remove(&resident.id);
            resident.farewell.send_replace(Some(Farewell::Reloaded));
        }
        Ok(answer?)
    }

    fn place_to_run(&self) -> Result<OwnedSemaphorePermit, Failure> {
        Arc::clone(&self.runs)
            .try_acquire_owned()
            .map_err(|_| Failure::new(StatusCode::TOO_MANY_REQUESTS, RUN_LIMIT))
    }

    /// Opens a model to see whether it can be.
    pub(crate) fn try_model(&self, llm: &Value) -> Result<Arc<dyn Model>, String> {
        self.composition.model(llm)
    }

    /// Where a conversation's tools run, or those of a directory that has an id like one.
    pub(crate) fn workspace(&self, id: ConversationId, root: &Path) -> Result<Arc<dyn Workspace>, Failure> {
        let place = self.composition.place(id, root);
        let refused = |reason| Failure::new(StatusCode::BAD_REQUEST, reason);
        Ok(place.map_err(refused)?.workspace)
    }

    /// Whether any of them runs.
    pub(crate) fn is_any_running(&self) -> bool {
        self.residents().values().any(|resident| resident.is_running())
    }

    /// How many are in memory, how many of them run, and how many more may.
    pub(crate) fn load_figures(&self) -> (usize, usize, usize) {
        let residents = self.residents();
        let running = residents
            .values()
            .filter(|resident| resident.is_running())
            .count();
        (residents.len(), running, self.runs.available_permits())
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

async fn make_directory(root: &Path, make: fn(&Path) -> io::Result<()>) -> Result<(), Failure> {
    let path = root.to_owned();
    let done = tokio::task::spawn_blocking(move || make(&path)).await;
    match done {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Failure::new(
            StatusCode::BAD_REQUEST,
            format!("The working directory cannot be made: {error}"),
        )),
        Err(error) => Err(Failure::internal("the working directory cannot be made", &error)),
    }
}
