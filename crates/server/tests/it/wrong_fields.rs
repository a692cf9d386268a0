//! Fields of a wrong type: refused in the contract's words, all of them at once, whatever the body.

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::desk::Desk;

/// What is put into a start, and what is wrong then.
const STARTS: &str = r#"{"agent.tools": 3} => body.agent.tools: list_type
{"agent.tools": [3]} => body.agent.tools.0: model_type
{"agent.tools": [{}]} => body.agent.tools.0.name: missing
{"agent.condenser": 3} => body.agent.condenser: model_type
{"agent.condenser": {"kind": "X"}} => body.agent.condenser: value_error
{"agent.condenser": {"kind": "LLMSummarizingCondenser"}} => body.agent.condenser.llm: missing
{"agent.condenser": {"kind": "LLMSummarizingCondenser", "llm": {"model": "demo"}, "max_size": "x"}} => body.agent.condenser.max_size: int_parsing
{"agent.critic": 3} => body.agent.critic: model_type
{"agent.critic": {"kind": "X"}} => body.agent.critic: value_error
{"agent.agent_context": 3} => body.agent.agent_context: model_type
{"agent.agent_context": {"skills": [{"name": "a"}]}} => body.agent.agent_context.skills.0.content: missing
{"agent.mcp_config": 3} => body.agent.mcp_config: dict_type
{"agent.mcp_config": {"a": 3}} => body.agent.mcp_config.a: model_type
{"agent.system_prompt": 3} => body.agent.system_prompt: string_type
{"agent.persona": []} => body.agent.persona: string_type
{"secrets": 3} => body.secrets: dict_type
{"secrets": {"A": 3}} => body.secrets.A: model_attributes_type
{"secrets": {"A": {"kind": "X"}}} => body.secrets.A: value_error
{"client_tools": 3} => body.client_tools: list_type
{"client_tools": [{"name": "a"}]} => body.client_tools.0.description: missing
{"client_tools": [{"name": "a", "description": "b", "parameters": {"type": "string"}}, {"name": "a", "description": "b", "parameters": {}}]} => body.client_tools.0.parameters: value_error, body.client_tools.1.parameters: value_error
{"hook_config": {"pre_tool_use": [{"command": "x"}]}} => body.hook_config: value_error
{"hook_config": {"stop": [{"hooks": [{"command": ""}]}]}} => body.hook_config: value_error
{"plugins": 3} => body.plugins: list_type
{"plugins": [{"source": 3}]} => body.plugins.0.source: string_type
{"confirmation_policy": {"kind": "X"}} => body.confirmation_policy: value_error
{"confirmation_policy": {"kind": "ConfirmRisky", "threshold": "X"}} => body.confirmation_policy.threshold: enum
{"security_analyzer": 3} => body.security_analyzer: model_attributes_type
{"workspace": {"working_dir": 3}} => body.workspace.working_dir: string_type
{"workspace": {"kind": "DockerWorkspace", "working_dir": "/tmp"}} => body.workspace: value_error
{"worktree_options": {"x": 1}} => body.worktree_options.x: extra_forbidden
{"agent_launch_additions": {"x": 1}} => body.agent_launch_additions.x: extra_forbidden
{"agent_launch_additions": {"llm_profile_ref": "p"}} => body: value_error
{"container": {"x": 1}} => body.container.x: extra_forbidden
{"prompt": 3} => body.prompt: string_type
{"agent.tools": 3, "agent.critic": 3, "secrets": 3, "client_tools": {}} => body.secrets: dict_type, body.client_tools: list_type, body.agent.tools: list_type, body.agent.critic: model_type"#;

