//! Puts an engine together for a conversation, as its client has described it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use axum::http::StatusCode;
use deft_engine::{
    Brief, ClientResults, ClientTool, Conversation, Critic, Criticised, Extensions, HookConfig, Limits, Mode,
    Notes, Outfit, Parts, RealWorld, Refinement, Safety, SubAgents, Supervision,
};
use deft_llm::CallLog;
use deft_skills::{AgentDefinition, sent_agent, without_doubles};
use deft_tools::{Preset, Tool, Toolbox};
use deft_types::{ConversationId, ToolSpec};
use serde_json::Value;

use super::mcp::secret_named;
use super::{Conversations, root_of};
use crate::agent::Agent;
use crate::catalog::{Described, field};
use crate::failure::Failure;
use crate::mcp_outfit::McpOutfit;
use crate::memory::memory;
use crate::resident::{Resident, Running};
use crate::secrets::{Addresses, Given, Keeper};
use crate::skills::{of_project, sources_of};
use crate::tool_choices::{DELEGATE, TASK_TOOLS};

/// Calls of one reply that may run at the same time.
const PARALLEL_CALLS: usize = 8;

/// Levels of agents with tasks that are looked up.
const MAX_LEVELS: usize = 8;

impl Conversations {
    /// Starts the engine of a conversation as its client has described it.
    pub(super) async fn load(&self, resident: &Resident) -> Result<Running, Failure> {
        let id = resident.id;
        let described = self.catalog.find(id).await?.ok_or_else(Failure::not_found)?;
        let refused = |reason| Failure::new(StatusCode::BAD_REQUEST, reason);
        let root = PathBuf::from(&described.record.workspace);
        let mode = described.mode();
        let place = match mode {
            Mode::Act => self.composition.place(id, &root),
            Mode::Plan => self.composition.place_to_plan(id, &root),
        };
        let place = place.map_err(refused)?;
        let calls = CallLog::default();
        let model = self.model(&described.agent, &calls).await?;
        let agent = &described.agent;
        let results = ClientResults::default();
        let clients = described
            .client_tools()
            .into_iter()
            .map(|spec| -> Arc<dyn Tool> { Arc::new(ClientTool::new(spec, results.clone())) });
        let host = clients.fold(Toolbox::host().only(|tool| agent.wants(tool)), Toolbox::with);
        let given = Given::of(agent, described.secrets()).only(described.secret_refs());
        let secrets = given.sources(self.keeper())?;
        let filter = agent.filter();
        let offered = |tool: &ToolSpec| filter.as_ref().is_none_or(|offers| offers(tool.name()));
        let external = agent.external(&|name| secret_named(&secrets.values, name));
        let is_own = external.is_none();
        let tools: Vec<_> = place
            .tools
            .into_iter()
            .filter(|tool| is_own && has(agent, mode, tool) && offered(tool))
            .collect();
        let servers = match &external {
            Some(_) => McpOutfit::default(), // it has them itself
            None => self.servers(&described, &secrets.values),
        };
        let _ = self.allowance.left().await; // it can be looked at when nothing is left
        let parts = Parts {
            store: Arc::clone(&self.catalog.store),
            lease: self.catalog.store.acquire(id, &self.owner).await?,
            model,
            model_name: described.agent.model().to_owned(),
            workspace: place.workspace,
            directory: root_of(&described.record.workspace).display().to_string(),
            agents: self.agents(&described, &tools, &servers),
            tools,
            host,
            models: self.models(agent).await?,
            responses: BTreeMap::new(),
            world: Arc::new(RealWorld),
            limits: limits(&described),
            safety: self.safety(&described).await?,
            memory: memory(agent.condenser(), |llm| self.open_model(llm, &calls).ok())
                .unwrap_or_else(|| self.composition.memory()),
            outfit: Outfit {
                secrets,
                servers: servers.beside,
                elsewhere: servers.elsewhere,
                filter,
                checkpoints: true,
            },
            extensions: Extensions {
                skills: sources_of(agent, || self.composition.skills()).filter(|_| is_own),
                hooks: hooks_of(&described),
                agents: self.defined_agents(&described),
                // The workspace is read only for those who want something of it: to reach it can take long.
                project_hooks: of_project(agent),
                brief: Brief {
                    secrets: given.described(),
                    ..agent.brief()
                },
                notes: notes(agent),
            },
            supervision: Supervision {
                mode,
                judge: self.judge(&described, &calls),
                monitor: self.monitor(&described),
                refinement: refinement(agent.critic()).filter(|_| is_own),
                titles: self.titles(&described, &calls).await,
                title_prompt: title_prompt(&described),
                purse: Some(self.allowance.purse.clone()),
                attendance: resident.attendance.clone(),
                delegates: agent.asks_for(&[DELEGATE]), // clients that do not know it refuse it
                calls,
                ..Supervision::default()
            },
            external,
        };
        self.webhooks.subscribe(id, described.record.last_seq).await?;
        let conversation = Conversation::open(parts).await?;
        let (catalog, webhooks) = (Arc::clone(&self.catalog), Arc::clone(&self.webhooks));
        let now = &described.record;
        Ok(resident.watch(catalog, webhooks, conversation, now, &self.watchers))
    }

