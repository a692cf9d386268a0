//! What agents that are programs of their own say of themselves.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_acp::About;
use deft_executor::Client;
use deft_types::ConversationId;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::agent_fields::SETTINGS;
use crate::agent_models::Question;
use crate::app::App;
use crate::extract::JsonBody;
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Object, Others, Table};
use crate::router::Route;
use crate::secrets::Given;
use crate::settings::{agent_of, completed_agent};

/// What a client asks.
const QUESTION: &Table = &[
    ("agent_settings", SETTINGS_SENT, Gap::None),
    ("secrets", Kind::Hidden(&Kind::Map), Gap::Null),
    ("refresh", Kind::Switch, Gap::Absent),
];
const SETTINGS_SENT: Kind = Kind::Object(&Object {
    class: None,
    fields: SETTINGS,
    others: Others::Kept,
});

pub(crate) fn table() -> Vec<Route> {
    vec![Route::post("/api/acp/models", models)]
}

/// Starts an agent in a workspace of its own, asks which models it has, and ends it. What it said is known for a while,
/// unless a client wants to hear it anew.
async fn models(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let body = Value::Object(fields::read_body(&body, QUESTION, Others::Kept)?);
    let mut settings = completed_agent(&body["agent_settings"]);
    settings["agent_kind"] = "acp".into();
    let agent = agent_of(&settings)?;
    let question = Question::new(agent.stored(), &body["secrets"]);
    let known = app.agent_models.get(question).filter(|_| body["refresh"] != true);
    if let Some(known) = known {
        return Ok(Json(known));
    }
    let given = Given::of(&agent, body["secrets"].as_object());
    let secrets = given.sources(app.conversations.keeper())?.values;
    let Some(external) = agent.external(&|_| None) else {
        return Ok(Json(told(&Err(
            "these are no settings of such an agent".to_owned()
        ))));
    };
    let id = ConversationId(Uuid::new_v4());
    let directory = &app.places.current_dir;
    let workspace = app.conversations.workspace(id, directory)?;
    let looked = async {
        let stream = workspace.open().await.map_err(|error| error.to_string())?;
        let client = Client::connect(stream).await.map_err(|error| error.to_string())?;
        let about = external
            .look(&client, directory.display().to_string(), secrets)
            .await;
        client.shutdown().await;
        about
    };
    let about = looked.await;
    if let Err(reason) = app.conversations.composition.forget(id) {
        tracing::warn!(reason, "what was kept for a look at an agent stays");
    }
    let answer = told(&about);
    if about.is_ok() {
        app.agent_models.put(question, &answer);
    }
    Ok(Json(answer))
}

fn told(about: &Result<About, String>) -> Value {
    let (about, error) = match about {
        Ok(about) => (about.clone(), Value::Null),
        Err(detail) => (
            About::default(),
            json!({"code": "ACPSpawnError", "detail": detail}),
        ),
    };
    let models = about.models.available.iter();
    let models: Vec<_> = models
        .map(|model| json!({"model_id": model.id, "name": model.name, "description": model.description}))
        .collect();
    json!({
        "agent_name": about.name,
        "agent_version": about.version,
        "current_model_id": about.models.current,
        "available_models": models,
        "supports_runtime_model_switch": about.models.can_switch(),
        "error": error,
    })
}
