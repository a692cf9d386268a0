//! What a model's name says about it, for models that no table knows.
//!
//! Rules are parts of the name in lower case, with its provider. Within a list the last one that matches decides;
//! a `!` before it makes it an exclusion.

use super::{KnownCapabilities, ThinkingMode};

const REASONING_EFFORT: &[&str] = &[
    "/o1",
    "/o3",
    "/o4",
    "gpt-5",
    "gpt-6",
    "codex-mini",
    "gpt-oss",
    "kimi-k3",
    "!/o1-mini",
    "!/o1-preview",
    "!gpt-5-chat",
];

/// How Claude models reason; the last part that is in the name decides. Those to come are expected to be like the
/// latest.
const THINKING: &[(&str, ThinkingMode)] = &[
    ("claude", ThinkingMode::Adaptive),
    ("claude-v", ThinkingMode::None),
    ("claude-2", ThinkingMode::None),
    ("claude-instant", ThinkingMode::None),
    ("claude-3", ThinkingMode::None),
    ("claude-opus-4", ThinkingMode::Manual),
    ("claude-sonnet-4", ThinkingMode::Manual),
    ("claude-haiku-4", ThinkingMode::Manual),
    ("claude-opus-4-6", ThinkingMode::Adaptive),
    ("claude-opus-4-7", ThinkingMode::Adaptive),
    ("claude-opus-4-8", ThinkingMode::Adaptive),
    ("claude-sonnet-4-6", ThinkingMode::Adaptive),
];

/// Gemini is left out: marks would freeze what it caches by itself.
const EXPLICIT_CACHE_MARKERS: &[&str] = &[
    "claude",
    "!claude-v",
    "!claude-2",
    "!claude-instant",
    "!claude-3-opus",
    "!claude-3-sonnet",
    "!claude-3-haiku",
    "!claude-3-5-sonnet-20240620",
    "!openai/claude",
];

const PROMPT_CACHE_RETENTION: &[&str] = &["gpt-5", "gpt-4.1", "!mini", "!nano", "gpt-5.1-codex-mini"];

const STOP_WORDS: &[&str] = &[
    "!/o1",
    "!/o3",
    "!grok-4-0709",
    "!grok-code-fast-1",
    "!deepseek-r1-0528",
    "!openai.gpt-",
];

const SYSTEM_MESSAGES: &[&str] = &["!/o1-mini", "!/o1-preview"];

const RESPONSES_API: &[&str] = &["gpt-5", "gpt-6", "codex-mini-latest"];

const SEND_REASONING_BACK: &[&str] = &[
    "kimi-k2-thinking",
    "kimi-k2.5",
    "kimi-k2.6",
    "kimi-k3",
    "minimax-m2",
    "deepseek-reasoner",
    "deepseek-v4",
];

const STRING_ONLY_CONTENT: &[&str] = &[
    "deepseek-v3.2",
    "glm",
    "groq/kimi-k2-instruct",
    "openrouter/minimax",
];

const INLINE_IMAGES: &[&str] = &["moonshot/kimi-k2.6", "moonshot/kimi-k3"];

/// What the name says, in lower case and with its provider.
pub(super) fn capabilities(name: &str) -> KnownCapabilities {
    let says = |rules| verdict(rules, name);
    KnownCapabilities {
        reasoning_effort: says(REASONING_EFFORT),
        thinking: THINKING
            .iter()
            .rfind(|(part, _)| name.contains(part))
            .map(|(_, mode)| *mode),
        explicit_cache_markers: says(EXPLICIT_CACHE_MARKERS),
        prompt_cache_retention: says(PROMPT_CACHE_RETENTION),
        stop_words: says(STOP_WORDS),
        system_messages: says(SYSTEM_MESSAGES),
        responses_api: says(RESPONSES_API),
        send_reasoning_back: says(SEND_REASONING_BACK),
        string_only_content: says(STRING_ONLY_CONTENT),
        inline_images: says(INLINE_IMAGES),
        ..KnownCapabilities::default()
    }
}

fn verdict(rules: &[&str], name: &str) -> Option<bool> {
    rules.iter().rev().find_map(|rule| match rule.strip_prefix('!') {
        Some(excluded) => name.contains(excluded).then_some(false),
        None => name.contains(rule).then_some(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_that_matches_decides() {
        let rules = &["gpt", "!mini", "special-mini"];
        let cases = [
            ("openai/gpt", Some(true)),
            ("openai/gpt-mini", Some(false)),
            ("openai/gpt-special-mini", Some(true)),
            ("openai/other", None),
        ];
        for (name, expected) in cases {
            assert_eq!(verdict(rules, name), expected, "{name}");
        }
    }
}
