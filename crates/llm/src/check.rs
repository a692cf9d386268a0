//! Tries a model out, and says how far it gets.

mod questions;

use std::error::Error;
use std::fmt;

use reqwest::Url;
use tokio::time::timeout;

use self::questions::{answered, call, counted, streamed, talk};
use crate::provider::Provider;
use crate::{ModelError, ModelSettings, OpenModelError, RetryPolicy, http, open};

/// What can fail, in the order in which it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The name means something, and the settings are complete.
    Name,
    /// The server answers.
    Connection,
    /// It is the server it says it is.
    Tls,
    /// It accepts the key.
    Authentication,
    /// It has the model, and the model answers.
    Model,
    /// Its tokens can be counted before they are paid for.
    TokenCount,
    /// The model calls a tool when asked to.
    ToolCalls,
    /// The answer comes piece by piece.
    Streaming,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Name => "name",
            Self::Connection => "connection",
            Self::Tls => "TLS",
            Self::Authentication => "authentication",
            Self::Model => "model",
            Self::TokenCount => "token count",
            Self::ToolCalls => "tool calls",
            Self::Streaming => "streaming",
        })
    }
}

/// What came out for one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub layer: Layer,
    /// How it went.
    pub verdict: Verdict,
}

/// How it went with a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It works; the words say what was seen.
    Good(String),
    /// It fails.
    Bad {
        /// What happened.
        what: String,
        /// What to do about it.
        remedy: String,
    },
}

impl Verdict {
    fn bad(what: impl fmt::Display, remedy: impl Into<String>) -> Self {
        Self::Bad {
            what: what.to_string(),
            remedy: remedy.into(),
        }
    }
}

/// Tries a model layer by layer, telling each as it is known. It stops at the first that fails and that the others
/// stand on. Gives back whether all of them work.
pub async fn check(name: &str, settings: &ModelSettings, mut tell: impl FnMut(&Finding)) -> bool {
    let mut good = true;
    let mut told = |layer, verdict| {
        let finding = Finding { layer, verdict };
        tell(&finding);
        let passed = matches!(finding.verdict, Verdict::Good(_));
        good &= passed;
        passed
    };
    // Who tries a model out wants to see it fail.
    let settings = &ModelSettings {
        retry: RetryPolicy {
            attempts: 1,
            ..RetryPolicy::default()
        },
        ..settings.clone()
    };
    let model = match open::open(name, settings) {
        Ok(model) => model,
        Err(error) => {
            let (layer, remedy) = match error {
                OpenModelError::MissingKey { .. } => (
                    Layer::Authentication,
                    "enter the key of the provider, or set it where Deft runs",
                ),
                _ => (Layer::Name, "`deft models` lists what can be used"),
            };
            told(layer, Verdict::bad(error, remedy));
            return false;
        }
    };
    let provider = open::provider_of(open::without_recorder(name)).map(|(provider, _)| provider);
    let server = provider.and_then(|provider| open::address_of(name, provider, settings).ok());
    told(Layer::Name, Verdict::Good(place(provider, server.as_ref())));
    if let Some(server) = &server {
        for (layer, verdict) in reach(server, settings).await {
            if !told(layer, verdict) {
                return false;
            }
        }
    }

    let accepted = || Verdict::Good(key_in_words(settings).to_owned());
    let (answer, pieces) = talk(&*model).await;
    let charged = match answer {
        Err(error) => {
            let (layer, verdict) = refusal(&error);
            // Servers look at the key first.
            let past_the_key = matches!(
                error,
                ModelError::BadRequest { .. } | ModelError::RateLimit { .. }
            );
            if past_the_key && provider.is_some() {
                told(Layer::Authentication, accepted());
            }
            told(layer, verdict);
            return false;
        }
        Ok(reply) => {
            if provider.is_some() {
                told(Layer::Authentication, accepted());
            }
            told(Layer::Model, Verdict::Good(answered(&reply)));
            reply.usage.prompt
        }
    };
    told(Layer::TokenCount, counted(&*model, charged).await);
    told(Layer::ToolCalls, call(&*model).await);
    told(Layer::Streaming, streamed(pieces));
    good
}

