//! How a server is set up: by the program, by the variables of the contract, and by its JSON file.

mod layers;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use deft_types::Secret;
use fancy_regex::Regex;

use self::layers::{Layers, Seconds};
use crate::connections::Patience;
use crate::previews::PreviewNames;
use crate::sign_in::SignInSettings;
use crate::vault::VaultKeys;
use crate::webhooks::Webhook;

/// Conversations that may run at once, where nobody says otherwise.
const MAX_RUNS: usize = 1000;
/// How long a conversation stays in memory that nobody has to do with.
const IDLE_LIMIT: Duration = Duration::from_mins(20);
/// How long a request may take until its answer begins.
const REQUEST_LIMIT: Duration = Duration::from_mins(1);
/// Wrong keys that may come from one address within a minute.
const MAX_WRONG_KEYS: u32 = 20;

/// How a server is set up.
#[derive(Debug)]
pub struct Config {
    /// The address to listen at.
    pub address: IpAddr,
    /// The port; 0: any.
    pub port: u16,
    /// Where keys are kept, and where clients are told that conversations are.
    pub data_dir: PathBuf,
    /// What relative paths of clients start from.
    pub current_dir: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// Directories whose files may be used by requests that name no conversation.
    pub file_roots: Vec<PathBuf>,
    /// The keys that open the server. None: one is made.
    pub keys: Vec<Secret<String>>,
    /// Names that the server is called by, besides `localhost` and its address.
    pub hosts: Vec<String>,
    /// What may stand before every path, where the server is known below one.
    pub base_path: Option<String>,
    /// Origins whose pages may use the server, besides its own and those of this machine.
    pub origins: Vec<String>,
    /// More of them: all that this fits from beginning to end.
    pub origin_pattern: Option<Regex>,
    /// Hosts whose pages may use it under any scheme and port.
    pub origin_hosts: Vec<String>,
    /// The port that shows what programs of workspaces serve. None: the next free one.
    pub preview_port: Option<u16>,
    /// Under which names browsers find that port. None: as `*.localhost`.
    pub preview_names: Option<PreviewNames>,
    /// Conversations that may run at once.
    pub max_runs: usize,
    /// How long a conversation stays in memory that nobody has to do with.
    pub idle_limit: Duration,
    /// Wrong keys that may come from one address within a minute.
    pub max_wrong_keys: u32,
    /// How long clients may keep the server waiting.
    pub patience: Patience,
    /// How long a request may take until its answer begins, where no agent, command or large file is waited for.
    pub request_limit: Duration,
    /// Who is told of all that happens.
    pub webhooks: Vec<Webhook>,
    /// How people sign in with accounts of another server, if they can.
    pub sign_in: Option<SignInSettings>,
    /// Where the keys are that secrets are sealed with.
    pub vault_keys: VaultKeys,
    /// Certificates to trust beside the built-in ones.
    pub ca_file: Option<PathBuf>,
    /// What the program was built from.
    pub build: Build,
    /// The key for `POST /api/init`, where the server is to wait for that.
    pub init_key: Option<Secret<String>>,
}

/// What the program was built from, for `server_info`.
#[derive(Clone, Debug)]
pub struct Build {
    /// The commit.
    pub git_sha: String,
    /// The branch or tag.
    pub git_ref: String,
    /// After how many idle seconds whoever runs the server ends it, as they say.
    pub runtime_idle_timeout: Option<f64>,
}

/// Why the set-up cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The JSON file is not there or is none.
    #[error(
        "cannot read the configuration {path}: {reason}; mend it or unset OPENHANDS_AGENT_SERVER_CONFIG_PATH"
    )]
    File {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// Anybody could say how to serve.
    #[error(
        "OH_DEFERRED_INIT needs a key that only you know, for X-Init-API-Key: set OH_SECRET_KEY or SESSION_API_KEY"
    )]
    InitKey,
    /// A pattern that cannot be understood.
    #[error("{variable} cannot be used: {reason}")]
    Pattern {
        /// The variable.
        variable: String,
        /// Why.
        reason: String,
    },
    /// A number that is none.
    #[error(
        "{variable} cannot be used: '{said}' is no number that it may be; mend it there or in the JSON file"
    )]
    Number {
        /// The variable.
        variable: String,
        /// What it says.
        said: String,
    },
    /// A list that is none. What it says may be a secret.
    #[error(
        "{variable} cannot be used: it is not the JSON list that it should be; mend it there or in the JSON file"
    )]
    List {
        /// The variable.
        variable: String,
    },
    /// A setting of previews that cannot be understood.
    #[error("{variable} cannot be used: {reason}")]
    Preview {
        /// The variable.
        variable: &'static str,
        /// Why.
        reason: String,
    },
    /// A webhook that cannot be understood.
    #[error(
        "webhook {number} cannot be used: {reason}; mend it in OH_WEBHOOKS_{number}_… or in the JSON file"
    )]
    Webhook {
        /// Which of them, from 0 on.
        number: usize,
        /// Why.
        reason: String,
    },
}

