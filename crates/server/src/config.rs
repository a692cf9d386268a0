//! How a server is set up: by the program, by the variables of the contract, and by its JSON file.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use deft_types::Secret;
use fancy_regex::Regex;
use serde_json::{Map, Value};

use crate::connections::Patience;
use crate::previews::PreviewNames;
use crate::sign_in::SignInSettings;
use crate::vault::VaultKeys;
use crate::webhooks::Webhook;

/// Conversations that may run at once, where nobody says otherwise.
const MAX_RUNS: usize = 1000;
/// How long a conversation stays in memory that nobody has to do with.
const IDLE_LIMIT: Duration = Duration::from_mins(20);
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
    #[error("OH_DEFERRED_INIT needs a key that only you know, for X-Init-API-Key: set OH_SECRET_KEY")]
    InitKey,
    /// A pattern that cannot be understood.
    #[error("{variable} cannot be used: {reason}")]
    Pattern {
        /// The variable.
        variable: String,
        /// Why.
        reason: String,
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
    /// A server on this machine, as the variables say.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
        data_dir: PathBuf,
        current_dir: PathBuf,
    ) -> Result<Self, ConfigError> {
        let layers = Layers::new(&variable)?;
        let mut keys = layers.list("session_api_keys");
        keys.extend(variable("SESSION_API_KEY"));
        let keys = keys.into_iter().filter(|key| !key.is_empty());
        let web_url = layers.text("web_url");
        let hosts = web_url.as_deref().and_then(host_of).into_iter();
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
        let number = |name| layers.text(name)?.parse().ok();
        Ok(Self {
            address: std::net::Ipv4Addr::LOCALHOST.into(),
            port: 0,
            vault_keys: VaultKeys::of(&data_dir, &variable),
            data_dir,
            current_dir,
            home: home.unwrap_or_else(std::env::temp_dir),
            file_roots,
            keys: keys.map(Secret::new).collect(),
            hosts: hosts.chain(own_hosts).filter(|host| !host.is_empty()).collect(),
            origins: layers.list("allow_cors_origins"),
            origin_pattern: layers.pattern("allow_cors_origin_regex")?,
            origin_hosts: variable("DOCKER_HOST_ADDR").into_iter().collect(),
            preview_port,
            preview_names: preview_names.transpose().map_err(preview("DEFT_PREVIEW_URL"))?,
            max_runs: number("max_concurrent_runs")
                .and_then(|runs: u64| usize::try_from(runs).ok())
                .unwrap_or(MAX_RUNS)
                .min(tokio::sync::Semaphore::MAX_PERMITS),
            idle_limit: number("conversation_idle_ttl_seconds").map_or(IDLE_LIMIT, Duration::from_secs),
            max_wrong_keys: MAX_WRONG_KEYS,
            patience: Patience::default(),
            webhooks: layers.webhooks()?,
            sign_in: None,
            ca_file: None,
            init_key: layers.init_key()?,
            build: Build {
                git_sha: variable("OPENHANDS_BUILD_GIT_SHA").unwrap_or_else(|| "unknown".to_owned()),
                git_ref: variable("OPENHANDS_BUILD_GIT_REF").unwrap_or_else(|| "unknown".to_owned()),
                runtime_idle_timeout: layers
                    .text("runtime_idle_timeout_seconds")
                    .and_then(|text| text.parse().ok()),
            },
        })
    }
}

/// The variables over the file.
struct Layers<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    file: Map<String, Value>,
}

