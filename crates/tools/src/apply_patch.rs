//! Applies a patch to several files: all of it or nothing.
//!
//! `parse` reads the patch, `hunk` finds the place of its hunks in a text, `plan` checks and computes everything, and
//! only then `commit` writes; if a write fails, what was written before is taken back.

mod commit;
mod hunk;
mod parse;
mod plan;
mod problem;

use std::path::{Path, PathBuf};

use deft_types::{Action, ApplyPatchObservation, Content, Extra, Observation, PatchCommit, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use self::parse::{Change, parse};
use self::plan::{Changed, plan};
use self::problem::Problem;
use crate::file::save::save;
use crate::spec::{Reach, spec};
use crate::tool::blocking;
use crate::{Call, Files, Tool, ToolError, Touches};

/// The `apply_patch` tool.
#[derive(Debug)]
pub struct ApplyPatch {
    workspace: PathBuf,
}

impl ApplyPatch {
    /// Patches files of a workspace and no others.
    pub fn new(workspace: PathBuf) -> Self {
        Self { workspace }
    }
}

impl Tool for ApplyPatch {
    fn spec(&self) -> ToolSpec {
        spec(
            "apply_patch",
            "ApplyPatch",
            Reach::Files,
            "Changes several files at once, or none if a part does not fit. A patch is\n\
             *** Begin Patch\n\
             *** Update File: path\n\
             *** Move to: new path (only to rename)\n\
             @@ a line above, such as a function's head (or nothing behind @@)\n \
             three lines as they are\n\
             -a line to remove\n\
             +a line to add\n\
             *** Add File: path\n\
             +every line of it\n\
             *** Delete File: path\n\
             *** End Patch\n\
             Hunks stand in the order of the file. `*** End of File` behind a hunk puts it at the end. Paths are relative to the workspace.",
            &json!({ "patch": { "type": "string", "description": "The whole patch." } }),
            &["patch"],
        )
    }

    fn touches(&self, action: &Action) -> Touches {
        let Action::ApplyPatch(action) = action else {
            return Touches::Nothing;
        };
        let mut all = Vec::new();
        for file in parse(&action.patch).unwrap_or_default() {
            let moved = match file.change {
                Change::Update { move_to, .. } => move_to,
                Change::Add(_) | Change::Delete => None,
            };
            for path in moved.into_iter().chain([file.path]) {
                if let Files::These(paths) = Files::one(&self.workspace, &path) {
                    all.extend(paths);
                }
            }
        }
        Touches::Writes(Files::These(all))
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::ApplyPatch(action) = call.action else {
                return Err(ToolError::wrong_action("apply_patch", &call.action));
            };
            let workspace = self.workspace.clone();
            let work = move || apply(&workspace, &action.patch);
            let seen = blocking(&call.cancel, "apply the patch", work).await?;
            let seen = seen.unwrap_or_else(|problem| ApplyPatchObservation {
                content: vec![Content::text(problem.to_string())],
                is_error: true,
                ..ApplyPatchObservation::default()
            });
            Ok(seen.into())
        }
        .boxed()
    }
}

fn apply(workspace: &Path, patch: &str) -> Result<ApplyPatchObservation, Problem> {
    let plan = plan(workspace, parse(patch)?)?;
    commit::commit(plan.steps, save)?;
    let mut message = plan
        .changed
        .iter()
        .map(|(path, changed)| format!("{} {path}\n", changed.verb()))
        .collect::<String>();
    if plan.fuzz > 0 {
        message.push_str("[Some lines fit only but for their blanks, or not where they were said to be: look at the result.]\n");
    }
    let changes = plan
        .changed
        .into_iter()
        .map(|(path, changed)| (path, changed.json()));
    Ok(ApplyPatchObservation {
        content: vec![Content::text(message.clone())],
        message,
        fuzz: plan.fuzz,
        commit: Some(PatchCommit {
            changes: changes.collect(),
            extra: Extra::new(),
        }),
        ..ApplyPatchObservation::default()
    })
}

impl Changed {
    fn verb(&self) -> &'static str {
        match self {
            Self::Added { .. } => "Added",
            Self::Deleted { .. } => "Deleted",
            Self::Updated { move_path, .. } if move_path.is_empty() => "Updated",
            Self::Updated { .. } => "Moved",
        }
    }

    /// As the wire has it.
    fn json(self) -> serde_json::Value {
        match self {
            Self::Added { old, new } => {
                json!({ "type": "add", "old_content": old, "new_content": new, "move_path": null })
            }
            Self::Deleted { old } => {
                json!({ "type": "delete", "old_content": old, "new_content": null, "move_path": null })
            }
            Self::Updated { old, new, move_path } => {
                json!({ "type": "update", "old_content": old, "new_content": new, "move_path": move_path })
            }
        }
    }
}
