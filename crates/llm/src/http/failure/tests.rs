use reqwest::header::HeaderValue;
use serde_json::json;

use super::*;

/// The failure of an OpenAI-style body with this message and code.
fn openai(status: u16, message: &str, code: &str) -> ModelError {
    let body = json!({ "error": { "message": message, "type": "some_error", "code": code } });
    failure_of(Some(status), None, &body.to_string())
}

#[test]
fn a_status_alone_means_one_failure() {
    let cases = [
        (400, "LLMBadRequestError"),
        (401, "LLMAuthenticationError"),
        (402, "LLMRateLimitError"),
        (403, "LLMAuthenticationError"),
        (404, "LLMBadRequestError"),
        (408, "LLMTimeoutError"),
        (409, "LLMServiceUnavailableError"),
        (413, "LLMContextWindowExceedError"),
        (422, "LLMBadRequestError"),
        (429, "LLMRateLimitError"),
        (500, "LLMServiceUnavailableError"),
        (502, "LLMServiceUnavailableError"),
        (503, "LLMServiceUnavailableError"),
        (504, "LLMTimeoutError"),
        (529, "LLMServiceUnavailableError"),
    ];
    for (status, code) in cases {
        let error = failure_of(Some(status), None, "");
        assert_eq!(error.code(), code, "{status}");
        assert!(error.to_string().contains(&format!("HTTP {status}")), "{error}");
    }
    assert!(matches!(
        failure_of(Some(402), None, ""),
        ModelError::Quota { .. }
    ));
    assert!(matches!(
        failure_of(Some(403), None, ""),
        ModelError::Permission { .. }
    ));
    assert!(matches!(
        failure_of(Some(529), None, ""),
        ModelError::Overloaded { .. }
    ));
}

#[test]
fn a_history_that_is_too_long_is_known_in_every_dialect() {
    let messages = [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199999 + 8192 > 200000",
        "Invalid request: Your request exceeded model token limit: 8192",
        "the request exceeds the available context size. try increasing the context size",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        "Please reduce the length of the messages or completion.",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "Input is too long for requested model.",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens",
    ];
    for message in messages {
        let error = openai(400, message, "");
        assert!(
            matches!(error, ModelError::ContextWindowExceeded { .. }),
            "{message}: {error:?}"
        );
    }
    let error = openai(400, "Too much.", "context_length_exceeded");
    assert!(
        matches!(error, ModelError::ContextWindowExceeded { .. }),
        "{error:?}"
    );
}

#[test]
fn a_history_out_of_order_is_known_in_every_dialect() {
    let messages = [
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
        "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01",
        "messages.2: unexpected `tool_use_id` found in `tool_result` blocks: toolu_02",
        "No tool output found for function call call_1.",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "Unexpected role 'user' after role 'tool'",
        "Not the same number of function calls and responses",
        "Expected an assistant's message after role 'tool', got 'user'",
        "messages.1: `tool_use` ids must be unique",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
        "Please ensure that the number of function response parts is equal to the number of function call parts",
    ];
    for message in messages {
        let error = openai(400, message, "");
        assert!(
            matches!(error, ModelError::MalformedHistory { .. }),
            "{message}: {error:?}"
        );
    }
}

#[test]
fn words_tell_what_the_status_does_not() {
    let quota = openai(
        429,
        "You exceeded your current quota, please check your plan.",
        "insufficient_quota",
    );
    assert!(matches!(quota, ModelError::Quota { .. }), "{quota:?}");
    let credit = openai(400, "Your credit balance is too low to access the API.", "");
    assert!(matches!(credit, ModelError::Quota { .. }), "{credit:?}");
    let key = openai(400, "Incorrect API key provided.", "");
    assert!(matches!(key, ModelError::Authentication { .. }), "{key:?}");
    let policy = openai(
        400,
        "The response was filtered due to the prompt.",
        "content_filter",
    );
    assert!(matches!(policy, ModelError::ContentPolicy { .. }), "{policy:?}");
    let limited = openai(
        400,
        "Invalid prompt: we've limited access to this content.",
        "invalid_prompt",
    );
    assert!(matches!(limited, ModelError::ContentPolicy { .. }), "{limited:?}");
    let stale = openai(400, "It could not be verified.", "invalid_encrypted_content");
    assert!(matches!(stale, ModelError::MalformedHistory { .. }), "{stale:?}");
    let busy = openai(500, "The engine is currently overloaded.", "");
    assert!(matches!(busy, ModelError::Overloaded { .. }), "{busy:?}");
    // A limit per minute that happens to name the context is still a limit per minute.
    let limit = openai(
        429,
        "Limit reached; the maximum context length is 8192.",
        "rate_limit_exceeded",
    );
    assert!(matches!(limit, ModelError::RateLimit { .. }), "{limit:?}");
    let never = openai(
        429,
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.",
        "rate_limit_exceeded",
    );
    assert!(
        matches!(never, ModelError::ContextWindowExceeded { .. }),
        "{never:?}"
    );
}

