//! Requests that come more than once, and titles that nobody asked for twice.

use std::time::SystemTime;

use deft_engine::{Fork, RealWorld, fork};
use deft_store::NewConversation;
use deft_types::{ConversationId, EventId};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::desk::{Desk, KEY, Talk};

const TALK: &str = "[{text: hello, cost: 0.5, repeat: 9}]";

async fn with_key(desk: &Desk, method: Method, path: &str, key: &str, body: Value) -> (u16, Value) {
    let request = desk.request(method, path).header("X-Session-API-Key", KEY);
    let answer = request
        .header("Idempotency-Key", key)
        .json(&body)
        .send()
        .await
        .unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

async fn stored(desk: &Desk, talk: &Talk) -> usize {
    let id = talk.0.parse().map(deft_types::ConversationId).unwrap();
    let record = desk.store().conversation(id).await.unwrap().unwrap();
    record
        .last_seq
        .map_or(0, |last| usize::try_from(last.0).unwrap() + 1)
}

#[tokio::test]
async fn the_same_request_again_is_answered_as_before_and_changes_nothing() {
    let mut desk = Desk::new().await;
    let talk = desk.begin(TALK).await;
    desk.run(&talk).await;
    let message = json!({"content": [{"type": "text", "text": "once"}]});
    let said = "4b1c6a3e-3c0f-4a6e-9a57-1d2c3b4a5f60";
    let requests = [
        (Method::POST, "/events", said, message),
        (
            Method::PATCH,
            "",
            "rename-1",
            json!({"title": "Renamed", "tags": {"team": "core"}}),
        ),
        (
            Method::POST,
            "/confirmation_policy",
            "policy-1",
            json!({"policy": {"kind": "AlwaysConfirm"}}),
        ),
        (Method::POST, "/ask_agent", "ask-1", json!({"question": "why?"})),
        (
            Method::POST,
            "/secrets",
            "secrets-1",
            json!({"secrets": {"TOKEN": "s3cr3t"}}),
        ),
        (Method::POST, "/budget", "budget-1", json!({"add": {"steps": 2}})),
        (Method::POST, "/fork", "fork-1", json!({"title": "a copy"})),
        (Method::POST, "/navigate", "navigate-1", json!({"event_id": null})),
    ];
    let mut answers = Vec::new();
    for (method, path, key, body) in &requests {
        let answer = with_key(&desk, method.clone(), &talk.path(path), key, body.clone()).await;
        assert!(answer.0 < 300, "{path}: {answer:?}");
        let events = stored(&desk, &talk).await;
        let again = with_key(&desk, method.clone(), &talk.path(path), key, body.clone()).await;
        assert_eq!(again, answer, "{path}: another answer");
        assert_eq!(stored(&desk, &talk).await, events, "{path}: done twice");
        answers.push(answer);
    }
    let other = with_key(&desk, Method::POST, &talk.path("/pause"), "rename-1", json!({})).await;
    assert_eq!(other.0, 409, "{other:?}");
    desk.stop().await;
    desk.start(|_| {}).await;
    for ((method, path, key, body), answer) in requests.into_iter().zip(answers) {
        let later = with_key(&desk, method, &talk.path(path), key, body).await;
        assert_eq!(later, answer, "{path}: another answer after a restart");
    }
    let info = desk.get(&talk.path("")).await;
    assert_eq!(
        (&info["title"], &info["tags"]),
        (&json!("Renamed"), &json!({"team": "core"}))
    );
    let listed = desk.get("/api/conversations/search").await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "one copy");
}

#[tokio::test]
async fn a_copy_that_was_made_before_the_server_died_is_the_answer_to_the_same_request() {
    let desk = Desk::new().await;
    let talk = desk.begin(TALK).await;
    desk.run(&talk).await;
    let source = ConversationId(talk.0.parse().unwrap());
    // What the server keeps of a conversation is sealed for its id.
    let mut request = desk.start_request(&desk.script("copy.yaml", TALK));
    request["conversation_id"] = json!(Uuid::new_v4());
    let stand_in = desk.begin_with(request).await;
    let made = ConversationId(stand_in.0.parse().unwrap());
    let settings = desk.store().settings(made).await.unwrap().unwrap();
    desk.ask(Method::DELETE, &stand_in.path(""), None).await;
    let new = NewConversation {
        id: made,
        created_at: SystemTime::now(),
        workspace: desk
            .store()
            .conversation(source)
            .await
            .unwrap()
            .unwrap()
            .workspace,
        settings,
        owner: None,
    };
    let body = json!({"id": made});
    let copy = Fork {
        request: Some(EventId("fork:fork-2".to_owned())),
        ..Fork::default()
    };
    fork(desk.store().as_ref(), source, new, copy, &RealWorld)
        .await
        .unwrap();
    let path = talk.path("/fork");
    let again = with_key(&desk, Method::POST, &path, "fork-2", body.clone()).await;
    assert_eq!((again.0, &again.1["id"]), (201, &json!(made)), "{again:?}");
    let other = with_key(&desk, Method::POST, &path, "fork-3", body).await;
    assert_eq!(other.0, 409, "{other:?}");
}

#[tokio::test]
async fn names_and_notes_are_no_events_that_clients_of_the_contract_see() {
    let desk = Desk::new().await;
    let talk = desk.begin(TALK).await;
    desk.run(&talk).await;
    let before = desk.events(&talk).await.len();
    with_key(
        &desk,
        Method::PATCH,
        &talk.path(""),
        "k1",
        json!({"title": "Renamed"}),
    )
    .await;
    desk.post(&talk.path("/secrets"), json!({"secrets": {"TOKEN": "s3cr3t"}}))
        .await;
    assert_eq!(desk.events(&talk).await.len(), before);
    with_key(
        &desk,
        Method::PATCH,
        &talk.path(""),
        "k2",
        json!({"tags": {"a": "b"}}),
    )
    .await;
    let events = desk.events(&talk).await;
    let last = events.last().unwrap();
    assert_eq!(
        (&last["key"], &last["value"]),
        (&json!("tags"), &json!({"a": "b"}))
    );
}

#[tokio::test]
async fn a_title_is_written_by_the_model_of_the_profile_that_the_client_names() {
    let desk = Desk::new().await;
    let titles = desk.script("titles", "[{text: Say hello, cost: 0.25}]");
    desk.post("/api/profiles/titles", json!({"llm": {"model": titles}}))
        .await;
    let model = desk.script("talk", TALK);
    let mut request = desk.start_request(&model);
    request["title_llm_profile"] = json!("titles");
    let talk = desk.begin_with(request.clone()).await;
    desk.run(&talk).await;
    while desk.get(&talk.path("")).await["title"] != "Say hello" {
        tokio::task::yield_now().await;
    }
    let info = desk.get(&talk.path("")).await;
    let used = &info["stats"]["usage_to_metrics"];
    assert_eq!(used["title"]["accumulated_cost"], 0.25, "{used}");

    request["autotitle"] = json!(false);
    let talk = desk.begin_with(request).await;
    let info = desk.run(&talk).await;
    assert!(info["stats"]["usage_to_metrics"].get("title").is_none(), "{info}");
}
