//! A log from its end: what an app shows first, and what it shows when somebody looks back.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use deft_engine::OWN_KEYS;
use deft_store::{Direction, EventFilter};
use deft_types::{ConversationId, Seq};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::app::App;
use crate::extract::{Id, Query};
use crate::failure::Failure;
use crate::router::{Access, Route};
use crate::wire::{Wire, before_circle};

pub(crate) fn table() -> Vec<Route> {
    vec![Route::get(
        "/api/conversations/{conversation_id}/history",
        Access::Key,
        history,
    )]
}

#[derive(Serialize)]
pub(super) struct Page {
    /// The oldest first.
    pub(super) items: Vec<Item>,
    /// What to ask for to get the page before this one.
    before_seq: Option<Seq>,
}

#[derive(Serialize)]
pub(super) struct Item {
    seq: Seq,
    pub(super) event: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before_circle: Option<String>,
}

async fn history(State(app): State<Arc<App>>, Id(id): Id, query: Query) -> Result<Json<Page>, Failure> {
    Ok(Json(page(&app, id, &query).await?))
}

/// The last events before a position, or the last of all. Followed from the last position of it on, nothing is missed.
pub(super) async fn page(app: &App, id: ConversationId, query: &Query) -> Result<Page, Failure> {
    let limit = query.limit()?;
    let catalog = &app.conversations.catalog;
    let described = catalog.get(id).await?;
    let number = |text: &str| text.parse::<u64>().ok();
    let refused = || Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "the position must be a number");
    let before = query
        .get("before_seq")
        .map(|text| number(text).ok_or_else(refused))
        .transpose()?;
    let first = match before {
        Some(0) => {
            return Ok(Page {
                items: Vec::new(),
                before_seq: None,
            });
        }
        Some(before) => Some(Seq(before - 1)),
        None => None,
    };
    let shown = EventFilter {
        without_keys: OWN_KEYS,
        ..EventFilter::default()
    };
    let found = catalog
        .store
        .find_events(id, shown, Direction::Backward, first, limit + 1);
    let mut found = found.await?;
    let is_more = found.len() > limit;
    found.truncate(limit);
    let before_seq = found.last().filter(|_| is_more).map(|(seq, _)| *seq);
    let wire = Wire::new(&described.agent);
    let item = |(seq, event): (Seq, _)| {
        let before_circle = before_circle(&event).map(str::to_owned);
        let event = RawValue::from_string(wire.text(&event)?).ok()?;
        Some(Item {
            seq,
            event,
            before_circle,
        })
    };
    let items = found.into_iter().rev().filter_map(item).collect();
    Ok(Page { items, before_seq })
}
