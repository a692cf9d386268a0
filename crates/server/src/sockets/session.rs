//! `/sockets/session/{conversation_id}`: events with their position, so that nothing is lost or doubled when a
//! client comes back.

use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use axum::response::Response;
use deft_types::SessionFrame;

use super::{Knock, Protocol};
use crate::app::App;
use crate::extract::ConversationPath;
use crate::feed::{Feed, Item};
use crate::frames::{Frame, Frames, ToolOutput};
use crate::resident::Resident;

/// The handler.
pub(crate) async fn handle(path: ConversationPath, knock: Knock) -> Response {
    let output = if knock.query.is_set("tool_output") {
        ToolOutput::Told
    } else {
        ToolOutput::LeftOut
    };
    let frames = match knock.query.get("after_seq").map(str::parse) {
        None => Some(Frames::new(None, output)),
        Some(Ok(after)) => Some(Frames::new(Some(after), output)),
        Some(Err(_)) => None,
    };
    let attends = knock.query.is_set("attends");
    let frames = frames.map(|frames| if attends { frames.with_questions() } else { frames });
    let alive = knock.alive();
    let protocol = frames.map(|frames| Session { frames, alive });
    knock.watch(path, protocol).await
}

/// The protocol of this socket.
pub(super) struct Session {
    pub(super) frames: Frames,
    pub(super) alive: Option<Utf8Bytes>,
}

impl Protocol for Session {
    async fn begin(&mut self, app: &App, resident: Arc<Resident>) -> Option<(Vec<Utf8Bytes>, Feed)> {
        let (frames, feed) = self.frames.begin(app, resident).await?;
        Some((texts(frames), feed))
    }

    fn frames(&mut self, feed: &Feed, item: Item) -> Vec<Utf8Bytes> {
        texts(self.frames.tell(feed, item))
    }

    fn attends(&self) -> bool {
        self.frames.tells_questions()
    }

    fn alive(&self) -> Option<Utf8Bytes> {
        self.alive.clone()
    }

    fn complaint(&self, code: &'static str, detail: &str) -> String {
        let error = SessionFrame::Error {
            code: code.to_owned(),
            detail: detail.to_owned(),
        };
        serde_json::to_string(&error).unwrap_or_default()
    }
}

fn texts(frames: Vec<Frame>) -> Vec<Utf8Bytes> {
    frames.into_iter().map(|frame| frame.text.into()).collect()
}
