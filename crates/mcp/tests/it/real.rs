//! The reference servers as programs in the workspace.

use std::time::Duration;

use deft_tools::{Call, OutputSink, Touches};
use deft_types::{Content, McpServerState};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{PATIENCE, Started, action, npm, run};

async fn everything() -> Option<Started> {
    let script = npm::script(npm::EVERYTHING)?;
    let server = json!({"command": "node", "args": [script, "stdio"], "env": {"GIVEN": "open-sesame"}});
    Some(Started::new(&json!({"mcpServers": {"all": server}})).await)
}

#[tokio::test]
async fn a_reference_server_offers_its_tools_under_our_names() {
    let Some(started) = everything().await else { return };
    let status = started.status("all");
    assert!(matches!(status.state, McpServerState::Ready { .. }), "{status:?}");
    let spec = started.tool("all_get-sum").spec();
    assert_eq!(spec.parameters["required"], json!(["a", "b"]));
    assert_eq!(spec.definition.kind, "MCPToolDefinition");
    let tool = started.tool("all_get-sum");
    assert_eq!(
        tool.touches(&action(json!({}))),
        Touches::Only("mcp:all".to_owned())
    );
    assert_eq!(status.pin.unwrap().tools.len(), started.names().len());
    started.servers.close().await;
}

#[tokio::test]
async fn answers_of_all_kinds_come_through() {
    let Some(started) = everything().await else { return };
    assert_eq!(
        started.text("all_echo", json!({"message": "grüße"})).await,
        "Echo: grüße"
    );
    let sum = started.text("all_get-sum", json!({"a": 2, "b": 3})).await;
    assert!(sum.contains('5'), "{sum}");
    let image = started.call("all_get-tiny-image", json!({})).await;
    let images = image
        .content
        .iter()
        .filter(|part| matches!(part, Content::Image(_)));
    assert_eq!(images.count(), 1, "{image:?}");
    let weather = started
        .text("all_get-structured-content", json!({"location": "New York"}))
        .await;
    assert!(weather.contains("temperature"), "{weather}");
    let wrong = started.call("all_get-sum", json!({"a": "x"})).await;
    assert!(wrong.is_error, "{wrong:?}");
}

#[tokio::test]
async fn a_server_sees_its_own_variables_and_none_of_ours() {
    let Some(started) = everything().await else { return };
    let seen = started.text("all_get-env", json!({})).await;
    let seen: std::collections::BTreeMap<String, String> = serde_json::from_str(&seen).unwrap();
    let names: Vec<_> = seen.keys().map(String::as_str).collect();
    assert_eq!(names, ["GIVEN", "PATH"]);
    assert_eq!(seen["GIVEN"], "open-sesame");
}

#[tokio::test]
async fn progress_is_shown_while_a_call_runs() {
    let Some(started) = everything().await else { return };
    let tool = started.tool("all_trigger-long-running-operation");
    let (output, mut chunks) = OutputSink::channel();
    let call = Call {
        output,
        ..Call::of(action(json!({"duration": 0.4, "steps": 2})))
    };
    let observation = run(&*tool, call).await;
    assert!(!observation.is_error, "{observation:?}");
    assert_eq!(chunks.recv().await.unwrap(), "1 of 2\n");
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_the_server_lives_on() {
    let Some(started) = everything().await else { return };
    let tool = started.tool("all_trigger-long-running-operation");
    let (output, mut chunks) = OutputSink::channel();
    let cancel = CancellationToken::new();
    let call = Call {
        output,
        cancel: cancel.clone(),
        ..Call::of(action(json!({"duration": 3_000, "steps": 30_000})))
    };
    let stop = async {
        chunks.recv().await.unwrap();
        cancel.cancel();
    };
    let (observation, ()) = tokio::join!(run(&*tool, call), stop);
    assert!(observation.is_error, "{observation:?}");
    assert_eq!(
        started.text("all_echo", json!({"message": "still here"})).await,
        "Echo: still here"
    );
}

#[tokio::test]
async fn the_servers_questions_are_answered_politely_and_roots_are_the_workspace() {
    let Some(script) = npm::script("@modelcontextprotocol/server-filesystem/dist/index.js") else {
        return;
    };
    // It may reach what the client's roots are, and nothing else.
    let server = json!({"command": "node", "args": [script, "/nonexistent-but-replaced-by-roots/.."]});
    let started = Started::new(&json!({"files": server})).await;
    let file = started.workspace.path().canonicalize().unwrap().join("a.txt");
    std::fs::write(&file, "hello").unwrap();
    let deadline = std::time::Instant::now() + PATIENCE;
    // It asks for the roots after it has said that it is ready.
    let text = loop {
        let answer = started.call("files_read_text_file", json!({"path": file})).await;
        if !answer.is_error || std::time::Instant::now() > deadline {
            break deft_types::text_of(&answer.content);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(text, "hello");
    let refused = started
        .call("files_read_text_file", json!({"path": "/etc/passwd"}))
        .await;
    assert!(refused.is_error, "{refused:?}");
}
