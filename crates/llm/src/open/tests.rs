use super::*;
use crate::{KnownCapabilities, Prices, Tuning};

fn with_key() -> ModelSettings {
    ModelSettings {
        api_key: Some(Secret::new("sk-test".to_owned())),
        aws: Some(AwsSettings {
            region: Some("eu-west-1".to_owned()),
            ..AwsSettings::default()
        }),
        ..ModelSettings::default()
    }
}

fn at(base_url: &str) -> ModelSettings {
    ModelSettings {
        base_url: Some(base_url.to_owned()),
        ..ModelSettings::default()
    }
}

fn refusal(name: &str, settings: &ModelSettings) -> String {
    match open(name, settings) {
        Ok(_) => panic!("`{name}` opened"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_provider_opens_and_keeps_the_name_as_it_was_written() {
    for provider in PROVIDERS {
        let name = format!("{}/some/model:7b", provider.name);
        let settings = match provider.base_url {
            "" => at("https://resource.example"),
            _ => with_key(),
        };
        let model = open(&name, &settings).unwrap();
        assert_eq!(model.profile().name, name);
    }
}

#[test]
fn the_server_gets_the_name_without_the_provider() {
    let wire_name = |name| provider_of(name).map(|(provider, wire)| (provider.name, wire));
    assert_eq!(
        wire_name("openrouter/openai/gpt-4o"),
        Some(("openrouter", "openai/gpt-4o"))
    );
    assert_eq!(wire_name("gpt-4o"), Some(("openai", "gpt-4o")));
    assert_eq!(
        wire_name("claude-sonnet-4-5"),
        Some(("anthropic", "claude-sonnet-4-5"))
    );
    assert_eq!(wire_name("openai/"), None);
}

#[test]
fn a_server_of_ones_own_does_not_cost_what_a_provider_asks() {
    let prices = |name| open(name, &ModelSettings::default()).unwrap().profile().prices;
    assert_eq!(prices("vllm/gpt-4o"), None);
    assert_eq!(prices("ollama/gpt-4o"), Some(Prices::FREE));
    assert_ne!(prices("litellm_proxy/gpt-4o"), None, "a proxy passes the bill on");
}

#[test]
fn a_known_model_comes_with_limits_and_prices() {
    let model = open("openai/gpt-4o", &with_key()).unwrap();
    let profile = model.profile();
    assert_eq!(profile.context_window, Some(Tokens(128_000)));
    assert_eq!(profile.max_output, Some(Tokens(16_384)));
    assert_eq!(profile.prices.unwrap().base.output, "1e-5".parse().unwrap());
    assert!(profile.capabilities.vision);
}

#[test]
fn an_unknown_model_is_asked_without_limits_or_prices() {
    let model = open("openai/my-own", &with_key()).unwrap();
    let profile = model.profile();
    assert_eq!(
        (profile.context_window, profile.max_output, profile.prices),
        (None, None, None)
    );
    assert!(profile.capabilities.vision);
}

#[test]
fn the_output_leaves_room_for_a_prompt_and_is_modest_on_other_servers() {
    let output = |settings: &ModelSettings| {
        open("mistral/mistral-large-latest", settings)
            .unwrap()
            .profile()
            .max_output
    };
    assert_eq!(output(&with_key()), Some(Tokens(131_072)));
    assert_eq!(output(&at("http://localhost:1/v1")), Some(Tokens(16_384)));
}

#[test]
fn what_the_user_says_of_a_model_counts() {
    let settings = ModelSettings {
        tuning: Tuning {
            max_output: Some(Tokens(77)),
            ..Tuning::default()
        },
        capability_overrides: KnownCapabilities {
            vision: Some(false),
            ..KnownCapabilities::default()
        },
        ..with_key()
    };
    let model = open("openai/gpt-4o", &settings).unwrap();
    assert_eq!(model.profile().max_output, Some(Tokens(77)));
    assert!(!model.profile().capabilities.vision);
}

#[test]
fn the_api_is_the_one_that_suits_the_model_or_the_one_asked_for() {
    let responses = |name: &str, api_mode| {
        let settings = ModelSettings {
            api_mode,
            ..with_key()
        };
        open(name, &settings)
            .unwrap()
            .profile()
            .capabilities
            .responses_api
    };
    assert!(responses("openai/gpt-5", ApiMode::Auto));
    assert!(!responses("openai/gpt-5", ApiMode::Chat));
    assert!(!responses("openai/gpt-4o", ApiMode::Auto));
    assert!(responses("openai/gpt-4o", ApiMode::Responses));
}

#[test]
fn azure_needs_an_address_and_is_no_smaller_for_having_one() {
    let message = refusal("azure/gpt-5", &with_key());
    assert!(message.contains("openai.azure.com"), "{message}");
    let model = open("azure/gpt-5", &at("https://resource.openai.azure.com")).unwrap();
    assert_eq!(model.profile().max_output, Some(Tokens(128_000)));
}

#[test]
fn a_missing_key_is_named_by_its_setting() {
    let message = refusal("groq/some-model", &ModelSettings::default());
    assert!(
        message.contains("`LLM_API_KEY`") && message.contains("`GROQ_API_KEY`"),
        "{message}"
    );
    assert_eq!(key_variable("groq/some-model"), Some("GROQ_API_KEY"));

    let empty = ModelSettings {
        api_key: Some(Secret::new(" \n".to_owned())),
        ..ModelSettings::default()
    };
    assert!(refusal("openai/gpt-4o", &empty).contains("`LLM_API_KEY`"));
}

#[test]
fn a_local_server_and_one_of_the_users_own_need_no_key() {
    assert!(open("ollama/qwen3", &ModelSettings::default()).is_ok());
    assert!(open("openai/qwen3", &at("http://localhost:8000/v1")).is_ok());
}

#[test]
fn an_unknown_name_is_answered_with_what_is_understood() {
    let cases = [
        ("opnai/gpt-4o", Some("Did you mean `openai/gpt-4o`?")),
        ("OpenRouter/x/y", Some("Did you mean `openrouter/x/y`?")),
        ("deom", Some("Did you mean `demo`?")),
        ("nobody/claude", None),
        ("openai/", None),
        ("", None),
    ];
    for (name, guess) in cases {
        let message = refusal(name, &with_key());
        assert!(
            message.contains("script:FILE") && message.contains("deepseek"),
            "{message}"
        );
        match guess {
            Some(guess) => assert!(message.contains(guess), "{message}"),
            None => assert!(!message.contains("Did you mean"), "{message}"),
        }
    }
}

#[tokio::test]
async fn who_may_name_public_addresses_alone_reaches_no_other() {
    let public = |base_url: &str| ModelSettings {
        reach: Reach::Public,
        retry: crate::RetryPolicy {
            attempts: 1,
            ..crate::RetryPolicy::default()
        },
        ..at(base_url)
    };
    for address in [
        "http://127.0.0.1:8000",
        "http://[::1]:8000",
        "http://2130706433/v1",
        "http://10.1.2.3/v1",
        "http://169.254.169.254/latest",
    ] {
        assert!(
            refusal("openai/x", &public(address)).contains("public internet"),
            "{address}"
        );
    }
    let metadata = public("http://169.254.169.254");
    assert!(refusal("bedrock/eu-west-1/x", &metadata).contains("public internet"));
    for region in ["x@localhost#", "a.example"] {
        let settings = ModelSettings {
            aws: Some(AwsSettings {
                region: Some(region.to_owned()),
                ..AwsSettings::default()
            }),
            ..with_key()
        };
        assert!(refusal("bedrock/x", &settings).contains("no region"), "{region}");
    }
    assert!(open("openai/x", &public("https://models.example/v1")).is_ok());
    // What a name leads to is seen when it is looked up, just before the connection is made.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    server.set_nonblocking(true).unwrap();
    let named = format!("http://localhost:{port}/v1");
    let mut findings = Vec::new();
    crate::check("openai/x", &public(&named), |finding| {
        findings.push(format!("{finding:?}"));
    })
    .await;
    assert!(server.accept().is_err(), "it was reached");
    assert!(findings.concat().contains("not a public address"), "{findings:?}");
}

#[test]
fn a_bad_address_is_named_by_its_setting() {
    assert!(refusal("openai/x", &at("localhost:8000")).contains("`LLM_BASE_URL`"));
}

#[test]
fn a_model_on_aws_says_what_it_lacks() {
    let region = refusal(
        "bedrock/amazon.nova-pro-v1:0",
        &ModelSettings {
            aws: None,
            ..with_key()
        },
    );
    assert!(region.contains("`AWS_REGION`"), "{region}");
    let keys = refusal(
        "bedrock/amazon.nova-pro-v1:0",
        &ModelSettings {
            api_key: None,
            ..with_key()
        },
    );
    assert!(
        keys.contains("`AWS_ACCESS_KEY_ID`") && keys.contains("`AWS_BEARER_TOKEN_BEDROCK`"),
        "{keys}"
    );
}

#[test]
fn a_price_of_the_users_own_beats_the_table() {
    let settings = ModelSettings {
        prices: Some(Prices::FREE),
        ..with_key()
    };
    let model = open("openai/gpt-4o", &settings).unwrap();
    assert_eq!(model.profile().prices, Some(Prices::FREE));
}

#[test]
fn what_is_known_of_a_model_holds_for_it_under_another_name() {
    let settings = ModelSettings {
        known_as: Some("gpt-4o".to_owned()),
        ..with_key()
    };
    let known = open("openai/gpt-4o", &with_key()).unwrap();
    let renamed = open("openai/ours", &settings).unwrap();
    let expected = ModelProfile {
        name: "openai/ours".to_owned(),
        ..known.profile().clone()
    };
    assert_eq!(renamed.profile(), &expected);
    assert!(expected.prices.is_some());
}

#[test]
fn a_recorded_model_needs_the_key_of_the_model_within() {
    assert_eq!(
        key_variable("record:run.jsonl:groq/llama:8b"),
        Some("GROQ_API_KEY")
    );
    assert_eq!(key_variable("record:run.jsonl"), None);
    assert!(refusal("record:/dev/null:groq/x", &ModelSettings::default()).contains("`GROQ_API_KEY`"));
}
