//! `/sockets/executor/{conversation_id}`: the frames of an executor, for a conversation of another Deft that has its
//! workspace here. Bytes go in binary messages; a text is the reason why there is no executor, or why it stays.

use std::path::PathBuf;

use axum::extract::ws::Message;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use deft_types::ConversationId;
use deft_workspace::Stream;
use futures::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::{Knock, Line, PING_EVERY, SEND_LIMIT, code};
use crate::app::App;
use crate::extract::ConversationPath;

/// The most that is sent in one message.
const PIECE_BYTES: usize = 64 * 1024;

/// Which executor is asked for.
struct Wanted {
    id: ConversationId,
    root: PathBuf,
    wish: Wish,
}

/// What is to be done with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// Join it; start it first if it does not run.
    Open,
    /// Join it if it runs.
    Find,
    /// End it, with all that was kept for it: its conversation is deleted.
    Forget,
}

/// The handler.
pub(crate) async fn handle(path: ConversationPath, knock: Knock) -> Response {
    let Ok(id) = path.0 else {
        return StatusCode::FORBIDDEN.into_response();
    };
    let directory = knock.query.get("directory").unwrap_or_default();
    let wanted = Wanted {
        id,
        root: knock.app.places.current_dir.join(directory),
        wish: if knock.query.is_set("forget") {
            Wish::Forget
        } else if knock.query.is_set("find") {
            Wish::Find
        } else {
            Wish::Open
        },
    };
    knock
        .enter(move |app, mut line| async move {
            // An executor reaches what whoever runs the server lets agents reach, in any directory.
            if app.for_all().is_err() || !line.may_write() {
                return line
                    .close(code::UNAUTHORIZED, "Your key does not open executors")
                    .await;
            }
            if wanted.is_of_another(&app).await {
                return line.close(code::NOT_FOUND, "Conversation not found").await;
            }
            match wanted.stream(&app).await {
                Ok(Some(stream)) => carry(&app, line, stream).await,
                Ok(None) if wanted.wish == Wish::Forget => line.close(code::NORMAL, "It is gone").await,
                Ok(None) => line.close(code::NOT_FOUND, "No executor runs").await,
                // A close frame has no room for a sentence.
                Err(reason) => {
                    if line.send(Message::text(reason)).await {
                        line.close(code::NOT_FOUND, "The workspace cannot be opened")
                            .await;
                    }
                }
            }
        })
        .await
}

impl Wanted {
    /// Whether it is the executor of another user's conversation here, which has their secrets.
    async fn is_of_another(&self, app: &App) -> bool {
        let of_anybody = app.users.store.conversation(self.id).await;
        !matches!(of_anybody, Ok(None)) && app.conversations.catalog.get(self.id).await.is_err()
    }

    /// The executor, or why there is none.
    async fn stream(&self, app: &App) -> Result<Option<Box<dyn Stream>>, String> {
        app.activity.note();
        if self.wish == Wish::Forget {
            let forgotten = app
                .conversations
                .forget_foreign(self.id, app.users.store.as_ref())
                .await;
            return forgotten.map(|()| None).map_err(|failure| failure.detail());
        }
        let workspace = app.conversations.workspace(self.id, &self.root);
        let workspace = workspace.map_err(|failure| failure.detail())?;
        if self.wish == Wish::Find {
            return Ok(workspace.find().await);
        }
        workspace
            .open()
            .await
            .map(Some)
            .map_err(|error| error.to_string())
    }
}

async fn carry(app: &App, line: Line, executor: Box<dyn Stream>) {
    let Line { socket, caller } = line;
    let (mut sink, mut messages) = socket.split();
    let (mut from_executor, mut to_executor) = tokio::io::split(executor);
    let up = async {
        while let Some(Ok(message)) = messages.next().await {
            match message {
                Message::Binary(bytes) => {
                    if to_executor.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Message::Close(_) => return,
                Message::Text(_) | Message::Ping(_) | Message::Pong(_) => {}
            }
        }
    };
    let down = async {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let message = match timeout(PING_EVERY, from_executor.read(&mut piece)).await {
                Ok(Ok(0) | Err(_)) => return,
                Ok(Ok(count)) => Message::Binary(Bytes::copy_from_slice(&piece[..count])),
                Err(_) => Message::Ping(Bytes::new()),
            };
            if !matches!(timeout(SEND_LIMIT, sink.send(message)).await, Ok(Ok(()))) {
                return;
            }
        }
    };
    tokio::select! {
        () = caller.gone.cancelled() => {} // the key was revoked
        () = up => {}
        () = down => {}
        () = app.bash.stopping.cancelled() => {}
    }
    let _ = timeout(SEND_LIMIT, sink.send(Message::Close(None))).await;
}
