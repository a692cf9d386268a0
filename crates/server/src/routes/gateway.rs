//! The OpenAI gateway: clients of that API talk to an agent as if it were a model.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use deft_types::ConversationId;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::gateway_stream::{ChatChunks, ResponseEvents, stream};
use crate::app::App;
use crate::extract::JsonBody;
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Object, Others, Table};
use crate::gateway::{self, Exchange, Tokens};
use crate::request::given;
use crate::router::{Access, Route};

const CONTENT: Kind = Kind::Either(&[
    ("str", &Kind::Text),
    ("list[OpenAIContentPart]", &Kind::List(&PART)),
]);
const PART: Kind = Kind::Object(&Object {
    class: None,
    fields: &[
        ("type", Kind::Text, Gap::None),
        ("text", Kind::Text, Gap::Null),
        ("image_url", Kind::TextOr(&Kind::Object(&IMAGE)), Gap::Null),
    ],
    others: Others::Kept,
});
const IMAGE: Object = Object {
    class: None,
    fields: &[("url", Kind::Text, Gap::None)],
    others: Others::Kept,
};
const MESSAGE: Kind = Kind::Object(&Object {
    class: None,
    fields: &[
        (
            "role",
            Kind::OneOf(&["system", "developer", "user", "assistant", "tool"]),
            Gap::None,
        ),
        ("content", CONTENT, Gap::Null),
    ],
    others: Others::Kept,
});
const INPUT_MESSAGE: Kind = Kind::Object(&Object {
    class: None,
    fields: &[
        (
            "role",
            Kind::OneOf(&["system", "developer", "user", "assistant"]),
            Gap::None,
        ),
        (
            "content",
            Kind::Either(&[
                ("str", &Kind::Text),
                ("list[OpenAIResponseInputContentPart]", &Kind::List(&INPUT_PART)),
            ]),
            Gap::None,
        ),
    ],
    others: Others::Kept,
});
const INPUT_PART: Kind = Kind::Object(&Object {
    class: None,
    fields: &[
        ("type", Kind::Text, Gap::None),
        ("text", Kind::Text, Gap::Null),
        ("image_url", Kind::Text, Gap::Null),
    ],
    others: Others::Kept,
});
const STREAM_OPTIONS: Kind = Kind::Object(&Object {
    class: None,
    fields: &[("include_usage", Kind::Switch, Gap::Absent)],
    others: Others::Kept,
});
const CHAT: &Table = &[
    ("model", Kind::Text, Gap::None),
    ("messages", Kind::List(&MESSAGE), Gap::None),
    ("stream", Kind::Switch, Gap::Absent),
    ("stream_options", STREAM_OPTIONS, Gap::Null),
];
const RESPONSE: &Table = &[
    ("model", Kind::Text, Gap::None),
    (
        "input",
        Kind::Either(&[
            ("str", &Kind::Text),
            ("list[OpenAIResponseInputMessage]", &Kind::List(&INPUT_MESSAGE)),
        ]),
        Gap::None,
    ),
    ("instructions", Kind::Text, Gap::Null),
    ("previous_response_id", Kind::Text, Gap::Null),
    ("store", Kind::Switch, Gap::Absent),
    ("stream", Kind::Switch, Gap::Absent),
    ("metadata", Kind::Each(&Kind::Text), Gap::Null),
];

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

fn bad(sentence: &str) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, sentence)
}

fn is_users(message: &Value) -> bool {
    message["role"] == "user"
}

fn is_set(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get(name) == Some(&Value::Bool(true))
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
    let fields = fields::read_body(&body, CHAT, Others::Kept)?;
    let model = fields["model"].as_str().unwrap_or_default().to_owned();
    let messages = fields["messages"].as_array().map_or(&[][..], Vec::as_slice);
    if !messages.iter().any(is_users) {
        return Err(bad("At least one user message is required"));
    }
    let (message, exchange) = match wanted(&headers)? {
        Some(id) => {
            let last = messages.last().map_or(&[][..], std::slice::from_ref); // the rest it knows
            (gateway::message(None, last)?, Exchange::with(&app, id).await?)
        }
        None => (
            gateway::message(None, messages)?,
            Exchange::new(&app, &model).await?,
        ),
    };
    let conversation = exchange.resident.id;
    let id = new_id("chatcmpl-");
    if is_set(&fields, "stream") {
        let with_usage = fields
            .get("stream_options")
            .and_then(|options| options.get("include_usage"));
        let with_usage = with_usage == Some(&Value::Bool(true));
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
    let fields = fields::read_body(&body, RESPONSE, Others::Kept)?;
    let model = fields["model"].as_str().unwrap_or_default().to_owned();
    let input = match &fields["input"] {
        Value::Array(messages) => messages.clone(),
        text => vec![json!({"role": "user", "content": text})],
    };
    if fields["input"] == "" {
        return Err(bad("Responses input must not be empty"));
    }
    if !input.iter().any(is_users) {
        return Err(bad("Responses input must include a user message"));
    }
    let instructions = given(&fields, "instructions").and_then(Value::as_str);
    let message = gateway::message(instructions, &input)?;
    let previous = given(&fields, "previous_response_id").and_then(Value::as_str);
    let exchange = match previous {
        Some(previous) => Exchange::after(&app, previous).await?,
        None => Exchange::new(&app, &model).await?,
    };
    let mut response = json!({"id": exchange.response_id(), "created_at": now(), "model": model, "object": "response",
        "output": [], "parallel_tool_calls": false, "status": "in_progress", "tool_choice": "none", "tools": []});
    for name in ["instructions", "metadata", "previous_response_id"] {
        if let Some(value) = given(&fields, name) {
            response[name] = value.clone();
        }
    }
    if fields.get("store") != Some(&Value::Bool(false)) {
        exchange
            .remember(&app, response["id"].as_str().unwrap_or_default())
            .await?;
    }
    let conversation = exchange.resident.id;
    if is_set(&fields, "stream") {
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
