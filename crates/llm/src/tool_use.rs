//! Tool calls as each server accepts them, whoever made them: a conversation may have begun with another
//! provider's model.

use std::borrow::Cow;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::gemini::bare_call_id;
use crate::provider::{CallIds, Charset};
use crate::{ModelError, Request, ToolSchema};

/// What stands for an id that is refused is made of these.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The id of a call without what Gemini hid in it. One that the server refuses is replaced, the same one always
/// in the same way.
pub(crate) fn id(kept: &str, taken: CallIds) -> Cow<'_, str> {
    let id = bare_call_id(kept);
    let fits = (taken.min_bytes..=taken.max_bytes).contains(&id.len())
        && id.bytes().all(|byte| match taken.charset {
            Charset::Any => true,
            Charset::Words => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Charset::Alphanumeric => byte.is_ascii_alphanumeric(),
        });
    if fits {
        return Cow::Borrowed(id);
    }
    let digest = digest(&SHA256, id.as_bytes());
    let letters = digest
        .as_ref()
        .iter()
        .map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]));
    let mark = match taken.charset {
        Charset::Any | Charset::Words => "call_",
        Charset::Alphanumeric => "",
    };
    Cow::Owned(mark.chars().chain(letters).take(taken.max_bytes).collect())
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

/// A tool as OpenAI's chat API and Ollama declare it.
#[derive(Serialize)]
pub(crate) struct FunctionTool<'a> {
    r#type: &'static str,
    function: &'a ToolSchema,
}

impl<'a> From<&'a ToolSchema> for FunctionTool<'a> {
    fn from(function: &'a ToolSchema) -> Self {
        Self {
            r#type: "function",
            function,
        }
    }
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
    use crate::provider::Dialect;

    #[test]
    fn an_id_that_would_be_refused_is_replaced_always_alike() {
        assert_eq!(id("toolu_01-Ab", CallIds::WORDS), "toolu_01-Ab");
        assert_eq!(id("fc-1__thought__a+b/c==", CallIds::WORDS), "fc-1");
        assert_eq!(id("functions.ls:0", CallIds::ANY), "functions.ls:0");
        let nine = Dialect::Strict.call_ids().unwrap();
        let short = Dialect::OpenAi.call_ids().unwrap();
        assert_eq!(id("abcDEF123", nine), "abcDEF123");
        let long = "x".repeat(65);
        for (taken, refused) in [
            (CallIds::WORDS, "functions.ls:0"),
            (CallIds::WORDS, "__thought__a+b/c=="),
            (CallIds::WORDS, &long),
            (CallIds::ANY, &long),
            (CallIds::ANY, ""),
            (short, &long[..41]),
            (nine, "call_1"),
            (nine, "call_1234"),
            (nine, &long[..10]),
        ] {
            let replaced = id(refused, taken);
            assert_ne!(replaced, refused);
            assert!(
                (taken.min_bytes..=taken.max_bytes).contains(&replaced.len()),
                "{replaced}"
            );
            assert_eq!(replaced, id(refused, taken));
            assert_eq!(id(&replaced, taken), replaced);
        }
        assert_ne!(id("a b", CallIds::WORDS), id("a c", CallIds::WORDS));
        assert_ne!(id("call_1", nine), id("call_2", nine));
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
