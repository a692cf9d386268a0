//! Agents that have names.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use super::profiles::{changed, checked_name};
use crate::agent_fields::{EXTERNAL_PROFILE, PROFILE};
use crate::app::App;
use crate::exposure::Exposure;
use crate::external;
use crate::extract::{JsonBody, Name, OptionalBody};
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Others};
use crate::launch::{AGENT_PROFILES, find_agent, profile_settings};
use crate::masking::Mask;
use crate::profile_models::dangling as dangling_routes;
use crate::request::{given, object, text};
use crate::router::{Access, Route};
use crate::settings::{Settings, completed_agent, merge};
use crate::validation::Issue;

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/agent-profiles", Access::Key, list),
        Route::get("/api/agent-profiles/{name}", Access::Key, get),
        Route::post("/api/agent-profiles/{name}", save),
        Route::delete("/api/agent-profiles/{name}", delete),
        Route::post("/api/agent-profiles/{name}/rename", rename),
        Route::post("/api/agent-profiles/{name}/activate", activate),
        Route::post("/api/agent-profiles/{name}/materialize", materialize),
    ]
}

fn key(name: &str) -> String {
    format!("{AGENT_PROFILES}{name}")
}

fn unknown(name: &str) -> Failure {
    let sentence = format!("Agent profile '{name}' not found");
    Failure::new(StatusCode::NOT_FOUND, sentence)
}

/// A profile with all that the contract has.
fn completed(name: &str, sent: &Value) -> Value {
    let mut profile = if sent["agent_kind"] == "acp" {
        json!({
            "schema_version": 4, "agent_kind": "acp", "id": null, "name": null, "revision": 0,
            "mcp_server_refs": null, "secret_refs": null, "acp_server": "claude-code", "acp_model": null,
            "acp_session_mode": null, "acp_prompt_timeout": external::SILENCE,
            "acp_startup_timeout": external::START, "acp_command": null, "acp_args": null,
        })
    } else {
        usual()
    };
    merge(&mut profile, sent);
    profile["name"] = name.into();
    profile
}

/// What a profile of an agent of ours has where nothing is said.
fn usual() -> Value {
    let settings = completed_agent(&json!({}));
    let mut verification = settings["verification"].clone();
    if let Some(fields) = verification.as_object_mut() {
        fields.remove("critic_api_key");
    }
    json!({
        "schema_version": 4, "agent_kind": "openhands", "id": null, "name": null, "revision": 0,
        "mcp_server_refs": null, "secret_refs": null, "llm_profile_ref": null, "agent": settings["agent"],
        "tools": null, "persona": null, "system_message_suffix": null, "disabled_skills": [],
        "public_skills": null, "condenser": settings["condenser"], "verification": verification,
        "enable_classify_and_switch_llm_tool": false, "meta_profile_ref": null, "tool_concurrency_limit": 1,
    })
}

/// All profiles. Where there is none but a model has a name, the first is made for it.
async fn all(app: &App) -> Result<(Vec<(String, Value)>, Settings), Failure> {
    let settings = Settings::load(&app.documents).await?;
    let found = app.documents.list(AGENT_PROFILES).await?;
    let (true, Some(model)) = (found.is_empty(), settings.active_profile()) else {
        return Ok((found, settings));
    };
    let id = Uuid::new_v4().to_string();
    let first = completed("default", &json!({"id": id, "llm_profile_ref": model}));
    app.documents.put(&key("default"), &first).await?;
    let settings = Settings::change(&app.documents, |settings| {
        settings["active_agent_profile_id"] = id.as_str().into();
        Ok(())
    });
    Ok((vec![("default".to_owned(), first)], settings.await?))
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    let (found, settings) = all(&app).await?;
    let shown = |(name, profile): (String, Value)| {
        json!({"id": profile["id"], "name": name, "agent_kind": profile["agent_kind"],
            "revision": profile["revision"], "llm_profile_ref": profile["llm_profile_ref"],
            "mcp_server_refs": profile["mcp_server_refs"]})
    };
    let profiles: Vec<_> = found.into_iter().map(shown).collect();
    let active = &settings.value()["active_agent_profile_id"];
    Ok(Json(
        json!({"profiles": profiles, "active_agent_profile_id": active}),
    ))
}

