//! What people write to name their servers: the `mcpServers` map that many programs share.

mod auth;
mod variables;

use std::collections::BTreeMap;
use std::path::PathBuf;

use deft_types::Secret;
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use self::auth::OAuth;
pub use self::variables::put_variables;

/// More servers than anybody has.
const MAX_SERVERS: usize = 64;
/// The longest name of a server.
const MAX_NAME: usize = 64;
/// Shorter values are too common in texts to be taken out of them.
const MIN_REDACTED: usize = 4;

/// A server of tools.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Its name, unique among all.
    pub name: String,
    /// How it is reached.
    pub endpoint: Endpoint,
    /// As it was written, for whoever starts it elsewhere.
    source: Secret<Value>,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Endpoint {
    /// A program beside the files, spoken to over its standard streams.
    Stdio(Program),
    /// An address that speaks streamable HTTP.
    Http(Remote),
    /// An address that speaks the older form: events one way, posts the other.
    Sse(Remote),
}

/// A program and how it is started.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program: a path, or a name to be looked up.
    pub command: String,
    /// Its arguments, passed on as they are: there is no shell.
    pub args: Vec<String>,
    /// Variables that it gets beside the usual ones.
    pub env: BTreeMap<String, Secret<String>>,
    /// Where it runs; the workspace where nothing is said.
    pub cwd: Option<PathBuf>,
}

/// An address and what is sent along.
#[derive(Clone, Debug)]
pub struct Remote {
    /// The address.
    pub url: Url,
    /// Sent with each request.
    pub headers: BTreeMap<String, Secret<String>>,
    /// How to get a token, where one is needed.
    pub oauth: Option<OAuth>,
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It is not a map of servers.
    #[error(
        "this is not a list of MCP servers: write {{\"mcpServers\": {{\"NAME\": {{\"command\": …}} or {{\"url\": …}}}}}}"
    )]
    NotAMap,
    /// It has too many of them.
    #[error("{0} MCP servers are configured, but at most {MAX_SERVERS} can be; remove some")]
    TooMany(usize),
    /// One of them cannot be read.
    #[error("the MCP server {server:?}: {reason}")]
    Server {
        /// Its name.
        server: String,
        /// What is wrong, and what to write instead.
        reason: String,
    },
}

/// A server as it is written. What we do not know is not ours to judge.
#[derive(Deserialize)]
struct Written {
    command: Option<String>,
    #[serde(default)]
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, Secret<String>>>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(alias = "type")]
    transport: Option<String>,
    headers: Option<BTreeMap<String, Secret<String>>>,
    auth: Option<Value>,
    enabled: Option<bool>,
    disabled: Option<bool>,
}

impl ServerConfig {
    /// Reads `{"mcpServers": {…}}` or the map alone, in the order in which it is written. Servers that are switched
    /// off are left out.
    pub fn parse(config: &Value) -> Result<Vec<Self>, ConfigError> {
        let servers = match config.get("mcpServers") {
            Some(servers) => servers,
            None => config,
        };
        let servers = servers.as_object().ok_or(ConfigError::NotAMap)?;
        if servers.len() > MAX_SERVERS {
            return Err(ConfigError::TooMany(servers.len()));
        }
        let mut read = Vec::new();
        for (name, written) in servers {
            let server = Self::read(name, written).map_err(|reason| ConfigError::Server {
                server: name.clone(),
                reason,
            })?;
            read.extend(server);
        }
        Ok(read)
    }

    fn read(name: &str, source: &Value) -> Result<Option<Self>, String> {
        let length = name.chars().count();
        if length == 0 || length > MAX_NAME || name.chars().any(char::is_control) {
            return Err(format!(
                "its name must have 1 to {MAX_NAME} characters that can be shown"
            ));
        }
        // What serde says quotes a value, which may be a secret.
        let written = Written::deserialize(source).map_err(|_| {
            "it cannot be read: `command`, `url`, `transport` and `cwd` are texts, `args` a list of texts, `env` and \
             `headers` maps of texts"
                .to_owned()
        })?;
        if written.enabled == Some(false) || written.disabled == Some(true) {
            return Ok(None);
        }
        Ok(Some(Self {
            name: name.to_owned(),
            endpoint: written.endpoint()?,
            source: Secret::new(source.clone()),
        }))
    }

