use super::*;

fn config(variables: &[(&str, &str)]) -> Config {
    let find = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Config::from_variables(find, PathBuf::new(), PathBuf::new()).unwrap()
}

fn keys(config: &Config) -> Vec<&str> {
    config.keys.iter().map(|key| key.expose().as_str()).collect()
}

#[test]
fn the_contracts_variables_are_understood() {
    let set = config(&[
        ("OH_SESSION_API_KEYS_0", "k-one"),
        ("OH_SESSION_API_KEYS_1", ""),
        ("SESSION_API_KEY", "k-two"),
        ("OH_ALLOW_CORS_ORIGINS", r#"["https://a.example"]"#),
        ("OH_MAX_CONCURRENT_RUNS", "3"),
        ("OH_WEB_URL", "https://deft.example.org/app"),
    ]);
    assert_eq!(
        keys(&set),
        ["k-one"],
        "the older name counts where there is nothing else"
    );
    assert_eq!(set.origins, ["https://a.example"]);
    assert_eq!(set.max_runs, 3);
    assert_eq!(set.hosts, ["deft.example.org"]);
    assert_eq!(set.base_path.as_deref(), Some("/app"));
}

#[test]
fn lists_are_said_whole_by_number_or_by_the_older_name() {
    for (variables, expected) in [
        (&[("SESSION_API_KEY", "k-old")][..], &["k-old"][..]),
        (
            &[("SESSION_API_KEY", "k-old"), ("OH_SESSION_API_KEYS_0", "")],
            &["k-old"],
        ),
        (&[("OH_SESSION_API_KEYS", r#"["a", "b"]"#)], &["a", "b"]),
        (
            &[
                ("OH_SESSION_API_KEYS", r#"["a", "b"]"#),
                ("OH_SESSION_API_KEYS_0", "c"),
            ],
            &["c", "b"],
        ),
        (
            &[
                ("OH_SESSION_API_KEYS", r#"["a", "b"]"#),
                ("OH_SESSION_API_KEYS_0", ""),
            ],
            &["b"],
        ),
        (
            &[
                ("OH_SESSION_API_KEYS", "2"),
                ("OH_SESSION_API_KEYS_0", "a"),
                ("OH_SESSION_API_KEYS_1", "b"),
            ],
            &["a", "b"],
        ),
        (&[("OH_SESSION_API_KEYS", "123")], &["123"]),
    ] {
        assert_eq!(keys(&config(variables)), expected, "{variables:?}");
    }
}

#[test]
fn a_single_key_a_pattern_and_nothing_can_be_said() {
    let set = config(&[
        ("OH_SESSION_API_KEYS", "k-one"),
        ("OH_ALLOW_CORS_ORIGIN_REGEX", r"https://.*\.example"),
        ("OH_MAX_CONCURRENT_RUNS", "3"),
        ("OH_MAX_CONCURRENT_RUNS_IS_NONE", "1"),
        ("OH_RUNTIME_IDLE_TIMEOUT_SECONDS", "90"),
    ]);
    assert_eq!(keys(&set), ["k-one"]);
    let pattern = set.origin_pattern.unwrap();
    assert!(pattern.is_match("https://a.example").unwrap());
    assert!(!pattern.is_match("https://a.example.org").unwrap());
    assert_eq!(set.max_runs, MAX_RUNS);
    assert_eq!(set.build.runtime_idle_timeout, Some(90.0));
    let bad = |name: &str| (name == "OH_ALLOW_CORS_ORIGIN_REGEX").then(|| "(".to_owned());
    let refused = Config::from_variables(bad, PathBuf::new(), PathBuf::new()).unwrap_err();
    assert!(
        refused.to_string().starts_with("OH_ALLOW_CORS_ORIGIN_REGEX"),
        "{refused}"
    );
}

#[test]
fn webhooks_are_read_from_variables_over_the_list() {
    let set = config(&[
        (
            "OH_WEBHOOKS",
            r#"[{"base_url": "https://a.example/x", "flush_delay": 2.5, "max_queue_size": 9}]"#,
        ),
        ("OH_WEBHOOKS_0_EVENT_BUFFER_SIZE", "7"),
        ("OH_WEBHOOKS_1_BASE_URL", "http://127.0.0.1:9/hook"),
        ("OH_WEBHOOKS_1_HEADERS", r#"{"X-Custom": "abc"}"#),
        ("OH_WEBHOOKS_1_SECRET", "123"),
    ]);
    let [first, second] = &set.webhooks[..] else {
        panic!("{:?}", set.webhooks)
    };
    assert_eq!(first.base_url.as_str(), "https://a.example/x");
    assert_eq!(
        (first.event_buffer_size, first.flush_delay),
        (7, Duration::from_millis(2500))
    );
    assert_eq!(second.headers["x-custom"], "abc");
    assert_eq!(second.secret, Some(Secret::new("123".to_owned())));
    assert!(!format!("{second:?}").contains("abc"), "headers may hold keys");
    let bad = |name: &str| (name == "OH_WEBHOOKS_0_BASE_URL").then(|| "not an address".to_owned());
    let refused = Config::from_variables(bad, PathBuf::new(), PathBuf::new()).unwrap_err();
    assert!(refused.to_string().contains("base_url must be"), "{refused}");
}

#[test]
fn a_variable_is_stronger_than_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config.json");
    std::fs::write(
        &file,
        r#"{"session_api_keys": ["filed"], "max_concurrent_runs": 7}"#,
    )
    .unwrap();
    let path = ("OPENHANDS_AGENT_SERVER_CONFIG_PATH", file.to_str().unwrap());
    assert_eq!(keys(&config(&[path])), ["filed"]);
    let both = config(&[path, ("OH_MAX_CONCURRENT_RUNS", "9")]);
    assert_eq!(both.max_runs, 9);
}

#[test]
fn what_cannot_be_understood_is_refused_and_not_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config.json");
    let refused = |variables: &[(&str, &str)], in_file: &str| {
        std::fs::write(&file, in_file).unwrap();
        let path = file.display().to_string();
        let named = [("OPENHANDS_AGENT_SERVER_CONFIG_PATH", path.as_str())];
        let find = |name: &str| {
            let found = variables.iter().chain(&named).find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let read = Config::from_variables(find, PathBuf::new(), PathBuf::new());
        read.unwrap_err().to_string()
    };
    for (name, value) in [
        ("OH_MAX_CONCURRENT_RUNS", "ten"),
        ("OH_MAX_CONCURRENT_RUNS", "0"),
        ("OH_CONVERSATION_IDLE_TTL_SECONDS", "-1"),
        ("OH_WEBHOOKS", "https://a.example"),
    ] {
        let why = refused(&[(name, value)], "{}");
        assert!(why.starts_with(name), "{why}");
    }
    let address = ("OH_WEBHOOKS_0_BASE_URL", "https://a.example");
    let why = refused(&[address, ("OH_WEBHOOKS_0_HEADERS", "Key: hidden")], "{}");
    assert!(why.contains("headers") && !why.contains("hidden"), "{why}");
    for in_file in [
        r#"{"session_api_keys": "hidden"}"#,
        r#"{"webhooks": {"base_url": "hidden"}}"#,
    ] {
        let why = refused(&[], in_file);
        assert!(why.starts_with("OH_") && !why.contains("hidden"), "{why}");
    }
    let understood = config(&[
        ("OH_WEBHOOKS", "1"),
        address,
        ("OH_CONVERSATION_IDLE_TTL_SECONDS", "0.5"),
    ]);
    assert_eq!(understood.webhooks.len(), 1);
    assert_eq!(understood.idle_limit, Duration::from_millis(500));
}

#[test]
fn who_wakes_a_server_has_the_secret_key_or_the_first_of_the_others() {
    let waits = ("OH_DEFERRED_INIT", "1");
    let key = |variables: &[(&str, &str)]| config(variables).init_key.map(|key| key.expose().clone());
    let both = [waits, ("OH_SECRET_KEY", "s-one"), ("SESSION_API_KEY", "k-one")];
    assert_eq!(key(&both).as_deref(), Some("s-one"));
    assert_eq!(
        key(&[waits, ("SESSION_API_KEY", "k-one")]).as_deref(),
        Some("k-one")
    );
    assert_eq!(key(&[("SESSION_API_KEY", "k-one")]), None);
    let alone = |name: &str| (name == waits.0).then(|| waits.1.to_owned());
    let refused = Config::from_variables(alone, PathBuf::new(), PathBuf::new());
    assert!(matches!(refused, Err(ConfigError::InitKey)));
}

#[test]
fn where_conversations_are_is_said_by_a_variable_or_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config.json");
    std::fs::write(&file, r#"{"conversations_path": "/data/talks"}"#).unwrap();
    let found = |set: Option<&str>| {
        let variable = |name: &str| match name {
            "OPENHANDS_AGENT_SERVER_CONFIG_PATH" => Some(file.display().to_string()),
            "OH_CONVERSATIONS_PATH" => set.map(str::to_owned),
            _ => None,
        };
        Config::conversations_path(variable).unwrap()
    };
    assert_eq!(found(None).as_deref(), Some("/data/talks"));
    assert_eq!(found(Some("/elsewhere")).as_deref(), Some("/elsewhere"));
}
