//! The agent of a conversation, as clients describe it: which model answers and which tools it has.

use deft_engine::{Brief, ExternalAgent, ToolFilter};
use deft_types::ToolSpec;
use serde_json::{Map, Value, json};

use crate::agent_fields::AGENT;
use crate::external;
use crate::failure::{Failure, Faults};
use crate::fields;
use crate::masking::{Mask, mask, without_nulls};
use crate::model_fields;
use crate::tool_choices::MODEL_TOOLS;
use crate::tool_filter;
use crate::validation::Issue;

/// The name that stands for all tools of the browser.
pub(crate) const BROWSER_SET: &str = "browser_tool_set";

/// The tools that an agent has beside those that it names, by the contract's names.
pub(crate) const ALWAYS_TOOLS: [&str; 2] = ["FinishTool", "ThinkTool"];
/// The tool that changes the model, for agents of settings that name no tools.
pub(crate) const SWITCH_TOOL: &str = "SwitchLLMTool";

/// What the contract's clients find in a model's settings where nobody has said otherwise.
const LLM_DEFAULTS: &str = include_str!("agent/llm.json");

/// An agent with every field the contract has. Holds secrets: show only what [`Agent::shown`] gives.
#[derive(Clone)]
pub(crate) struct Agent(Value);

impl Agent {
    /// Reads what a client sent and fills in what it left out.
    pub(crate) fn read(sent: &Value) -> Result<Self, Failure> {
        let place = &["body", "agent"];
        let Some(fields) = sent.as_object() else {
            let msg = "Input should be a valid dictionary";
            return Err(Issue::new("dict_type", place, msg, sent).into());
        };
        match fields.get("kind").map(|kind| kind.as_str().unwrap_or_default()) {
            Some("Agent") => {}
            None if fields.contains_key("llm") => {}
            Some(external::KIND) => return Ok(Self(external::completed(fields)?)),
            other => {
                let error = format!(
                    "Unknown kind '{}' for openhands.sdk.agent.base.AgentBase; Expected one of: ['ACPAgent', 'Agent']",
                    other.unwrap_or_default()
                );
                return Err(Issue::rule(place, &error, sent).into());
            }
        }
        let mut faults = Faults::default();
        let llm = faults.take(match fields.get("llm") {
            Some(Value::Object(llm)) => model_fields::read(&["body", "agent", "llm"], llm),
            Some(other) => {
                let msg = "Input should be a valid dictionary or instance of LLM";
                let issue = Issue::new("model_type", &["body", "agent", "llm"], msg, other);
                Err(issue.with(json!({"class_name": "LLM"})).into())
            }
            None => Err(Issue::missing(&["body", "agent", "llm"], sent).into()),
        });
        let others = faults.take(fields::read(place, fields, AGENT));
        let filter = faults.take(tool_filter::of_agent(sent));
        match (llm, others, filter) {
            (Some(llm), Some(others), Some(_)) => Ok(Self(completed(&others, &llm))),
            _ => Err(faults.told()),
        }
    }

    /// The agent of a conversation that no client of ours has made.
    pub(crate) fn of_model(model: &str) -> Self {
        let llm = Map::from_iter([("model".to_owned(), Value::from(model))]);
        let tools = json!({"tools": [{"name": "terminal"}, {"name": "file_editor"}]});
        Self(completed(&tools.as_object().cloned().unwrap_or_default(), &llm))
    }

    /// From what [`Agent::stored`] gave.
    pub(crate) fn from_stored(value: Value) -> Self {
        Self(value)
    }

    /// Its MCP servers by name, if it has any. One that names neither a program nor an address is somebody's draft, which
    /// the contract takes as well.
    pub(crate) fn servers(&self) -> Option<Value> {
        let servers: Map<String, Value> = named_servers(&self.0)
            .map(|(name, server)| (name.clone(), server.clone()))
            .collect();
        Some(servers)
            .filter(|servers| !servers.is_empty())
            .map(Value::Object)
    }

    /// Everything, secrets included.
    pub(crate) fn stored(&self) -> &Value {
        &self.0
    }

    /// What a client may see.
    pub(crate) fn shown(&self, mask_with: Mask) -> Value {
        let mut shown = self.0.clone();
        if let Some(llm) = shown["llm"].as_object_mut() {
            llm.remove("fallback_strategy"); // the contract does not show it
        }
        mask(&mut shown, mask_with);
        if mask_with == Mask::Asterisks {
            without_nulls(&mut shown);
        }
        shown
    }

