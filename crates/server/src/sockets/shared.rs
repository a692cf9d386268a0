//! `/sockets/shared`: what happens in a conversation, for whoever has a link to it. They can only look.

use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::session::Session;
use super::{ALIVE, Knock, Line, Protocol, code, converse};
use crate::app::App;
use crate::feed::{Feed, Item};
use crate::frames::{Frames, ToolOutput};
use crate::guest::{self, Guest};
use crate::resident::Resident;
use crate::security::Caller;

/// The largest message of a guest, who has nothing to say but what the link holds.
const MAX_INBOUND: usize = 4096;
/// Watchers of one conversation beyond which no guest is let in: there must be room for its owner.
const MAX_WATCHERS: usize = 512;

/// The handler. What the link holds comes with the first frame.
pub(crate) async fn handle(knock: Knock) -> Response {
    let Ok(after) = knock.query.get("after_seq").map(str::parse).transpose() else {
        return StatusCode::FORBIDDEN.into_response();
    };
    knock.accept(MAX_INBOUND, move |app, socket| async move {
        let mut line = Line {
            socket,
            caller: Caller::guest(),
        };
        let protocol = Shown(Session {
            frames: Frames::new(after, ToolOutput::Told),
            alive: Some(Utf8Bytes::from_static(ALIVE)),
        });
        match line.invited(&app).await {
            Some(guest) => show(guest, line, protocol).await,
            None => line.close(code::UNAUTHORIZED, "This link opens nothing").await,
        }
    })
}

async fn show(guest: Guest, line: Line, protocol: Shown) {
    let id = guest.share.conversation;
    let resident = guest.app.conversations.resident(id).await;
    if resident.is_ok_and(|resident| resident.listeners() >= MAX_WATCHERS) {
        return line.close(code::TRY_AGAIN_LATER, "Too many look at this").await;
    }
    let gone = line.caller.gone.clone();
    let ended = async {
        guest.ended().await;
        gone.cancel(); // which closes the line with a word
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = converse(&guest.app, id, line, protocol) => {}
        () = ended => {}
    }
}

impl Line {
    /// The first frame must hold what the link holds.
    async fn invited(&mut self, app: &Arc<App>) -> Option<Guest> {
        let sent = self.first().await?;
        let token = sent["share_token"].as_str().filter(|_| sent["type"] == "auth")?;
        Guest::admit(app, token).await.ok()
    }
}

/// The session protocol without what is not for guests.
struct Shown(Session);

impl Protocol for Shown {
    async fn begin(&mut self, app: &App, resident: Arc<Resident>) -> Option<(Vec<Utf8Bytes>, Feed)> {
        let (frames, feed) = self.0.begin(app, resident).await?;
        Some((shown(frames), feed))
    }

    fn frames(&mut self, feed: &Feed, item: Item) -> Vec<Utf8Bytes> {
        shown(self.0.frames(feed, item))
    }

    fn alive(&self) -> Option<Utf8Bytes> {
        self.0.alive()
    }

    fn complaint(&self, code: &'static str, detail: &str) -> String {
        self.0.complaint(code, detail)
    }
}

fn shown(frames: Vec<Utf8Bytes>) -> Vec<Utf8Bytes> {
    let frame = |text: Utf8Bytes| {
        let mut frame: Value = serde_json::from_str(&text).ok()?;
        let Some(event) = frame.get_mut("event") else {
            return Some(text);
        };
        *event = guest::shown(event.take())?;
        Some(frame.to_string().into())
    };
    frames.into_iter().filter_map(frame).collect()
}
