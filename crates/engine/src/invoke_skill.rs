//! The tool by which an agent reads a skill and what belongs to it, or finds out which there are.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use deft_executor::{Client, ShellCommand};
use deft_skills::{Invoked, Skill, best};
use deft_tools::{Call, Reach, Tool, ToolError, Touches, spec};
use deft_types::{Action, Content, InvokeSkillAction, InvokeSkillObservation, Observation, ToolSpec};
use deft_workspace::Workspace;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::actor::connected;
use crate::arguments;
use crate::skill_content::{self, SkillFiles};
use crate::skills::{Shelf, Stock};
use crate::workspace_command::{self, Ran};

/// How long a command in a skill's text may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of its output that take its place.
const MAX_OUTPUT: usize = 50 * 1024;
/// Commands of one skill that are run.
const MAX_COMMANDS: usize = 20;
const NOT_RUN: &str = "\n[The commands behind `!` above are not trusted and were not run. If you need what they would \
                       print, run them in the terminal.]";

/// The tool `invoke_skill`.
pub(crate) struct InvokeSkill {
    pub(crate) shelf: Shelf,
    /// Those of the user's own skills.
    pub(crate) files: Option<SkillFiles>,
    pub(crate) workspace: Arc<dyn Workspace>,
}

impl InvokeSkill {
    async fn answer(&self, action: &InvokeSkillAction, call: &Call) -> InvokeSkillObservation {
        let name = action.name.trim();
        let stock = self.shelf.stock();
        let skills = &stock.skills;
        let Some(skill) = skills.offered(name) else {
            return found(&stock, name);
        };
        if let Some(result) = action.extra.get("result") {
            let (text, is_error) = checked_result(skill, result);
            return observation(name, text, is_error);
        }
        if let Some(place) = action.extra.get("fetch").and_then(Value::as_str) {
            let fetched = skill_content::of_skill(skill, place.trim(), self.files.as_ref(), self.client());
            let fetched = tokio::select! {
                fetched = fetched => fetched,
                () = call.cancel.cancelled() => Err("Cancelled.".to_owned()),
            };
            let is_error = fetched.is_err();
            return observation(name, fetched.unwrap_or_else(|problem| problem), is_error);
        }
        let given = match action.extra.get("parameters") {
            Some(Value::Object(given)) => given.clone(),
            _ => Map::new(),
        };
        let parameters = match checked(skill, given) {
            Ok(parameters) => parameters,
            Err(problem) => return observation(name, problem, true),
        };
        let mut text = self.expanded(skill, skills.invoke(skill), &call.cancel).await;
        for (parameter, value) in &parameters {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text = text.replace(&format!("${{{parameter}}}"), &value);
        }
        if !parameters.is_empty() {
            let _ = write!(text, "\n\nParameters: {}", Value::Object(parameters)); // a string takes everything
        }
        if let Some(schema) = &skill.declared.output_schema {
            let _ = write!(
                text,
                "\n\nThe result is to be JSON that fits this schema, which you check by calling invoke_skill with \
                 the skill's name and the `result`: {schema}"
            );
        }
        observation(name, text, false)
    }

    /// The text with the output of its commands, if the skill may run any.
    async fn expanded(&self, skill: &Skill, invoked: Invoked, cancel: &CancellationToken) -> String {
        if invoked.commands.is_empty() {
            return invoked.text;
        }
        if !self.shelf.stock().may_run(skill) {
            return invoked.text + NOT_RUN;
        }
        let mut outputs = Vec::new();
        for command in invoked.commands.iter().take(MAX_COMMANDS) {
            outputs.push(self.output_of(&command.command, cancel).await);
        }
        let mut outputs = outputs.into_iter();
        invoked.expanded(|command| {
            let too_many = || format!("[Not run, for there are too many commands: {command}]");
            outputs.next().unwrap_or_else(too_many)
        })
    }

    async fn client(&self) -> Result<Client, String> {
        let client = connected(self.workspace.as_ref()).await;
        client.map_err(|error| error.to_string())
    }

