//! Gives tasks to agents of their own: each has a conversation in the same log store, and answers with its result.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deft_skills::AgentDefinition;
use deft_tools::{Call, Reach, Tool, ToolError, Touches, spec};
use deft_types::{
    Action, Content, EventId, Isolation, Message, Observation, Role, Status, TaskAction, TaskObservation,
    ToolSpec,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::arguments;
use crate::budget::Purse;
use crate::command::ExecutorFate;
use crate::conversation::Conversation;
use crate::model_tools::Spending;
use crate::skills::Shelf;

/// Where agents of their own come from.
pub trait SubAgents: Send + Sync {
    /// The kinds there are.
    fn kinds(&self) -> Vec<SubAgentKind>;

    /// Opens the conversation of one: a new one, or that of an earlier task, which draws on `purse`. A definition says
    /// more of a kind that is none of ours. A new one may work on a branch of its own. The sentence of a failure goes to
    /// the model.
    fn open<'a>(
        &'a self,
        kind: &'a str,
        definition: Option<&'a AgentDefinition>,
        resume: Option<&'a str>,
        isolation: Isolation,
        purse: &'a Purse,
    ) -> BoxFuture<'a, Result<SubAgent, String>>;
}

/// The branch that an agent works on alone.
pub trait OwnBranch: Send + Sync {
    /// Puts what it did into the repository, and clears away where it worked. Says where to find it, in words for whoever
    /// gave the task.
    fn keep(&self) -> BoxFuture<'_, String>;
}

/// A kind of agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubAgentKind {
    /// What it is called by.
    pub name: String,
    /// What it is for.
    pub description: String,
}

/// An agent with a task of its own.
pub struct SubAgent {
    /// By which the task can be taken up again.
    pub task_id: String,
    /// Its conversation.
    pub conversation: Conversation,
    /// Where it works, if that is not where everybody does.
    pub own_branch: Option<Box<dyn OwnBranch>>,
}

/// Stands for the id of a task that nobody has.
pub(crate) const NOBODY: &str = "unknown";

/// The tasks that a conversation has given, by their ids. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Tasks(Arc<Mutex<BTreeSet<String>>>);

impl Tasks {
    pub(crate) fn new(given: BTreeSet<String>) -> Self {
        Self(Arc::new(Mutex::new(given)))
    }

