//! Models that have names.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::model::llm_of;
use super::success;
use crate::agent;
use crate::app::App;
use crate::exposure::Exposure;
use crate::extract::{Id, JsonBody, Name};
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Others};
use crate::launch::{AGENT_PROFILES, CONNECTIONS, PROFILES, model_profile, no_profile};
use crate::masking::Mask;
use crate::request::text;
use crate::router::{Access, Route};
use crate::settings::Settings;

const MAX_NAME: usize = 64;

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/profiles", Access::Key, list),
        Route::get("/api/profiles/{name}", Access::Key, get),
        Route::post("/api/profiles/{name}", save),
        Route::delete("/api/profiles/{name}", delete),
        Route::post("/api/profiles/{name}/validate", validate),
        Route::post("/api/profiles/{name}/rename", rename),
        Route::post("/api/profiles/{name}/activate", activate),
        Route::post("/api/conversations/{conversation_id}/switch_profile", switch),
    ]
}

/// A name that can stand in a path.
pub(super) fn checked_name(name: &str) -> Result<&str, Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('.') {
        Ok(name)
    } else {
        Err(Failure::refused(format!(
            "Invalid profile name '{name}': use 1 to {MAX_NAME} letters, digits, dots, dashes and underscores"
        )))
    }
}

fn key(name: &str) -> String {
    format!("{PROFILES}{name}")
}

fn is_key_set(llm: &Value) -> bool {
    llm["api_key"].as_str().is_some_and(|key| !key.is_empty())
}

/// What is said of a change.
pub(super) fn changed(name: &str, message: &str) -> Json<Value> {
    Json(json!({"name": name, "message": message}))
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    let connections = app.documents.list(CONNECTIONS).await?;
    let shown = |(name, llm): (String, Value)| {
        let connection = &llm["provider_connection_id"];
        let is_broken = connection
            .as_str()
            .is_some_and(|id| !connections.iter().any(|(known, _)| known == id));
        json!({"name": name, "model": llm["model"], "base_url": llm["base_url"],
            "provider_connection_id": connection, "provider_connection_broken": is_broken,
            "api_key_set": is_key_set(&llm)})
    };
    let profiles: Vec<_> = app
        .documents
        .list(PROFILES)
        .await?
        .into_iter()
        .map(shown)
        .collect();
    let settings = Settings::load(&app.documents).await?;
    Ok(Json(
        json!({"profiles": profiles, "active_profile": settings.active_profile()}),
    ))
}

async fn get(
    State(app): State<Arc<App>>,
    Name(name): Name,
    exposure: Exposure,
) -> Result<Json<Value>, Failure> {
    let llm = app
        .documents
        .get(&key(&name))
        .await?
        .ok_or_else(|| no_profile(&name))?;
    let is_set = is_key_set(&llm);
    let config = exposure.apply(llm, Mask::Null, app.client_seal())?;
    Ok(Json(
        json!({"name": name, "config": config, "api_key_set": is_set}),
    ))
}

async fn save(
    State(app): State<Arc<App>>,
    Name(name): Name,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    checked_name(&name)?;
    let mut llm = agent::llm_defaults();
    llm.extend(llm_of(&body)?);
    let with_secrets = &[("include_secrets", Kind::Switch, Gap::Absent)];
    let fields = fields::read_body(&body, with_secrets, Others::Kept)?;
    if fields.get("include_secrets") == Some(&Value::Bool(false)) {
        llm.insert("api_key".to_owned(), Value::Null);
    }
    app.documents.put(&key(&name), &Value::Object(llm)).await?;
    let saved = changed(&name, &format!("Profile '{name}' saved"));
    Ok((StatusCode::CREATED, saved).into_response())
}

async fn delete(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Value>, Failure> {
    let agents = app.documents.list(AGENT_PROFILES).await?;
    let users: Vec<_> = agents
        .iter()
        .filter(|(_, agent)| agent["llm_profile_ref"] == name.as_str())
        .map(|(name, _)| name.as_str())
        .collect();
    if !users.is_empty() {
        let sentence = format!(
            "LLM profile is referenced by {} agent profile(s): {}",
            users.len(),
            users.join(", ")
        );
        return Err(Failure::new(StatusCode::CONFLICT, sentence));
    }
    app.documents.take(&key(&name)).await?; // what is not there is as good as deleted
    rename_active(&app, &name, None).await?;
    Ok(changed(&name, &format!("Profile '{name}' deleted")))
}

async fn validate(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let mut llm = agent::llm_defaults();
    llm.extend(llm_of(&body)?);
    let opened = app.conversations.try_model(&Value::Object(llm));
    let error = opened
        .err()
        .map(|reason| json!({"type": "configuration", "message": reason}));
    Ok(Json(json!({"valid": error.is_none(), "error": error})))
}

async fn rename(
    State(app): State<Arc<App>>,
    Name(name): Name,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let new = checked_name(text(&body, "new_name")?)?;
    let llm = app
        .documents
        .get(&key(&name))
        .await?
        .ok_or_else(|| no_profile(&name))?;
    if new != name {
        app.documents
            .change(&key(new), |there| match there {
                Some(_) => {
                    let sentence = format!("Profile '{new}' already exists");
                    Err(Failure::new(StatusCode::CONFLICT, sentence))
                }
                None => Ok((Some(llm.clone()), ())),
            })
            .await?;
        for (agent, _) in app.documents.list(AGENT_PROFILES).await? {
            app.documents
                .change(&format!("{AGENT_PROFILES}{agent}"), |mut profile| {
                    if let Some(profile) = &mut profile
                        && profile["llm_profile_ref"] == name.as_str()
                    {
                        profile["llm_profile_ref"] = new.into();
                    }
                    Ok((profile, ()))
                })
                .await?;
        }
        rename_active(&app, &name, Some(new)).await?;
        app.documents.take(&key(&name)).await?;
    }
    Ok(changed(new, &format!("Profile '{name}' renamed to '{new}'")))
}

async fn rename_active(app: &App, name: &str, new: Option<&str>) -> Result<(), Failure> {
    let changed = Settings::change(&app.documents, |settings| {
        if settings["active_profile"] == name {
            settings["active_profile"] = json!(new);
        }
        Ok(())
    });
    changed.await.map(drop)
}

async fn activate(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Value>, Failure> {
    let llm = app
        .documents
        .get(&key(&name))
        .await?
        .ok_or_else(|| no_profile(&name))?;
    Settings::change(&app.documents, |settings| {
        settings["agent_settings"]["llm"] = llm.clone();
        settings["active_profile"] = name.as_str().into();
        Ok(())
    })
    .await?;
    let message = format!("Profile '{name}' activated and applied to current settings");
    Ok(Json(
        json!({"name": name, "message": message, "llm_applied": true}),
    ))
}

async fn switch(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let name = text(&body, "profile_name")?;
    let resident = app.conversations.resident(id).await?;
    let llm = model_profile(&app, name).await?;
    let llm = llm.as_object().cloned().unwrap_or_default();
    app.conversations.switch_model(&resident, &llm).await?;
    Ok(success())
}
