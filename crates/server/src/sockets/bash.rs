//! The socket that tells what happens to commands, and takes more of them.

use std::time::SystemTime;

use axum::extract::ws::Message;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use deft_types::{BashError, BashEvent, Extra};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Knock, Line, MAY_NOT, PING_EVERY, SEND_LIMIT, code, is_auth, pings};
use crate::app::App;
use crate::bash::BashRequest;
use crate::info::utc;

/// Opens it.
pub(crate) async fn open(knock: Knock) -> Response {
    let resend = match knock.query.get("resend_mode") {
        Some("all") => true,
        Some(_) => return StatusCode::FORBIDDEN.into_response(),
        None => knock.query.is_set("resend_all"),
    };
    knock
        .enter(move |app, line| async move {
            tell(&app, line, resend).await;
        })
        .await
}

async fn tell(app: &App, mut line: Line, resend: bool) {
    if !line.may_write() {
        return line.close(code::UNAUTHORIZED, MAY_NOT).await; // commands are beyond conversations
    }
    let history = match app.bash.history(None).await {
        Ok(history) => history,
        Err(error) => {
            tracing::warn!(%error, "what commands did cannot be read");
            return line
                .close(code::TRY_AGAIN_LATER, "The history cannot be read; connect again")
                .await;
        }
    };
    let (past, mut news) = history.follow();
    if resend && !line.send_all(past.iter().map(text)).await {
        return;
    }
    let mut pings = pings();
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            () = app.bash.stopping.cancelled() => {
                return line.close(code::GOING_AWAY, "The server is stopping").await;
            }
            event = news.recv() => match event {
                Ok(event) => if !line.send_all([text(&event)]).await { return },
                Err(RecvError::Lagged(_)) => {
                    return line.close(code::TRY_AGAIN_LATER, "Too slow; connect again").await;
                }
                Err(RecvError::Closed) => return,
            },
            message = line.recv() => {
                heard = Instant::now();
                match message {
                    Some(Ok(Message::Text(sent))) => {
                        if let Some(complaint) = take(app, &sent).await
                            && !line.send_all([text(&complaint)]).await
                        {
                            return;
                        }
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                    Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => {}
                }
            }
            _ = pings.tick() => {
                if heard.elapsed() > PING_EVERY + SEND_LIMIT || !line.send(Message::Ping(bytes::Bytes::new())).await {
                    return;
                }
            }
        }
    }
}

fn text(event: &BashEvent) -> String {
    serde_json::to_string(event).unwrap_or_default()
}

/// Runs what a client sends, or says what is wrong with it.
async fn take(app: &App, sent: &str) -> Option<BashEvent> {
    let complaint = |code: &str, detail: String| {
        Some(BashEvent::from(BashError {
            id: Uuid::new_v4(),
            timestamp: utc(SystemTime::now()),
            code: code.to_owned(),
            detail,
            extra: Extra::new(),
        }))
    };
    let sent: Value = match serde_json::from_str(sent) {
        Ok(sent) => sent,
        Err(error) => return complaint("JSONDecodeError", error.to_string()),
    };
    if is_auth(&sent) {
        return None;
    }
    match BashRequest::read(&sent) {
        Ok(request) => match app.bash.start(app, None, request).await {
            Ok(_) => None,
            Err(failure) => complaint("BashError", failure.detail()),
        },
        Err(failure) => complaint("ValidationError", failure.detail()),
    }
}