impl<'a> Layers<'a> {
    fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        // Only a file that is named: one that lies in the current directory may be a repository's.
        let file = match variable("OPENHANDS_AGENT_SERVER_CONFIG_PATH") {
            None => Map::new(),
            Some(path) => {
                let unreadable = |reason: String| ConfigError::File {
                    path: path.clone(),
                    reason,
                };
                let text = std::fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?;
                serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?
            }
        };
        Ok(Self { variable, file })
    }

    fn text(&self, field: &str) -> Option<String> {
        let name = variable_name(field);
        if self.is_on(&format!("{name}_IS_NONE")) {
            return None;
        }
        let set = (self.variable)(&name).filter(|text| !text.is_empty());
        set.or_else(|| match self.file.get(field)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        })
    }

    fn pattern(&self, field: &str) -> Result<Option<Regex>, ConfigError> {
        let Some(written) = self.text(field) else {
            return Ok(None);
        };
        let whole = Regex::new(&format!("^(?:{written})$"));
        whole.map(Some).map_err(|error| ConfigError::Pattern {
            variable: variable_name(field),
            reason: error.to_string(),
        })
    }

    fn is_on(&self, name: &str) -> bool {
        (self.variable)(name).is_some_and(|text| is_yes(&text))
    }

    fn init_key(&self) -> Result<Option<Secret<String>>, ConfigError> {
        if !self.text("deferred_init").is_some_and(|text| is_yes(&text)) {
            return Ok(None);
        }
        let key = self.text("secret_key").filter(|key| !key.is_empty());
        Ok(Some(Secret::new(key.ok_or(ConfigError::InitKey)?)))
    }

    /// `OH_X` with a JSON list or a single text, or `OH_X_0`, `OH_X_1` …; else the file's list.
    fn list(&self, field: &str) -> Vec<String> {
        let name = variable_name(field);
        let numbered: Vec<_> = (0..)
            .map_while(|index| (self.variable)(&format!("{name}_{index}")))
            .collect();
        if !numbered.is_empty() {
            return numbered;
        }
        let set = (self.variable)(&name).filter(|text| !text.is_empty());
        let set = set.map(|text| serde_json::from_str(&text).unwrap_or_else(|_| vec![text]));
        let from_file = || serde_json::from_value(self.file.get(field)?.clone()).ok();
        set.or_else(from_file).unwrap_or_default()
    }
}

fn is_yes(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

/// The fields of a webhook that variables can set: those that are texts, and those that are JSON.
const TEXTS: [&str; 2] = ["base_url", "secret"];
const OTHERS: [&str; 7] = [
    "event_buffer_size",
    "flush_delay",
    "num_retries",
    "retry_delay",
    "headers",
    "max_batch_bytes",
    "dead_letter_after",
];

impl Layers<'_> {
    /// `OH_WEBHOOKS` with a JSON list, or the file's list; and over it `OH_WEBHOOKS_0_BASE_URL` and the like.
    fn webhooks(&self) -> Result<Vec<Webhook>, ConfigError> {
        let set = (self.variable)("OH_WEBHOOKS").and_then(|text| serde_json::from_str(&text).ok());
        let from_file = || serde_json::from_value(self.file.get("webhooks")?.clone()).ok();
        let mut written: Vec<Map<String, Value>> = set.or_else(from_file).unwrap_or_default();
        for number in 0.. {
            let variable = |field: &str| {
                let name = format!("OH_WEBHOOKS_{number}_{}", field.to_ascii_uppercase());
                (self.variable)(&name).filter(|text| !text.is_empty())
            };
            if written.len() <= number {
                if variable("base_url").is_none() {
                    break;
                }
                written.push(Map::new());
            }
            let texts = TEXTS.map(|field| Some((field, Value::from(variable(field)?))));
            let others = OTHERS.map(|field| Some((field, serde_json::from_str(&variable(field)?).ok()?)));
            for (field, value) in texts.into_iter().chain(others).flatten() {
                written[number].insert(field.to_owned(), value);
            }
        }
        let read = |(number, fields)| {
            serde_json::from_value(Value::Object(fields)).map_err(|error| ConfigError::Webhook {
                number,
                reason: error.to_string(),
            })
        };
        written.into_iter().enumerate().map(read).collect()
    }
}

fn variable_name(field: &str) -> String {
    format!("OH_{}", field.to_ascii_uppercase())
}

