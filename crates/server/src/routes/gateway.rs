//! The OpenAI gateway: clients of that API talk to an agent as if it were a model.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use deft_types::ConversationId;
use serde_json::{Value, json};
use uuid::Uuid;

use super::gateway_stream::{ChatChunks, ResponseEvents, stream};
use crate::app::App;
use crate::extract::JsonBody;
use crate::failure::Failure;
use crate::gateway::{self, Exchange, Tokens};
use crate::request::{given, object, text};
use crate::router::{Access, Route};
use crate::validation::Issue;

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/v1/models", Access::Bearer, models),
        Route::bearer_post("/v1/chat/completions", chat),
        Route::bearer_post("/v1/responses", respond),
    ]
}

pub(super) fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}

pub(super) fn new_id(prefix: &str) -> String {
    format!("{prefix}{}", Uuid::new_v4().simple())
}

async fn models(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    let entry = |id: String| json!({"id": id, "created": 0, "object": "model", "owned_by": "openhands"});
    let data: Vec<_> = gateway::models(&app).await?.into_iter().map(entry).collect();
    Ok(Json(json!({"object": "list", "data": data})))
}

/// Which conversation an answer comes from, and which one a client wants to go on with.
const CONVERSATION: HeaderName = HeaderName::from_static("x-openhands-serverconversation-id");

/// The conversation that a client wants to go on with.
fn wanted(headers: &HeaderMap) -> Result<Option<ConversationId>, Failure> {
    let Some(named) = headers.get(CONVERSATION) else {
        return Ok(None);
    };
    let id = named.to_str().ok().and_then(|text| Uuid::parse_str(text).ok());
    let sentence = || Failure::refused(format!("The header {CONVERSATION} holds no id of a conversation"));
    id.map(|id| Some(ConversationId(id))).ok_or_else(sentence)
}

/// An answer that says which conversation it comes from.
fn from_conversation(id: ConversationId, answer: impl IntoResponse) -> Response {
    ([(CONVERSATION, id.to_string())], answer).into_response()
}

async fn chat(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let model = text(&body, "model")?.to_owned();
    let Some(messages) = object(&body)?.get("messages").and_then(Value::as_array) else {
        return Err(Issue::missing(&["body", "messages"], &body).into());
    };
    if !messages.iter().any(|message| message["role"] == "user") {
        return Err(Failure::refused("At least one message of the user is needed"));
    }
    let (message, exchange) = match wanted(&headers)? {
        Some(id) => {
            let last = messages.last().map_or(&[][..], std::slice::from_ref); // the rest it knows
            (gateway::message(None, last), Exchange::with(&app, id).await?)
        }
        None => (
            gateway::message(None, messages),
            Exchange::new(&app, &model).await?,
        ),
    };
    let conversation = exchange.resident.id;
    let id = new_id("chatcmpl-");
    if body["stream"] == true {
        let with_usage = body["stream_options"]["include_usage"] == true;
        let chunks = ChatChunks {
            id,
            model,
            with_usage,
        };
        let answer = stream(app, exchange, message, chunks).await;
        return Ok(from_conversation(conversation, answer));
    }
    let (answer, used) = exchange.answer(&app, message).await?;
    let choice =
        json!({"finish_reason": "stop", "index": 0, "message": {"content": answer, "role": "assistant"}});
    #[allow(clippy::cast_possible_truncation)] // whole seconds
    let created = now() as i64;
    let completion = json!({"id": id, "choices": [choice], "created": created, "model": model,
        "object": "chat.completion", "usage": chat_usage(used)});
    Ok(from_conversation(conversation, Json(completion)))
}

pub(super) fn chat_usage(used: Tokens) -> Value {
    json!({"completion_tokens": used.output, "prompt_tokens": used.input, "total_tokens": used.input + used.output})
}

async fn respond(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Response, Failure> {
    let model = text(&body, "model")?.to_owned();
    let fields = object(&body)?;
    let input = match fields.get("input") {
        Some(Value::String(text)) => vec![json!({"role": "user", "content": text})],
        Some(Value::Array(messages)) => messages.clone(),
        _ => return Err(Issue::missing(&["body", "input"], &body).into()),
    };
    let instructions = given(fields, "instructions").and_then(Value::as_str);
    let message = gateway::message(instructions, &input);
    let previous = given(fields, "previous_response_id").and_then(Value::as_str);
    let exchange = match previous {
        Some(previous) => Exchange::after(&app, previous).await?,
        None => Exchange::new(&app, &model).await?,
    };
    let mut response = json!({"id": exchange.response_id(), "created_at": now(), "model": model, "object": "response",
        "output": [], "parallel_tool_calls": false, "status": "in_progress", "tool_choice": "none", "tools": []});
    for name in ["instructions", "metadata", "previous_response_id"] {
        if let Some(value) = given(fields, name) {
            response[name] = value.clone();
        }
    }
    if body["store"] != false {
        exchange
            .remember(&app, response["id"].as_str().unwrap_or_default())
            .await?;
    }
    let conversation = exchange.resident.id;
    if body["stream"] == true {
        let answer = stream(app, exchange, message, ResponseEvents::new(response)).await;
        return Ok(from_conversation(conversation, answer));
    }
    let (answer, used) = exchange.answer(&app, message).await?;
    complete(&mut response, &new_id("msg_"), &answer, used);
    Ok(from_conversation(conversation, Json(response)))
}

/// Puts the answer into a response.
pub(super) fn complete(response: &mut Value, item: &str, answer: &str, used: Tokens) {
    response["completed_at"] = now().into();
    response["status"] = "completed".into();
    response["output"] = json!([{"id": item, "content": [{"annotations": [], "text": answer, "type": "output_text"}],
        "role": "assistant", "status": "completed", "type": "message"}]);
    response["usage"] = json!({"input_tokens": used.input, "input_tokens_details": {"cached_tokens": used.cached},
        "output_tokens": used.output, "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": used.input + used.output});
}
