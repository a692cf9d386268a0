//! Models that a `ChatGPT` subscription pays for: logging in, using and renewing the login, logging out.

use deft_server::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::chatgpt::ChatGpt;
use crate::desk::Desk;

const STATUS: &str = "/api/llm/subscription/openai/status";
const START: &str = "/api/llm/subscription/openai/device/start";
const POLL: &str = "/api/llm/subscription/openai/device/poll";
const LOGOUT: &str = "/api/llm/subscription/openai/logout";

/// A server whose people log in at a `ChatGPT` on this machine.
async fn desk() -> (Desk, ChatGpt) {
    let (desk, chatgpt) = (Desk::new().await, ChatGpt::start().await);
    desk.set_chatgpt(&chatgpt.url());
    (desk, chatgpt)
}

fn nobody() -> Value {
    json!({"vendor": "openai", "connected": false, "account_email": null, "expires_at": null})
}

async fn log_in(desk: &Desk, chatgpt: &ChatGpt) -> Value {
    let started = desk.post(START, json!({})).await;
    chatgpt.agree();
    desk.post(POLL, json!({"device_code": started["device_code"]}))
        .await
}

/// What a conversation with such a model comes to, and the last thing it tells.
async fn talk(desk: &Desk) -> (Value, Value) {
    let mut request = desk.start_request("openai/gpt-5.5");
    request["agent"]["llm"] = json!({"model": "openai/gpt-5.5", "auth_type": "subscription", "temperature": 0.5,
        "max_output_tokens": 100, "num_retries": 0, "base_url": "http://127.0.0.1:9/evil"});
    let talk = desk.begin_with(request).await;
    let info = desk.run(&talk).await;
    let events = desk.events(&talk).await;
    let told = |event: &&Value| {
        event["kind"] == "ConversationErrorEvent"
            || event["kind"] == "MessageEvent" && event["source"] == "agent"
    };
    let last = events.iter().rev().find(told).cloned();
    (info["execution_status"].clone(), last.unwrap_or_default())
}

#[tokio::test]
async fn somebody_logs_in_with_a_code_and_a_model_answers() {
    let (desk, chatgpt) = desk().await;
    assert_eq!(desk.get(STATUS).await, nobody());
    let models = desk.get("/api/llm/subscription/openai/models").await;
    assert!(models["models"].as_array().unwrap().contains(&json!("gpt-5.5")));

    let started = desk.post(START, json!({})).await;
    assert_eq!(started["user_code"], "ABCD-1234");
    assert_eq!(
        started["verification_uri"],
        format!("{}/codex/device", chatgpt.url())
    );
    assert_eq!(started["interval_seconds"], 2);
    assert!(started["expires_at"].as_u64() > Some(1_700_000_000_000));
    let code = json!({"device_code": started["device_code"]});
    assert_eq!(desk.post(POLL, code.clone()).await, nobody());
    chatgpt.agree();
    let status = desk.post(POLL, code.clone()).await;
    assert_eq!(
        (&status["connected"], &status["account_email"]),
        (&json!(true), &json!("ada@example.com"))
    );
    assert!(status["expires_at"].as_u64() > Some(1_700_000_000_000));
    assert_eq!(desk.get(STATUS).await, status);
    let over = desk.refusal(Method::POST, POLL, code).await;
    assert_eq!(
        over,
        (404, json!("Subscription device login not found or expired"))
    );

    let (status, message) = talk(&desk).await;
    assert_eq!(status, "finished", "{message}");
    assert_eq!(
        message["llm_message"]["content"][0]["text"],
        "paid by subscription"
    );
    let (headers, body) = &chatgpt.asked()[0];
    assert!(
        headers["authorization"]
            .to_str()
            .unwrap()
            .starts_with("Bearer e30.")
    );
    assert_eq!(headers["chatgpt-account-id"], "account-1");
    assert_eq!(
        (&body["model"], &body["store"], &body["stream"]),
        (&json!("gpt-5.5"), &json!(false), &json!(true))
    );
    for left_out in [
        "temperature",
        "max_output_tokens",
        "reasoning",
        "include",
        "prompt_cache_retention",
    ] {
        assert_eq!(body.get(left_out), None, "{left_out}");
    }
    assert!(body["instructions"].as_str().unwrap().len() < 200);
    assert!(
        body["input"]
            .as_array()
            .unwrap()
            .iter()
            .all(|item| item["role"] != "system")
    );
    assert_eq!(chatgpt.refreshed(), 0);
}

