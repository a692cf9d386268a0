//! Models of OpenAI that a `ChatGPT` subscription pays for: which there are, what their server takes, and who lets us in.

mod login;

use std::sync::Arc;
use std::{fmt, iter};

use deft_types::{Message, Role, Secret};
use futures::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

pub use self::login::{ChatGptIssuer, ChatGptTokens, DeviceCode, LoginError};
use crate::api::{AnswerReader, Api, Post, secret_header};
use crate::http::{self, HttpModel};
use crate::open::{address_of, dressed, no_client, profile};
use crate::openai::{self, Endpoint};
use crate::provider::{Dialect, Provider};
use crate::responses::ResponsesApi;
use crate::secrets::Secrets;
use crate::{Capabilities, Model, ModelError, ModelSettings, OpenModelError, Prices, Request};

/// The models that a subscription pays for.
pub const CHATGPT_MODELS: [&str; 8] = [
    "gpt-5.5",
    "gpt-5.6-luna",
    "gpt-5.6-sol",
    "gpt-5.6-terra",
    "gpt-6-astra",
    "gpt-6-luna",
    "gpt-6-sol",
    "gpt-6.1-sol",
];

/// Stands where a system prompt would: the server refuses long ones there, so ours is the first message.
const INSTRUCTIONS: &str = "You are a software engineer. The first message says how you work.";

const ISSUER: &str = "https://auth.openai.com";
const BACKEND: &str = "https://chatgpt.com/backend-api/codex";
const ACCOUNT: HeaderName = HeaderName::from_static("chatgpt-account-id");
const BETA: HeaderName = HeaderName::from_static("openai-beta");
const ORIGINATOR: HeaderName = HeaderName::from_static("originator");

/// Where people log in, and where their models are.
#[derive(Clone, Debug)]
pub struct ChatGptServers {
    /// Who gives tokens.
    pub issuer: String,
    /// Who takes them.
    pub backend: String,
}

impl Default for ChatGptServers {
    fn default() -> Self {
        Self {
            issuer: ISSUER.to_owned(),
            backend: BACKEND.to_owned(),
        }
    }
}

/// Somebody's subscription.
pub trait Subscription: fmt::Debug + Send + Sync {
    /// What lets us in now. Tokens that are about to expire are renewed first.
    fn pass(&self) -> BoxFuture<'_, Result<Pass, ModelError>>;

    /// Where its models are.
    fn backend(&self) -> String;
}

/// What lets us in for a while.
pub struct Pass {
    /// The token.
    pub token: Secret<String>,
    /// The account that it is for, where the token says so.
    pub account: Option<String>,
}

impl Pass {
    pub(crate) fn headers(&self) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::new();
        let token = format!("Bearer {}", self.token.expose());
        headers.insert(AUTHORIZATION, secret_header(&token)?);
        headers.insert(BETA, HeaderValue::from_static("responses=experimental"));
        headers.insert(ORIGINATOR, HeaderValue::from_static("deft"));
        if let Some(account) = &self.account {
            headers.insert(ACCOUNT, secret_header(account)?);
        }
        Ok(headers)
    }

    pub(crate) fn secrets(&self) -> Secrets {
        Secrets::new([self.token.clone()])
    }
}

/// The Responses API as the server of subscriptions speaks it.
struct ChatGptApi(ResponsesApi);

impl Api for ChatGptApi {
    fn post(&self, request: &Request) -> Result<Post, ModelError> {
        self.0.post(&fitted(request))
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        self.0.reader()
    }
}

/// The request without what the server refuses: long instructions, system messages, and reasoning of before, which it
/// looks for in vain since it keeps nothing.
fn fitted(request: &Request) -> Request {
    let fit = |message: &Arc<Message>| match message.role {
        Role::System => Arc::new(Message {
            role: Role::User,
            ..Message::clone(message)
        }),
        Role::Assistant if message.responses_reasoning_item.is_some() => Arc::new(Message {
            responses_reasoning_item: None,
            ..Message::clone(message)
        }),
        Role::Assistant | Role::User | Role::Tool => Arc::clone(message),
    };
    let instructions = Arc::new(Message::text(Role::System, INSTRUCTIONS));
    Request {
        messages: iter::once(instructions)
            .chain(request.messages.iter().map(fit))
            .collect(),
        ..request.clone()
    }
}

/// Opens a model that a subscription pays for, at the subscription's own address alone: any other would get the token.
pub(crate) fn open(
    name: &str,
    settings: &ModelSettings,
    subscription: &Arc<dyn Subscription>,
) -> Result<Arc<dyn Model>, OpenModelError> {
    let provider = Provider::named("openai").ok_or_else(|| OpenModelError::UnknownName {
        name: name.to_owned(),
        guess: None,
    })?;
    let settings = ModelSettings {
        api_key: None,
        base_url: Some(subscription.backend()),
        prices: Some(Prices::FREE),
        ..settings.clone()
    };
    let wire_name = name.strip_prefix("openai/").unwrap_or(name);
    let mut profile = profile(name, wire_name, provider, &settings);
    profile.capabilities = Capabilities {
        responses_api: true,
        reasoning_effort: false,
        sampling: false,
        prompt_cache_key: true,
        prompt_cache_retention: false,
        ..profile.capabilities
    };
    let endpoint = Endpoint {
        wire_name: wire_name.to_owned(),
        dialect: Dialect::OpenAi,
        url: openai::address(&address_of(name, provider, &settings)?, "responses"),
        api_key: None,
        max_output: None,
        capabilities: profile.capabilities,
        tuning: settings.tuning.clone().for_model(&profile.capabilities),
    };
    let model = HttpModel {
        profile,
        api: Arc::new(ChatGptApi(ResponsesApi(endpoint))),
        client: http::new_client(&settings).map_err(|error| no_client(&error))?,
        idle_timeout: settings.idle_timeout,
        head_timeout: settings.head_timeout.unwrap_or(settings.idle_timeout),
        secrets: Secrets::default(),
        subscription: Some(Arc::clone(subscription)),
    };
    dressed(Arc::new(model), provider, &settings)
}

#[cfg(test)]
mod tests {
    use deft_types::ReasoningItem;

    use super::*;

    #[test]
    fn what_the_server_refuses_is_not_sent_and_nothing_else_is_lost() {
        let reply = Message {
            responses_reasoning_item: Some(ReasoningItem::default()),
            ..Message::text(Role::Assistant, "done")
        };
        let sent = [
            Message::text(Role::System, "how to work"),
            Message::text(Role::User, "do it"),
            reply,
        ];
        let request = Request {
            messages: sent.into_iter().map(Arc::new).collect(),
            ..Request::default()
        };
        let fitted = fitted(&request);
        let said: Vec<_> = fitted
            .messages
            .iter()
            .map(|message| (message.role, message.plain_text()))
            .collect();
        let expected = [
            (Role::System, INSTRUCTIONS),
            (Role::User, "how to work"),
            (Role::User, "do it"),
            (Role::Assistant, "done"),
        ];
        assert_eq!(said, expected.map(|(role, text)| (role, text.to_owned())));
        assert!(fitted.messages[3].responses_reasoning_item.is_none());
    }
}
