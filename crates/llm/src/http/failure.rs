//! Sorts a server's refusal into a [`ModelError`].
//!
//! The status alone says too little: a history that is too long and a model that does not exist are both
//! `400`, and each server has its own words for it. So the text decides first and the status after it.

mod google;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use reqwest::header::{self, HeaderMap};
use serde_json::Value;

use crate::ModelError;

/// How much of a failure's body is read.
pub(super) const MAX_FAILURE_BYTES: usize = 64 * 1024;

/// How much of it is shown.
const MAX_EXCERPT_CHARS: usize = 2_000;

/// Stands where the rest was cut off.
pub(crate) const CUT: char = '…';

/// All phrases are looked for in lower case.
const CONTEXT_WINDOW: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "maximum prompt length",
    "exceeds the context window",
    "exceeds the context length",
    "exceed context limit",
    "context window exceeded",
    "exceeded model token limit",
    "exceeds the available context size",
    "exceeds the maximum number of tokens",
    "reduce the length of the messages",
    "context length of only",
    "prompt is too long",
    "input is too long",
    "`inputs` tokens + `max_new_tokens` must be <=",
];

const MALFORMED_HISTORY: &[&str] = &[
    "must be followed by tool messages",
    "must be a response to a prec", // OpenAI misspells the next word
    "without `tool_result`",
    "`tool_use_id` found in `tool_result`",
    "each `tool_use` block must have",
    "no tool call found for function call output",
    "no tool output found for function call",
    "number of function response parts",
    "function call turn comes immediately after",
    "not the same number of function calls and responses",
    "roles must alternate",
    "unexpected role",
    "after role",
    "ids must be unique",
    "invalid `signature` in `thinking` block",
    "cannot be modified",
    "reasoning_content is missing",
    "unexpected tool call id",
    "missing a `thought_signature`",
    "missing a thought_signature",
    "without its required",
    "items are not persisted",
    "invalid_encrypted_content",
];

const QUOTA: &[&str] = &[
    "insufficient_quota",
    "exceeded your current quota",
    "insufficient balance",
    "insufficient credits",
    "credit balance is too low",
    "billing_hard_limit_reached",
    "usage_limit_reached",
    "budget has been exceeded",
    "billing_error",
];

const AUTHENTICATION: &[&str] = &[
    "invalid_api_key",
    "incorrect api key",
    "invalid api key",
    "api key not valid",
    "authentication_error",
    // AWS, with a status that says no more than that something is forbidden
    "security token included in the request is",
    "signature we calculated does not match",
];

const CONTENT_POLICY: &[&str] = &[
    "content_policy",
    "content_filter",
    "content management policy",
    "usage policy",
    "usage policies",
    "requires moderation",
    "safety system",
    "limited access to this content",
];

const OVERLOADED: &[&str] = &["overloaded", "at capacity", "server is busy"];

const RATE_LIMIT: &[&str] = &["rate_limit", "rate limit", "too many requests"];

