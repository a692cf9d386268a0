//! A terminal for a person, over a socket.

use serde_json::json;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::desk::{Desk, FINISH, KEY, Socket};

/// Reads until something is shown.
async fn until(socket: &mut Socket, wanted: &str) {
    let mut shown = String::new();
    while !shown.contains(wanted) {
        match socket.message().await {
            Message::Binary(bytes) => shown.push_str(&String::from_utf8_lossy(&bytes)),
            other => panic!("{other:?} after {shown:?}"),
        }
    }
}

#[tokio::test]
async fn a_person_works_in_a_terminal_of_the_workspace() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let path = format!("/sockets/console/{}?rows=20&columns=90", talk.0);
    let mut socket = desk.socket(&path).await;
    socket
        .send_bytes(b"stty size; export KEPT=yes; basename $PWD\r")
        .await;
    until(&mut socket, "20 90").await;
    socket.send(&json!({"rows": 30, "columns": 100})).await;
    socket.send_bytes(b"stty size\r").await;
    until(&mut socket, "30 100").await;
    socket.send_bytes(b"echo kept-$KEPT\r").await;
    until(&mut socket, "kept-yes").await;
    socket.send_text("nonsense").await;
    socket.send_bytes(b"exit\r").await;
    assert_eq!(socket.closed().await, (1000, "The shell has ended".to_owned()));
}

#[tokio::test]
async fn a_page_hears_that_its_terminal_lives_although_nothing_is_shown() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let path = format!("/sockets/console/{}?alive=true", talk.0);
    let mut socket = desk.socket(&path).await;
    let said = loop {
        if let Message::Text(text) = socket.message().await {
            break text;
        }
    };
    assert_eq!(said.as_str(), r#"{"type":"alive"}"#);
}

#[tokio::test]
async fn a_terminal_is_opened_with_a_key_and_from_our_own_pages_only() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let path = format!("/sockets/console/{}", talk.0);
    let mut nobody = desk.connect(&path, &[]).await.unwrap();
    nobody
        .send(&json!({"type": "auth", "session_api_key": "wrong"}))
        .await;
    assert_eq!(nobody.closed().await.0, 4001);
    let foreign = desk
        .connect(
            &format!("{path}?session_api_key={KEY}"),
            &[("origin", "https://evil.example")],
        )
        .await;
    assert!(matches!(foreign.err(), Some(Error::Http(_))));
    let missing = format!("/sockets/console/{}", uuid::Uuid::new_v4());
    assert_eq!(desk.socket(&missing).await.closed().await.0, 4004);
}
