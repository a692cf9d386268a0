//! Which tools a model is offered.

/// A set of tools. They differ in how files are changed: a model does best with what it was trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// `file_editor`, for most models.
    #[default]
    Standard,
    /// `apply_patch`, for models trained on that.
    Patch,
    /// `read_file`, `write_file`, `edit` and `list_directory`, for models trained on those.
    SmallTools,
    /// Only what looks, and `planning_file_editor`.
    Planning,
}

impl Preset {
    /// Whether a tool belongs to the set. Tools that are not ours belong to each but the last.
    pub fn has(self, tool: &str) -> bool {
        match tool {
            "file_editor" => self == Self::Standard,
            "apply_patch" => self == Self::Patch,
            "read_file" | "write_file" | "edit" | "list_directory" => self == Self::SmallTools,
            "planning_file_editor" => self == Self::Planning,
            "grep" | "glob" | "think" | "finish" => true,
            _ => self != Self::Planning,
        }
    }
}
