//! Requests that are carried out once however often they come: those whose client gives them an `Idempotency-Key`.
//!
//! The answer is noted in the log of the conversation, by its actor, so that it is the same after a restart.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use deft_engine::ANSWERED_REQUEST;
use deft_types::{ConversationId, EventBody, EventId};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::App;
use crate::extract::Id;
use crate::failure::Failure;

const HEADER: &str = "idempotency-key";
const MAX_KEY: usize = 200;
/// The longest answer that is noted. All that our routes give to a change are far shorter.
const MAX_ANSWER: usize = 1024 * 1024;

/// The requests that are under way.
#[derive(Default)]
pub(crate) struct Requests(Mutex<HashSet<(ConversationId, String)>>);

impl Requests {
    fn all(&self) -> MutexGuard<'_, HashSet<(ConversationId, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Under way until it is dropped.
struct UnderWay<'a> {
    requests: &'a Requests,
    name: (ConversationId, String),
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.requests.all().remove(&self.name);
    }
}

/// The id of the message that a request sends: the client's own where it gave one, so that not even a crash between
/// the message and the note lets it be said twice.
pub(crate) fn message_id(headers: &HeaderMap) -> EventId {
    let given = headers.get(HEADER).and_then(|key| key.to_str().ok());
    let given = given.and_then(|key| Uuid::parse_str(key).ok());
    EventId::from(given.unwrap_or_else(Uuid::new_v4))
}

/// What a client calls a request that may have been carried out in part before a crash; none where it gave no key.
pub(crate) fn name_of(headers: &HeaderMap, verb: &str) -> Option<EventId> {
    let key = headers.get(HEADER).and_then(|key| key.to_str().ok())?;
    Some(EventId(format!("{verb}:{key}")))
}

/// Lets a request through whose key is new, and answers one that was carried out as it was answered then.
pub(crate) async fn once(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let Some(key) = request.headers().get(HEADER) else {
        return next.run(request).await;
    };
    let key = key.to_str().unwrap_or_default().to_owned();
    let (mut head, body) = request.into_parts();
    let id = match Id::from_request_parts(&mut head, &app).await {
        Ok(Id(id)) => id,
        Err(failure) => return failure.into_response(),
    };
    let request = Request::from_parts(head, body);
    if key.is_empty() || key.len() > MAX_KEY {
        let sentence = format!("An Idempotency-Key has 1 to {MAX_KEY} visible ASCII characters");
        return Failure::new(StatusCode::BAD_REQUEST, sentence).into_response();
    }
    let name = (id, key.clone());
    let requests = &app.conversations.requests;
    if !requests.all().insert(name.clone()) {
        let sentence = "The same request is under way; ask again when it may be done";
        return Failure::new(StatusCode::CONFLICT, sentence).into_response();
    }
    let _under_way = UnderWay { requests, name };
    let answered = carry_out(&app, id, EventId(format!("request:{key}")), request, next);
    answered.await.unwrap_or_else(IntoResponse::into_response)
}

async fn carry_out(
    app: &App,
    id: ConversationId,
    note: EventId,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let verb = format!("{} {}", request.method(), request.uri().path());
    if let Some(answer) = noted(app, id, &note, &verb).await? {
        return Ok(answer);
    }
    let (head, body) = next.run(request).await.into_parts();
    if !head.status.is_success() {
        return Ok(Response::from_parts(head, body)); // what was refused may be tried again
    }
    let body = to_bytes(body, MAX_ANSWER).await;
    let body = body.map_err(|error| Failure::internal("the answer is too long to be noted", &error))?;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let answer = json!({"verb": verb, "answer": {"status": head.status.as_u16(), "body": answer}});
    let resident = app.conversations.resident(id).await?;
    app.conversations.note_request(&resident, note, answer).await?;
    Ok(Response::from_parts(head, Body::from(body)))
}

/// What was answered before.
async fn noted(
    app: &App,
    id: ConversationId,
    note: &EventId,
    verb: &str,
) -> Result<Option<Response>, Failure> {
    let store = &app.conversations.catalog.store;
    if store.conversation(id).await?.is_none() {
        return Ok(None); // the route says so in its own words
    }
    let Some(seq) = store.position(id, note).await? else {
        return Ok(None);
    };
    let there = store.read(id, seq, 1).await?;
    match there.first().map(|(_, event)| &event.body) {
        Some(EventBody::StateUpdate(update))
            if update.key == ANSWERED_REQUEST && update.value["verb"] == verb =>
        {
            let answer = &update.value["answer"];
            let status = answer["status"]
                .as_u64()
                .and_then(|status| u16::try_from(status).ok());
            let status = status.and_then(|status| StatusCode::from_u16(status).ok());
            Ok(Some(
                (status.unwrap_or_default(), Json(answer["body"].clone())).into_response(),
            ))
        }
        _ => Err(Failure::new(
            StatusCode::CONFLICT,
            "This Idempotency-Key was used for another request; choose a new one",
        )),
    }
}