/// Other requests, and what is wrong with them.
const OTHERS: &str = r#"POST /api/bash/execute_bash_command {"command": 3, "cwd": 4, "timeout": "x"} => body.command: string_type, body.cwd: string_type, body.timeout: int_parsing
POST TALK/events {"role": "x", "content": 3, "run": "maybe"} => body.role: literal_error, body.content: list_type, body.run: bool_parsing
POST TALK/events {"content": [{"type": "text", "text": 3}]} => body.content.0.TextContent.text: string_type, body.content.0.ImageContent.type: literal_error, body.content.0.ImageContent.image_urls: missing
POST TALK/events/respond_to_confirmation {"accept": 3, "reason": 3} => body.accept: bool_parsing, body.reason: string_type
POST TALK/confirmation_policy {"policy": 3} => body.policy: model_attributes_type
POST TALK/goal {"objective": 3, "max_iterations": 1.5} => body.objective: string_type, body.max_iterations: int_from_float
POST TALK/children {"task": "", "title": 3, "isolation": "x"} => body.task: string_too_short, body.title: string_type, body.isolation: literal_error
POST TALK/secrets {"secrets": 3} => body.secrets: dict_type
PATCH TALK {"title": 3, "tags": 3} => body.title: string_type, body.tags: dict_type
POST /api/llm/provider-connections {"display_name": "", "provider": 4, "x": 1} => body.display_name: string_too_short, body.provider: string_type, body.api_key: missing, body.x: extra_forbidden
PATCH /api/llm/provider-connections/c {"base_url": 6, "x": 1} => body.base_url: string_type, body.x: extra_forbidden
POST /api/acp/models {"agent_settings": "zzz", "refresh": 3} => body.agent_settings: model_attributes_type, body.refresh: bool_parsing
POST TALK/fork {"title": 3, "reset_metrics": "zz", "from_event_id": 3} => body.title: string_type, body.reset_metrics: bool_parsing, body.from_event_id: string_type
POST TALK/navigate {"event_id": 3} => body.event_id: string_type
POST /api/skills {"load_user": null, "registered_marketplaces": [{}], "project_dir": 3} => body.load_user: bool_type, body.registered_marketplaces.0.name: missing, body.registered_marketplaces.0.source: missing, body.project_dir: string_type
POST /api/sub-agents {"load_builtin": "zz", "project_dir": 3} => body.load_builtin: bool_parsing, body.project_dir: string_type
POST /api/hooks {"project_dir": 3} => body.project_dir: string_type
POST /api/workspaces {"workspaces": [{"id": 3}]} => body.workspaces.0.id: string_type, body.workspaces.0.path: missing
POST /api/workspaces/parents {"parents": 3} => body.parents: list_type
POST /api/meta-profiles/m {"classifier_model": "x", "classes": 3, "model_table": 3} => body.classes: list_type, body.model_table: string_type
POST /api/agent-profiles/p {"condenser": 3, "tools": 3, "revision": 1} => openhands.tools: list_type, openhands.condenser: model_type
POST /api/agent-profiles/p {"llm_profile_ref": "m", "acp_model": "x"} => openhands.acp_model: extra_forbidden
POST /api/agent-profiles/p {"agent_kind": "acp", "llm_profile_ref": "m"} => acp.llm_profile_ref: extra_forbidden
POST /api/agent-profiles/p {"agent_kind": "acp", "acp_prompt_timeout": 0, "acp_startup_timeout": -1} => acp.acp_prompt_timeout: greater_than, acp.acp_startup_timeout: greater_than_equal
POST /api/plugins/fetch {"source": "/nowhere", "timeout": 0} => body.timeout: greater_than_equal
POST /api/plugins/fetch {"source": "/nowhere", "timeout": 601} => body.timeout: less_than_equal
POST /api/agent-profiles/p {} => openhands.llm_profile_ref: missing
POST /api/profiles/p {"llm": {"model": "m"}, "include_secrets": 5} => body.include_secrets: bool_parsing
POST /api/agent-profiles/p/materialize {"profile": 3} => body.profile: dict_type
POST /api/settings/mcp/x {"command": 3} => body.command: string_type
POST /api/mcp/test {"server": "x"} => body.server: model_attributes_type
POST /api/mcp/oauth/start {"server": {"url": 3}} => body.server.url: string_type
POST TALK/switch_llm {"llm": 3} => body.llm: model_attributes_type
PATCH /api/settings {"agent_settings_diff": 3, "active_profile": 3} => body.agent_settings_diff: dict_type, body.active_profile: string_type"#;

/// What is wrong, as `place: word`, numbers of items included.
async fn faults(desk: &Desk, method: Method, path: &str, body: Value) -> Vec<String> {
    let (status, detail) = desk.refusal(method, path, body.clone()).await;
    assert_eq!(status, 422, "{path} {body}: {detail}");
    let Some(issues) = detail.as_array() else {
        panic!("{path} {body}: only {detail}");
    };
    let told = |issue: &Value| {
        assert!(
            issue["msg"].is_string() && issue.get("input").is_some(),
            "{issue}"
        );
        let place = issue["loc"].as_array().unwrap().iter();
        let place: Vec<_> = place
            .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned))
            .collect();
        format!("{}: {}", place.join("."), issue["type"].as_str().unwrap())
    };
    issues.iter().map(told).collect()
}

