//! Models under names of the user's own: the tables `[models.NAME]` of their `deft.toml`.

use std::collections::BTreeMap;

use deft_types::{Secret, Tokens};
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
