//! Webhooks that are added, changed and removed while the server runs.

use deft_server::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH};
use crate::user::User;
use crate::webhooks::{Receiver, events, stored};

#[tokio::test]
async fn a_webhook_is_added_tested_changed_and_removed_while_the_server_runs() {
    let receiver = Receiver::new().await;
    let mut desk = Desk::new().await;
    let before = desk.begin(FINISH).await;
    let quick = json!({"base_url": receiver.address, "flush_delay": 0.05, "retry_delay": 0.01,
        "secret": "s3cret", "headers": {"X-Custom": "top-secret"}});
    let (status, added) = desk.ask(Method::POST, "/api/webhooks", Some(quick.clone())).await;
    assert_eq!(status, 201, "{added}");
    let hook = added["webhooks"][0].clone();
    assert_eq!(
        (&hook["is_configured"], &hook["is_signed"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(hook["headers"], json!(["x-custom"]));
    assert!(!added.to_string().contains("s3cret") && !added.to_string().contains("top-secret"));
    let path = format!("/api/webhooks/{}", hook["id"].as_str().unwrap());
    let (status, _) = desk.ask(Method::POST, "/api/webhooks", Some(quick)).await;
    assert_eq!(status, 422, "the same address twice");

    receiver.answer(418);
    let tested = desk.post(&format!("{path}/test"), Value::Null).await;
    assert!(
        tested["ok"] == false && tested["detail"].as_str().unwrap().contains("418"),
        "{tested}"
    );
    receiver.answer(200);
    assert_eq!(desk.post(&format!("{path}/test"), Value::Null).await["ok"], true);
    let probe = receiver.got().pop().unwrap();
    assert_eq!(
        (probe.body(), &probe.headers["x-custom"]),
        (json!([]), &"top-secret".parse().unwrap())
    );
    assert!(probe.headers.contains_key("webhook-signature"));
    assert!(
        !probe.headers.contains_key("x-session-api-key"),
        "the server's key stays here"
    );

    // A conversation that was in memory before is told of, and one after a restart.
    desk.run(&before).await;
    let expected = stored(&desk, &before).await;
    receiver
        .until(|got| events(got).last() == expected.last() && !expected.is_empty())
        .await;
    desk.stop().await;
    desk.start(|_| {}).await;
    let after = desk.begin(FINISH).await;
    desk.run(&after).await;
    let expected = stored(&desk, &after).await;
    receiver.until(|got| events(got).ends_with(&expected)).await;

    let changes = json!({"headers": {}, "secret": null});
    let (status, patched) = desk.ask(Method::PATCH, &path, Some(changes)).await;
    let hook = &patched["webhooks"][0];
    assert_eq!(
        (status.as_u16(), &hook["is_signed"], &hook["headers"]),
        (200, &json!(false), &json!([]))
    );
    let moved = json!({"base_url": format!("{}/elsewhere", receiver.address)});
    let (_, moved) = desk.ask(Method::PATCH, &path, Some(moved)).await;
    assert_eq!(
        moved["webhooks"].as_array().unwrap().len(),
        1,
        "another address is another one"
    );
    let path = format!("/api/webhooks/{}", moved["webhooks"][0]["id"].as_str().unwrap());
    let (status, _) = desk.ask(Method::DELETE, &path, None).await;
    assert_eq!(status, 200);
    assert_eq!(desk.get("/api/webhooks").await, json!({"webhooks": []}));
    assert_eq!(desk.documents("webhook").await, 0, "nothing is left of it");
}

#[tokio::test]
async fn a_webhook_that_is_added_hears_of_what_other_users_have_loaded_already() {
    let receiver = Receiver::new().await;
    let desk = Desk::new().await;
    let root = User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let talk = ann.talk().await;
    ann.ask(Method::POST, &talk.path("/pause"), Value::Null).await; // which loads it
    let quick = json!({"base_url": receiver.address, "flush_delay": 0.05});
    let (status, added) = root.ask(Method::POST, "/api/webhooks", quick).await;
    assert_eq!(status, 201, "{added}");
    let message = json!({"content": [{"type": "text", "text": "Anybody there?"}]});
    let (status, said) = ann.ask(Method::POST, &talk.path("/events"), message).await;
    assert_eq!(status, 200, "{said}");
    receiver
        .until(|got| {
            got.iter()
                .any(|got| got.body().to_string().contains("Anybody there?"))
        })
        .await;
}

#[tokio::test]
async fn a_webhook_of_the_configuration_is_changed_only_there() {
    let receiver = Receiver::new().await;
    let desk = Desk::with(|config| receiver.hear(config, &json!({}))).await;
    let hook = desk.get("/api/webhooks").await["webhooks"][0].clone();
    assert_eq!(hook["is_configured"], true);
    let path = format!("/api/webhooks/{}", hook["id"].as_str().unwrap());
    for (method, body) in [
        (Method::PATCH, Some(json!({"num_retries": 1}))),
        (Method::DELETE, None),
    ] {
        let (status, _) = desk.ask(method, &path, body).await;
        assert_eq!(status, 409);
    }
}

#[tokio::test]
async fn what_waits_goes_along_to_another_address() {
    let (first, second, third) = (
        Receiver::new().await,
        Receiver::new().await,
        Receiver::new().await,
    );
    first.answer(500);
    second.answer(500);
    let mut desk = Desk::new().await;
    let slow = json!({"base_url": first.address, "flush_delay": 0.05, "retry_delay": 5, "num_retries": 1000});
    let (_, added) = desk.ask(Method::POST, "/api/webhooks", Some(slow)).await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let expected = stored(&desk, &talk).await;
    first.until(|got| !got.is_empty()).await;
    let path = format!("/api/webhooks/{}", added["webhooks"][0]["id"].as_str().unwrap());
    let moved = json!({"base_url": second.address});
    let (status, moved) = desk.ask(Method::PATCH, &path, Some(moved)).await;
    assert_eq!(status, 200, "{moved}");
    second.until(|got| !got.is_empty()).await;
    second.answer(200);
    let path = format!("/api/webhooks/{}", moved["webhooks"][0]["id"].as_str().unwrap());
    let (_, moved) = desk
        .ask(Method::PATCH, &path, Some(json!({"base_url": third.address})))
        .await;
    third.until(|got| events(got) == expected).await;
    assert!(
        third
            .got()
            .iter()
            .any(|letter| letter.path.ends_with("/conversations"))
    );
    let path = format!("/api/webhooks/{}", moved["webhooks"][0]["id"].as_str().unwrap());
    desk.ask(Method::DELETE, &path, None).await;
    assert_eq!(desk.documents("webhook").await, 0, "nothing is left of any");
    desk.stop().await;
}

#[tokio::test]
async fn what_waits_for_a_webhook_of_the_configuration_goes_to_its_new_address() {
    let (first, second) = (Receiver::new().await, Receiver::new().await);
    first.answer(500);
    let at = |receiver: &Receiver| {
        let hook =
            json!({"base_url": receiver.address, "flush_delay": 0.05, "retry_delay": 5, "num_retries": 1000});
        vec![serde_json::from_value(hook).unwrap()]
    };
    let mut desk = Desk::with(|config| config.webhooks = at(&first)).await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let expected = stored(&desk, &talk).await;
    first.until(|got| !got.is_empty()).await;
    desk.stop().await;
    desk.start(|config| config.webhooks = at(&second)).await;
    second.until(|got| events(got) == expected).await;
}

#[tokio::test]
async fn what_waits_is_told_to_a_webhook_that_moved_out_of_the_configuration() {
    let (receiver, other) = (Receiver::new().await, Receiver::new().await);
    receiver.answer(500);
    let slow =
        json!({"base_url": receiver.address, "flush_delay": 0.05, "retry_delay": 5, "num_retries": 1000});
    let configured = |hook: &Value| vec![serde_json::from_value(hook.clone()).unwrap()];
    let mut desk = Desk::with(|config| config.webhooks = configured(&slow)).await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let expected = stored(&desk, &talk).await;
    receiver.until(|got| !got.is_empty()).await;
    desk.stop().await;
    // It is gone from there, and added by somebody.
    desk.start(|_| {}).await;
    let already = receiver.got().len();
    receiver.answer(200);
    let (status, added) = desk.ask(Method::POST, "/api/webhooks", Some(slow.clone())).await;
    assert_eq!(status, 201, "{added}");
    receiver.until(|got| events(&got[already..]) == expected).await;

    // It stands in both, and then another in its place in the configuration: that one is not told in its stead.
    desk.stop().await;
    receiver.answer(500);
    desk.start(|config| config.webhooks = configured(&slow)).await;
    let later = desk.begin(FINISH).await;
    desk.run(&later).await;
    let expected = stored(&desk, &later).await;
    let already = receiver.got().len();
    receiver.until(|got| got.len() > already).await;
    desk.stop().await;
    let instead = json!({"base_url": other.address, "flush_delay": 0.05});
    receiver.answer(200);
    let already = receiver.got().len();
    desk.start(|config| config.webhooks = configured(&instead)).await;
    receiver.until(|got| events(&got[already..]) == expected).await;
    assert_eq!(events(&other.got()), Vec::<Value>::new());
}
