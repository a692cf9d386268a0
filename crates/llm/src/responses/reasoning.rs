//! The reasoning items of a reply, in the one place that a message has for them.
//!
//! A reply may reason again between its calls. The first item is kept as it came; the others ride on it in fields
//! of our own, with their places, which are taken off again before anything is sent.

#[cfg(test)]
mod tests;

use deft_types::{Extra, ReasoningItem};
use serde::Serialize;
use serde_json::{Value, json};

/// How many calls of the reply come before an item; nothing: it comes before all else.
const CALLS_BEFORE: &str = "calls_before";

/// The items after the first.
const FOLLOWING: &str = "following";

/// A reasoning item and its place in the reply.
#[derive(Debug, PartialEq)]
pub(super) struct Placed {
    /// How many calls come before it; `None`: it comes before the text too.
    pub(super) calls_before: Option<usize>,
    pub(super) item: ReasoningItem,
}

/// One item that carries all of them.
pub(super) fn join(items: Vec<Placed>) -> Option<ReasoningItem> {
    let mut items = items.into_iter().map(|placed| {
        let mut item = placed.item;
        if let Some(calls) = placed.calls_before {
            item.extra.insert(CALLS_BEFORE.to_owned(), json!(calls));
        }
        item
    });
    let mut first = items.next()?;
    let following: Vec<_> = items.map(|item| json!(item)).collect();
    if !following.is_empty() {
        first.extra.insert(FOLLOWING.to_owned(), Value::Array(following));
    }
    Some(first)
}

/// All items that an item carries.
pub(super) fn split(item: &ReasoningItem) -> Vec<Placed> {
    let mut first = item.clone();
    let following = match first.extra.remove(FOLLOWING) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let following = following
        .into_iter()
        .filter_map(|item| serde_json::from_value(item).ok());
    std::iter::once(first)
        .chain(following)
        .map(|mut item| Placed {
            calls_before: item
                .extra
                .remove(CALLS_BEFORE)
                .and_then(|calls| usize::try_from(calls.as_u64()?).ok()),
            item,
        })
        .collect()
}

/// Reads an item of a reply.
pub(super) fn read(item: &Value) -> ReasoningItem {
    let mut fields = item.as_object().cloned().unwrap_or_default();
    fields.remove("type");
    let mut word = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (id, encrypted_content, status) = (word("id"), word("encrypted_content"), word("status"));
    let mut texts = |name: &str| fields.remove(name).as_ref().and_then(texts_of);
    ReasoningItem {
        id,
        summary: texts("summary").unwrap_or_default(),
        content: texts("content"),
        encrypted_content,
        status,
        extra: fields,
    }
}

fn texts_of(parts: &Value) -> Option<Vec<String>> {
    let parts = parts.as_array()?.iter();
    Some(
        parts
            .filter_map(|part| Some(part.get("text")?.as_str()?.to_owned()))
            .collect(),
    )
}

/// A reasoning item as it is sent.
#[derive(Serialize)]
pub(super) struct WireReasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    summary: Vec<WireText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Vec<WireText>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(flatten)]
    extra: Extra,
}

#[derive(Serialize)]
struct WireText {
    r#type: &'static str,
    text: String,
}

/// The item as it came. `None` for one that holds no reasoning: the server would look for the rest under its id,
/// where we asked it to keep nothing.
pub(super) fn write(item: ReasoningItem) -> Option<WireReasoning> {
    let list = |r#type, texts: Vec<String>| texts.into_iter().map(|text| WireText { r#type, text }).collect();
    // Readable reasoning is taken back only where there is no other.
    let content = item
        .content
        .filter(|texts| !texts.is_empty() && item.encrypted_content.is_none());
    if content.is_none() && item.encrypted_content.is_none() {
        return None;
    }
    Some(WireReasoning {
        // Those that other servers give are refused.
        id: item.id.filter(|id| id.starts_with("rs")),
        summary: list("summary_text", item.summary),
        content: content.map(|texts| list("reasoning_text", texts)),
        encrypted_content: item.encrypted_content,
        status: item.status,
        extra: item.extra,
    })
}
