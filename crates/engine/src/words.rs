//! A text as models write it in a field: some make a list of it, or leave it null.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The text; of a list one a line, and of anything else none: it keeps nobody from reading the fields beside it.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        Value::Array(items) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            items.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    })
}
