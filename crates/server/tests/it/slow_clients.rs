//! Clients that are slow, idle or asleep: each is let go of, and delays nobody.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::desk::{Desk, FINISH, KEY};

/// Far longer than the patience below.
const LIMIT: Duration = Duration::from_secs(30);

const SHORT: Duration = Duration::from_millis(300);

/// A server that does not wait for requests.
async fn impatient() -> Desk {
    Desk::with(|config| {
        config.patience.head = SHORT;
        config.patience.body = SHORT;
    })
    .await
}

/// A server that does not wait until somebody takes its answers.
async fn hasty() -> Desk {
    Desk::with(|config| config.patience.taking = SHORT).await
}

/// Sends this, and gives back all that comes until the server closes the connection.
async fn sent(desk: &Desk, text: &str) -> String {
    let mut stream = TcpStream::connect(desk.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let closed = tokio::time::timeout(LIMIT, stream.read_to_end(&mut answer)).await;
    let _ = closed.expect("the connection stays open"); // a reset is an end too
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_client_that_does_not_say_what_it_wants_is_let_go_of() {
    let desk = impatient().await;
    assert_eq!(sent(&desk, "").await, "");
    let half = sent(&desk, "GET /alive HTTP/1.1\r\nHost: local").await;
    assert!(!half.contains("200"), "{half}");
}

#[tokio::test]
async fn a_connection_that_nobody_uses_any_more_is_closed() {
    let desk = impatient().await;
    let answer = sent(&desk, "GET /alive HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_body_that_stands_still_is_not_waited_for() {
    let desk = impatient().await;
    let head = format!(
        "POST /api/conversations HTTP/1.1\r\nHost: localhost\r\nX-Session-API-Key: {KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{\"agent\""
    );
    let answer = sent(&desk, &head).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test]
async fn a_client_that_is_refused_while_it_sends_hears_why() {
    let desk = Desk::new().await;
    let mut stream = TcpStream::connect(desk.address).await.unwrap();
    let body = vec![b'x'; 4_000_000]; // more than any socket holds
    let head = format!(
        "POST /api/conversations HTTP/1.1\r\nHost: localhost\r\nX-Session-API-Key: no\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 16];
    stream.peek(&mut answer).await.unwrap(); // it is refused by now
    stream.write_all(&body).await.unwrap();
    stream.read_exact(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 401"), "{answer:?}");
}

#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_a_connection_that_nobody_uses() {
    let mut desk = Desk::new().await;
    let mut stream = TcpStream::connect(desk.address).await.unwrap();
    let unread = "POST /alive HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
    stream.write_all(unread.as_bytes()).await.unwrap();
    stream.peek(&mut [0; 16]).await.unwrap(); // it is answered
    let since = Instant::now();
    desk.stop().await;
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
}

#[tokio::test]
async fn a_client_that_takes_nothing_loses_its_connection_and_delays_nobody() {
    const BYTES: u64 = 200_000_000; // more than any socket holds
    let desk = hasty().await;
    let talk = desk.begin(FINISH).await;
    let file = std::fs::File::create(desk.work().join("large")).unwrap();
    file.set_len(BYTES).unwrap();
    let mut sleeper = TcpStream::connect(desk.address).await.unwrap();
    let path = talk.path(&format!("/file/download?path={}/large", desk.work().display()));
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Session-API-Key: {KEY}\r\n\r\n");
    sleeper.write_all(request.as_bytes()).await.unwrap();
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(4) {
        let asked = Instant::now();
        desk.get("/ready").await;
        assert!(asked.elapsed() < Duration::from_secs(2), "others wait for it");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut taken = 0;
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(Ok(count @ 1..)) = tokio::time::timeout(LIMIT, sleeper.read(&mut buffer)).await {
        taken += count as u64;
    }
    assert!(taken < BYTES, "it got everything after all");
}

#[tokio::test]
async fn a_watcher_that_does_not_read_is_let_go_of_and_the_others_hear_everything() {
    let desk = hasty().await;
    let talk = desk.begin(FINISH).await;
    let long = "x".repeat(4_000_000);
    for _ in 0..10 {
        desk.say(&talk, &long, false).await;
    }
    let socket = |rest: &str| format!("/sockets/events/{}?{rest}", talk.0);
    let _sleeper = desk.socket(&socket("resend_mode=all")).await;
    let mut watcher = desk.socket(&socket("")).await;
    watcher.until(|frame| frame["key"] == "full_state").await;
    let since = Instant::now();
    desk.say(&talk, "news", false).await;
    watcher
        .until(|frame| frame.to_string().contains("\"news\""))
        .await;
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    let since = Instant::now();
    loop {
        let metrics = desk
            .request(reqwest::Method::GET, "/metrics")
            .header("X-Session-API-Key", KEY)
            .send()
            .await
            .unwrap();
        if metrics.text().await.unwrap().contains("deft_sockets_open 1\n") {
            break; // ours
        }
        assert!(since.elapsed() < LIMIT, "the one that sleeps is still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_given_up_and_its_change_is_carried_through() {
    let desk = Desk::with(|config| config.request_limit = SHORT).await;
    let talk = desk.begin(FINISH).await;
    desk.set_ready(false); // the workspace takes its time
    let made = desk.work().join("made");
    let path = talk.path(&format!("/file/create_directory?path={}", made.display()));
    let (status, body) = desk.ask(Method::POST, &path, None).await;
    assert_eq!(
        (status.as_u16(), body),
        (408, json!({"detail": "Request Timeout"}))
    );
    assert_eq!(desk.get("/alive").await["status"], "ok");
    assert!(!made.exists());
    desk.set_ready(true);
    let since = Instant::now();
    while !made.exists() {
        assert!(since.elapsed() < LIMIT, "it was forgotten");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
