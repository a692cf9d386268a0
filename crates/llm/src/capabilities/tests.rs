use super::*;
use crate::catalog;

type Question = fn(&Capabilities) -> bool;

fn of(name: &str) -> Capabilities {
    with(name, Home::Provider, KnownCapabilities::default())
}

fn with(name: &str, home: Home, overrides: KnownCapabilities) -> Capabilities {
    let (provider, wire_name) = name.split_once('/').unwrap();
    let entry = catalog::look_up(name);
    let subject = Subject {
        provider: Provider::named(provider).unwrap(),
        wire_name,
        home,
        overrides,
        discovered: KnownCapabilities::default(),
        entry: entry.as_ref(),
    };
    subject.capabilities()
}

#[test]
fn each_source_is_asked_only_where_those_before_it_are_silent() {
    let entry = catalog::look_up("openai/gpt-4o").unwrap();
    let says = |vision| KnownCapabilities {
        vision,
        ..KnownCapabilities::default()
    };
    // The table says yes.
    for (overrides, discovered, expected) in [
        (None, None, true),
        (None, Some(false), false),
        (Some(true), Some(false), true),
        (Some(false), None, false),
    ] {
        let subject = Subject {
            provider: Provider::named("openai").unwrap(),
            wire_name: "gpt-4o",
            home: Home::Provider,
            overrides: says(overrides),
            discovered: says(discovered),
            entry: Some(&entry),
        };
        assert_eq!(
            subject.capabilities().vision,
            expected,
            "{overrides:?} {discovered:?}"
        );
    }
}

#[test]
fn a_model_nobody_knows_is_trusted_with_what_most_can_do() {
    assert_eq!(
        of("vllm/my-own"),
        Capabilities::default(),
        "images too: the user who sends them should know"
    );
}

#[test]
fn the_responses_api_is_for_models_and_servers_that_have_it() {
    let cases = [
        ("openai/gpt-5", true),
        ("openai/gpt-6-of-tomorrow", true),
        ("openai/codex-mini-latest", true),
        ("openai/o3", true),
        ("openai/gpt-4o", false),
        ("litellm_proxy/gpt-5", true),
        ("openrouter/openai/gpt-5", false),
        // Its chat API does.
        ("azure/gpt-5", false),
        ("azure/gpt-5-codex", true),
    ];
    for (name, expected) in cases {
        assert_eq!(of(name).responses_api, expected, "{name}");
    }
}

#[test]
fn thinking_is_adaptive_where_the_table_says_so_and_manual_by_name() {
    let cases = [
        ("openrouter/anthropic/claude-sonnet-4.5", ThinkingMode::Manual),
        ("litellm_proxy/claude-opus-4-8", ThinkingMode::Adaptive),
        ("openai/gpt-5", ThinkingMode::None),
    ];
    for (name, expected) in cases {
        assert_eq!(of(name).thinking, expected, "{name}");
    }
}

#[test]
fn caching_is_asked_for_in_the_way_the_provider_understands() {
    let cases = [
        // name, markers, key, retention
        ("openai/gpt-5", false, true, true),
        ("openai/gpt-5-mini", false, true, false),
        ("openai/gpt-5.1-codex-mini", false, true, true),
        ("openai/gpt-4o", false, true, false),
        ("azure/gpt-5", false, false, false),
        ("openrouter/openai/gpt-5", false, false, false),
        ("openrouter/anthropic/claude-sonnet-4.5", true, false, false),
        ("openrouter/google/gemini-3-pro", false, false, false),
        ("openai/claude-sonnet-4-5", false, true, false),
    ];
    for (name, markers, key, retention) in cases {
        let can = of(name);
        assert_eq!(
            (
                can.explicit_cache_markers,
                can.prompt_cache_key,
                can.prompt_cache_retention
            ),
            (markers, key, retention),
            "{name}"
        );
    }
    let elsewhere = with("openai/gpt-5", Home::Elsewhere, KnownCapabilities::default());
    assert!(!elsewhere.prompt_cache_retention && !elsewhere.prompt_cache_key);
}

#[test]
fn models_that_reason_take_an_effort_and_no_temperature() {
    let cases = [
        // name, effort, sampling
        ("openai/gpt-5", true, false),
        ("openai/o3", true, false),
        ("openai/gpt-4o", false, true),
        ("openrouter/openai/gpt-5-of-tomorrow", true, false),
        ("litellm_proxy/gemini/gemini-2.5-pro", true, true),
        ("litellm_proxy/claude-opus-4-8", true, false),
    ];
    for (name, effort, sampling) in cases {
        let can = of(name);
        assert_eq!((can.reasoning_effort, can.sampling), (effort, sampling), "{name}");
    }
}

#[test]
fn quirks_of_families_go_by_name() {
    let cases: [(&str, Question, bool); 16] = [
        ("openai/o1", |can| can.stop_words, false),
        ("xai/grok-4-0709", |can| can.stop_words, false),
        ("openai/gpt-4o1", |can| can.stop_words, true),
        ("openai/o1-mini", |can| can.system_messages, false),
        ("openai/o1-mini", |can| can.reasoning_effort, false),
        ("moonshot/Kimi-K2-Thinking", |can| can.send_reasoning_back, true),
        ("deepseek/deepseek-reasoner", |can| can.send_reasoning_back, true),
        ("openai/gpt-4o", |can| can.send_reasoning_back, false),
        ("openrouter/z-ai/glm-5", |can| can.string_only_content, true),
        ("moonshot/kimi-k3", |can| can.inline_images, true),
        ("openrouter/moonshotai/kimi-k3", |can| can.inline_images, false),
        ("gemini/gemini-3-pro", |can| can.inline_images, true),
        ("bedrock/anthropic.claude-opus-4-8", |can| can.inline_images, true),
        ("ollama/qwen3-vl", |can| can.inline_images, true),
        ("anthropic/claude-opus-4-8", |can| can.inline_images, false),
        ("openai/o3", |can| can.parallel_tool_calls, false),
    ];
    for (name, question, expected) in cases {
        assert_eq!(question(&of(name)), expected, "{name}");
    }
}

#[test]
fn overrides_are_read_by_name_and_typos_are_refused() {
    let read = |json| serde_json::from_str::<KnownCapabilities>(json);
    let known = read(r#"{ "vision": false, "thinking": "adaptive" }"#).unwrap();
    assert_eq!(
        (known.vision, known.thinking, known.stop_words),
        (Some(false), Some(ThinkingMode::Adaptive), None)
    );
    assert!(read(r#"{ "vison": false }"#).is_err());
}
