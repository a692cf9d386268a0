//! A process in a pod: its streams over the WebSocket of an exec, each message with the number of its stream first.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::{BufMut, Bytes, BytesMut};
use deft_executor::Holding;
use futures::{SinkExt, StreamExt};
use reqwest::Upgraded;
use reqwest::header::{
    CONNECTION, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::oneshot;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::cluster::Cluster;
use crate::error::K8sError;

const PROTOCOL: &str = "v4.channel.k8s.io";
/// The numbers of the streams.
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
/// The most that is sent in one message.
const PIECE_BYTES: usize = 32 * 1024;
/// Bytes on their way in each direction.
const MAX_WAITING_BYTES: usize = 256 * 1024;
/// Of what the process says about errors, so much is kept.
const MAX_COMPLAINT_BYTES: usize = 4096;
/// How often the connection is shown to be in use: proxies close silent ones.
const PING_EVERY: Duration = Duration::from_secs(30);

/// How a process ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended {
    /// Whether it was well.
    pub(crate) is_success: bool,
    /// What it said about errors, else why it could not be run.
    pub(crate) complaint: String,
}

/// A process in a pod. Dropping it closes its input.
pub(crate) struct Exec {
    pub(crate) stream: BufReader<DuplexStream>,
    ended: oneshot::Receiver<Ended>,
    carrier: AbortOnDropHandle<()>,
}

impl Exec {
    /// How it ended. What it still writes is given up.
    pub(crate) async fn ended(self) -> Ended {
        drop(self.stream);
        self.ended.await.unwrap_or_default()
    }

    /// Its input and output.
    pub(crate) fn into_stream(self) -> Holding<BufReader<DuplexStream>, AbortOnDropHandle<()>> {
        Holding::new(self.stream, self.carrier)
    }
}

impl Cluster {
    /// Runs a program in a container of a pod.
    pub(crate) async fn exec(
        &self,
        what: &'static str,
        pod: &str,
        container: &str,
        command: &[&str],
    ) -> Result<Exec, K8sError> {
        let broken = |reason: String| K8sError::Broken { what, reason };
        let mut url = self.address(&format!("pods/{pod}/exec"));
        url.query_pairs_mut()
            .extend_pairs([("container", container), ("stdin", "true")])
            .extend_pairs([("stdout", "true"), ("stderr", "true")])
            .extend_pairs(command.iter().map(|word| ("command", word)));
        let request = || {
            let nonce = BASE64_STANDARD.encode(Uuid::new_v4().as_bytes());
            self.client
                .get(url.clone())
                .header(CONNECTION, "Upgrade")
                .header(UPGRADE, "websocket")
                .header(SEC_WEBSOCKET_VERSION, "13")
                .header(SEC_WEBSOCKET_PROTOCOL, PROTOCOL)
                .header(SEC_WEBSOCKET_KEY, nonce)
        };
        let response = self.send(what, request).await?;
        let upgraded = response.upgrade().await;
        let upgraded = upgraded.map_err(|error| broken(error.without_url().to_string()))?;
        let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, None).await;
        let (near, far) = tokio::io::duplex(MAX_WAITING_BYTES);
        let (sender, ended) = oneshot::channel();
        let carrier = tokio::spawn(async move {
            let _ = sender.send(carry(socket, far).await); // nobody may want to know
        });
        Ok(Exec {
            stream: BufReader::new(near),
            ended,
            carrier: AbortOnDropHandle::new(carrier),
        })
    }
}

async fn carry(socket: WebSocketStream<Upgraded>, far: DuplexStream) -> Ended {
    let (mut sink, mut messages) = socket.split();
    let (mut from_us, mut to_us) = tokio::io::split(far);
    let mut ended = Ended::default();
    let mut complaint = Vec::new();
    let down = async {
        while let Some(Ok(message)) = messages.next().await {
            let Message::Binary(bytes) = message else {
                continue; // pings are answered by the library
            };
            match bytes.split_first() {
                Some((&STDOUT, bytes)) => drop(to_us.write_all(bytes).await), // nobody may listen any more
                Some((&STDERR, bytes)) => {
                    let room = MAX_COMPLAINT_BYTES.saturating_sub(complaint.len());
                    complaint.extend_from_slice(&bytes[..bytes.len().min(room)]);
                }
                Some((&STATUS, bytes)) => {
                    let status: Value = serde_json::from_slice(bytes).unwrap_or_default();
                    ended.is_success = status["status"] == "Success";
                    if complaint.is_empty() && !ended.is_success {
                        complaint
                            .extend_from_slice(status["message"].as_str().unwrap_or_default().as_bytes());
                    }
                    return;
                }
                Some(_) | None => {}
            }
        }
    };
    let up = async {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let message = match tokio::time::timeout(PING_EVERY, from_us.read(&mut piece)).await {
                // The protocol cannot close its input alone; the end comes from the other side.
                Ok(Ok(0) | Err(_)) => return std::future::pending().await,
                Ok(Ok(count)) => {
                    let mut bytes = BytesMut::with_capacity(count + 1);
                    bytes.put_u8(STDIN);
                    bytes.extend_from_slice(&piece[..count]);
                    Message::Binary(bytes.freeze())
                }
                Err(_) => Message::Ping(Bytes::new()),
            };
            if sink.send(message).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = down => {}
        () = up => {}
    }
    ended.complaint = String::from_utf8_lossy(&complaint).trim().to_owned();
    ended
}
