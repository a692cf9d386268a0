//! Turns what a client may begin a conversation with (settings, or the name of a profile) into the agent itself.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::documents::Documents;
use crate::exposure::unseal;
use crate::failure::Failure;
use crate::fields;
use crate::launch_additions;
use crate::plugins;
use crate::request::given;
use crate::settings::{Settings, agent_of, completed_agent, merge};

/// Where models, agents and connections that have names are kept.
pub(crate) const PROFILES: &str = "profiles/";
pub(crate) const AGENT_PROFILES: &str = "agent-profiles/";
pub(crate) const CONNECTIONS: &str = "provider-connections/";
/// The settings of an agent that a profile of it may say.
const OF_PROFILE: [&str; 8] = [
    "agent",
    "tools",
    "persona",
    "condenser",
    "verification",
    "enable_classify_and_switch_llm_tool",
    "meta_profile_ref",
    "tool_concurrency_limit",
];

/// A start request in which the agent stands in full.
pub(crate) async fn resolved(app: &App, mut body: Value) -> Result<Value, Failure> {
    let Some(fields) = body.as_object_mut() else {
        return Ok(body);
    };
    let is_sealed = fields.get("secrets_encrypted");
    if is_sealed.is_some_and(fields::is_set) {
        for name in ["agent", "agent_settings", "secrets"] {
            if let Some(part) = fields.get_mut(name) {
                unseal(part, app.client_seal())?;
            }
        }
    }
    let sources = ["agent", "agent_settings", "agent_profile_id"].map(|name| given(fields, name).cloned());
    match sources {
        [None, Some(settings), None] => {
            let mut settings = completed_agent(&settings);
            connect(&app.documents, &mut settings["llm"]).await?;
            set_agent(fields, "agent_settings", &settings)?;
        }
        [None, None, Some(id)] => {
            let mut profile = find_agent(app, id.as_str().unwrap_or_default()).await?;
            let other_model = launch_additions::model(fields).map(str::to_owned);
            if let Some(name) = &other_model {
                profile["llm_profile_ref"] = name.as_str().into();
            }
            if let Some(name) = missing_model(app, &profile).await? {
                return Err(unresolved(&name));
            }
            let settings = profile_settings(app, &profile).await?;
            set_agent(fields, "agent_profile_id", &settings)?;
            let launched = json!({"agent_profile_id": profile["id"], "revision": profile["revision"],
                "secret_refs": profile["secret_refs"], "llm_profile_ref": other_model});
            fields.insert("launched_agent_profile".to_owned(), launched);
        }
        [Some(_), ..] => {
            if let Some(llm) = fields.get_mut("agent").and_then(|agent| agent.get_mut("llm")) {
                connect(&app.documents, llm).await?;
            }
        }
        _ => {} // refused with the reason when it is read
    }
    launch_additions::add(fields);
    plugins::attach(app, fields).await?;
    Ok(body)
}

/// The model that a profile of an agent names, where it is not there.
async fn missing_model(app: &App, profile: &Value) -> Result<Option<String>, Failure> {
    let name = profile["llm_profile_ref"].as_str().unwrap_or_default();
    let is_needed = profile["agent_kind"] != "acp";
    let is_there = !is_needed || app.documents.get(&format!("{PROFILES}{name}")).await?.is_some();
    Ok((!is_there).then(|| name.to_owned()))
}

fn unresolved(model: &str) -> Failure {
    let detail = json!({"code": "unresolved_profile_references",
        "message": format!("LLM profile '{model}' not found"), "dangling_llm_profile_ref": model,
        "dangling_mcp_server_refs": [], "dangling_meta_profile_ref": null, "dangling_meta_profile_llm_refs": []});
    Failure::detailed(StatusCode::UNPROCESSABLE_ENTITY, &detail)
}

fn set_agent(fields: &mut Map<String, Value>, source: &str, settings: &Value) -> Result<(), Failure> {
    fields.remove(source);
    fields.insert("agent".to_owned(), agent_of(settings)?.stored().clone());
    Ok(())
}

/// The profile of an agent, by its id.
pub(crate) async fn find_agent(app: &App, id: &str) -> Result<Value, Failure> {
    let all = app.documents.list(AGENT_PROFILES).await?;
    let found = all.into_iter().find(|(_, profile)| profile["id"] == id);
    found.map(|(_, profile)| profile).ok_or_else(|| {
        let sentence = format!("Agent profile with id '{id}' not found");
        Failure::new(StatusCode::NOT_FOUND, sentence)
    })
}

/// The settings that a profile of an agent stands for.
pub(crate) async fn profile_settings(app: &App, profile: &Value) -> Result<Value, Failure> {
    let mut settings = completed_agent(&json!({}));
    if profile["agent_kind"] == "acp" {
        merge(&mut settings, profile);
        return with_servers(app, profile, settings).await;
    }
    let name = profile["llm_profile_ref"].as_str().unwrap_or_default();
    settings["llm"] = model_profile(app, name).await?;
    for field in OF_PROFILE {
        if let Some(value) = profile.get(field).filter(|value| !value.is_null()) {
            merge(&mut settings[field], value);
        }
    }
    settings["llm"]["stream"] = true.into();
    let context = &mut settings["agent_context"];
    for name in ["system_message_suffix", "disabled_skills"] {
        context[name] = profile[name].clone();
    }
    // A profile has no skills of its own: all that there are count, but for those that it switches off.
    for name in ["load_user_skills", "load_project_skills"] {
        context[name] = true.into();
    }
    with_servers(app, profile, settings).await
}

/// Adds the MCP servers that a profile wants.
async fn with_servers(app: &App, profile: &Value, mut settings: Value) -> Result<Value, Failure> {
    let shared = Settings::load(&app.documents).await?;
    let servers = shared.value()["agent_settings"]["mcp_config"].as_object();
    let wanted = profile["mcp_server_refs"].as_array();
    let chosen: Map<_, _> = servers
        .into_iter()
        .flatten()
        .filter(|(name, _)| wanted.is_none_or(|wanted| wanted.contains(&json!(name))))
        .map(|(name, server)| (name.clone(), server.clone()))
        .collect();
    settings["mcp_config"] = Value::Object(chosen);
    Ok(settings)
}

/// The settings of a model that have a name, key included.
pub(crate) async fn model_profile(app: &App, name: &str) -> Result<Value, Failure> {
    let found = profile_model(&app.documents, name).await?;
    found.ok_or_else(|| no_profile(name))
}

/// The same, if there is one.
pub(crate) async fn profile_model(documents: &Documents, name: &str) -> Result<Option<Value>, Failure> {
    let mut found = documents.get(&format!("{PROFILES}{name}")).await?;
    if let Some(llm) = &mut found {
        connect(documents, llm).await?;
    }
    Ok(found)
}

pub(crate) fn no_profile(name: &str) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, format!("Profile '{name}' not found"))
}

/// Fills in the key and the address of the provider connection that a model's settings name.
async fn connect(documents: &Documents, llm: &mut Value) -> Result<(), Failure> {
    let Some(id) = llm["provider_connection_id"].as_str() else {
        return Ok(());
    };
    let found = documents.get(&format!("{CONNECTIONS}{id}")).await?;
    let connection =
        found.ok_or_else(|| Failure::refused(format!("Provider connection '{id}' not found")))?;
    connected(llm, &connection);
    Ok(())
}

/// Fills in the key and the address of a provider connection.
pub(crate) fn connected(llm: &mut Value, connection: &Value) {
    llm["api_key"] = connection["api_key"].clone();
    if llm["base_url"].is_null() {
        llm["base_url"] = connection["base_url"].clone();
    }
}