    async fn output_of(&self, command: &str, cancel: &CancellationToken) -> String {
        let line = ShellCommand {
            command: command.to_owned(),
            ..ShellCommand::default()
        };
        let run = async {
            let ran =
                workspace_command::run(&self.client().await?, line, COMMAND_LIMIT, MAX_OUTPUT, cancel).await;
            ran.map_err(|error| error.to_string())
        };
        match run.await {
            Ok(ran) if ran.exit_code == 0 => ran.stdout.trim_end().to_owned(),
            Ok(Ran {
                exit_code, stderr, ..
            }) => {
                format!("[Error: `{command}` ended with {exit_code}: {}]", stderr.trim())
            }
            Err(reason) => format!("[Error: `{command}` could not be run: {reason}]"),
        }
    }
}

impl Tool for InvokeSkill {
    fn spec(&self) -> ToolSpec {
        let properties = json!({
            "name": {"type": "string", "description": "The skill; or words to search for."},
            "parameters": {"type": "object", "description": "What the skill wants to know."},
            "fetch": {"type": "string", "description": "Instead of its text: a file of its folder, or an address that it names."},
            "result": {"type": "object", "description": "What came of it, to be held against what it says it gives."},
        });
        spec(
            "invoke_skill",
            "InvokeSkill",
            Reach::Nothing,
            "Reads a skill: instructions for a kind of work. What is no skill's name is searched for among all of them.",
            &properties,
            &["name"],
        )
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::InvokeSkill(action) = &call.action else {
                return Err(ToolError::WrongAction {
                    tool: "invoke_skill",
                    kind: call.action.kind().to_owned(),
                });
            };
            Ok(self.answer(action, &call).await.into())
        }
        .boxed()
    }
}

/// What fits some words best, or all names there are.
fn found(stock: &Stock, words: &str) -> InvokeSkillObservation {
    let skills = stock.skills.offers().into_iter().map(|offer| (offer, "skill"));
    let agents = stock
        .agents
        .iter()
        .map(|agent| (agent.offer(), "agent, for the tool task"));
    let offers: Vec<_> = skills.chain(agents).collect();
    let names: Vec<_> = offers.iter().map(|(offer, _)| offer.name.to_owned()).collect();
    let fitting = best(offers, words);
    if fitting.is_empty() {
        let names = if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        };
        let text = format!("There is no skill named '{words}', and none that fits. There are: {names}.");
        return observation(words, text, true);
    }
    let list: Vec<_> = fitting.iter().map(|(offer, how)| offer.told(how)).collect();
    let text = format!(
        "There is no skill named '{words}'. These may fit:\n{}",
        list.join("\n")
    );
    observation(words, text, false)
}

/// The parameters, if they are what the skill declares.
fn checked(skill: &Skill, given: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let Some(schema) = &skill.declared.input_schema else {
        return Ok(given);
    };
    match arguments::fit(given, schema) {
        Ok(fitting) => Ok(fitting.fields),
        Err(problem) => Err(format!(
            "The parameters do not fit: {problem}. The skill takes: {schema}"
        )),
    }
}

/// What is said of a result, and whether it is not what the skill declares.
fn checked_result(skill: &Skill, result: &Value) -> (String, bool) {
    let Some(schema) = &skill.declared.output_schema else {
        return ("The skill does not say what it gives.".to_owned(), true);
    };
    let Some(fields) = result.as_object() else {
        return (
            format!("The result is no object. The skill gives: {schema}"),
            true,
        );
    };
    match arguments::fit(fields.clone(), schema) {
        Ok(_) => ("The result fits.".to_owned(), false),
        Err(problem) => (
            format!("The result does not fit: {problem}. The skill gives: {schema}"),
            true,
        ),
    }
}

fn observation(name: &str, text: String, is_error: bool) -> InvokeSkillObservation {
    InvokeSkillObservation {
        content: vec![Content::text(text)],
        is_error,
        skill_name: name.to_owned(),
        ..InvokeSkillObservation::default()
    }
}
