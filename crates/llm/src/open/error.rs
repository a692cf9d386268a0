//! Why a model could not be opened.

use crate::cassette::CassetteError;
use crate::provider::PROVIDERS;
use crate::script::ScriptError;

/// Why a model could not be opened. The person changes a setting.
#[derive(Debug, thiserror::Error)]
pub enum OpenModelError {
    /// The name means nothing to us.
    #[error(
        "unknown model `{name}`.{} A model is `demo`, `script:FILE`, `replay:FILE`, `record:FILE:MODEL`, or PROVIDER/NAME where PROVIDER is one of {}. \
         For any other OpenAI-compatible server set `LLM_BASE_URL` and write `openai/NAME`",
        guess.as_ref().map(|guess| format!(" Did you mean `{guess}`?")).unwrap_or_default(),
        provider_names(),
    )]
    UnknownName {
        /// What was asked for.
        name: String,
        /// What was perhaps meant.
        guess: Option<String>,
    },
    /// The provider wants a key and there is none.
    #[error("`{name}` needs an API key: set `LLM_API_KEY` (or `{variable}`)")]
    MissingKey {
        /// What was asked for.
        name: String,
        /// The provider's own name for the setting.
        variable: &'static str,
    },
    /// A model on AWS lacks something.
    #[error("`{name}` needs {what}")]
    MissingAws {
        /// What was asked for.
        name: String,
        /// What is missing, and how it is set.
        what: &'static str,
    },
    /// The base address is none.
    #[error("`LLM_BASE_URL` must be an address such as `http://localhost:8000/v1`: {reason}")]
    BadBaseUrl {
        /// What is wrong with it.
        reason: String,
    },
    /// The provider has no address that serves everybody.
    #[error(
        "`{name}` needs the address of your own resource: set `LLM_BASE_URL`, such as `https://RESOURCE.openai.azure.com`"
    )]
    MissingBaseUrl {
        /// What was asked for.
        name: String,
    },
    /// The script cannot be read.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The cassette cannot be used.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// No HTTP client could be made on this machine.
    #[error("no HTTP client could be made: {reason}")]
    Client {
        /// What is wrong.
        reason: String,
    },
}

fn provider_names() -> String {
    PROVIDERS
        .iter()
        .map(|provider| provider.name)
        .collect::<Vec<_>>()
        .join(", ")
}
