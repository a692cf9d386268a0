//! What a project and the user add to agents: skills, hooks, and other agents to give tasks to.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_engine::{Gathered, HOOKS_FILE, HookConfig, SubAgentKind};
use deft_executor::Client;
use deft_skills::{
    AgentDefinition, Files as _, Kind, Origin, PLUGIN_FOLDERS, Plugin, Roots, Skill, Skills, agent_as_sent,
    agents_of_project, plugin_homes, without_doubles,
};
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::JsonBody;
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind as Field, Object, Others, Table};
use crate::hooks;
use crate::request::{given, id_of};
use crate::router::Route;

/// The project that is meant.
const PROJECT: &Table = &[
    ("project_dir", Field::Text, Gap::Null),
    ("conversation_id", Field::Text, Gap::Null),
];
/// Whose skills are wanted. Marketplaces and organisations are not asked for any.
#[rustfmt::skip]
const WANTED_SKILLS: &Table = &[
    ("load_public", Field::Switch, Gap::Absent),
    ("load_user", Field::Switch, Gap::Absent),
    ("load_project", Field::Switch, Gap::Absent),
    ("load_org", Field::Switch, Gap::Absent),
    ("marketplace_path", Field::Text, Gap::Null),
    ("registered_marketplaces", Field::List(&MARKETPLACE), Gap::Absent),
    ("project_dir", Field::Text, Gap::Null),
    ("org_configs", Field::List(&ORGANISATION), Gap::Null),
    ("sandbox_config", Field::Map, Gap::Null),
];
/// Whose agents are wanted.
const WANTED_AGENTS: &Table = &[
    ("load_user", Field::Switch, Gap::Absent),
    ("load_project", Field::Switch, Gap::Absent),
    ("load_builtin", Field::Switch, Gap::Absent),
    ("project_dir", Field::Text, Gap::Null),
];
const MARKETPLACE: Field = Field::Object(&Object {
    class: None,
    fields: &[
        ("name", Field::Text, Gap::None),
        ("source", Field::Text, Gap::None),
        ("ref", Field::Text, Gap::Null),
        ("repo_path", Field::Text, Gap::Null),
    ],
    others: Others::Kept,
});
const ORGANISATION: Field = Field::Object(&Object {
    class: None,
    fields: &[
        ("repository", Field::Text, Gap::None),
        ("provider", Field::Text, Gap::None),
        ("org_repo_url", Field::Text, Gap::None),
        ("org_name", Field::Text, Gap::None),
    ],
    others: Others::Kept,
});

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/skills", skills),
        Route::post("/api/hooks", project_hooks),
        Route::post("/api/sub-agents", sub_agents),
    ]
}

/// The skills of a project and the user's own. A project's count more than the user's of the same name.
async fn skills(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let fields = fields::read_body(&body, WANTED_SKILLS, Others::Kept)?;
    let wants = |what: &str| fields.get(what) != Some(&Value::Bool(false));
    let project = match project_of(&app, &body).await?.filter(|_| wants("load_project")) {
        Some(project) => project.skills(),
        None => Skills::default(),
    };
    let of_project = project.all().len();
    let users_own = if wants("load_user") {
        app.conversations.composition.skills()
    } else {
        Vec::new()
    };
    let all = project.and(users_own);
    let shown: Vec<_> = all.all().iter().map(shown).collect();
    let sources = json!({"sandbox": 0, "registered_marketplaces": 0, "sdk_base": shown.len() - of_project,
        "org": 0, "project": of_project});
    Ok(Json(json!({"skills": shown, "sources": sources})))
}

/// The hooks that a project would like to have run.
async fn project_hooks(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let project = project_of(&app, &body).await?;
    let config = project.and_then(|project| project.hooks());
    Ok(Json(json!({ "hook_config": config })))
}

/// Who can be given tasks. A project's agent counts more than the user's of the same name, and both more than ours.
async fn sub_agents(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let fields = fields::read_body(&body, WANTED_AGENTS, Others::Kept)?;
    let wants = |what: &str| fields.get(what) != Some(&Value::Bool(false));
    let composition = &app.conversations.composition;
    let mut defined = match project_of(&app, &body).await?.filter(|_| wants("load_project")) {
        Some(project) => agents_of_project(&project.files, &project.root)
            .into_iter()
            .flatten()
            .collect(),
        None => Vec::new(),
    };
    if wants("load_user") {
        defined.extend(composition.users_agents());
    }
    let mut shown: Vec<_> = without_doubles(defined).iter().map(defined_agent).collect();
    if wants("load_builtin") {
        let ours = composition.built_in_agents();
        let is_free = |kind: &SubAgentKind| shown.iter().all(|agent| agent["name"] != kind.name);
        let ours: Vec<_> = ours
            .iter()
            .filter(|kind| is_free(kind))
            .map(built_in_agent)
            .collect();
        shown.extend(ours);
    }
    Ok(Json(json!({ "agents": shown })))
}

