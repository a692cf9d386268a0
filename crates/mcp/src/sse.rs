//! The older transport: the server sends events on one long answer, and we post to the address it names there.

use std::collections::HashMap;

use futures::{StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio_util::codec::{FramedRead, LinesCodec};
use tokio_util::io::StreamReader;

use crate::limits::MAX_MESSAGE;
use deft_net::root_cause;

/// Why the transport cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SseError {
    #[error("the server cannot be reached: {0}")]
    Network(String),
    #[error("the server answered with status {0}")]
    Status(u16),
    #[error("the server did not say where to post to")]
    NoEndpoint,
    #[error("the server wants us to post to {0}, which is not its own address")]
    ForeignEndpoint(String),
}

impl SseError {
    fn network(error: reqwest::Error) -> Self {
        Self::Network(root_cause(&error.without_url()))
    }
}

/// A connection of the older kind.
pub(crate) struct SseTransport {
    client: Client,
    headers: HeaderMap,
    endpoint: Url,
    events: Events,
}

impl SseTransport {
    /// Opens the stream of events and waits until it says where to post to.
    pub(crate) async fn connect(
        client: Client,
        url: &Url,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Self, SseError> {
        let headers: HeaderMap = headers.into_iter().collect();
        let response = client
            .get(url.clone())
            .headers(headers.clone())
            .header(ACCEPT, "text/event-stream")
            .send()
            .await
            .map_err(SseError::network)?;
        if !response.status().is_success() {
            return Err(SseError::Status(response.status().as_u16()));
        }
        let mut events = Events::of(response);
        let endpoint = loop {
            match events.next().await {
                Some((kind, data)) if kind == "endpoint" => break data,
                Some(_) => {}
                None => return Err(SseError::NoEndpoint),
            }
        };
        // Our headers must not be led elsewhere.
        match url.join(&endpoint) {
            Ok(endpoint) if endpoint.origin() == url.origin() => Ok(Self {
                client,
                headers,
                endpoint,
                events,
            }),
            _ => Err(SseError::ForeignEndpoint(endpoint)),
        }
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SseError>> + Send + 'static {
        let request = self
            .client
            .post(self.endpoint.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .json(&message)
            .send();
        async move {
            let response = request.await.map_err(SseError::network)?;
            if response.status().is_success() {
                Ok(())
            } else {
                Err(SseError::Status(response.status().as_u16()))
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let (_, data) = self.events.next().await?;
            match serde_json::from_str(&data) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!("an event that is no message was left out: {error}"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), SseError> {
        self.events.lines = futures::stream::empty().boxed();
        Ok(())
    }
}

/// Events as they come. What was read of an event is kept when waiting for the rest of it is given up.
struct Events {
    lines: futures::stream::BoxStream<'static, String>,
    kind: String,
    data: String,
}

impl Events {
    fn of(response: Response) -> Self {
        let bytes = response.bytes_stream().map_err(std::io::Error::other);
        let lines = FramedRead::new(
            StreamReader::new(bytes),
            LinesCodec::new_with_max_length(MAX_MESSAGE),
        );
        let lines = lines.take_while(|line| std::future::ready(line.is_ok()));
        Self {
            lines: lines.filter_map(|line| std::future::ready(line.ok())).boxed(),
            kind: String::new(),
            data: String::new(),
        }
    }

    /// The next event's kind and data.
    async fn next(&mut self) -> Option<(String, String)> {
        loop {
            let line = self.lines.next().await?;
            if line.is_empty() {
                let (kind, data) = (std::mem::take(&mut self.kind), std::mem::take(&mut self.data));
                if !data.is_empty() {
                    return Some((kind, data));
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut self.kind),
                "data" if self.data.len() + value.len() <= MAX_MESSAGE => {
                    if !self.data.is_empty() {
                        self.data.push('\n');
                    }
                    self.data.push_str(value);
                }
                "data" => return None, // no end in sight
                _ => {}
            }
        }
    }
}
