//! Long logs: looked at from their end, followed from their beginning, and removed.

use futures::FutureExt as _;
use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH};

#[tokio::test]
async fn a_log_is_read_backwards_page_by_page_and_followed_from_there() {
    let desk = Desk::new().await;
    let script = format!(
        "- tool_calls: [{{name: think, arguments: {{thought: 'no {{{{n}}}}'}}}}]\n  repeat: 40\n{FINISH}"
    );
    let talk = desk.begin(&script).await;
    desk.run(&talk).await;
    let mut pages = Vec::new();
    let mut before = String::new();
    loop {
        let page = desk.get(&talk.path(&format!("/history?limit=50{before}"))).await;
        pages.push(page["items"].as_array().unwrap().clone());
        match page["before_seq"].as_u64() {
            Some(seq) => before = format!("&before_seq={seq}"),
            None => break,
        }
    }
    pages.reverse();
    let read = pages.concat();
    let mut socket = desk
        .socket(&format!("/sockets/session/{}?after_seq=-1", talk.0))
        .await;
    let told = socket.until(|frame| frame["type"] == "transient").await;
    let told: Vec<_> = told
        .iter()
        .filter(|frame| frame["type"] == "durable")
        .map(|frame| json!({"seq": frame["seq"], "event": frame["event"]}))
        .collect();
    assert!(told.len() > 80);
    assert_eq!(read, told);
    let last = &read.last().unwrap()["seq"];
    let mut rest = desk
        .socket(&format!("/sockets/session/{}?after_seq={last}", talk.0))
        .await;
    assert_eq!(rest.next().await["type"], "sync");
    assert_eq!(rest.next().await["type"], "transient", "nothing was missed");
    let refusal = desk
        .refusal(Method::GET, &talk.path("/history?before_seq=x"), Value::Null)
        .await;
    assert_eq!(refusal.0, 422);
    assert_eq!(
        desk.get(&talk.path("/history?before_seq=0")).await["items"],
        json!([])
    );
}

#[tokio::test]
async fn deleting_a_conversation_that_is_not_loaded_ends_its_executor() {
    let mut desk = Desk::new().await;
    let script = format!("- tool_calls: [{{name: terminal, arguments: {{command: 'true'}}}}]\n{FINISH}");
    let talk = desk.begin(&script).await;
    desk.run(&talk).await;
    let executor = desk.executor(&talk);
    desk.stop().await;
    let is_asked = executor.shutdown_requested().now_or_never();
    assert_eq!(is_asked, None, "a stop leaves executors alone");
    desk.start(|_| {}).await;
    let (status, _) = desk.ask(Method::DELETE, &talk.path(""), None).await;
    assert_eq!(status, 200);
    assert_eq!(executor.shutdown_requested().now_or_never(), Some(()));
    let (status, _) = desk.ask(Method::DELETE, &talk.path(""), None).await;
    assert_eq!(status, 404);
}