async fn get(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Value>, Failure> {
    let profile = app
        .documents
        .get(&key(&name))
        .await?
        .ok_or_else(|| unknown(&name))?;
    Ok(Json(json!({"name": name, "profile": profile})))
}

async fn save(
    State(app): State<Arc<App>>,
    Name(name): Name,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    checked_name(&name)?;
    let (kind, table) = match body["agent_kind"].as_str() {
        Some("acp") => ("acp", EXTERNAL_PROFILE),
        _ => ("openhands", PROFILE),
    };
    let body = Value::Object(fields::read_closed(&[kind], object(&body)?, table)?);
    let names_model = body["llm_profile_ref"]
        .as_str()
        .is_some_and(|name| !name.is_empty());
    if body["agent_kind"] != "acp" && !names_model {
        return Err(Issue::missing(&["openhands", "llm_profile_ref"], &body).into());
    }
    app.documents
        .change(&key(&name), |there| {
            let mut profile = completed(&name, &body);
            match &there {
                Some(before) => {
                    profile["id"] = before["id"].clone();
                    profile["revision"] = (before["revision"].as_u64().unwrap_or_default() + 1).into();
                }
                None if profile["id"].is_null() => profile["id"] = Uuid::new_v4().to_string().into(),
                None => {}
            }
            Ok((Some(profile), ()))
        })
        .await?;
    let saved = changed(&name, &format!("Agent profile '{name}' saved"));
    Ok((StatusCode::CREATED, saved).into_response())
}

async fn delete(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Value>, Failure> {
    app.documents
        .take(&key(&name))
        .await?
        .ok_or_else(|| unknown(&name))?;
    Ok(changed(&name, &format!("Agent profile '{name}' deleted")))
}

async fn rename(
    State(app): State<Arc<App>>,
    Name(name): Name,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let new = checked_name(text(&body, "new_name")?)?;
    let mut profile = app
        .documents
        .get(&key(&name))
        .await?
        .ok_or_else(|| unknown(&name))?;
    profile["name"] = new.into();
    if new != name {
        app.documents
            .change(&key(new), |there| match there {
                Some(_) => {
                    let sentence = format!("Agent profile '{new}' already exists");
                    Err(Failure::new(StatusCode::CONFLICT, sentence))
                }
                None => Ok((Some(profile.clone()), ())),
            })
            .await?;
        app.documents.take(&key(&name)).await?;
    }
    Ok(changed(
        new,
        &format!("Agent profile '{name}' renamed to '{new}'"),
    ))
}

async fn activate(State(app): State<Arc<App>>, Name(id): Name) -> Result<Json<Value>, Failure> {
    find_agent(&app, &id).await?;
    Settings::change(&app.documents, |settings| {
        settings["active_agent_profile_id"] = id.as_str().into();
        Ok(())
    })
    .await?;
    let message = format!("Agent profile '{id}' activated");
    Ok(Json(
        json!({"id": id, "message": message, "agent_settings_applied": false}),
    ))
}

/// What would come of a profile, and what is wrong with it.
async fn materialize(
    State(app): State<Arc<App>>,
    Name(name): Name,
    OptionalBody(body): OptionalBody,
) -> Result<Json<Value>, Failure> {
    let fields = fields::read_body(&body, &[("profile", Kind::Map, Gap::Null)], Others::Kept)?;
    let stored = app.documents.get(&key(&name)).await?;
    let profile = match (given(&fields, "profile"), stored) {
        (Some(draft), _) => completed(&name, draft),
        (None, Some(profile)) => profile,
        (None, None) => return Err(unknown(&name)),
    };
    let (settings, errors) = match profile_settings(&app, &profile).await {
        Ok(settings) => (settings, Vec::new()),
        Err(failure) => (Value::Null, vec![failure.detail()]),
    };
    let has_key = settings["llm"]["api_key"]
        .as_str()
        .is_some_and(|key| !key.is_empty());
    let known = app.conversations.tool_names();
    let tools = profile["tools"].as_array().into_iter().flatten();
    let unusable: Vec<_> = tools
        .filter_map(|tool| tool["name"].as_str().or(tool.as_str()))
        .filter(|name| !known.iter().any(|known| known == name))
        .collect();
    let servers: Vec<_> = settings["mcp_config"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .collect();
    let wanted = profile["mcp_server_refs"].as_array().into_iter().flatten();
    let dangling: Vec<_> = wanted
        .filter(|wanted| !servers.iter().any(|name| *wanted == name.as_str()))
        .collect();
    let (no_routes, no_models) =
        dangling_routes(&app.documents, profile["meta_profile_ref"].as_str()).await?;
    let shown = Exposure::Masked.apply(settings.clone(), Mask::Asterisks, app.client_seal())?;
    Ok(Json(json!({
        "agent_kind": profile["agent_kind"],
        "valid": errors.is_empty(),
        "errors": errors,
        "unusable_tools": unusable,
        "llm_profile_ref": profile["llm_profile_ref"],
        "llm_profile_resolved": settings.is_object(),
        "llm_api_key_set": has_key,
        "mcp_server_refs": profile["mcp_server_refs"],
        "resolved_mcp_config_keys": servers,
        "dangling_mcp_server_refs": dangling,
        "disabled_skills": profile["disabled_skills"],
        "public_skills": profile["public_skills"],
        "resolved_skills": [],
        "secret_refs": profile["secret_refs"],
        "acp_api_key_secret_name": null,
        "acp_base_url_secret_name": null,
        "acp_file_secret_names": [],
        "meta_profile_ref": profile["meta_profile_ref"],
        "dangling_meta_profile_ref": no_routes,
        "dangling_meta_profile_llm_refs": no_models,
        "resolved_settings": shown,
    })))
}