#[test]
fn a_server_that_fails_is_asked_again_when_it_says() {
    let wait = Some(Duration::from_secs(7));
    for status in [429, 500, 502, 503, 504, 529] {
        let error = failure_of(Some(status), wait, "");
        assert_eq!(error.retry_after(), wait, "{status}");
    }
}

#[test]
fn an_error_within_a_stream_is_judged_by_its_code_and_words() {
    let within = |error: Value| failure_of(None, None, &json!({ "error": error }).to_string());
    let limit = within(json!({ "message": "Rate limit reached", "type": "requests" }));
    assert!(matches!(limit, ModelError::RateLimit { .. }), "{limit:?}");
    let bad = within(json!({ "message": "no", "type": "invalid_request_error" }));
    assert!(matches!(bad, ModelError::BadRequest { .. }), "{bad:?}");
    let down = within(json!({ "message": "upstream", "code": "502" }));
    assert!(matches!(down, ModelError::Unavailable { .. }), "{down:?}");
    let plain = within(json!("something broke"));
    assert_eq!(
        plain,
        ModelError::Unavailable {
            detail: "something broke".to_owned()
        }
    );
}

#[test]
fn the_servers_message_is_found_in_any_body() {
    let cases = [
        ("{\"error\":{\"message\":\"m\"}}", "HTTP 400: m"),
        ("{\"error\":\"m\"}", "HTTP 400: m"),
        ("{\"message\":\"m\",\"error\":null}", "HTTP 400: m"),
        ("{\"detail\":\"m\"}", "HTTP 400: m"),
        ("{\"other\":1}", "HTTP 400: {\"other\":1}"),
        (" m\n", "HTTP 400: m"),
        (
            "<html><head><title> Bad gateway </title></head></html>",
            "HTTP 400: a web page (Bad gateway)",
        ),
        ("<html></html>", "HTTP 400: a web page (no title)"),
    ];
    for (body, detail) in cases {
        let expected = ModelError::BadRequest {
            detail: detail.to_owned(),
        };
        assert_eq!(failure_of(Some(400), None, body), expected, "{body}");
    }
}

#[test]
fn a_long_body_is_shown_only_in_part() {
    let shown = failure_of(Some(500), None, &"ż".repeat(10_000)).to_string();
    assert!(shown.chars().count() < MAX_EXCERPT_CHARS + 100);
    assert!(shown.ends_with('…'));
}

type Headers = &'static [(&'static str, &'static str)];

#[test]
fn the_wait_is_read_in_every_form() {
    let cases: &[(Headers, Option<Duration>)] = &[
        (&[], None),
        (&[("retry-after", "7")], Some(Duration::from_secs(7))),
        (&[("retry-after", "0.5")], Some(Duration::from_millis(500))),
        (
            &[("retry-after", "7"), ("retry-after-ms", "250")],
            Some(Duration::from_millis(250)),
        ),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "soon")], None),
        (
            &[
                ("date", "Sun, 15 Nov 2026 08:00:00 GMT"),
                ("retry-after", "Sun, 15 Nov 2026 08:01:30 GMT"),
            ],
            Some(Duration::from_secs(90)),
        ),
        (
            &[
                ("date", "Sun, 15 Nov 2026 08:00:00 GMT"),
                ("retry-after", "Sun, 15 Nov 2026 07:00:00 GMT"),
            ],
            Some(Duration::ZERO),
        ),
        (
            &[("retry-after", "Sun, 15 Nov 2020 08:00:00 GMT")],
            Some(Duration::ZERO),
        ),
    ];
    for (pairs, expected) in cases {
        let headers: HeaderMap = pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
            .collect();
        assert_eq!(retry_after(&headers), *expected, "{pairs:?}");
    }
}