fn host_of(url: &str) -> Option<String> {
    let uri: axum::http::Uri = url.parse().ok()?;
    uri.host().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)]) -> Config {
        let find = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Config::from_variables(find, PathBuf::new(), PathBuf::new()).unwrap()
    }

    fn keys(config: &Config) -> Vec<&str> {
        config.keys.iter().map(|key| key.expose().as_str()).collect()
    }

    #[test]
    fn the_contracts_variables_are_understood() {
        let set = config(&[
            ("OH_SESSION_API_KEYS_0", "k-one"),
            ("OH_SESSION_API_KEYS_1", ""),
            ("SESSION_API_KEY", "k-two"),
            ("OH_ALLOW_CORS_ORIGINS", r#"["https://a.example"]"#),
            ("OH_MAX_CONCURRENT_RUNS", "3"),
            ("OH_WEB_URL", "https://deft.example.org/app"),
        ]);
        assert_eq!(keys(&set), ["k-one", "k-two"]);
        assert_eq!(set.origins, ["https://a.example"]);
        assert_eq!(set.max_runs, 3);
        assert_eq!(set.hosts, ["deft.example.org"]);
    }

    #[test]
    fn a_single_key_a_pattern_and_nothing_can_be_said() {
        let set = config(&[
            ("OH_SESSION_API_KEYS", "k-one"),
            ("OH_ALLOW_CORS_ORIGIN_REGEX", r"https://.*\.example"),
            ("OH_MAX_CONCURRENT_RUNS", "3"),
            ("OH_MAX_CONCURRENT_RUNS_IS_NONE", "1"),
            ("OH_RUNTIME_IDLE_TIMEOUT_SECONDS", "90"),
        ]);
        assert_eq!(keys(&set), ["k-one"]);
        let pattern = set.origin_pattern.unwrap();
        assert!(pattern.is_match("https://a.example").unwrap());
        assert!(!pattern.is_match("https://a.example.org").unwrap());
        assert_eq!(set.max_runs, MAX_RUNS);
        assert_eq!(set.build.runtime_idle_timeout, Some(90.0));
        let bad = |name: &str| (name == "OH_ALLOW_CORS_ORIGIN_REGEX").then(|| "(".to_owned());
        let refused = Config::from_variables(bad, PathBuf::new(), PathBuf::new()).unwrap_err();
        assert!(
            refused.to_string().starts_with("OH_ALLOW_CORS_ORIGIN_REGEX"),
            "{refused}"
        );
    }

    #[test]
    fn webhooks_are_read_from_variables_over_the_list() {
        let set = config(&[
            (
                "OH_WEBHOOKS",
                r#"[{"base_url": "https://a.example/x", "flush_delay": 2.5, "max_queue_size": 9}]"#,
            ),
            ("OH_WEBHOOKS_0_EVENT_BUFFER_SIZE", "7"),
            ("OH_WEBHOOKS_1_BASE_URL", "http://127.0.0.1:9/hook"),
            ("OH_WEBHOOKS_1_HEADERS", r#"{"X-Custom": "abc"}"#),
            ("OH_WEBHOOKS_1_SECRET", "123"),
        ]);
        let [first, second] = &set.webhooks[..] else {
            panic!("{:?}", set.webhooks)
        };
        assert_eq!(first.base_url.as_str(), "https://a.example/x");
        assert_eq!(
            (first.event_buffer_size, first.flush_delay),
            (7, Duration::from_millis(2500))
        );
        assert_eq!(second.headers["x-custom"], "abc");
        assert_eq!(second.secret, Some(Secret::new("123".to_owned())));
        assert!(!format!("{second:?}").contains("abc"), "headers may hold keys");
        let bad = |name: &str| (name == "OH_WEBHOOKS_0_BASE_URL").then(|| "not an address".to_owned());
        let refused = Config::from_variables(bad, PathBuf::new(), PathBuf::new()).unwrap_err();
        assert!(refused.to_string().contains("base_url must be"), "{refused}");
    }

    #[test]
    fn a_variable_is_stronger_than_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.json");
        std::fs::write(
            &file,
            r#"{"session_api_keys": ["filed"], "max_concurrent_runs": 7}"#,
        )
        .unwrap();
        let path = ("OPENHANDS_AGENT_SERVER_CONFIG_PATH", file.to_str().unwrap());
        assert_eq!(keys(&config(&[path])), ["filed"]);
        let both = config(&[path, ("OH_MAX_CONCURRENT_RUNS", "9")]);
        assert_eq!(both.max_runs, 9);
    }
}