#[tokio::test]
async fn every_part_of_a_start_is_held_to_its_type() {
    let desk = Desk::new().await;
    for line in STARTS.lines() {
        let (change, expected) = line.split_once(" => ").unwrap();
        let mut request = desk.start_request("demo");
        let change: Map<String, Value> = serde_json::from_str(change).unwrap();
        for (name, value) in change {
            match name.strip_prefix("agent.") {
                Some(name) => request["agent"][name] = value,
                None => request[name] = value,
            }
        }
        let found = faults(&desk, Method::POST, "/api/conversations", request).await;
        assert_eq!(found.join(", "), expected, "{line}");
    }
}

#[tokio::test]
async fn settings_of_an_agent_are_held_to_their_types_too() {
    let desk = Desk::new().await;
    for (settings, expected) in [
        (json!(3), "body.agent_settings: dict_type"),
        (json!({"llm": 3}), "body.agent_settings.llm: model_type"),
        (
            json!({"condenser": 3}),
            "body.agent_settings.condenser: model_type",
        ),
        (json!({"tools": {}}), "body.agent_settings.tools: list_type"),
    ] {
        let body = json!({"workspace": {"working_dir": desk.work()}, "agent_settings": settings});
        let found = faults(&desk, Method::POST, "/api/conversations", body).await;
        assert_eq!(found, [expected]);
    }
}

#[tokio::test]
async fn other_bodies_tell_all_that_is_wrong_as_well() {
    let desk = Desk::new().await;
    let talk = desk.begin_with(desk.start_request("demo")).await;
    for line in OTHERS.lines() {
        let (request, expected) = line.split_once(" => ").unwrap();
        let mut parts = request.splitn(3, ' ');
        let mut part = || parts.next().unwrap();
        let method: Method = part().parse().unwrap();
        let path = part().replace("TALK", &talk.path(""));
        let body = serde_json::from_str(part()).unwrap();
        let found = faults(&desk, method, &path, body).await;
        assert_eq!(found.join(", "), expected, "{line}");
    }
}

#[tokio::test]
async fn what_is_asked_for_and_cannot_be_had_is_refused_with_what_to_do() {
    let desk = Desk::new().await;
    let mut request = desk.start_request("demo");
    request["container"] = json!({"memory": "1g"});
    let (status, why) = desk.refusal(Method::POST, "/api/conversations", request).await;
    assert_eq!(status, 422);
    assert!(why.as_str().unwrap().contains("docker:IMAGE"), "{why}");
}

#[tokio::test]
async fn what_the_contract_lets_be_null_or_said_otherwise_is_taken() {
    let desk = Desk::new().await;
    let mut request = desk.start_request("demo");
    request["agent"]["tools"] = json!([{"name": "terminal", "params": null}]);
    request["agent"]["security_policy_filename"] = Value::Null;
    request["agent"]["critic"] = json!({"kind": "APIBasedCritic", "api_key": null});
    let skill = json!({"name": "s", "content": "c", "allowed_tools": "terminal file_editor"});
    request["agent"]["agent_context"] = json!({"skills": [skill]});
    request["agent_settings"] = json!({"llm": {"model": "other"}});
    let talk = desk.begin_with(request).await;
    let agent = desk.get(&talk.path("?include_skills=true")).await["agent"].clone();
    assert_eq!(agent["llm"]["model"], "demo");
    assert_eq!(agent["tools"][0]["params"], json!({}));
    assert_eq!(agent["security_policy_filename"], "");
    let skills = &agent["agent_context"]["skills"];
    assert_eq!(
        skills[0]["allowed_tools"],
        json!(["terminal", "file_editor"]),
        "{agent}"
    );
}

#[tokio::test]
async fn a_secret_in_the_wrong_place_is_not_echoed() {
    let desk = Desk::new().await;
    let mut request = desk.start_request("demo");
    request["secrets"] = json!({"A": ["hunter-two"], "B": {"kind": "X", "value": "hunter-three"}});
    let (_, why) = desk.refusal(Method::POST, "/api/conversations", request).await;
    assert!(!why.to_string().contains("hunter"), "{why}");
}