/// The files of a project that matter to agents.
pub(super) struct Project {
    root: String,
    files: Gathered,
}

/// The project that a request names. None: it names none, or there is nothing there.
///
/// By the name of a conversation it is the one that it works on, wherever that is. A workspace that is elsewhere is not
/// woken for this.
///
/// By its directory it is read by the executor of a conversation that works there, or else by one that is not kept. The one
/// around it is that of the routes for files: it is one for all projects.
pub(super) async fn project_of(app: &App, body: &Value) -> Result<Option<Project>, Failure> {
    let fields = fields::read_body(body, PROJECT, Others::Kept)?;
    let path = if let Some(id) = id_of(&fields, "conversation_id")? {
        let site = app.places.of_conversation(app, id).await?;
        if let Some(client) = app.places.at_work_on(app, &site).await? {
            return Project::read(&client).await.map(Some);
        }
        if !site.is_here() {
            return Ok(None);
        }
        site.root
    } else if let Some(directory) = given(&fields, "project_dir").and_then(Value::as_str) {
        app.places.resolved(app, None, directory).await?
    } else {
        return Ok(None);
    };
    let around = app.places.site(app, None, &path, "project_dir").await?;
    if let Some(client) = app.places.at_work_in(app, &path).await? {
        return Project::read(&client).await.map(Some);
    }
    if around.root != path {
        // Only who is around it can tell that no link leads elsewhere.
        let client = match app.places.at_work_in(app, &around.root).await? {
            Some(client) => client,
            None => app.places.reach(app, &around).await?,
        };
        if client.stat(&path.display().to_string()).await.is_err() {
            return Ok(None);
        }
    }
    let project = app.places.briefly(app, &path, Project::read);
    project.await?.map(Some)
}

impl Project {
    async fn read(client: &Client) -> Result<Self, Failure> {
        let files = Gathered::of_workspace(client).await;
        let files = files.map_err(|error| Failure::internal("the project cannot be read", &error))?;
        let root = client.hello().workspace.clone();
        Ok(Self { root, files })
    }

    pub(super) fn plugins(&self) -> Vec<Plugin> {
        let folders = PLUGIN_FOLDERS
            .iter()
            .map(|folder| format!("{}/{folder}", self.root));
        let homes = folders.flat_map(|folder| plugin_homes(&self.files, &folder));
        homes
            .map(|home| Plugin::read(&self.files, &home, Origin::Project))
            .collect()
    }

    fn skills(&self) -> Skills {
        let roots = Roots {
            workspace: Some(self.root.clone()),
            ..Roots::default()
        };
        Skills::load(&self.files, &roots).0
    }

    /// As the contract writes them; none if there are none that can be used.
    fn hooks(&self) -> Option<Value> {
        let path = Path::new(&self.root).join(HOOKS_FILE);
        let text = self.files.read(&path.display().to_string()).ok()?;
        let written: Value = serde_json::from_str(&text).ok()?;
        match HookConfig::parse_kept(&written) {
            Ok(_) => Some(hooks::of_file(&written)).filter(hooks::has_any),
            Err(error) => {
                tracing::warn!(%error, project = self.root, "the hooks of a project cannot be used");
                None
            }
        }
    }
}

fn shown(skill: &Skill) -> Value {
    let kind = match skill.kind {
        Kind::Agent => "agentskills",
        Kind::Repo => "repo",
        Kind::Knowledge | Kind::Task | Kind::PathRule => "knowledge",
    };
    json!({
        "name": skill.name,
        "type": kind,
        "content": skill.body,
        "triggers": skill.triggers,
        "source": skill.path,
        "description": skill.description,
        "is_agentskills_format": skill.kind == Kind::Agent,
        "disable_model_invocation": skill.disable_model_invocation,
    })
}

/// Every field that the contract has of an agent, and what stands there where nothing is said.
fn complete(mut agent: Value) -> Value {
    const NULLS: [&str; 10] = [
        "color",
        "permission_mode",
        "max_iteration_per_run",
        "max_budget_per_run",
        "mcp_config",
        "mcp_servers",
        "profile_store_dir",
        "hooks",
        "condenser",
        "source",
    ];
    if let Some(fields) = agent.as_object_mut() {
        for name in NULLS {
            fields.entry(name).or_insert(Value::Null);
        }
    }
    agent
}

fn defined_agent(agent: &AgentDefinition) -> Value {
    let mut shown = agent_as_sent(agent);
    shown["is_builtin"] = false.into();
    shown["mcp_servers"] = Value::Null; // keys can stand there
    if !shown["condenser"].is_object() {
        shown["condenser"] = Value::Null; // a word of ours, which the contract does not know
    }
    complete(shown)
}

fn built_in_agent(kind: &SubAgentKind) -> Value {
    complete(json!({
        "name": kind.name,
        "description": kind.description,
        "model": "inherit",
        "tools": [],
        "skills": [],
        "system_prompt": "",
        "when_to_use_examples": [],
        "metadata": {},
        "level": "builtin",
        "is_builtin": true,
    }))
}
