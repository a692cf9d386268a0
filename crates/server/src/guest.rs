//! Whoever has a link to a conversation: what they are shown of it, and nothing of how its agent is set up.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde_json::Value;

use crate::app::App;
use crate::failure::Failure;
use crate::security::REFRESH;
use crate::shares::{Share, Shares};

/// The header that carries what a link holds.
pub(crate) const HEADER: &str = "x-share-token";
/// What of the state a guest is told.
const STATE: [&str; 4] = ["execution_status", "stats", "leaf_event_id", "head_is_empty"];
/// What remains of the prompt: its place in the log.
const PLACE: [&str; 5] = ["id", "kind", "parent_id", "source", "timestamp"];
/// What was put into a message besides what somebody said.
const ADDED: [&str; 2] = ["activated_skills", "extended_content"];

/// See the module.
pub(crate) struct Guest {
    /// The part of the server where the conversation is.
    pub(crate) app: Arc<App>,
    pub(crate) share: Share,
}

impl Guest {
    /// Lets somebody in by a link.
    pub(crate) async fn admit(app: &Arc<App>, token: &str) -> Result<Self, Failure> {
        let share = shares(app).opened(token).await?.ok_or_else(refused)?;
        // Who shows a key as well has been led to where this conversation is not.
        let app = app.at(share.owner).ok_or_else(refused)?;
        app.conversations.catalog.get(share.conversation).await?;
        Ok(Self { app, share })
    }

    /// Waits until the link opens nothing any more.
    pub(crate) async fn ended(&self) {
        let (shares, directory) = (shares(&self.app), &self.app.users.directory);
        let owner_is_there = || {
            self.share
                .owner
                .is_none_or(|owner| directory.user(owner).is_some())
        };
        while owner_is_there() && shares.is_good(&self.share).await {
            tokio::time::sleep(REFRESH).await;
        }
    }
}

pub(crate) fn shares(app: &App) -> Shares {
    Shares::new(Arc::clone(&app.users.store))
}

fn refused() -> Failure {
    let sentence = "This link opens nothing (any more): it has expired, or was taken back";
    Failure::new(StatusCode::UNAUTHORIZED, sentence)
}

impl FromRequestParts<Arc<App>> for Guest {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Failure> {
        let token = parts.headers.get(HEADER).and_then(|token| token.to_str().ok());
        Self::admit(app, token.ok_or_else(refused)?).await
    }
}

/// An event as a guest sees it. None: they do not.
pub(crate) fn shown(mut event: Value) -> Option<Value> {
    let kind = event["kind"].as_str().unwrap_or_default().to_owned();
    let is_state = kind == "ConversationStateUpdateEvent";
    let fields = event.as_object_mut()?;
    match kind.as_str() {
        "SystemPromptEvent" => fields.retain(|name, _| PLACE.contains(&name.as_str())),
        "MessageEvent" => fields.retain(|name, _| !ADDED.contains(&name.as_str())),
        _ => {}
    }
    if !is_state {
        return Some(event);
    }
    if event["key"] == "full_state" {
        let state = event["value"].as_object_mut()?;
        state.retain(|name, _| STATE.contains(&name.as_str()));
        return Some(event);
    }
    STATE.contains(&event["key"].as_str()?).then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_guest_sees_what_was_said_and_done_and_nothing_of_how_the_agent_is_set_up() {
        let prompt = json!({"kind": "SystemPromptEvent", "id": "1", "system_prompt": {"text": "private"}, "tools": ["t"]});
        assert_eq!(
            shown(prompt).unwrap(),
            json!({"kind": "SystemPromptEvent", "id": "1"})
        );
        let said =
            json!({"kind": "MessageEvent", "llm_message": {"content": []}, "extended_content": ["private"]});
        assert!(!shown(said).unwrap().to_string().contains("private"));
        let update = |key: &str, value: Value| json!({"kind": "ConversationStateUpdateEvent", "key": key, "value": value});
        assert!(shown(update("agent", json!({"llm": {}}))).is_none());
        assert!(shown(update("execution_status", json!("idle"))).is_some());
        let state = json!({"execution_status": "idle", "agent": {"llm": "private"}, "workspace": "private", "tags": {}});
        let state = shown(update("full_state", state)).unwrap();
        assert_eq!(state["value"], json!({"execution_status": "idle"}));
    }
}
