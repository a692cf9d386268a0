//! What the model of a conversation would be sent next.

use axum::http::StatusCode;
use deft_engine::{ClientResults, ClientTool, Context};
use deft_llm::CallLog;
use deft_store::{Direction, EventFilter};
use deft_tools::{Tool as _, Toolbox};
use deft_types::{ConversationId, EventBody, ToolDefinition, ToolSpec};
use serde_json::json;

use super::Conversations;
use crate::catalog::Described;
use crate::failure::Failure;
use crate::resident::Resident;

const EXTERNAL: &str = "This agent is a program of its own: only it knows what its model reads.";

impl Conversations {
    /// What the next request has in it. So many messages are told one by one.
    pub(crate) async fn context(&self, resident: &Resident, most: usize) -> Result<Context, Failure> {
        let described = self.catalog.get(resident.id).await?;
        if described.agent.is_external() {
            return Err(Failure::new(StatusCode::CONFLICT, EXTERNAL));
        }
        if let Some(running) = resident.engine.get() {
            return self.checked(resident, running.conversation.context(most).await);
        }
        // Whoever only looks loads nothing.
        let state = deft_engine::load(self.catalog.store.as_ref(), resident.id).await?;
        let tools = self.logged_tools(resident.id, &described).await?;
        let model = self.model(&described.agent, &CallLog::default()).await?;
        Ok(Context::of(&state, tools, model.profile(), most))
    }

    /// The tools that the log names. It does not tell the arguments of each: those of a server's are not known here.
    async fn logged_tools(
        &self,
        id: ConversationId,
        described: &Described,
    ) -> Result<Vec<ToolSpec>, Failure> {
        let prompts = EventFilter {
            kind: Some("SystemPromptEvent".to_owned()),
            ..EventFilter::default()
        };
        let store = &self.catalog.store;
        let found = store.find_events(id, prompts, Direction::Backward, None, 1);
        let Some(EventBody::SystemPrompt(prompt)) = found.await?.pop().map(|(_, event)| event.body) else {
            return Ok(Vec::new());
        };
        let of_client = described.client_tools().into_iter();
        let of_client = of_client.map(|spec| ClientTool::new(spec, ClientResults::default()).spec());
        let known = self
            .composition
            .tools()
            .into_iter()
            .chain(Toolbox::host().specs());
        let known: Vec<_> = known.chain(of_client).collect();
        let spec_of = |definition: &ToolDefinition| {
            let same = known.iter().find(|spec| spec.name() == definition.title);
            same.cloned().unwrap_or_else(|| ToolSpec {
                definition: definition.clone(),
                parameters: json!({}),
            })
        };
        Ok(prompt.tools.iter().map(spec_of).collect())
    }
}