    /// Which actions wait, as the conversation began. The task of an agent that somebody runs by itself is held to what counts
    /// now in the conversation which it is a part of.
    async fn safety(&self, described: &Described) -> Result<Safety, Failure> {
        let mut safety = described.safety();
        let mut above = giver_of(described);
        for _ in 0..MAX_LEVELS {
            let Some(id) = above else { break };
            let Some(giver) = self.catalog.find(id).await? else {
                break;
            };
            let state = deft_engine::load(self.catalog.store.as_ref(), id).await?;
            let began = giver.safety();
            safety = Safety {
                policy: state.policy.unwrap_or(began.policy),
                analyzer: state.analyzer.unwrap_or(began.analyzer),
            };
            above = giver_of(&giver);
        }
        Ok(safety)
    }

    /// Whether servers may be reached by addresses that a client names.
    fn addresses(&self) -> Addresses {
        match self.allowance.elsewhere() {
            Ok(()) => Addresses::Reached,
            Err(_) => Addresses::Refused,
        }
    }

    /// Who knows the secrets that others keep.
    pub(crate) fn keeper(&self) -> Keeper {
        Keeper {
            catalog: Arc::clone(&self.catalog),
            composition: Arc::clone(&self.composition),
            addresses: self.addresses(),
        }
    }

    /// Who takes tasks off an agent that wants to give some away. What they may not do unasked is asked for here.
    fn agents(
        &self,
        described: &Described,
        tools: &[ToolSpec],
        servers: &McpOutfit,
    ) -> Option<Arc<dyn SubAgents>> {
        let agent = &described.agent;
        if !agent.asks_for(&TASK_TOOLS) {
            return None;
        }
        self.composition.agents(
            &self.catalog.store,
            &described.record,
            &self.client_model(agent.llm()),
            tools,
            servers,
        )
    }

    /// The agents that the client defines, and the user's own. The client's count more.
    fn defined_agents(&self, described: &Described) -> Vec<AgentDefinition> {
        let sent = described
            .request
            .get("agent_definitions")
            .and_then(Value::as_array);
        let sent = sent.into_iter().flatten().filter_map(sent_agent);
        without_doubles(sent.chain(self.composition.users_agents()))
    }
}

/// The conversation whose agent gave this one its task.
fn giver_of(described: &Described) -> Option<ConversationId> {
    serde_json::from_value(described.settings[field::PARENT].clone()).ok()
}

/// What the client wants of a title.
fn title_prompt(described: &Described) -> Option<String> {
    let wish = described.request.get("prompt").and_then(Value::as_str);
    wish.filter(|wish| !wish.trim().is_empty()).map(str::to_owned)
}

/// The hooks that the client asked for. They were read when it did, so they can be read now.
fn hooks_of(described: &Described) -> HookConfig {
    described
        .asked_hooks()
        .and_then(|config| HookConfig::parse_kept(config).ok())
        .unwrap_or_default()
}

/// What a conversation may use. What its user has left is in the purse that it draws on.
pub(super) fn limits(described: &Described) -> Limits {
    let own = described.limits();
    let steps = described.request.get("max_iterations").and_then(Value::as_u64);
    Limits {
        max_steps: u32::try_from(steps.unwrap_or(500)).unwrap_or(u32::MAX),
        parallel_calls: PARALLEL_CALLS,
        stuck_detection: described.request.get("stuck_detection") != Some(&Value::Bool(false)),
        ..own
    }
}

/// Whether notes of earlier conversations count: those of the project, which the workspace has.
fn notes(agent: &Agent) -> Notes {
    if agent.context()["load_memory"] == true {
        Notes::Used { of_user: None }
    } else {
        Notes::LeftOut
    }
}

/// How results are criticised, as a client wants it. Without `iterative_refinement` they are scored, and nobody is sent
/// back.
fn refinement(critic: &Value) -> Option<Refinement> {
    let kind = critic.as_object()?.get("kind").and_then(Value::as_str);
    let critic_of_kind = match kind {
        Some("AgentFinishedCritic") => Critic::Finished,
        Some("EmptyPatchCritic") => Critic::Changed,
        Some("PassCritic") => Critic::Anybody,
        // The classifier behind it is not ours to ask: a model judges in its place.
        None | Some("APIBasedCritic") => Critic::Model(None),
        Some(kind) => {
            tracing::warn!(
                kind,
                "results are not criticised: there is no critic of this kind"
            );
            return None;
        }
    };
    let usual = Refinement::default();
    let wanted = &critic["iterative_refinement"];
    let most = wanted["max_iterations"].as_u64();
    let most = most.map_or(usual.max_iterations, |most| {
        u32::try_from(most).unwrap_or(u32::MAX)
    });
    Some(Refinement {
        critic: critic_of_kind,
        criticised: match critic["mode"].as_str() {
            Some("all_actions") => Criticised::AllActions,
            _ => Criticised::Results,
        },
        threshold: wanted["success_threshold"].as_f64().unwrap_or(usual.threshold),
        max_iterations: if wanted.is_object() { most } else { 0 },
    })
}

/// Whether an agent has a tool: one that plans has those for planning, whatever it wants later.
fn has(agent: &Agent, mode: Mode, tool: &ToolSpec) -> bool {
    match mode {
        Mode::Act => agent.wants(tool),
        Mode::Plan => Preset::Planning.has(tool.name()),
    }
}
