//! Everything that can be known about conversations without running them.

mod described;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use deft_store::{ConversationRecord, NewConversation, Store};
use deft_types::{ConversationId, EventBody, Seq, Source};
use serde_json::{Map, Value, json};

pub(crate) use self::described::{Described, asks_others, without_secrets};
use crate::agent::Agent;
use crate::failure::Failure;
use crate::info::Snapshot;
use crate::skills::{UsedSkills, may_use_skills};
use crate::summary::Summary;
use crate::vault::Vault;

/// Summaries that are remembered; beyond it all are forgotten and read again.
const MAX_SUMMARIES: usize = 2048;
/// Events read at once in search of an answer, from the end of a log backwards.
const ANSWER_PAGE: u64 = 64;
/// The first events of a log, among which the model is named.
const BEGINNING: usize = 16;

/// Names of the fields in a conversation's stored settings.
pub(crate) mod field {
    pub(crate) const REQUEST: &str = "request";
    pub(super) const TAGS: &str = "tags";
    pub(crate) const FORKED_FROM: &str = "forked_from_conversation_id";
    pub(crate) const FORKED_AT: &str = "forked_from_event_id";
    /// In the request of a client, or where an agent began it for a task.
    pub(crate) const PARENT: &str = "parent_conversation_id";
    pub(crate) const GOAL: &str = "goal";
    pub(crate) const BUDGET: &str = "budget";
    pub(crate) const MODE: &str = "mode";
}

/// Reads the store, and what it keeps sealed.
pub(crate) struct Catalog {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) data_dir: PathBuf,
    summaries: Mutex<HashMap<ConversationId, Summary>>,
    changes: tokio::sync::Mutex<()>,
}

/// See [`Catalog::changing`].
pub(crate) struct Changing<'c> {
    _turn: tokio::sync::MutexGuard<'c, ()>,
}

impl Catalog {
    pub(crate) fn new(store: Arc<dyn Store>, vault: Arc<Vault>, data_dir: PathBuf) -> Self {
        Self {
            store,
            vault,
            data_dir,
            summaries: Mutex::default(),
            changes: tokio::sync::Mutex::default(),
        }
    }

    /// A conversation that must be there.
    pub(crate) async fn get(&self, id: ConversationId) -> Result<Described, Failure> {
        self.find(id).await?.ok_or_else(Failure::not_found)
    }

    /// What is stored with a new conversation. What the client sent is kept unreadable.
    pub(crate) fn new_settings(
        &self,
        id: ConversationId,
        request: &Map<String, Value>,
        tags: &Map<String, Value>,
    ) -> Result<Map<String, Value>, Failure> {
        let fields = [
            (field::REQUEST, self.sealed(id, request)?),
            (field::TAGS, Value::Object(tags.clone())),
        ];
        Ok(fields
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect())
    }

