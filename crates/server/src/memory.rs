//! How the memory of an agent is kept short, as clients say it: the agent's `condenser`.

use std::sync::Arc;

use deft_engine::{Condenser, Memory, Summary};
use deft_llm::Model;
use serde_json::Value;

/// Events that are too many, and how many of the first stay, where a client does not say.
const MAX_EVENTS: u64 = 240;
const KEEP_FIRST: u64 = 2;
/// Pages of a browser that stay.
const KEEP_PAGES: u64 = 1;

/// The memory that a `condenser` stands for, if it does. `open` opens a model by a client's `llm`.
pub(crate) fn memory(condenser: &Value, open: impl Fn(&Value) -> Option<Arc<dyn Model>>) -> Option<Memory> {
    Some(Memory {
        condenser: read_condenser(condenser)?,
        model: model(condenser).and_then(open),
    })
}

/// What a `condenser` stands for, its model aside.
pub fn read_condenser(condenser: &Value) -> Option<Condenser> {
    let number = |name: &str| condenser[name].as_u64();
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    match condenser["kind"].as_str()? {
        "NoOpCondenser" => Some(Condenser::Pipeline(Vec::new())),
        "ObservationMaskingCondenser" => Some(Condenser::MaskResults),
        "BrowserOutputCondenser" => Some(Condenser::MaskBrowser {
            keep: size(number("attention_window").unwrap_or(KEEP_PAGES)),
        }),
        "RecentEventsCondenser" => Some(Condenser::RecentEvents {
            keep_first: size(number("keep_first").unwrap_or(KEEP_FIRST)),
            max_events: size(number("max_events").unwrap_or(MAX_EVENTS)),
        }),
        "AmortizedForgettingCondenser" => Some(Condenser::Amortized {
            keep_first: size(number("keep_first").unwrap_or(KEEP_FIRST)),
            max_events: size(number("max_size").unwrap_or(MAX_EVENTS)),
        }),
        "ConversationWindowCondenser" => Some(Condenser::Window),
        "LLMSummarizingCondenser" | "StructuredSummaryCondenser" => Some(Condenser::Summary(Summary {
            keep_first: size(number("keep_first").unwrap_or(KEEP_FIRST)),
            max_events: Some(size(number("max_size").unwrap_or(MAX_EVENTS))),
            max_tokens: number("max_tokens"),
            structured: true,
        })),
        "PipelineCondenser" => {
            let parts = condenser["condensers"].as_array()?;
            Some(Condenser::Pipeline(
                parts.iter().filter_map(read_condenser).collect(),
            ))
        }
        _ => None,
    }
}

/// The `llm` of the first part that has one.
fn model(condenser: &Value) -> Option<&Value> {
    let own = Some(&condenser["llm"]).filter(|llm| llm.is_object());
    own.or_else(|| condenser["condensers"].as_array()?.iter().find_map(model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_client_says_is_what_the_engine_does() {
        let summary = |keep_first, max_events, max_tokens| {
            Condenser::Summary(Summary {
                keep_first,
                max_events: Some(max_events),
                max_tokens,
                structured: true,
            })
        };
        let none = || Condenser::Pipeline(Vec::new());
        for (sent, expected) in [
            (json!({"kind": "NoOpCondenser"}), none()),
            (json!({"kind": "LLMSummarizingCondenser"}), summary(2, 240, None)),
            (
                json!({"kind": "StructuredSummaryCondenser", "max_size": 9}),
                summary(2, 9, None),
            ),
            (
                json!({"kind": "ObservationMaskingCondenser"}),
                Condenser::MaskResults,
            ),
            (
                json!({"kind": "BrowserOutputCondenser"}),
                Condenser::MaskBrowser { keep: 1 },
            ),
            (json!({"kind": "ConversationWindowCondenser"}), Condenser::Window),
            (
                json!({"kind": "RecentEventsCondenser", "keep_first": 1, "max_events": 50}),
                Condenser::RecentEvents {
                    keep_first: 1,
                    max_events: 50,
                },
            ),
            (
                json!({"kind": "AmortizedForgettingCondenser", "max_size": 50}),
                Condenser::Amortized {
                    keep_first: 2,
                    max_events: 50,
                },
            ),
            (
                json!({"kind": "PipelineCondenser", "condensers": [{"kind": "NoOpCondenser"},
                    {"kind": "LLMSummarizingCondenser", "max_size": 80, "keep_first": 4, "max_tokens": 9000}]}),
                Condenser::Pipeline(vec![none(), summary(4, 80, Some(9000))]),
            ),
        ] {
            assert_eq!(memory(&sent, |_| None).unwrap().condenser, expected, "{sent}");
        }
        for sent in [Value::Null, json!({"kind": "FutureCondenser"})] {
            assert!(memory(&sent, |_| None).is_none(), "{sent}");
        }
    }

    #[test]
    fn the_model_of_a_part_is_opened() {
        let sent = json!({"kind": "PipelineCondenser", "condensers": [{"kind": "NoOpCondenser"},
            {"kind": "LLMSummarizingCondenser", "llm": {"model": "small"}}]});
        assert_eq!(model(&sent).unwrap()["model"], "small");
    }
}
