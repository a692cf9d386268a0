//! The models of the OpenAI gateway: each named model with an agent around it. A request is a conversation.

use std::sync::Arc;

use axum::http::StatusCode;
use deft_types::{Content, ConversationId, ImageContent, Message, Role, Status};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::app::App;
use crate::failure::Failure;
use crate::launch::{PROFILES, model_profile};
use crate::request::StartRequest;
use crate::resident::Resident;
use crate::settings::{agent_of, completed_agent};
use crate::wanted::Wanted;

/// What stands before the name of a model.
const PREFIX: &str = "openhands_";
/// Where it is remembered which answers can be gone on from, by their conversations.
const RESPONSES: &str = "responses/";
/// What stands before the id of an answer, in which the conversation's comes first.
const RESPONSE: &str = "resp_";

/// The names of all models.
pub(crate) async fn models(app: &App) -> Result<Vec<String>, Failure> {
    let profiles = app.documents.list(PROFILES).await?;
    Ok(profiles
        .into_iter()
        .map(|(name, _)| format!("{PREFIX}{name}"))
        .collect())
}

/// A conversation that answers a request.
pub(crate) struct Exchange {
    pub(crate) resident: Arc<Resident>,
    before: Tokens,
}

/// What was used.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
}

impl Tokens {
    fn counted(stats: &Value) -> Self {
        let all = stats["usage_to_metrics"].as_object().into_iter().flatten();
        all.fold(Self::default(), |sum, (_, metrics)| {
            let count = |name: &str| metrics["accumulated_token_usage"][name].as_u64().unwrap_or(0);
            Self {
                input: sum.input + count("prompt_tokens"),
                cached: sum.cached + count("cache_read_tokens"),
                output: sum.output + count("completion_tokens"),
                reasoning: sum.reasoning + count("reasoning_tokens"),
            }
        })
    }

    fn since(self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            cached: self.cached.saturating_sub(before.cached),
            output: self.output.saturating_sub(before.output),
            reasoning: self.reasoning.saturating_sub(before.reasoning),
        }
    }
}

impl Exchange {
    /// Begins a conversation with a model of the gateway.
    pub(crate) async fn new(app: &App, model: &str) -> Result<Self, Failure> {
        let unknown = || {
            let sentence = format!("Unknown OpenHands model '{model}'. Use GET /v1/models.");
            Failure::new(StatusCode::NOT_FOUND, sentence)
        };
        let profile = model.strip_prefix(PREFIX).ok_or_else(unknown)?;
        let llm = model_profile(app, profile).await?;
        let mut settings = completed_agent(&json!({}));
        settings["llm"] = llm;
        settings["llm"]["stream"] = true.into();
        let id = ConversationId(Uuid::new_v4());
        let agent = agent_of(&settings)?;
        let working_dir = format!("workspace/{}", id.hex());
        // Nobody looks for it by its name, and a question more would count as part of the answer.
        let kept = json!({"agent": agent.stored(), "autotitle": false,
            "workspace": {"working_dir": working_dir, "kind": "LocalWorkspace"}});
        let request = StartRequest {
            id: Some(id),
            parent: None,
            place: Wanted::Directory(working_dir),
            worktree: None,
            initial_message: None,
            tags: Map::from_iter([("source".to_owned(), "gateway".into())]),
            kept: kept.as_object().cloned().unwrap_or_default(),
        };
        app.conversations.create(request).await?;
        let resident = app.conversations.resident(id).await?;
        Ok(Self {
            resident,
            before: Tokens::default(),
        })
    }

    /// Goes on with the conversation that gave an answer.
    pub(crate) async fn after(app: &App, response: &str) -> Result<Self, Failure> {
        let unknown = || {
            let sentence = format!("There is no response '{response}' to go on from");
            Failure::new(StatusCode::NOT_FOUND, sentence)
        };
        let id = conversation_of(response).ok_or_else(unknown)?;
        let remembered = app.documents.get(&(folder(id) + response)).await?;
        remembered.ok_or_else(unknown)?;
        Self::with(app, id).await.map_err(|_| unknown())
    }

    /// Goes on with a conversation.
    pub(crate) async fn with(app: &App, id: ConversationId) -> Result<Self, Failure> {
        let resident = app.conversations.resident(id).await?;
        let described = app.conversations.catalog.get(id).await?;
        Ok(Self {
            resident,
            before: Tokens::counted(&described.summary.full_stats()),
        })
    }

