//! Plugins that a client wants for one conversation: what they bring along becomes part of its request.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use deft_skills::{Plugin, agent_as_sent, as_sent};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::failure::Failure;
use crate::hooks;
use crate::packages::{PackageError, PackageSource, Packages};
use crate::request::given;

/// How long one may take to be fetched, where nobody says.
pub(crate) const FETCH_LIMIT: Duration = Duration::from_secs(60);
/// The parts of a request that plugins add to.
pub(crate) const PARTS: [&str; 3] = ["agent", "agent_definitions", "hook_config"];
const NOBODY: &str = "This server cannot install packages";
const MEMBERS: &str = "Only an admin may change packages: the server itself fetches them";

/// Who keeps packages. They are read and fetched by the server itself, so only its owner and admins bring some.
pub(crate) fn keeper(app: &App) -> Result<Arc<dyn Packages>, Failure> {
    if !app.users.may_see_all(app.user) {
        return Err(Failure::new(StatusCode::FORBIDDEN, MEMBERS));
    }
    let packages = app.users.composition.packages();
    packages.ok_or_else(|| Failure::new(StatusCode::BAD_REQUEST, NOBODY))
}

/// Fetches the plugins that a request names, and puts what they bring along into it.
pub(crate) async fn attach(app: &App, request: &mut Map<String, Value>) -> Result<(), Failure> {
    let Some(wanted) = given(request, "plugins").and_then(Value::as_array).cloned() else {
        return Ok(());
    };
    for source in &wanted {
        let refused = |error| Failure::refused(format!("`plugins` cannot be used: {error}"));
        let from = PackageSource::deserialize(source).map_err(|error| refused(error.to_string()))?;
        let fetched = keeper(app)?.fetch(&from, FETCH_LIMIT).await;
        let fetched = fetched.map_err(|error: PackageError| refused(error.to_string()))?;
        add(&fetched.plugin, request);
    }
    Ok(())
}

/// What the client says itself counts more than what a plugin says.
pub(crate) fn add(plugin: &Plugin, request: &mut Map<String, Value>) {
    let agents = plugin.agents.iter().map(agent_as_sent);
    append(request.entry("agent_definitions").or_insert(Value::Null), agents);
    if let Some(written) = &plugin.hooks {
        let hooks = request.entry("hook_config").or_insert(Value::Null);
        *hooks = both(&hooks::shown(hooks), &hooks::of_file(written));
    }
    let Some(agent) = request.get_mut("agent").filter(|agent| agent.is_object()) else {
        return; // refused with the reason when it is read
    };
    let skills = part(part(agent, "agent_context"), "skills");
    append(skills, plugin.skills.iter().map(as_sent));
    let config = part(agent, "mcp_config");
    let servers = match config.get("mcpServers") {
        Some(_) => part(config, "mcpServers"),
        None => config,
    };
    for (name, server) in &plugin.servers {
        let place = part(servers, name);
        if place.is_null() {
            *place = server.clone();
        }
    }
}

/// Adds to a list those whose names are not on it yet.
pub(crate) fn append(list: &mut Value, more: impl Iterator<Item = Value>) {
    if !list.is_array() {
        *list = json!([]);
    }
    if let Some(list) = list.as_array_mut() {
        for one in more {
            if list.iter().all(|other| other["name"] != one["name"]) {
                list.push(one);
            }
        }
    }
}

/// The hooks of one configuration before those of another, for each event.
fn both(first: &Value, second: &Value) -> Value {
    let events = first.as_object().into_iter().flatten();
    let joined = events.map(|(event, groups)| {
        let groups = groups.as_array().into_iter().flatten();
        let more = second[event].as_array().into_iter().flatten();
        (
            event.clone(),
            groups.chain(more).cloned().collect::<Vec<_>>().into(),
        )
    });
    Value::Object(joined.collect())
}

/// A part of an object, and of what should be one.
fn part<'v>(value: &'v mut Value, name: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    &mut value[name]
}
