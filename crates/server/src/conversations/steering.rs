//! What clients can do with a conversation besides talking to it.

use axum::http::StatusCode;
use deft_engine::{AsideError, CommandError, ExecutorFate, Rerun, Rewind};
use deft_skills::Plugin;
use deft_tools::{Overwrite, Restored};
use deft_types::{ConfirmationPolicy, ConversationId, EventId, Status};
use serde_json::{Map, Value, json};

use super::Conversations;
use super::plan::refuse_running;
use crate::agent::Agent;
use crate::catalog::{asks_others, without_secrets};
use crate::failure::Failure;
use crate::plugins;
use crate::resident::Resident;
use crate::secrets::Given;

impl Conversations {
    /// Lets the actions that wait run.
    pub(crate) async fn approve(&self, resident: &Resident) -> Result<(), Failure> {
        let claim = self.take_place(resident)?;
        self.run_engine(resident, claim).await?; // what runs already needs no word
        resident.tell_state();
        Ok(())
    }

    /// Says no to the actions that wait.
    pub(crate) async fn reject(&self, resident: &Resident, reason: String) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.reject(reason).await)
    }

    /// Changes which actions wait for a word.
    pub(crate) async fn set_policy(
        &self,
        resident: &Resident,
        policy: ConfirmationPolicy,
    ) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        let changing = self.catalog.changing().await;
        let kept = json!(policy);
        self.checked(resident, engine.set_policy(policy).await)?;
        self.catalog
            .change_request(&changing, resident.id, "confirmation_policy", kept)
            .await?;
        Ok(())
    }

    /// Changes who judges actions. A model or a service can only be asked by a new engine. A run that is under way keeps its
    /// own: until its end, what they would judge counts as the worst.
    pub(crate) async fn set_analyzer(&self, resident: &Resident, kept: Value) -> Result<(), Failure> {
        let analyzer = match &kept {
            Value::Null => None,
            kept => Some(without_secrets(kept).map_err(|error| Failure::refused(error.to_string()))?),
        };
        let engine = self.engine(resident).await?;
        let changing = self.catalog.changing().await;
        self.checked(resident, engine.set_analyzer(analyzer).await)?;
        let asks_others = asks_others(&kept);
        self.catalog
            .change_request(&changing, resident.id, "security_analyzer", kept)
            .await?;
        match asks_others {
            true if resident.is_running() => resident.outdate(),
            true => self.reload(resident, ExecutorFate::Keep).await,
            false => {}
        }
        Ok(())
    }

    /// Notes what a request of a client was answered.
    pub(crate) async fn note_request(
        &self,
        resident: &Resident,
        id: EventId,
        answer: Value,
    ) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.note_request(id, answer).await)
    }

    /// Calls it so, or marks it with these.
    pub(crate) async fn label(
        &self,
        resident: &Resident,
        title: Option<String>,
        tags: Option<Map<String, Value>>,
    ) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.label(title, tags).await)
    }

    /// Stands at another event.
    pub(crate) async fn navigate(&self, resident: &Resident, to: Option<EventId>) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        match engine.navigate(to).await {
            Err(CommandError::NoSuchEvent(id)) => Err(Failure::new(
                StatusCode::NOT_FOUND,
                format!("Unknown event_id: {id}"),
            )),
            moved => {
                self.checked(resident, moved)?;
                // Moving is no event that watchers hear of. It is done, also where they cannot be told.
                match self.catalog.snapshot(resident.id).await {
                    Ok(state) => resident.show_place(state),
                    Err(error) => {
                        tracing::warn!(conversation = %resident.id, ?error, "cannot tell the state");
                    }
                }
                Ok(())
            }
        }
    }

    /// Does again in the workspace what was done in it.
    pub(crate) async fn rerun(&self, resident: &Resident) -> Result<Rerun, Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.rerun().await)
    }

    /// Goes back to an event; what became of the files, if they had to be changed.
    pub(crate) async fn rewind(
        &self,
        resident: &Resident,
        to: EventId,
        what: Rewind,
        overwrite: Overwrite,
    ) -> Result<Option<Restored>, Failure> {
        let engine = self.engine(resident).await?;
        let rewound = self.checked(resident, engine.rewind(to, what, overwrite).await)?;
        resident.tell_state();
        Ok(rewound)
    }

    /// Makes room in what the model sees.
    pub(crate) async fn condense(&self, resident: &Resident) -> Result<(), Failure> {
        let described = self.catalog.get(resident.id).await?;
        if !described.agent.condenses() {
            return Err(Failure::new(
                StatusCode::CONFLICT,
                "Cannot condense conversation: No condenser configured",
            ));
        }
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.condense().await)
    }

    /// Lets the agent that is a program of its own use another model, now and when the conversation is opened again.
    pub(crate) async fn switch_agent_model(&self, resident: &Resident, model: &str) -> Result<(), Failure> {
        let agent = self.catalog.get(resident.id).await?.agent;
        if !agent.is_external() {
            return Err(Failure::new(
                StatusCode::BAD_REQUEST,
                "switch_acp_model is only supported for ACP conversations.",
            ));
        }
        let engine = self.engine(resident).await?;
        let changing = self.catalog.changing().await;
        let agent = self.catalog.get(resident.id).await?.agent.with_own_model(model);
        self.checked(resident, engine.switch_agent_model(model.to_owned()).await)?;
        self.catalog
            .change_request(&changing, resident.id, "agent", agent.stored().clone())
            .await?;
        resident.show(&agent);
        Ok(())
    }

    /// Gives the agent what a plugin brings along, from its next step on.
    pub(crate) async fn load_plugin(&self, resident: &Resident, plugin: &Plugin) -> Result<(), Failure> {
        refuse_running(resident)?;
        let changing = self.catalog.changing().await;
        let mut described = self.catalog.get(resident.id).await?;
        plugins::add(plugin, &mut described.request);
        for part in plugins::PARTS {
            if let Some(value) = described.request.remove(part) {
                let id = resident.id;
                self.catalog.change_request(&changing, id, part, value).await?;
            }
        }
        self.reload(resident, ExecutorFate::Keep).await;
        Ok(())
    }

    /// Asks the model, or the agent that is a program of its own, something on the side.
    pub(crate) async fn ask(&self, resident: &Resident, question: &str) -> Result<String, Failure> {
        let engine = self.engine(resident).await?;
        match engine.ask_aside(question).await {
            Ok(answer) => Ok(answer),
            Err(AsideError::Command(error)) => self.checked(resident, Err(error)),
            Err(AsideError::Model(error)) => {
                let sentence = format!("the model could not answer: {error}");
                Err(Failure::internal(&sentence, &error))
            }
        }
    }

    /// Gives a conversation more secrets, or other values for those it has.
    pub(crate) async fn add_secrets(
        &self,
        id: ConversationId,
        sent: &Map<String, Value>,
    ) -> Result<(), Failure> {
        let changing = self.catalog.changing().await;
        let described = self.catalog.get(id).await?;
        let mut secrets = described.secrets().cloned().unwrap_or_default();
        secrets.extend(sent.clone());
        let given = Given::of(&described.agent, Some(&secrets)).only(described.secret_refs());
        let sources = given.sources(self.keeper())?;
        self.catalog
            .change_request(&changing, id, "secrets", Value::Object(secrets))
            .await?;
        let resident = self.resident(id).await?;
        if let Some(running) = resident.engine.get() {
            self.checked(&resident, running.conversation.set_secrets(sources).await)?;
        }
        Ok(())
    }

    /// Waits until it does not run any more.
    pub(crate) async fn settled(&self, resident: &Resident) -> Result<Status, Failure> {
        Ok(self.engine(resident).await?.settled().await.status)
    }

    /// Lets another model answer from now on, and when the conversation is opened again.
    pub(crate) async fn switch_model(
        &self,
        resident: &Resident,
        llm: &Map<String, Value>,
    ) -> Result<(), Failure> {
        let agent = self.catalog.get(resident.id).await?.agent;
        refuse_external(&agent, "it chooses its model itself; use switch_acp_model")?;
        let engine = self.engine(resident).await?;
        let changing = self.catalog.changing().await;
        let agent = self.catalog.get(resident.id).await?.agent.with_llm(llm);
        self.catalog
            .change_request(&changing, resident.id, "agent", agent.stored().clone())
            .await?;
        resident.show(&agent);
        let model = self.model(&agent, engine.calls()).await?;
        let switched = engine.switch_model(agent.model().to_owned(), model);
        self.checked(resident, switched.await)
    }
}

fn refuse_external(agent: &Agent, why: &str) -> Result<(), Failure> {
    if !agent.is_external() {
        return Ok(());
    }
    let sentence = format!("The agent of this conversation is an external program: {why}");
    Err(Failure::new(StatusCode::BAD_REQUEST, sentence))
}
