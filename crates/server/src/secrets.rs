//! The secrets that clients give to a conversation.

use std::collections::BTreeMap;

use deft_tools::SecretSet;
use deft_types::Secret;
use serde_json::{Map, Value};

use crate::documents::Documents;
use crate::failure::Failure;

/// Where secrets that all conversations share are kept, among the documents and as clients name them.
pub(crate) const FOLDER: &str = "secrets/";
const ADDRESS: &str = "/api/settings/secrets/";

/// The secrets of a request: those whose values it carries, and those that it names by their address on this server. What
/// is elsewhere is not fetched.
pub(crate) async fn secrets_of(
    request: &Map<String, Value>,
    documents: &Documents,
) -> Result<SecretSet, Failure> {
    let sent = request.get("secrets").and_then(Value::as_object);
    let mut secrets = BTreeMap::new();
    for (name, sent) in sent.into_iter().flatten() {
        let carried = sent.as_str().or(sent["value"].as_str()).map(str::to_owned);
        let value = match (carried, shared_name(sent)) {
            (Some(value), _) => Some(value),
            (None, Some(shared)) => {
                let found = documents.get(&format!("{FOLDER}{shared}")).await?;
                found.and_then(|secret| secret["value"].as_str().map(str::to_owned))
            }
            (None, None) => None,
        };
        if let Some(value) = value {
            secrets.insert(name.clone(), Secret::new(value));
        }
    }
    SecretSet::new(secrets).map_err(|error| Failure::refused(error.to_string()))
}

/// The name of the shared secret that something sent stands for.
fn shared_name(sent: &Value) -> Option<&str> {
    let address = sent["url"].as_str().filter(|_| sent["kind"] == "LookupSecret")?;
    address.strip_prefix(ADDRESS)
}
