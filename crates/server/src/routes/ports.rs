//! Ports that programs of a workspace serve: which there are, and how a browser sees one.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::header::ORIGIN;
use axum::http::{HeaderMap, StatusCode};
use deft_executor::{Client, ListeningPort};
use deft_types::ConversationId;
use serde_json::{Value, json};

use super::files::refused;
use crate::app::App;
use crate::extract::{Id, Name};
use crate::failure::Failure;
use crate::router::{Access, Route};
use crate::security::Caller;

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/conversations/{conversation_id}/ports", Access::Key, list),
        Route::post("/api/conversations/{conversation_id}/ports/{port}", open),
    ]
}

async fn list(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    Ok(Json(json!({ "ports": ports(&app, id).await? })))
}

/// A workspace that nobody has used yet has none, and is not started to find that out.
async fn ports(app: &App, id: ConversationId) -> Result<Vec<ListeningPort>, Failure> {
    let site = app.places.of_conversation(app, id).await?;
    let Some(stream) = app.places.find(app, &site).await? else {
        return Ok(Vec::new());
    };
    let Ok(client) = Client::connect(stream).await else {
        return Ok(Vec::new()); // it has just ended
    };
    client.ports().await.map_err(|error| refused(&error))
}

/// The address is good once, within a minute. Only what a program of the workspace serves can be opened: beside it, on
/// the same machine, there may be what is none of its business.
async fn open(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id,
    Name(port): Name,
    headers: HeaderMap,
) -> Result<Json<Value>, Failure> {
    let served = ports(&app, id).await?;
    let served = served.iter().find(|served| port == served.port.to_string());
    let Some(served) = served else {
        let sentence = format!("No program of the workspace serves port {port}; start one first");
        return Err(Failure::new(StatusCode::NOT_FOUND, sentence));
    };
    let page = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    let previews = &app.users.previews;
    let url = previews.open(caller, id, served.port, page.map(str::to_owned))?;
    Ok(Json(json!({ "url": url })))
}
