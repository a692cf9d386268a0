//! The sockets: who may open one, and how one is kept open.

pub(crate) mod bash;
pub(crate) mod browser;
pub(crate) mod console;
pub(crate) mod events;
pub(crate) mod executor;
mod knock;
mod line;
pub(crate) mod session;
pub(crate) mod shared;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, Utf8Bytes};
use deft_types::ConversationId;
use futures::FutureExt as _;
use serde_json::Value;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use uuid::Uuid;

pub(crate) use self::knock::Knock;
use self::line::Line;
use crate::app::App;
use crate::feed::{Feed, Item};
use crate::resident::{Farewell, Resident};

/// How often a client is asked whether it is there, and how long it may take for a frame or an answer.
const PING_EVERY: Duration = Duration::from_secs(20);
const SEND_LIMIT: Duration = Duration::from_secs(20);
/// What a client hears again and again that asked for it. The contract has no frame for it.
const ALIVE: &str = r#"{"type":"alive"}"#;
/// Watchers of one conversation.
const MAX_WATCHERS: usize = 1024;

/// What is sent at once to a client that has much to catch up with.
const BULK_FRAMES: usize = 256;
const BULK_BYTES: usize = 256 * 1024;

/// Close codes of the contract.
mod code {
    pub(super) const NORMAL: u16 = 1000;
    pub(super) const GOING_AWAY: u16 = 1001;
    pub(super) const SERVICE_RESTART: u16 = 1012;
    pub(super) const TRY_AGAIN_LATER: u16 = 1013;
    pub(super) const UNAUTHORIZED: u16 = 4001;
    pub(super) const NOT_FOUND: u16 = 4004;
}

/// What both kinds of socket do differently.
pub(crate) trait Protocol: Send + Sync + 'static {
    /// Greets a watcher, and says from where it is told what happens.
    fn begin(
        &mut self,
        app: &App,
        resident: Arc<Resident>,
    ) -> impl Future<Output = Option<(Vec<Utf8Bytes>, Feed)>> + Send;

    /// The frames for one thing to tell.
    fn frames(&mut self, feed: &Feed, item: Item) -> Vec<Utf8Bytes>;

    /// Whether its client shows questions to a person who can answer them.
    fn attends(&self) -> bool {
        false
    }

    /// What says that the connection lives, for clients that hear nothing of pings: programs in a browser.
    fn alive(&self) -> Option<Utf8Bytes> {
        None
    }

    /// The frame that says that a message could not be understood.
    fn complaint(&self, code: &'static str, detail: &str) -> String;
}

async fn converse(app: &App, id: ConversationId, mut line: Line, mut protocol: impl Protocol) {
    let Ok(resident) = app.conversations.resident(id).await else {
        return refuse(app, id, line).await;
    };
    if resident.listeners() >= MAX_WATCHERS {
        return line
            .close(
                code::TRY_AGAIN_LATER,
                "Too many connections for this conversation",
            )
            .await;
    }
    let Some((greeting, mut feed)) = protocol.begin(app, resident).await else {
        return refuse(app, id, line).await;
    };
    let _attendant = (protocol.attends() && line.may_write()).then(|| feed.resident.attendance.attend());
    if !line.send_all(greeting).await {
        return;
    }
    let mut pings = pings();
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            item = feed.next() => {
                let (frames, farewell) = bulk(&mut feed, &mut protocol, item);
                if !line.send_all(frames).await {
                    return;
                }
                if let Some(farewell) = farewell {
                    let (code, reason) = farewell.code();
                    return line.close(code, reason).await;
                }
            }
            message = line.recv() => {
                heard = Instant::now();
                match message {
                    Some(Ok(Message::Text(text))) if !line.may_write() => {
                        if !is_auth(&serde_json::from_str(&text).unwrap_or_default())
                            && !line.send_all([protocol.complaint("Forbidden", MAY_NOT)]).await
                        {
                            return;
                        }
                    }
                    Some(Ok(Message::Text(text))) => {
                        let answer = take(app, &feed.resident, &text, &protocol).await;
                        if !line.send_all(answer).await {
                            return;
                        }
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                    Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => {}
                }
            }
            _ = pings.tick() => {
                if heard.elapsed() > PING_EVERY + SEND_LIMIT {
                    return; // it is gone without a word
                }
                if !line.send(Message::Ping(bytes::Bytes::new())).await || !line.send_all(protocol.alive()).await {
                    return;
                }
            }
        }
    }
}

/// A conversation cannot be shown: only where there is none nobody needs to come back.
async fn refuse(app: &App, id: ConversationId, line: Line) {
    let (code, reason) = match app.conversations.catalog.find(id).await {
        Ok(None) => (code::NOT_FOUND, "Conversation not found"),
        Ok(Some(_)) | Err(_) => (code::TRY_AGAIN_LATER, "The conversation cannot be read just now"),
    };
    line.close(code, reason).await;
}

/// When to ask a client whether it is there.
fn pings() -> Interval {
    let mut pings = tokio::time::interval(PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pings
}

/// The frames of an item and of those that are there already behind it, as far as they fit: a history is not sent
/// one by one.
fn bulk(feed: &mut Feed, protocol: &mut impl Protocol, first: Item) -> (Vec<Utf8Bytes>, Option<Farewell>) {
    let (mut frames, mut bytes) = (Vec::new(), 0);
    let mut next = Some(first);
    while let Some(item) = next {
        if let Item::Farewell(farewell) = item {
            return (frames, Some(farewell));
        }
        for frame in protocol.frames(feed, item) {
            bytes += frame.len();
            frames.push(frame);
        }
        let is_full = frames.len() >= BULK_FRAMES || bytes >= BULK_BYTES;
        next = if is_full { None } else { feed.next().now_or_never() };
    }
    (frames, None)
}

/// A message of the user's runs the agent; anything else is answered with what is wrong with it.
async fn take(app: &App, resident: &Resident, text: &str, protocol: &impl Protocol) -> Option<String> {
    let sent: Value = match serde_json::from_str(text) {
        Ok(sent) => sent,
        Err(error) => return Some(protocol.complaint("JSONDecodeError", &error.to_string())),
    };
    if is_auth(&sent) {
        return None; // once more does no harm
    }
    if sent.get("role").is_none() {
        return Some(protocol.complaint("ValidationError", "a message needs a role: it is missing"));
    }
    let request = match crate::request::SendRequest::read(&sent) {
        Ok(request) => request,
        Err(failure) => return Some(protocol.complaint("ValidationError", &failure.detail())),
    };
    match app
        .conversations
        .send(resident, Uuid::new_v4().into(), request.message, true)
        .await
    {
        Ok(()) => None,
        Err(failure) => Some(protocol.complaint("ConversationError", &failure.detail())),
    }
}

fn is_auth(sent: &Value) -> bool {
    let fields = sent.as_object();
    sent["type"] == "auth"
        && fields.is_some_and(|fields| fields.keys().all(|key| key == "type" || key == "session_api_key"))
}

impl Farewell {
    fn code(self) -> (u16, &'static str) {
        match self {
            Self::Stopping => (code::GOING_AWAY, "The server is stopping"),
            Self::Deleted => (code::NORMAL, "The conversation was deleted"),
            Self::Reloaded => (code::SERVICE_RESTART, "The conversation is being loaded again"),
        }
    }
}

/// What somebody is told who may only look.
const MAY_NOT: &str = "this key is only good for looking";
