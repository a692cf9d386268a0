//! Arguments of a call for the APIs that want them as an object and not as text.

use serde_json::{Map, Value};

/// The arguments as an object. What a model wrote that is none goes back to it as text, so that it sees its mistake.
pub(crate) fn as_object(arguments: &str) -> Map<String, Value> {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => object,
        _ if arguments.trim().is_empty() => Map::new(),
        _ => Map::from_iter([("invalid_arguments".to_owned(), arguments.into())]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_a_model_wrote_becomes_an_object() {
        let cases = [
            ("{\"b\":1,\"a\":2}", json!({ "b": 1, "a": 2 })),
            (" ", json!({})),
            ("{\"a\":", json!({ "invalid_arguments": "{\"a\":" })),
            ("[1]", json!({ "invalid_arguments": "[1]" })),
        ];
        for (arguments, expected) in cases {
            assert_eq!(Value::Object(as_object(arguments)), expected, "{arguments}");
        }
    }
}
