//! What happens in a conversation, as it happens: the sockets, and the same as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::Stream;
use std::convert::Infallible;

use crate::app::App;
use crate::extract::{Id, Query};
use crate::failure::Failure;
use crate::feed::{Feed, Item};
use crate::frames::{Frame, Frames, ToolOutput};
use crate::router::{Access, Route};
use crate::sockets;

/// How often a silent stream shows that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The header by which a browser says how far it has read.
const LAST_EVENT_ID: &str = "last-event-id";

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get(
            "/sockets/events/{conversation_id}",
            Access::Socket,
            sockets::events::handle,
        ),
        Route::get(
            "/sockets/session/{conversation_id}",
            Access::Socket,
            sockets::session::handle,
        ),
        Route::get(
            "/sockets/browser/{conversation_id}",
            Access::Socket,
            sockets::browser::handle,
        ),
        Route::get(
            "/sockets/console/{conversation_id}",
            Access::Socket,
            sockets::console::handle,
        ),
        Route::get(
            "/sockets/executor/{conversation_id}",
            Access::Socket,
            sockets::executor::handle,
        ),
        Route::get("/api/conversations/{conversation_id}/stream", Access::Key, stream),
    ]
}

/// The frames of the session socket. The id of each is its position: a client that comes back with it in
/// `Last-Event-ID` gets what it missed.
async fn stream(
    State(app): State<Arc<App>>,
    Id(id): Id,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let known = headers
        .get(LAST_EVENT_ID)
        .map(|id| id.to_str().unwrap_or_default())
        .or_else(|| query.get("after_seq"));
    let after = match known.map(str::parse) {
        None => None,
        Some(Ok(after)) => Some(after),
        Some(Err(_)) => {
            return Err(Failure::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "the position must be a number",
            ));
        }
    };
    let resident = app.conversations.resident(id).await?;
    let mut frames = Frames::new(after, ToolOutput::LeftOut);
    let (greeting, feed) = frames
        .begin(&app, resident)
        .await
        .ok_or_else(Failure::not_found)?;
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(told(greeting, frames, feed))
        .keep_alive(keep_alive)
        .into_response())
}

fn told(
    greeting: Vec<Frame>,
    mut frames: Frames,
    mut feed: Feed,
) -> impl Stream<Item = Result<SseEvent, Infallible>> {
    async_stream::stream! {
        for frame in greeting {
            yield Ok(event(frame));
        }
        loop {
            let item = feed.next().await;
            if matches!(item, Item::Farewell(_)) {
                return;
            }
            for frame in frames.tell(&feed, item) {
                yield Ok(event(frame));
            }
        }
    }
}

fn event(frame: Frame) -> SseEvent {
    let event = SseEvent::default().data(frame.text);
    match frame.seq {
        Some(seq) => event.id(seq.to_string()),
        None => event,
    }
}