    /// Whether it is a program that must be started in the workspace.
    pub fn is_local(&self) -> bool {
        match self.endpoint {
            Endpoint::Stdio(_) => true,
            Endpoint::Http(_) | Endpoint::Sse(_) => false,
        }
    }

    /// The map of these servers as it was written, secrets and all: for the executor that starts them.
    pub fn write<'a>(servers: impl IntoIterator<Item = &'a Self>) -> Value {
        let written = servers
            .into_iter()
            .map(|server| (server.name.clone(), server.source.expose().clone()));
        Value::Object(written.collect::<Map<_, _>>())
    }

    /// What a person approves: the command line or the address, and the names of what is sent along.
    pub(crate) fn target(&self) -> Value {
        match &self.endpoint {
            Endpoint::Stdio(program) => json!({
                "command": program.command, "args": program.args, "cwd": program.cwd,
                "env": program.env.keys().collect::<Vec<_>>(),
            }),
            Endpoint::Http(remote) | Endpoint::Sse(remote) => json!({
                "url": remote.url.as_str(),
                "headers": remote.headers.keys().collect::<Vec<_>>(),
            }),
        }
    }

    /// A text without this server's secrets: servers like to print what they were given.
    pub(crate) fn redact(&self, text: String) -> String {
        let secrets = match &self.endpoint {
            Endpoint::Stdio(program) => &program.env,
            Endpoint::Http(remote) | Endpoint::Sse(remote) => &remote.headers,
        };
        secrets
            .values()
            .map(Secret::expose)
            .filter(|secret| secret.len() >= MIN_REDACTED)
            .fold(text, |text, secret| text.replace(secret.as_str(), "**********"))
    }
}

impl Written {
    fn endpoint(self) -> Result<Endpoint, String> {
        match (self.command, self.url) {
            (Some(_), Some(_)) => Err(
                "it has both `command` and `url`: keep `command` for a program or `url` for an address"
                    .into(),
            ),
            (None, None) => Err("it has neither `command` (a program) nor `url` (an address)".into()),
            (Some(command), None) => match self.transport.as_deref() {
                _ if command.trim().is_empty() => Err("its `command` is empty".into()),
                None | Some("stdio") => Ok(Endpoint::Stdio(Program {
                    command,
                    args: self.args.unwrap_or_default(),
                    env: self.env.unwrap_or_default(),
                    cwd: self.cwd,
                })),
                Some(other) => Err(format!("a program is spoken to by `stdio`, not by {other:?}")),
            },
            (None, Some(url)) => {
                let url = address(&url)?;
                let (extra, oauth) = auth::read(self.auth.as_ref())?;
                let mut headers = self.headers.unwrap_or_default();
                for (name, value) in extra {
                    if headers.keys().any(|given| given.eq_ignore_ascii_case(&name)) {
                        return Err(format!("both `auth` and `headers` set {name}; keep one of them"));
                    }
                    headers.insert(name, value);
                }
                let remote = Remote { url, headers, oauth };
                match self.transport.as_deref() {
                    None
                    | Some("http" | "shttp" | "streamable-http" | "streamable_http" | "streamableHttp") => {
                        Ok(Endpoint::Http(remote))
                    }
                    Some("sse") => Ok(Endpoint::Sse(remote)),
                    Some(other) => Err(format!(
                        "an address is spoken to by `http` or `sse`, not by {other:?}"
                    )),
                }
            }
        }
    }
}

fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|error| format!("its `url` is no address: {error}"))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(format!(
            "its `url` begins with {other:?}; only http and https can be used"
        )),
    }
}

#[cfg(test)]
mod tests;
