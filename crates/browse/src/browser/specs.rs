//! How the tools are shown to a model. All of them go with every request, so they are short.

use deft_tools::{Reach, spec};
use deft_types::ToolSpec;
use serde_json::{Value, json};

/// The stem of a tool's kinds, its name, and what is said of it.
pub(super) struct ToolText {
    pub(super) name: &'static str,
    stem: &'static str,
    effect: Effect,
    description: &'static str,
    parameters: fn() -> Value,
    required: &'static [&'static str],
}

/// What a tool does, in the words of its annotations.
#[derive(Clone, Copy)]
enum Effect {
    /// Only looks.
    Reads,
    /// Acts on the page, and so perhaps on what is behind it.
    Acts,
    /// Changes only the browser.
    Browser,
    /// Changes only the browser, and something is lost.
    Discards,
}

impl ToolText {
    pub(super) fn spec(&self) -> ToolSpec {
        let parameters = (self.parameters)();
        let reach = Reach::World;
        let mut spec = spec(
            self.name,
            self.stem,
            reach,
            self.description,
            &parameters,
            self.required,
        );
        spec.definition.observation_type = Some("BrowserObservation".to_owned());
        if let Some(hints) = &mut spec.definition.annotations {
            hints.read_only_hint = matches!(self.effect, Effect::Reads);
            hints.idempotent_hint = hints.read_only_hint;
            hints.destructive_hint = matches!(self.effect, Effect::Discards);
            hints.open_world_hint = matches!(self.effect, Effect::Reads | Effect::Acts);
        }
        spec
    }

    pub(super) fn action_kind(&self) -> String {
        format!("{}Action", self.stem)
    }
}

/// All tools, in the order in which they are offered.
pub(super) const SPECS: [ToolText; 14] = [
    ToolText {
        name: "browser_navigate",
        stem: "BrowserNavigate",
        effect: Effect::Acts,
        description: "Opens a web address in a real browser.",
        parameters: || json!({"url": {"type": "string"}, "new_tab": {"type": "boolean"}}),
        required: &["url"],
    },
    ToolText {
        name: "browser_click",
        stem: "BrowserClick",
        effect: Effect::Acts,
        description: "Clicks an element, by its number in browser_get_state.",
        parameters: || {
            json!({
                "index": {"type": "integer", "minimum": 0},
                "new_tab": {"type": "boolean", "description": "Open a link in a new tab."},
            })
        },
        required: &["index"],
    },
    ToolText {
        name: "browser_type",
        stem: "BrowserType",
        effect: Effect::Acts,
        description: "Replaces the text of a field, or chooses an option of a select. A line break at the end presses Enter.",
        parameters: || json!({"index": {"type": "integer", "minimum": 0}, "text": {"type": "string"}}),
        required: &["index", "text"],
    },
    ToolText {
        name: "browser_get_state",
        stem: "BrowserGetState",
        effect: Effect::Reads,
        description: "Lists the page's elements with the numbers that click and type take. Call it again when the page has changed.",
        parameters: || json!({"include_screenshot": {"type": "boolean"}}),
        required: &[],
    },
    ToolText {
        name: "browser_get_content",
        stem: "BrowserGetContent",
        effect: Effect::Reads,
        description: "Reads the page as Markdown, 30,000 characters at a time.",
        parameters: || {
            json!({
                "extract_links": {"type": "boolean"},
                "start_from_char": {"type": "integer", "minimum": 0},
            })
        },
        required: &[],
    },
    ToolText {
        name: "browser_scroll",
        stem: "BrowserScroll",
        effect: Effect::Acts,
        description: "Scrolls by 500 pixels.",
        parameters: || json!({"direction": {"type": "string", "enum": ["up", "down"]}}),
        required: &[],
    },
    ToolText {
        name: "browser_go_back",
        stem: "BrowserGoBack",
        effect: Effect::Acts,
        description: "Goes back one page.",
        parameters: || json!({}),
        required: &[],
    },
    ToolText {
        name: "browser_list_tabs",
        stem: "BrowserListTabs",
        effect: Effect::Reads,
        description: "Lists the tabs.",
        parameters: || json!({}),
        required: &[],
    },
    ToolText {
        name: "browser_switch_tab",
        stem: "BrowserSwitchTab",
        effect: Effect::Browser,
        description: "Goes to a tab.",
        parameters: || json!({"tab_id": {"type": "string"}}),
        required: &["tab_id"],
    },
    ToolText {
        name: "browser_close_tab",
        stem: "BrowserCloseTab",
        effect: Effect::Discards,
        description: "Closes a tab.",
        parameters: || json!({"tab_id": {"type": "string"}}),
        required: &["tab_id"],
    },
    ToolText {
        name: "browser_get_storage",
        stem: "BrowserGetStorage",
        effect: Effect::Reads,
        description: "Reads cookies, and local storage of the open pages.",
        parameters: || json!({}),
        required: &[],
    },
    ToolText {
        name: "browser_set_storage",
        stem: "BrowserSetStorage",
        effect: Effect::Discards,
        description: "Sets cookies and local storage.",
        parameters: || json!({"storage_state": {"type": "object", "description": "{cookies, origins} as browser_get_storage has it."}}),
        required: &["storage_state"],
    },
    ToolText {
        name: "browser_start_recording",
        stem: "BrowserStartRecording",
        effect: Effect::Browser,
        description: "From now on keeps each browser call with a screenshot, as files.",
        parameters: || json!({}),
        required: &[],
    },
    ToolText {
        name: "browser_stop_recording",
        stem: "BrowserStopRecording",
        effect: Effect::Browser,
        description: "Ends the recording.",
        parameters: || json!({}),
        required: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tools_together_cost_little_of_each_request() {
        let size: usize = SPECS
            .iter()
            .map(|text| {
                let spec = text.spec();
                let shown = json!({
                    "name": spec.name(), "description": spec.definition.description, "parameters": spec.parameters,
                });
                shown.to_string().chars().count()
            })
            .sum();
        assert!(size <= 3_300, "{size} characters");
    }

    #[test]
    fn every_action_a_model_can_write_is_one_that_is_known() {
        for text in &SPECS {
            let fields = text.required.iter().map(|name| {
                let value = match *name {
                    "index" => json!(0),
                    "storage_state" => json!({}),
                    _ => json!("x"),
                };
                ((*name).to_owned(), value)
            });
            let action = deft_types::Action::from_fields(&text.action_kind(), fields.collect());
            assert!(!matches!(action, deft_types::Action::Unknown(_)), "{}", text.name);
        }
    }
}
