//! Where a client wants a conversation to work: in the contract's words, or in ours.

use deft_workspace::{WorkspaceName, WorkspaceNameError};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::request::not_an_object;
use crate::validation::Issue;

/// The contract's kind of workspace.
const LOCAL: &str = "LocalWorkspace";

/// Where a client wants a conversation to work.
pub(crate) enum Wanted {
    /// In a directory of this machine.
    Directory(String),
    /// In a workspace of another kind.
    Named(WorkspaceName),
}

impl Wanted {
    /// Reads the contract's form, also with a name for the directory, or ours: a name, or an object whose `kind` is one of
    /// ours.
    pub(crate) fn read(sent: &Value) -> Result<Self, Failure> {
        let refused = |error: WorkspaceNameError| Failure::refused(error.to_string());
        // The contract's kinds are written with a capital letter.
        let kind = sent["kind"].as_str();
        let is_ours = kind.is_some_and(|kind| kind.starts_with(char::is_lowercase));
        if let Some(kind) = kind.filter(|kind| !is_ours && *kind != LOCAL) {
            // Who asks for a container must not get this machine.
            let msg =
                format!("Value error, Unknown kind '{kind}' of workspace; Expected one of: ['{LOCAL}']");
            return Err(Issue::new("value_error", &["body", "workspace"], msg, sent).into());
        }
        match sent.get("working_dir") {
            Some(Value::String(name)) if WorkspaceName::is_one(name) => {
                let name = name.parse::<WorkspaceName>();
                name.map(Self::from).map_err(refused)
            }
            Some(Value::String(directory)) if !directory.is_empty() => Ok(Self::Directory(directory.clone())),
            None if sent.is_string() || is_ours => {
                WorkspaceName::from_json(sent).map(Self::from).map_err(refused)
            }
            Some(other) if !other.is_string() => {
                let place = &["body", "workspace", "working_dir"];
                Err(Issue::new("string_type", place, "Input should be a valid string", other).into())
            }
            _ if sent.is_object() => Err(Issue::missing(&["body", "workspace", "working_dir"], sent).into()),
            _ => Err(not_an_object(&["body", "workspace"], sent).into()),
        }
    }

    /// As clients of the contract see it, who know directories alone.
    pub(crate) fn told(&self, sent: &Value) -> Value {
        match self {
            Self::Directory(directory) if sent["working_dir"] == *directory => sent.clone(),
            Self::Directory(directory) => json!({"working_dir": directory, "kind": LOCAL}),
            Self::Named(name) => {
                json!({"working_dir": name.root(), "kind": LOCAL, "name": name})
            }
        }
    }
}

impl From<WorkspaceName> for Wanted {
    fn from(name: WorkspaceName) -> Self {
        match name {
            WorkspaceName::Sandbox(path) => Self::Directory(path.display().to_string()),
            other => Self::Named(other),
        }
    }
}
