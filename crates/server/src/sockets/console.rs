//! `/sockets/console/{conversation_id}?rows=N&columns=N`: a shell on a terminal of its own in the workspace, for a person.
//! Binary messages are what is typed and what is shown; a text `{"rows": N, "columns": N}` says that it has another size.
//! With `?alive=true` a text says now and then that the connection lives. The shell and all that it has started end with
//! the socket.

use std::pin::pin;

use axum::extract::ws::{Message, Utf8Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use deft_executor::{ConsoleInput, ConsoleSize, ConsoleStream, RequestError};
use deft_types::ConversationId;
use futures::StreamExt as _;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Knock, Line, MAY_NOT, code, pings};
use crate::app::App;
use crate::extract::{ConversationPath, Query};

/// What was typed and waits for the workspace.
const MAX_WAITING: usize = 8;
/// How large a console is where nobody says it.
const USUAL_SIZE: ConsoleSize = ConsoleSize {
    rows: 24,
    columns: 80,
};

/// The handler.
pub(crate) async fn handle(path: ConversationPath, knock: Knock) -> Response {
    let Ok(id) = path.0 else {
        return StatusCode::FORBIDDEN.into_response();
    };
    let size = asked_size(&knock.query);
    let alive = knock.alive();
    knock
        .enter(move |app, line| async move {
            if !line.may_write() {
                return line.close(code::UNAUTHORIZED, MAY_NOT).await;
            }
            match open(&app, id, size).await {
                Some(console) => converse(&app, line, console, alive).await,
                None => {
                    line.close(code::NOT_FOUND, "The workspace cannot be reached")
                        .await;
                }
            }
        })
        .await
}

async fn open(app: &App, id: ConversationId, size: ConsoleSize) -> Option<ConsoleStream> {
    let place = app.places.of_conversation(app, id).await.ok()?;
    let client = app.places.reach(app, &place).await.ok()?;
    client.open_console(size).await.ok()
}

/// Who has ended it.
enum Over {
    Client,
    Server,
    Shell,
}

async fn converse(app: &App, mut line: Line, mut console: ConsoleStream, alive: Option<Utf8Bytes>) {
    match carry(app, &mut line, &mut console, alive).await {
        Over::Client => return,
        Over::Server => return line.close(code::GOING_AWAY, "The server is stopping").await,
        Over::Shell => {}
    }
    match console.ended().await {
        Ok(_) => line.close(code::NORMAL, "The shell has ended").await,
        Err(RequestError::Busy { .. }) => {
            let reason = "Too many terminals are open in this workspace";
            line.close(code::TRY_AGAIN_LATER, reason).await;
        }
        Err(error) => {
            tracing::warn!(%error, "a terminal ended");
            line.close(code::SERVICE_RESTART, "The workspace has ended").await;
        }
    }
}

/// Carries what is typed and what is shown.
async fn carry(app: &App, line: &mut Line, console: &mut ConsoleStream, alive: Option<Utf8Bytes>) -> Over {
    let (keys, screen) = console.split();
    // What is half read is not lost when something else comes first.
    let mut shown = pin!(futures::stream::unfold(screen, |mut screen| async {
        let piece = screen.next().await?;
        Some((piece, screen))
    }));
    // A program that does not read holds up who types, but not what is shown.
    let (typing, typed) = mpsc::channel(MAX_WAITING);
    let entered = futures::stream::unfold((typed, keys), |(mut typed, keys)| async {
        keys.send(typed.recv().await?).await.ok()?;
        Some(((), (typed, keys)))
    });
    let mut entered = pin!(entered.fuse());
    let mut pings = pings();
    loop {
        let message = tokio::select! {
            piece = shown.next() => match piece {
                Some(piece) => Message::Binary(piece),
                None => return Over::Shell,
            },
            Some(()) = entered.next() => continue, // there is room for more
            said = line.recv(), if typing.capacity() > 0 => match said {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Over::Client,
                Some(Ok(said)) => {
                    app.activity.note();
                    if let Some(input) = input_of(said) {
                        let _ = typing.try_send(input); // there is room, unless the shell has ended
                    }
                    continue;
                }
            },
            _ = pings.tick() => {
                if !line.send_all(alive.clone()).await {
                    return Over::Client;
                }
                Message::Ping(Bytes::new())
            }
            () = app.bash.stopping.cancelled() => return Over::Server,
        };
        if !line.send(message).await {
            return Over::Client;
        }
    }
}

fn input_of(said: Message) -> Option<ConsoleInput> {
    match said {
        Message::Binary(keys) => Some(ConsoleInput::Keys(keys)),
        Message::Text(text) => size_of(&serde_json::from_str(&text).ok()?).map(ConsoleInput::Size),
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) => None,
    }
}

fn size_of(said: &Value) -> Option<ConsoleSize> {
    let number = |name: &str| u16::try_from(said[name].as_u64()?).ok();
    Some(ConsoleSize {
        rows: number("rows")?,
        columns: number("columns")?,
    })
}

fn asked_size(query: &Query) -> ConsoleSize {
    let number = |name: &str| query.get(name)?.parse().ok();
    ConsoleSize {
        rows: number("rows").unwrap_or(USUAL_SIZE.rows),
        columns: number("columns").unwrap_or(USUAL_SIZE.columns),
    }
}
