//! Routes between models that have names: which model for which kind of task.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::profiles::{changed, checked_name};
use crate::app::App;
use crate::extract::{JsonBody, Name};
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Object, Others, Table};
use crate::profile_models::META_PROFILES as FOLDER;
use crate::request::text;
use crate::router::{Access, Route};
use crate::settings::{Settings, merge};
use crate::validation::Issue;

/// What stands for the task in a question.
const TASK: &str = "{{ instance_text }}";
/// Which model for which kind of task, as a client says it.
const ROUTES: &Table = &[
    ("classes", Kind::List(&CLASS), Gap::Absent),
    ("prompt_template", Kind::Text, Gap::Null),
    ("model_table", Kind::Text, Gap::Null),
];
const CLASS: Kind = Kind::Object(&Object {
    class: Some("MetaProfileClass"),
    fields: &[
        ("description", Kind::Text, Gap::None),
        ("model", Kind::Text, Gap::None),
    ],
    others: Others::Kept,
});

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/meta-profiles", Access::Key, list),
        Route::get("/api/meta-profiles/{name}", Access::Key, get),
        Route::post("/api/meta-profiles/{name}", save),
        Route::delete("/api/meta-profiles/{name}", delete),
        Route::post("/api/meta-profiles/{name}/activate", activate),
    ]
}

fn key(name: &str) -> String {
    format!("{FOLDER}{name}")
}

fn unknown(name: &str) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, format!("Meta-profile '{name}' not found"))
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    let found = app.documents.list(FOLDER).await?;
    let shown = |(name, config): (String, Value)| {
        let classes = config["classes"].as_array().map_or(0, Vec::len);
        json!({"name": name, "classifier_model": config["classifier_model"], "num_classes": classes})
    };
    let profiles: Vec<_> = found.into_iter().map(shown).collect();
    let settings = Settings::load(&app.documents).await?;
    let active = &settings.value()["active_meta_profile"];
    Ok(Json(
        json!({"meta_profiles": profiles, "active_meta_profile": active}),
    ))
}

/// The routes that have this name.
pub(super) async fn find(app: &App, name: &str) -> Result<Value, Failure> {
    let found = app.documents.get(&key(name)).await?;
    found.ok_or_else(|| unknown(name))
}

async fn get(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Value>, Failure> {
    let config = find(&app, &name).await?;
    Ok(Json(json!({"name": name, "config": config})))
}

/// Routes without classes are a question that has the task in it.
fn leads_somewhere(body: &Value) -> Result<(), Issue> {
    if body["classes"]
        .as_array()
        .is_some_and(|classes| !classes.is_empty())
    {
        return Ok(());
    }
    match body["prompt_template"].as_str() {
        Some(question) if question.contains(TASK) => Ok(()),
        Some(_) => {
            let error = format!("Direct-routing meta-profiles must include {TASK} in prompt_template.");
            Err(Issue::rule(&["body"], &error, body))
        }
        None => {
            let error = "A meta-profile needs either classes or a prompt_template to route.";
            Err(Issue::rule(&["body"], error, body))
        }
    }
}

async fn save(
    State(app): State<Arc<App>>,
    Name(name): Name,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    checked_name(&name)?;
    text(&body, "classifier_model")?;
    let body = Value::Object(fields::read_body(&body, ROUTES, Others::Kept)?);
    leads_somewhere(&body)?;
    let mut config =
        json!({"classifier_model": null, "classes": [], "prompt_template": null, "model_table": null});
    merge(&mut config, &body);
    app.documents.put(&key(&name), &config).await?;
    let saved = changed(&name, &format!("Meta-profile '{name}' saved"));
    Ok((StatusCode::CREATED, saved).into_response())
}

async fn delete(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Value>, Failure> {
    app.documents
        .take(&key(&name))
        .await?
        .ok_or_else(|| unknown(&name))?;
    Ok(changed(&name, &format!("Meta-profile '{name}' deleted")))
}

async fn activate(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Value>, Failure> {
    find(&app, &name).await?;
    Settings::change(&app.documents, |settings| {
        settings["active_meta_profile"] = name.as_str().into();
        Ok(())
    })
    .await?;
    let message = format!("Meta-profile '{name}' activated");
    Ok(Json(json!({"name": name, "message": message, "applied": true})))
}