#[tokio::test]
async fn a_login_is_renewed_once_before_it_expires_and_forgotten_when_somebody_logs_out() {
    let (desk, chatgpt) = desk().await;
    chatgpt.give_for(1);
    let short = log_in(&desk, &chatgpt).await;
    chatgpt.give_for(3600);
    let (one, other) = tokio::join!(talk(&desk), talk(&desk));
    assert_eq!(
        (&one.0, &other.0),
        (&json!("finished"), &json!("finished")),
        "{one:?} {other:?}"
    );
    assert_eq!(chatgpt.refreshed(), 1);
    let renewed = desk.get(STATUS).await;
    assert!(renewed["expires_at"].as_u64() > short["expires_at"].as_u64());
    assert_eq!(renewed["account_email"], "ada@example.com");

    let stored = desk.store().documents("subscriptions/").await.unwrap();
    assert_eq!(stored.len(), 1);
    assert!(
        !stored[0].1.contains("refresh") && !stored[0].1.contains("ada@"),
        "it is sealed"
    );
    assert_eq!(desk.post(LOGOUT, json!({})).await, nobody());
    assert_eq!(desk.documents("subscriptions/").await, 0);
    assert_eq!(desk.get(STATUS).await, nobody());
    let (status, error) = talk(&desk).await;
    assert_eq!(status, "error");
    assert!(!error.to_string().contains("LLM_API_KEY"), "{error}");
    assert!(
        error.to_string().contains("device/start"),
        "it says what to do: {error}"
    );
}

#[tokio::test]
async fn a_login_that_cannot_be_renewed_is_none_and_one_that_was_given_up_is_not_finished() {
    let (desk, chatgpt) = desk().await;
    chatgpt.give_for(1);
    assert_eq!(log_in(&desk, &chatgpt).await["connected"], true);
    chatgpt.refuse();
    assert_eq!(desk.get(STATUS).await, nobody());
    let (_, error) = talk(&desk).await;
    assert!(error.to_string().contains("log in again"), "{error}");
    assert!(!error.to_string().contains("LLM_API_KEY"), "{error}");

    let started = desk.post(START, json!({})).await;
    desk.post(LOGOUT, json!({})).await;
    let code = json!({"device_code": started["device_code"]});
    assert_eq!(desk.refusal(Method::POST, POLL, code).await.0, 404);
}

#[tokio::test]
async fn a_login_is_what_it_was_while_nobody_can_be_asked_to_renew_it() {
    let (desk, chatgpt) = desk().await;
    chatgpt.give_for(1);
    let login = log_in(&desk, &chatgpt).await;
    desk.set_chatgpt("http://127.0.0.1:9"); // nobody is there
    assert_eq!(desk.get(STATUS).await, login);
    assert_eq!(login["connected"], true);
}

#[tokio::test]
async fn a_login_is_its_users_alone() {
    let (desk, chatgpt) = desk().await;
    let mut keys = Vec::new();
    for (name, role) in [
        ("root", Role::Admin),
        ("ann", Role::Member),
        ("bob", Role::Member),
    ] {
        keys.push(desk.add_user(name, role).await);
    }
    let ask = async |who: usize, method: Method, path: &str, body: Value| -> Value {
        let request = desk.request(method, path).header("X-Session-API-Key", &keys[who]);
        request.json(&body).send().await.unwrap().json().await.unwrap()
    };
    let started = ask(1, Method::POST, START, json!({})).await;
    chatgpt.agree();
    let code = json!({"device_code": started["device_code"]});
    assert_eq!(
        ask(2, Method::POST, POLL, code.clone()).await["connected"],
        Value::Null
    );
    assert_eq!(ask(1, Method::POST, POLL, code).await["connected"], true);
    for other in [0, 2] {
        assert_eq!(ask(other, Method::GET, STATUS, json!({})).await, nobody());
        ask(other, Method::POST, LOGOUT, json!({})).await;
    }
    assert_eq!(ask(1, Method::GET, STATUS, json!({})).await["connected"], true);
}
