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
    /// What a model of this name was trained on, as far as the name tells.
    pub fn for_model(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let is = |part: &str| name.contains(part);
        if is("gpt-5") || is("codex") {
            Self::Patch
        } else if is("gemini") {
            Self::SmallTools
        } else {
            Self::Standard
        }
    }

    /// Whether a tool belongs to the set. Tools that are not ours belong to each but the last.
    pub fn has(self, tool: &str) -> bool {
        match tool {
            "file_editor" => self == Self::Standard,
            "apply_patch" => self == Self::Patch,
            "read_file" | "write_file" | "edit" | "list_directory" => self == Self::SmallTools,
            "planning_file_editor" => self == Self::Planning,
            // Seldom needed: whoever wants them asks for them.
            "browser_get_storage"
            | "browser_set_storage"
            | "browser_start_recording"
            | "browser_stop_recording" => false,
            "grep" | "glob" | "think" | "finish" => true,
            _ => self != Self::Planning,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_get_the_tools_they_know() {
        for (name, preset) in [
            ("openai/gpt-5.6", Preset::Patch),
            ("gemini/gemini-3.1-pro", Preset::SmallTools),
            ("anthropic/claude-sonnet-4-5", Preset::Standard),
            ("ollama/qwen3", Preset::Standard),
        ] {
            assert_eq!(Preset::for_model(name), preset, "{name}");
        }
    }
}
