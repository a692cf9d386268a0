//! The actions: what an agent asks its tools to do.
#![allow(missing_docs)] // the fields are the wire's; what they mean is told to the model in the tool's schema

mod browser;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use self::browser::*;
use crate::observation::TaskItem;
use crate::tagged::{Extra, tagged_union};

/// What every action has.
macro_rules! common_parts {
    ($($variant:ident),* $(,)?) => {
        impl Action {
            /// The fields that its kind does not have.
            pub fn extra(&self) -> &Extra {
                match self {
                    $(Self::$variant(body) => &body.extra,)*
                    Self::Unknown(unknown) => &unknown.fields,
                }
            }
        }
    };
}

tagged_union! {
    /// What the agent asks a tool to do.
    Action {
        MCPTool(MCPToolAction),
        ClassifyAndSwitchLLM(ClassifyAndSwitchLLMAction),
        Finish(FinishAction),
        InvokeSkill(InvokeSkillAction),
        SwitchLLM(SwitchLLMAction),
        Think(ThinkAction),
        VisionInspect(VisionInspectAction),
        ApplyPatch(ApplyPatchAction),
        AskOracle(AskOracleAction),
        Browser(BrowserAction),
        BrowserClick(BrowserClickAction),
        BrowserCloseTab(BrowserCloseTabAction),
        BrowserGetContent(BrowserGetContentAction),
        BrowserGetState(BrowserGetStateAction),
        BrowserGetStorage(BrowserGetStorageAction),
        BrowserGoBack(BrowserGoBackAction),
        BrowserListTabs(BrowserListTabsAction),
        BrowserNavigate(BrowserNavigateAction),
        BrowserScroll(BrowserScrollAction),
        BrowserSetStorage(BrowserSetStorageAction),
        BrowserStartRecording(BrowserStartRecordingAction),
        BrowserStopRecording(BrowserStopRecordingAction),
        BrowserSwitchTab(BrowserSwitchTabAction),
        BrowserType(BrowserTypeAction),
        StartChildConversation(StartChildConversationAction),
        Delegate(DelegateAction),
        FileEditor(FileEditorAction),
        Edit(EditAction),
        ListDirectory(ListDirectoryAction),
        ReadFile(ReadFileAction),
        WriteFile(WriteFileAction),
        Glob(GlobAction),
        Grep(GrepAction),
        PlanningFileEditor(PlanningFileEditorAction),
        Task(TaskAction),
        TaskTracker(TaskTrackerAction),
        Terminal(TerminalAction),
        ConsultTom(ConsultTomAction),
        SleeptimeCompute(SleeptimeComputeAction),
        Workflow(WorkflowAction),
    } with common_parts
}

/// Calls a tool of an MCP server.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MCPToolAction {
    #[serde(default)]
    pub data: Extra,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Lets a classifier choose the model for the task.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassifyAndSwitchLLMAction {
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Ends the task with a message to the user.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FinishAction {
    pub message: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Loads a skill by name.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InvokeSkillAction {
    pub name: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Goes on with another saved model.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SwitchLLMAction {
    pub profile_name: String,
    pub reason: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Writes a thought into the log; changes nothing.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThinkAction {
    pub thought: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Asks a vision model about an attached image.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VisionInspectAction {
    pub image_index: i64,
    pub question: String,
    pub profile_name: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Applies a patch to several files.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApplyPatchAction {
    pub patch: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Asks the oracle model.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AskOracleAction {
    pub question: String,
    pub context: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Starts a conversation of its own for a task.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StartChildConversationAction {
    pub task: String,
    pub title: Option<String>,
    #[serde(default)]
    pub isolation: Isolation,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Spawns helpers or gives them tasks.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelegateAction {
    pub command: DelegateCommand,
    pub ids: Option<Vec<String>>,
    pub agent_types: Option<Vec<String>>,
    pub tasks: Option<std::collections::BTreeMap<String, String>>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Views or changes a file.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileEditorAction {
    pub command: EditorCommand,
    pub path: String,
    pub file_text: Option<String>,
    pub old_str: Option<String>,
    pub new_str: Option<String>,
    pub insert_line: Option<i64>,
    pub view_range: Option<Vec<i64>>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Replaces text in a file.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EditAction {
    pub file_path: String,
    pub old_string: String,
    pub new_string: String,
    #[serde(default = "one")]
    pub expected_replacements: i64,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Lists a directory.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListDirectoryAction {
    #[serde(default = "here")]
    pub dir_path: String,
    #[serde(default)]
    pub recursive: bool,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Reads a file.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadFileAction {
    pub file_path: String,
    pub offset: Option<i64>,
    pub limit: Option<i64>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Writes a file.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WriteFileAction {
    pub file_path: String,
    pub content: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Finds files by name.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GlobAction {
    pub pattern: String,
    pub path: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Finds files by content.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GrepAction {
    pub pattern: String,
    pub path: Option<String>,
    pub include: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Views any file, changes the plan.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanningFileEditorAction {
    pub command: EditorCommand,
    pub path: String,
    pub file_text: Option<String>,
    pub old_str: Option<String>,
    pub new_str: Option<String>,
    pub insert_line: Option<i64>,
    pub view_range: Option<Vec<i64>>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Gives a task to a sub-agent.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskAction {
    pub description: Option<String>,
    pub prompt: String,
    #[serde(default = "general_purpose")]
    pub subagent_type: String,
    pub resume: Option<String>,
    pub max_turns: Option<i64>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Views or replaces the task list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskTrackerAction {
    #[serde(default)]
    pub command: TaskTrackerCommand,
    #[serde(default)]
    pub task_list: Vec<TaskItem>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Runs a command in a shell, or talks to the one that runs.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TerminalAction {
    pub command: String,
    #[serde(default)]
    pub is_input: bool,
    pub timeout: Option<f64>,
    #[serde(default)]
    pub reset: bool,
    /// Ours: which of several shells; absent for the main one.
    pub shell: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Asks for a guess at what the user means.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConsultTomAction {
    pub reason: String,
    #[serde(default = "yes")]
    pub use_user_message: bool,
    pub custom_query: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Has past conversations digested.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SleeptimeComputeAction {
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Runs a script that drives sub-agents.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkflowAction {
    pub name: String,
    pub script: String,
    #[serde(default = "eight")]
    pub max_concurrency: i64,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// What to do with a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditorCommand {
    #[default]
    View,
    Create,
    StrReplace,
    Insert,
    UndoEdit,
}

/// What to do with the task list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskTrackerCommand {
    #[default]
    View,
    Plan,
}

/// Whether a child conversation gets a worktree of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    #[default]
    Worktree,
    Shared,
}

/// What the delegate tool is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegateCommand {
    #[default]
    Spawn,
    Delegate,
}

fn yes() -> bool {
    true
}

fn one() -> i64 {
    1
}

fn eight() -> i64 {
    8
}

fn here() -> String {
    ".".to_owned()
}

fn general_purpose() -> String {
    "general-purpose".to_owned()
}