    /// The settings of its model, secrets included.
    pub(crate) fn llm(&self) -> &Value {
        &self.0["llm"]
    }

    /// The same agent with another model.
    pub(crate) fn with_llm(&self, llm: &Map<String, Value>) -> Self {
        let mut agent = self.0.as_object().cloned().unwrap_or_default();
        agent.remove("llm");
        Self(completed(&agent, llm))
    }

    /// Whether it makes room in what its model sees when it is told to.
    pub(crate) fn condenses(&self) -> bool {
        !matches!(self.0["condenser"]["kind"].as_str(), None | Some("NoOpCondenser"))
    }

    /// How it is to keep its memory short, as the client said.
    pub(crate) fn condenser(&self) -> &Value {
        &self.0["condenser"]
    }

    /// What it is to know beside its tasks, as the client said.
    pub(crate) fn context(&self) -> &Value {
        &self.0["agent_context"]
    }

    /// What is said to it once and for all. A persona does not take the place of our prompt: what keeps people's work
    /// safe stands there.
    pub(crate) fn brief(&self) -> Brief {
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Brief {
            prompt: text(&self.0["system_prompt"]),
            role: text(&self.0["persona"]),
            suffix: text(&self.context()["system_message_suffix"]),
            message_suffix: text(&self.context()["user_message_suffix"]),
            ..Brief::default()
        }
    }

    /// How its results are criticised, as the client said.
    pub(crate) fn critic(&self) -> &Value {
        &self.0["critic"]
    }

    /// The tools that it names.
    pub(crate) fn tool_names(&self) -> impl Iterator<Item = &str> {
        let tools = self.0["tools"].as_array().into_iter().flatten();
        tools.filter_map(|tool| tool["name"].as_str())
    }

    /// Whether it is to have a tool that the engine adds where it can, by one of its names.
    pub(crate) fn asks_for(&self, names: &[&str]) -> bool {
        self.tool_names().any(|name| names.contains(&name))
    }

    /// Whether it is to have the tools that use other models.
    pub(crate) fn uses_models(&self) -> bool {
        let always = self.0["include_default_tools"].as_array().into_iter().flatten();
        self.asks_for(&MODEL_TOOLS) || always.into_iter().any(|tool| tool == SWITCH_TOOL)
    }

    /// What the client says of a tool, by one of its names.
    pub(crate) fn tool_params(&self, names: &[&str]) -> &Value {
        let mut tools = self.0["tools"].as_array().into_iter().flatten();
        let found = tools.find(|tool| tool["name"].as_str().is_some_and(|name| names.contains(&name)));
        found.map_or(&Value::Null, |tool| &tool["params"])
    }

    /// The name of its model.
    pub(crate) fn model(&self) -> &str {
        self.0["llm"]["model"].as_str().unwrap_or_default()
    }

    /// Whether clients want to see replies piece by piece.
    pub(crate) fn streams(&self) -> bool {
        self.is_external() || self.0["llm"]["stream"] == true
    }

    /// Whether it is a program of its own.
    pub(crate) fn is_external(&self) -> bool {
        self.0["kind"] == external::KIND
    }

    /// The program that it is, with the MCP servers it is to use; `variable` gives what stands for the `${NAME}` in them.
    pub(crate) fn external(&self, variable: &dyn Fn(&str) -> Option<String>) -> Option<ExternalAgent> {
        external::parts(&self.0, variable)
    }

    /// The same agent, which is a program of its own, with another model.
    pub(crate) fn with_own_model(&self, model: &str) -> Self {
        let mut agent = self.0.clone();
        agent["acp_model"] = model.into();
        agent["llm"]["model"] = model.into();
        Self(agent)
    }

    /// Which tools may be offered, by their names, beside those that every agent has.
    pub(crate) fn filter(&self) -> Option<ToolFilter> {
        let pattern = tool_filter::of_agent(&self.0).ok().flatten(); // it was read before
        pattern.map(tool_filter::by_name)
    }

    /// Whether it is to have a tool. A name we do not know is no tool of ours.
    pub(crate) fn wants(&self, tool: &ToolSpec) -> bool {
        let named = |list: &str, name: &dyn Fn(&Value) -> bool| {
            self.0[list].as_array().into_iter().flatten().any(name)
        };
        let set = if tool.name().starts_with("browser_") {
            BROWSER_SET
        } else {
            tool.name()
        };
        named("tools", &|entry| {
            entry["name"] == tool.name() || entry["name"] == set
        }) || named("include_default_tools", &|entry| {
            *entry == tool.definition.kind.as_str()
        })
    }
}

