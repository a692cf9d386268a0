//! Ollama's own API. Its OpenAI-compatible one cannot set the context size, which the server then cuts at a few
//! thousand tokens without a word.

mod body;
mod reader;
mod show;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deft_types::{Secret, Tokens};
use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use reqwest::{Client, Url};
use serde_json::json;

use self::reader::ReplyReader;
pub(crate) use self::show::Shown;
use crate::api::{AnswerReader, Api, Post, secret_header};
use crate::http::{HttpModel, fetch};
use crate::own_server::{Behind, OwnServerModel};
use crate::prompted::PromptedModel;
use crate::secrets::Secrets;
use crate::{Delta, KnownCapabilities, Model, ModelError, ModelProfile, Prices, Request, Tuning};

/// The largest reply that is asked for.
const MAX_OUTPUT: Tokens = Tokens(16_384);

/// A model that Ollama serves. What the server knows about it is asked for with the first request.
pub(crate) struct OllamaModel(Arc<Known>);

/// What is known before the server is asked, and what it said.
struct Known {
    setup: Setup,
    guessed: ModelProfile,
    learned: OnceLock<(ModelProfile, Shown)>,
}

/// How the model is reached.
pub(crate) struct Setup {
    /// The name that the server knows the model by.
    pub(crate) wire_name: String,
    pub(crate) base: Url,
    pub(crate) api_key: Option<Secret<String>>,
    pub(crate) client: Client,
    pub(crate) idle_timeout: Duration,
    pub(crate) head_timeout: Duration,
    /// Taken out of whatever the server echoes.
    pub(crate) secrets: Secrets,
    pub(crate) tuning: Tuning,
    /// What the user says the model can do.
    pub(crate) overrides: KnownCapabilities,
}

impl OllamaModel {
    pub(crate) fn new(setup: Setup, profile: ModelProfile) -> Self {
        Self(Arc::new(Known {
            setup,
            guessed: ModelProfile {
                prices: profile.prices.or(Some(Prices::FREE)),
                ..profile
            },
            learned: OnceLock::new(),
        }))
    }
}

impl Model for OllamaModel {
    fn profile(&self) -> &ModelProfile {
        let learned = self.0.learned.get();
        learned.map_or(&self.0.guessed, |(profile, _)| profile)
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let known = Arc::clone(&self.0);
        Box::pin(async_stream::try_stream! {
            let model = known.asked().await?;
            let mut deltas = model.stream(request);
            while let Some(delta) = deltas.next().await {
                yield delta?;
            }
        })
    }
}

impl Known {
    /// The model as it is asked now that the server has said what it can do.
    async fn asked(&self) -> Result<Arc<dyn Model>, ModelError> {
        let (profile, shown) = self.learned().await?;
        let setup = &self.setup;
        let api = ChatApi {
            wire_name: setup.wire_name.clone(),
            url: endpoint(&setup.base, "chat"),
            api_key: setup.api_key.clone(),
            context: shown.context_to_ask_for(setup.tuning.context_window),
            max_output: profile.max_output,
            accepts_images: profile.capabilities.vision,
            thinks: shown.can("thinking").unwrap_or(false),
            tuning: setup.tuning.clone().for_model(&profile.capabilities),
        };
        let model = Arc::new(HttpModel {
            profile: profile.clone(),
            api: Arc::new(api),
            client: setup.client.clone(),
            idle_timeout: setup.idle_timeout,
            head_timeout: setup.head_timeout,
            secrets: setup.secrets.clone(),
            subscription: None,
        });
        Ok(match setup.overrides.native_tool_calls {
            Some(true) => model,
            None if profile.capabilities.native_tool_calls => {
                Arc::new(OwnServerModel::new(model, Behind::OwnServer))
            }
            Some(false) | None => Arc::new(PromptedModel(model)),
        })
    }

    /// What the server says about the model, asked for once.
    async fn learned(&self) -> Result<&(ModelProfile, Shown), ModelError> {
        if let Some(learned) = self.learned.get() {
            return Ok(learned);
        }
        let shown = self.setup.show().await?;
        Ok(self.learned.get_or_init(|| (self.learn(&shown), shown)))
    }

