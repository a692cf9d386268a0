//! Gives tasks to several agents at once, which have names and remember what they did before.

use std::sync::Arc;

use deft_tools::{Call, Reach, Tool, ToolError, Touches, spec};
use deft_types::{
    Action, Content, DelegateAction, DelegateCommand, DelegateObservation, Observation, TaskAction,
    TaskObservation, ToolSpec, text_of,
};
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use serde_json::json;

use crate::task_tool::Task;
use crate::tasks::Delegate as Named;

/// Agents with names that one conversation has.
const MAX_DELEGATES: usize = 5;
/// Characters of a name.
const MAX_NAME: usize = 64;
/// The kind of an agent of which nothing is said.
const ANY_KIND: &str = "general-purpose";

/// The `delegate` tool. What the agents do is done as by the `task` tool.
pub(crate) struct Delegate {
    pub(crate) task: Arc<Task>,
}

impl Delegate {
    /// Begins agents. Those before one that cannot begin are there.
    async fn spawn(&self, action: &DelegateAction, call: &Call) -> Result<DelegateObservation, ToolError> {
        let names = action.ids.as_deref().unwrap_or_default();
        let kinds = action.agent_types.as_deref().unwrap_or_default();
        let mut begun = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let kind = kinds.get(index).map_or(ANY_KIND, String::as_str);
            match self.spawn_one(name, kind, call).await {
                Ok(()) => begun.push(format!("{name} ({kind})")),
                Err(_) if call.cancel.is_cancelled() => return Err(ToolError::Cancelled),
                Err(reason) => {
                    let text = format!("{name} was not begun: {reason} Begun: {}.", listed(&begun));
                    return Ok(told(action.command, text, true));
                }
            }
        }
        let text = format!("Begun: {}.", listed(&begun));
        Ok(told(action.command, text, begun.is_empty()))
    }

    async fn spawn_one(&self, name: &str, kind: &str, call: &Call) -> Result<(), String> {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
            return Err(format!(
                "a name has 1 to {MAX_NAME} letters, digits, '-' and '_'."
            ));
        }
        let there = self.task.tasks.delegates();
        if there.contains_key(name) {
            return Err("it is there already.".to_owned());
        }
        if there.len() >= MAX_DELEGATES {
            return Err(format!(
                "there are {MAX_DELEGATES}, and no more can be: give the task to one of them."
            ));
        }
        let task_id = self.task.begin_idle(kind, &call.cancel).await?;
        let kind = kind.to_owned();
        self.task
            .tasks
            .add_delegate(name.to_owned(), Named { task_id, kind });
        Ok(())
    }

    /// Has each of them do its task, all at the same time.
    async fn delegate(&self, action: &DelegateAction, call: &Call) -> Result<DelegateObservation, ToolError> {
        let there = self.task.tasks.delegates();
        let tasks = action.tasks.clone().unwrap_or_default();
        if let Some(unknown) = tasks.keys().find(|name| !there.contains_key(*name)) {
            let names: Vec<_> = there.keys().cloned().collect();
            let text = format!(
                "Nothing was begun: there is no agent '{unknown}'; there are: {}. Spawn it first.",
                listed(&names)
            );
            return Ok(told(action.command, text, true));
        }
        let works = tasks.into_iter().map(|(name, prompt)| {
            let named = &there[&name];
            let action = TaskAction {
                prompt,
                subagent_type: named.kind.clone(),
                resume: Some(named.task_id.clone()),
                ..TaskAction::default()
            };
            async move { (name, self.task.work(&action, call).await) }
        });
        let mut results = Vec::new();
        for (name, result) in join_all(works).await {
            results.push((name, result?));
        }
        Ok(together(&results))
    }
}

/// What became of all of them.
fn together(results: &[(String, TaskObservation)]) -> DelegateObservation {
    let failed = results.iter().filter(|(_, result)| result.is_error).count();
    let head = format!("{} of {} tasks are done.", results.len() - failed, results.len());
    let one = |(name, result): &(String, TaskObservation)| {
        format!("{name} ({}): {}", result.status, text_of(&result.content))
    };
    let all: Vec<_> = std::iter::once(head).chain(results.iter().map(one)).collect();
    let is_error = failed == results.len();
    told(DelegateCommand::Delegate, all.join("\n\n"), is_error)
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

fn told(command: DelegateCommand, text: String, is_error: bool) -> DelegateObservation {
    DelegateObservation {
        content: vec![Content::text(text)],
        is_error,
        command,
        ..DelegateObservation::default()
    }
}

impl Tool for Delegate {
    fn spec(&self) -> ToolSpec {
        let properties = json!({
            "command": {"type": "string", "enum": ["spawn", "delegate"], "description": "spawn: begins agents. delegate: \
                        gives them tasks and waits for all results."},
            "ids": {"type": "array", "items": {"type": "string"}, "description": "spawn: what to call them."},
            "agent_types": {"type": "array", "items": {"type": "string"}, "description": "spawn: the kind of each, as for \
                            task. Default: general-purpose."},
            "tasks": {"type": "object", "additionalProperties": {"type": "string"}, "description": "delegate: a task for \
                      each name."},
        });
        let description = format!(
            "Gives tasks to up to {MAX_DELEGATES} agents at once. Unlike those of task they have names and remember what \
             they did before. Spawn them, then delegate as often as you like."
        );
        spec(
            "delegate",
            "Delegate",
            Reach::World,
            &description,
            &properties,
            &["command"],
        )
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::Delegate(action) = &call.action else {
                return Err(ToolError::WrongAction {
                    tool: "delegate",
                    kind: call.action.kind().to_owned(),
                });
            };
            let observation = match action.command {
                DelegateCommand::Spawn => self.spawn(action, &call).await?,
                DelegateCommand::Delegate => self.delegate(action, &call).await?,
            };
            Ok(observation.into())
        }
        .boxed()
    }
}
