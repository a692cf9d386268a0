//! The table of settings.

use std::path::PathBuf;
use std::time::Duration;

use deft_server::{SignInSettings, Webhook};
use deft_skills::Permission;
use deft_types::{Money, Secret};
use deft_workspace::WorkspaceName;
use deft_workspace::sandbox::Tier;

use super::sandbox::{Directories, Hosts, NetworkMode};
use super::value::{BaseUrl, CondenserKind, Durability, Place, Secrecy, Shape, Shown, Value};
use super::web::WebAddresses;
use super::{Layers, McpTables, ModelTables, Setting, SettingsError, Source};

/// What there is to know about one setting.
pub(super) struct Key {
    /// Its name in `deft.toml`.
    pub(super) name: &'static str,
    /// Its name on the command line, without dashes. A secret has none: other users see command lines.
    pub(super) flag: Option<&'static str>,
    /// Its environment variables, the strongest first.
    pub(super) env: &'static [&'static str],
    /// What it is, for people.
    pub(super) about: &'static str,
    /// Its value where nobody says otherwise.
    pub(super) default: Option<&'static str>,
    /// Whether a project's file may set it.
    pub(super) project: FromProject,
    /// Whether an error may quote a text that could not be read.
    pub(super) secrecy: Secrecy,
    /// What `deft.toml` must hold.
    pub(super) shape: Shape,
    /// What a value must be, for people.
    pub(super) expected: &'static str,
    /// Whether a text can be read.
    pub(super) is_valid: fn(&str, &Place) -> bool,
    /// Its value and where it comes from.
    pub(super) show: fn(&Settings) -> (Shown, &Source),
}

/// What a project's `deft.toml` may do to a setting. It comes with the repository, perhaps a hostile one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FromProject {
    /// Its word stands.
    Taken,
    /// Its word stands unless it begins with one of these.
    TakenUnlessItStartsWith(&'static [&'static str]),
    /// It can only be stricter than the user's own file or the default: the lower number of the two stands.
    Lowers,
    /// An error.
    Refused,
}

