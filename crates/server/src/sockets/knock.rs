//! Somebody who wants a socket: let in with a key, or refused before the upgrade.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::http::header::UPGRADE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};

use super::line::Line;
use super::{Protocol, code, converse};
use crate::accounts::KeyScope;
use crate::app::App;
use crate::extract::{ConversationPath, Peer, Query};
use crate::failure::Failure;
use crate::security::{Caller, KEY_HEADER, Verdict};

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
            upgrade: upgrade.map_err(IntoResponse::into_response)?,
        })
    }
}

impl Knock {
    /// Lets a client in who watches a conversation; one that asks for something else is refused.
    pub(super) fn watch(self, path: ConversationPath, protocol: Option<impl Protocol>) -> Response {
        let (Ok(id), Some(protocol)) = (path.0, protocol) else {
            return StatusCode::FORBIDDEN.into_response();
        };
        self.enter(move |app, line| async move {
            converse(&app, id, line, protocol).await;
        })
    }

    /// Lets a client in who has a key or shows one in its first frame.
    pub(super) fn enter<F>(self, talk: impl FnOnce(Arc<App>, Line) -> F + Send + 'static) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let peer = self.peer;
        let verdict = self
            .key
            .as_deref()
            .map(|key| self.app.gate.check(peer.0.ip(), Some(key)));
        let caller = match verdict {
            None => None,
            Some(Verdict::Welcome(caller)) if caller.place == self.app.user => Some(caller),
            Some(_) => return StatusCode::FORBIDDEN.into_response(),
        };
        self.accept(MAX_INBOUND, move |app, socket| async move {
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
