//! One conversation on a server.

use std::collections::BTreeMap;

use deft_types::{ConversationId, Event, EventBody, Message, Role, Secret, Seq, SessionFrame, Status};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use reqwest::Method;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::client::{Client, of};
use crate::error::ClientError;
use crate::frames;

/// What the server says of a conversation.
#[derive(Clone, Debug, Deserialize)]
pub struct ConversationInfo {
    /// Its id.
    pub id: ConversationId,
    /// Its name, once it has one.
    pub title: Option<String>,
    /// What it is doing.
    #[serde(rename = "execution_status")]
    pub status: Status,
    /// Everything else, as it came.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, Value>,
}

/// The handle of a conversation. Cheap to clone; dropping it changes nothing on the server.
#[derive(Clone, Debug)]
pub struct Conversation {
    client: Client,
    id: ConversationId,
}

impl Conversation {
    pub(crate) fn new(client: Client, id: ConversationId) -> Self {
        Self { client, id }
    }

    /// Its id.
    pub fn id(&self) -> ConversationId {
        self.id
    }

    /// What it is doing, and what it was begun with.
    pub async fn info(&self) -> Result<ConversationInfo, ClientError> {
        self.ask(Method::GET, "", None).await
    }

    /// Says something. The agent hears it when it next runs, or in the run that is going on.
    pub async fn send(&self, text: impl Into<String>) -> Result<(), ClientError> {
        self.send_message(&Message::text(Role::User, text)).await
    }

    /// Says something that is more than text.
    pub async fn send_message(&self, message: &Message) -> Result<(), ClientError> {
        self.change(
            "/events",
            json!({"role": message.role, "content": message.content, "run": false}),
        )
        .await
    }

    /// Lets the agent go on. Comes back at once; see [`settled`](Self::settled).
    pub async fn run(&self) -> Result<(), ClientError> {
        self.change("/run", json!({})).await
    }

    /// Stops it at the end of the step that it is doing.
    pub async fn pause(&self) -> Result<(), ClientError> {
        self.change("/pause", json!({})).await
    }

    /// Stops it now.
    pub async fn interrupt(&self) -> Result<(), ClientError> {
        self.change("/interrupt", json!({})).await
    }

    /// Lets the actions run that wait.
    pub async fn approve(&self) -> Result<(), ClientError> {
        self.change("/events/respond_to_confirmation", json!({"accept": true}))
            .await
    }

    /// Does not let them, and says why.
    pub async fn reject(&self, reason: &str) -> Result<(), ClientError> {
        let body = json!({"accept": false, "reason": reason});
        self.change("/events/respond_to_confirmation", body).await
    }

    /// Gives its commands secrets, by name. Neither the model nor the log gets to see them.
    pub async fn add_secrets(&self, secrets: &BTreeMap<String, Secret<String>>) -> Result<(), ClientError> {
        let sealed = |(name, value): (&String, &Secret<String>)| {
            let secret = json!({"kind": "StaticSecret", "value": value.expose()});
            (name.clone(), secret)
        };
        let secrets: serde_json::Map<_, _> = secrets.iter().map(sealed).collect();
        self.change("/secrets", json!({ "secrets": secrets })).await
    }

    /// Begins another one as a copy of all that has happened here.
    pub async fn fork(&self) -> Result<Self, ClientError> {
        let copy: ConversationInfo = self.ask(Method::POST, "/fork", Some(json!({}))).await?;
        Ok(Self::new(self.client.clone(), copy.id))
    }

    /// Removes it with its history. Its files stay.
    pub async fn delete(self) -> Result<(), ClientError> {
        self.ask::<Value>(Method::DELETE, "", None).await.map(drop)
    }

    /// What the agent said last to the user.
    pub async fn answer(&self) -> Result<String, ClientError> {
        #[derive(Deserialize)]
        struct Answer {
            response: String,
        }
        let answer: Answer = self.ask(Method::GET, "/agent_final_response", None).await?;
        Ok(answer.response)
    }

    /// Every event so far.
    pub async fn events(&self) -> Result<Vec<Event>, ClientError> {
        #[derive(Deserialize)]
        struct Page {
            items: Vec<Event>,
            next_page_id: Option<String>,
        }
        let mut events = Vec::new();
        let mut path = "/events/search?limit=100".to_owned();
        loop {
            let page: Page = self.ask(Method::GET, &path, None).await?;
            events.extend(page.items);
            match page.next_page_id {
                Some(next) => path = format!("/events/search?limit=100&page_id={next}"),
                None => return Ok(events),
            }
        }
    }

    /// What happens from now on: events, the state, pieces of replies. A connection that breaks off is made again,
    /// and no event is missed or told twice.
    pub fn follow(&self) -> BoxStream<'static, Result<SessionFrame, ClientError>> {
        frames::follow(self.client.clone(), self.id, None)
    }

    /// The same, with every event before; those up to `known` are left out.
    pub fn replay(&self, known: Option<Seq>) -> BoxStream<'static, Result<SessionFrame, ClientError>> {
        let position = known.map_or(frames::BEGINNING, |seq| i64::try_from(seq.0).unwrap_or(i64::MAX));
        frames::follow(self.client.clone(), self.id, Some(position))
    }

    /// Waits until it no longer runs, and says how it ended. Has no limit: put one around it.
    pub async fn settled(&self) -> Result<Status, ClientError> {
        let mut frames = self.follow();
        while let Some(frame) = frames.next().await {
            match status(&frame?) {
                None | Some(Status::Running) => {}
                Some(settled) => return Ok(settled),
            }
        }
        Err(ClientError::NotFound(self.id))
    }

    async fn change(&self, path: &str, body: Value) -> Result<(), ClientError> {
        self.ask::<Value>(Method::POST, path, Some(body)).await.map(drop)
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<T, ClientError> {
        let path = format!("/api/conversations/{}{path}", self.id);
        self.client.ask(method, &path, body).await.map_err(of(self.id))
    }
}

/// What a frame says of the whole state.
fn status(frame: &SessionFrame) -> Option<Status> {
    let SessionFrame::Transient { event } = frame else {
        return None;
    };
    match &event.body {
        EventBody::StateUpdate(update) if update.key == "full_state" => {
            Status::deserialize(update.value.get("execution_status")?).ok()
        }
        _ => None,
    }
}