    fn learn(&self, shown: &Shown) -> ModelProfile {
        let (overrides, tuning) = (&self.setup.overrides, &self.setup.tuning);
        let mut profile = self.guessed.clone();
        if let Some(window) = shown.context_in_force(tuning.context_window) {
            let output = MAX_OUTPUT.min(Tokens(window.0 / 2));
            profile.context_window = Some(window);
            profile.max_output = tuning.max_output.or(Some(output));
        }
        let capabilities = &mut profile.capabilities;
        if let Some(sees) = overrides.vision.or(shown.can("vision")) {
            capabilities.vision = sees;
        }
        if let Some(calls) = overrides.native_tool_calls.or(shown.can("tools")) {
            capabilities.native_tool_calls = calls;
        }
        profile
    }
}

impl Setup {
    async fn show(&self) -> Result<Shown, ModelError> {
        let request = self
            .client
            .post(endpoint(&self.base, "show"))
            .headers(headers(self.api_key.as_ref())?)
            .json(&json!({ "model": self.wire_name }));
        let answer = fetch(request, self.idle_timeout).await;
        match answer.map_err(|error| self.secrets.redact(error)) {
            Ok(answer) => Ok(Shown::read(&answer)),
            Err(ModelError::BadRequest { detail }) if detail.contains(&self.wire_name) => {
                Err(ModelError::BadRequest {
                    detail: format!("{detail} (`ollama pull {}` fetches it)", self.wire_name),
                })
            }
            // A server that only looks like Ollama: it may still answer.
            Err(ModelError::BadRequest { .. } | ModelError::Protocol { .. }) => Ok(Shown::default()),
            Err(error) => Err(error),
        }
    }
}

/// The chat API, set up for one model.
struct ChatApi {
    wire_name: String,
    url: Url,
    api_key: Option<Secret<String>>,
    context: Option<Tokens>,
    max_output: Option<Tokens>,
    accepts_images: bool,
    thinks: bool,
    tuning: Tuning,
}

impl Api for ChatApi {
    fn post(&self, request: &Request) -> Result<Post, ModelError> {
        Ok(Post {
            url: self.url.clone(),
            headers: headers(self.api_key.as_ref())?,
            body: body::of(self, request)?,
        })
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(ReplyReader::default())
    }
}

fn headers(api_key: Option<&Secret<String>>) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = api_key {
        headers.insert(AUTHORIZATION, secret_header(&format!("Bearer {}", key.expose()))?);
    }
    Ok(headers)
}

/// An endpoint of the API under a server's base address.
pub(crate) fn endpoint(base: &Url, name: &str) -> Url {
    let mut url = base.clone();
    let path = url.path().trim_end_matches('/');
    // The address of one of its APIs stands for the server.
    let path = path
        .strip_suffix("/v1")
        .or_else(|| path.strip_suffix("/api"))
        .unwrap_or(path);
    url.set_path(&format!("{path}/api/{name}"));
    url
}

/// The address that `OLLAMA_HOST` means, which may go without a scheme, a host or a port.
pub(crate) fn address(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    if host.contains("://") {
        return host.to_owned();
    }
    // A server that listens everywhere is reached here.
    let host = match host.strip_prefix("0.0.0.0") {
        Some(port) => format!("127.0.0.1{port}"),
        None if host.starts_with(':') || host.is_empty() => format!("127.0.0.1{host}"),
        None => host.to_owned(),
    };
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let port = if has_port { "" } else { ":11434" };
    format!("http://{}{port}", host.trim_end_matches(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_ollama_host_is_an_address() {
        let cases = [
            ("", "http://127.0.0.1:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:8000", "http://127.0.0.1:8000"),
            (":8000", "http://127.0.0.1:8000"),
            ("gpu", "http://gpu:11434"),
            ("gpu:8000/", "http://gpu:8000"),
            ("[::1]:8000", "http://[::1]:8000"),
            ("https://gpu/", "https://gpu"),
            ("http://gpu:8000/ollama", "http://gpu:8000/ollama"),
        ];
        for (host, expected) in cases {
            assert_eq!(address(host), expected, "{host}");
        }
    }

    #[test]
    fn the_address_of_either_api_is_the_address_of_the_server() {
        for base in ["http://gpu:11434", "http://gpu:11434/v1", "http://gpu:11434/api/"] {
            let url = endpoint(&Url::parse(base).unwrap(), "chat");
            assert_eq!(url.as_str(), "http://gpu:11434/api/chat", "{base}");
        }
    }
}
