//! The sockets: who may open one, and how one is kept open.

pub(crate) mod bash;
pub(crate) mod browser;
pub(crate) mod events;
pub(crate) mod executor;
pub(crate) mod session;
pub(crate) mod shared;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use deft_types::ConversationId;
use futures::{FutureExt as _, SinkExt as _};
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, timeout};
use uuid::Uuid;

use crate::accounts::KeyScope;
use crate::app::App;
use crate::extract::{Peer, Query};
use crate::feed::{Feed, Item};
use crate::resident::{Farewell, Resident};
use crate::security::{Caller, Verdict};

/// The largest message a client may send.
const MAX_INBOUND: usize = 16 * 1024 * 1024;
/// How long a client may take for the frame with its key.
const AUTH_LIMIT: Duration = Duration::from_secs(10);
/// How often a client is asked whether it is there, and how long it may take for a frame or an answer.
const PING_EVERY: Duration = Duration::from_secs(20);
const SEND_LIMIT: Duration = Duration::from_secs(20);
/// Sockets that are open at once, and watchers of one conversation.
const MAX_SOCKETS: usize = 8192;
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
    ) -> impl Future<Output = Option<(Vec<String>, Feed)>> + Send;

    /// The frames for one thing to tell.
    fn frames(&mut self, feed: &Feed, item: Item) -> Vec<String>;

    /// The frame that says that a message could not be understood.
    fn complaint(&self, code: &'static str, detail: &str) -> String;
}

/// Lets a client in who watches a conversation, or refuses it before the upgrade.
pub(crate) fn open(
    app: Arc<App>,
    peer: Peer,
    headers: &HeaderMap,
    query: &Query,
    id: Result<ConversationId, crate::validation::Issue>,
    upgrade: WebSocketUpgrade,
    protocol: Option<impl Protocol>,
) -> Response {
    let (Ok(id), Some(protocol)) = (id, protocol) else {
        return StatusCode::FORBIDDEN.into_response();
    };
    enter(app, peer, headers, query, upgrade, move |app, line| async move {
        converse(&app, id, line, protocol).await;
    })
}

/// Lets a client in who has a key or shows one in its first frame.
fn enter<F>(
    app: Arc<App>,
    peer: Peer,
    headers: &HeaderMap,
    query: &Query,
    upgrade: WebSocketUpgrade,
    talk: impl FnOnce(Arc<App>, Line) -> F + Send + 'static,
) -> Response
where
    F: Future<Output = ()> + Send,
{
    let in_header = headers
        .get(crate::security::KEY_HEADER)
        .map(|key| key.to_str().unwrap_or_default());
    let given = query.get("session_api_key").or(in_header);
    let caller = match given.map(|key| app.gate.check(peer.0.ip(), Some(key))) {
        None => None,
        Some(Verdict::Welcome(caller)) if caller.place == app.user => Some(caller),
        Some(_) => return StatusCode::FORBIDDEN.into_response(),
    };
    let sockets = app.sockets.clone();
    if sockets.len() >= MAX_SOCKETS {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    upgrade
        .max_message_size(MAX_INBOUND)
        .max_frame_size(MAX_INBOUND)
        .on_upgrade(move |socket| {
            let abandoned = app.users.abandoned.clone();
            let talked = async move {
                let mut line = Line {
                    socket,
                    caller: caller.unwrap_or_else(Caller::nobody),
                };
                if !line.caller.scopes.contains(&KeyScope::Read) {
                    match line.authenticate(&app, peer).await {
                        Some(caller) => line.caller = caller,
                        None => return line.close(code::UNAUTHORIZED, "Authentication failed").await,
                    }
                }
                // Who shows a key only now has not been led home yet.
                let home = line.caller.place.and_then(|user| app.users.home(user));
                talk(home.map_or(app, |home| home.app), line).await;
            };
            sockets.track_future(async move {
                abandoned.run_until_cancelled(talked).await;
            })
        })
}

async fn converse(app: &App, id: ConversationId, mut line: Line, mut protocol: impl Protocol) {
    let Ok(resident) = app.conversations.resident(id).await else {
        return line.close(code::NOT_FOUND, "Conversation not found").await;
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
        return line.close(code::NOT_FOUND, "Conversation not found").await;
    };
    if !line.send_all(greeting).await {
        return;
    }
    let mut pings = tokio::time::interval(PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
                if !line.send(Message::Ping(bytes::Bytes::new())).await {
                    return;
                }
            }
        }
    }
}

/// The frames of an item and of those that are there already behind it, as far as they fit: a history is not sent
/// one by one.
fn bulk(feed: &mut Feed, protocol: &mut impl Protocol, first: Item) -> (Vec<String>, Option<Farewell>) {
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

/// A socket that gives up on a client that does not read, and ends with the key that has opened it.
struct Line {
    socket: WebSocket,
    caller: Caller,
}

impl Line {
    /// The first frame must hold the key.
    async fn authenticate(&mut self, app: &App, peer: Peer) -> Option<Caller> {
        let sent = self.first().await?;
        if !is_auth(&sent) {
            return None;
        }
        let key = sent["session_api_key"].as_str().unwrap_or_default();
        app.users.directory.look_for(key).await;
        match app.gate.check(peer.0.ip(), Some(key)) {
            Verdict::Welcome(caller) => Some(caller),
            Verdict::Unknown | Verdict::TooOften => None,
        }
    }

    /// The first frame, if it comes in time.
    async fn first(&mut self) -> Option<Value> {
        match timeout(AUTH_LIMIT, self.socket.recv()).await {
            Ok(Some(Ok(Message::Text(text)))) => serde_json::from_str(&text).ok(),
            _ => None,
        }
    }

    fn may_write(&self) -> bool {
        self.caller.scopes.contains(&KeyScope::Write)
    }

    /// What comes next. After the end of the key nothing does.
    async fn recv(&mut self) -> Option<Result<Message, axum::Error>> {
        tokio::select! {
            message = self.socket.recv() => message,
            () = self.caller.gone.cancelled() => {
                let frame = CloseFrame {
                    code: code::UNAUTHORIZED,
                    reason: "The key was revoked".into(),
                };
                self.send(Message::Close(Some(frame))).await;
                None
            }
        }
    }

    /// False: it is gone.
    async fn send_all(&mut self, frames: impl IntoIterator<Item = String>) -> bool {
        let sending = async {
            for frame in frames {
                self.socket.feed(Message::text(frame)).await?;
            }
            self.socket.flush().await
        };
        matches!(timeout(SEND_LIMIT, sending).await, Ok(Ok(())))
    }

    async fn send(&mut self, message: Message) -> bool {
        matches!(timeout(SEND_LIMIT, self.socket.send(message)).await, Ok(Ok(())))
    }

    async fn close(mut self, code: u16, reason: &'static str) {
        let frame = CloseFrame {
            code,
            reason: reason.into(),
        };
        if !self.send(Message::Close(Some(frame))).await {
            return;
        }
        // The client's own close frame ends it properly; one that sends none is not waited for.
        let closed = async { while let Some(Ok(_)) = self.socket.recv().await {} };
        let _ = timeout(CLOSE_LIMIT, closed).await;
    }
}

/// How long a client may take to answer a close frame.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);
