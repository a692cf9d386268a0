use super::*;
use crate::settings::{Flags, Surroundings};
use deft_llm::{ModelError, Pass};
use futures::future::BoxFuture;
use serde_json::json;

#[derive(Debug)]
struct Somebodys;

impl Subscription for Somebodys {
    fn pass(&self) -> BoxFuture<'_, Result<Pass, ModelError>> {
        unreachable!("nobody is asked")
    }

    fn backend(&self) -> String {
        "https://chatgpt.example".to_owned()
    }
}

fn sent(llm: Value) -> ModelSettings {
    let ours = ModelSettings {
        api_key: Some(Secret::new("our-own".to_owned())),
        base_url: Some("https://ours.example".to_owned()),
        ..ModelSettings::default()
    };
    let subscription: Arc<dyn Subscription> = Arc::new(Somebodys);
    reached(&serde_json::from_value(llm).unwrap(), ours, &subscription)
}

#[test]
fn our_key_never_goes_to_an_address_that_a_client_names() {
    let elsewhere = sent(json!({"model": "openai/m", "base_url": "https://evil.example"}));
    assert_eq!(elsewhere.api_key, None);
    assert_eq!(elsewhere.base_url.as_deref(), Some("https://evil.example"));
    let here = sent(json!({"model": "openai/m"}));
    assert_eq!(here.api_key, Some(Secret::new("our-own".to_owned())));
    assert_eq!(here.base_url.as_deref(), Some("https://ours.example"));
}

#[test]
fn a_subscription_pays_where_the_client_says_so_and_only_at_its_own_address() {
    let keyed = sent(json!({"model": "openai/m", "auth_type": "api_key"}));
    assert!(keyed.subscription.is_none());
    let paid =
        sent(json!({"model": "openai/m", "auth_type": "subscription", "base_url": "https://evil.example"}));
    assert!(paid.subscription.is_some());
    assert_eq!(paid.base_url.as_deref(), Some("https://chatgpt.example"));
    assert_eq!(paid.api_key, None);
}

#[test]
fn numbers_are_taken_in_every_form_that_the_contract_has() {
    let settings = sent(json!({"model": "m", "top_k": 40.0, "seed": -1, "extended_thinking_budget": -1}));
    assert_eq!(
        (settings.tuning.top_k, settings.tuning.seed),
        (Some(40), Some(-1))
    );
    assert_eq!(settings.extended_thinking_budget, None);
}

#[test]
fn what_a_client_says_of_waits_and_abilities_counts() {
    let usual = sent(json!({"model": "m", "timeout": 300, "stream_idle_timeout": 300.0}));
    let ours = ModelSettings::default();
    assert_eq!(
        (usual.idle_timeout, usual.head_timeout),
        (ours.idle_timeout, ours.head_timeout)
    );
    let settings = sent(
        json!({"model": "m", "model_canonical_name": "gpt-4o", "timeout": 7, "stream_idle_timeout": 0.5, "caching_prompt": false,
        "disable_vision": true, "capability_overrides": {"supports_vision": true, "thinking_mode": "manual",
            "supports_prompt_cache": true, "supports_stop_words": false, "later": "x"}}),
    );
    assert_eq!(settings.known_as.as_deref(), Some("gpt-4o"));
    assert_eq!(settings.head_timeout, Some(Duration::from_secs(7)));
    assert_eq!(settings.idle_timeout, Duration::from_millis(500));
    let can = settings.capability_overrides;
    assert_eq!((can.vision, can.stop_words), (Some(false), Some(false)));
    assert_eq!(can.explicit_cache_markers, Some(false));
    assert_eq!(can.thinking, Some(ThinkingMode::Manual));
}

#[test]
fn what_a_client_says_of_retries_and_reasoning_counts() {
    let settings = sent(
        json!({"model": "m", "num_retries": 0, "retry_min_wait": 1, "retry_max_wait": 2,
        "reasoning_effort": "high", "extended_thinking_budget": 200_000, "native_tool_calling": true}),
    );
    assert_eq!(settings.retry.attempts, 1);
    assert_eq!(settings.tuning.reasoning_effort.as_deref(), Some("high"));
    assert_eq!(settings.extended_thinking_budget, None);
    assert_eq!(settings.capability_overrides.native_tool_calls, None);
}

#[test]
fn a_null_retention_asks_for_none() {
    let settings = sent(json!({"model": "openai/m"}));
    assert_eq!(settings.capability_overrides.prompt_cache_retention, None);
    let settings = sent(json!({"model": "openai/m", "prompt_cache_retention": null}));
    assert_eq!(settings.capability_overrides.prompt_cache_retention, Some(false));
}

