//! Views any file and changes the plan: the editor of an agent that only plans.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use deft_types::{
    Action, EditorCommand, FileEditorAction, Observation, PlanningFileEditorAction,
    PlanningFileEditorObservation, ToolSpec,
};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::file::resolve::resolve;
use crate::file::save::save;
use crate::file_editor::{Editor, failure, observe, parameters, touches};
use crate::spec::{Reach, spec};
use crate::tool::blocking;
use crate::{Call, Tool, ToolError, Touches};

/// Where the plan is, unless there is one at the top of the workspace.
const PLAN: &str = ".agents_tmp/PLAN.md";
/// A plan at the top of the workspace.
const PLAN_AT_THE_TOP: &str = "PLAN.md";
/// What a new plan has.
const OUTLINE: &str = "# 1. OBJECTIVE\n\n# 2. CONTEXT SUMMARY\n\n# 3. APPROACH OVERVIEW\n\n# 4. IMPLEMENTATION STEPS\n\n\
                       # 5. TESTING AND VALIDATION\n";

/// The `planning_file_editor` tool.
#[derive(Debug)]
pub struct PlanningFileEditor(Arc<Editor>);

impl PlanningFileEditor {
    /// An editor for the plan of a workspace. The plan is made when it is first needed.
    pub fn new(workspace: PathBuf) -> Self {
        Self(Arc::new(Editor::new(workspace)))
    }
}

impl Tool for PlanningFileEditor {
    fn spec(&self) -> ToolSpec {
        let description = format!(
            "Views files and directories as `file_editor` does, and edits one file: the plan. \
             That is {PLAN_AT_THE_TOP} in {workspace} if it is there, or else {workspace}/{PLAN}.",
            workspace = self.0.workspace().display(),
        );
        spec(
            "planning_file_editor",
            "PlanningFileEditor",
            Reach::Notes,
            &description,
            &parameters(),
            &["command", "path"],
        )
    }

    fn touches(&self, action: &Action) -> Touches {
        let Action::PlanningFileEditor(action) = action else {
            return Touches::Nothing;
        };
        touches(self.0.workspace(), action.command, &action.path)
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::PlanningFileEditor(action) = call.action else {
                return Err(ToolError::wrong_action("planning_file_editor", &call.action));
            };
            let (command, path) = (action.command, PathBuf::from(&action.path));
            let workspace = self.0.workspace().to_owned();
            let check = move || prepare(&workspace, command, &path);
            let seen = match blocking(&call.cancel, "find the plan", check).await? {
                Ok(()) => observe(Arc::clone(&self.0), for_editor(*action), &call.cancel).await?,
                Err(problem) => failure(command, problem),
            };
            Ok(PlanningFileEditorObservation {
                content: seen.content,
                is_error: seen.is_error,
                command: seen.command,
                path: seen.path,
                prev_exist: seen.prev_exist,
                old_content: seen.old_content,
                new_content: seen.new_content,
                extra: seen.extra,
            }
            .into())
        }
        .boxed()
    }
}

/// Lets only the plan be changed, and makes it if it is asked for and not there.
fn prepare(workspace: &Path, command: EditorCommand, path: &Path) -> Result<(), String> {
    let refused = |plan: &Path| {
        format!(
            "Only the plan may be changed here, which is {}; {} may only be viewed.",
            plan.display(),
            path.display()
        )
    };
    let plan =
        plan_of(workspace).map_err(|error| format!("Could not find {}: {error}.", workspace.display()))?;
    // By what it is in the end: a link that has the plan's name is not the plan.
    let is_plan = path.is_absolute() && resolve(path).is_ok_and(|path| path == plan);
    let makes_it = match command {
        EditorCommand::View => is_plan,
        EditorCommand::Create if is_plan => false,
        EditorCommand::StrReplace | EditorCommand::Insert | EditorCommand::UndoEdit if is_plan => true,
        EditorCommand::Create
        | EditorCommand::StrReplace
        | EditorCommand::Insert
        | EditorCommand::UndoEdit => {
            return Err(refused(&plan));
        }
    };
    if makes_it && !plan.exists() {
        save(&plan, OUTLINE.as_bytes())
            .map_err(|error| format!("Could not write {}: {error}.", plan.display()))?;
    }
    Ok(())
}

fn plan_of(workspace: &Path) -> std::io::Result<PathBuf> {
    let workspace = workspace.canonicalize()?;
    let at_the_top = workspace.join(PLAN_AT_THE_TOP);
    Ok(if at_the_top.is_file() {
        at_the_top
    } else {
        workspace.join(PLAN)
    })
}

fn for_editor(action: PlanningFileEditorAction) -> FileEditorAction {
    FileEditorAction {
        command: action.command,
        path: action.path,
        file_text: action.file_text,
        old_str: action.old_str,
        new_str: action.new_str,
        insert_line: action.insert_line,
        view_range: action.view_range,
        extra: action.extra,
    }
}
