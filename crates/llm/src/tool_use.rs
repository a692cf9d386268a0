//! Tool calls as Anthropic and Bedrock accept them, whoever made them: a conversation may have begun with
//! another provider's model.

use std::borrow::Cow;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use serde_json::json;
use serde_json::value::RawValue;

use crate::{ModelError, Request, ToolSchema};

/// A longer id is refused.
const MAX_ID_BYTES: usize = 64;

/// How many bytes of a digest stand for an id that is refused.
const DIGEST_BYTES: usize = 16;

/// An id of letters, digits, `_` and `-`. Any other is replaced, the same one always in the same way.
pub(crate) fn id(id: &str) -> Cow<'_, str> {
    let fits = (1..=MAX_ID_BYTES).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if fits {
        return Cow::Borrowed(id);
    }
    let digest = digest(&SHA256, id.as_bytes());
    let hex: String = digest.as_ref()[..DIGEST_BYTES]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Cow::Owned(format!("call_{hex}"))
}

/// The arguments as a JSON object, exactly as the model wrote them. What is none is put into one, so that the
/// model can see what it wrote.
pub(crate) fn input(arguments: &str) -> Result<Cow<'_, RawValue>, ModelError> {
    let arguments = arguments.trim();
    if arguments.starts_with('{')
        && let Ok(object) = serde_json::from_str(arguments)
    {
        return Ok(Cow::Borrowed(object));
    }
    let text = if arguments.is_empty() {
        "{}".to_owned()
    } else {
        json!({ "invalid_arguments": arguments }).to_string()
    };
    RawValue::from_string(text)
        .map(Cow::Owned)
        .map_err(|error| unwritable(&error))
}

/// The tools to declare. A history with calls in it is refused where there are none, so that one which was
/// called stands in.
pub(crate) fn declared(request: &Request) -> Arc<[ToolSchema]> {
    let called = request
        .messages
        .iter()
        .find_map(|message| message.tool_calls.iter().flatten().next());
    match called {
        Some(call) if request.tools.is_empty() => Arc::new([ToolSchema {
            name: call.name.clone(),
            description: "Not available now.".to_owned(),
            parameters: json!({ "type": "object" }),
        }]),
        _ => Arc::clone(&request.tools),
    }
}

/// A body that could not be written.
fn unwritable(error: &serde_json::Error) -> ModelError {
    ModelError::BadRequest {
        detail: format!("the request could not be written as JSON: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_would_be_refused_is_replaced_always_alike() {
        assert_eq!(id("toolu_01-Ab"), "toolu_01-Ab");
        let long = "x".repeat(65);
        for foreign in ["call__thought__a+b/c==", "", long.as_str()] {
            let replaced = id(foreign);
            assert!(replaced.len() <= MAX_ID_BYTES && replaced.starts_with("call_"));
            assert_eq!(replaced, id(foreign));
            assert_eq!(id(&replaced), replaced);
        }
        assert_ne!(id("a b"), id("a c"));
    }

    #[test]
    fn arguments_become_an_object_without_loss() {
        let cases = [
            (
                r#"{"b": 12345678901234567890123, "a":1.0}"#,
                r#"{"b": 12345678901234567890123, "a":1.0}"#,
            ),
            ("", "{}"),
            ("[1]", r#"{"invalid_arguments":"[1]"}"#),
            (r#"{"cut": "o"#, r#"{"invalid_arguments":"{\"cut\": \"o"}"#),
        ];
        for (arguments, expected) in cases {
            assert_eq!(input(arguments).unwrap().get(), expected);
        }
    }
}
