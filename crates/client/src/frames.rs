//! What happens in a conversation, over server-sent events.

use std::time::Duration;

use deft_types::{ConversationId, SessionFrame};
use futures::stream::BoxStream;
use reqwest::{Method, Response};
use serde_json::Value;
use tokio::time::timeout;

use crate::client::{Client, of};
use crate::error::ClientError;

/// The position before the first event.
pub(crate) const BEGINNING: i64 = -1;
/// How long a stream may be silent. The server shows every 15 seconds that it is there.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);
/// How long an answer may take to begin.
const HEAD_LIMIT: Duration = Duration::from_secs(20);
/// How often a stream is made again without anything having come by it, and how long is waited before.
const MAX_TRIES: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// The longest line of a stream.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// The frames behind a position, or without one those from now on.
pub(crate) fn follow(
    client: Client,
    id: ConversationId,
    mut position: Option<i64>,
) -> BoxStream<'static, Result<SessionFrame, ClientError>> {
    Box::pin(async_stream::stream! {
        let mut tries = 0;
        loop {
            let failure = match open(&client, id, position).await {
                Ok(response) => {
                    let mut lines = Lines { client: &client, response, buffer: Vec::new() };
                    loop {
                        match lines.next().await {
                            Ok(Some(line)) => {
                                tries = 0;
                                match line.strip_prefix("data: ").map(read) {
                                    Some(Ok(Told::Frame(frame))) => {
                                        if let SessionFrame::Durable { seq, .. } = &frame {
                                            position = i64::try_from(seq.0).ok();
                                        }
                                        yield Ok(frame);
                                    }
                                    Some(Ok(Told::Sync { through_seq })) => {
                                        position = position.or(through_seq).or(Some(BEGINNING));
                                    }
                                    Some(Err(error)) => {
                                        yield Err(error);
                                        return;
                                    }
                                    None => {} // the id of a frame, or a sign of life
                                }
                            }
                            Ok(None) => break None, // it was closed in good order: the server stops, or loads it anew
                            Err(error) => break Some(error),
                        }
                    }
                }
                Err(error) => Some(error),
            };
            if let Some(error) = failure
                && (!error.is_passing() || tries >= MAX_TRIES)
            {
                yield Err(error);
                return;
            }
            tokio::time::sleep(FIRST_WAIT * 2_u32.pow(tries.min(MAX_TRIES))).await;
            tries += 1;
        }
    })
}

async fn open(client: &Client, id: ConversationId, position: Option<i64>) -> Result<Response, ClientError> {
    let path = format!("/api/conversations/{id}/stream");
    let mut request = client.request(Method::GET, &path)?;
    if let Some(position) = position {
        request = request.header("last-event-id", position);
    }
    match timeout(HEAD_LIMIT, client.send(request)).await {
        Ok(answer) => answer.map_err(of(id)),
        Err(silence) => Err(client.unreachable(&silence)),
    }
}

/// What one line of data tells.
enum Told {
    /// From where on it is live.
    Sync {
        through_seq: Option<i64>,
    },
    Frame(SessionFrame),
}

fn read(data: &str) -> Result<Told, ClientError> {
    let told = if data.starts_with(r#"{"type":"sync""#) {
        // Its positions may be those before the first event, which no `Seq` is.
        let sync: serde_json::Result<Value> = serde_json::from_str(data);
        sync.map(|sync| Told::Sync {
            through_seq: sync["through_seq"].as_i64(),
        })
    } else {
        serde_json::from_str(data).map(Told::Frame)
    };
    told.map_err(|error| ClientError::Unreadable(error.to_string()))
}

/// The lines of an answer.
struct Lines<'a> {
    client: &'a Client,
    response: Response,
    buffer: Vec<u8>,
}

impl Lines<'_> {
    async fn next(&mut self) -> Result<Option<String>, ClientError> {
        let mut looked = 0;
        loop {
            if let Some(end) = self.buffer[looked..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=looked + end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            looked = self.buffer.len();
            if looked > MAX_LINE {
                return Err(ClientError::Unreadable("a frame is too long".to_owned()));
            }
            match timeout(SILENCE_LIMIT, self.response.chunk()).await {
                Ok(Ok(Some(piece))) => self.buffer.extend_from_slice(&piece),
                Ok(Ok(None)) => return Ok(None),
                Ok(Err(error)) => return Err(self.client.unreachable(&error)),
                Err(silence) => return Err(self.client.unreachable(&silence)),
            }
        }
    }
}
