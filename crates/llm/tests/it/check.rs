//! Trying a model out, layer by layer.

use deft_llm::{Layer, Verdict, check};
use tokio::io::AsyncWriteExt;

use super::routes::{Answers, Routes};
use super::*;

const CHAT: &str = "POST /v1/chat/completions";

/// Each layer that was told, and the remedy where it failed.
async fn findings(name: &str, settings: &ModelSettings) -> Vec<(Layer, Option<String>)> {
    let mut findings = Vec::new();
    let good = check(name, settings, |finding| {
        let remedy = match &finding.verdict {
            Verdict::Good(_) => None,
            Verdict::Bad { what, remedy } => {
                assert!(!what.contains(KEY), "{what}");
                Some(remedy.clone())
            }
        };
        findings.push((finding.layer, remedy));
    })
    .await;
    assert_eq!(good, findings.iter().all(|(_, remedy)| remedy.is_none()));
    findings
}

async fn layers(answers: Answers) -> (Vec<Layer>, Vec<Layer>) {
    let server = Routes::start(answers).await;
    let findings = findings("openai/gpt-4o", &settings(format!("{}/v1", server.address))).await;
    let (good, bad): (Vec<_>, Vec<_>) = findings.into_iter().partition(|(_, remedy)| remedy.is_none());
    let layers =
        |findings: Vec<(Layer, Option<String>)>| findings.into_iter().map(|(layer, _)| layer).collect();
    (layers(good), layers(bad))
}

fn counting() -> String {
    let pieces = ["1 2 ", "3 4"].map(|text| event(&json!({ "content": text }), None));
    format!("{}{}{}", pieces[0], pieces[1], event(&json!({}), Some("stop")))
}

fn calling() -> String {
    format!(
        "{}{}",
        call(0, Some("c"), Some("report"), "{\"word\":\"ready\"}"),
        event(&json!({}), Some("tool_calls"))
    )
}

#[tokio::test]
async fn a_model_that_works_passes_every_layer() {
    let (good, bad) = layers(vec![(CHAT, 200, counting()), (CHAT, 200, calling())]).await;
    assert_eq!(bad, []);
    assert_eq!(
        good,
        [
            Layer::Name,
            Layer::Connection,
            Layer::Tls,
            Layer::Authentication,
            Layer::Model,
            Layer::TokenCount,
            Layer::ToolCalls,
            Layer::Streaming,
        ]
    );
}

#[tokio::test]
async fn each_failure_is_of_its_layer() {
    let whole =
        json!({ "choices": [{ "message": { "content": "1 2 3" }, "finish_reason": "stop" }] }).to_string();
    let no_tools = json!({ "error": { "message": "does not support tools" } }).to_string();
    let cases: Vec<(&str, Answers, &[Layer])> = vec![
        (
            "a wrong key",
            vec![(CHAT, 401, format!("no {KEY}"))],
            &[Layer::Authentication],
        ),
        (
            "nothing to spend",
            vec![(CHAT, 402, String::new())],
            &[Layer::Authentication],
        ),
        (
            "a wrong model",
            vec![(CHAT, 404, "no such model".to_owned())],
            &[Layer::Model],
        ),
        (
            "another service",
            vec![(CHAT, 200, "<html></html>".to_owned())],
            &[Layer::Model],
        ),
        (
            "refused tools",
            vec![(CHAT, 200, counting()), (CHAT, 400, no_tools)],
            &[Layer::ToolCalls],
        ),
        (
            "words in place of a call",
            vec![(CHAT, 200, counting())],
            &[Layer::ToolCalls],
        ),
        (
            "an answer in one piece",
            vec![(CHAT, 200, whole), (CHAT, 200, calling())],
            &[Layer::Streaming],
        ),
    ];
    for (what, answers, expected) in cases {
        let (_, bad) = layers(answers).await;
        assert_eq!(bad, expected, "{what}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_fails_at_the_connection_and_one_without_tls_at_tls() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let secure = format!("https://{}", listener.local_addr().unwrap());
    let plain = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await);
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nowhere = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for (address, layer) in [(nowhere, Layer::Connection), (secure, Layer::Tls)] {
        let findings = findings("openai/gpt-4o", &settings(address)).await;
        let (last, remedy) = findings.last().unwrap();
        assert_eq!((*last, remedy.is_some()), (layer, true), "{findings:?}");
    }
    plain.abort();
}

#[tokio::test]
async fn a_name_that_means_nothing_fails_at_once() {
    let findings = findings("nobody/nothing", &ModelSettings::default()).await;
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].0, findings[0].1.is_some()), (Layer::Name, true));
}

#[tokio::test]
async fn a_key_that_is_missing_is_no_fault_of_the_name() {
    let findings = findings("openai/gpt-4o", &ModelSettings::default()).await;
    assert_eq!(findings.len(), 1);
    assert_eq!(
        (findings[0].0, findings[0].1.is_some()),
        (Layer::Authentication, true)
    );
}