    fn all(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The `task` tool.
pub(crate) struct Task {
    /// An agent takes up tasks again that it gave itself, and no other conversation of the user's.
    pub(crate) tasks: Tasks,
    pub(crate) agents: Arc<dyn SubAgents>,
    pub(crate) purse: Purse,
    pub(crate) spending: Spending,
    pub(crate) shelf: Shelf,
}

impl Task {
    async fn work(&self, action: &TaskAction, call: &Call) -> Result<TaskObservation, ToolError> {
        let stock = self.shelf.stock();
        let kind = action.subagent_type.as_str();
        let definition = stock.agents.iter().find(|agent| agent.name == kind);
        let prompt = match prompt(action, definition) {
            Ok(prompt) => prompt,
            Err(problem) => return Ok(failed(NOBODY, action, problem)),
        };
        if let Some(task) = &action.resume
            && !self.tasks.all().contains(task)
        {
            let text = format!("You have given no task {task}, so nobody can go on with it.");
            return Ok(failed(NOBODY, action, text));
        }
        if action.resume.is_none()
            && let Err(reason) = self.purse.take_agent()
        {
            let text = format!(
                "The task was not begun: {reason}. Do it yourself, or go on with one of them by its id."
            );
            return Ok(failed(NOBODY, action, text));
        }
        let opened = self
            .agents
            .open(
                kind,
                definition,
                action.resume.as_deref(),
                isolation(action, definition),
                &self.purse,
            )
            .await;
        let agent = match opened {
            Ok(agent) => agent,
            Err(reason) => {
                return Ok(failed(
                    NOBODY,
                    action,
                    format!("The task was not begun: {reason}"),
                ));
            }
        };
        self.tasks.all().insert(agent.task_id.clone());
        let ended = self.follow(&agent.conversation, prompt, call).await;
        let state = agent.conversation.inspect().await;
        let kept = match &agent.own_branch {
            Some(branch) => Some(branch.keep().await), // also what was done until it was stopped
            None => None,
        };
        let with_branch = |text: String| {
            [Some(text), kept.clone()]
                .into_iter()
                .flatten()
                .map(Content::text)
                .collect()
        };
        // What it started ends with it.
        agent.conversation.close(ExecutorFate::End).await;
        if let Ok(state) = &state {
            self.spending
                .add_total(format!("task:{}", agent.task_id), &state.stats);
        }
        let (status, answer) = match (ended, state) {
            (Err(error), _) => return Err(error),
            (Ok(status), Ok(state)) => {
                let structured = state.structured_output().map(ToString::to_string);
                (status, structured.or(state.answer))
            }
            (Ok(status), Err(_)) => (status, None),
        };
        let answer = answer.unwrap_or_else(|| "It said nothing.".to_owned());
        if status == Status::Finished {
            return Ok(TaskObservation {
                content: with_branch(answer),
                task_id: agent.task_id,
                subagent: action.subagent_type.clone(),
                status: "completed".to_owned(),
                ..TaskObservation::default()
            });
        }
        let text = format!("The agent stopped before it was done ({status}). What it said last: {answer}");
        Ok(TaskObservation {
            content: with_branch(text),
            ..failed(&agent.task_id, action, String::new())
        })
    }

    async fn follow(
        &self,
        conversation: &Conversation,
        prompt: String,
        call: &Call,
    ) -> Result<Status, ToolError> {
        let refused = |error: crate::CommandError| ToolError::Io {
            doing: "give the task to an agent".to_owned(),
            source: std::io::Error::other(error.to_string()),
        };
        let prompt = Message::text(Role::User, prompt);
        let id = EventId::from(Uuid::new_v4());
        conversation.send(id, prompt).await.map_err(refused)?;
        conversation.run().await.map_err(refused)?;
        tokio::select! {
            progress = conversation.settled() => Ok(progress.status),
            () = call.cancel.cancelled() => {
                let _ = conversation.interrupt().await; // it is closed next, whatever comes of this
                Err(ToolError::Cancelled)
            }
        }
    }
}

impl Tool for Task {
    fn spec(&self) -> ToolSpec {
        let kinds = self.agents.kinds();
        let kinds = kinds
            .iter()
            .map(|kind| format!("\n- {}: {}", kind.name, kind.description));
        let description = format!(
            "Gives a task to an agent of its own and waits for its result. It sees the workspace but nothing of this \
             conversation: say everything it must know, and what it is to report. Several calls in one reply run side by \
             side. Kinds:{}",
            kinds.collect::<String>()
        );
        let properties = json!({
            "prompt": {"type": "string", "description": "The task."},
            "description": {"type": "string", "description": "The task in three to five words."},
            "subagent_type": {"type": "string", "description": "The kind of agent. Default: general-purpose."},
            "parameters": {"type": "object", "description": "What that kind wants to know."},
            "isolation": {"type": "string", "enum": ["shared", "worktree"], "description": "worktree: it works on a branch \
                          of its own, from the last commit. Default: shared."},
            "resume": {"type": "string", "description": "The id of an earlier task whose agent is to go on."},
        });
        spec(
            "task",
            "Task",
            Reach::World,
            &description,
            &properties,
            &["prompt"],
        )
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::Task(action) = &call.action else {
                return Err(ToolError::WrongAction {
                    tool: "task",
                    kind: call.action.kind().to_owned(),
                });
            };
            Ok(self.work(action, &call).await?.into())
        }
        .boxed()
    }
}

/// The task, with parameters that are what the agent declares.
fn prompt(action: &TaskAction, definition: Option<&AgentDefinition>) -> Result<String, String> {
    let given = action.extra.get("parameters").and_then(Value::as_object);
    let mut given = given.cloned().unwrap_or_default();
    if let Some(schema) = definition.and_then(|definition| definition.declared.input_schema.as_ref()) {
        let fitting = arguments::fit(given, schema);
        let problem = |problem| format!("The parameters do not fit: {problem}. The agent takes: {schema}");
        given = fitting.map_err(problem)?.fields;
    }
    if given.is_empty() {
        return Ok(action.prompt.clone());
    }
    Ok(format!(
        "{}\n\nParameters: {}",
        action.prompt,
        Value::Object(given)
    ))
}

/// Whether an agent gets a branch of its own: where the task or its definition says so.
fn isolation(action: &TaskAction, definition: Option<&AgentDefinition>) -> Isolation {
    let wanted = action
        .extra
        .get("isolation")
        .is_some_and(|isolation| isolation == "worktree");
    if wanted || definition.is_some_and(|definition| definition.worktree) {
        Isolation::Worktree
    } else {
        Isolation::Shared
    }
}

/// The agents that people have defined, as a part of the prompt.
pub(crate) fn catalogue(agents: &[AgentDefinition]) -> Option<String> {
    let entry = |agent: &AgentDefinition| agent.offer().told("agent").replace("</", "<\u{200b}/");
    let entries: Vec<_> = agents.iter().map(entry).collect();
    let head = "More kinds of agents that the tool task can give tasks to:";
    (!entries.is_empty()).then(|| {
        format!(
            "<available_agents>\n{head}\n{}\n</available_agents>",
            entries.join("\n")
        )
    })
}

fn failed(id: &str, action: &TaskAction, text: String) -> TaskObservation {
    TaskObservation {
        content: vec![Content::text(text)],
        is_error: true,
        task_id: id.to_owned(),
        subagent: action.subagent_type.clone(),
        status: "error".to_owned(),
        ..TaskObservation::default()
    }
}
