//! `/sockets/events/{conversation_id}`: plain events, as the contract's clients expect them.

use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use axum::response::Response;
use deft_engine::Live;
use deft_types::{DeltaKind, Extra, Seq, ServerErrorEvent, StreamingDeltaEvent, Timestamp};

use super::{Knock, Protocol};
use crate::app::App;
use crate::extract::{ConversationPath, Query};
use crate::feed::{Feed, Item};
use crate::info::{Snapshot, transient};
use crate::moment;
use crate::resident::{Audience, Resident};

/// The handler.
pub(crate) async fn handle(path: ConversationPath, knock: Knock) -> Response {
    let protocol = Events::asked(&knock.query);
    knock.watch(path, protocol).await
}

/// Which part of the history a client wants.
enum Resend {
    Nothing,
    All,
    Since(Timestamp),
}

impl Resend {
    /// None where the query cannot be understood.
    fn asked(query: &Query) -> Option<Self> {
        let since = match query.get("after_timestamp") {
            Some(text) => Some(moment::read(text)?),
            None => None,
        };
        match query.get("resend_mode") {
            Some("all") => Some(Self::All),
            Some("since") => Some(since.map_or(Self::Nothing, Self::Since)),
            Some(_) => None,
            None if query.is_set("resend_all") => Some(Self::All),
            None => Some(Self::Nothing),
        }
    }
}

/// The protocol of this socket.
struct Events {
    resend: Resend,
    /// The last event that was there at the beginning.
    history: Option<Seq>,
}

impl Events {
    /// None where the query cannot be understood.
    fn asked(query: &Query) -> Option<Self> {
        Some(Self {
            resend: Resend::asked(query)?,
            history: None,
        })
    }
}

impl Protocol for Events {
    async fn begin(&mut self, app: &App, resident: Arc<Resident>) -> Option<(Vec<Utf8Bytes>, Feed)> {
        let catalog = &app.conversations.catalog;
        let state: Snapshot = catalog.snapshot(resident.id).await.ok()?;
        self.history = state.after;
        let after = match self.resend {
            Resend::Nothing => state.after,
            Resend::All | Resend::Since(_) => None,
        };
        let feed = Feed::new(resident, Arc::clone(catalog), after, None);
        Some((vec![state.text], feed))
    }

    fn frames(&mut self, feed: &Feed, item: Item) -> Vec<Utf8Bytes> {
        let frame = match item {
            Item::Event(seq, event) => {
                let is_old = Some(seq) <= self.history;
                match &self.resend {
                    Resend::Since(since) if is_old && event.timestamp < *since => None,
                    _ if is_old => feed.resident.wire().text(&event).map(Utf8Bytes::from),
                    _ => feed.resident.wire().shared_text(&event),
                }
            }
            Item::State(state, Audience::Everybody) => Some(state.text.clone()),
            Item::Live(piece) if feed.resident.streams() => delta(&piece).map(Utf8Bytes::from),
            Item::State(_, Audience::OwnFrames) | Item::Live(_) | Item::Farewell(_) => None,
        };
        frame.into_iter().collect()
    }

    fn complaint(&self, code: &'static str, detail: &str) -> String {
        transient(ServerErrorEvent {
            code: code.to_owned(),
            detail: detail.to_owned(),
            extra: Extra::new(),
        })
    }
}

/// A piece of a reply as an event that is not stored.
fn delta(piece: &Live) -> Option<String> {
    let Live::Delta { kind, text, .. } = piece else {
        return None;
    };
    let mut event = StreamingDeltaEvent::default();
    match kind {
        DeltaKind::Text => event.content = Some(text.clone()),
        DeltaKind::Reasoning => event.reasoning_content = Some(text.clone()),
    }
    Some(transient(event))
}
