//! The tools of a browser in the hands of a test.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deft_browse::{BrowserOptions, browser_tools};
use deft_tools::{Call, Tool, ToolContext};
use deft_types::{Action, BrowserObservation, Observation, text_of};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The tools of a browser, in a workspace of its own.
pub(crate) struct Hand {
    pub(crate) directory: TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl Hand {
    /// `None`, and says so, on a machine without Chromium.
    pub(crate) fn new() -> Option<Self> {
        Self::with(BrowserOptions {
            action_limit: Duration::from_secs(60), // the machine may be busy
            ..BrowserOptions::default()
        })
    }

    #[allow(clippy::print_stderr)] // a test that did not run must be seen
    pub(crate) fn with(options: BrowserOptions) -> Option<Self> {
        let known = [
            "/usr/lib/chromium/chromium",
            "/usr/bin/chromium",
            "/usr/bin/google-chrome",
        ];
        if !known.iter().any(|path| PathBuf::from(path).exists()) {
            let reason = "there is no Chromium on this machine; `make setup` installs it";
            assert!(std::env::var_os("DEFT_NO_SKIPS").is_none(), "{reason}");
            eprintln!("skipped: {reason}");
            return None;
        }
        Some(Self::anyway(options))
    }

    pub(crate) fn anyway(options: BrowserOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let context = ToolContext {
            workspace: directory.path().join("work"),
            private_dir: directory.path().join("private"),
            env: vec![
                ("PATH".to_owned(), std::env::var("PATH").unwrap()),
                ("HOME".to_owned(), directory.path().display().to_string()),
            ],
        };
        std::fs::create_dir_all(&context.workspace).unwrap();
        Self {
            tools: browser_tools(context, options),
            directory,
        }
    }

    pub(crate) fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().name() == name).unwrap()
    }

    /// Calls a tool as the executor does.
    pub(crate) async fn observe(&self, name: &str, arguments: Value) -> BrowserObservation {
        let tool = self.tool(name);
        let Value::Object(fields) = arguments else {
            panic!("no object")
        };
        let action = Action::from_fields(&tool.spec().definition.action_type, fields);
        match tool.run(Call::of(action)).await.unwrap() {
            Observation::Browser(seen) => *seen,
            other => panic!("{other:?}"),
        }
    }

    /// What a call says, which must have worked.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> String {
        let seen = self.observe(name, arguments).await;
        let text = text_of(&seen.content);
        assert!(!seen.is_error, "{name}: {text}");
        text
    }

    /// What a call says, which must have failed.
    pub(crate) async fn fail(&self, name: &str, arguments: Value) -> String {
        let seen = self.observe(name, arguments).await;
        let text = text_of(&seen.content);
        assert!(seen.is_error, "{name}: {text}");
        text
    }

    pub(crate) async fn open(&self, url: &str) -> String {
        self.call("browser_navigate", json!({"url": url})).await
    }

    pub(crate) async fn state(&self) -> Value {
        page_json(&self.call("browser_get_state", json!({})).await)
    }

    /// The number of the element with this text.
    pub(crate) async fn find(&self, text: &str) -> i64 {
        let state = self.state().await;
        let elements = state["interactive_elements"].as_array().unwrap();
        let found = elements
            .iter()
            .find(|element| element["text"] == text || element["placeholder"] == text);
        found.unwrap_or_else(|| panic!("no {text} in {state}"))["index"]
            .as_i64()
            .unwrap()
    }

    pub(crate) async fn click(&self, text: &str) -> String {
        let index = self.find(text).await;
        self.call("browser_click", json!({"index": index})).await
    }

    pub(crate) async fn type_into(&self, field: &str, text: &str) -> String {
        let index = self.find(field).await;
        self.call("browser_type", json!({"index": index, "text": text}))
            .await
    }

    pub(crate) async fn content(&self) -> String {
        self.call("browser_get_content", json!({})).await
    }

    pub(crate) async fn close(self) -> TempDir {
        for tool in self.tools.iter().rev() {
            tool.close().await;
        }
        self.directory
    }
}

/// The JSON that stands between the marks.
pub(crate) fn page_json(text: &str) -> Value {
    let inside = text
        .split_once("<<<")
        .unwrap_or_else(|| panic!("no page in {text}"))
        .1;
    let line = inside.lines().find(|line| line.starts_with(['{', '[']));
    serde_json::from_str(line.unwrap_or_else(|| panic!("no JSON in {text}"))).unwrap()
}

/// The processes that work for a browser in this directory.
pub(crate) fn processes(directory: &TempDir) -> Vec<String> {
    let mark = directory.path().display().to_string();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let command = std::fs::read(entry.path().join("cmdline")).ok()?;
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            (command.contains(&mark) && command.contains("--")).then_some(command)
        })
        .collect()
}