impl Config {
    /// Where the variables, or else the JSON file, say that conversations are.
    pub fn conversations_path(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<String>, ConfigError> {
        Ok(Layers::new(&variable)?.text("conversations_path"))
    }

    /// A server on this machine, as the variables say.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
        data_dir: PathBuf,
        current_dir: PathBuf,
    ) -> Result<Self, ConfigError> {
        let layers = Layers::new(&variable)?;
        let mut keys = layers.list("session_api_keys")?;
        keys.retain(|key| !key.is_empty());
        if keys.is_empty() {
            // The contract's older name: keys that are named by the newer one are all there are.
            keys.extend(variable("SESSION_API_KEY").filter(|key| !key.is_empty()));
        }
        let init_key = layers.init_key(keys.first())?;
        let web_url = layers.text("web_url");
        let hosts = web_url.as_deref().and_then(host_of).into_iter();
        let base_path = web_url.as_deref().and_then(path_of);
        let own_hosts = variable("DEFT_ALLOWED_HOSTS").unwrap_or_default();
        let own_hosts = own_hosts.split(',').map(|host| host.trim().to_owned());
        let home = variable("HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from);
        let file_roots = match variable("DEFT_FILE_ROOTS") {
            Some(roots) => std::env::split_paths(&roots).collect(),
            None => home.iter().cloned().chain([std::env::temp_dir()]).collect(),
        };
        let preview = |variable: &'static str| move |reason| ConfigError::Preview { variable, reason };
        let preview_port = match variable("DEFT_PREVIEW_PORT") {
            None => None,
            Some(port) => Some(port.parse().map_err(|_| {
                preview("DEFT_PREVIEW_PORT")(format!("'{port}' is no port between 0 and 65535"))
            })?),
        };
        let preview_names = variable("DEFT_PREVIEW_URL").map(|url| PreviewNames::parse(&url));
        Ok(Self {
            address: std::net::Ipv4Addr::LOCALHOST.into(),
            port: 0,
            vault_keys: VaultKeys::of(&data_dir, &variable),
            data_dir,
            current_dir,
            home: home.unwrap_or_else(std::env::temp_dir),
            file_roots,
            keys: keys.into_iter().map(Secret::new).collect(),
            hosts: hosts.chain(own_hosts).filter(|host| !host.is_empty()).collect(),
            base_path,
            origins: layers.list("allow_cors_origins")?,
            origin_pattern: layers.pattern("allow_cors_origin_regex")?,
            origin_hosts: variable("DOCKER_HOST_ADDR").into_iter().collect(),
            preview_port,
            preview_names: preview_names.transpose().map_err(preview("DEFT_PREVIEW_URL"))?,
            max_runs: layers
                .number("max_concurrent_runs")?
                .map_or(MAX_RUNS, NonZeroUsize::get)
                .min(tokio::sync::Semaphore::MAX_PERMITS),
            idle_limit: layers
                .number("conversation_idle_ttl_seconds")?
                .map_or(IDLE_LIMIT, |Seconds(limit)| limit),
            max_wrong_keys: MAX_WRONG_KEYS,
            patience: Patience::default(),
            request_limit: REQUEST_LIMIT,
            webhooks: layers.webhooks()?,
            sign_in: None,
            ca_file: None,
            init_key,
            build: Build {
                git_sha: variable("OPENHANDS_BUILD_GIT_SHA").unwrap_or_else(|| "unknown".to_owned()),
                git_ref: variable("OPENHANDS_BUILD_GIT_REF").unwrap_or_else(|| "unknown".to_owned()),
                runtime_idle_timeout: layers.number("runtime_idle_timeout_seconds")?,
            },
        })
    }
}

/// Below which path the server is known, if not at the root.
fn path_of(url: &str) -> Option<String> {
    let uri: axum::http::Uri = url.parse().ok()?;
    let path = uri.path().trim_end_matches('/');
    (!path.is_empty()).then(|| path.to_owned())
}

fn host_of(url: &str) -> Option<String> {
    let uri: axum::http::Uri = url.parse().ok()?;
    uri.host().map(str::to_owned)
}
