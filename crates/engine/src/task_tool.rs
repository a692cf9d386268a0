//! Gives tasks to agents of their own: each has a conversation in the same log store, and answers with its result.

use std::sync::Arc;

use deft_skills::AgentDefinition;
use deft_tools::{Call, Reach, Tool, ToolError, Touches, spec};
use deft_types::{
    Action, ActionId, Content, EventId, Isolation, Message, Observation, Role, Status, TaskAction,
    TaskObservation, ToolSpec,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::above::Above;
use crate::arguments;
use crate::model_tools::Spending;
use crate::skills::Shelf;
use crate::sub_agents::{Order, SubAgent, SubAgents, usage_of_task};
use crate::tasks::{Tasks, Waiting};

/// Stands for the id of a task that nobody has.
pub(crate) const NOBODY: &str = "unknown";
/// What an agent hears that waited for a word and is given more to do.
const NOT_AGREED: &str = "Nobody agreed to this.";

/// The `task` tool.
pub(crate) struct Task {
    /// An agent takes up tasks again that it gave itself, and no other conversation of the user's.
    pub(crate) tasks: Tasks,
    pub(crate) agents: Arc<dyn SubAgents>,
    pub(crate) above: Above,
    pub(crate) spending: Spending,
    pub(crate) shelf: Shelf,
}

/// What the agent of a call is to do.
enum Word {
    /// A task, or more of one. What has this id is said once.
    Task { id: EventId, prompt: String },
    /// What it waited for; a person agrees.
    Approved(Waiting),
}

impl Task {
    pub(crate) async fn work(&self, action: &TaskAction, call: &Call) -> Result<TaskObservation, ToolError> {
        let approved = self.tasks.approved(&call.id, action.resume.as_deref());
        let resume = match &approved {
            Some(waiting) => Some(waiting.task_id.clone()),
            None => action.resume.clone(),
        };
        let Some(kind) = self.kind(action, approved.is_some()) else {
            let task = resume.as_deref().unwrap_or(NOBODY);
            let text = format!("You have given no task {task}, so nobody can go on with it.");
            return Ok(failed(NOBODY, &action.subagent_type, text));
        };
        let stock = self.shelf.stock();
        let definition = stock.agents.iter().find(|agent| agent.name == kind);
        let word = match (approved, prompt(action, definition)) {
            (Some(waiting), _) => Word::Approved(waiting),
            (None, Ok(prompt)) => Word::Task {
                id: said_by(&call.id, resume.as_deref()),
                prompt,
            },
            (None, Err(problem)) => return Ok(failed(NOBODY, &kind, problem)),
        };
        let wanted = definition.map_or(&[][..], |definition| &definition.skills);
        let (skills, problems) = stock.skills.preloaded(wanted);
        let order = Order {
            kind: &kind,
            definition,
            skills,
            resume: resume.as_deref(),
            isolation: isolation(action, definition),
            above: &self.above,
            cancel: &call.cancel,
        };
        let agent = match self.begin(order).await {
            Ok(agent) => agent,
            Err(_) if call.cancel.is_cancelled() => return Err(ToolError::Cancelled),
            Err(reason) => {
                return Ok(failed(NOBODY, &kind, format!("The task was not begun: {reason}")));
            }
        };
        self.tasks.give(agent.task_id.clone(), kind.clone());
        let ended = self.follow(&agent, word, &call.cancel).await;
        let mut result = self.end(agent, ended, kind, call).await?;
        let problems = problems.into_iter().map(Content::text);
        result.content.extend(problems);
        Ok(result)
    }

    /// Begins the conversation of an agent that has nothing to do yet; gives the id of its task.
    pub(crate) async fn begin_idle(&self, kind: &str, cancel: &CancellationToken) -> Result<String, String> {
        let stock = self.shelf.stock();
        let definition = stock.agents.iter().find(|agent| agent.name == kind);
        let order = Order {
            kind,
            definition,
            skills: Vec::new(), // its prompt is written when it has something to do
            resume: None,
            isolation: isolation(&TaskAction::default(), definition),
            above: &self.above,
            cancel,
        };
        let agent = self.begin(order).await?;
        agent.end().await;
        self.tasks.give(agent.task_id.clone(), kind.to_owned());
        Ok(agent.task_id)
    }

    /// The kind of agent that a call is for. One that goes on stays what it was, whatever is said of it now.
    fn kind(&self, action: &TaskAction, is_begun: bool) -> Option<String> {
        let said = action.subagent_type.clone();
        match &action.resume {
            Some(task) => self.tasks.kind_of(task).or(is_begun.then_some(said)),
            None => Some(said),
        }
    }

    /// The agent that waited for this call, or one that is opened for it.
    async fn begin(&self, order: Order<'_>) -> Result<SubAgent, String> {
        match order.resume.map(|task| self.tasks.unpark(task)) {
            Some(Some(agent)) => return Ok(agent),
            Some(None) => return self.agents.open(order).await,
            None => {}
        }
        let purse = self.above.purse();
        purse
            .take_agent()
            .map_err(|reason| format!("{reason}. Do it yourself, or go on with one of them by its id."))?;
        let opened = self.agents.open(order).await;
        opened.inspect_err(|_| purse.give_agent_back())
    }

    /// Lets it work until it stops.
    async fn follow(
        &self,
        agent: &SubAgent,
        word: Word,
        cancel: &CancellationToken,
    ) -> Result<Status, ToolError> {
        let refused = |error: crate::CommandError| ToolError::Io {
            doing: "give the task to an agent".to_owned(),
            source: std::io::Error::other(error.to_string()),
        };
        let conversation = &agent.conversation;
        let state = conversation.inspect().await.map_err(refused)?;
        let waits = state.status == Status::WaitingForConfirmation;
        match word {
            // It wants something else by now: nobody has agreed to that.
            Word::Approved(waiting) if waits && waiting != Waiting::of(&agent.task_id, &state) => {
                return Ok(state.status);
            }
            Word::Approved(_) => {}
            // It did this before the call had to wait for another agent.
            Word::Task { id, .. }
                if state.status == Status::Finished && state.last_user_message_id.as_ref() == Some(&id) =>
            {
                return Ok(state.status);
            }
            Word::Task { id, prompt } => {
                if waits {
                    conversation
                        .reject(NOT_AGREED.to_owned())
                        .await
                        .map_err(refused)?; // to run it would be to agree
                }
                let prompt = Message::text(Role::User, prompt);
                conversation.send(id, prompt).await.map_err(refused)?;
            }
        }
        conversation.run().await.map_err(refused)?;
        tokio::select! {
            progress = conversation.settled() => Ok(progress.status),
            () = cancel.cancelled() => {
                let _ = conversation.interrupt().await; // it is closed next, whatever comes of this
                Err(ToolError::Cancelled)
            }
        }
    }

    /// Tells what came of it. One that waits for a word is kept, and the call has no result yet.
    async fn end(
        &self,
        agent: SubAgent,
        ended: Result<Status, ToolError>,
        kind: String,
        call: &Call,
    ) -> Result<TaskObservation, ToolError> {
        let state = agent.conversation.inspect().await;
        if let Ok(state) = &state {
            self.spending
                .add_total(usage_of_task(&agent.task_id), &state.stats);
        }
        if let (Ok(Status::WaitingForConfirmation), Ok(state)) = (&ended, &state) {
            let waiting = Waiting::of(&agent.task_id, state);
            let text = format!("It was not allowed to go on. {}", waiting.told());
            let stopped = failed(&agent.task_id, &kind, text);
            self.tasks.park(call.id.clone(), waiting, agent);
            return Ok(stopped);
        }
        let kept = agent.end().await;
        let with_branch = |text: String| [Content::text(text)].into_iter().chain(kept).collect();
        let status = match ended {
            Err(ToolError::Cancelled) => {
                let text = "It was stopped before it was done. What it has changed stays as it is; to let it go on, \
                            resume it.";
                return Ok(TaskObservation {
                    content: with_branch(text.to_owned()),
                    ..failed(&agent.task_id, &kind, String::new())
                });
            }
            ended => ended?,
        };
        let (answer, trouble) = state.map_or((None, None), |state| {
            let structured = state.structured_output().map(ToString::to_string);
            (structured.or(state.answer), state.trouble)
        });
        let answer = answer.unwrap_or_else(|| "It said nothing.".to_owned());
        if status == Status::Finished {
            return Ok(TaskObservation {
                content: with_branch(answer),
                task_id: agent.task_id,
                subagent: kind,
                status: "completed".to_owned(),
                ..TaskObservation::default()
            });
        }
        let why = trouble.unwrap_or_else(|| status.to_string());
        let text = format!("The agent stopped before it was done: {why}\nWhat it said last: {answer}");
        Ok(TaskObservation {
            content: with_branch(text),
            ..failed(&agent.task_id, &kind, String::new())
        })
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

/// The id of what an agent is told by a call.
pub(crate) fn said_by(call: &ActionId, resume: Option<&str>) -> EventId {
    EventId(format!("{call}:{}", resume.unwrap_or("new")))
}

/// The result of a call whose process died while an agent worked on its task.
pub(crate) fn cut_off(task_id: &str, action: &TaskAction) -> TaskObservation {
    let text = "The process in which this agent worked has died. What it has changed stays as it is; to let it go on, resume \
                it.";
    failed(task_id, &action.subagent_type, text.to_owned())
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

fn failed(id: &str, kind: &str, text: String) -> TaskObservation {
    TaskObservation {
        content: vec![Content::text(text)],
        is_error: true,
        task_id: id.to_owned(),
        subagent: kind.to_owned(),
        status: "error".to_owned(),
        ..TaskObservation::default()
    }
}
