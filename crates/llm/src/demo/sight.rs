//! What the demo sees in the messages.

use deft_types::Role;
use serde_json::Value;

use super::LOOK;
use crate::Request;

/// The tools that the demo works with.
const TOOLS: [&str; 3] = ["terminal", "file_editor", "finish"];

/// Words of a task that the demo project may be meant by.
const TASK_WORDS: [&str; 6] = ["test", "fix", "bug", "fail", "repair", "greet"];

/// The last thing the person said, and what was done since.
pub(super) struct Sight {
    task: String,
    has_tools: bool,
    pub(super) steps: Vec<Step>,
}

/// A call and its result.
pub(super) struct Step {
    pub(super) tool: String,
    arguments: Value,
    pub(super) result: String,
}

impl Step {
    /// The `command` among its arguments.
    pub(super) fn command(&self) -> &str {
        self.arguments["command"].as_str().unwrap_or_default()
    }
}

impl Sight {
    pub(super) fn of(request: &Request) -> Self {
        let messages = &request.messages;
        let said = messages.iter().rposition(|message| message.role == Role::User);
        let since = &messages[said.map_or(0, |said| said + 1)..];
        let result = |id: &str| {
            let answer = since
                .iter()
                .find(|message| message.tool_call_id.as_deref() == Some(id));
            answer.map(|message| message.plain_text()).unwrap_or_default()
        };
        let calls = since
            .iter()
            .flat_map(|message| message.tool_calls.iter().flatten());
        Self {
            task: said.map(|said| messages[said].plain_text()).unwrap_or_default(),
            has_tools: TOOLS
                .iter()
                .all(|name| request.tools.iter().any(|tool| tool.name == *name)),
            steps: calls
                .map(|call| Step {
                    tool: call.name.clone(),
                    arguments: serde_json::from_str(&call.arguments).unwrap_or_default(),
                    result: result(&call.id),
                })
                .collect(),
        }
    }

    /// Whether it is worth looking for the demo project.
    pub(super) fn asks_for_the_demo(&self) -> bool {
        let task = self.task.to_lowercase();
        self.has_tools && TASK_WORDS.iter().any(|word| task.contains(word))
    }

    /// The last result of a command.
    pub(super) fn result_of(&self, tool: &str, command: &str) -> Option<&str> {
        let mut steps = self.steps.iter().rev();
        let step = steps.find(|step| step.tool == tool && step.command() == command)?;
        Some(&step.result)
    }

    /// The absolute path of a file of the project.
    pub(super) fn path_of(&self, file: &str) -> String {
        let listing = self.result_of("terminal", LOOK).unwrap_or_default();
        let directory = listing
            .lines()
            .find(|line| line.starts_with('/'))
            .unwrap_or_default();
        format!("{}/{file}", directory.trim_end().trim_end_matches('/'))
    }
}

/// What the test says is wrong: `FAIL greet.sh:3: expected 'this' but got 'that'`.
pub(super) struct TestFailure {
    pub(super) file: String,
    pub(super) expected: String,
    pub(super) got: String,
}

impl TestFailure {
    pub(super) fn find(output: &str) -> Option<Self> {
        output.lines().find_map(|line| {
            let (place, difference) = line.trim().strip_prefix("FAIL ")?.split_once(": expected '")?;
            let (expected, got) = difference.strip_suffix('\'')?.split_once("' but got '")?;
            Some(Self {
                file: place.split(':').next()?.to_owned(),
                expected: expected.to_owned(),
                got: got.to_owned(),
            })
        })
    }

    /// The first word that differs: as it is, and as it should be.
    pub(super) fn misspelling(&self) -> Option<(String, String)> {
        let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        let pairs = self.got.split_whitespace().zip(self.expected.split_whitespace());
        let (wrong, right) = pairs
            .map(|(got, expected)| (bare(got), bare(expected)))
            .find(|(got, expected)| got != expected)?;
        (!wrong.is_empty()).then_some((wrong, right))
    }
}

/// The lines of a file as the editor shows it, without their numbers.
pub(super) fn source_lines(view: &str) -> impl Iterator<Item = &str> {
    view.lines().map(|line| match line.split_once('\t') {
        Some((number, source)) if number.trim().parse::<u32>().is_ok() => source,
        _ => line,
    })
}
