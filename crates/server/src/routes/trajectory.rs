//! A whole conversation as an archive to keep.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use deft_types::{ConversationId, Seq};
use serde_json::Value;
use uuid::Uuid;

use super::files::attachment;
use crate::app::App;
use crate::extract::Name;
use crate::failure::Failure;
use crate::info::Skills;
use crate::router::{Access, Route};
use crate::validation::Issue;
use crate::wire::Wire;
use crate::zip::Zip;

/// Events read at once.
const PAGE: usize = 200;

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get(
            "/api/file/download-trajectory/{trajectory_id}",
            Access::Key,
            download,
        ),
        Route::get(
            "/api/conversations/{conversation_id}/file/download-trajectory/{trajectory_id}",
            Access::Key,
            download,
        ),
    ]
}

async fn download(State(app): State<Arc<App>>, Name(name): Name) -> Result<Response, Failure> {
    let id = Uuid::parse_str(&name)
        .map_err(|error| Issue::bad_uuid(&["path", "conversation_id"], &name, &error))?;
    let id = ConversationId(id);
    let described = app.conversations.catalog.find(id).await?;
    let described = described.ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, "Conversation not found"))?;
    let wire = Wire::new(&described.agent);
    let info = described.info(Skills::Included);
    let store = Arc::clone(&app.conversations.catalog.store);
    let body = Body::from_stream(async_stream::stream! {
        let mut zip = Zip::default();
        let folder = id.hex();
        yield Ok(zip.file(&format!("{folder}/meta.json"), pretty(&info).as_bytes()));
        let mut from = Seq::FIRST;
        loop {
            let page = match store.read(id, from, PAGE).await {
                Ok(page) => page,
                Err(error) => {
                    yield Err(error);
                    return;
                }
            };
            let Some((last, _)) = page.last() else {
                break;
            };
            from = last.next();
            for (seq, event) in &page {
                if let Some(text) = wire.text(event) {
                    let name = format!("{folder}/events/event-{:05}-{}.json", seq.0, event.id);
                    yield Ok(zip.file(&name, text.as_bytes()));
                }
            }
        }
        yield Ok(zip.end());
    });
    Ok(attachment(
        &format!("{}.zip", id.hex()),
        "application/octet-stream",
        body,
    ))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
