//! A server that is started ahead of its use, and told later how to serve.

use serde_json::{Value, json};

use crate::commands::{Home, stderr};
use crate::serve::Served;

const INIT: &str = "/api/init";

fn init(served: &Served, key: &str, body: &Value) -> (u16, Value) {
    served.send_with(("X-Init-API-Key", key), "POST", INIT, body)
}

fn state(served: &Served) -> Value {
    served.send("GET", INIT, "", &json!({})).1
}

#[test]
fn a_server_sleeps_until_it_is_told_how_to_serve() {
    let home = Home::new();
    let variables = [
        ("OH_DEFERRED_INIT", "true"),
        ("OH_SECRET_KEY", "boot-secret"),
        ("SESSION_API_KEY", "k-old"),
    ];
    let served = Served::start(&home, &variables);
    assert_eq!(state(&served), json!({"state": "dormant", "error": null}));
    let ready = served.send("GET", "/ready", "", &json!({}));
    assert_eq!(ready, (200, json!({"status": "ready"})));
    let (status, body) = served.send("GET", "/api/conversations/search", "k-old", &json!({}));
    assert_eq!(status, 503);
    let exception = "503: server is in deferred-init state 'dormant'; call POST /api/init first";
    assert_eq!(body["exception"], exception);
    for (method, path, status) in [
        ("GET", "/server_info", 200),
        ("GET", "/", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/docs", 200),
        ("POST", "/v1/chat/completions", 503),
        ("GET", "/metrics", 503),
        ("PUT", "/api/conversations/search", 405),
        ("GET", "/api/nope", 404),
        ("GET", "/nope", 404),
        ("GET", "/sockets/events/e1", 403),
    ] {
        let answer = served.send(method, path, "k-old", &json!({}));
        assert_eq!(answer.0, status, "{method} {path}: {}", answer.1);
    }
    assert_eq!(init(&served, "", &json!({})).0, 401);
    assert_eq!(init(&served, "boot-secret", &json!({"bogus": 1})).0, 422);

    // What cannot be done is said, and another may be tried.
    let file = home.work().join("a-file");
    std::fs::write(&file, "").unwrap();
    let impossible = json!({"conversations_path": file.join("below")});
    let (status, body) = init(&served, "boot-secret", &impossible);
    assert_eq!(status, 500, "{body}");
    let waits = state(&served);
    assert_eq!(waits["state"], "dormant");
    let reason = waits["error"].as_str().unwrap();
    assert_eq!(body["exception"], format!("500: {reason}"));

    let data = home.work().join("data-of-user");
    let said = json!({"session_api_keys": ["user-key"], "env": {"FOO": "bar"}, "conversations_path": data});
    let awake = json!({"state": "ready", "error": null});
    assert_eq!(init(&served, "boot-secret", &said), (200, awake.clone()));
    assert_eq!(state(&served), awake);
    assert_eq!(init(&served, "user-key", &json!({})).0, 401);
    let again = init(&served, "boot-secret", &json!({}));
    assert_eq!(again, (400, json!({"detail": "server already in state: ready"})));
    let count = |key| served.send("GET", "/api/conversations/count", key, &json!({})).0;
    assert_eq!(count("user-key"), 200);
    assert_eq!(count("k-old"), 401, "the old key is replaced");
    assert!(
        data.join("deft.db").exists(),
        "everything is kept where it was said"
    );
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn who_guesses_the_key_that_wakes_a_server_is_not_listened_to() {
    let home = Home::new();
    let waking = [("OH_DEFERRED_INIT", "1"), ("OH_SECRET_KEY", "boot-secret")];
    let served = Served::start(&home, &waking);
    for guess in 0..20 {
        assert_eq!(init(&served, &format!("guess-{guess}"), &json!({})).0, 401);
    }
    assert_eq!(
        init(&served, "boot-secret", &json!({})).0,
        429,
        "not even the right one counts"
    );
    assert_eq!(state(&served)["state"], "dormant");
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn a_sleeping_server_is_called_by_the_names_it_will_have() {
    let home = Home::new();
    let known = "http://deft.example/below";
    let waking = [
        ("OH_DEFERRED_INIT", "1"),
        ("OH_SECRET_KEY", "boot-secret"),
        ("OH_WEB_URL", known),
    ];
    let served = Served::start(&home, &waking);
    let called = |name: &str| served.ask_as(name, "/below/api/init");
    assert!(
        called("deft.example").contains("dormant"),
        "{}",
        called("deft.example")
    );
    assert!(called("evil.example").starts_with("HTTP/1.1 421"));
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn what_was_said_counts_when_the_settings_are_read_again() {
    let home = Home::new();
    let file = home.root.path().join(".deft/deft.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let write = |title: &str| std::fs::write(&file, format!("models.{title}.model = \"demo\"\n")).unwrap();
    write("before");
    let served = Served::start(
        &home,
        &[("OH_DEFERRED_INIT", "1"), ("OH_SECRET_KEY", "boot-secret")],
    );
    let said = json!({"session_api_keys": ["user-key"], "env": {"LLM_MODEL": "openai/said"}});
    assert_eq!(init(&served, "boot-secret", &said).0, 200);
    let app = || served.send("GET", "/api/app", "user-key", &json!({})).1;
    assert_eq!(app()["model"], "openai/said", "{}", app());
    write("after");
    served.hang_up();
    let begun = std::time::Instant::now();
    while app()["models"] != json!(["after"]) {
        assert!(begun.elapsed().as_secs() < 30, "they are not read: {}", app());
    }
    assert_eq!(app()["model"], "openai/said");
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn a_sleeping_server_can_be_stopped_and_needs_a_key_of_its_own() {
    let home = Home::new();
    let waking = [("OH_DEFERRED_INIT", "1"), ("OH_SECRET_KEY", "boot-secret")];
    assert_eq!(Served::start(&home, &waking).terminate(), Some(0));
    let mut keyless = home.deft(&["serve", "--port", "0"]);
    let output = keyless.env("OH_DEFERRED_INIT", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("OH_SECRET_KEY"), "{}", stderr(&output));
}
