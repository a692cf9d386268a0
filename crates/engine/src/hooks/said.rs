//! What hooks say.

use serde_json::{Map, Value};

/// What a hook says on its standard output, or a model in its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// Whether it says yes or no at all.
    pub(crate) decides: bool,
    pub(crate) denies: bool,
    pub(crate) reason: Option<String>,
    pub(crate) context: Option<String>,
}

impl Said {
    /// Reads the first JSON object in a text. Whatever else it says counts as nothing.
    pub(crate) fn read(text: &str) -> Self {
        let Some(fields) = first_object(text) else {
            return Self::default();
        };
        let of = |names: [&str; 2]| {
            let said = names.iter().find_map(|name| fields.get(*name)?.as_str());
            said.filter(|text| !text.trim().is_empty()).map(str::to_owned)
        };
        let decision = of(["decision", "decision"]).unwrap_or_default();
        Self {
            decides: !decision.is_empty() || fields.contains_key("continue"),
            denies: matches!(decision.as_str(), "deny" | "block")
                || fields.get("continue") == Some(&false.into()),
            reason: of(["reason", "stopReason"]),
            context: of(["additionalContext", "additional_context"]),
        }
    }
}

fn first_object(text: &str) -> Option<Map<String, Value>> {
    let starts = text.match_indices('{').map(|(start, _)| start);
    starts.take(20).find_map(|start| {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(Value::Object(fields))) => Some(fields),
            _ => None,
        }
    })
}