    /// The right to change what clients have said: what one reads to change it must not be changed by another meanwhile.
    pub(crate) async fn changing(&self) -> Changing<'_> {
        Changing {
            _turn: self.changes.lock().await,
        }
    }

    /// Changes what the client said when it began the conversation.
    pub(crate) async fn change_request(
        &self,
        _one_at_a_time: &Changing<'_>,
        id: ConversationId,
        name: &str,
        value: Value,
    ) -> Result<Described, Failure> {
        let mut described = self.get(id).await?;
        described.request.insert(name.to_owned(), value);
        let sealed = self.sealed(id, &described.request)?;
        self.note(id, field::REQUEST, sealed).await?;
        self.get(id).await
    }

    /// Keeps something about a conversation.
    pub(crate) async fn note(&self, id: ConversationId, name: &str, value: Value) -> Result<(), Failure> {
        let fields = Map::from_iter([(name.to_owned(), value)]);
        Ok(self.store.change_settings(id, fields).await?)
    }

    fn sealed(&self, id: ConversationId, request: &Map<String, Value>) -> Result<Value, Failure> {
        let text = Value::Object(request.clone()).to_string();
        Ok(self.vault.seal(&id.hex(), &text)?.into())
    }

    /// Stores a new conversation.
    pub(crate) async fn create(
        &self,
        id: ConversationId,
        workspace: String,
        request: &Map<String, Value>,
        tags: &Map<String, Value>,
    ) -> Result<(), Failure> {
        let new = NewConversation {
            id,
            created_at: std::time::SystemTime::now(),
            workspace,
            settings: Value::Object(self.new_settings(id, request, tags)?),
            owner: None, // the store knows
        };
        Ok(self.store.create(new).await?)
    }

    /// A conversation, if there is one of this id.
    pub(crate) async fn find(&self, id: ConversationId) -> Result<Option<Described>, Failure> {
        match self.store.conversation(id).await? {
            Some(record) => self.describe(record).await.map(Some),
            None => Ok(None),
        }
    }

    /// All about a conversation of the index.
    pub(crate) async fn describe(&self, record: ConversationRecord) -> Result<Described, Failure> {
        let id = record.id;
        let settings = self.store.settings(id).await?.unwrap_or_default();
        let summary = self.summary(id, record.last_seq).await?;
        let request = match settings.get(field::REQUEST).and_then(Value::as_str) {
            Some(sealed) => {
                let text = self.vault.open_sealed(&id.hex(), sealed)?;
                serde_json::from_str(&text).unwrap_or_default()
            }
            None => self.request_of_the_command_line(&record).await?,
        };
        let agent = Agent::from_stored(request.get("agent").cloned().unwrap_or_default());
        let used_skills = match &summary.used_skills {
            _ if !may_use_skills(&agent) => UsedSkills::default(),
            Some(used) => used.clone(),
            None => {
                let used = UsedSkills::of(self.store.as_ref(), id).await?;
                if let Some(summary) = self.summaries().get_mut(&id) {
                    summary.used_skills = Some(used.clone());
                }
                used
            }
        };
        Ok(Described {
            agent,
            used_skills,
            tags: match &record.tags {
                Some(tags) => Value::Object(tags.clone()),
                None => settings.get(field::TAGS).cloned().unwrap_or_else(|| json!({})), // as it began
            },
            persistence_dir: self
                .data_dir
                .join("conversations")
                .join(id.hex())
                .display()
                .to_string(),
            record,
            request,
            summary,
            settings,
        })
    }

    /// A conversation that was begun on the command line has sent us nothing: this is what it would have been.
    async fn request_of_the_command_line(
        &self,
        record: &ConversationRecord,
    ) -> Result<Map<String, Value>, Failure> {
        let beginning = self.store.read(record.id, Seq::FIRST, BEGINNING).await?;
        let model = beginning.iter().find_map(|(_, event)| match &event.body {
            EventBody::StateUpdate(update) if update.key == "agent" => {
                update.value.pointer("/llm/model")?.as_str().map(str::to_owned)
            }
            _ => None,
        });
        let agent = Agent::of_model(&model.unwrap_or_default());
        let request = json!({
            "agent": agent.stored(),
            "workspace": {"working_dir": record.workspace, "kind": "LocalWorkspace"},
        });
        Ok(request.as_object().cloned().unwrap_or_default())
    }

    /// The state of a conversation as a frame, and the event it comes behind.
    pub(crate) async fn snapshot(&self, id: ConversationId) -> Result<Snapshot, Failure> {
        let described = self.find(id).await?.ok_or_else(Failure::not_found)?;
        Ok(Snapshot::of(&described))
    }

    /// What the agent said last to the user.
    pub(crate) async fn answer(&self, record: &ConversationRecord) -> Result<String, Failure> {
        let mut end = record.last_seq.map_or(0, |last| last.0 + 1);
        while end > 0 {
            let from = end.saturating_sub(ANSWER_PAGE);
            let count = usize::try_from(end - from).unwrap_or(usize::MAX);
            let page = self.store.read(record.id, Seq(from), count).await?;
            let answer = page.iter().rev().find_map(|(_, event)| match &event.body {
                EventBody::Message(said) if event.source == Source::Agent => {
                    Some(said.llm_message.plain_text())
                }
                EventBody::Observation(result) if result.observation.kind() == "FinishObservation" => {
                    Some(deft_types::text_of(&result.observation.content()))
                }
                _ => None,
            });
            if let Some(answer) = answer {
                return Ok(answer);
            }
            end = from;
        }
        Ok(String::new())
    }

    /// What is known of a deleted conversation is not.
    pub(crate) fn forget(&self, id: ConversationId) {
        self.summaries().remove(&id);
    }

    async fn summary(&self, id: ConversationId, last: Option<Seq>) -> Result<Summary, Failure> {
        let known = self.summaries().get(&id).cloned();
        let summary = match known {
            Some(mut known) if known.through <= last => {
                known.advance(self.store.as_ref(), id, last).await?;
                known
            }
            _ => Summary::read(self.store.as_ref(), id, last).await?,
        };
        let mut summaries = self.summaries();
        if summaries.len() >= MAX_SUMMARIES {
            summaries.clear();
        }
        summaries.insert(id, summary.clone());
        Ok(summary)
    }

    fn summaries(&self) -> std::sync::MutexGuard<'_, HashMap<ConversationId, Summary>> {
        self.summaries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