/// The settings of a model that nobody has said anything about.
pub(crate) fn llm_defaults() -> Map<String, Value> {
    serde_json::from_str(LLM_DEFAULTS).unwrap_or_default()
}

fn completed_llm(llm: &Map<String, Value>) -> Value {
    let mut full = llm_defaults();
    full.extend(llm.clone());
    let is_subscription = full["auth_type"] == "subscription";
    full.insert("is_subscription".to_owned(), is_subscription.into());
    full.into()
}

fn completed(agent: &Map<String, Value>, llm: &Map<String, Value>) -> Value {
    let mut full = json!({
        "llm": completed_llm(llm), "tools": [], "mcp_config": {}, "filter_tools_regex": null,
        "include_default_tools": ALWAYS_TOOLS, "agent_context": null, "system_prompt": null,
        "system_prompt_filename": "system_prompt.j2", "security_policy_filename": "security_policy.j2",
        "system_prompt_kwargs": {"llm_security_analyzer": true}, "condenser": null, "critic": null,
        "tool_concurrency_limit": 1, "persona": null,
    });
    if let Some(full) = full.as_object_mut() {
        full.extend(
            agent
                .iter()
                .filter(|(name, _)| *name != "llm")
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        full.remove("kind");
        full.insert("kind".to_owned(), "Agent".into()); // the contract has it last
        for tool in full["tools"].as_array_mut().into_iter().flatten() {
            if tool["params"].is_null() {
                tool["params"] = json!({});
            }
        }
        if let Some(llm) = full["condenser"].get_mut("llm")
            && let Some(said) = llm.as_object()
        {
            *llm = completed_llm(said);
        }
        let skills = full["agent_context"].get_mut("skills");
        for skill in skills.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(tools) = skill["allowed_tools"].as_str() {
                let between = |char: char| char == ',' || char.is_whitespace();
                skill["allowed_tools"] = tools.split(between).filter(|tool| !tool.is_empty()).collect();
            }
        }
        let policy = &mut full["security_policy_filename"];
        if policy.is_null() {
            *policy = "".into(); // the contract's word for none
        }
    }
    full
}

/// The MCP servers of an agent that name a program or an address; the others are drafts.
pub(crate) fn named_servers(agent: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let config = &agent["mcp_config"];
    let servers = config.get("mcpServers").unwrap_or(config).as_object();
    let names = |server: &Value, field: &str| server.get(field).is_some_and(|value| !value.is_null());
    let is_named =
        move |server: &Value| !server.is_object() || names(server, "command") || names(server, "url");
    servers
        .into_iter()
        .flatten()
        .filter(move |(_, server)| is_named(server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_leaves_out_has_its_default_and_what_it_says_stays() {
        let sent = json!({"llm": {"model": "demo", "num_retries": 0, "later": 1}, "tools": [{"name": "terminal"}],
            "condenser": {"kind": "LLMSummarizingCondenser", "llm": {"model": "other"}}});
        let agent = Agent::read(&sent).unwrap();
        let shown = agent.shown(Mask::Null);
        assert_eq!(shown["llm"]["num_retries"], 0);
        assert_eq!(shown["llm"]["later"], 1);
        assert_eq!(shown["llm"]["timeout"], 300);
        assert_eq!(shown["tools"], json!([{"name": "terminal", "params": {}}]));
        let other = &shown["condenser"]["llm"];
        assert_eq!(
            (&other["model"], &other["timeout"]),
            (&json!("other"), &json!(300))
        );
        assert_eq!(shown["kind"], "Agent");
        assert_eq!(agent.model(), "demo");
        assert!(!agent.streams());
    }

    #[test]
    fn a_server_that_is_neither_a_program_nor_an_address_is_left_out() {
        let with = |servers: Value| {
            let agent = Agent::read(&json!({"llm": {"model": "demo"}, "mcp_config": servers})).unwrap();
            agent.servers()
        };
        assert_eq!(with(json!({"draft": {}, "other": {"url": null}})), None);
        let (named, draft) = (json!({"command": "srv"}), json!({"args": []}));
        assert_eq!(
            with(json!({"draft": draft, "s": named})),
            Some(json!({"s": named}))
        );
    }

    #[test]
    fn a_kind_that_is_none_is_named() {
        let refused = Agent::read(&json!({"kind": "NoSuchAgent"})).err().unwrap();
        assert!(format!("{refused:?}").contains("Unknown kind 'NoSuchAgent'"));
    }
}
