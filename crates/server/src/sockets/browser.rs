//! `/sockets/browser/{conversation_id}`: what the agent's browser shows, picture by picture (JPEG), in binary messages. An
//! empty one says that there is nothing to see. With `?alive=true` a text says now and then that the connection lives.
//! Nothing of it is kept.

use std::pin::pin;

use axum::extract::ws::{Message, Utf8Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use deft_executor::{Client, Pictures};
use deft_types::ConversationId;
use futures::StreamExt as _;

use super::{Knock, Line, code, pings};
use crate::app::App;
use crate::extract::ConversationPath;

/// The handler.
pub(crate) async fn handle(path: ConversationPath, knock: Knock) -> Response {
    let Ok(id) = path.0 else {
        return StatusCode::FORBIDDEN.into_response();
    };
    let alive = knock.alive();
    knock
        .enter(move |app, line| async move {
            match watch(&app, id).await {
                Some(pictures) => show(&app, line, pictures, alive).await,
                None => line.close(code::NOT_FOUND, "No workspace runs").await,
            }
        })
        .await
}

/// A workspace that does not run is not started for this: its browser does not run either.
async fn watch(app: &App, id: ConversationId) -> Option<Pictures> {
    let site = app.places.of_conversation(app, id).await.ok()?;
    let stream = app.places.find(app, &site).await.ok()??;
    Client::connect(stream).await.ok()?.watch_browser().await.ok()
}

async fn show(app: &App, mut line: Line, pictures: Pictures, alive: Option<Utf8Bytes>) {
    // What is half read is not lost when something else comes first.
    let mut pictures = pin!(futures::stream::unfold(pictures, |mut pictures| async {
        let picture = pictures.next().await.ok()?;
        Some((picture, pictures))
    }));
    let mut pings = pings();
    loop {
        let message = tokio::select! {
            picture = pictures.next() => match picture {
                Some(picture) => Message::Binary(picture),
                None => return line.close(code::SERVICE_RESTART, "The workspace has ended").await,
            },
            said = line.recv() => match said {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue, // there is nothing to say here
            },
            _ = pings.tick() => {
                if !line.send_all(alive.clone()).await {
                    return;
                }
                Message::Ping(Bytes::new())
            }
            () = app.bash.stopping.cancelled() => {
                return line.close(code::GOING_AWAY, "The server is stopping").await;
            }
        };
        if !line.send(message).await {
            return;
        }
    }
}
