//! The way to one server.

use std::time::Duration;

use deft_types::{ConversationId, Secret};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::conversation::{Conversation, ConversationInfo};
use crate::error::ClientError;
use crate::request::NewConversation;

const KEY_HEADER: &str = "x-session-api-key";
/// How long an answer may take: somewhat longer than the server gives itself.
const ANSWER_LIMIT: Duration = Duration::from_secs(70);
/// Conversations that are asked for at once; the most that the protocol has.
const PAGE: usize = 100;
/// The most text of a refusal that is read.
const MAX_REFUSAL: usize = 64 * 1024;

/// A server, and the key that opens it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    address: Url,
}

impl Client {
    /// The server at an address such as `http://127.0.0.1:3000`. Nothing is asked of it yet.
    pub fn new(address: &str, key: &Secret<String>) -> Result<Self, ClientError> {
        let unusable = |reason: &dyn std::fmt::Display| {
            ClientError::Setup(format!("'{address}' is no address of a server: {reason}"))
        };
        let url: Url = address.parse().map_err(|error| unusable(&error))?;
        if !matches!(url.scheme(), "http" | "https") || url.cannot_be_a_base() {
            return Err(unusable(&"it must begin with http:// or https://"));
        }
        let mut value = HeaderValue::from_str(key.expose())
            .map_err(|_| ClientError::Setup("the key has characters that no key has".to_owned()))?;
        value.set_sensitive(true);
        let setup = |error: &dyn std::error::Error| ClientError::Setup(error.to_string());
        let http = deft_net::builder(None, &url)
            .map_err(|error| setup(&error))?
            .default_headers(HeaderMap::from_iter([(
                HeaderName::from_static(KEY_HEADER),
                value,
            )]))
            .build()
            .map_err(|error| setup(&error))?;
        Ok(Self { http, address: url })
    }

    /// Begins a conversation. One that has this id already is given back as it is.
    pub async fn begin(&self, new: &NewConversation) -> Result<Conversation, ClientError> {
        let info: ConversationInfo = self
            .ask(Method::POST, "/api/conversations", Some(new.body()))
            .await?;
        Ok(Conversation::new(self.clone(), info.id))
    }

    /// A conversation that is there.
    pub async fn conversation(&self, id: ConversationId) -> Result<Conversation, ClientError> {
        let conversation = Conversation::new(self.clone(), id);
        conversation.info().await?;
        Ok(conversation)
    }

    /// All conversations, the newest first.
    pub async fn conversations(&self) -> Result<Vec<ConversationInfo>, ClientError> {
        #[derive(Deserialize)]
        struct Page {
            items: Vec<ConversationInfo>,
            next_page_id: Option<String>,
        }
        let first = format!("/api/conversations/search?limit={PAGE}&sort_order=CREATED_AT_DESC");
        let mut found = Vec::new();
        let mut path = first.clone();
        loop {
            let page: Page = self.ask(Method::GET, &path, None).await?;
            found.extend(page.items);
            match page.next_page_id {
                Some(next) => path = format!("{first}&page_id={next}"),
                None => return Ok(found),
            }
        }
    }

    /// Asks, and reads the answer.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<T, ClientError> {
        let mut request = self.request(method, path)?.timeout(ANSWER_LIMIT);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let text = self.send(request).await?.text().await;
        let text = text.map_err(|error| self.unreachable(&error))?;
        serde_json::from_str(&text).map_err(|error| ClientError::Unreadable(error.to_string()))
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, ClientError> {
        let url = format!("{}{path}", self.address.as_str().trim_end_matches('/'));
        let url: Url = url
            .parse()
            .map_err(|error: url::ParseError| ClientError::Setup(error.to_string()))?;
        Ok(self.http.request(method, url))
    }

    /// Sends a request; an answer that is no success is an error.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let mut answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let mut said = Vec::new();
        while let Ok(Some(piece)) = answer.chunk().await {
            said.extend_from_slice(&piece);
            if said.len() > MAX_REFUSAL {
                break;
            }
        }
        Err(ClientError::refused(status, &String::from_utf8_lossy(&said)))
    }

    pub(crate) fn unreachable(&self, error: &dyn std::error::Error) -> ClientError {
        ClientError::unreachable(self.address.as_str(), error)
    }
}

/// Says of which conversation it is that there is none.
pub(crate) fn of(id: ConversationId) -> impl Fn(ClientError) -> ClientError {
    move |error| match error {
        ClientError::Refused {
            status: StatusCode::NOT_FOUND,
            ..
        } => ClientError::NotFound(id),
        error => error,
    }
}