/// Declares [`Settings`] and [`KEYS`] together, so that neither can have what the other has not.
macro_rules! settings {
    ($(
        #[doc = $about:literal]
        $name:ident: $type:ty {
            flag: $flag:expr, env: $env:expr, default: $default:expr, project: $project:expr $(,)?
        }
    )*) => {
        /// Everything that can be set.
        #[derive(Clone, Debug)]
        pub(crate) struct Settings {
            $(#[doc = $about] pub(crate) $name: Setting<$type>,)*
            /// Models under names of the user's own.
            pub(crate) models: ModelTables,
            /// MCP servers by name, as they are written in the user's own file.
            pub(crate) mcp_servers: Secret<McpTables>,
            /// Who is told of all that happens in a server.
            pub(crate) webhooks: Vec<Webhook>,
            /// How people sign in to a server with accounts of another.
            pub(crate) sign_in: Option<SignInSettings>,
        }

        impl Settings {
            pub(super) fn build(layers: &Layers) -> Result<Self, SettingsError> {
                Ok(Self {
                    $($name: layers.setting(stringify!($name))?,)*
                    models: layers.models.clone(),
                    mcp_servers: Secret::new(layers.mcp_servers.clone()),
                    webhooks: layers.webhooks.clone(),
                    sign_in: layers.sign_in.clone(),
                })
            }
        }

        /// Every setting, in the order in which they are shown.
        pub(super) const KEYS: &[Key] = &[$(Key {
            name: stringify!($name),
            flag: $flag,
            env: &$env,
            about: $about.trim_ascii(),
            default: $default,
            project: $project,
            secrecy: <$type as Value>::SECRECY,
            shape: <$type as Value>::SHAPE,
            expected: <$type as Value>::EXPECTED,
            is_valid: |text, place| <$type as Value>::read(text, place).is_some(),
            show: |settings| (settings.$name.value.shown(), &settings.$name.source),
        },)*];
    };
}

/// How the names begin of models that are read from files, or written to them.
pub(crate) const MODELS_IN_FILES: &[&str] = &["script:", "replay:", "record:"];

settings! {
    /// The model, as provider/name
    model: Option<String> {
        flag: Some("model"), env: ["DEFT_MODEL", "LLM_MODEL"], default: None,
        // A scripted or replayed model says what its author wrote: commands of a stranger. A recorded one
        // writes a file of his choice.
        project: FromProject::TakenUnlessItStartsWith(MODELS_IN_FILES),
    }
    /// The model that writes summaries of long conversations, by name
    condenser_model: Option<String> {
        flag: Some("condenser-model"), env: ["DEFT_CONDENSER_MODEL"], default: None,
        project: FromProject::TakenUnlessItStartsWith(MODELS_IN_FILES),
    }
    /// How an agent's memory is kept short: one or more of the names in docs/models.md, with commas between
    condenser_kind: Option<CondenserKind> {
        flag: Some("condenser-kind"), env: ["DEFT_CONDENSER_KIND"], default: None, project: FromProject::Taken,
    }
    /// The model that gives conversations their titles, by name
    title_model: Option<String> {
        flag: Some("title-model"), env: ["DEFT_TITLE_MODEL"], default: None,
        project: FromProject::TakenUnlessItStartsWith(MODELS_IN_FILES),
    }
    /// The model that judges what the agent is about to do, by name; what it finds dangerous waits for you
    judge_model: Option<String> {
        flag: Some("judge-model"), env: ["DEFT_JUDGE_MODEL"], default: None,
        // Whoever wrote the repository must not choose who judges what is done with it.
        project: FromProject::Refused,
    }
    /// Which actions wait for your word: never, risky (those that rules or models find dangerous) or always
    confirm: Permission {
        flag: Some("confirm"), env: ["DEFT_CONFIRM"], default: Some("never"), project: FromProject::Refused,
    }
    /// The model that reviews what the agent changed before it is done, by name; it is sent back up to three times
    critic_model: Option<String> {
        flag: Some("critic-model"), env: ["DEFT_CRITIC_MODEL"], default: None,
        project: FromProject::TakenUnlessItStartsWith(MODELS_IN_FILES),
    }
    /// The model of agents that are given tasks by others, by name
    agents_model: Option<String> {
        flag: Some("agents-model"), env: ["DEFT_AGENTS_MODEL"], default: None,
        project: FromProject::TakenUnlessItStartsWith(MODELS_IN_FILES),
    }
    /// The key for the model's provider
    api_key: Option<Secret<String>> {
        flag: None, env: ["DEFT_API_KEY", "LLM_API_KEY"], default: None, project: FromProject::Refused,
    }
    /// The address of the model's server, where it is not the provider's own
    base_url: Option<BaseUrl> {
        flag: Some("base-url"), env: ["DEFT_BASE_URL", "LLM_BASE_URL"], default: None,
        project: FromProject::Refused,
    }
    /// A file of certificates to trust beside the built-in ones, for a server or proxy of your company
    ca_file: Option<PathBuf> {
        flag: Some("ca-file"), env: ["DEFT_CA_FILE"], default: None, project: FromProject::Refused,
    }
    /// The address of an OpenTelemetry collector (OTLP over HTTP) that runs are traced to
    otlp_endpoint: Option<BaseUrl> {
        // The usual OTEL_ variables count too, and may be meant for other programs: they are read apart.
        flag: None, env: ["DEFT_OTLP_ENDPOINT"], default: None, project: FromProject::Refused,
    }
    /// A JSON file that names MCP servers, beside those in your own deft.toml
    mcp_config: Option<PathBuf> {
        // A server is a program that is run.
        flag: Some("mcp-config"), env: ["DEFT_MCP_CONFIG"], default: None, project: FromProject::Refused,
    }
    /// Where conversations are kept
    data_dir: PathBuf {
        flag: Some("data-dir"), env: ["DEFT_DATA_DIR"], default: Some("~/.deft"),
        project: FromProject::Refused,
    }
    /// Steps an agent may take in one run
    max_steps: u64 {
        flag: Some("max-steps"), env: ["DEFT_MAX_STEPS"], default: Some("500"),
        project: FromProject::Lowers,
    }
    /// US dollars a conversation may cost
    max_cost: Option<Money> {
        flag: Some("max-cost"), env: ["DEFT_MAX_COST"], default: None, project: FromProject::Lowers,
    }
    /// Tokens a conversation may use, of prompts and replies together
    max_tokens: Option<u64> {
        flag: Some("max-tokens"), env: ["DEFT_MAX_TOKENS"], default: None, project: FromProject::Lowers,
    }
    /// Seconds one run may take
    max_time: Option<Duration> {
        flag: Some("max-time"), env: ["DEFT_MAX_TIME"], default: None, project: FromProject::Lowers,
    }
    /// Agents with tasks of their own that a conversation may start, those below them included
    max_agents: u64 {
        flag: Some("max-agents"), env: ["DEFT_MAX_AGENTS"], default: Some("32"),
        project: FromProject::Lowers,
    }
    /// How many levels of such agents there may be, one below the other
    max_depth: u64 {
        flag: Some("max-depth"), env: ["DEFT_MAX_DEPTH"], default: Some("2"),
        project: FromProject::Lowers,
    }
    /// What a stored event survives: the end of the process, or with fsync a power cut
    durability: Durability {
        flag: Some("durability"), env: ["DEFT_DURABILITY"], default: Some("process"),
        project: FromProject::Refused,
    }
    /// Seconds to wait for a connection to the model's server
    connect_timeout: Duration {
        flag: Some("connect-timeout"), env: ["DEFT_CONNECT_TIMEOUT"], default: Some("10"),
        project: FromProject::Taken,
    }
    /// Seconds a model may be silent within a reply
    idle_timeout: Duration {
        flag: Some("idle-timeout"), env: ["DEFT_IDLE_TIMEOUT"], default: Some("120"),
        project: FromProject::Taken,
    }
    /// Seconds a call to a model may take in all, its retries included
    total_timeout: Duration {
        flag: Some("total-timeout"), env: ["DEFT_TOTAL_TIMEOUT"], default: Some("3600"),
        project: FromProject::Lowers,
    }
    /// How often a model that fails for the moment is asked in all
    model_attempts: u64 {
        flag: Some("model-attempts"), env: ["DEFT_MODEL_ATTEMPTS"], default: Some("5"),
        project: FromProject::Lowers,
    }
    /// Seconds without new output after which a running command is reported to the agent
    terminal_no_change_timeout: Duration {
        flag: Some("terminal-no-change-timeout"), env: ["DEFT_TERMINAL_NO_CHANGE_TIMEOUT"],
        default: Some("30"), project: FromProject::Taken,
    }
    /// Seconds an executor outlives its last client
    executor_linger: Duration {
        flag: Some("executor-linger"), env: ["DEFT_EXECUTOR_LINGER"], default: Some("300"),
        project: FromProject::Refused,
    }
    /// Where agents work if nobody says it: a path (sandboxed) or local:PATH (not)
    workspace: Option<WorkspaceName> {
        // A flag of `run`, with a short form.
        flag: None, env: ["DEFT_WORKSPACE"], default: None, project: FromProject::Refused,
    }
    /// Containers or pods of that workspace that a server keeps ready for conversations to come
    workspace_pool: Option<u64> {
        flag: None, env: ["DEFT_WORKSPACE_POOL"], default: None, project: FromProject::Refused,
    }
    /// Days without an event after which a server removes the container, pod and volume of a conversation
    workspace_max_age: Option<u64> {
        flag: None, env: ["DEFT_WORKSPACE_MAX_AGE"], default: None, project: FromProject::Refused,
    }
    /// A configuration for ssh to use instead of your own, for workspaces on other machines
    ssh_config: Option<PathBuf> {
        // It can name programs that ssh runs.
        flag: None, env: ["DEFT_SSH_CONFIG"], default: None, project: FromProject::Refused,
    }
    /// The key for a server that keeps workspaces, named by remote:URL
    remote_key: Option<Secret<String>> {
        flag: None, env: ["DEFT_REMOTE_KEY"], default: None, project: FromProject::Refused,
    }
    /// What `fetch` and pages in the browser may reach on this machine: public, loopback or all
    web_addresses: Option<WebAddresses> {
        flag: Some("web-addresses"), env: ["DEFT_WEB_ADDRESSES"], default: None,
        project: FromProject::Refused,
    }
    /// What a sandbox reaches over the network: off, allow-list (package registries and the like) or all
    sandbox_network: NetworkMode {
        flag: Some("sandbox-network"), env: ["DEFT_SANDBOX_NETWORK"], default: Some("allow-list"),
        project: FromProject::Refused,
    }
    /// More hosts for the allow-list, with commas between
    sandbox_allow: Option<Hosts> {
        flag: Some("sandbox-allow"), env: ["DEFT_SANDBOX_ALLOW"], default: None,
        project: FromProject::Refused,
    }
    /// More directories that a sandbox may write in, with commas between
    sandbox_write: Option<Directories> {
        flag: Some("sandbox-write"), env: ["DEFT_SANDBOX_WRITE"], default: None,
        project: FromProject::Refused,
    }
    /// The weakest sandbox that will do: landlock, or namespaces (needs bubblewrap)
    sandbox_minimum: Tier {
        flag: Some("sandbox-minimum"), env: ["DEFT_SANDBOX_MINIMUM"], default: Some("landlock"),
        project: FromProject::Refused,
    }
    /// Processes and threads a sandbox may have
    sandbox_pids: Option<u64> {
        flag: Some("sandbox-pids"), env: ["DEFT_SANDBOX_PIDS"], default: None, project: FromProject::Refused,
    }
    /// Megabytes of memory a sandbox may use
    sandbox_memory: Option<u64> {
        flag: Some("sandbox-memory"), env: ["DEFT_SANDBOX_MEMORY"], default: None,
        project: FromProject::Refused,
    }
    /// Hundredths of a processor a sandbox may use: 150 is one and a half
    sandbox_cpu: Option<u64> {
        flag: Some("sandbox-cpu"), env: ["DEFT_SANDBOX_CPU"], default: None, project: FromProject::Refused,
    }
}
