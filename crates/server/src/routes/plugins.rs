//! Plugins: those that agents have, and those that one conversation is given.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use deft_skills::{Kind as SkillKind, Plugin};
use serde_json::{Map, Value, json};

use super::packages::source_of;
use super::project::project_of;
use super::success;
use crate::app::App;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Others, Table};
use crate::packages::{PackageError, PackageKind, PackageSource};
use crate::plugins::{FETCH_LIMIT, keeper};
use crate::request::{given, object, text};
use crate::router::Route;
use crate::validation::Issue;

/// The longest that a client may want to wait for one.
const MAX_FETCH: u64 = 600;
const WAIT: &Table = &[("timeout", Kind::Integer { least: Some(1) }, Gap::Absent)];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/plugins", plugins),
        Route::post("/api/plugins/fetch", fetch),
        Route::post("/api/conversations/{conversation_id}/load_plugin", load),
    ]
}

/// The plugins of a project and the user's own. A project's counts more than the user's of the same name.
async fn plugins(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let fields = object(&body)?;
    let wants = |what: &str| given(fields, what) != Some(&Value::Bool(false));
    let mut all = match project_of(&app, &body).await?.filter(|_| wants("load_project")) {
        Some(project) => project.plugins(),
        None => Vec::new(),
    };
    if wants("load_user") {
        let packages = app.users.composition.packages();
        let users = packages.map_or_else(Vec::new, |packages| packages.plugins());
        for plugin in users {
            if all.iter().all(|other| other.name != plugin.name) {
                all.push(plugin);
            }
        }
    }
    Ok(Json(
        json!({"plugins": all.iter().map(shown).collect::<Vec<_>>()}),
    ))
}

fn shown(plugin: &Plugin) -> Value {
    let skill = |skill: &deft_skills::Skill| json!({"name": skill.name, "description": skill.description});
    json!({
        "name": plugin.name,
        "version": plugin.said("version"),
        "description": plugin.said("description"),
        "path": plugin.home,
        "skills": plugin.skills.iter().map(skill).collect::<Vec<_>>(),
        "files": plugin.files,
    })
}

/// Brings a plugin here, so that a conversation can be begun with it, and tells what is in it.
async fn fetch(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let asked = source_of(&body)?;
    let limit = limit_of(&body)?;
    let secrets = secrets_of(&body);
    let from = PackageSource {
        source: with_values(&asked.source, &secrets),
        reference: asked.reference.as_deref().map(|name| with_values(name, &secrets)),
        repo_path: asked.repo_path.clone(),
    };
    let fetched = keeper(&app)?.fetch(&from, limit).await;
    let fetched = fetched.map_err(|error| not_fetched(&error, &secrets))?;
    let plugin = &fetched.plugin;
    let names = |is_command: bool| -> Vec<&str> {
        let skills = plugin.skills.iter();
        let wanted = skills
            .filter(|skill| (skill.kind == SkillKind::Knowledge && skill.name.contains(':')) == is_command);
        wanted.map(|skill| &*skill.name).collect()
    };
    Ok(Json(json!({
        "path": plugin.home,
        "resolved_ref": fetched.resolved_ref,
        "source": asked.source,
        "repo_path": asked.repo_path,
        "manifest": plugin.manifest,
        "skills": names(false),
        "commands": names(true),
    })))
}

/// How long a client wants to wait for one.
fn limit_of(body: &Value) -> Result<Duration, Failure> {
    let fields = fields::read_body(body, WAIT, Others::Kept)?;
    let Some(seconds) = fields.get("timeout").and_then(Value::as_u64) else {
        return Ok(FETCH_LIMIT);
    };
    if seconds > MAX_FETCH {
        let sentence = format!("Input should be less than or equal to {MAX_FETCH}");
        let issue = Issue::new("less_than_equal", &["body", "timeout"], sentence, &seconds.into());
        return Err(issue.with(json!({ "le": MAX_FETCH })).into());
    }
    Ok(Duration::from_secs(seconds))
}

/// Secrets that may stand in an address, by their names.
fn secrets_of(body: &Value) -> Map<String, Value> {
    let sent = body["secrets"].as_object().into_iter().flatten();
    let value = |(name, secret): (&String, &Value)| {
        let value = secret.as_str().or_else(|| secret["value"].as_str())?;
        (!value.is_empty()).then(|| (name.clone(), value.into()))
    };
    sent.filter_map(value).collect()
}

fn with_values(text: &str, secrets: &Map<String, Value>) -> String {
    secrets.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("${{{name}}}"), value.as_str().unwrap_or_default())
    })
}

/// The sentence says what it was, and never the value of a secret.
fn not_fetched(error: &PackageError, secrets: &Map<String, Value>) -> Failure {
    let status = match error {
        PackageError::Unreachable(_) => StatusCode::BAD_GATEWAY,
        PackageError::TooSlow(_) => StatusCode::GATEWAY_TIMEOUT,
        PackageError::Refused(_) | PackageError::Exists(_) | PackageError::NotInstalled => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
    };
    let sentence = secrets.iter().fold(error.to_string(), |text, (name, value)| {
        text.replace(value.as_str().unwrap_or_default(), &format!("${{{name}}}"))
    });
    Failure::new(status, sentence)
}

/// Gives a conversation a plugin that is installed, switched on or not.
async fn load(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let name = text(&body, "plugin_ref")?;
    let resident = app.conversations.resident(id).await?;
    let packages = keeper(&app)?;
    let installed = packages.list(PackageKind::Plugin);
    let Some(package) = installed.into_iter().find(|package| package.name == name) else {
        let sentence = format!("Plugin '{name}' is not installed; install it by POST /api/plugins/install");
        return Err(Failure::new(StatusCode::BAD_REQUEST, sentence));
    };
    let from = PackageSource {
        source: package.install_path,
        reference: None,
        repo_path: None,
    };
    let fetched = packages.fetch(&from, FETCH_LIMIT).await;
    let fetched = fetched.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    app.conversations.load_plugin(&resident, &fetched.plugin).await?;
    Ok(success())
}
