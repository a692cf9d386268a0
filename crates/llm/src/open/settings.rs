//! What opening a model takes besides its name.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deft_types::{Secret, Tokens};
use serde::Deserialize;

use crate::{AwsSettings, KnownCapabilities, Prices, Proxies, RetryPolicy, Subscription, Tuning};

/// What opening a model takes besides its name.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The provider's key.
    pub api_key: Option<Secret<String>>,
    /// Where the server is, if not at the provider's own address.
    pub base_url: Option<String>,
    /// Where that may be.
    pub reach: Reach,
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long a server may be silent within its answer.
    pub idle_timeout: Duration,
    /// How long it may be silent before its answer. None: as long as within it, and one on the user's own machine
    /// longer, since it may have to load the model.
    pub head_timeout: Option<Duration>,
    /// When and how often to ask again.
    pub retry: RetryPolicy,
    /// The name that it is known by elsewhere, where it has another here: what is known of that one holds for it.
    pub known_as: Option<String>,
    /// What its tokens cost, where the user knows better than the built-in table.
    pub prices: Option<Prices>,
    /// The proxies between this machine and the server.
    pub proxies: Proxies,
    /// A file with certificates, in PEM form, to trust beside the built-in ones.
    pub ca_file: Option<PathBuf>,
    /// Headers to send with each request.
    pub extra_headers: Vec<(String, Secret<String>)>,
    /// Which of OpenAI's APIs a model is asked by.
    pub api_mode: ApiMode,
    /// The version of Azure's API, if not the usual one.
    pub api_version: Option<String>,
    /// How the model is asked to answer.
    pub tuning: Tuning,
    /// What the user says the model can do.
    pub capability_overrides: KnownCapabilities,
    /// What the model's server says it can do, where it was asked: a model of a server of one's own is opened anew
    /// with it.
    pub discovered: KnownCapabilities,
    /// Region and keys for models on AWS Bedrock.
    pub aws: Option<AwsSettings>,
    /// How many tokens a Claude model with a fixed budget may reason before it answers; zero: any Claude model
    /// answers at once. `None`: half of its output.
    pub extended_thinking_budget: Option<Tokens>,
    /// The `ChatGPT` subscription that pays in the place of a key.
    pub subscription: Option<Arc<dyn Subscription>>,
}

/// Which of OpenAI's APIs a model is asked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiMode {
    /// The one that suits the model.
    #[default]
    Auto,
    /// The chat API.
    Chat,
    /// The Responses API.
    Responses,
}

/// Which servers a model may be asked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Any.
    #[default]
    Anywhere,
    /// Those on the public internet: the address was named by somebody who has no business in our network.
    Public,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            api_key: None,
            base_url: None,
            reach: Reach::default(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(2),
            head_timeout: None,
            retry: RetryPolicy::default(),
            known_as: None,
            prices: None,
            proxies: Proxies::default(),
            ca_file: None,
            extra_headers: Vec::new(),
            api_mode: ApiMode::default(),
            api_version: None,
            tuning: Tuning::default(),
            capability_overrides: KnownCapabilities::default(),
            discovered: KnownCapabilities::default(),
            aws: None,
            extended_thinking_budget: None,
            subscription: None,
        }
    }
}
