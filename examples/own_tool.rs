//! A tool of your own, beside those that there are.
//!
//! Run it: `cargo run --package deft-cli --example own_tool`

mod embedded;

use std::path::Path;
use std::sync::Arc;

use deft_tools::{Call, Reach, Tool, ToolError, Toolbox, Touches, spec};
use deft_types::{Action, Content, Extra, Observation, ToolSpec};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::json;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/own_tool.yaml");

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout)]
async fn main() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    println!("{}", count(directory.path()).await?);
    Ok(())
}

/// What the tools answer while the agent counts letters.
pub(crate) async fn count(directory: &Path) -> anyhow::Result<String> {
    let host = Toolbox::host().with(Arc::new(CountLetters));
    let answers = embedded::run(directory, SCRIPT, host, "How many r are there in strawberry?").await?;
    Ok(answers.join("\n"))
}

/// Models see words, not letters.
struct CountLetters;

impl Tool for CountLetters {
    fn spec(&self) -> ToolSpec {
        spec(
            "count_letters",
            "CountLetters",
            Reach::Nothing,
            "Counts how often a letter stands in a text.",
            &json!({"text": {"type": "string"}, "letter": {"type": "string"}}),
            &["text", "letter"],
        )
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing // so it may run at the same time as anything else
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let arguments = call.action.extra();
            let argument = |name: &str| {
                arguments
                    .get(name)
                    .and_then(|value| value.as_str())
                    .unwrap_or_default()
            };
            let count = argument("text").matches(argument("letter")).count();
            let fields = json!({"content": [Content::text(format!("{count} times"))], "is_error": false});
            let fields: Extra = fields.as_object().cloned().unwrap_or_default();
            Ok(Observation::from_fields("CountLettersObservation", fields))
        }
        .boxed()
    }
}
