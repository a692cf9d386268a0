//! `/sockets/session/{conversation_id}`: events with their position, so that nothing is lost or doubled when a
//! client comes back.

use std::sync::Arc;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::Response;
use deft_types::SessionFrame;

use super::Protocol;
use crate::app::App;
use crate::extract::{ConversationPath, Peer, Query};
use crate::feed::{Feed, Item};
use crate::frames::{Frame, Frames, ToolOutput};
use crate::resident::Resident;

/// The handler.
pub(crate) async fn handle(
    State(app): State<Arc<App>>,
    Extension(peer): Extension<Peer>,
    path: ConversationPath,
    query: Query,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let output = if query.is_set("tool_output") {
        ToolOutput::Told
    } else {
        ToolOutput::LeftOut
    };
    let protocol = match query.get("after_seq").map(str::parse) {
        None => Some(Session(Frames::new(None, output))),
        Some(Ok(after)) => Some(Session(Frames::new(Some(after), output))),
        Some(Err(_)) => None,
    };
    super::open(app, peer, &headers, &query, path.0, upgrade, protocol)
}

/// The protocol of this socket.
pub(super) struct Session(pub(super) Frames);

impl Protocol for Session {
    async fn begin(&mut self, app: &App, resident: Arc<Resident>) -> Option<(Vec<String>, Feed)> {
        let (frames, feed) = self.0.begin(app, resident).await?;
        Some((texts(frames), feed))
    }

    fn frames(&mut self, feed: &Feed, item: Item) -> Vec<String> {
        texts(self.0.tell(feed, item))
    }

    fn complaint(&self, code: &'static str, detail: &str) -> String {
        let error = SessionFrame::Error {
            code: code.to_owned(),
            detail: detail.to_owned(),
        };
        serde_json::to_string(&error).unwrap_or_default()
    }
}

fn texts(frames: Vec<Frame>) -> Vec<String> {
    frames.into_iter().map(|frame| frame.text).collect()
}
