//! One open socket.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use axum::http::StatusCode;
use futures::SinkExt as _;
use serde_json::Value;
use tokio::time::timeout;

use super::{SEND_LIMIT, code, is_auth};
use crate::accounts::KeyScope;
use crate::app::App;
use crate::extract::Peer;
use crate::security::{Caller, Verdict, Visit};

/// How long a client may take for the frame with its key.
const AUTH_LIMIT: Duration = Duration::from_secs(10);
/// How long a client may take to answer a close frame.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// A socket that gives up on a client that does not read, and ends with the key that has opened it.
pub(super) struct Line {
    pub(super) socket: WebSocket,
    pub(super) caller: Caller,
}

impl Line {
    /// The first frame must hold a key that is good for looking.
    pub(super) async fn authenticate(&mut self, app: &App, peer: Peer, visit: &Visit) -> Option<Caller> {
        let sent = self.first().await?;
        if !is_auth(&sent) {
            return None;
        }
        let key = sent["session_api_key"].as_str().unwrap_or_default();
        app.users.directory.look_for(key).await;
        match app.gate.check(peer.0.ip(), Some(key)) {
            Verdict::Welcome(caller) if may_look(&caller) => Some(caller),
            Verdict::Welcome(_) | Verdict::Unknown => {
                visit.refused(app, StatusCode::UNAUTHORIZED).await;
                None
            }
            Verdict::TooOften => None,
        }
    }

    /// The first frame, if it comes in time.
    pub(super) async fn first(&mut self) -> Option<Value> {
        match timeout(AUTH_LIMIT, self.socket.recv()).await {
            Ok(Some(Ok(Message::Text(text)))) => serde_json::from_str(&text).ok(),
            _ => None,
        }
    }

    pub(super) fn may_write(&self) -> bool {
        self.caller.scopes.contains(&KeyScope::Write)
    }

    /// What comes next. After the end of the key nothing does.
    pub(super) async fn recv(&mut self) -> Option<Result<Message, axum::Error>> {
        tokio::select! {
            message = self.socket.recv() => {
                if let Some(Ok(Message::Close(_))) = &message {
                    // The answer to it is ready, and only has to be sent: without one the client takes this for a break.
                    let _ = timeout(CLOSE_LIMIT, self.socket.flush()).await;
                }
                message
            }
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
    pub(super) async fn send_all(&mut self, frames: impl IntoIterator<Item = impl Into<Utf8Bytes>>) -> bool {
        let sending = async {
            for frame in frames {
                self.socket.feed(Message::Text(frame.into())).await?;
            }
            self.socket.flush().await
        };
        matches!(timeout(SEND_LIMIT, sending).await, Ok(Ok(())))
    }

    pub(super) async fn send(&mut self, message: Message) -> bool {
        matches!(timeout(SEND_LIMIT, self.socket.send(message)).await, Ok(Ok(())))
    }

    pub(super) async fn close(mut self, code: u16, reason: &'static str) {
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

/// Whether a key is good for looking.
pub(super) fn may_look(caller: &Caller) -> bool {
    caller.scopes.contains(&KeyScope::Read)
}