/// The failure that an answer means. `status` is `None` where an error came within a stream.
pub(crate) fn failure_of(status: Option<u16>, retry_after: Option<Duration>, body: &str) -> ModelError {
    let answer = Answer::read(body);
    let status = status.or(answer.status);
    let detail = match status {
        Some(status) => format!("HTTP {status}: {}", answer.message),
        None => answer.message.clone(),
    };
    let retry_after = retry_after.or(answer.retry_after);
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| answer.searched.contains(phrase));

    match status {
        Some(401) => ModelError::Authentication { detail },
        Some(402) => ModelError::Quota { detail },
        // Google says the same of a limit per minute, and then how long to wait.
        _ if says(QUOTA) && answer.retry_after.is_none() => ModelError::Quota { detail },
        // More than a whole minute's share: waiting does not make it less.
        Some(429) if says(&["request too large"]) => ModelError::ContextWindowExceeded { detail },
        Some(429) => ModelError::RateLimit { retry_after, detail },
        // Too large for the server, whatever it counts: a shorter history helps.
        Some(413) => ModelError::ContextWindowExceeded { detail },
        _ if says(CONTEXT_WINDOW) => ModelError::ContextWindowExceeded { detail },
        _ if says(MALFORMED_HISTORY) => ModelError::MalformedHistory { detail },
        _ if says(AUTHENTICATION) => ModelError::Authentication { detail },
        _ if says(CONTENT_POLICY) => ModelError::ContentPolicy { detail },
        None if says(&["permission_error"]) => ModelError::Permission { detail },
        Some(403) => ModelError::Permission { detail },
        // Who says when to come back expects to be well again by then.
        Some(500 | 502 | 504) if retry_after.is_some() => ModelError::Overloaded { retry_after, detail },
        None if says(&["timeout_error"]) => ModelError::Timeout { detail },
        Some(408 | 504) => ModelError::Timeout { detail },
        Some(503 | 529) => ModelError::Overloaded { retry_after, detail },
        None | Some(500..) if says(OVERLOADED) => ModelError::Overloaded { retry_after, detail },
        None if says(RATE_LIMIT) => ModelError::RateLimit { retry_after, detail },
        None if says(&["invalid_request"]) => ModelError::BadRequest { detail },
        // A conflict passes, as a failure of the server does, or of the model behind it.
        None | Some(409 | 424 | 500..) => ModelError::Unavailable { detail },
        Some(_) => ModelError::BadRequest { detail },
    }
}

/// What a failure's body says.
struct Answer {
    message: String,
    /// A status that the body names.
    status: Option<u16>,
    /// How long to wait, where the body says so.
    retry_after: Option<Duration>,
    /// Message, code and type in lower case.
    searched: String,
}

impl Answer {
    fn read(body: &str) -> Self {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        // A stream that was never begun may come as a list with the failure in it.
        let json = json.get(0).unwrap_or(&json);
        let error = match json.get("error") {
            Some(error) if !error.is_null() => error,
            _ => json,
        };
        let message = [error, &error["message"], &error["detail"]]
            .into_iter()
            .find_map(Value::as_str)
            .unwrap_or(body);
        let code = &error["code"];
        let word = |value: &Value| value.as_str().unwrap_or_default().to_lowercase();
        Self {
            message: excerpt(message),
            status: code
                .as_u64()
                .or_else(|| code.as_str()?.parse().ok())
                .and_then(|code| u16::try_from(code).ok())
                .filter(|code| (400..600).contains(code)),
            retry_after: google::retry_after(error),
            searched: format!(
                "{} {} {}",
                message.to_lowercase(),
                word(code),
                word(&error["type"])
            ),
        }
    }
}

/// The beginning of a text that a server sent; of a web page only its title.
pub(crate) fn excerpt(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return "the server said nothing more".to_owned();
    }
    if text.starts_with('<') {
        let title = text
            .split_once("<title>")
            .and_then(|(_, rest)| rest.split_once("</title>"))
            .map_or("no title", |(title, _)| title.trim());
        return format!("a web page ({})", beginning(title));
    }
    beginning(text)
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(MAX_EXCERPT_CHARS) {
        Some((end, _)) => format!("{}{CUT}", &text[..end]),
        None => text.to_owned(),
    }
}

/// How long the server wants us to wait: milliseconds, seconds, or a date, which is compared to the
/// server's own clock where it tells the time.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    if let Some(milliseconds) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    if let Some(seconds) = number(header::RETRY_AFTER.as_str()) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |name: &str| {
        let date = jiff::fmt::rfc2822::parse(text(name)?).ok()?;
        Some(SystemTime::from(date.timestamp()))
    };
    let then = date(header::RETRY_AFTER.as_str())?;
    let now = date(header::DATE.as_str()).unwrap_or_else(SystemTime::now);
    Some(then.duration_since(now).unwrap_or_default())
}