fn place(provider: Option<&Provider>, server: Option<&Url>) -> String {
    match (provider, server) {
        (_, Some(server)) => format!("served at {}", shown(server)),
        (Some(provider), None) => format!("served by {}", provider.name),
        (None, None) => "no server needed".to_owned(),
    }
}

/// An address without what may be secret in it.
fn shown(server: &Url) -> String {
    let host = server.host_str().unwrap_or_default();
    let port = server.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", server.scheme(), server.path())
}

fn key_in_words(settings: &ModelSettings) -> &'static str {
    match settings.api_key {
        Some(_) => "the key is accepted",
        None => "no key is asked for",
    }
}

/// Whether the server answers at all: any answer will do.
async fn reach(server: &Url, settings: &ModelSettings) -> Vec<(Layer, Verdict)> {
    let outcome = match http::new_client(settings) {
        Ok(client) => timeout(settings.idle_timeout, client.get(server.clone()).send()).await,
        Err(error) => {
            let remedy = "report this as a fault of Deft";
            return vec![(Layer::Tls, Verdict::bad(error, remedy))];
        }
    };
    let tls_works = match server.scheme() {
        "https" => "the certificate is good",
        _ => "not used: the address begins with http://",
    };
    let connected = (Layer::Connection, Verdict::Good("the server answers".to_owned()));
    match outcome {
        Ok(Ok(_)) => vec![connected, (Layer::Tls, Verdict::Good(tls_works.to_owned()))],
        Ok(Err(error)) if is_of_tls(&error) => {
            let remedy = "check the address, the machine's clock, and whether a proxy in between has a certificate of its own";
            let verdict = Verdict::bad(deft_net::root_cause(&error.without_url()), remedy);
            vec![connected, (Layer::Tls, verdict)]
        }
        Ok(Err(error)) => {
            let what = deft_net::root_cause(&error.without_url());
            vec![(
                Layer::Connection,
                Verdict::bad(
                    what,
                    "check that the server runs, its address (LLM_BASE_URL), and the network",
                ),
            )]
        }
        Err(_) => {
            let what = format!("no answer within {} s", settings.idle_timeout.as_secs_f32());
            vec![(
                Layer::Connection,
                Verdict::bad(
                    what,
                    "check that the server is not stuck, and its address (LLM_BASE_URL)",
                ),
            )]
        }
    }
}

fn is_of_tls(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<rustls::Error>() {
            return true;
        }
        // What an I/O error holds is not what it calls its source.
        cause = match error.downcast_ref::<std::io::Error>() {
            Some(error) => error.get_ref().map(|inner| inner as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    false
}

/// Which layer a failed question tells of.
fn refusal(error: &ModelError) -> (Layer, Verdict) {
    let (layer, remedy) = match error {
        ModelError::Authentication { .. } => (
            Layer::Authentication,
            "set the right key: `deft models` names the variable",
        ),
        ModelError::Login { .. } => (Layer::Authentication, "log in again, or use an API key"),
        ModelError::Permission { .. } => (Layer::Authentication, "use another key, or another model"),
        ModelError::Quota { .. } => (Layer::Authentication, "add credit, or use another key"),
        ModelError::BadRequest { .. } => (Layer::Model, "check the model's name with its provider"),
        ModelError::RateLimit { .. } | ModelError::Overloaded { .. } | ModelError::Unavailable { .. } => {
            (Layer::Model, "try again later, or another model")
        }
        ModelError::Timeout { .. } => (Layer::Model, "try again; a local model may still be loading"),
        ModelError::Network { .. } => (Layer::Model, "try again; look at the server's own log"),
        ModelError::Protocol { .. } => (
            Layer::Model,
            "check the address (LLM_BASE_URL): something else may answer there",
        ),
        ModelError::ContextWindowExceeded { .. } => (Layer::Model, "give the model a larger context"),
        ModelError::ContentPolicy { .. } | ModelError::MalformedHistory { .. } => {
            (Layer::Model, "try another model")
        }
    };
    (layer, Verdict::bad(error, remedy))
}
