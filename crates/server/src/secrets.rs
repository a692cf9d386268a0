//! The secrets that clients give to a conversation.

use std::collections::BTreeMap;

use deft_tools::SecretSet;
use deft_types::Secret;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The secrets of a request whose values it carries. Those that name an address are not fetched.
pub(crate) fn secrets_of(request: &Map<String, Value>) -> Result<SecretSet, Failure> {
    let sent = request.get("secrets").and_then(Value::as_object);
    let value = |sent: &Value| sent.as_str().or(sent["value"].as_str()).map(str::to_owned);
    let secrets: BTreeMap<_, _> = sent
        .into_iter()
        .flatten()
        .filter_map(|(name, sent)| Some((name.clone(), Secret::new(value(sent)?))))
        .collect();
    SecretSet::new(secrets).map_err(|error| Failure::refused(error.to_string()))
}
