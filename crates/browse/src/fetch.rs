//! The `fetch` tool: one address of the web as text.

mod body;
mod client;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use deft_tools::{Call, Reach, Tool, ToolContext, ToolError, Touches, spec};
use deft_types::{Action, Content, MCPToolObservation, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use self::body::Body;
use self::client::{Client, Fetched};
use crate::excerpt::Excerpt;
use crate::gate::{Addresses, Gate};
use crate::markdown::{self, Links};
use crate::untrusted::fenced;
use crate::web_address::{self, BadAddress};

/// The name of the tool.
const NAME: &str = "fetch";
/// How long all of it may take, unless the options say otherwise.
const FETCH_LIMIT: Duration = Duration::from_secs(30);
/// How many bytes of a page are read.
const MAX_BODY_BYTES: usize = 5 * 1024 * 1024;
/// How often a server may send us elsewhere.
const MAX_REDIRECTS: usize = 5;

/// How the `fetch` tool behaves.
#[derive(Clone, Copy, Debug)]
pub struct FetchOptions {
    /// What it may connect to. By default only what everybody can reach: a page that the model reads must not be able
    /// to make it read what only this machine can.
    pub addresses: Addresses,
    /// The proxy through which other machines are reached, where that is the only way.
    pub way_out: Option<SocketAddr>,
    /// How long all of a call may take.
    pub limit: Duration,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            addresses: Addresses::Public,
            way_out: None,
            limit: FETCH_LIMIT,
        }
    }
}

/// Why nothing was fetched. The message goes to the model.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("{0}")]
    BadAddress(#[from] BadAddress),
    #[error("Not fetched: {0}.")]
    Refused(String),
    #[error("Not fetched: the server sent us elsewhere more than {MAX_REDIRECTS} times, last to {0}.")]
    Redirects(String),
    #[error("Not fetched: nothing whole came within {} s. Try again, or another address.", .0.as_secs())]
    Timeout(Duration),
    #[error("Not fetched: {0}. Check the address, or try again later.")]
    Network(String),
    #[error("Not shown: it is {kind}{size}, not text. Download it with the terminal if you need it.")]
    NotText { kind: String, size: String },
    #[error("The tool could not be set up: {0}.")]
    Setup(String),
    #[error("Cancelled; nothing was fetched.")]
    Cancelled,
}

/// The `fetch` tool.
pub struct Fetch {
    gate: Gate,
    certificates: Option<PathBuf>,
    limit: Duration,
    /// Made with the first call: most conversations have none.
    client: OnceCell<Client>,
}

#[derive(Deserialize)]
struct Arguments {
    url: String,
    #[serde(default)]
    start: usize,
    #[serde(default)]
    raw: bool,
}

impl Fetch {
    /// A tool for one workspace. A company's own certificates are taken from where its `SSL_CERT_FILE` says.
    pub fn new(context: &ToolContext, options: FetchOptions) -> Self {
        let certificates = context.env.iter().find(|(name, _)| name == "SSL_CERT_FILE");
        Self {
            gate: Gate::new(options.addresses, options.way_out),
            certificates: certificates.map(|(_, path)| path.into()),
            limit: options.limit,
            client: OnceCell::new(),
        }
    }

    async fn fetch(&self, arguments: &Arguments) -> Result<(String, bool), FetchError> {
        let url = web_address::parse(&arguments.url)?;
        let client = self
            .client
            .get_or_try_init(|| Client::new(self.gate.clone(), self.certificates.as_deref()))
            .await?;
        let fetched = timeout(self.limit, client.get(url))
            .await
            .map_err(|_| FetchError::Timeout(self.limit))??;
        Ok((
            show(&fetched, arguments),
            fetched.status.is_client_error() || fetched.status.is_server_error(),
        ))
    }
}

/// Says what is at the bottom of it.
fn network(error: &reqwest::Error) -> FetchError {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    FetchError::Network(deepest.to_string())
}

/// What the model gets to read.
fn show(fetched: &Fetched, arguments: &Arguments) -> String {
    let Fetched { url, status, body } = fetched;
    let mut head = if status.as_u16() == 200 {
        format!("{url}\n")
    } else {
        format!("{url} answered HTTP {status}\n")
    };
    let Body { text, kind, cut, .. } = body;
    let text = match kind {
        body::Kind::Html if !arguments.raw => {
            let page = markdown::convert(text, Some(url), Links::Shown);
            if page.title.is_empty() {
                page.text
            } else {
                format!("Title: {}\n\n{}", page.title, page.text)
            }
        }
        body::Kind::Html | body::Kind::Text => text.clone(),
    };
    if *cut {
        let _ = writeln!(
            head,
            "[Only the first {} MB were read.]",
            MAX_BODY_BYTES / 1024 / 1024
        ); // a string takes it
    }
    let part = Excerpt::of(&text, arguments.start);
    if let Some(note) = part.note(arguments.start, "start") {
        head.push_str(&note);
        head.push('\n');
    }
    head + &fenced("The page", &part.text)
}

impl Tool for Fetch {
    fn spec(&self) -> ToolSpec {
        let mut spec = spec(
            NAME,
            // Clients know no `FetchAction`, and the Python one refuses a whole log for the sake of a kind it does not
            // know. These kinds are there for tools that a client has never heard of, so they are the safe ones.
            "MCPTool",
            Reach::World,
            "Reads a web page as Markdown, or JSON and other text as it is, in parts of 30,000 characters. Runs no scripts: use the browser for pages that need them.",
            &json!({
                "url": {"type": "string"},
                "start": {"type": "integer", "minimum": 0, "description": "Character to begin at. Default: 0."},
                "raw": {"type": "boolean", "description": "HTML as it is. Default: false."},
            }),
            &["url"],
        );
        "MCPToolDefinition".clone_into(&mut spec.definition.kind);
        if let Some(hints) = &mut spec.definition.annotations {
            (hints.destructive_hint, hints.idempotent_hint) = (false, true);
        }
        spec
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let wrong = || ToolError::WrongAction {
                tool: NAME,
                kind: call.action.kind().to_owned(),
            };
            let Action::MCPTool(action) = &call.action else {
                return Err(wrong());
            };
            let arguments: Arguments =
                serde_json::from_value(Value::Object(action.data.clone())).map_err(|_| wrong())?;
            let fetched = tokio::select! {
                biased;
                () = call.cancel.cancelled() => Err(FetchError::Cancelled),
                fetched = self.fetch(&arguments) => fetched,
            };
            let (text, is_error) = fetched.unwrap_or_else(|error| (error.to_string(), true));
            Ok(MCPToolObservation {
                content: vec![Content::text(text)],
                is_error,
                tool_name: NAME.to_owned(),
                ..MCPToolObservation::default()
            }
            .into())
        }
        .boxed()
    }
}
