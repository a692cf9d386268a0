//! Tries a model out, and says how far it gets.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use deft_types::{Message, Role};
use reqwest::Url;
use serde_json::json;
use tokio::time::timeout;

use crate::provider::Provider;
use crate::{
    Delta, Model, ModelError, ModelSettings, Reply, Request, RetryPolicy, ToolSchema, complete, http, open,
};

/// How long one question may take. A local model may have to be loaded first.
const PATIENCE: Duration = Duration::from_mins(5);

/// The tool that the model is asked to call.
const TOOL: &str = "report";

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
            told(
                Layer::Name,
                Verdict::bad(error, "`deft models` lists what can be used"),
            );
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
    match answer {
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
        }
    }
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
            let verdict = Verdict::bad(http::root_cause(&error.without_url()), remedy);
            vec![connected, (Layer::Tls, verdict)]
        }
        Ok(Err(error)) => {
            let what = http::root_cause(&error.without_url());
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

/// Asks for a few words; gives back the reply and in how many pieces its text came.
async fn talk(model: &dyn Model) -> (Result<Reply, ModelError>, usize) {
    let mut pieces = 0;
    let request = question(
        "Count from 1 to 20 in digits, separated by blanks. Say nothing else.",
        None,
    );
    let reply = ask(model, request, |delta| {
        if let Delta::Text(_) | Delta::Reasoning(_) = delta {
            pieces += 1;
        }
    })
    .await;
    (reply, pieces)
}

async fn call(model: &dyn Model) -> Verdict {
    let tool = ToolSchema {
        name: TOOL.to_owned(),
        description: "Reports a word to the user.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "word": { "type": "string", "description": "The word." } },
            "required": ["word"],
        }),
    };
    let request = question("Call the tool `report` with the word `ready`.", Some(tool));
    let remedy = "choose a model that calls tools; `deft models` tells which do";
    match ask(model, request, |_| ()).await {
        Err(error) => Verdict::bad(error, remedy),
        Ok(reply) => match reply.tool_calls.first() {
            Some(call) if call.name == TOOL && is_object(&call.arguments) => {
                Verdict::Good(format!("it called `{TOOL}` with {}", call.arguments))
            }
            Some(call) => Verdict::bad(
                format!(
                    "it called `{}` with {}, which is no JSON object",
                    call.name, call.arguments
                ),
                remedy,
            ),
            None => Verdict::bad("it answered in words and called nothing", remedy),
        },
    }
}

fn is_object(arguments: &str) -> bool {
    serde_json::from_str(arguments).is_ok_and(|value: serde_json::Value| value.is_object())
}

fn streamed(pieces: usize) -> Verdict {
    match pieces {
        0 | 1 => Verdict::bad(
            "the whole answer came at once",
            "everything works, but you see nothing before an answer is whole: look for a proxy that buffers",
        ),
        _ => Verdict::Good(format!("the answer came in {pieces} pieces")),
    }
}

fn question(text: &str, tool: Option<ToolSchema>) -> Request {
    Request {
        messages: vec![Arc::new(Message::text(Role::User, text))],
        tools: tool.into_iter().collect(),
        cache_key: None,
    }
}

async fn ask(model: &dyn Model, request: Request, show: impl FnMut(&Delta)) -> Result<Reply, ModelError> {
    match timeout(PATIENCE, complete(model, request, show)).await {
        Ok(reply) => reply,
        Err(_) => Err(ModelError::Timeout {
            detail: format!("no whole answer within {} s", PATIENCE.as_secs()),
        }),
    }
}

fn answered(reply: &Reply) -> String {
    let seconds = reply.latency.as_secs_f32();
    format!(
        "it answered in {seconds:.1} s, {} tokens",
        reply.usage.prompt.0 + reply.usage.completion.0
    )
}

/// Which layer a failed question tells of.
fn refusal(error: &ModelError) -> (Layer, Verdict) {
    let (layer, remedy) = match error {
        ModelError::Authentication { .. } => (
            Layer::Authentication,
            "set the right key: `deft models` names the variable",
        ),
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
