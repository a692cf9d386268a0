//! The tools of one workspace, by name.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;

use deft_types::ToolSpec;

use crate::{
    CheckpointLimits, Checkpoints, FileEditor, Finish, Terminal, TerminalOptions, Think, Tool, ToolError,
};

/// What the tools need to know about where they work.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The directory the agent works in: an absolute path.
    pub workspace: PathBuf,
    /// A directory of ours, outside the workspace: made with mode 0700 if it is not there.
    pub private_dir: PathBuf,
    /// The whole environment of the programs that are started: nothing else is inherited.
    pub env: Vec<(String, String)>,
}

/// The tools of one workspace. Close it before dropping it: a dropped one kills its shell, but not what the
/// shell left in the background.
pub struct Toolbox {
    tools: Vec<(String, Arc<dyn Tool>)>,
    checkpoints: Arc<Checkpoints>,
}

impl Toolbox {
    /// The tools of this crate, with a terminal that is set up as usual.
    pub fn standard(context: ToolContext) -> Result<Self, ToolError> {
        Self::with_terminal(context, TerminalOptions::default())
    }

    /// The tools of this crate.
    pub fn with_terminal(context: ToolContext, options: TerminalOptions) -> Result<Self, ToolError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&context.private_dir)
            .map_err(ToolError::io(format!(
                "make the directory {}",
                context.private_dir.display()
            )))?;
        let checkpoints = Checkpoints::new(
            context.workspace.clone(),
            context.private_dir.join("checkpoints"),
            CheckpointLimits::default(),
        );
        let editor = FileEditor::new(context.workspace.clone());
        let tools: [Arc<dyn Tool>; 4] = [
            Arc::new(Terminal::new(context, options)),
            Arc::new(editor),
            Arc::new(Finish),
            Arc::new(Think),
        ];
        let empty = Self {
            tools: Vec::new(),
            checkpoints: Arc::new(checkpoints),
        };
        Ok(tools.into_iter().fold(empty, Self::with))
    }

    /// With one more tool.
    #[must_use]
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push((tool.spec().name().to_owned(), tool));
        self
    }

    /// With every tool as `wrap` makes it; its name must stay.
    #[must_use]
    pub fn wrapped(mut self, wrap: impl Fn(Arc<dyn Tool>) -> Arc<dyn Tool>) -> Self {
        for (_, tool) in &mut self.tools {
            *tool = wrap(Arc::clone(tool));
        }
        self
    }

    /// What to offer to a model, always in the same order.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|(_, tool)| tool.spec()).collect()
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, tool)| Arc::clone(tool))
    }

    /// What the workspace was like before, and the way back to it.
    pub fn checkpoints(&self) -> Arc<Checkpoints> {
        Arc::clone(&self.checkpoints)
    }

    /// Ends running calls and kills every process the tools have started. Complete only if the process called
    /// [`crate::become_subreaper`] before: daemons that left their parents are found no other way.
    pub async fn close(&self) {
        // The first one is the terminal, which kills whatever is left; the others close their own in order.
        for (_, tool) in self.tools.iter().rev() {
            tool.close().await;
        }
    }
}
