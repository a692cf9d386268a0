//! The tools of a workspace, from all the crates that have some.

use std::sync::Arc;

use deft_browse::Reachable;
use deft_lsp::{Checked, Code, Servers};
use deft_mcp::{Limits, LocalServers};
use deft_tools::{LiveView, TerminalOptions, ToolContext, ToolError, Toolbox};

/// The tools an executor has.
pub(crate) fn toolbox(
    context: &ToolContext,
    options: TerminalOptions,
    reachable: Reachable,
) -> Result<Toolbox, ToolError> {
    let language_servers = Servers::new(context);
    let tools = Toolbox::with_terminal(context.clone(), options)?;
    let live_view = LiveView::default();
    let tools = deft_browse::tools(context.clone(), reachable, live_view.clone())
        .into_iter()
        .fold(tools, Toolbox::with)
        .wrapped(|tool| Arc::new(Checked::new(tool, language_servers.clone())))
        .with(Arc::new(Code::new(language_servers)))
        .with_servers(Arc::new(LocalServers::new(context.clone(), Limits::default())))
        .with_live_view(live_view);
    Ok(tools)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use deft_tools::Preset;
    use deft_types::ToolSpec;
    use serde_json::Value;

    use super::*;

    /// What all default tools together may say about themselves to a model, in characters.
    const MOST: usize = 9_000;

    fn tools() -> Toolbox {
        let private = tempfile::tempdir().unwrap();
        let context = ToolContext {
            workspace: "/workspace".into(),
            private_dir: private.path().to_owned(),
            env: Vec::new(),
        };
        toolbox(&context, TerminalOptions::default(), Reachable::default()).unwrap()
    }

    #[tokio::test]
    async fn the_default_tools_are_described_briefly() {
        let offered = tools().specs_of(Preset::Standard);
        let size = |spec: &ToolSpec| {
            let schema = serde_json::json!({"name": spec.name(), "description": spec.definition.description, "parameters": spec.parameters});
            schema.to_string().len()
        };
        let sizes: Vec<_> = offered
            .iter()
            .chain(&Toolbox::host().specs())
            .map(|spec| (spec.name().to_owned(), size(spec)))
            .collect();
        let all: usize = sizes.iter().map(|(_, size)| size).sum();
        assert!(all <= MOST, "{all}: {sizes:?}");
    }

    /// `DEFT_WRITE_DOCS=1 cargo test` writes the page anew.
    #[tokio::test]
    async fn the_page_of_the_tools_says_what_they_are() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
        let mut text = "# Tools\n\nWhat an agent can do, as models are told. This page is made from the tools themselves.\n".to_owned();
        let host = Toolbox::host().specs();
        for spec in tools().specs().iter().chain(&host) {
            describe(&mut text, spec);
        }
        if std::env::var_os("DEFT_WRITE_DOCS").is_some() {
            std::fs::write(&page, &text).unwrap();
        }
        let written = std::fs::read_to_string(&page).unwrap_or_default();
        assert_eq!(
            written, text,
            "run `DEFT_WRITE_DOCS=1 cargo test -p deft-cli page_of_the_tools`"
        );
    }

    fn describe(text: &mut String, spec: &ToolSpec) {
        let required = spec.parameters["required"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let _ = write!(text, "\n## {}\n\n{}\n", spec.name(), spec.definition.description);
        let Some(properties) = spec.parameters["properties"]
            .as_object()
            .filter(|all| !all.is_empty())
        else {
            return;
        };
        text.push_str("\n| argument | kind | what |\n| --- | --- | --- |\n");
        for (name, schema) in properties {
            let kind = schema["type"].as_str().unwrap_or("any");
            let must = if required.contains(&Value::from(name.as_str())) {
                ", required"
            } else {
                ""
            };
            let what = schema["description"].as_str().unwrap_or_default();
            let what = what.replace('\n', " ").replace('|', "\\|");
            let _ = writeln!(text, "| `{name}` | {kind}{must} | {what} |");
        }
    }
}
