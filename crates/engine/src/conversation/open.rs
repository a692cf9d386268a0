//! Puts the parts of a conversation together and starts its actor.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use deft_llm::TokenMeter;
use deft_store::{Store, StoreError};
use deft_tools::{SecretSet, Secrets, Tool, Toolbox};
use deft_types::{Action, ConversationId, Status, Tokens, ToolSpec};
use deft_workspace::Workspace;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::{Conversation, MAX_QUEUED_COMMANDS, OpenError, Outfit, Parts, Progress, load};
use crate::above::Above;
use crate::actor::{Actor, External, Hooked, LogEnd, Noted, Reviewing, Trouble};
use crate::allow_rules::{COMMANDS, HOSTS, ProjectRules};
use crate::aside::Turns;
use crate::delegate_tool::Delegate;
use crate::extensions::Extensions;
use crate::hosts::HostDesk;
use crate::invoke_skill::InvokeSkill;
use crate::live::Broadcast;
use crate::mode::Mode;
use crate::model_tools::{self, Images, Spending};
use crate::route_task::Said;
use crate::servers::ServerNews;
use crate::skills::Shelf;
use crate::state::{OpenCall, State};
use crate::sub_agents::{SubAgents, task_of_usage};
use crate::task_tool::{Task, said_by};
use crate::tasks::Tasks;
use crate::toolset::Toolset;
use crate::trace::Trace;
use crate::world::Point;

/// The tools whose calls agents of their own are at work for.
const GIVE_TASKS: [&str; 2] = ["task", "delegate"];

impl Conversation {
    /// Folds the log and starts the actor. A run that was cut off is paused: run it again to go on.
    pub async fn open(mut parts: Parts) -> Result<Self, OpenError> {
        let id = parts.lease.conversation();
        let state = load(parts.store.as_ref(), id).await?;
        let (project_rules, project_hosts) = of_project(parts.store.as_ref(), id).await?;
        parts.world.reached(Point::Loaded);
        let (commands, inbox) = mpsc::channel(MAX_QUEUED_COMMANDS);
        let (sender, progress) = watch::channel(undisturbed(state.status));
        let live = Broadcast::new();
        let above = fitted_out_above(&mut parts);
        let (below, arriving) = Above::below(above.clone(), parts.supervision.purse.take());
        let agents = parts.agents.take().filter(|_| parts.limits.max_depth != Some(0));
        let shared = Shared::new(&state, below);
        find_cut_off(agents.as_deref(), &state, &shared).await;
        let added = shared.tools(&parts, agents);
        let attendance = parts.supervision.attendance;
        let hosts = HostDesk::new(attendance.clone(), project_hosts, arriving);
        let mode = parts.supervision.mode;
        let host = added.into_iter().fold(parts.host, Toolbox::with);
        let (host, tools) = allowed(mode, host, parts.tools);
        let tools = asked_for(tools, parts.responses)?;
        // It is large, and held while the log is written.
        let mut actor = Box::new(Actor {
            store: parts.store,
            lease: parts.lease,
            model: parts.model,
            logged: parts.supervision.calls.clone(),
            model_name: parts.model_name,
            workspace: parts.workspace,
            directory: parts.directory,
            models: parts.models,
            spending: shared.spending,
            images: shared.images,
            said: shared.said,
            purse: shared.below.purse().clone(),
            above,
            secrets_above: SecretSet::default(),
            below: shared.below,
            tasks: shared.tasks,
            tools,
            host,
            limits: parts.limits,
            safety: parts.safety,
            project_rules,
            hosts,
            judge_model: parts.supervision.judge,
            monitor: parts.supervision.monitor,
            refinement: parts.supervision.refinement,
            reviewing: Reviewing::default(),
            inbox,
            held: Vec::new(),
            previews: tokio::task::JoinSet::new(),
            request: None,
            titles: parts.supervision.titles,
            title_prompt: parts.supervision.title_prompt,
            titling: None,
            progress: sender,
            live: live.clone(),
            state,
            executor: None,
            work: None,
            ends_step: false,
            unsent: HashSet::new(),
            began: tokio::time::Instant::now(),
            kept_for_call: None,
            world: parts.world,
            unseen: Vec::new(),
            trace: Trace::new(id),
            memory: parts.memory,
            secrets: hidden(&parts.outfit),
            own_servers: mode.fitted(parts.outfit.clone()).servers,
            outfit: mode.fitted(parts.outfit),
            asked_secrets: HashMap::new(),
            news: ServerNews::default(),
            mode,
            hooks: parts.extensions.hooks.clone(),
            hooked: Hooked::default(),
            extensions: parts.extensions,
            shelf: shared.shelf,
            seeking: None,
            noted: Noted::default(),
            asked: Tokens::ZERO,
            meter: TokenMeter::new(),
            trouble: Trouble::default(),
            log_end: LogEnd::default(),
            condensed: Vec::new(),
            external: parts.external.map(External::new),
        });
        actor.hand_down();
        actor.pick_up().await?;
        // Ends with its last handle, or when it is closed.
        tokio::spawn(actor.run());
        Ok(Self {
            id,
            commands,
            progress,
            live,
            attendance,
            calls: parts.supervision.calls,
            request: None,
            turns: Turns::default(),
        })
    }
}

