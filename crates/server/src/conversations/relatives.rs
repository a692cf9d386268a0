//! Conversations that come from others: copies and children.

use std::path::PathBuf;
use std::time::SystemTime;

use axum::http::StatusCode;
use deft_engine::{CommandError, Fork, RealWorld, fork};
use deft_store::{NewConversation, StoreError};
use deft_types::{ConversationId, EventId, Message};
use deft_workspace::WorkspaceName;
use ring::digest;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::Conversations;
use crate::catalog::field;
use crate::children::note_child;
use crate::failure::Failure;
use crate::request::StartRequest;
use crate::wanted::Wanted;
use crate::worktree::Worktree;

/// A copy that a client wants.
pub(crate) struct ForkRequest {
    pub(crate) id: Option<ConversationId>,
    pub(crate) title: Option<String>,
    pub(crate) tags: Map<String, Value>,
    /// Up to here; without it, all.
    pub(crate) at: Option<EventId>,
    /// Whether what the other has cost counts in the copy too.
    pub(crate) keep_stats: bool,
    /// What the client calls its request.
    pub(crate) request: Option<EventId>,
}

impl ForkRequest {
    /// The copy's id: what the client says, or the same for the same request.
    fn copy_of(&self, source: ConversationId) -> ConversationId {
        let made_up = || match &self.request {
            Some(request) => {
                let digest = digest::digest(&digest::SHA256, format!("{source} {request}").as_bytes());
                let first = digest.as_ref().first_chunk().copied().unwrap_or_default();
                uuid::Builder::from_random_bytes(first).into_uuid()
            }
            None => Uuid::new_v4(),
        };
        self.id.unwrap_or_else(|| ConversationId(made_up()))
    }
}

impl Conversations {
    /// Begins a conversation as a copy of another.
    pub(crate) async fn fork(
        &self,
        source: ConversationId,
        request: ForkRequest,
    ) -> Result<ConversationId, Failure> {
        let missing = || Failure::new(StatusCode::NOT_FOUND, "Source conversation not found");
        let described = self.catalog.find(source).await?.ok_or_else(missing)?;
        let id = request.copy_of(source);
        let mut settings = self.catalog.new_settings(id, &described.request, &request.tags)?;
        settings.insert(field::FORKED_FROM.to_owned(), json!(source));
        settings.insert(field::FORKED_AT.to_owned(), json!(request.at));
        if let Some(limits) = described.settings.get(field::BUDGET) {
            settings.insert(field::BUDGET.to_owned(), limits.clone());
        }
        let workspace = std::path::Path::new(&described.record.workspace);
        let _turn = self.allowance.begin(workspace).await?;
        let new = NewConversation {
            id,
            created_at: SystemTime::now(),
            workspace: described.record.workspace,
            settings: Value::Object(settings),
            owner: None, // the store knows
        };
        let copy = Fork {
            at: request.at,
            keep_stats: request.keep_stats,
            title: request.title,
            request: request.request,
        };
        let resident = self.resident(source).await;
        let engine = match &resident {
            Ok(resident) => self.engine(resident).await.ok(),
            Err(_) => None,
        };
        let made = match engine {
            Some(engine) => engine.fork(new, copy).await,
            // One that cannot be opened is copied as it stands: that may be why somebody wants a copy.
            None => fork(self.catalog.store.as_ref(), source, new, copy, &RealWorld).await,
        };
        match made {
            Ok(()) => {}
            Err(CommandError::NoSuchEvent(event)) => {
                let sentence = format!("Unknown from_event_id: {event}");
                return Err(Failure::new(StatusCode::NOT_FOUND, sentence));
            }
            Err(CommandError::Store(StoreError::Exists(id))) => {
                let sentence = format!("Conversation with id {id} already exists");
                return Err(Failure::new(StatusCode::CONFLICT, sentence));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(id)
    }

    /// Lets a conversation work in a copy of the repository, if it is to and there is one. Where it works.
    pub(super) async fn own_copy(
        &self,
        id: ConversationId,
        root: PathBuf,
        request: &mut StartRequest,
    ) -> Result<PathBuf, Failure> {
        let Some(wanted) = &request.worktree else {
            return Ok(root);
        };
        let beneath = self
            .allowance
            .folders
            .as_ref()
            .and_then(|folders| folders.first());
        let made = self
            .composition
            .own_copy(id, &root, wanted, beneath.map(PathBuf::as_path));
        let Some(copy) = made.await.map_err(Failure::refused)? else {
            request.worktree = None;
            return Ok(root);
        };
        let workspace = json!({"working_dir": copy, "kind": "LocalWorkspace"});
        request.kept.insert("workspace".to_owned(), workspace);
        Ok(copy)
    }

    /// Begins a conversation that does a part of another's work, with the same agent in the same workspace, or in a
    /// copy of the repository that is there.
    pub(crate) async fn begin_child(
        &self,
        parent: ConversationId,
        task: Message,
        title: Option<String>,
        worktree: Option<Worktree>,
    ) -> Result<ConversationId, Failure> {
        let described = self.catalog.get(parent).await?;
        let id = ConversationId(Uuid::new_v4());
        let mut kept = described.request.clone();
        kept.insert("conversation_id".to_owned(), json!(id));
        kept.insert("parent_conversation_id".to_owned(), json!(parent));
        let request = StartRequest {
            id: Some(id),
            parent: Some(parent),
            place: match described.record.workspace.parse::<WorkspaceName>() {
                Ok(name) => name.into(),
                Err(_) => Wanted::Directory(described.record.workspace.clone()),
            },
            worktree,
            initial_message: Some(task),
            tags: Map::new(),
            kept,
        };
        self.create(request).await?;
        note_child(self.catalog.store.as_ref(), parent, id).await?;
        if title.is_some() {
            let resident = self.resident(id).await?;
            self.label(&resident, title, None).await?;
        }
        Ok(id)
    }
}
