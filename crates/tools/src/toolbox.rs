//! The tools of one workspace, by name.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;

use deft_types::{McpApprovals, McpServerStatus, ToolSpec};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::Value;

use crate::{
    ApplyPatch, CheckpointLimits, Checkpoints, Edit, FileEditor, Finish, Glob, Grep, ListDirectory, LiveView,
    PlanningFileEditor, Preset, ReadFile, Secrets, TaskTracker, Terminal, TerminalOptions, Think, Tool,
    ToolError, ToolServers, WriteFile,
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

/// The tools of one place. Close it before dropping it: a dropped one kills its shell, but not what the
/// shell left in the background.
#[derive(Default)]
pub struct Toolbox {
    tools: Vec<(String, Arc<dyn Tool>)>,
    secrets: Secrets,
    env: Vec<(String, String)>,
    servers: Option<Arc<dyn ToolServers>>,
    checkpoints: Option<Arc<Checkpoints>>,
    live_view: LiveView,
}

impl Toolbox {
    /// The tools that need no workspace: they run beside the engine.
    pub fn host() -> Self {
        Self::default().with(Arc::new(Finish)).with(Arc::new(Think))
    }

    /// The tools of a workspace, with a terminal that is set up as usual.
    pub fn standard(context: ToolContext) -> Result<Self, ToolError> {
        Self::with_terminal(context, TerminalOptions::default())
    }

    /// The tools of a workspace.
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
        let toolbox = Self {
            env: context.env.clone(),
            checkpoints: Some(Arc::new(checkpoints)),
            ..Self::default()
        };
        let (directory, tracker) = (context.workspace.clone(), TaskTracker::new(&context.private_dir));
        let workspace = || directory.clone();
        let tools: [Arc<dyn Tool>; 11] = [
            Arc::new(Terminal::new(context, options, toolbox.secrets.clone())),
            Arc::new(FileEditor::new(workspace())),
            Arc::new(ApplyPatch::new(workspace())),
            Arc::new(ReadFile::new(workspace())),
            Arc::new(WriteFile::new(workspace())),
            Arc::new(Edit::new(workspace())),
            Arc::new(ListDirectory::new(workspace())),
            Arc::new(PlanningFileEditor::new(workspace())),
            Arc::new(Grep::new(workspace())),
            Arc::new(Glob::new(workspace())),
            Arc::new(tracker),
        ];
        Ok(tools.into_iter().fold(toolbox, Self::with))
    }

    /// With one more tool.
    #[must_use]
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push((tool.spec().name().to_owned(), tool));
        self
    }

    /// Puts a tool in the place of the one of its name, or beside the others.
    pub fn put(&mut self, tool: Arc<dyn Tool>) {
        let name = tool.spec().name().to_owned();
        match self.tools.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = tool,
            None => self.tools.push((name, tool)),
        }
    }

    /// What commands may use by name, and what must not be told.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The whole environment of programs that are started in the workspace.
    pub fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// With what starts servers of further tools.
    #[must_use]
    pub fn with_servers(mut self, servers: Arc<dyn ToolServers>) -> Self {
        self.servers = Some(servers);
        self
    }

    /// With a browser that can be watched.
    #[must_use]
    pub fn with_live_view(mut self, live_view: LiveView) -> Self {
        self.live_view = live_view;
        self
    }

    /// What its browser shows.
    pub fn live_view(&self) -> &LiveView {
        &self.live_view
    }

    /// Starts the servers of a configuration; their tools can be called by the names that their statuses tell.
    pub async fn start_servers(
        &self,
        config: Value,
        approvals: McpApprovals,
    ) -> Result<Vec<McpServerStatus>, String> {
        let Some(servers) = &self.servers else {
            return Err("this workspace cannot start MCP servers".to_owned());
        };
        let reserved = self.tools.iter().map(|(name, _)| name.clone());
        servers.start(config, approvals, reserved.collect()).await
    }

    /// Tells how servers that were started are doing, whenever that changes.
    pub fn follow_servers(&self) -> BoxStream<'static, Vec<McpServerStatus>> {
        match &self.servers {
            Some(servers) => servers.follow(),
            None => stream::pending().boxed(),
        }
    }

    /// Without the tools that are not to be kept.
    #[must_use]
    pub fn only(mut self, keep: impl Fn(&ToolSpec) -> bool) -> Self {
        self.tools.retain(|(_, tool)| keep(&tool.spec()));
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

    /// All of them, always in the same order.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|(_, tool)| tool.spec()).collect()
    }

    /// What to offer to a model that works with a preset, always in the same order.
    pub fn specs_of(&self, preset: Preset) -> Vec<ToolSpec> {
        let offered = self.tools.iter().filter(|(name, _)| preset.has(name));
        offered.map(|(_, tool)| tool.spec()).collect()
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let own = self.tools.iter().find(|(known, _)| known == name);
        own.map(|(_, tool)| Arc::clone(tool))
            .or_else(|| self.servers.as_ref()?.tool(name))
    }

    /// What the workspace was like before, and the way back to it.
    pub fn checkpoints(&self) -> Option<Arc<Checkpoints>> {
        self.checkpoints.clone()
    }

    /// Ends running calls and kills every process the tools have started. Complete only if the process called
    /// [`crate::become_subreaper`] before: daemons that left their parents are found no other way.
    pub async fn close(&self) {
        if let Some(servers) = &self.servers {
            servers.close().await;
        }
        // The first one is the terminal, which kills whatever is left; the others close their own in order.
        for (_, tool) in self.tools.iter().rev() {
            tool.close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toolbox() -> (tempfile::TempDir, Toolbox) {
        let directory = tempfile::tempdir().unwrap();
        let context = ToolContext {
            workspace: "/workspace".into(),
            private_dir: directory.path().into(),
            env: Vec::new(),
        };
        (directory, Toolbox::standard(context).unwrap())
    }

    /// What a model has to read of a tool, in characters.
    fn size(spec: &ToolSpec) -> usize {
        let parameters = spec.parameters.to_string();
        (spec.name().to_owned() + &spec.definition.description + &parameters)
            .chars()
            .count()
    }

    #[test]
    fn schemas_are_short() {
        let (_directory, toolbox) = toolbox();
        for (name, limit) in [
            ("grep", 700),
            ("glob", 450),
            ("apply_patch", 900),
            ("task_tracker", 700),
            ("read_file", 400),
            ("write_file", 400),
            ("edit", 400),
            ("list_directory", 400),
            ("planning_file_editor", 1_200),
        ] {
            let size = size(&toolbox.get(name).unwrap().spec());
            assert!(size <= limit, "{name} has {size} characters");
        }
        let standard: usize = toolbox.specs_of(Preset::Standard).iter().map(size).sum();
        assert!(standard <= 5_500, "the standard tools have {standard} characters");
    }

    #[test]
    fn each_preset_has_one_way_to_change_files() {
        let (_directory, toolbox) = toolbox();
        for (preset, own) in [
            (
                Preset::Standard,
                vec!["terminal", "file_editor", "grep", "glob", "task_tracker"],
            ),
            (
                Preset::Patch,
                vec!["terminal", "apply_patch", "grep", "glob", "task_tracker"],
            ),
            (
                Preset::SmallTools,
                vec![
                    "terminal",
                    "read_file",
                    "write_file",
                    "edit",
                    "list_directory",
                    "grep",
                    "glob",
                    "task_tracker",
                ],
            ),
            (Preset::Planning, vec!["planning_file_editor", "grep", "glob"]),
        ] {
            let specs = toolbox.specs_of(preset);
            let names: Vec<&str> = specs.iter().map(ToolSpec::name).collect();
            assert_eq!(names, own, "{preset:?}");
        }
    }
}
