//! A workspace with a toolbox as it is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deft_lsp::{Checked, Code, Servers};
use deft_tools::{Call, ToolContext, Toolbox};
use deft_types::{Action, FileEditorAction, MCPToolAction, Observation, text_of};
use serde_json::Value;
use tempfile::TempDir;

pub(super) struct Place {
    root: TempDir,
    pub(super) tools: Toolbox,
}

impl Place {
    /// With these programs before all others.
    pub(super) fn new(programs: &Path, edit_limit: Duration) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let context = ToolContext {
            workspace: root.path().join("work").canonicalize().unwrap(),
            private_dir: root.path().join("private"),
            env: vec![
                ("PATH".into(), path),
                ("HOME".into(), root.path().display().to_string()),
            ],
        };
        let servers = Servers::with_edit_limit(&context, edit_limit);
        let tools = Toolbox::standard(context)
            .unwrap()
            .wrapped(|tool| Arc::new(Checked::new(tool, servers.clone())))
            .with(Arc::new(Code::new(servers)));
        Self { root, tools }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("work").canonicalize().unwrap().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    async fn run(&self, tool: &str, action: impl Into<Action>) -> Observation {
        self.tools.get(tool).unwrap().run(Call::of(action)).await.unwrap()
    }

    /// The answer of `code`.
    pub(super) async fn code(&self, arguments: Value) -> String {
        let Value::Object(fields) = arguments else {
            panic!("arguments are an object");
        };
        let action = MCPToolAction {
            data: fields.into_iter().collect(),
            ..MCPToolAction::default()
        };
        text_of(&self.run("code", action).await.content())
    }

    /// The answer to an edit, in its parts.
    pub(super) async fn replace(&self, name: &str, old: &str, new: &str) -> Vec<String> {
        let action = FileEditorAction {
            command: serde_json::from_value("str_replace".into()).unwrap(),
            path: self.path(name).display().to_string(),
            old_str: Some(old.to_owned()),
            new_str: Some(new.to_owned()),
            ..FileEditorAction::default()
        };
        let observation = self.run("file_editor", action).await;
        assert!(!observation.is_error(), "{observation:?}");
        let parts = observation.content();
        parts
            .iter()
            .map(|part| text_of(std::slice::from_ref(part)))
            .collect()
    }
}