/// What the actor has together with tools that run beside it.
struct Shared {
    spending: Spending,
    images: Images,
    said: Said,
    shelf: Shelf,
    tasks: Tasks,
    below: Above,
}

impl Shared {
    fn new(state: &State, below: Above) -> Self {
        Self {
            spending: Spending::default(),
            images: Images::default(),
            said: Said::default(),
            shelf: Shelf::default(),
            tasks: Tasks::new(state.tasks.clone(), state.delegates.clone()),
            below,
        }
    }

    /// Those tools: they use other models, give tasks, and use skills.
    fn tools(&self, parts: &Parts, agents: Option<Arc<dyn SubAgents>>) -> Vec<Arc<dyn Tool>> {
        let (model, purse) = (parts.model.as_ref(), self.below.purse());
        let shown = (&self.images, &self.said);
        let models = parts.models.as_ref();
        let of_models =
            models.map(|models| model_tools::offered(models, model, &self.spending, purse, shown));
        let of_tasks = agents.map(|agents| self.task_tools(agents, parts.supervision.delegates));
        let invoke = invoke_skill(&parts.extensions, &parts.workspace, &self.shelf);
        let of_agents = of_tasks.into_iter().flatten();
        of_models
            .into_iter()
            .flatten()
            .chain(of_agents)
            .chain(invoke)
            .collect()
    }

    fn task_tools(&self, agents: Arc<dyn SubAgents>, delegates: bool) -> Vec<Arc<dyn Tool>> {
        let task = Arc::new(Task {
            tasks: self.tasks.clone(),
            agents,
            above: self.below.clone(),
            spending: self.spending.clone(),
            shelf: self.shelf.clone(),
        });
        let delegate = delegates.then(|| -> Arc<dyn Tool> {
            Arc::new(Delegate {
                task: Arc::clone(&task),
            })
        });
        let task: Arc<dyn Tool> = task.clone();
        std::iter::once(task).chain(delegate).collect()
    }
}

/// What was allowed in the whole project: commands, and hosts.
async fn of_project(
    store: &dyn Store,
    id: ConversationId,
) -> Result<(ProjectRules, ProjectRules), StoreError> {
    let commands = ProjectRules::load(store, id, COMMANDS).await?;
    Ok((commands, ProjectRules::load(store, id, HOSTS).await?))
}

fn undisturbed(status: Status) -> Progress {
    Progress { status, fault: None }
}

/// Whoever gave the task, where it is one; the conversation has been given what it has from there.
fn fitted_out_above(parts: &mut Parts) -> Option<Above> {
    let above = parts.supervision.above.take()?;
    above.fit_out(parts);
    Some(above)
}

/// Finds the agents that were at work when the process of their conversation died: what they have used counts, and they
/// can go on.
async fn find_cut_off(agents: Option<&dyn SubAgents>, state: &State, shared: &Shared) {
    let gives_tasks = |call: &&OpenCall| GIVE_TASKS.contains(&call.event.tool_name.as_str());
    let calls: Vec<_> = state.open_calls.iter().filter(gives_tasks).collect();
    let Some(agents) = agents.filter(|_| !calls.is_empty()) else {
        return;
    };
    let begun = match agents.begun().await {
        Ok(begun) => begun,
        Err(error) => {
            tracing::warn!(%error, "which agents have begun tasks is not known");
            return;
        }
    };
    for task in begun {
        shared.spending.add_total(task.usage_id.clone(), &task.stats);
        let told = |call: &&&OpenCall| {
            let resume = match &call.event.action {
                Some(Action::Task(action)) => action.resume.as_deref(),
                _ => None,
            };
            task.told.as_ref() == Some(&said_by(&call.id, resume))
        };
        if let (Some(call), Some(id)) = (calls.iter().find(told), task_of_usage(&task.usage_id)) {
            shared.tasks.cut_off(call.id.clone(), id.to_owned());
        }
    }
}

/// The tool that uses skills, where there are some.
fn invoke_skill(
    extensions: &Extensions,
    workspace: &Arc<dyn Workspace>,
    shelf: &Shelf,
) -> Option<Arc<dyn Tool>> {
    let sources = extensions.skills.as_ref()?;
    Some(Arc::new(InvokeSkill {
        shelf: shelf.clone(),
        files: sources.files.clone(),
        workspace: workspace.clone(),
    }))
}

/// What hides the secrets of an outfit.
fn hidden(outfit: &Outfit) -> Secrets {
    let secrets = Secrets::default();
    secrets.set(outfit.secrets.values.clone());
    secrets
}

/// The tools that run here and all that there are, as far as the agent may use them in its mode.
fn allowed(mode: Mode, host: Toolbox, of_executor: Vec<ToolSpec>) -> (Toolbox, Toolset) {
    let host = host.only(|tool| mode.allows(tool));
    let of_executor = of_executor.into_iter().filter(|tool| mode.allows(tool));
    let tools = Toolset::new(of_executor.collect(), host.specs());
    (host, tools)
}

/// The tools, some of whose calls have to carry an answer.
fn asked_for(mut tools: Toolset, responses: BTreeMap<String, Value>) -> Result<Toolset, OpenError> {
    for (tool, response) in responses {
        tools.ask_for(tool, response)?;
    }
    Ok(tools)
}
