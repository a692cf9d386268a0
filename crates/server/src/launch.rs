//! Turns what a client may begin a conversation with (settings, or the name of a profile) into the agent itself.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::exposure::unseal;
use crate::failure::Failure;
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
    if fields.get("secrets_encrypted") == Some(&Value::Bool(true)) {
        for name in ["agent", "agent_settings", "secrets"] {
            if let Some(part) = fields.get_mut(name) {
                unseal(part, &app.conversations.catalog.vault)?;
            }
        }
    }
    let sources = ["agent", "agent_settings", "agent_profile_id"].map(|name| given(fields, name).cloned());
    match sources {
        [None, Some(settings), None] => {
            let mut settings = completed_agent(&settings);
            connect(app, &mut settings["llm"]).await?;
            set_agent(fields, "agent_settings", &settings)?;
        }
        [None, None, Some(id)] => {
            let profile = find_agent(app, id.as_str().unwrap_or_default()).await?;
            let settings = profile_settings(app, &profile).await?;
            set_agent(fields, "agent_profile_id", &settings)?;
            let launched = json!({"agent_profile_id": profile["id"], "revision": profile["revision"],
                "secret_refs": profile["secret_refs"], "llm_profile_ref": null});
            fields.insert("launched_agent_profile".to_owned(), launched);
        }
        [Some(_), ..] => {
            if let Some(llm) = fields.get_mut("agent").and_then(|agent| agent.get_mut("llm")) {
                connect(app, llm).await?;
            }
        }
        _ => {} // refused with the reason when it is read
    }
    plugins::attach(app, fields).await?;
    Ok(body)
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
    for name in ["system_message_suffix", "disabled_skills"] {
        settings["agent_context"][name] = profile[name].clone();
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
    let found = app.documents.get(&format!("{PROFILES}{name}")).await?;
    let mut llm = found.ok_or_else(|| no_profile(name))?;
    connect(app, &mut llm).await?;
    Ok(llm)
}

pub(crate) fn no_profile(name: &str) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, format!("Profile '{name}' not found"))
}

/// Fills in the key and the address of the provider connection that a model's settings name.
async fn connect(app: &App, llm: &mut Value) -> Result<(), Failure> {
    let Some(id) = llm["provider_connection_id"].as_str() else {
        return Ok(());
    };
    let found = app.documents.get(&format!("{CONNECTIONS}{id}")).await?;
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