    /// The id of a new answer.
    pub(crate) fn response_id(&self) -> String {
        format!("{RESPONSE}{}{}", self.resident.id.hex(), Uuid::new_v4().simple())
    }

    /// Lets an answer be gone on from.
    pub(crate) async fn remember(&self, app: &App, response: &str) -> Result<(), Failure> {
        let key = folder(self.resident.id) + response;
        app.documents.put(&key, &Value::Bool(true)).await
    }

    /// Says something and waits for the answer.
    pub(crate) async fn answer(&self, app: &App, message: Message) -> Result<(String, Tokens), Failure> {
        let conversations = &app.conversations;
        conversations
            .send(&self.resident, Uuid::new_v4().into(), message, true)
            .await?;
        let status = conversations.settled(&self.resident).await?;
        let ended = || {
            format!(
                "Agent run ended with status: {status}; see conversation {}",
                self.resident.id
            )
        };
        match status {
            Status::Finished => {}
            Status::Paused | Status::WaitingForConfirmation => {
                return Err(Failure::new(StatusCode::CONFLICT, ended()));
            }
            Status::Idle | Status::Running | Status::Error | Status::Stuck | Status::Deleting => {
                return Err(Failure::rewritten(StatusCode::INTERNAL_SERVER_ERROR, &ended()));
            }
        }
        let described = conversations.catalog.get(self.resident.id).await?;
        let answer = conversations.catalog.answer(&described.record).await?;
        let used = Tokens::counted(&described.summary.full_stats()).since(self.before);
        Ok((answer, used))
    }
}

/// Where the answers of a conversation are remembered.
pub(crate) fn folder(id: ConversationId) -> String {
    format!("{RESPONSES}{}/", id.hex())
}

fn conversation_of(response: &str) -> Option<ConversationId> {
    let id = response.strip_prefix(RESPONSE)?.get(..32)?;
    Uuid::parse_str(id).ok().map(ConversationId)
}

/// One message that says all that a client sent: what was said before, then what is asked now.
pub(crate) fn message(instructions: Option<&str>, sent: &[Value]) -> Result<Message, Failure> {
    let mut before = instructions.map(|text| vec![text.to_owned()]).unwrap_or_default();
    let (last, earlier) = sent
        .split_last()
        .map_or((&Value::Null, [].as_slice()), |parts| parts);
    for said in earlier {
        let role = said["role"].as_str().unwrap_or("user");
        let text = deft_types::text_of(&content(&said["content"])?);
        match role {
            "system" | "developer" => before.push(text),
            role => before.push(format!("[{role}] {text}")),
        }
    }
    let mut parts = Vec::new();
    if !before.is_empty() {
        parts.push(Content::text(before.join("\n\n") + "\n"));
    }
    parts.extend(content(&last["content"])?);
    Ok(Message::new(Role::User, parts))
}

fn content(sent: &Value) -> Result<Vec<Content>, Failure> {
    match sent {
        Value::String(text) => Ok(vec![Content::text(text.clone())]),
        Value::Array(parts) => parts.iter().map(part).collect(),
        _ => Ok(Vec::new()),
    }
}

/// A part of a message, as either API writes it. What cannot be passed on is refused: the answer would be to another
/// question.
fn part(sent: &Value) -> Result<Content, Failure> {
    let bad = |sentence: String| Failure::new(StatusCode::BAD_REQUEST, sentence);
    let kind = sent["type"].as_str().unwrap_or_default();
    match kind {
        "text" | "input_text" | "output_text" => Ok(Content::text(sent["text"].as_str().unwrap_or_default())),
        "image_url" | "input_image" => {
            let image = &sent["image_url"];
            let url = image.as_str().or(image["url"].as_str());
            let url = url.ok_or_else(|| bad(format!("{kind} content part is missing a url")))?;
            Ok(Content::Image(ImageContent {
                image_urls: vec![url.to_owned()],
                ..ImageContent::default()
            }))
        }
        other => Err(bad(format!("Unsupported content part type: {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_before_stands_before_the_question() {
        let sent = [
            json!({"role": "system", "content": "be brief"}),
            json!({"role": "assistant", "content": "hello"}),
            json!({"role": "user", "content": [{"type": "text", "text": "and now?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]}),
        ];
        let message = message(Some("first"), &sent).unwrap();
        assert_eq!(
            message.plain_text().replace("\n\n", "|"),
            "first|be brief|[assistant] hello|and now?"
        );
        assert!(matches!(message.content.last(), Some(Content::Image(_))));
    }
}
