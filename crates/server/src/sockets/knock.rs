//! Somebody who wants a socket: let in with a key, or refused before the upgrade.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::extract::ws::{Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::http::header::UPGRADE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};

use super::line::{Line, may_look};
use super::{ALIVE, Protocol, code, converse};
use crate::app::App;
use crate::extract::{ConversationPath, Peer, Query};
use crate::failure::Failure;
use crate::security::{Caller, KEY_HEADER, Verdict, Visit};

/// Sockets that are open at once.
const MAX_SOCKETS: usize = 8192;
/// The largest message a client may send.
const MAX_INBOUND: usize = 16 * 1024 * 1024;
/// How much is read at once. The library clears so many bytes before each look, and does not give them back.
const READ_AT_ONCE: usize = 8 * 1024;

/// See the module.
pub(crate) struct Knock {
    pub(super) app: Arc<App>,
    pub(super) query: Query,
    peer: Peer,
    /// The key in the query or the header.
    key: Option<String>,
    /// What is asked for, as the audit log says it.
    what: String,
    upgrade: WebSocketUpgrade,
}

impl FromRequestParts<Arc<App>> for Knock {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Response> {
        let peer = parts.extensions.get::<Peer>().copied();
        let peer = peer.ok_or_else(|| StatusCode::FORBIDDEN.into_response())?;
        let Ok(query) = Query::from_request_parts(parts, app).await;
        if !parts.headers.contains_key(UPGRADE) {
            return Err(Failure::not_found().into_response());
        }
        let upgrade = WebSocketUpgrade::from_request_parts(parts, app).await;
        let in_header = parts.headers.get(KEY_HEADER);
        let in_header = in_header.map(|key| key.to_str().unwrap_or_default());
        Ok(Self {
            app: Arc::clone(app),
            key: query.get("session_api_key").or(in_header).map(str::to_owned),
            query,
            peer,
            what: format!("{} {}", parts.method, parts.uri.path()),
            upgrade: upgrade.map_err(IntoResponse::into_response)?,
        })
    }
}

impl Knock {
    /// What says that the connection lives, to a client that asked for it.
    pub(super) fn alive(&self) -> Option<Utf8Bytes> {
        self.query.is_set("alive").then(|| Utf8Bytes::from_static(ALIVE))
    }

    /// Lets a client in who watches a conversation; one that asks for something else is refused.
    pub(super) async fn watch(self, path: ConversationPath, protocol: Option<impl Protocol>) -> Response {
        let (Ok(id), Some(protocol)) = (path.0, protocol) else {
            return StatusCode::FORBIDDEN.into_response();
        };
        self.enter(move |app, line| async move {
            converse(&app, id, line, protocol).await;
        })
        .await
    }

    /// Lets a client in who has a key that is good for looking, or shows one in its first frame.
    pub(super) async fn enter<F>(self, talk: impl FnOnce(Arc<App>, Line) -> F + Send + 'static) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let peer = self.peer;
        let visit = Visit {
            from: peer.0.ip(),
            what: self.what.clone(),
        };
        let verdict = self
            .key
            .as_deref()
            .map(|key| self.app.gate.check(visit.from, Some(key)));
        let caller = match verdict {
            None => None,
            Some(Verdict::Welcome(caller)) if caller.place == self.app.user && may_look(&caller) => {
                Some(caller)
            }
            Some(Verdict::TooOften) => return StatusCode::FORBIDDEN.into_response(),
            Some(Verdict::Welcome(_) | Verdict::Unknown) => {
                visit.refused(&self.app, StatusCode::FORBIDDEN).await;
                return StatusCode::FORBIDDEN.into_response();
            }
        };
        self.accept(MAX_INBOUND, move |app, socket| async move {
            let abandoned = app.users.abandoned.clone();
            let talked = async move {
                let mut line = Line {
                    socket,
                    caller: Caller::nobody(),
                };
                let known = match caller {
                    Some(caller) => Some(caller),
                    None => line.authenticate(&app, peer, &visit).await,
                };
                // Who shows a key only now has not been led home yet.
                let home = known.as_ref().and_then(|caller| app.at(caller.place));
                let (Some(caller), Some(home)) = (known, home) else {
                    return line.close(code::UNAUTHORIZED, "Authentication failed").await;
                };
                visit.opened(&home, &caller).await;
                line.caller = caller;
                talk(home, line).await;
            };
            abandoned.run_until_cancelled(talked).await;
        })
    }

    /// Lets anybody in, if there is room.
    pub(super) fn accept<F>(
        self,
        max_inbound: usize,
        talk: impl FnOnce(Arc<App>, WebSocket) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let sockets = self.app.sockets.clone();
        if sockets.len() >= MAX_SOCKETS {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        self.upgrade
            .max_message_size(max_inbound)
            .max_frame_size(max_inbound)
            .read_buffer_size(READ_AT_ONCE)
            .on_upgrade(move |socket| sockets.track_future(talk(self.app, socket)))
    }
}
