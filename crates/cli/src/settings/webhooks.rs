//! Who is told of all that happens: the tables `[[webhooks]]` of the user's `deft.toml`.

use deft_server::Webhook;
use serde::Deserialize;

/// A file, as far as webhooks are concerned.
#[derive(Deserialize)]
pub(super) struct WebhooksOnly {
    pub(super) webhooks: Vec<Webhook>,
}
