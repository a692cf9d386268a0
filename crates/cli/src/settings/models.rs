//! Models under names of the user's own: the tables `[models.NAME]` of their `deft.toml`.

use std::collections::BTreeMap;

use deft_llm::{ApiMode, KnownCapabilities};
use deft_types::{Money, Secret, Tokens};
use serde::Deserialize;

use super::value::BaseUrl;

/// `[models.NAME]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelTable {
    /// The model, as `--model` takes it.
    pub(crate) model: String,
    /// Its key.
    pub(crate) api_key: Option<Secret<String>>,
    /// The environment variable that has its key.
    pub(crate) api_key_env: Option<String>,
    /// The address of its server.
    pub(crate) base_url: Option<BaseUrl>,
    /// Headers that its server wants.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Secret<String>>,
    /// Which of OpenAI's APIs it is asked by.
    #[serde(default)]
    pub(crate) api_mode: ApiMode,
    /// The version of Azure's API.
    pub(crate) api_version: Option<String>,
    /// How hard it reasons: `low`, `medium`, `high` …
    pub(crate) reasoning_effort: Option<String>,
    /// Tokens that a Claude model may reason before it answers; 0 for none.
    pub(crate) thinking_budget: Option<Tokens>,
    /// How freely it chooses its words.
    pub(crate) temperature: Option<f64>,
    /// How much it may write at most.
    pub(crate) max_output_tokens: Option<Tokens>,
    /// How much it may be given to read; for Ollama, how much memory it takes for that.
    pub(crate) context_window: Option<Tokens>,
    /// US dollars for a million tokens: of the prompt, of the reply.
    pub(crate) price: Option<[Money; 2]>,
    /// What it can do, where we do not know it or know it wrongly.
    #[serde(default)]
    pub(crate) capabilities: KnownCapabilities,
    /// Who is asked when it fails for the moment, in this order.
    #[serde(default)]
    pub(crate) fallback: Vec<String>,
    /// Who is asked instead when there are images.
    pub(crate) images: Option<String>,
    /// Who is asked instead when the conversation is long.
    pub(crate) long: Option<LongRoute>,
}

/// `long = { tokens = 100000, model = "…" }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LongRoute {
    /// From how many tokens on.
    pub(crate) tokens: Tokens,
    /// Who is asked.
    pub(crate) model: String,
}

/// All of them.
pub(crate) type ModelTables = BTreeMap<String, ModelTable>;

/// The part of the file that holds them.
#[derive(Deserialize)]
pub(super) struct ModelsOnly {
    #[serde(default)]
    pub(super) models: ModelTables,
}
