//! The kinds of agents that come with this program.

use deft_tools::Preset;

/// The kinds there are, the one that is meant where none is named first.
pub(super) const KINDS: [Kind; 4] = [
    Kind {
        name: "general-purpose",
        old_name: Some("default"),
        description: "does a whole task with all tools",
        tools: Tools::All,
    },
    Kind {
        name: "code-explorer",
        old_name: Some("explore"),
        description: "finds things out in the code and reports; it can change nothing",
        tools: Tools::Looking,
    },
    Kind {
        name: "bash-runner",
        old_name: Some("bash"),
        description: "runs commands and reports what came of them",
        tools: Tools::Terminal,
    },
    Kind {
        name: "web-researcher",
        old_name: None,
        description: "finds things out on the web and reports; it sees no files",
        tools: Tools::Web,
    },
];

/// A kind of agent.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// A name by which it was known before, and still is to those who use it.
    old_name: Option<&'static str>,
    pub(super) description: &'static str,
    tools: Tools,
}

#[derive(Clone, Copy)]
enum Tools {
    All,
    Looking,
    Terminal,
    Web,
}

impl Kind {
    /// The kind of a name.
    pub(super) fn find(name: &str) -> Option<Self> {
        KINDS
            .into_iter()
            .find(|kind| kind.name == name || kind.old_name == Some(name))
    }

    /// Whether it has a tool; `preset` are those of an agent that has all.
    pub(super) fn has(self, tool: &str, preset: Preset) -> bool {
        match self.tools {
            Tools::All => preset.has(tool),
            Tools::Looking => looks_only(tool),
            Tools::Terminal => tool == "terminal",
            Tools::Web => tool == "fetch" || tool.starts_with("browser_"),
        }
    }
}

/// Whether a tool changes nothing.
pub(super) fn looks_only(tool: &str) -> bool {
    matches!(tool, "grep" | "glob" | "read_file" | "list_directory" | "code")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_old_names_too_and_have_what_they_need() {
        for (name, tool, expected) in [
            ("default", "file_editor", true),
            ("explore", "grep", true),
            ("code-explorer", "terminal", false),
            ("bash", "terminal", true),
            ("bash-runner", "file_editor", false),
            ("web-researcher", "browser_navigate", true),
            ("web-researcher", "terminal", false),
        ] {
            let kind = Kind::find(name).unwrap();
            assert_eq!(kind.has(tool, Preset::Standard), expected, "{name} {tool}");
        }
        assert!(Kind::find("nobody").is_none());
    }
}
