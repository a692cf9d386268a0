//! The observations: what tools answer.
#![allow(missing_docs)] // the fields are the wire's; what they mean is told to the model in the tool's schema

mod files;
mod parts;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use self::files::*;
pub use self::parts::*;
use crate::action::{DelegateCommand, Isolation, TaskTrackerCommand};
use crate::content::Content;
use crate::tagged::{Extra, tagged_union};

/// What every observation has.
macro_rules! common_parts {
    ($($variant:ident),* $(,)?) => {
        impl Observation {
            /// What it says, in parts.
            pub fn content(&self) -> Vec<Content> {
                match self {
                    $(Self::$variant(body) => body.content.clone(),)*
                    Self::Unknown(unknown) => {
                        unknown.fields.get("content").and_then(|parts| Vec::deserialize(parts).ok()).unwrap_or_default()
                    }
                }
            }

            /// Says something more.
            pub fn add(&mut self, part: Content) {
                match self {
                    $(Self::$variant(body) => body.content.push(part),)*
                    Self::Unknown(_) => {}
                }
            }

            /// Whether the tool failed at what it was asked.
            pub fn is_error(&self) -> bool {
                match self {
                    $(Self::$variant(body) => body.is_error,)*
                    Self::Unknown(unknown) => {
                        unknown.fields.get("is_error").and_then(serde_json::Value::as_bool).unwrap_or(false)
                    }
                }
            }
        }
    };
}

tagged_union! {
    /// What a tool answers.
    Observation {
        MCPTool(MCPToolObservation),
        ClassifyAndSwitchLLM(ClassifyAndSwitchLLMObservation),
        Finish(FinishObservation),
        InvokeSkill(InvokeSkillObservation),
        SwitchLLM(SwitchLLMObservation),
        Think(ThinkObservation),
        VisionInspect(VisionInspectObservation),
        ClientTool(ClientToolObservation),
        ApplyPatch(ApplyPatchObservation),
        AskOracle(AskOracleObservation),
        Browser(BrowserObservation),
        StartChildConversation(StartChildConversationObservation),
        Delegate(DelegateObservation),
        FileEditor(FileEditorObservation),
        Edit(EditObservation),
        ListDirectory(ListDirectoryObservation),
        ReadFile(ReadFileObservation),
        WriteFile(WriteFileObservation),
        Glob(GlobObservation),
        Grep(GrepObservation),
        PlanningFileEditor(PlanningFileEditorObservation),
        Task(TaskObservation),
        TaskTracker(TaskTrackerObservation),
        Terminal(TerminalObservation),
        ConsultTom(ConsultTomObservation),
        SleeptimeCompute(SleeptimeComputeObservation),
        Workflow(WorkflowObservation),
    } with common_parts
}

/// Answers an `MCPToolAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MCPToolObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub tool_name: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `ClassifyAndSwitchLLMAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassifyAndSwitchLLMObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub chosen_class: Option<String>,
    pub model: Option<String>,
    pub active_model: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `FinishAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FinishObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `InvokeSkillAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InvokeSkillObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub skill_name: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `SwitchLLMAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SwitchLLMObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub profile_name: String,
    pub reason: Option<String>,
    pub active_model: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `ThinkAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThinkObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `VisionInspectAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VisionInspectObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub image_index: i64,
    pub question: String,
    pub profile_name: Option<String>,
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub answer: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers an action of a tool that the client runs.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientToolObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `ApplyPatchAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApplyPatchObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub fuzz: i64,
    pub commit: Option<PatchCommit>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `AskOracleAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AskOracleObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers any browser action.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BrowserObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub screenshot_data: Option<String>,
    pub full_output_save_dir: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `StartChildConversationAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StartChildConversationObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub conversation_id: Option<String>,
    pub parent_conversation_id: Option<String>,
    pub status: Option<String>,
    pub title: Option<String>,
    pub url: Option<String>,
    pub workspace: Option<String>,
    pub isolation: Option<Isolation>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `DelegateAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelegateObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub command: DelegateCommand,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `TaskAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub task_id: String,
    pub subagent: String,
    pub status: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `TaskTrackerAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskTrackerObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub command: TaskTrackerCommand,
    #[serde(default)]
    pub task_list: Vec<TaskItem>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `TerminalAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TerminalObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub command: Option<String>,
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub timeout: bool,
    #[serde(default)]
    pub metadata: CommandMetadata,
    pub full_output_save_dir: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `ConsultTomAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConsultTomObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(default)]
    pub suggestions: String,
    pub confidence: Option<f64>,
    pub reasoning: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `SleeptimeComputeAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SleeptimeComputeObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub sessions_processed: i64,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `WorkflowAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkflowObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub name: String,
    pub status: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}
