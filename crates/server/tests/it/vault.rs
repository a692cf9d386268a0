//! The key that secrets are sealed with, and another one in its place.

use std::fs;
use std::sync::Arc;

use deft_server::{KeyHome, VaultKeys, rotate_key};
use deft_store::Store;
use reqwest::Method;
use serde_json::json;

use crate::desk::{Desk, FINISH};

fn keys(desk: &Desk) -> VaultKeys {
    VaultKeys::of(desk.root.path(), |_| None)
}

async fn put(desk: &Desk, name: &str, value: &str) {
    let body = json!({"name": name, "value": value});
    let (status, answer) = desk.ask(Method::PUT, "/api/settings/secrets", Some(body)).await;
    assert!(status.is_success(), "{status} {answer}");
}

async fn one_more(desk: &Desk, number: usize) {
    put(desk, &format!("S{number}"), &format!("value-{number}")).await;
    tokio::time::sleep(std::time::Duration::from_millis(20)).await; // not thousands
}

async fn secret(desk: &Desk, name: &str) -> String {
    let path = format!("/api/settings/secrets/{name}");
    let answer = desk
        .request(Method::GET, &path)
        .header("X-Session-API-Key", crate::desk::KEY)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200, "{name}");
    answer.text().await.unwrap()
}

#[tokio::test]
async fn a_new_key_takes_over_while_the_server_works_and_the_one_before_opens_nothing() {
    let mut desk = Desk::new().await;
    let file = desk.root.path().join("vault-key");
    let before = fs::read_to_string(&file).unwrap();
    put(&desk, "EARLY", "early-value").await;
    let talk = desk.begin(FINISH).await;
    let store = desk.store();

    // Secrets come in all the while.
    let keys = keys(&desk);
    let rotation = rotate_key(store.as_ref(), &keys, KeyHome::File);
    tokio::pin!(rotation);
    let mut count = 0;
    let sealed = loop {
        tokio::select! {
            biased;
            sealed = &mut rotation => break sealed.unwrap(),
            () = one_more(&desk, count) => count += 1,
        }
    };
    assert!(sealed >= 2, "the secrets and the conversation: {sealed}");
    assert!(count > 0);
    put(&desk, "LATE", "late-value").await;
    assert_eq!(desk.run(&talk).await["execution_status"], "finished");

    let after = fs::read_to_string(&file).unwrap();
    assert_eq!(after.lines().count(), 1);
    assert_ne!(after.trim(), before.trim());
    desk.stop().await;
    desk.start(|_| {}).await;
    for number in 0..count {
        assert_eq!(
            secret(&desk, &format!("S{number}")).await,
            format!("value-{number}")
        );
    }
    assert_eq!(secret(&desk, "EARLY").await, "early-value");
    assert_eq!(secret(&desk, "LATE").await, "late-value");
    assert_eq!(desk.get(&talk.path("")).await["execution_status"], "finished");

    desk.stop().await;
    fs::write(&file, &before).unwrap();
    desk.start(|_| {}).await;
    let (status, _) = desk.ask(Method::GET, "/api/settings/secrets", None).await;
    assert_eq!(status, 500, "the key before still opens them");
}

#[tokio::test]
async fn a_rotation_that_was_cut_short_loses_nothing_and_is_finished_by_the_next() {
    let mut desk = Desk::new().await;
    let file = desk.root.path().join("vault-key");
    put(&desk, "EARLY", "early-value").await;
    let store: Arc<dyn Store> = desk.store();
    let keys = keys(&desk);
    let half = rotate_key(store.as_ref(), &keys, KeyHome::File);
    // It is dropped in the middle, when the new key is written down and nothing is sealed with it.
    tokio::select! {
        biased;
        _ = half => panic!("it should not end so soon"),
        () = tokio::time::sleep(std::time::Duration::from_millis(100)) => {}
    }
    let begun = fs::read_to_string(&file).unwrap();
    assert_eq!(begun.lines().count(), 2, "both keys are there");
    desk.stop().await;
    desk.start(|_| {}).await;
    assert_eq!(secret(&desk, "EARLY").await, "early-value");
    put(&desk, "LATE", "late-value").await;

    let again = rotate_key(store.as_ref(), &keys, KeyHome::File);
    again.await.unwrap();
    let after = fs::read_to_string(&file).unwrap();
    assert_eq!(after.lines().count(), 1);
    assert_eq!(after.lines().next(), begun.lines().next(), "no third key");
    desk.stop().await;
    desk.start(|_| {}).await;
    assert_eq!(secret(&desk, "EARLY").await, "early-value");
    assert_eq!(secret(&desk, "LATE").await, "late-value");
}

#[tokio::test]
async fn secrets_move_to_a_key_in_a_variable_and_the_file_goes() {
    let mut desk = Desk::new().await;
    put(&desk, "EARLY", "early-value").await;
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let root = desk.root.path().to_owned();
    let given = VaultKeys::of(&root, |name| (name == "DEFT_VAULT_KEY").then(|| key.to_owned()));
    // First the server learns the key, then everything is sealed with it.
    desk.stop().await;
    desk.start(|config| config.vault_keys = given.clone()).await;
    assert_eq!(secret(&desk, "EARLY").await, "early-value");
    rotate_key(desk.store().as_ref(), &given, KeyHome::File)
        .await
        .unwrap();
    assert!(!root.join("vault-key").exists());
    assert_eq!(secret(&desk, "EARLY").await, "early-value");
    put(&desk, "LATE", "late-value").await;
    desk.stop().await;
    desk.start(|config| config.vault_keys = given).await;
    assert_eq!(secret(&desk, "LATE").await, "late-value");
}
