//! The frames of another Deft's executor over a WebSocket.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use deft_types::ConversationId;
use futures::{SinkExt, StreamExt};
use reqwest::header::{CONNECTION, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use reqwest::{StatusCode, Upgraded};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;
use uuid::Uuid;

use crate::carried::{Carried, carried};
use crate::error::RemoteError;
use crate::server::AgentServer;
use crate::workspace::Start;

/// How long a server may take until its executor has said something.
const OPEN_LIMIT: Duration = Duration::from_secs(60);
/// The most that is sent in one message.
const PIECE_BYTES: usize = 64 * 1024;
/// With this a server closes the socket of somebody who has shown no key, or a wrong one.
const WRONG_KEY: u16 = 4001;

/// What a server that was asked for its executor's socket turned out to be.
pub(crate) enum Asked {
    /// It is a Deft, and this is its executor.
    Joined(Box<Carried>),
    /// It is a Deft, but no executor runs and none was to be started.
    NoneRuns,
    /// It has no such socket.
    Foreign,
}

/// Asks a server for the socket of an executor.
pub(crate) async fn join(
    server: &AgentServer,
    conversation: ConversationId,
    directory: &str,
    start: Start,
) -> Result<Asked, RemoteError> {
    let what = "open a socket to its executor";
    let mut query = vec![("directory", directory)];
    if start == Start::Never {
        query.push(("find", "true"));
    }
    let Some(mut socket) = open(server, what, conversation, &query).await? else {
        return Ok(Asked::Foreign);
    };
    let first = tokio::time::timeout(OPEN_LIMIT, first(&mut socket)).await;
    match first.map_err(|_| server.http.slow(what))? {
        Some(Message::Binary(first)) => Ok(Asked::Joined(Box::new(carried(|far| carry(socket, first, far))))),
        Some(Message::Text(reason)) => Err(server.http.unopened(&reason)),
        Some(Message::Close(Some(closed))) if u16::from(closed.code) == WRONG_KEY => {
            Err(server.http.denied())
        }
        _ if start == Start::Never => Ok(Asked::NoneRuns),
        _ => Err(server.http.broken(what, &"it was closed at once")),
    }
}

/// Has a server end the executor of a conversation that is deleted, with all that it kept for it. Only another Deft can.
pub(crate) async fn forget(server: &AgentServer, conversation: ConversationId) -> Result<(), RemoteError> {
    let what = "forget its executor";
    // Those that do not know the word only look for it.
    let query = [("find", "true"), ("forget", "true")];
    let Some(mut socket) = open(server, what, conversation, &query).await? else {
        return Ok(());
    };
    let first = tokio::time::timeout(OPEN_LIMIT, first(&mut socket)).await;
    match first.map_err(|_| server.http.slow(what))? {
        Some(Message::Text(reason)) => Err(server.http.broken(what, &reason)),
        _ => Ok(()),
    }
}

/// The socket of an executor, where the server has such.
async fn open(
    server: &AgentServer,
    what: &'static str,
    conversation: ConversationId,
    query: &[(&str, &str)],
) -> Result<Option<WebSocketStream<Upgraded>>, RemoteError> {
    let nonce = BASE64_STANDARD.encode(Uuid::new_v4().as_bytes());
    let request = server
        .http
        .get_socket(&format!("/sockets/executor/{conversation}"), query)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, nonce);
    let response = server.http.send(what, request, OPEN_LIMIT).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(None); // a wrong key is told by whatever is asked for next
    }
    let upgraded = response.upgrade().await;
    let upgraded = upgraded.map_err(|error| server.http.broken(what, &error.without_url()))?;
    let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, None).await;
    Ok(Some(socket))
}

/// The first message that says something.
async fn first(socket: &mut WebSocketStream<Upgraded>) -> Option<Message> {
    loop {
        match socket.next().await?.ok()? {
            Message::Ping(_) | Message::Pong(_) => {}
            message => return Some(message),
        }
    }
}

async fn carry(socket: WebSocketStream<Upgraded>, first: Bytes, far: DuplexStream) {
    let (mut sink, mut messages) = socket.split();
    let (mut from_us, mut to_us) = tokio::io::split(far);
    let down = async {
        let mut bytes = first;
        while to_us.write_all(&bytes).await.is_ok() {
            bytes = match messages.next().await {
                Some(Ok(Message::Binary(bytes))) => bytes,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => Bytes::new(),
            };
        }
    };
    let up = async {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let count = from_us.read(&mut piece).await.unwrap_or(0);
            if count == 0 {
                return std::future::pending().await; // the last answers are still to come
            }
            let bytes = Bytes::copy_from_slice(&piece[..count]);
            if sink.send(Message::Binary(bytes)).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = down => {}
        () = up => {}
    }
}
