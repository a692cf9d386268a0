//! A model without a model: it mends the one bug of the demo project, to show what an agent does when no
//! provider is configured. It decides from what the tools really answer.

mod sight;
#[cfg(test)]
mod tests;

use std::time::Duration;

use deft_types::{Role, Tokens};
use futures::stream::BoxStream;
use serde_json::{Value, json};

use self::sight::{Sight, TestFailure, source_lines};
use crate::canned::{Canned, CannedCall, Pace};
use crate::{Capabilities, Delta, Model, ModelError, ModelProfile, Prices, Request};

/// Looks around; the first line of the answer is the working directory. What stands in the place of protected files in a
/// sandbox would only puzzle whoever sees it first here.
const LOOK: &str = "pwd && ls *.md *.sh";

/// Runs the demo project's test.
const TEST: &str = "bash test.sh";

/// The files that tell the demo project from any other.
const PROJECT: [&str; 2] = ["greet.sh", "test.sh"];

/// Slow enough to be seen; the whole demo takes less than three seconds.
const PACE: Pace = Pace {
    start: Duration::from_millis(120),
    chunk: Duration::from_millis(20),
};

const POLITE: &str = "I am the built-in demo, not a real model: all I can do is mend the small demo project, and I do \
    not see it here. For this task choose a model: in the web app where a new conversation begins, in the terminal with \
    `--model openai/NAME`, or for both by `LLM_MODEL` and `LLM_API_KEY`, and `LLM_BASE_URL` for a server of your own.";

/// The demo model.
pub(crate) struct DemoModel {
    profile: ModelProfile,
}

impl DemoModel {
    /// The only one there is.
    pub(crate) fn new() -> Self {
        Self {
            profile: ModelProfile {
                name: "demo".to_owned(),
                context_window: Some(Tokens(128_000)),
                max_output: None,
                prices: Some(Prices::FREE),
                capabilities: Capabilities {
                    vision: false,
                    ..Capabilities::default()
                },
            },
        }
    }
}

impl Model for DemoModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let turn = request
            .messages
            .iter()
            .filter(|message| message.role == Role::Assistant)
            .count();
        let decision = decide(&Sight::of(&request));
        let mut reply = Canned {
            response_id: format!("demo-{turn}"),
            text: decision.text,
            ..Canned::default()
        };
        reply
            .calls
            .extend(decision.call.map(|(name, arguments)| CannedCall {
                id: format!("demo-call-{turn}"),
                name: name.to_owned(),
                arguments: arguments.to_string(),
            }));
        reply.usage = reply.estimated_usage(&request);
        reply.play(PACE)
    }
}

/// What to say, and which tool to call.
struct Decision {
    text: String,
    call: Option<(&'static str, Value)>,
}

fn say(text: impl Into<String>) -> Decision {
    Decision {
        text: text.into(),
        call: None,
    }
}

fn call(text: impl Into<String>, tool: &'static str, arguments: Value) -> Decision {
    Decision {
        text: text.into(),
        call: Some((tool, arguments)),
    }
}

/// The next step, from what was asked and what was done since.
fn decide(sight: &Sight) -> Decision {
    let Some(last) = sight.steps.last() else {
        return if sight.asks_for_the_demo() {
            call(
                "I will look at the project first.",
                "terminal",
                json!({ "command": LOOK }),
            )
        } else {
            say(POLITE)
        };
    };
    match (last.tool.as_str(), last.command()) {
        ("terminal", LOOK) => after_look(&last.result),
        ("terminal", TEST) => after_test(sight, &last.result),
        ("file_editor", "view") => after_view(sight, &last.result),
        ("file_editor", "str_replace") => call(
            "The test must tell whether that was it.",
            "terminal",
            json!({ "command": TEST }),
        ),
        _ => say(POLITE),
    }
}

fn after_look(listing: &str) -> Decision {
    if PROJECT.iter().all(|file| listing.contains(file)) {
        call(
            "There is a test. I will run it to see what fails.",
            "terminal",
            json!({ "command": TEST }),
        )
    } else {
        say(POLITE)
    }
}

fn after_test(sight: &Sight, output: &str) -> Decision {
    let edited = sight.result_of("file_editor", "str_replace").is_some();
    match TestFailure::find(output) {
        Some(failure) if edited => say(format!(
            "My change did not help: the test still expects '{}' and gets '{}'. A real model would go on from here.",
            failure.expected, failure.got
        )),
        Some(failure) => call(
            format!(
                "The test expects '{}' but gets '{}'. I will read `{}`.",
                failure.expected, failure.got, failure.file
            ),
            "file_editor",
            json!({ "command": "view", "path": sight.path_of(&failure.file) }),
        ),
        None if !output.lines().any(|line| line.trim() == "ok") => {
            say("I ran `test.sh`, but its answer is not one that I, a demo, can read.")
        }
        None => {
            let summary = if edited {
                "The test failed because of a misspelt word in the greeting. I corrected it, and the test passes now."
            } else {
                "The test passes already: there is nothing to mend."
            };
            call("", "finish", json!({ "message": summary }))
        }
    }
}

fn after_view(sight: &Sight, file: &str) -> Decision {
    let failure = sight.result_of("terminal", TEST).and_then(TestFailure::find);
    let found = failure.and_then(|failure| {
        let (wrong, right) = failure.misspelling()?;
        let line = source_lines(file).find(|line| line.contains(&wrong))?;
        Some((
            failure,
            line.to_owned(),
            line.replace(&wrong, &right),
            wrong,
            right,
        ))
    });
    let Some((failure, old, new, wrong, right)) = found else {
        return say("I read the file, but I, a demo, do not see what makes the test fail.");
    };
    call(
        format!("Here it is: `{wrong}` should be `{right}`."),
        "file_editor",
        json!({ "command": "str_replace", "path": sight.path_of(&failure.file), "old_str": old, "new_str": new }),
    )
}
