//! The settings that clients share, and what can be set.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::meta_profiles;
use crate::agent_fields::SERVER;
use crate::app::App;
use crate::exposure::Exposure;
use crate::extract::{JsonBody, Name};
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Others, Table};
use crate::launch::{PROFILES, find_agent, no_profile};
use crate::request::given;
use crate::router::{Access, Route};
use crate::settings::{Settings, change_part, merge, patch, patch_beneath};

const AGENT_SCHEMA: &str = include_str!("../settings/agent_schema.json");
const CONVERSATION_SCHEMA: &str = include_str!("../settings/conversation_schema.json");
/// What is changed field by field.
const PARTS: [(&str, &str); 2] = [
    ("agent_settings_diff", "agent_settings"),
    ("conversation_settings_diff", "conversation_settings"),
];
const MISC: (&str, &str) = ("misc_settings_diff", "misc_settings");
/// What a change may say.
const CHANGE: &Table = &[
    ("agent_settings_diff", Kind::Map, Gap::Null),
    ("conversation_settings_diff", Kind::Map, Gap::Null),
    ("misc_settings_diff", Kind::Map, Gap::Null),
    ("active_profile", Kind::Text, Gap::Null),
    ("active_agent_profile_id", Kind::Text, Gap::Null),
    ("active_meta_profile", Kind::Text, Gap::Null),
];
const ACTIVE: [&str; 3] = ["active_profile", "active_agent_profile_id", "active_meta_profile"];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/settings", Access::Key, get),
        Route::patch("/api/settings", change),
        Route::get("/api/settings/agent-schema", Access::Key, agent_schema),
        Route::get(
            "/api/settings/conversation-schema",
            Access::Key,
            conversation_schema,
        ),
        Route::post("/api/settings/mcp/{settings_key}", add_server),
        Route::patch("/api/settings/mcp/{settings_key}", change_server),
        Route::delete("/api/settings/mcp/{settings_key}", remove_server),
    ]
}

async fn get(State(app): State<Arc<App>>, exposure: Exposure) -> Result<Json<Value>, Failure> {
    shown(&app, &Settings::load(&app.documents).await?, exposure)
}

fn shown(app: &App, settings: &Settings, exposure: Exposure) -> Result<Json<Value>, Failure> {
    Ok(Json(settings.shown(exposure, app.client_seal())?))
}

async fn change(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let fields = &fields::read_body(&body, CHANGE, Others::Kept)?;
    let named = PARTS.iter().chain([&MISC]).map(|(diff, _)| *diff).chain(ACTIVE);
    if !named.into_iter().any(|name| fields.contains_key(name)) {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            "At least one of agent_settings_diff, conversation_settings_diff, misc_settings_diff, active_profile, \
             active_agent_profile_id, or active_meta_profile must be provided",
        ));
    }
    let named = |name: &str| given(fields, name).and_then(Value::as_str);
    let model = match named("active_profile") {
        Some(name) => {
            let model = app.documents.get(&format!("{PROFILES}{name}")).await?;
            Some(model.ok_or_else(|| no_profile(name))?)
        }
        None => None,
    };
    if let Some(id) = named("active_agent_profile_id") {
        find_agent(&app, id).await?;
    }
    if let Some(name) = named("active_meta_profile") {
        meta_profiles::find(&app, name).await?;
    }
    let settings = Settings::change(&app.documents, |settings| {
        if let Some(model) = &model {
            settings["agent_settings"]["llm"] = model.clone();
        }
        for (diff, part) in PARTS {
            if let Some(diff) = given(fields, diff) {
                change_part(settings, part, diff)?;
            }
        }
        if let Some(diff) = given(fields, MISC.0) {
            patch_beneath(&mut settings[MISC.1], diff);
        }
        for name in ACTIVE {
            if let Some(value) = fields.get(name) {
                settings[name] = value.clone();
            }
        }
        Ok(())
    });
    shown(&app, &settings.await?, Exposure::Masked)
}

async fn agent_schema() -> Json<Value> {
    Json(schema(AGENT_SCHEMA))
}

async fn conversation_schema() -> Json<Value> {
    Json(schema(CONVERSATION_SCHEMA))
}

/// The file says nothing twice; the contract does.
fn schema(text: &str) -> Value {
    let mut schema: Value = serde_json::from_str(text).unwrap_or_default();
    for section in schema["sections"].as_array_mut().into_iter().flatten() {
        let common = json!({"description": null, "section": section["key"], "section_label": section["label"],
            "depends_on": [], "secret": false, "choices": [], "variant": section["variant"]});
        for field in section["fields"].as_array_mut().into_iter().flatten() {
            let mut full = common.clone();
            merge(&mut full, field);
            *field = full;
        }
    }
    schema
}

/// Changes one MCP server of the settings; `edit` gets what is there and gives what is to be.
async fn edit_server(
    app: &App,
    name: &str,
    mut edit: impl FnMut(Option<&Value>) -> Result<Option<Value>, Failure>,
) -> Result<Json<Value>, Failure> {
    let settings = Settings::change(&app.documents, |settings| {
        let Some(servers) = settings["agent_settings"]["mcp_config"].as_object_mut() else {
            return Err(Failure::refused("Settings validation failed"));
        };
        match edit(servers.get(name))? {
            Some(server) => servers.insert(name.to_owned(), server),
            None => servers.remove(name),
        };
        Ok(())
    });
    shown(app, &settings.await?, Exposure::Masked)
}

fn no_server(name: &str) -> Failure {
    let sentence = format!("MCP server '{name}' was not found");
    Failure::new(StatusCode::NOT_FOUND, sentence)
}

async fn add_server(
    State(app): State<Arc<App>>,
    Name(name): Name,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let body = Value::Object(fields::read_body(&body, SERVER, Others::Kept)?);
    let added = edit_server(&app, &name, |there| {
        if there.is_some() {
            let sentence = format!("MCP server '{name}' already exists");
            return Err(Failure::new(StatusCode::CONFLICT, sentence));
        }
        let mut server = json!({"enabled": true});
        patch(&mut server, &body);
        Ok(Some(server))
    });
    Ok((StatusCode::CREATED, added.await?).into_response())
}

async fn change_server(
    State(app): State<Arc<App>>,
    Name(name): Name,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let body = Value::Object(fields::read_body(&body, SERVER, Others::Kept)?);
    edit_server(&app, &name, |there| {
        let mut server = there.ok_or_else(|| no_server(&name))?.clone();
        patch(&mut server, &body);
        Ok(Some(server))
    })
    .await
}

async fn remove_server(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Value>, Failure> {
    edit_server(&app, &name, |there| match there {
        Some(_) => Ok(None),
        None => Err(no_server(&name)),
    })
    .await
}