#[test]
fn who_is_no_admin_has_public_addresses_reached_and_those_of_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let variable = ("DEFT_BASE_URL", "http://10.0.0.5:8000/v1");
    let surroundings = Surroundings {
        env: [variable]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        home: Some(directory.path().to_owned()),
        current_dir: directory.path().to_owned(),
    };
    let settings = Settings::load(&Flags::default(), &surroundings, directory.path()).unwrap();
    let subscription: Arc<dyn Subscription> = Arc::new(Somebodys);
    let reach_of = |llm: Value, may: Reach| {
        let wanted = ClientModel {
            llm,
            subscription: Arc::clone(&subscription),
            reach: may,
        };
        reach(&Llm::deserialize(&wanted.llm).unwrap(), &wanted, &settings)
    };
    let at = |address: &str| json!({"model": "openai/m", "base_url": address});
    assert_eq!(reach_of(at("http://127.0.0.1:1"), Reach::Public), Reach::Public);
    assert_eq!(
        reach_of(at("http://127.0.0.1:1"), Reach::Anywhere),
        Reach::Anywhere
    );
    assert_eq!(
        reach_of(at("http://10.0.0.5:8000/v1/"), Reach::Public),
        Reach::Anywhere
    );
    assert_eq!(
        reach_of(json!({"model": "openai/m"}), Reach::Public),
        Reach::Anywhere
    );
}

#[test]
fn who_asks_on_aws_is_whom_the_client_says_or_else_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("credentials");
    std::fs::write(
        &file,
        "[build]\naws_access_key_id = AKBUILD\naws_secret_access_key = hush\nregion = eu-west-1\n",
    )
    .unwrap();
    let ours = AwsSettings::from_variables(|name| match name {
        "AWS_ACCESS_KEY_ID" => Some("AKOURS".to_owned()),
        "AWS_SECRET_ACCESS_KEY" => Some("hush".to_owned()),
        "AWS_REGION" => Some("us-east-1".to_owned()),
        _ => None,
    });
    let asked = |llm: Value, reach: Reach| {
        let llm = serde_json::from_value(llm).unwrap();
        let found = aws(&llm, reach, Some(&ours), |name| {
            (name == "AWS_SHARED_CREDENTIALS_FILE").then(|| file.display().to_string())
        })?;
        anyhow::Ok(found.map(|aws| {
            let key = aws.keys.map(|keys| keys.access_key_id).unwrap_or_default();
            (
                key,
                aws.region.unwrap_or_default(),
                aws.role.map(|role| (role.arn, role.session)),
            )
        }))
    };
    let of = |llm: Value| asked(llm, Reach::Anywhere).unwrap().unwrap();
    let shown = |key: &str, region: &str, role: Option<(&str, &str)>| {
        let role = role.map(|(arn, session)| (arn.to_owned(), session.to_owned()));
        (key.to_owned(), region.to_owned(), role)
    };
    let own = json!({"model": "bedrock/m", "aws_access_key_id": "AKTHEIRS", "aws_secret_access_key": "x"});
    let with = |base: &Value, field: &str, value: &str| {
        let mut llm = base.clone();
        llm[field] = value.into();
        llm
    };
    let none = json!({"model": "bedrock/m"});
    assert_eq!(of(none.clone()), shown("AKOURS", "us-east-1", None));
    assert_eq!(
        of(with(&none, "aws_region_name", "eu-north-1")),
        shown("AKOURS", "eu-north-1", None)
    );
    assert_eq!(
        of(own.clone()),
        shown("AKTHEIRS", "", None),
        "nothing of ours is mixed in"
    );
    assert_eq!(
        of(with(&none, "aws_profile_name", "build")),
        shown("AKBUILD", "eu-west-1", None)
    );
    let role = with(&with(&own, "aws_role_name", "arn:r"), "aws_session_name", "me");
    assert_eq!(of(role.clone()), shown("AKTHEIRS", "", Some(("arn:r", "me"))));
    assert_eq!(
        of(with(&none, "aws_role_name", "arn:r")),
        shown("AKOURS", "us-east-1", Some(("arn:r", "deft")))
    );
    let elsewhere = with(&none, "base_url", "https://evil.example");
    assert_eq!(
        asked(elsewhere, Reach::Anywhere).unwrap(),
        None,
        "our keys go nowhere else"
    );
    assert!(asked(with(&none, "aws_profile_name", "nope"), Reach::Anywhere).is_err());
    for (field, value) in [("aws_profile_name", "build"), ("aws_role_name", "arn:r")] {
        let error = asked(with(&none, field, value), Reach::Public).unwrap_err();
        assert!(error.to_string().contains("only an admin"), "{error}");
    }
    assert!(
        asked(role, Reach::Public).is_ok(),
        "their own keys may take on what they may"
    );
}

#[test]
fn the_address_of_a_model_on_aws_has_two_names() {
    let said = |llm: Value| {
        let subscription: Arc<dyn Subscription> = Arc::new(Somebodys);
        let wanted = ClientModel {
            llm,
            reach: Reach::Anywhere,
            subscription,
        };
        Llm::read(&wanted).unwrap().base_url
    };
    let endpoint = "https://vpce.example";
    let named = |model: &str| said(json!({"model": model, "aws_bedrock_runtime_endpoint": endpoint}));
    assert_eq!(named("bedrock/m").as_deref(), Some(endpoint));
    assert_eq!(named("openai/m"), None);
}
