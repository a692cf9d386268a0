//! From a model's name to the model.

use std::sync::Arc;
use std::time::Duration;

use deft_types::Secret;

use crate::Model;

/// What opening a model takes besides its name.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The provider's key. Without it, models that need one do not open.
    pub api_key: Option<Secret<String>>,
    /// Where the server is, if not at the provider's own address.
    pub base_url: Option<String>,
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long a server may be silent, before or within its answer.
    pub idle_timeout: Duration,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            api_key: None,
            base_url: None,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(2),
        }
    }
}

/// Why a model could not be opened. The person changes a setting.
#[derive(Debug, thiserror::Error)]
pub enum OpenModelError {
    /// The name means nothing to us.
    #[error("unknown model `{name}`")]
    UnknownName {
        /// What was asked for.
        name: String,
    },
}

/// Opens a model by name: `demo`, `script:FILE`, or `PROVIDER/NAME` such as `openai/gpt-4o`.
pub fn open(name: &str, _settings: &ModelSettings) -> Result<Arc<dyn Model>, OpenModelError> {
    Err(OpenModelError::UnknownName {
        name: name.to_owned(),
    })
}
